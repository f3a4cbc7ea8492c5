"""Geometry of the embedding space: anisotropy (Ethayarajh 2019), uniformity and alignment (Wang & Isola 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...data.schema.inference import infer_roles
from ...data.schema.roles import KINDS, Kind, Roles
from ...errors import StudioError
from ...models.similarity import unit
from ...progress import checkpoint
from ..bootstrap import bootstrap_scores, percentile_interval, resample_clusters
from ..report import Report
from .base import TASK_REGISTRY, ClassRoles, EncodedExamples, Task, TaskData, build_task_data

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...data.loading.table import Table


_MAX_ROWS = 5_000  # twelve million pairs; larger sets are sampled
_T = 2.0
_BLOCK = 4_000_000  # cells per block of cosines: 16 MB


@dataclass(frozen=True)
class GeometrySample:
    """A mean over pairs of vectors.

    Attributes:
        value: the mean.
        pairs: number of pairs.
        rows: number of rows.
        exact: True if computed on all pairs, not on a sample of rows.
    """

    value: float
    pairs: int
    rows: int
    exact: bool = True


def evaluate_geometry(vectors: np.ndarray, pairs: tuple[np.ndarray, np.ndarray] | None = None) -> Report:
    """Compute anisotropy, uniformity and, with pairs, alignment.

    Args:
        vectors: (n, d), one for each distinct text.
        pairs: both sides of positive pairs, (m, d) each, if any.

    Returns:
        A ``geometry`` report: ``anisotropy`` with its 95 % bootstrap ``interval`` over texts, ``uniformity``, ``alignment`` with pairs,
        ``texts``, ``uniformity_rows`` and ``positive_pairs``.

    Raises:
        StudioError: fewer than two texts have a nonzero vector.
    """
    spread = uniformity(vectors)
    scores: dict[str, Any] = {"anisotropy": anisotropy(vectors).value, "uniformity": spread.value}
    if pairs is not None:
        scores["alignment"] = alignment(*pairs).value
    scores |= {"texts": len(vectors), "uniformity_rows": spread.rows, "positive_pairs": 0 if pairs is None else len(pairs[0])}
    drawn = resampled_anisotropy(vectors)
    return Report("geometry", len(vectors), scores | {"interval": percentile_interval(drawn)}, resampled=drawn)


def resampled_anisotropy(vectors: np.ndarray) -> np.ndarray:
    """Return the anisotropy of every bootstrap resample, (resamples,); a row drawn twice is not paired with itself."""
    rows = _unit_rows(vectors).astype(np.float64)

    def score(block: np.ndarray) -> np.ndarray:
        total = block @ rows
        own = np.square(block).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((np.einsum("rd,rd->r", total, total) - own) / (np.square(block.sum(axis=1)) - own))

    with resample_clusters():
        return bootstrap_scores(score, len(rows))


def anisotropy(vectors: np.ndarray) -> GeometrySample:
    """Return the mean cosine of two different rows, in [−1, 1]: 0 if directions are isotropic, 1 if all are equal (Ethayarajh 2019).

    Exact for any number of rows: the cosines of all pairs of n unit vectors sum to (‖Σx‖² − n) / 2.

    Args:
        vectors: (n, d), normalized here; zero rows are ignored.

    Raises:
        StudioError: fewer than two nonzero rows.
    """
    rows = _unit_rows(vectors)
    count, total = len(rows), rows.sum(axis=0, dtype=np.float64)
    own = float(np.einsum("nd,nd->", rows, rows, dtype=np.float64))
    return GeometrySample(float((total @ total - own) / (count * (count - 1))), count * (count - 1) // 2, count)


def uniformity(vectors: np.ndarray, *, most: int = _MAX_ROWS, seed: int = 12) -> GeometrySample:
    """Return log E exp(−2 ‖x − y‖²) over pairs of different rows, at most 0, lower is more uniform (Wang & Isola 2020, equation 2).

    Args:
        vectors: (n, d), normalized here; zero rows are ignored.
        most: maximum number of rows; larger inputs are sampled.
        seed: seed of the sample.

    Raises:
        StudioError: fewer than two nonzero rows.
    """
    rows = _unit_rows(vectors)
    exact = len(rows) <= most
    if not exact:
        rows = rows[np.sort(np.random.default_rng(seed).permutation(len(rows))[:most])]
    count, total = len(rows), 0.0
    at_once = max(1, _BLOCK // count)
    for start in range(0, count, at_once):
        checkpoint()
        block = rows[start : start + at_once] @ rows.T
        near = np.exp(2 * _T * (block - 1))
        near[np.arange(len(block)), np.arange(start, start + len(block))] = 0
        total += float(near.sum(dtype=np.float64))
    return GeometrySample(math.log(total / (count * (count - 1))), count * (count - 1) // 2, count, exact)


def alignment(left: np.ndarray, right: np.ndarray) -> GeometrySample:
    """Return E ‖x − y‖² of positive pairs, between 0 and 4 (Wang & Isola 2020, equation 1 with α = 2).

    Args:
        left, right: (n, d) vectors of matching rows, normalized here; pairs with a zero row are ignored.

    Raises:
        StudioError: there are no pairs.
    """
    u, v = unit(left), unit(right)
    both = u.any(axis=1) & v.any(axis=1)
    if not both.any():
        raise StudioError("there are no positive pairs to measure alignment on", "use pairs of similar texts")
    distances = np.square(u[both] - v[both], dtype=np.float64).sum(axis=1)
    return GeometrySample(float(distances.mean()), int(both.sum()), int(both.sum()))


def _unit_rows(vectors: np.ndarray) -> np.ndarray:
    rows = unit(vectors)
    rows = rows[rows.any(axis=1)]
    if len(rows) < 2:
        raise StudioError("fewer than two texts have a nonzero vector", "use more texts")
    return rows


_POSITIVE_SCORE = 0.8
"""Minimum score of a positive pair, on a scale from 0 to 1: 4 of 5, as in SimCSE (Gao et al. 2021)."""


@TASK_REGISTRY.register("geometry")
class GeometryTask(Task):
    """Anisotropy, uniformity and alignment. Anisotropy is the main score: it is exact and defined for any texts."""

    order = 11
    title = "Any texts: embedding geometry"
    help = "Anisotropy (mean cosine of two texts), uniformity, and alignment of similar pairs; lower is better for all three."
    kinds: ClassVar[tuple[Kind, ...]] = KINDS
    main: ClassVar[tuple[str, ...]] = ("anisotropy",)
    needs_vectors = True
    lower_is_better = True

    def read(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> TaskData:
        """Read any rows; a table without pairs or classes is read as sentences."""
        if isinstance(known_roles, Roles):
            return build_task_data(table, known_roles)
        try:
            roles = infer_roles(table)
        except StudioError:
            roles = infer_roles(table, "sentences")
        return build_task_data(table, roles)

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        examples, vectors = encoded.examples, encoded.vectors
        texts = [text for column in examples.texts for text in column]
        first = {text: place for place, text in reversed(list(enumerate(texts)))}
        distinct = np.concatenate(vectors)[sorted(first.values())]
        positive = _positive_pairs(examples)
        pairs = (vectors[0][positive], vectors[1][positive]) if positive.any() else None
        return replace(evaluate_geometry(distinct, pairs), rows=len(examples))


def _positive_pairs(examples: Examples) -> np.ndarray:
    if examples.kind in ("positive_pairs", "triplets"):
        return np.ones(len(examples), bool)
    if examples.kind == "scored_pairs" and examples.targets is not None:
        return np.asarray(examples.targets >= _POSITIVE_SCORE)
    if examples.kind == "labelled_pairs" and examples.targets is not None and examples.ordered:
        return np.asarray(examples.targets == len(examples.labels) - 1)
    return np.zeros(len(examples), bool)
