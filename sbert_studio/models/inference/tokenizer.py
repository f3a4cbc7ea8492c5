"""Texts → token ids, by one tokenizer that many threads share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

# A text is first read up to this many characters for each token that is kept; only one that fills fewer is read whole.
_CHARACTERS_A_TOKEN = 64
_SPACES = " \t\n\r"  # what every tokenizer takes for white space; some drop other kinds

# How the pieces of a vocabulary show where a word begins: unigram, and byte-level BPE; WordPiece shows where one goes on.
_BEGINS = ("\u2581", "\u0120")
_GOES_ON = "##"
_MARKED = 0.05
_UNSPACED_FROM = 0x2E80  # Chinese and Japanese characters, and what stands behind them


class Tokens:
    """A Hugging Face tokenizer bound to one maximum length.

    The Rust tokenizer behind a fast one is read as it is, by as many threads as ask, and what it returns is cut here: its own truncation
    cannot be set while another thread is reading. It is copied only where it already cuts or pads, since a copy of a vocabulary of 250,000
    pieces takes 270 MB.

    Args:
        tokenizer: a ``PreTrainedTokenizerBase``.
        max_length: the most ids of a text, special tokens included.
        prompt: put before every text.
    """

    def __init__(self, tokenizer: Any, max_length: int, prompt: str = "") -> None:
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.prompt = prompt
        self._lock = threading.Lock()
        self._fast: Any = None
        self._ends: tuple[int, int] | None = None
        if tokenizer.is_fast:
            self._ends = special_ends(tokenizer.backend_tokenizer)
            self._fast = tokenizer.backend_tokenizer if self._ends is not None else bind(tokenizer, max_length)

    @property
    def pad(self) -> int:
        """The id that fills a row; masked wherever it stands."""
        return int(self.tokenizer.pad_token_id or 0)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text with special tokens, cut to the maximum length, not padded, never none.

        An empty text that the tokenizer puts nothing around is read as one padding token: no attention can be paid to nothing.
        """
        return [row or [self.pad] for row in self._ids(texts)]

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        texts = [readable(self.prompt + text) for text in texts]
        if self._fast is None:
            if not texts:
                return []
            with self._lock:
                encoded = self.tokenizer(texts, truncation=True, max_length=self.max_length, padding=False)
            return [list(row) for row in encoded["input_ids"]]
        limit = self.max_length * _CHARACTERS_A_TOKEN
        if self.tokenizer.truncation_side != "right" or all(len(text) <= limit for text in texts):
            return [self._cut(encoding.ids) for encoding in self._fast.encode_batch_fast(texts)]
        rows = [self._cut(encoding.ids) for encoding in self._fast.encode_batch_fast([_beginning(text, limit) for text in texts])]
        # A beginning that fills all places holds every token that the whole text would keep; else it is read whole.
        short = [place for place, text in enumerate(texts) if len(text) > limit and len(rows[place]) < self.max_length]
        for place, encoding in zip(short, self._fast.encode_batch_fast([texts[place] for place in short]), strict=True):
            rows[place] = self._cut(encoding.ids)
        return rows

    def _cut(self, row: list[Any]) -> list[Any]:
        """Cut a row to the maximum length, as the tokenizer's own truncation does: what is left out lies between its special tokens."""
        excess = len(row) - self.max_length
        if self._ends is None or excess <= 0:
            return row
        begin, end = self._ends
        if self.tokenizer.truncation_side == "left":
            return row[:begin] + row[begin + excess :]
        return row[: len(row) - end - excess] + row[len(row) - end :]

    def spans(self, text: str) -> list[tuple[int, int] | None] | None:
        """For each id of a text where in it its word stands; see :func:`word_spans`. ``None`` without a fast tokenizer."""
        if self._fast is None:
            return None
        return self._cut(word_spans(self._fast.encode(readable(self.prompt + text)), self.prompt + text, len(self.prompt)))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has when nothing is cut, special tokens included."""
        texts = [readable(self.prompt + text) for text in texts]
        if self._fast is None:
            with self._lock:
                return [len(row) for row in self.tokenizer(texts, truncation=False)["input_ids"]] if texts else []
        whole = self._fast
        if self._ends is None:
            from tokenizers import Tokenizer

            whole = Tokenizer.from_str(self._fast.to_str())
            whole.no_truncation()
        return [len(encoding.ids) for encoding in whole.encode_batch_fast(texts)]

    def unread(self, texts: Sequence[str]) -> float:
        """The share of the tokens of ``texts`` that stand for something unknown, in [0, 1]; special tokens are not counted."""
        unknown, special = self.tokenizer.unk_token_id, set(self.tokenizer.all_special_ids)
        found = [one for row in self.ids(texts) for one in row if one == unknown or one not in special]
        return 0.0 if unknown is None else found.count(unknown) / max(1, len(found))

    def words(self) -> list[str]:
        """The whole words of the vocabulary, in its order: pieces that begin a word, as WordPiece, unigram and byte-level BPE mark them."""
        vocabulary = sorted(self.tokenizer.get_vocab().items(), key=lambda item: item[1])
        special = set(self.tokenizer.all_special_tokens)
        pieces = [(piece, place) for piece, place in vocabulary if piece not in special]
        # Each mark is also a letter, which a vocabulary without marks may hold.
        mark = next((mark for mark in _BEGINS if sum(piece.startswith(mark) for piece, _ in pieces) > _MARKED * len(pieces)), "")
        places = [place for piece, place in pieces if (piece.startswith(mark) if mark else not piece.startswith(_GOES_ON))]
        return [text.strip() for text in self.tokenizer.batch_decode([[place] for place in places])]


def _beginning(text: str, limit: int) -> str:
    """The whole words of the first ``limit`` characters: the pieces of a unigram model depend on all of their word."""
    if len(text) <= limit:
        return text
    return text[: max(0, *(text.rfind(mark, 0, limit + 1) for mark in _SPACES))].rstrip(_SPACES)


def special_ends(backend: Any) -> tuple[int, int] | None:
    """Count the special tokens that a Rust tokenizer puts before and after a text; None where it cuts or pads, or it cannot be told."""
    if backend.truncation is not None or backend.padding is not None:
        return None
    mask = backend.encode("a").special_tokens_mask
    content = [place for place, special in enumerate(mask) if not special]
    return (content[0], len(mask) - 1 - content[-1]) if content else None


def bind(tokenizer: Any, max_length: int) -> Any:
    """A copy of the Rust tokenizer behind a fast one, which cuts to ``max_length`` ids and never pads."""
    from tokenizers import Tokenizer

    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    copy.no_padding()
    copy.enable_truncation(max_length, direction=tokenizer.truncation_side)
    return copy


def with_padding(tokenizer: Any) -> Any:
    """``tokenizer``; where it has no padding token, as many decoders' have not, its end-of-text token becomes one."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.bos_token
    return tokenizer


def readable(text: str) -> str:
    """``text`` with lone surrogates, which no tokenizer can read, shown as question marks."""
    return text if text.isascii() or _encodes(text) else text.encode("utf-8", "replace").decode("utf-8")


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def word_spans(encoding: Any, text: str, skipped: int) -> list[tuple[int, int] | None]:
    """For each token of a tokenizer's encoding the (start, end) of its word in what follows the first ``skipped`` characters of ``text``.

    Special tokens and those of the skipped part have none. Of scripts without spaces, each token is a word.
    """
    words: dict[Any, tuple[int, int]] = {}
    keys: list[Any] = []
    told = zip(encoding.offsets, encoding.word_ids, encoding.special_tokens_mask, strict=True)
    for place, ((begin, end), word, special) in enumerate(told):
        piece = text[begin:end]
        start = begin + len(piece) - len(piece.lstrip())
        if special or start >= end or start < skipped:
            keys.append(None)
            continue
        unspaced = any(ord(character) >= _UNSPACED_FROM for character in text[start:end])
        key = ("token", place) if word is None or unspaced else word
        known = words.get(key, (start - skipped, end - skipped))
        words[key] = min(known[0], start - skipped), max(known[1], end - skipped)
        keys.append(key)
    return [None if key is None else words[key] for key in keys]
