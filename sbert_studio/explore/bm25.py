"""Lexical search by BM25, and the words of texts in any script."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..caches import bytes_of
from ..data.progress import KeyLocks, checkpoint
from .exact_search import Hit, positive, ranked
from .vector_store import keep_below, load_array, store_array

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..workspace import Workspace


# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, Japanese kana, Chinese characters (with their extensions).
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)

# The commonest words of English, which say nothing about a topic.
_STOP_WORDS = """
a about after again all also am an and any are aren't as at be because been before being but by can can't cannot could couldn't
did didn't do does doesn't doing don't down each else even ever few for from further get gets getting give go goes going got had
has hasn't have haven't having he her here hers him his how how's i i'd i'll i'm i've if in into is isn't it its itself just know
let like make many may me might mine more most much must my myself need no nor not now of off on once one only or other our ours
out over own please same she should shouldn't so some such than that the their theirs them then there these they they're this
those through to too under until up us very want wants was wasn't we we're were weren't what when where which while who whom why
will with won't would wouldn't yes yet you you'd you're you've your yours
"""


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """About 170 English words that are left out of labels."""
    return frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=1)
def _token() -> re.Pattern[str]:
    # Python's \w leaves out the vowel signs and accents that combine with a letter (Hindi, Thai, Arabic).
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)).startswith("M"))
    letter = f"[^\\W_{_UNSPACED}]"
    return re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|{letter}(?:{letter}|[{marks}])*(?:'{letter}(?:{letter}|[{marks}])*)*")


def words(text: str, *, singles: bool = False) -> list[str]:
    """The words of a text in lower case, in order; full-width letters become plain ones.

    A run of characters of a script without spaces gives its pairs of neighbours (its one character, where it is one).

    Args:
        singles: give such a run's single characters too, so that a search for one character finds it.
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


def marked(text: str, query: str) -> list[str]:
    """A text in parts of which every second one is a word of the query, as a search by words reads both; joined they are the text.

    The first part is no word of the query, and may be empty. In a script without spaces single characters count.
    """
    wanted, parts, at = set(words(query, singles=True)), [""], 0
    for match in _token().finditer(text):
        whole = [match.span()]
        spans = whole if match.lastgroup != "unspaced" else [(place, place + 1) for place in range(*match.span())]
        for start, end in spans:
            if wanted.isdisjoint(words(text[start:end], singles=True)):
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
_EVERY = 2048  # texts between two words of progress
_AT_ONCE = 1 << 16  # texts of which the words are counted at once


@dataclass(frozen=True)
class Postings:
    """The rows and weights of word w are those from ``starts[w]`` to ``starts[w + 1]``, by rising row.

    Attributes:
        rows: how many texts there are.
        vocabulary: word → w.
        starts: (words + 1,) int64.
        at: (p,) int32.
        weights: (p,) float32.
    """

    rows: int
    vocabulary: dict[str, int]
    starts: np.ndarray
    at: np.ndarray
    weights: np.ndarray


def postings(texts: Sequence[str], progress: Progress | None = None) -> Postings:
    """BM25 in Lucene's variant: ln(1 + (n − df + ½) / (df + ½)) · tf / (tf + k₁ (1 − b + b · length / mean length)).

    Robertson & Zaragoza 2009; Kamphuis et al. 2020 compare the variants. Weights are those of bm25s, to single precision: this is in
    place of it, because it can be stopped, tells how far it is, and keeps no list of a million texts' words.

    Args:
        texts: n texts.
        progress: told of texts.
    """
    vocabulary: dict[str, int] = {}
    lengths = np.zeros(len(texts), np.int64)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for start in range(0, len(texts), _AT_ONCE):
        found = array("q")
        for row in range(start, min(start + _AT_ONCE, len(texts))):
            if row % _EVERY == 0:
                checkpoint()
                if progress is not None:
                    progress(row, len(texts))
            tokens = words(texts[row], singles=True)
            lengths[row] = len(tokens)
            found.extend([vocabulary.setdefault(token, len(vocabulary)) for token in tokens])
        rows = np.repeat(np.arange(start, min(start + _AT_ONCE, len(texts))), lengths[start : start + _AT_ONCE])
        cells, counts = np.unique(np.frombuffer(found, np.int64) << 32 | rows, return_counts=True)
        parts.append(((cells >> 32).astype(np.int32), (cells & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32)))
    checkpoint()
    having = np.zeros(len(vocabulary), np.int64)
    for of, _, _ in parts:
        having += np.bincount(of, minlength=len(vocabulary))
    starts = np.concatenate([[0], np.cumsum(having)])
    rare = np.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
    usual = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1e-9)) if len(texts) else np.zeros(0)
    at, weights = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    free = starts[:-1].copy()
    for of, held, times in parts:  # by word, then row; and parts by rising rows
        checkpoint()
        of_word = np.bincount(of, minlength=len(vocabulary))
        place = np.arange(len(of)) - np.repeat(np.cumsum(of_word) - of_word, of_word) + np.repeat(free, of_word)
        at[place], weights[place] = held, rare[of] * times / (times + usual[held])
        free += of_word
    if progress is not None:
        progress(len(texts), len(texts))
    return Postings(len(texts), vocabulary, starts, at, weights)


class LexicalIndex:
    """BM25 (Lucene's variant, k₁ 1.5, b 0.75) over words of any script; Chinese by characters and their pairs.

    Args:
        texts: n texts; or what :func:`.postings.postings` made of them.
        progress: told of texts.
    """

    def __init__(self, texts: Sequence[str] | Postings, progress: Progress | None = None) -> None:
        self._index = texts if isinstance(texts, Postings) else postings(texts, progress)

    def __len__(self) -> int:
        return self._index.rows

    @property
    def bytes(self) -> int:
        """About what the index holds in memory; what is mapped from a file is not counted."""
        found = self._index
        return bytes_of([found.starts, found.at, found.weights, found.vocabulary])

    def search(self, query: str, k: int = 10, among: np.ndarray | None = None) -> list[Hit]:
        """The ``k`` best rows that share a word with the query, best first, equal weights by row.

        Args:
            among: the rows that count, each once; all where not given. How rare a word is, is counted over all rows.

        Raises:
            StudioError: ``k`` is below one.
        """
        k, index = positive(k), self._index
        known = [index.vocabulary[word] for word in words(query, singles=True) if word in index.vocabulary]
        if not known or (among is not None and not len(among)):
            return []
        scores = np.zeros(index.rows, np.float32)
        for word in known:
            part = slice(index.starts[word], index.starts[word + 1])
            scores[index.at[part]] += index.weights[part]
        if among is not None:
            rows = np.asarray(among, np.int64)
            found = scores[rows]
        elif k < len(scores):  # only rows that reach the k-th score are put in order, all that tie with it among them
            rows = np.flatnonzero(scores >= max(_kth(scores, k), np.finfo(np.float32).tiny))
            found = scores[rows]
        else:
            rows, found = np.arange(len(scores)), scores
        rows, found = rows[found > 0], found[found > 0]
        if len(rows) > k:
            enough = found >= _kth(found, k)
            rows, found = rows[enough], found[enough]
        return _first(rows, found, k)


def _first(rows: np.ndarray, scores: np.ndarray, k: int) -> list[Hit]:
    order = np.lexsort((rows, -scores))[:k]
    return ranked(rows[order], scores[order])


def _kth(scores: np.ndarray, k: int) -> np.float32:
    """The k-th largest."""
    return np.float32(np.partition(scores, len(scores) - k)[len(scores) - k])


_VERSION = 1  # of the file, of how texts are read as words, and of the weights: another one is made anew
_WORTH = 20_000  # texts below which an index is made as fast as it is read
_HEAD = 4


class LexicalStore:
    """Indexes by words of corpora, made once.

    Args:
        workspace: where the files lie.
        max_bytes: how much they may take; beyond it the least recently used go.
    """

    def __init__(self, workspace: Workspace, max_bytes: int) -> None:
        self._workspace, self._max_bytes = workspace, max_bytes
        self._locks = KeyLocks()

    def get(self, texts: Sequence[str], digest: str, progress: Progress | None = None) -> LexicalIndex:
        """The index of ``texts``. A damaged file is made anew.

        Args:
            digest: the texts' :func:`~sbert_studio.workspace.digest_texts`.
            progress: told of texts.
        """
        if len(texts) < _WORTH:
            return LexicalIndex(texts, progress)
        path = self._workspace.words(digest)
        with self._locks[path.name]:
            found = _read(load_array(path, None, np.uint8, mapped=True), len(texts))
            if found is None:
                found = postings(texts, progress)
                checkpoint()
                if store_array(path, _written(found)):
                    keep_below(path.parent, self._max_bytes, path)
                    found = _read(load_array(path, None, np.uint8, mapped=True), len(texts)) or found
        return LexicalIndex(found)


def _written(index: Postings) -> np.ndarray:
    """(bytes,) uint8: version, rows, words and postings; starts; rows; weights; the words, a line each."""
    head = np.array([_VERSION, index.rows, len(index.vocabulary), len(index.at)], np.int64)
    text = np.frombuffer("\n".join(index.vocabulary).encode("utf-8", "surrogatepass"), np.uint8)
    return np.concatenate([part.view(np.uint8) for part in (head, index.starts.astype(np.int64), index.at, index.weights, text)])


def _read(kept: np.ndarray | None, rows: int) -> Postings | None:
    if kept is None or kept.ndim != 1 or len(kept) < _HEAD * 8:
        return None
    version, of, words, count = kept[: _HEAD * 8].view(np.int64).tolist()
    if version != _VERSION or of != rows:
        return None
    ends = np.cumsum([_HEAD * 8, (words + 1) * 8, count * 4, count * 4]).tolist()
    starts, at, weights = (
        kept[start:end].view(kind) for start, end, kind in zip(ends, ends[1:], (np.int64, np.int32, np.float32), strict=False)
    )
    text = bytes(kept[ends[-1] :]).decode("utf-8", "surrogatepass")
    return Postings(rows, {word: number for number, word in enumerate(text.split("\n") if words else [])}, starts, at, weights)
