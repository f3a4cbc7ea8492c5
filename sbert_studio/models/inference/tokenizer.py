"""Tokenization of transformers: texts → token ids, by one tokenizer that many threads share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

# Long texts are first tokenized up to this many characters per token of the maximum length.
_CHARACTERS_PER_TOKEN = 64
_SPACES = " \t\n\r"  # white space for every tokenizer; some drop other kinds

# Marks of word starts in unigram and byte-level BPE vocabularies, and of continuations in WordPiece.
_WORD_START_MARKS = ("\u2581", "\u0120")
_CONTINUATION_MARK = "##"
_MIN_MARKED_SHARE = 0.05
_UNSPACED_FROM = 0x2E80  # Chinese and Japanese characters, and later blocks


class TransformerTokens:
    """A Hugging Face tokenizer bound to a maximum length.

    The Rust tokenizer behind a fast one is shared by all threads and its output is truncated here, as its own truncation cannot be set
    while another thread tokenizes. It is copied only if it already truncates or pads: a copy of 250,000 pieces takes 270 MB.

    Args:
        tokenizer: a ``PreTrainedTokenizerBase``.
        max_length: maximum number of ids per text, special tokens included.
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
        """Padding id; always masked."""
        return int(self.tokenizer.pad_token_id or 0)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text with special tokens, truncated, not padded, at least one.

        An empty text to which the tokenizer adds nothing becomes one padding token, since attention needs a token.
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
        # A start that fills the maximum length has the same tokens as the whole text; otherwise tokenize the whole text.
        short = [index for index, text in enumerate(texts) if len(text) > limit and len(rows[index]) < self.max_length]
        for index, encoding in zip(short, self._fast.encode_batch_fast([texts[index] for index in short]), strict=True):
            rows[index] = self._cut(encoding.ids)
        return rows

    def _cut(self, row: list[Any]) -> list[Any]:
        """Truncate a row like the tokenizer itself: between its special tokens."""
        excess = len(row) - self.max_length
        if self._special_counts is None or excess <= 0:
            return row
        before, after = self._special_counts
        if self.tokenizer.truncation_side == "left":
            return row[:before] + row[before + excess :]
        return row[: len(row) - after - excess] + row[len(row) - after :]

    def word_spans(self, text: str) -> list[tuple[int, int] | None] | None:
        """Return the (start, end) of each id's word, see :func:`word_spans`; ``None`` without a fast tokenizer."""
        if self._fast is None:
            return None
        return self._cut(word_spans(self._fast.encode(replace_surrogates(self.prompt + text)), self.prompt + text, len(self.prompt)))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text without truncation, special tokens included."""
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
        """Return the share of unknown tokens in ``texts``, 0 to 1, special tokens not counted."""
        unknown, special = self.tokenizer.unk_token_id, set(self.tokenizer.all_special_ids)
        ids = [token for row in self.ids(texts) for token in row if token == unknown or token not in special]
        return 0.0 if unknown is None else ids.count(unknown) / max(1, len(ids))

    def words(self) -> list[str]:
        """Return the whole words of the vocabulary in its order: pieces that start a word in WordPiece, unigram or byte-level BPE."""
        vocabulary = sorted(self.tokenizer.get_vocab().items(), key=lambda item: item[1])
        special = set(self.tokenizer.all_special_tokens)
        pieces = [(piece, index) for piece, index in vocabulary if piece not in special]
        # The marks are letters, too, which a vocabulary without marks may contain.
        mark = next(
            (mark for mark in _WORD_START_MARKS if sum(piece.startswith(mark) for piece, _ in pieces) > _MIN_MARKED_SHARE * len(pieces)), ""
        )
        word_ids = [index for piece, index in pieces if (piece.startswith(mark) if mark else not piece.startswith(_CONTINUATION_MARK))]
        return [text.strip() for text in self.tokenizer.batch_decode([[index] for index in word_ids])]


def _first_words(text: str, limit: int) -> str:
    """Return the whole words among the first ``limit`` characters: a unigram model's pieces depend on the whole word."""
    if len(text) <= limit:
        return text
    return text[: max(0, *(text.rfind(mark, 0, limit + 1) for mark in _SPACES))].rstrip(_SPACES)


def count_special_tokens(backend: Any) -> tuple[int, int] | None:
    """Count the special tokens that a Rust tokenizer adds before and after a text; ``None`` if it truncates or pads, or adds no text."""
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
    """Return ``tokenizer``, with its end-of-text token as padding if it has none, as many decoders."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.bos_token
    return tokenizer


def replace_surrogates(text: str) -> str:
    """Return ``text`` with lone surrogates, which tokenizers cannot encode, replaced by question marks."""
    return text if text.isascii() or _is_encodable(text) else text.encode("utf-8", "replace").decode("utf-8")


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


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
