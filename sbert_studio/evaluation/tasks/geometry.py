"""Any texts: how their vectors lie, whatever they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...data.schema.roles import KINDS
from ...errors import StudioError
from .base import REGISTRY, Rows, Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ...data.schema.roles import Roles
    from ...data.tables import Table
    from ..classes import ClassRoles
    from ..measures.categories import Known
    from ..report import Report

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
        from ...data.examples import build_examples
        from ...data.schema.inference import infer_roles
        from ...data.schema.roles import Roles

        roles = known if isinstance(known, Roles) else None
        if roles is None:
            try:
                roles = infer_roles(table)
            except StudioError:
                roles = infer_roles(table, "sentences")
        examples, findings = build_examples(table, roles)
        return Rows(examples, tuple(finding.in_words() for finding in findings), account_of(table, findings, examples.lines))

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.anisotropy.evaluate_geometry`: each distinct text, and the pairs that are alike."""
        import numpy as np

        from ..measures.anisotropy import evaluate_geometry

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
