"""Examples as token ids, made once: no text is tokenised twice, and none again in a later epoch. Of texts, or of pairs read whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor

from .inference.batching import TokenRows, length_before_text, unique_texts
from .inference.varlen import sent

if TYPE_CHECKING:
    from ..data.examples import Examples
    from .cross_encoder import CrossEncoder
    from .prompts import Role
    from .sentence_encoder import SentenceEncoder

_CHUNK = 8_192


class TrainingRows(Protocol):
    """What the steps read of the examples, whatever is tuned on them."""

    @property
    def ids(self) -> np.ndarray:
        """(columns, n) int64 names of texts: equal ids, equal texts."""

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row's longest text, int64 (n,)."""

    @property
    def targets(self) -> Tensor | None:
        """(n,) float32 scores or int64 class ids, or ``None``."""

    def __len__(self) -> int:
        """How many rows there are."""

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        """One padded batch of all columns of ``rows``, column after column, each ``views`` times: for a single forward pass."""

    def names(self, rows: np.ndarray, views: int, device: torch.device) -> list[Tensor]:
        """For each column (each view of it) the (b,) ids of its texts."""

    def targets_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        """The (b,) targets of ``rows``."""


@dataclass(frozen=True)
class _Rows:
    """Names and targets.

    Attributes:
        ids: see :class:`TrainingRows`.
        targets: (n,) float32 scores or int64 class ids, or ``None``.
        pad: the token id that fills a batch.
    """

    ids: np.ndarray
    targets: Tensor | None
    pad: int

    def __len__(self) -> int:
        return int(self.ids.shape[1])

    def names(self, rows: np.ndarray, views: int, device: torch.device) -> list[Tensor]:
        """For each column (each view of it) the (b,) ids of its texts."""
        columns = sent(self.ids[:, rows], device)
        return [columns.select(0, column) for column in range(len(self.ids)) for _ in range(views)]

    def targets_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        """The (b,) targets of ``rows``."""
        return None if self.targets is None else sent(self.targets[torch.from_numpy(rows)].numpy(), device)


@dataclass(frozen=True)
class TextRows(_Rows):
    """Each text by itself, for a sentence encoder; ``tokens`` holds the distinct ones, by their ids.

    Texts that the encoder reads alike, such as those that differ in case only for an uncased one, have one id: their vectors are the same,
    and no objective could tell them apart. So do equal texts of columns with different prompts: a query is not its own wrong answer.

    Attributes:
        places: (columns, n) int64, each text's row of ``tokens``, where columns have different prompts; ``None``: the ids.
        skips: (rows of ``tokens``,) int64, how many first tokens of each are a prompt that is not pooled; ``None``: as the encoder has it.
    """

    tokens: TokenRows
    places: np.ndarray | None = None
    skips: np.ndarray | None = None

    @classmethod
    def read(cls, examples: Examples, encoder: SentenceEncoder, roles: Sequence[Role]) -> TextRows:
        """Tokenise ``examples`` as ``encoder`` reads them.

        Args:
            roles: of the columns, for a model with prompts.
        """
        columns: dict[str, list[int]] = {}
        for column, role in enumerate(roles):
            columns.setdefault(encoder.prompt_of(role), []).append(column)
        if list(columns) != [encoder.tokens.prompt]:
            return cls._with_prompts(examples, [(encoder.for_role(roles[own[0]]), own) for own in columns.values()])
        texts, places = unique_texts(list(chain.from_iterable(examples.texts)))
        read: dict[tuple[int, ...], int] = {}  # tokens → the text that has them first
        names: list[int] = []

        def chunks() -> Iterator[list[list[int]]]:
            for start in range(0, len(texts), _CHUNK):
                rows = encoder.tokenize(texts[start : start + _CHUNK])
                names.extend(read.setdefault(tuple(row), start + place) for place, row in enumerate(rows))
                yield rows

        tokens = TokenRows.from_lists(chunks())
        ids = np.asarray(names, np.int64)[places].reshape(len(examples.texts), -1)
        return cls(ids, _targets(examples), encoder.tokens.pad, tokens)

    @classmethod
    def _with_prompts(cls, examples: Examples, readers: Sequence[tuple[SentenceEncoder, list[int]]]) -> TextRows:
        """Tokenise each column by the reader that has its prompt.

        Args:
            readers: with the columns of each.
        """
        ids, places = (np.zeros((len(examples.texts), len(examples)), np.int64) for _ in range(2))
        by_text: dict[str, int] = {}
        by_tokens: dict[tuple[int, ...], int] = {}  # without the prompt's
        parts: list[TokenRows] = []
        skips: list[np.ndarray] = []
        start = 0
        for reader, own in readers:
            texts, found = unique_texts(list(chain.from_iterable(examples.texts[column] for column in own)))
            before = length_before_text(reader.tokens)  # type: ignore[arg-type]
            names: list[int] = []
            for first in range(0, len(texts), _CHUNK):
                chunk = texts[first : first + _CHUNK]
                rows = reader.tokenize(chunk)
                for text, row in zip(chunk, rows, strict=True):
                    name = by_text.get(text)
                    names.append(by_tokens.setdefault(tuple(row[before:]), start + len(names)) if name is None else name)
                    by_text[text] = names[-1]
                parts.append(TokenRows.from_lists([rows]))
            ids[own] = np.asarray(names, np.int64)[found].reshape(len(own), -1)
            places[own] = start + found.reshape(len(own), -1)
            skips.append(np.full(len(texts), reader.pooling.skip, np.int64))
            start += len(texts)
        skipped = np.concatenate(skips) if readers[0][0].pooling.skips_prompt else None
        return cls(ids, _targets(examples), readers[0][0].tokens.pad, TokenRows.joined(parts), places, skipped)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row's longest text, int64 (n,)."""
        return np.asarray(self.tokens.lengths[self.ids if self.places is None else self.places].max(axis=0))

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        """One padded batch of all columns of ``rows``, column after column, each ``views`` times: for a single forward pass."""
        places = np.repeat((self.ids if self.places is None else self.places)[:, rows], views, axis=0).ravel()
        ids, mask = self.tokens.padded(places, self.pad)
        inputs = {"input_ids": sent(ids, device)}
        if self.skips is not None:
            inputs["skip"] = sent(self.skips[places], device)
        if mask is not None:
            inputs["attention_mask"] = sent(mask, device)
        return inputs


@dataclass(frozen=True)
class PairRows(_Rows):
    """Both texts of a pair in one row, the first one first, for a cross-encoder; ``ids`` name the pairs."""

    tokens: TokenRows
    segments: TokenRows

    @classmethod
    def read(cls, examples: Examples, encoder: CrossEncoder) -> PairRows:
        """Tokenise ``examples``, which have two columns, as ``encoder`` reads them."""
        left, right = examples.texts
        tokens, segments = encoder.rows(list(zip(left, right, strict=True)))
        return cls(np.arange(len(left))[None], _targets(examples), encoder.pad, tokens, segments)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each pair, int64 (n,)."""
        return self.tokens.lengths

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        """One padded batch of ``rows``, with the segment that each token is of."""
        places = np.tile(rows, views)
        ids, mask = self.tokens.padded(places, self.pad)
        arrays = {"input_ids": ids, "token_type_ids": self.segments.padded(places, 0)[0]}
        if mask is not None:
            arrays["attention_mask"] = mask
        return {name: sent(array, device) for name, array in arrays.items()}


def _targets(examples: Examples) -> Tensor | None:
    return None if examples.targets is None else torch.from_numpy(np.ascontiguousarray(examples.targets))
