"""Geometry of the embedding space: anisotropy (Ethayarajh 2019), uniformity and alignment (Wang & Isola 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.schema.roles import KINDS
from ...errors import StudioError
from ...models.similarity import unit
from ...progress import checkpoint
from ..bootstrap import bootstrap_scores, percentile_interval, resample_clusters
from ..report import Report
from .base import TASK_REGISTRY, DataShape, Task, TaskData

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ...data.loading.table import Table
    from ...data.schema.roles import Roles
    from .base import ClassRoles
    from .categories import ReferenceTexts


MOST_ROWS = 5_000
"""Of larger sets uniformity is that of a sample of so many rows: twelve million pairs."""
_T = 2.0
_BLOCK = 4_000_000  # cells of a block of cosines: 16 MB


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
        vectors: (n, d), one of each distinct text.
        pairs: (m, d) each, both sides of positive pairs, if there are any.

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
    unit = _directed(vectors).astype(np.float64)

    def score(block: np.ndarray) -> np.ndarray:
        total = block @ unit
        own = np.square(block).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((np.einsum("rd,rd->r", total, total) - own) / (np.square(block.sum(axis=1)) - own))

    with resample_clusters():
        return bootstrap_scores(score, len(unit))


def anisotropy(vectors: np.ndarray) -> GeometrySample:
    """Return the mean cosine of two different rows, in [−1, 1]: 0 if directions are isotropic, 1 if all are equal (Ethayarajh 2019).

    Exact for any number of rows: the cosines of all pairs of n unit vectors sum to (‖Σx‖² − n) / 2.

    Args:
        vectors: (n, d), normalised here; zero rows are ignored.

    Raises:
        StudioError: fewer than two nonzero rows.
    """
    unit = _directed(vectors)
    rows = len(unit)
    total = unit.sum(axis=0, dtype=np.float64)
    own = float(np.einsum("nd,nd->", unit, unit, dtype=np.float64))
    return GeometrySample(float((total @ total - own) / (rows * (rows - 1))), rows * (rows - 1) // 2, rows)


def uniformity(vectors: np.ndarray, *, most: int = MOST_ROWS, seed: int = 12) -> GeometrySample:
    """Return log E exp(−2 ‖x − y‖²) over pairs of different rows, at most 0, lower is more uniform (Wang & Isola 2020, equation 2).

    Args:
        vectors: (n, d), normalised here; zero rows are ignored.
        most: above this number of rows, a sample of that size is used.
        seed: seed of the sample.

    Raises:
        StudioError: fewer than two nonzero rows.
    """
    unit = _directed(vectors)
    exact = len(unit) <= most
    if not exact:
        unit = unit[np.sort(np.random.default_rng(seed).permutation(len(unit))[:most])]
    rows, total = len(unit), 0.0
    at_once = max(1, _BLOCK // rows)
    for start in range(0, rows, at_once):
        checkpoint()
        block = unit[start : start + at_once] @ unit.T
        near = np.exp(2 * _T * (block - 1))
        near[np.arange(len(block)), np.arange(start, start + len(block))] = 0
        total += float(near.sum(dtype=np.float64))
    return GeometrySample(math.log(total / (rows * (rows - 1))), rows * (rows - 1) // 2, rows, exact)


def alignment(left: np.ndarray, right: np.ndarray) -> GeometrySample:
    """Return E ‖x − y‖² of positive pairs, between 0 and 4 (Wang & Isola 2020, equation 1 with α = 2).

    Args:
        left, right: (n, d) vectors of matching rows, normalised here; pairs with a zero row are ignored.

    Raises:
        StudioError: there is no pair.
    """
    u, v = unit(left), unit(right)
    both = u.any(axis=1) & v.any(axis=1)
    if not both.any():
        raise StudioError("there are no positive pairs to measure alignment on", "give pairs of texts that belong together")
    distances = np.square(u[both] - v[both], dtype=np.float64).sum(axis=1)
    return GeometrySample(float(distances.mean()), int(both.sum()), int(both.sum()))


def _directed(vectors: np.ndarray) -> np.ndarray:
    rows = unit(vectors)
    rows = rows[rows.any(axis=1)]
    if len(rows) < 2:
        raise StudioError("fewer than two texts have a vector with a direction", "give more texts")
    return rows


_ALIKE = 0.8
"""From this score on, on the scale from 0 to 1, a pair counts as positive: 4 of 5, as in SimCSE (Gao et al. 2021)."""


@TASK_REGISTRY.register("geometry")
class GeometryTask(Task):
    """Anisotropy, uniformity and alignment. Anisotropy is the main score: it is exact and defined for any texts."""

    order = 11
    title = "Any texts: how their vectors lie"
    help = "Anisotropy (the mean cosine of two texts), uniformity, and alignment where pairs are alike; of all three less is better."
    kinds = KINDS
    main = ("anisotropy",)
    needs_vectors = True
    lower_is_better = True

    def fits(self, shape: DataShape) -> bool:
        return False

    def read(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> TaskData:
        """Read any rows; a table without pairs or classes is read as sentences."""
        from ...data.examples import build_examples
        from ...data.row_report import report_rows
        from ...data.schema.inference import infer_roles
        from ...data.schema.roles import Roles

        roles = known_roles if isinstance(known_roles, Roles) else None
        if roles is None:
            try:
                roles = infer_roles(table)
            except StudioError:
                roles = infer_roles(table, "sentences")
        examples, findings = build_examples(table, roles)
        return TaskData(examples, tuple(finding.describe() for finding in findings), report_rows(table, findings, examples.lines))

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        import numpy as np

        texts = [text for column in examples.texts for text in column]
        first = {text: place for place, text in reversed(list(enumerate(texts)))}
        distinct = np.concatenate(vectors)[sorted(first.values())]
        values = _alike(examples)
        pairs = (vectors[0][values], vectors[1][values]) if values.any() else None
        return replace(evaluate_geometry(distinct, pairs), rows=len(examples))


def _alike(examples: Examples) -> np.ndarray:
    import numpy as np

    if examples.kind in ("positive_pairs", "triplets"):
        return np.ones(len(examples), bool)
    if examples.kind == "scored_pairs" and examples.targets is not None:
        return np.asarray(examples.targets >= _ALIKE)
    if examples.kind == "labelled_pairs" and examples.targets is not None and examples.ordered:
        return np.asarray(examples.targets == len(examples.labels) - 1)
    return np.zeros(len(examples), bool)
