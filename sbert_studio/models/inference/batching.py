"""Tokenize texts once, group them into batches of similar length, and encode them."""

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
from .machine import map_parallel, worker_count

if TYPE_CHECKING:
    from torch import Tensor

    from ...progress import Progress, ShouldStop
    from ..sentence_encoder import SentenceEncoder
    from .tokenizer import TransformerTokens

# Texts tokenized at once: enough to keep all cores busy, few enough to bound memory and react to should_stop.
_CHUNK = 8_192
_MIN_LENGTH = 3
_UNLIMITED = 1_000_000  # tokenizers without a limit have a max_length of thirty digits
_DEFAULT_LENGTH = 512


@dataclass(frozen=True)
class TokenRows:
    """Token ids of many texts in one flat array: 4 bytes per token, where Python lists need 36.

    Attributes:
        flat: all ids, int32, text after text.
        starts: start of each text and end of the last, int64 (n + 1,).
    """

    flat: np.ndarray
    starts: np.ndarray

    @classmethod
    def from_lists(cls, chunks: Iterable[Sequence[Sequence[int]]]) -> TokenRows:
        """Join chunks of id lists; each chunk can be freed before the next is made."""
        flats, lengths = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for chunk in chunks:
            sizes = np.fromiter((len(row) for row in chunk), np.int64, len(chunk))
            lengths.append(sizes)
            flats.append(np.fromiter(chain.from_iterable(chunk), np.int32, int(sizes.sum())))
        return cls(np.concatenate(flats), np.cumsum(np.concatenate(lengths)))

    @classmethod
    def concatenate(cls, parts: Sequence[TokenRows]) -> TokenRows:
        lengths = [np.zeros(1, np.int64), *(part.lengths for part in parts)]
        return cls(np.concatenate([np.empty(0, np.int32), *(part.flat for part in parts)]), np.cumsum(np.concatenate(lengths)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens per text, int64 (n,)."""
        return np.diff(self.starts)

    def padded(self, rows: np.ndarray, pad: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return ids (b, longest) int64, padded with ``pad`` on the right, and the mask int64, ``None`` if all rows are equally long."""
        begins = self.starts[rows]
        sizes = self.starts[rows + 1] - begins
        indices = begins[:, None] + np.arange(int(sizes.max(initial=0)))
        if sizes.min(initial=0 if not len(sizes) else sizes[0]) == sizes.max(initial=0):
            return self.flat[indices].astype(np.int64), None
        mask = indices < (begins + sizes)[:, None]
        ids = np.where(mask, self.flat[np.minimum(indices, len(self.flat) - 1)], pad)
        return ids.astype(np.int64), mask.astype(np.int64)

    def flattened(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the concatenated ids of ``rows``, int32, and the start of each with the end of the last, int32 (b + 1,)."""
        begins = self.starts[rows]
        sizes = self.starts[rows + 1] - begins
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        indices = np.arange(int(starts[-1])) + np.repeat(begins - starts[:-1], sizes)
        return self.flat[indices], starts.astype(np.int32)


def unique_texts(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts in order of first occurrence, and each text's index among them, int64 (n,)."""
    numbers: dict[str, int] = {}
    inverse = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int64, len(texts))
    return list(numbers), inverse


def token_batches(lengths: np.ndarray, budget: int, max_rows: int) -> list[np.ndarray]:
    """Group rows into batches of similar length, longest first.

    A batch has at most ``max_rows`` rows, and at most ``budget`` tokens including padding unless a single row is longer. Longest first, so
    that running out of memory shows at once.
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        size = max(1, min(max_rows, budget // longest))
        batches.append(order[start : start + size])
        start += size
    return batches


def encode_texts(
    encoder: SentenceEncoder, texts: Sequence[str], progress: Progress | None = None, should_stop: ShouldStop | None = None
) -> np.ndarray:
    """Return the vectors of ``texts``, (n, dim) float32, row i for text i; called without gradients and dropout.

    Raises:
        EncodingStoppedError: ``should_stop`` returned true.
    """
    distinct, inverse = unique_texts(texts)
    vectors = np.empty((len(inverse), encoder.dim), np.float32)
    # Vectors are written at the first occurrence of each text, and copied from there.
    first = np.flatnonzero(np.diff(np.maximum.accumulate(inverse), prepend=-1))
    done = 0
    for batch, computed in _compute_batches(encoder, distinct, should_stop):
        vectors[first[batch]] = computed.cpu().numpy()
        done += len(batch)
        if progress and done < len(vectors):
            progress(done, len(vectors))
    if len(first) < len(vectors):
        is_repeated = np.ones(len(vectors), bool)
        is_repeated[first] = False
        vectors[is_repeated] = vectors[first[inverse[is_repeated]]]
    if progress:
        progress(len(vectors), len(vectors))
    return vectors


def _compute_batches(encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None) -> Iterator[tuple[np.ndarray, Tensor]]:
    rows = _tokenize(encoder, texts, should_stop)
    batches = _batches(encoder, rows)
    inputs = (_collate(encoder, rows, batch, should_stop) for batch in batches)
    workers = worker_count(encoder.device, len(batches)) if encoder.parallel_batches else 1
    yield from zip(batches, map_parallel(encoder, inputs, workers) if workers > 1 else map(encoder, inputs), strict=True)


def encoder_batches(
    encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None = None
) -> Iterator[tuple[np.ndarray, dict[str, Tensor]]]:
    """Yield the rows of each batch of distinct ``texts``, longest first, and the batch as the encoder's input.

    Raises:
        EncodingStoppedError: ``should_stop`` returned true.
    """
    rows = _tokenize(encoder, texts, should_stop)
    for batch in _batches(encoder, rows):
        yield batch, _collate(encoder, rows, batch, should_stop)


def _batches(encoder: SentenceEncoder, rows: TokenRows) -> list[np.ndarray]:
    return token_batches(rows.lengths, *token_budget(encoder.device))


def _collate(encoder: SentenceEncoder, rows: TokenRows, batch: np.ndarray, should_stop: ShouldStop | None) -> dict[str, Tensor]:
    _check(should_stop)
    ids, mask = rows.padded(batch, encoder.tokens.pad)
    inputs = {"input_ids": encoder.to_tensor(ids)}
    return inputs if mask is None else {**inputs, "attention_mask": encoder.to_tensor(mask)}


def _tokenize(encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None) -> TokenRows:
    def chunks() -> Iterator[list[list[int]]]:
        for start in range(0, len(texts), _CHUNK):
            _check(should_stop)
            yield encoder.tokenize(texts[start : start + _CHUNK])

    return TokenRows.from_lists(chunks())


def _check(should_stop: ShouldStop | None) -> None:
    checkpoint()
    if should_stop and should_stop():
        raise EncodingStoppedError


def cap_length(requested: int | None, backbone: Any, tokenizer: Any) -> int:
    """Return the ``requested`` length, or the tokenizer's limit, but at most the backbone's number of positions.

    Raises:
        StudioError: the tokenizer's limit leaves no room for a word between the special tokens.
    """
    if requested is None and int(tokenizer.model_max_length) < _MIN_LENGTH:
        raise StudioError(f"the model's tokenizer reads {tokenizer.model_max_length} tokens of a text", "copy the folder again")
    limits = [int(tokenizer.model_max_length) if requested is None else requested]
    positions = getattr(backbone.config.get_text_config(), "max_position_embeddings", None)
    if positions is not None and positions > 0:
        # RoBERTa's positions begin after the padding id: a table of 514 holds 512 tokens.
        first = getattr(getattr(backbone, "embeddings", None), "padding_idx", None)
        limits.append(int(positions) - (0 if first is None else int(first) + 1))
    limit = min(limits)
    return limit if limit < _UNLIMITED else _DEFAULT_LENGTH


def prompt_length(tokens: TransformerTokens) -> int:
    """Count the tokens of a prompt including special tokens before it; 0 without a prompt."""
    return prefix_length(tokens) if tokens.prompt else 0


def prefix_length(tokens: TransformerTokens) -> int:
    """Count the tokens before a text: prompt and special tokens."""
    (ids,) = tokens.ids([""])
    return len(ids) - (bool(ids) and ids[-1] in tokens.tokenizer.all_special_ids)
