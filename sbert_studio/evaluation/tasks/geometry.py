"""How vectors lie on the sphere: anisotropy (Ethayarajh 2019), uniformity and alignment (Wang & Isola 2020).

Any texts: how their vectors lie, whatever they say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.columns.roles import KINDS
from ...data.progress import checkpoint
from ...errors import StudioError
from ...models.similarity import unit
from ..bootstrap import drawn_together, interval, resampled
from ..report import Report
from .base import REGISTRY, Rows, Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples, Roles
    from ...data.tables import Table
    from .base import ClassRoles
    from .categories import Known


MOST_ROWS = 5_000
"""Of larger sets uniformity is that of a sample of so many rows: twelve million pairs."""
_T = 2.0
_BLOCK = 4_000_000  # cells of a block of cosines: 16 MB


@dataclass(frozen=True)
class Measured:
    """A mean over pairs of vectors.

    Attributes:
        value: the measure.
        pairs: over how many pairs.
        rows: of how many rows.
        exact: whether these are all the pairs there are; else those of a sample of rows.
    """

    value: float
    pairs: int
    rows: int
    exact: bool = True


def evaluate_geometry(vectors: np.ndarray, pairs: tuple[np.ndarray, np.ndarray] | None = None) -> Report:
    """All three measures, as far as they can be had.

    Args:
        vectors: (n, d), one of each distinct text.
        pairs: (m, d) each: the two sides of positive pairs, if there are any.

    Returns:
        A report of ``geometry``: ``anisotropy`` with its 95% bootstrap ``interval`` over the texts, ``uniformity``, ``alignment`` where
        there are pairs, ``texts``, of how many of them the ``uniformity_rows`` are, and ``positive_pairs``.

    Raises:
        StudioError: fewer than two texts have a vector with a direction.
    """
    spread = uniformity(vectors)
    scores: dict[str, Any] = {"anisotropy": anisotropy(vectors).value, "uniformity": spread.value}
    if pairs is not None:
        scores["alignment"] = alignment(*pairs).value
    scores |= {"texts": len(vectors), "uniformity_rows": spread.rows, "positive_pairs": 0 if pairs is None else len(pairs[0])}
    drawn = resampled_anisotropy(vectors)
    return Report("geometry", len(vectors), scores | {"interval": interval(drawn)}, resampled=drawn)


def resampled_anisotropy(vectors: np.ndarray) -> np.ndarray:
    """The anisotropy of every bootstrap resample of the rows, (resamples,); a row drawn twice makes no pair with itself."""
    unit = _directed(vectors).astype(np.float64)

    def score(block: np.ndarray) -> np.ndarray:
        total = block @ unit
        own = np.square(block).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((np.einsum("rd,rd->r", total, total) - own) / (np.square(block.sum(axis=1)) - own))

    with drawn_together():
        return resampled(score, len(unit))


def anisotropy(vectors: np.ndarray) -> Measured:
    """The mean cosine of two different rows, in [−1, 1]: 0 where vectors point everywhere, 1 where all point one way (Ethayarajh 2019).

    Exact of any number of rows: the cosines of all pairs add up to (‖Σx‖² − n) / 2 of n vectors of length one.

    Args:
        vectors: (n, d), normalised here; rows of zeros have no direction and are passed over.

    Raises:
        StudioError: fewer than two rows have a direction.
    """
    unit = _directed(vectors)
    rows = len(unit)
    total = unit.sum(axis=0, dtype=np.float64)
    own = float(np.einsum("nd,nd->", unit, unit, dtype=np.float64))
    return Measured(float((total @ total - own) / (rows * (rows - 1))), rows * (rows - 1) // 2, rows)


def uniformity(vectors: np.ndarray, *, most: int = MOST_ROWS, seed: int = 12) -> Measured:
    """log E exp(−2 ‖x − y‖²) over pairs of different rows, at most 0 and the lower the more uniform (Wang & Isola 2020, equation 2).

    Args:
        vectors: (n, d), normalised here; rows of zeros have no direction and are passed over.
        most: of more rows, so many are drawn without replacement, and all their pairs taken.
        seed: of the draw.

    Raises:
        StudioError: fewer than two rows have a direction.
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
    return Measured(math.log(total / (rows * (rows - 1))), rows * (rows - 1) // 2, rows, exact)


def alignment(left: np.ndarray, right: np.ndarray) -> Measured:
    """E ‖x − y‖² of positive pairs, 0 where the two sides coincide, at most 4 (Wang & Isola 2020, equation 1 with α = 2).

    Args:
        left, right: (n, d) vectors of matching rows, normalised here; pairs with a row of zeros are passed over.

    Raises:
        StudioError: there is no pair.
    """
    u, v = unit(left), unit(right)
    both = u.any(axis=1) & v.any(axis=1)
    if not both.any():
        raise StudioError("there are no positive pairs to measure alignment on", "give pairs of texts that belong together")
    distances = np.square(u[both] - v[both], dtype=np.float64).sum(axis=1)
    return Measured(float(distances.mean()), int(both.sum()), int(both.sum()))


def _directed(vectors: np.ndarray) -> np.ndarray:
    rows = unit(vectors)
    rows = rows[rows.any(axis=1)]
    if len(rows) < 2:
        raise StudioError("fewer than two texts have a vector with a direction", "give more texts")
    return rows


_ALIKE = 0.8
"""From this score on, on the scale from 0 to 1, a pair counts as positive: 4 of 5, as in SimCSE (Gao et al. 2021)."""


@REGISTRY.register("geometry")
class Geometry(Task):
    """Anisotropy, uniformity and alignment. The first decides: it is exact of any number of texts, and any texts have it."""

    order = 11
    title = "Any texts: how their vectors lie"
    help = "Anisotropy (the mean cosine of two texts), uniformity, and alignment where pairs are alike; of all three less is better."
    kinds = KINDS
    main = ("anisotropy",)
    needs_vectors = True
    smaller_is_better = True

    def fits(self, shape: Shape) -> bool:
        """Nothing: it is chosen by name."""
        return False

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """Whatever rows the table has; a table without pairs or classes is one of bare texts."""
        from ...data.accounts import account_of
        from ...data.examples import Roles, build_examples, detect_roles

        roles = known if isinstance(known, Roles) else None
        if roles is None:
            try:
                roles = detect_roles(table)
            except StudioError:
                roles = detect_roles(table, "sentences")
        examples, findings = build_examples(table, roles)
        return Rows(examples, tuple(finding.in_words() for finding in findings), account_of(table, findings, examples.lines))

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.geometry.evaluate_geometry`: each distinct text, and the pairs that are alike."""
        import numpy as np

        texts = [text for column in examples.texts for text in column]
        first = {text: place for place, text in reversed(list(enumerate(texts)))}
        distinct = np.concatenate(vectors)[sorted(first.values())]
        alike = _alike(examples)
        pairs = (vectors[0][alike], vectors[1][alike]) if alike.any() else None
        return replace(evaluate_geometry(distinct, pairs), rows=len(examples))


def _alike(examples: Examples) -> np.ndarray:
    """(n,) bool: whose first two texts belong together: positive pairs, triplets, a high score, or the label that says so."""
    import numpy as np

    if examples.kind in ("positive_pairs", "triplets"):
        return np.ones(len(examples), bool)
    if examples.kind == "scored_pairs" and examples.targets is not None:
        return np.asarray(examples.targets >= _ALIKE)
    if examples.kind == "labelled_pairs" and examples.targets is not None and examples.ordered:
        return np.asarray(examples.targets == len(examples.labels) - 1)
    return np.zeros(len(examples), bool)
