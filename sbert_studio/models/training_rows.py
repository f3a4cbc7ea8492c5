"""Examples as token ids: each text, or each pair read together, is tokenized once for all epochs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor

from .inference.batching import TokenRows, prefix_length, unique_texts
from .inference.varlen import to_device

if TYPE_CHECKING:
    from ..data.examples import Examples
    from .cross_encoder import CrossEncoder
    from .prompts import Role
    from .sentence_encoder import SentenceEncoder

_CHUNK = 8_192


class TrainingRows(Protocol):
    """Tokenized examples, as the training loop uses them."""

    @property
    def ids(self) -> np.ndarray:
        """(columns, n) int64 text ids, equal for equal texts."""

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row's longest text, int64 (n,)."""

    @property
    def targets(self) -> Tensor | None:
        """(n,) float32 scores or int64 class ids, or ``None``."""

    def __len__(self) -> int: ...

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        """Return one padded batch of all columns of ``rows``, column after column, each ``views`` times: for a single forward pass."""

    def names(self, rows: np.ndarray, views: int, device: torch.device) -> list[Tensor]:
        """Return the (b,) text ids of each column and view."""

    def targets_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        """Return the (b,) targets of ``rows``."""


@dataclass(frozen=True)
class _ExampleRows:
    """Text ids and targets.

    Attributes:
        ids: see :class:`TrainingRows`.
        targets: (n,) float32 scores or int64 class ids, or ``None``.
        pad: padding id.
    """

    ids: np.ndarray
    targets: Tensor | None
    pad: int

    def __len__(self) -> int:
        return int(self.ids.shape[1])

    def names(self, rows: np.ndarray, views: int, device: torch.device) -> list[Tensor]:
        columns = to_device(self.ids[:, rows], device)
        return [columns.select(0, column) for column in range(len(self.ids)) for _ in range(views)]

    def targets_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        return None if self.targets is None else to_device(self.targets[torch.from_numpy(rows)].numpy(), device)


@dataclass(frozen=True)
class TextRows(_ExampleRows):
    """Rows of single texts, for a sentence encoder; ``tokens`` holds the distinct ones in the order of their ids.

    Texts with the same tokens, such as those that differ in case only for an uncased encoder, share an id: their vectors are equal, and no
    loss can separate them. So do equal texts of columns with different prompts, so that a query is not its own negative.

    Attributes:
        places: (columns, n) int64, each text's row of ``tokens`` if columns have different prompts; ``None`` if these are the ids.
        skips: (rows of ``tokens``,) int64, number of leading prompt tokens that are not pooled; ``None`` for the encoder's own.
    """

    tokens: TokenRows
    places: np.ndarray | None = None
    skips: np.ndarray | None = None

    @classmethod
    def read(cls, examples: Examples, encoder: SentenceEncoder, roles: Sequence[Role]) -> TextRows:
        """Tokenize ``examples`` for ``encoder``.

        Args:
            roles: roles of the columns, for a model with prompts.
        """
        columns: dict[str, list[int]] = {}
        for column, role in enumerate(roles):
            columns.setdefault(encoder.prompt_for_role(role), []).append(column)
        if list(columns) != [encoder.tokens.prompt]:
            return cls._with_prompts(examples, [(encoder.for_role(roles[own[0]]), own) for own in columns.values()])
        texts, places = unique_texts(list(chain.from_iterable(examples.texts)))
        first_text: dict[tuple[int, ...], int] = {}  # by tokens
        names: list[int] = []

        def chunks() -> Iterator[list[list[int]]]:
            for start in range(0, len(texts), _CHUNK):
                rows = encoder.tokenize(texts[start : start + _CHUNK])
                names.extend(first_text.setdefault(tuple(row), start + index) for index, row in enumerate(rows))
                yield rows

        tokens = TokenRows.from_lists(chunks())
        ids = np.asarray(names, np.int64)[places].reshape(len(examples.texts), -1)
        return cls(ids, _targets(examples), encoder.tokens.pad, tokens)

    @classmethod
    def _with_prompts(cls, examples: Examples, readers: Sequence[tuple[SentenceEncoder, list[int]]]) -> TextRows:
        """Tokenize each column by the reader with its prompt.

        Args:
            readers: views of the encoder, with the columns of each.
        """
        ids, places = (np.zeros((len(examples.texts), len(examples)), np.int64) for _ in range(2))
        by_text: dict[str, int] = {}
        by_tokens: dict[tuple[int, ...], int] = {}  # without prompt tokens
        parts: list[TokenRows] = []
        skips: list[np.ndarray] = []
        start = 0
        for reader, own in readers:
            texts, found = unique_texts(list(chain.from_iterable(examples.texts[column] for column in own)))
            before = prefix_length(reader.tokens)  # type: ignore[arg-type]
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
        return cls(ids, _targets(examples), readers[0][0].tokens.pad, TokenRows.concatenate(parts), places, skipped)

    @property
    def lengths(self) -> np.ndarray:
        return np.asarray(self.tokens.lengths[self.ids if self.places is None else self.places].max(axis=0))

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        """Return one padded batch of all columns of ``rows``, column after column, each ``views`` times: for a single forward pass."""
        places = np.repeat((self.ids if self.places is None else self.places)[:, rows], views, axis=0).ravel()
        ids, mask = self.tokens.padded(places, self.pad)
        inputs = {"input_ids": to_device(ids, device)}
        if self.skips is not None:
            inputs["skip"] = to_device(self.skips[places], device)
        if mask is not None:
            inputs["attention_mask"] = to_device(mask, device)
        return inputs


@dataclass(frozen=True)
class PairRows(_ExampleRows):
    """Rows of pairs read together, for a cross-encoder; ``ids`` identify the pairs."""

    tokens: TokenRows
    segments: TokenRows

    @classmethod
    def read(cls, examples: Examples, encoder: CrossEncoder) -> PairRows:
        """Tokenize ``examples``, which have two columns, for ``encoder``."""
        left, right = examples.texts
        tokens, segments = encoder.rows(list(zip(left, right, strict=True)))
        return cls(np.arange(len(left))[None], _targets(examples), encoder.pad, tokens, segments)

    @property
    def lengths(self) -> np.ndarray:
        return self.tokens.lengths

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        """Return one padded batch of ``rows`` with segment ids."""
        places = np.tile(rows, views)
        ids, mask = self.tokens.padded(places, self.pad)
        arrays = {"input_ids": ids, "token_type_ids": self.segments.padded(places, 0)[0]}
        if mask is not None:
            arrays["attention_mask"] = mask
        return {name: to_device(array, device) for name, array in arrays.items()}


def _targets(examples: Examples) -> Tensor | None:
    return None if examples.targets is None else torch.from_numpy(np.ascontiguousarray(examples.targets))
