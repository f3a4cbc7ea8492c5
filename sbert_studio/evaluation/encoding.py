"""Encode each text of a dataset once, measure the encoding speed, and compute similarities."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ..errors import StudioError
from ..models.base import Encoder, PairScorer, require_finite_vectors
from ..models.similarity import SIMILARITIES
from ..progress import checkpoint, offset_progress

if TYPE_CHECKING:
    from ..models.prompts import Role
    from ..models.trainable import Trainable
    from ..progress import Progress, ShouldStop


_Row = TypeVar("_Row")
_REPEATS = 4
_REPEAT_SECONDS = 0.25  # time of a repeat, which a large file is sampled for
_MIN_REPEAT_ROWS = 16  # fewer do not fill a batch, so that their rate would be another


@dataclass
class EncodingSpeed:
    """Number of sentences that a model has encoded, and the time it took in seconds; a pair counts as two.

    Attributes:
        repeats: sentences per second of timed repeats on some of the same sentences; see :meth:`time_repeats`.
    """

    sentences: int = 0
    seconds: float = 0.0
    repeats: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Sentences per second, the median if it was measured several times; 0 before anything was encoded."""
        return median([self._first_rate, *self.repeats]) if self._first_rate else 0.0

    @property
    def spread(self) -> tuple[float, float] | None:
        """Lowest and highest rate of all measurements; ``None`` if there is only one."""
        rates = [self._first_rate, *self.repeats]
        return (min(rates), max(rates)) if self._first_rate and self.repeats else None

    @property
    def _first_rate(self) -> float:
        return self.sentences / self.seconds if self.sentences and self.seconds > 0 else 0.0

    def time_repeats(self, rows: Sequence[_Row], encode: Callable[[Sequence[_Row]], object], each: int = 1) -> None:
        """Time the encoding of some of the rows again, several times, so that the spread of the rate is known.

        ``rows`` are texts or pairs that were encoded before; ``each`` is the number of sentences in one.
        """
        if not self._first_rate or not rows:
            return
        count = max(_MIN_REPEAT_ROWS, round(_REPEAT_SECONDS * self._first_rate / each))
        sample = rows[:: max(1, len(rows) // count)][:count]
        self.repeats = []
        for _ in range(_REPEATS):
            checkpoint()
            began = time.perf_counter()
            encode(sample)
            self.repeats.append(each * len(sample) / max(time.perf_counter() - began, 1e-9))

    @contextmanager
    def measure(self, progress: Progress | None, each: int = 1) -> Iterator[Progress]:
        """Count encoded sentences from progress calls within this context, and forward the calls.

        ``each`` is the number of sentences per unit of progress.
        """
        read, began = 0, time.perf_counter()

        def show(done: int, total: int) -> None:
            nonlocal read
            read = max(read, done)
            if progress is not None:
                progress(done, total)

        yield show
        self.sentences += each * read
        self.seconds += time.perf_counter() - began


class CachingEncoder(Encoder):
    """Encoder that caches the vector of each text; ``speed`` is that of the wrapped encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.speed = encoder, EncodingSpeed()
        self.name, self.normalizes = encoder.name, encoder.normalizes
        self.similarity_fn_name, self.truncate_dim = encoder.similarity_fn_name, encoder.truncate_dim
        self._known: dict[str, np.ndarray] = {}
        self._readers: dict[str, CachingEncoder] = {}

    @property
    def dim(self) -> int:
        return self.encoder.dim

    @property
    def max_length(self) -> int:
        return self.encoder.max_length

    @property
    def fingerprint(self) -> str:
        return self.encoder.fingerprint

    def prompt_for_role(self, role: Role) -> str:
        return self.encoder.prompt_for_role(role)

    def for_role(self, role: Role) -> CachingEncoder:
        """Return the encoder for texts of ``role``, with its own cache and a shared speed counter."""
        reader = self.encoder.for_role(role)
        if reader is self.encoder:
            return self
        found = self._readers.setdefault(self.prompt_for_role(role), CachingEncoder(reader))
        found.speed = self.speed
        return found

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            with self.speed.measure(progress) as show:
                self._known.update(zip(new, self.encoder.encode(new, progress=show, should_stop=should_stop), strict=True))
        return np.stack([self._known[text] for text in texts]) if len(texts) else np.empty((0, self.dim), np.float32)

    def describe(self) -> dict[str, Any]:
        return self.encoder.describe()


MEASURES = SIMILARITIES
TIE = 1e-6
"""Cosines that differ by less count as ties: float32 products of equal vectors depend on their position in a block."""
_DISTANCES = ("euclidean", "manhattan")
_SYMMETRIC: Role = "symmetric"
_BLOCK = 8192  # rows per block: temporary arrays take 25 MB for 384 dimensions


def pairwise_measures(left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
    """Return cosine, dot product, Euclidean and Manhattan distance of matching rows.

    Args:
        left, right: (n, d). A zero row has cosine 0 with every row; equal rows have exactly 1, so that identical pairs tie.

    Returns:
        An (n,) float64 array for each of :data:`MEASURES`; distances are positive (smaller is more similar).
    """
    found = {name: np.empty(len(left)) for name in MEASURES}
    for start in range(0, len(left), _BLOCK):
        rows = slice(start, start + _BLOCK)
        u, v = left[rows].astype(np.float64), right[rows].astype(np.float64)
        dot = np.einsum("nd,nd->n", u, v)
        lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        found["dot"][rows] = dot
        difference = u - v
        cosine = np.divide(dot, lengths, out=np.zeros_like(dot), where=lengths > 0)
        cosine[(lengths > 0) & ~difference.any(axis=1)] = 1.0
        found["cosine"][rows] = cosine
        found["euclidean"][rows] = np.linalg.norm(difference, axis=1)
        found["manhattan"][rows] = np.abs(difference, out=difference).sum(axis=1)
    return found


def similarities(left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
    """Compute :func:`pairwise_measures` with distances negated, so that larger always means more similar."""
    return {name: -values if name in _DISTANCES else values for name, values in pairwise_measures(left, right).items()}


class EncodedColumns:
    """Vectors of several columns of texts; each distinct text is encoded once with each prompt.

    Args:
        columns: all texts that will be needed.
        roles: prompt roles of the columns; symmetric by default.

    Raises:
        StudioError: a vector is not finite, for example because training diverged.
    """

    def __init__(
        self, encoder: Encoder, columns: Iterable[Sequence[str]], progress: Progress | None = None, roles: Sequence[Role] = ()
    ) -> None:
        self._prompt_of = encoder.prompt_for_role
        self._places: dict[str, dict[str, int]] = {}  # by prompt
        readers: dict[str, Encoder] = {}
        for column, role in zip(columns, roles or repeat(_SYMMETRIC), strict=bool(roles)):
            prompt = encoder.prompt_for_role(role)
            readers.setdefault(prompt, encoder.for_role(role))
            places = self._places.setdefault(prompt, {})
            for text in column:
                places.setdefault(text, len(places))
        total = sum(map(len, self._places.values()))
        self._vectors: dict[str, np.ndarray] = {}
        done = 0
        for prompt, places in self._places.items():
            report = offset_progress(progress, done, total) if len(readers) > 1 else progress
            self._vectors[prompt] = require_finite_vectors(readers[prompt].encode(list(places), progress=report))
            done += len(places)

    def of(self, column: Sequence[str], role: Role = "symmetric") -> np.ndarray:
        """Return the (n, d) vectors of a column with this role."""
        prompt = self._prompt_of(role)
        places = self._places[prompt]
        return np.asarray(self._vectors[prompt][np.fromiter((places[text] for text in column), np.int64, len(column))])


def encode_columns(
    encoder: Encoder, columns: Sequence[Sequence[str]], progress: Progress | None = None, roles: Sequence[Role] = ()
) -> list[np.ndarray]:
    """Return the (n, d) vectors of each column; see :class:`EncodedColumns`."""
    roles = roles or [_SYMMETRIC] * len(columns)
    encoded = EncodedColumns(encoder, columns, progress, roles)
    return [encoded.of(column, role) for column, role in zip(columns, roles, strict=True)]


def pair_similarities(
    model: Encoder | PairScorer | Trainable, left: Sequence[str], right: Sequence[str], roles: Sequence[Role] = (_SYMMETRIC, _SYMMETRIC)
) -> np.ndarray:
    """Return the similarity of each pair, (n,) float64, from a pair scorer or the model's similarity function; larger is more similar.

    Args:
        roles: prompt roles of the two columns.

    Raises:
        StudioError: see :func:`encode_columns`.
    """
    if isinstance(model, PairScorer):
        return np.asarray(model.predict(list(zip(left, right, strict=True))), np.float64)
    vectors = encode_columns(cast("Encoder", model), [left, right], roles=roles)
    return similarities(*vectors)[cast("Encoder", model).similarity_name]


def require_finite(scores: np.ndarray) -> np.ndarray:
    """Return ``scores`` unchanged.

    Raises:
        StudioError: a score is not finite, for example because training diverged.
    """
    if not np.isfinite(scores).all():
        raise StudioError(
            "the model returns scores that are not finite numbers", "its training diverged: lower the learning rate and train it again"
        )
    return scores
