"""Tokenize texts once, group them into batches of similar length, and encode them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ..base import check_stop
from .machine import even_budget, map_parallel, token_budget, worker_count

if TYPE_CHECKING:
    from torch import Tensor

    from ...progress import Progress, ShouldStop
    from ..sentence_encoder import SentenceEncoder


# Long texts are first tokenized up to this many characters per token of the maximum length.
_CHARACTERS_PER_TOKEN = 64
_SPACES = " \t\n\r"  # whitespace for every tokenizer; some drop other kinds

# Marks of word starts in unigram and byte-level BPE vocabularies, and of continuations in WordPiece.
_WORD_START_MARKS = ("\u2581", "\u0120")
_CONTINUATION_MARK = "##"
_MIN_MARKED_SHARE = 0.05
_UNSPACED_FROM = 0x2E80  # Chinese and Japanese characters, and later Unicode blocks


class TransformerTokens:
    """A Hugging Face tokenizer bound to a maximum length.

    The Rust tokenizer of a fast tokenizer is shared by all threads, and its output is truncated here, because its own truncation cannot be
    set while another thread tokenizes. It is copied only if it already truncates or pads: a copy of 250,000 pieces takes 270 MB.

    Args:
        tokenizer: a ``PreTrainedTokenizerBase``.
        max_length: maximum number of ids per text, including special tokens.
        prompt: prepended to every text.
    """

    def __init__(self, tokenizer: Any, max_length: int, prompt: str = "") -> None:
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.prompt = prompt
        self._lock = threading.Lock()
        self._fast: Any = None
        self._special_counts: tuple[int, int] | None = None
        if tokenizer.is_fast:
            self._special_counts = count_special_tokens(tokenizer.backend_tokenizer)
            self._fast = tokenizer.backend_tokenizer if self._special_counts is not None else truncating_tokenizer(tokenizer, max_length)

    @property
    def pad(self) -> int:
        return int(self.tokenizer.pad_token_id or 0)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text including special tokens, truncated but not padded; no list is empty.

        An empty text without special tokens becomes one padding token, because attention needs at least one token.
        """
        return [row or [self.pad] for row in self._ids(texts)]

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        texts = [replace_surrogates(self.prompt + text) for text in texts]
        if self._fast is None:
            if not texts:
                return []
            with self._lock:
                encoded = self.tokenizer(texts, truncation=True, max_length=self.max_length, padding=False)
            return [list(row) for row in encoded["input_ids"]]
        limit = self.max_length * _CHARACTERS_PER_TOKEN
        if self.tokenizer.truncation_side != "right" or all(len(text) <= limit for text in texts):
            return [self._cut(encoding.ids) for encoding in self._fast.encode_batch_fast(texts)]
        rows = [self._cut(encoding.ids) for encoding in self._fast.encode_batch_fast([_first_words(text, limit) for text in texts])]
        # A prefix that fills the maximum length has the same tokens as the whole text; otherwise tokenize the whole text.
        short = [index for index, text in enumerate(texts) if len(text) > limit and len(rows[index]) < self.max_length]
        for index, encoding in zip(short, self._fast.encode_batch_fast([texts[index] for index in short]), strict=True):
            rows[index] = self._cut(encoding.ids)
        return rows

    def _cut(self, row: list[Any]) -> list[Any]:
        excess = len(row) - self.max_length
        if self._special_counts is None or excess <= 0:
            return row
        before, after = self._special_counts
        if self.tokenizer.truncation_side == "left":
            return row[:before] + row[before + excess :]
        return row[: len(row) - after - excess] + row[len(row) - after :]

    def word_spans(self, text: str) -> list[tuple[int, int] | None] | None:
        if self._fast is None:
            return None
        return self._cut(word_spans(self._fast.encode(replace_surrogates(self.prompt + text)), self.prompt + text, len(self.prompt)))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        texts = [replace_surrogates(self.prompt + text) for text in texts]
        if self._fast is None:
            with self._lock:
                return [len(row) for row in self.tokenizer(texts, truncation=False)["input_ids"]] if texts else []
        whole = self._fast
        if self._special_counts is None:
            from tokenizers import Tokenizer

            whole = Tokenizer.from_str(self._fast.to_str())
            whole.no_truncation()
        return [len(encoding.ids) for encoding in whole.encode_batch_fast(texts)]

    def unknown_share(self, texts: Sequence[str]) -> float:
        unknown, special = self.tokenizer.unk_token_id, set(self.tokenizer.all_special_ids)
        ids = [token for row in self.ids(texts) for token in row if token == unknown or token not in special]
        return 0.0 if unknown is None else ids.count(unknown) / max(1, len(ids))

    def words(self) -> list[str]:
        """Return the whole words of the vocabulary in order: pieces that start a word in WordPiece, unigram or byte-level BPE."""
        vocabulary = sorted(self.tokenizer.get_vocab().items(), key=lambda item: item[1])
        special = set(self.tokenizer.all_special_tokens)
        pieces = [(piece, index) for piece, index in vocabulary if piece not in special]
        # The marks are also letters, which a vocabulary without marks may contain.
        mark = next(
            (mark for mark in _WORD_START_MARKS if sum(piece.startswith(mark) for piece, _ in pieces) > _MIN_MARKED_SHARE * len(pieces)), ""
        )
        word_ids = [index for piece, index in pieces if (piece.startswith(mark) if mark else not piece.startswith(_CONTINUATION_MARK))]
        return [text.strip() for text in self.tokenizer.batch_decode([[index] for index in word_ids])]


def _first_words(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    # Whole words: a unigram model's pieces depend on the whole word.
    return text[: max(0, *(text.rfind(mark, 0, limit + 1) for mark in _SPACES))].rstrip(_SPACES)


def count_special_tokens(backend: Any) -> tuple[int, int] | None:
    """Count the special tokens that a Rust tokenizer adds before and after a text; ``None`` if it truncates, pads, or drops the text."""
    if backend.truncation is not None or backend.padding is not None:
        return None
    mask = backend.encode("a").special_tokens_mask
    content = [index for index, special in enumerate(mask) if not special]
    return (content[0], len(mask) - 1 - content[-1]) if content else None


def truncating_tokenizer(tokenizer: Any, max_length: int) -> Any:
    """Return a copy of a fast tokenizer's Rust tokenizer that truncates to ``max_length`` ids and never pads."""
    from tokenizers import Tokenizer

    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    copy.no_padding()
    copy.enable_truncation(max_length, direction=tokenizer.truncation_side)
    return copy


def ensure_padding_token(tokenizer: Any) -> Any:
    """Return ``tokenizer``, using its end-of-text token for padding if it has no padding token, as is the case for many decoders."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.bos_token
    return tokenizer


def replace_surrogates(text: str) -> str:
    """Return ``text`` with lone surrogates, which tokenizers cannot encode, replaced by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def word_spans(encoding: Any, text: str, skipped: int) -> list[tuple[int, int] | None]:
    """Return the (start, end) of each token's word in ``text[skipped:]``; ``None`` for special and skipped tokens.

    In scripts without spaces, each token is a word.
    """
    words: dict[Any, tuple[int, int]] = {}
    keys: list[Any] = []
    tokens = zip(encoding.offsets, encoding.word_ids, encoding.special_tokens_mask, strict=True)
    for index, ((begin, end), word, special) in enumerate(tokens):
        piece = text[begin:end]
        start = begin + len(piece) - len(piece.lstrip())
        if special or start >= end or start < skipped:
            keys.append(None)
            continue
        is_unspaced = any(ord(character) >= _UNSPACED_FROM for character in text[start:end])
        key = ("token", index) if word is None or is_unspaced else word
        known = words.get(key, (start - skipped, end - skipped))
        words[key] = min(known[0], start - skipped), max(known[1], end - skipped)
        keys.append(key)
    return [None if key is None else words[key] for key in keys]


# Texts tokenized at once: enough to keep all cores busy, few enough to bound memory and react to should_stop.
CHUNK_TEXTS = 8_192
_MIN_LENGTH = 3
_UNLIMITED = 1_000_000  # tokenizers without a limit have a max_length of thirty digits
_DEFAULT_LENGTH = 512


@dataclass(frozen=True)
class TokenRows:
    """Token ids of many texts in one flat array, which takes 4 bytes per token instead of 36 in Python lists.

    Attributes:
        flat: all ids, int32, text after text.
        starts: offsets of the texts, int64 (n + 1,).
    """

    flat: np.ndarray
    starts: np.ndarray

    @classmethod
    def from_lists(cls, chunks: Iterable[Sequence[Sequence[int]]]) -> TokenRows:
        """Join chunks of id lists; each chunk can be freed before the next is created."""
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
        """Return the concatenated ids of ``rows``, int32, and their offsets, int32 (b + 1,)."""
        begins = self.starts[rows]
        sizes = self.starts[rows + 1] - begins
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        indices = np.arange(int(starts[-1])) + np.repeat(begins - starts[:-1], sizes)
        return self.flat[indices], starts.astype(np.int32)


def pad_pairs(ids: TokenRows, segments: TokenRows, rows: np.ndarray, pad: int, *, left: bool) -> dict[str, np.ndarray]:
    """Return ``input_ids``, ``token_type_ids`` and, with padding, ``attention_mask`` of ``rows``, (b, longest) int64.

    Args:
        left: pad on the left, for models such as XLNet that classify by the last token.
    """
    input_ids, mask = ids.padded(rows, pad)
    arrays = {"input_ids": input_ids, "token_type_ids": segments.padded(rows, 0)[0]}
    if mask is None:
        return arrays
    arrays["attention_mask"] = mask
    if not left:
        return arrays
    width = mask.shape[1]
    columns = (np.arange(width) - (width - mask.sum(axis=1))[:, None]) % width
    return {name: np.take_along_axis(array, columns, axis=1) for name, array in arrays.items()}


def unique_texts(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts in order of first occurrence, and each text's index among them, int64 (n,)."""
    numbers: dict[str, int] = {}
    inverse = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int64, len(texts))
    return list(numbers), inverse


def token_batches(lengths: np.ndarray, budget: int, max_rows: int) -> list[np.ndarray]:
    """Group rows into batches of similar length, longest first.

    A batch has at most ``max_rows`` rows, and at most ``budget`` tokens including padding unless a single row is longer. The longest rows
    come first, so that an out-of-memory error occurs early.
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
    """Return the vectors of ``texts``, (n, dim) float32, row i for text i; must be called without gradients and dropout."""
    distinct, inverse = unique_texts(texts)
    vectors = np.empty((len(inverse), encoder.dim), np.float32)
    # Vectors are written at the first occurrence of each text, and copied from there.
    first = np.flatnonzero(np.diff(np.maximum.accumulate(inverse), prepend=-1))
    done = 0
    batches, inputs = _prepare(encoder, distinct, should_stop)
    workers = worker_count(encoder.device, len(batches)) if encoder.parallel_batches else 1
    for batch, computed in zip(batches, map_parallel(encoder, inputs, workers) if workers > 1 else map(encoder, inputs), strict=True):
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


def encoder_batches(
    encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None = None
) -> Iterator[tuple[np.ndarray, dict[str, Tensor]]]:
    """Return the rows of each batch of distinct ``texts``, longest first, and the batch as the encoder's input."""
    return zip(*_prepare(encoder, texts, should_stop), strict=True)


def _prepare(
    encoder: SentenceEncoder, texts: list[str], should_stop: ShouldStop | None
) -> tuple[list[np.ndarray], Iterator[dict[str, Tensor]]]:
    def chunks() -> Iterator[list[list[int]]]:
        for start in range(0, len(texts), CHUNK_TEXTS):
            check_stop(should_stop)
            yield encoder.tokenize(texts[start : start + CHUNK_TEXTS])

    def collate(batch: np.ndarray) -> dict[str, Tensor]:
        check_stop(should_stop)
        ids, mask = rows.padded(batch, encoder.tokens.pad)
        inputs = {"input_ids": encoder.to_tensor(ids)}
        return inputs if mask is None else {**inputs, "attention_mask": encoder.to_tensor(mask)}

    rows = TokenRows.from_lists(chunks())
    budget, most = token_budget(encoder.device)
    batches = token_batches(rows.lengths, even_budget(encoder.device, budget, int(rows.starts[-1])), most)
    return batches, map(collate, batches)


def cap_length(requested: int | None, backbone: Any, tokenizer: Any) -> int:
    """Return the ``requested`` length, or the tokenizer's limit, but at most the backbone's number of positions."""
    if requested is None and int(tokenizer.model_max_length) < _MIN_LENGTH:
        raise StudioError(
            _("the maximum length of the model's tokenizer is {model_max_length}", model_max_length=tokenizer.model_max_length),
            "copy the folder again",
        )
    limits = [int(tokenizer.model_max_length) if requested is None else requested]
    positions = getattr(backbone.config.get_text_config(), "max_position_embeddings", None)
    if positions is not None and positions > 0:
        # RoBERTa's positions start after the padding id: 514 positions allow 512 tokens.
        first = getattr(getattr(backbone, "embeddings", None), "padding_idx", None)
        limits.append(int(positions) - (0 if first is None else int(first) + 1))
    limit = min(limits)
    return limit if limit < _UNLIMITED else _DEFAULT_LENGTH


def prompt_length(tokens: TransformerTokens) -> int:
    """Count the tokens of a prompt, including preceding special tokens; 0 without a prompt."""
    return prefix_length(tokens) if tokens.prompt else 0


def prefix_length(tokens: TransformerTokens) -> int:
    """Count the tokens before the text: prompt and special tokens."""
    (ids,) = tokens.ids([""])
    return len(ids) - (bool(ids) and ids[-1] in tokens.tokenizer.all_special_ids)
