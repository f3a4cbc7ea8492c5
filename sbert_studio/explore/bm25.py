"""Lexical search with BM25, and word tokenization for any script."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..caches import estimate_bytes
from ..progress import KeyLocks, checkpoint
from .search import Hit, require_positive, to_hits
from .vector_store import evict_files, load_array, store_array

if TYPE_CHECKING:
    from ..progress import Progress
    from ..workspace import Workspace


# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, Japanese kana, Chinese characters (with their extensions).
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)

_STOP_WORDS = """
a about after again all also am an and another any are aren't as at be because been before being but by can can't cannot could couldn't
did didn't different do does doesn't doing don't down each else even ever few for from further get gets getting give go goes going got had
has hasn't have haven't having he her here hers him his how how's i i'd i'll i'm i've if in into is isn't it its itself just know
let like make many may me might mine more most much must my myself need no nor not now of off on once one only or other our ours
out over own please same she should shouldn't so some such than that the their theirs them then there these they they're this
those three through to too two under until up us very want wants was wasn't we we're were weren't what when where which while who whom why
will with won't would wouldn't yes yet you you'd you're you've your yours
"""


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """Return the most frequent English words, which are excluded from topic labels."""
    return frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=1)
def _token() -> re.Pattern[str]:
    # Python's \w excludes combining vowel signs and accents (Hindi, Thai, Arabic).
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)).startswith("M"))
    letter = f"[^\\W_{_UNSPACED}]"
    return re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|{letter}(?:{letter}|[{marks}])*(?:'{letter}(?:{letter}|[{marks}])*)*")


def tokenize(text: str, *, singles: bool = False) -> list[str]:
    """Return the lower-case words of a text in order, in NFKC form.

    Runs of scripts without spaces (Chinese, Japanese, Thai …) become character bigrams.

    Args:
        singles: also return the single characters of such runs, so that a search for one character finds it.
    """
    found: list[str] = []
    for match in _token().finditer(unicodedata.normalize("NFKC", text).replace("’", "'").casefold()):
        run = match.group()
        if match.lastgroup != "unspaced":
            found.append(run.removesuffix("'s"))
            continue
        run = "".join(character for character in run if character.isalnum() or unicodedata.category(character).startswith("M"))
        if singles or len(run) == 1:
            found += list(run)
        found += [run[place : place + 2] for place in range(len(run) - 1)]
    return found


def highlight(text: str, query: str) -> list[str]:
    """Split a text so that every second part is a word of the query; the joined parts are the text.

    The first part may be empty. In scripts without spaces, single characters match.
    """
    wanted, parts, at = set(tokenize(query, singles=True)), [""], 0
    for match in _token().finditer(text):
        whole = [match.span()]
        spans = whole if match.lastgroup != "unspaced" else [(place, place + 1) for place in range(*match.span())]
        for start, end in spans:
            if wanted.isdisjoint(tokenize(text[start:end], singles=True)):
                continue
            if start == at and len(parts) > 2:  # the next character of the same run
                parts[-2] += text[start:end]
            else:
                parts[-1] = text[at:start]
                parts += [text[start:end], ""]
            at = end
    parts[-1] = text[at:]
    return parts


_K1, _B = 1.5, 0.75
_PROGRESS_ROWS = 2048  # texts between progress reports
_BATCH_ROWS = 1 << 16  # texts whose words are counted at once


@dataclass(frozen=True)
class Postings:
    """Inverted index of texts: the rows (p,) and weights (p,) of word w are at ``starts[w]:starts[w + 1]``, in ascending row order."""

    rows: int
    vocabulary: dict[str, int]
    starts: np.ndarray
    at: np.ndarray
    weights: np.ndarray


def build_postings(texts: Sequence[str], progress: Progress | None = None) -> Postings:
    """Compute BM25 weights in Lucene's variant: ln(1 + (n − df + ½) / (df + ½)) · tf / (tf + k₁ (1 − b + b · length / mean length)).

    Source: Robertson & Zaragoza 2009; Kamphuis et al. 2020 compare the variants. The weights equal those of bm25s in single precision; this
    implementation can be stopped, reports progress, and does not keep the words of all texts in memory.
    """
    vocabulary: dict[str, int] = {}
    lengths = np.zeros(len(texts), np.int64)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for start in range(0, len(texts), _BATCH_ROWS):
        found = array("q")
        for row in range(start, min(start + _BATCH_ROWS, len(texts))):
            if row % _PROGRESS_ROWS == 0:
                checkpoint()
                if progress is not None:
                    progress(row, len(texts))
            tokens = tokenize(texts[row], singles=True)
            lengths[row] = len(tokens)
            found.extend([vocabulary.setdefault(token, len(vocabulary)) for token in tokens])
        rows = np.repeat(np.arange(start, min(start + _BATCH_ROWS, len(texts))), lengths[start : start + _BATCH_ROWS])
        cells, counts = np.unique(np.frombuffer(found, np.int64) << 32 | rows, return_counts=True)
        parts.append(((cells >> 32).astype(np.int32), (cells & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32)))
    checkpoint()
    frequency = np.zeros(len(vocabulary), np.int64)
    for words, _, _ in parts:
        frequency += np.bincount(words, minlength=len(vocabulary))
    starts = np.concatenate([[0], np.cumsum(frequency)])
    idf = np.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
    norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1e-9)) if len(texts) else np.zeros(0)
    at, weights = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    free = starts[:-1].copy()
    for words, held, times in parts:  # by word, then row; parts in ascending row order
        checkpoint()
        of_word = np.bincount(words, minlength=len(vocabulary))
        place = np.arange(len(words)) - np.repeat(np.cumsum(of_word) - of_word, of_word) + np.repeat(free, of_word)
        at[place], weights[place] = held, idf[words] * times / (times + norm[held])
        free += of_word
    if progress is not None:
        progress(len(texts), len(texts))
    return Postings(len(texts), vocabulary, starts, at, weights)


class LexicalIndex:
    """BM25 index (Lucene's variant, k₁ = 1.5, b = 0.75) of n texts, or of their :class:`Postings`, over words of any script."""

    def __init__(self, texts: Sequence[str] | Postings, progress: Progress | None = None) -> None:
        self._index = texts if isinstance(texts, Postings) else build_postings(texts, progress)

    def __len__(self) -> int:
        return self._index.rows

    @property
    def bytes(self) -> int:
        found = self._index
        return estimate_bytes([found.starts, found.at, found.weights, found.vocabulary])

    def search(self, query: str, k: int = 10, row_ids: np.ndarray | None = None) -> list[Hit]:
        """Return the ``k`` best rows that share a word with the query, best first, ties by row.

        Args:
            row_ids: rows to search, without duplicates; all by default. Document frequencies count all rows.

        Raises:
            StudioError: ``k`` is below one.
        """
        k, index = require_positive(k), self._index
        known = [index.vocabulary[word] for word in tokenize(query, singles=True) if word in index.vocabulary]
        if not known or (row_ids is not None and not len(row_ids)):
            return []
        scores = np.zeros(index.rows, np.float32)
        for word in known:
            part = slice(index.starts[word], index.starts[word + 1])
            scores[index.at[part]] += index.weights[part]
        found = scores if row_ids is None else scores[np.asarray(row_ids, np.int64)]
        # Sort only rows that reach the k-th score, including ties.
        enough = np.flatnonzero(found >= max(_kth_largest(found, k) if k < len(found) else 0, np.finfo(np.float32).tiny))
        return to_hits(enough if row_ids is None else np.asarray(row_ids, np.int64)[enough], found[enough], k)


def _kth_largest(scores: np.ndarray, k: int) -> np.float32:
    return np.float32(np.partition(scores, len(scores) - k)[len(scores) - k])


_VERSION = 1  # version of the file format, the tokenizer and the weights
_MIN_STORED_ROWS = 20_000  # smaller indexes are built as fast as they are read
_HEAD = 4


class LexicalStore:
    """Lexical indexes on disk, one per corpus.

    Args:
        max_bytes: disk budget; least recently used files are evicted.
    """

    def __init__(self, workspace: Workspace, max_bytes: int) -> None:
        self._workspace, self._max_bytes = workspace, max_bytes
        self._locks = KeyLocks()

    def get(self, texts: Sequence[str], digest: str, progress: Progress | None = None) -> LexicalIndex:
        """Return the index of ``texts``, building it if its file is missing or damaged.

        Args:
            digest: the result of :func:`~sbert_studio.workspace.digest_texts`.
        """
        if len(texts) < _MIN_STORED_ROWS:
            return LexicalIndex(texts, progress)
        path = self._workspace.words(digest)
        with self._locks[path.name]:
            found = _deserialize(load_array(path, None, np.uint8, mapped=True), len(texts))
            if found is None:
                found = build_postings(texts, progress)
                checkpoint()
                if store_array(path, _serialize(found)):
                    evict_files(path.parent, self._max_bytes, path)
                    found = _deserialize(load_array(path, None, np.uint8, mapped=True), len(texts)) or found
        return LexicalIndex(found)


def _serialize(index: Postings) -> np.ndarray:
    head = np.array([_VERSION, index.rows, len(index.vocabulary), len(index.at)], np.int64)
    text = np.frombuffer("\n".join(index.vocabulary).encode("utf-8", "surrogatepass"), np.uint8)
    return np.concatenate([part.view(np.uint8) for part in (head, index.starts.astype(np.int64), index.at, index.weights, text)])


def _deserialize(data: np.ndarray | None, rows: int) -> Postings | None:
    if data is None or data.ndim != 1 or len(data) < _HEAD * 8:
        return None
    version, total, words, count = data[: _HEAD * 8].view(np.int64).tolist()
    if version != _VERSION or total != rows:
        return None
    ends = np.cumsum([_HEAD * 8, (words + 1) * 8, count * 4, count * 4]).tolist()
    starts, at, weights = (
        data[start:end].view(kind) for start, end, kind in zip(ends, ends[1:], (np.int64, np.int32, np.float32), strict=False)
    )
    text = bytes(data[ends[-1] :]).decode("utf-8", "surrogatepass")
    return Postings(rows, {word: number for number, word in enumerate(text.split("\n") if words else [])}, starts, at, weights)
