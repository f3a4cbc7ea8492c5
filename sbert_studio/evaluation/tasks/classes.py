"""Pairs whose labels have no order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from .base import REGISTRY, Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ..measures.categories import Known
    from ..report import Report


@REGISTRY.register("classes")
class Classes(Task):
    """Telling classes of pairs apart."""

    order = 3
    title = "Pairs with classes in no order"
    help = "Accuracy and macro F1 of a regression on both vectors, cross-validated, or of a cross-encoder's own classes."
    kinds = ("labelled_pairs",)
    main = ("accuracy",)
    sorts_pairs = True

    def fits(self, shape: Shape) -> bool:
        """Classes that no ranking says anything of, and all classes for a model that names them."""
        if shape.kind != "labelled_pairs":
            return False
        return shape.gives == "class" or (not shape.ordered and not (shape.gives == "score" and shape.labels == 2))

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.pair_classes.evaluate_pair_classes`."""
        from ..measures.pair_classes import evaluate_pair_classes

        return evaluate_pair_classes(vectors[0], vectors[1], cast("np.ndarray", examples.targets), examples.labels)

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.crossing.evaluate_classes`; classes are matched by name."""
        from ..answers.answers import of_places
        from ..measures.crossing import evaluate_classes, places_of_labels

        found, truth = scores.argmax(axis=1), places_of_labels(examples.labels, classes)[examples.targets]
        return replace(evaluate_classes(found, truth), answers=of_places(found, truth, classes))
