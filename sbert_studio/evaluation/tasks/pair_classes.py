"""Pairs whose labels have no order: how well do the two vectors tell the classes apart?

Pairs whose labels have no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from ...models.similarity import unit
from ..measures.crossing import evaluate_classes
from ..report import Report
from .base import REGISTRY, Shape, Task
from .transfer import predict_folds

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from .categories import Known


_FOLDS = 5


def evaluate_pair_classes(left: np.ndarray, right: np.ndarray, classes: np.ndarray, names: Sequence[str]) -> Report:
    """Accuracy and macro F1 of a logistic regression on (|u − v|, u · v) of normalised vectors, cross-validated in five folds.

    A rank correlation would ask for an order that such labels do not have. The regression, as transfer's, is learned anew in each
    fold from the judged rows alone, so that it favours no model; (|u − v|, u · v) is the best symmetric concatenation of table 6 of
    Reimers and Gurevych 2019.

    Args:
        left, right: (n, d) vectors of the two sides.
        classes: (n,) class ids.
        names: of the classes.

    Returns:
        A report of ``classes``: ``accuracy`` with its 95% bootstrap ``interval``, ``macro_f1``, ``majority``, ``classes``, ``folds``.
    """
    u, v = unit(left), unit(right)
    truth = np.asarray(names, dtype=object)[classes].astype(str)
    found, folds = predict_folds(np.concatenate([np.abs(u - v), u * v], axis=1), truth, most=_FOLDS)
    report = evaluate_classes(found, truth)
    return Report("classes", len(truth), {**report.scores, "folds": folds}, resampled=report.resampled, answers=report.answers)


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
        """See :func:`~sbert_studio.evaluation.tasks.pair_classes.evaluate_pair_classes`."""

        return evaluate_pair_classes(vectors[0], vectors[1], cast("np.ndarray", examples.targets), examples.labels)

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.crossing.evaluate_classes`; classes are matched by name."""
        from ..answers import of_places
        from ..measures.crossing import evaluate_classes, places_of_labels

        found, truth = scores.argmax(axis=1), places_of_labels(examples.labels, classes)[examples.targets]
        return replace(evaluate_classes(found, truth), answers=of_places(found, truth, classes))
