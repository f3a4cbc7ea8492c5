"""Pair classes: pairs with unordered labels, classified from both vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...data.values.scales import label_key
from ...errors import StudioError
from ...models.similarity import unit
from ..answers import predictions_from_classes
from ..bootstrap import bootstrap_scores, percentile_interval, share_interval
from ..report import Report
from .base import TASK_REGISTRY, DataShape, Task
from .transfer import predict_folds

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from .categories import ReferenceTexts


_FOLDS = 5


def evaluate_pair_classes(left: np.ndarray, right: np.ndarray, classes: np.ndarray, names: Sequence[str]) -> Report:
    """Compute accuracy and macro F1 of a logistic regression on (|u − v|, u · v) of normalised vectors, five-fold cross-validated.

    Unordered labels have no rank correlation. The regression is trained on the evaluated rows alone, so that it favours no model;
    (|u − v|, u · v) is the best symmetric concatenation in table 6 of Reimers and Gurevych 2019.

    Args:
        left, right: (n, d) vectors of both sides.
        classes: (n,) class ids.
        names: class names.

    Returns:
        A ``classes`` report: ``accuracy`` with its 95 % bootstrap ``interval``, ``macro_f1``, ``majority``, ``classes``, ``folds``.
    """
    u, v = unit(left), unit(right)
    truth = np.asarray(names, dtype=object)[classes].astype(str)
    found, folds = predict_folds(np.concatenate([np.abs(u - v), u * v], axis=1), truth, most=_FOLDS)
    report = evaluate_classes(found, truth)
    return Report("classes", len(truth), {**report.scores, "folds": folds}, resampled=report.resampled, answers=report.answers)


def evaluate_classes(predicted: np.ndarray, truth: np.ndarray) -> Report:
    """Compute accuracy and macro F1 of (n,) predicted classes, with 95 % bootstrap intervals.

    Macro F1 averages over the classes that occur in either array; a class never predicted correctly counts 0.

    Returns:
        A ``classes`` report: ``accuracy``, ``macro_f1``, ``majority`` (accuracy of always predicting the largest class), ``classes``,
        ``intervals``, and ``interval`` (of the accuracy).
    """
    reference, right = np.union1d(predicted, truth), predicted == truth

    def evaluated(counts: np.ndarray) -> np.ndarray:
        f1 = []
        for one in reference:
            hits, called, there = (counts @ rows.astype(np.float64) for rows in (right & (truth == one), predicted == one, truth == one))
            f1.append(np.divide(2 * hits, called + there, out=np.full(len(hits), np.nan), where=called + there > 0))
        return np.stack([counts @ right.astype(np.float64) / counts.sum(axis=1), np.nanmean(f1, axis=0)], axis=1)

    accuracy, macro = (float(value) for value in evaluated(np.ones((1, len(truth))))[0])
    drawn = bootstrap_scores(evaluated, len(truth))
    of_accuracy = share_interval(drawn[:, 0], predicted == truth)
    scores: dict[str, Any] = {
        "accuracy": accuracy,
        "macro_f1": macro,
        "majority": float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
        "classes": len(np.unique(truth)),
        "intervals": {"accuracy": of_accuracy, "macro_f1": percentile_interval(drawn[:, 1])},
        "interval": of_accuracy,
    }
    return Report("classes", len(truth), scores, resampled=drawn[:, 0], answers=predictions_from_classes(predicted, truth))


def label_ids(labels: tuple[str, ...], class_names: tuple[str, ...]) -> np.ndarray:
    """Return the model's class id of each label, matched by name.

    Raises:
        StudioError: the model does not know a label.
    """
    places = {label_key(name): place for place, name in enumerate(class_names)}
    found = [places.get(label_key(label), -1) for label in labels]
    if -1 in found:
        raise StudioError(
            f"the label {labels[found.index(-1)]!r} is none of the model's classes: {', '.join(class_names)}",
            "give pairs with these labels",
        )
    return np.asarray(found, np.int64)


@TASK_REGISTRY.register("classes")
class PairClassTask(Task):
    """Classification of pairs."""

    order = 3
    title = "Pairs with classes in no order"
    help = "Accuracy and macro F1 of a regression on both vectors, cross-validated, or of a cross-encoder's own classes."
    kinds = ("labelled_pairs",)
    main = ("accuracy",)
    sorts_pairs = True

    def fits(self, shape: DataShape) -> bool:
        """Fit unordered classes, and all classes for a model that predicts classes."""
        if shape.kind != "labelled_pairs":
            return False
        return shape.gives == "class" or (not shape.ordered and not (shape.gives == "score" and shape.labels == 2))

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        return evaluate_pair_classes(vectors[0], vectors[1], cast("np.ndarray", examples.targets), examples.labels)

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        from ..answers import predictions_from_class_ids

        found, truth = scores.argmax(axis=1), label_ids(examples.labels, classes)[examples.targets]
        return replace(evaluate_classes(found, truth), answers=predictions_from_class_ids(found, truth, classes))
