"""Texts with a category, judged by their neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .base import REGISTRY, Rows, Shape
from .of_texts import OfTexts, categories_of

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ...data.schema.roles import Roles
    from ...data.tables import Table
    from ..classes import ClassRoles
    from ..measures.categories import Known
    from ..report import Report

# Texts that are laid beside each other: more of them change no figure that is shown.
_MOST_ALONE = 20_000


@REGISTRY.register("categories")
class Categories(OfTexts):
    """The nearest neighbour's category."""

    order = 6
    title = "Texts with a category: the nearest neighbour's"
    help = "The share of texts whose nearest neighbour, or nearest centre of a category, is of their own category."
    main = ("nearest_neighbour_accuracy",)
    beside_known = True
    known_use = "The nearest neighbour of a text is sought among them. Without them the texts above are laid beside each other."

    def fits(self, shape: Shape) -> bool:
        """Texts whose categories are meant to lie together."""
        return shape.kind == "labelled_texts"

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """Each text beside all others of its table, or of a sample of a very large one."""
        import numpy as np

        rows = super().read(table, known)
        examples, notes = rows.examples, rows.notes
        if len(examples) > _MOST_ALONE:
            notes = (*notes, f"judged on a sample of {_MOST_ALONE:,} of the {len(examples):,} texts")
            examples = examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:_MOST_ALONE]))
        single = sum(count == 1 for count in Counter(categories_of(examples)).values())
        if single:
            notes = (*notes, f"the only text of its category counts as wrong: {single:,} of {len(examples):,}")
        return replace(rows, examples=examples, notes=notes)

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.categories.evaluate_categories`."""
        from ..measures.categories import evaluate_categories

        return evaluate_categories(vectors[0], categories_of(examples), examples.texts[0], known)
