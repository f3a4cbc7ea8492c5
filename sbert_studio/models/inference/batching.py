"""Group texts of similar length into batches of bounded size and encode them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import StudioError
from ...progress import checkpoint
from ..base import EncodingStoppedError
from ..runtime import token_budget
from .machine import in_lanes, lane_count

if TYPE_CHECKING:
    from torch import Tensor

    from ...progress import Progress, ShouldStop
    from ..sentence_encoder import SentenceEncoder
    from .tokenizer import Tokens


@dataclass(frozen=True)
class TokenRows:
    """The token ids of many texts in one flat array: 4 bytes a token, where lists of Python integers need 36.

    Attributes:
        flat: all ids, int32, one text after another.
        starts: where each text's ids begin, int64, and the end of the last: n + 1 numbers.
    """

    flat: np.ndarray
    starts: np.ndarray

    @classmethod
    def from_lists(cls, chunks: Iterable[Sequence[Sequence[int]]]) -> TokenRows:
        """Join chunks of id lists; each chunk may be freed before the next is made."""
        flats, lengths = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for chunk in chunks:
            sizes = np.fromiter((len(row) for row in chunk), np.int64, len(chunk))
            lengths.append(sizes)
            flats.append(np.fromiter(chain.from_iterable(chunk), np.int32, int(sizes.sum())))
        return cls(np.concatenate(flats), np.cumsum(np.concatenate(lengths)))

    @classmethod
    def joined(cls, parts: Sequence[TokenRows]) -> TokenRows:
        """The rows of several, one after another."""
        lengths = [np.zeros(1, np.int64), *(part.lengths for part in parts)]
        return cls(np.concatenate([np.empty(0, np.int32), *(part.flat for part in parts)]), np.cumsum(np.concatenate(lengths)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, int64 (n,)."""
        return np.diff(self.starts)

    def padded(self, rows: np.ndarray, pad: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Ids (b, longest) int64, filled with ``pad`` on the right, and the mask int64, or None where all are equally long."""
        begins = self.starts[rows]
        sizes = self.starts[rows + 1] - begins
        places = begins[:, None] + np.arange(int(sizes.max(initial=0)))
        if sizes.min(initial=0 if not len(sizes) else sizes[0]) == sizes.max(initial=0):
            return self.flat[places].astype(np.int64), None
        real = places < (begins + sizes)[:, None]
        ids = np.where(real, self.flat[np.minimum(places, len(self.flat) - 1)], pad)
        return ids.astype(np.int64), real.astype(np.int64)

    def unpadded(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ids of ``rows`` one text behind the other, int32, and where each begins, int32, with the end of the last: b + 1 numbers."""
        begins = self.starts[rows]
        sizes = self.starts[rows + 1] - begins
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        places = np.arange(int(starts[-1])) + np.repeat(begins - starts[:-1], sizes)
        return self.flat[places], starts.astype(np.int32)


def unique_texts(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The distinct texts in the order of first sight, and for each text its number among them, int64 (n,)."""
    numbers: dict[str, int] = {}
    inverse = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int64, len(texts))
    return list(numbers), inverse


def token_batches(lengths: np.ndarray, budget: int, max_rows: int) -> list[np.ndarray]:
    """Rows in batches of similar length, the longest first.

    A batch's rows × its longest row never exceed ``budget`` tokens (a row longer than the budget stands alone), nor its
    rows ``max_rows``. Longest first: a batch that does not fit in memory fails at once rather than at the end.
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        size = max(1, min(max_rows, budget // longest))
        batches.append(order[start : start + size])
        start += size
    return batches


# How many texts are tokenised at a time: enough to keep all cores busy, few enough to bound memory and hear a stop.
_CHUNK = 8_192


def encode_texts(
    encoder: SentenceEncoder, texts: Sequence[str], progress: Progress | None = None, should_stop: ShouldStop | None = None
) -> np.ndarray:
    """Vectors of ``texts``, (n, dim) float32, row i for text i; the caller has turned gradients and dropout off.

    Raises:
        EncodingStoppedError: ``should_stop`` returned true.
    """
    distinct, inverse = unique_texts(texts)
    vectors = np.empty((len(inverse), encoder.dim), np.float32)
    # Each distinct text's vector is written where the text stands first, and copied from there to where it recurs.
    first = np.flatnonzero(np.diff(np.maximum.accumulate(inverse), prepend=-1))
    done = 0
    for batch, found in _computed(encoder, distinct, should_stop):
        vectors[first[batch]] = found.cpu().numpy()
        done += len(batch)
        if progress and done < len(vectors):
            progress(done, len(vectors))
    if len(first) < len(vectors):
        again = np.ones(len(vectors), bool)
        again[first] = False
        vectors[again] = vectors[first[inverse[again]]]
    if progress:
        progress(len(vectors), len(vectors))
    return vectors


def _computed(encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None) -> Iterator[tuple[np.ndarray, Tensor]]:
    """The rows of each batch of distinct ``texts``, and their vectors."""
    rows = _tokenised(encoder, texts, should_stop)
    batches = _batches(encoder, rows)
    inputs = (_read(encoder, rows, batch, should_stop) for batch in batches)
    lanes = lane_count(encoder.device, len(batches)) if encoder.laned else 1
    yield from zip(batches, in_lanes(encoder, inputs, lanes) if lanes > 1 else map(encoder, inputs), strict=True)


def batches_of(
    encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None = None
) -> Iterator[tuple[np.ndarray, dict[str, Tensor]]]:
    """The rows of each batch of distinct ``texts``, like in length, the longest first; and the batch, as ``encoder`` reads it.

    Raises:
        EncodingStoppedError: ``should_stop`` returned true.
    """
    rows = _tokenised(encoder, texts, should_stop)
    for batch in _batches(encoder, rows):
        yield batch, _read(encoder, rows, batch, should_stop)


def _batches(encoder: SentenceEncoder, rows: TokenRows) -> list[np.ndarray]:
    return token_batches(rows.lengths, *token_budget(encoder.device))


def _read(encoder: SentenceEncoder, rows: TokenRows, batch: np.ndarray, should_stop: ShouldStop | None) -> dict[str, Tensor]:
    _check(should_stop)
    ids, mask = rows.padded(batch, encoder.tokens.pad)
    inputs = {"input_ids": encoder.moved(ids)}
    return inputs if mask is None else {**inputs, "attention_mask": encoder.moved(mask)}


def _tokenised(encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None) -> TokenRows:
    def chunks() -> Iterator[list[list[int]]]:
        for start in range(0, len(texts), _CHUNK):
            _check(should_stop)
            yield encoder.tokenize(texts[start : start + _CHUNK])

    return TokenRows.from_lists(chunks())


def _check(should_stop: ShouldStop | None) -> None:
    checkpoint()
    if should_stop and should_stop():
        raise EncodingStoppedError


# A tokenizer without a limit says so with a number of thirty digits.
_FEWEST = 3
_UNLIMITED = 1_000_000
_DEFAULT_LENGTH = 512


def capped(asked: int | None, backbone: Any, tokenizer: Any) -> int:
    """``asked`` tokens, or the tokenizer's own limit, but never more than the backbone's table of positions holds.

    Raises:
        StudioError: the tokenizer's own limit leaves no room for a word between the special tokens.
    """
    if asked is None and int(tokenizer.model_max_length) < _FEWEST:
        raise StudioError(f"the model's tokenizer reads {tokenizer.model_max_length} tokens of a text", "copy the folder again")
    limits = [int(tokenizer.model_max_length) if asked is None else asked]
    positions = getattr(backbone.config.get_text_config(), "max_position_embeddings", None)
    if positions is not None and positions > 0:
        # RoBERTa's positions begin after the padding id: a table of 514 holds 512 tokens.
        first = getattr(getattr(backbone, "embeddings", None), "padding_idx", None)
        limits.append(int(positions) - (0 if first is None else int(first) + 1))
    limit = min(limits)
    return limit if limit < _UNLIMITED else _DEFAULT_LENGTH


def length_of_prompt(tokens: Tokens) -> int:
    """How many tokens stand before a text: the prompt's and the special ones before it, but not the one that ends a text."""
    return length_before_text(tokens) if tokens.prompt else 0


def length_before_text(tokens: Tokens) -> int:
    """Return how many tokens stand before a text, with a prompt or without one."""
    (ids,) = tokens.ids([""])
    return len(ids) - (bool(ids) and ids[-1] in tokens.tokenizer.all_special_ids)
