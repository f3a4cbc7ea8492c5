"""Pairs whose labels have no order: how well do the two vectors tell the classes apart?

Pairs whose labels have no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...data.schema.labels import label_key
from ...errors import StudioError
from ...models.similarity import unit
from ..answers import of_classes
from ..bootstrap import interval, interval_of_share, resampled
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


def evaluate_classes(found: np.ndarray, truth: np.ndarray) -> Report:
    """Accuracy and macro F1 of (n,) classes found, with 95% bootstrap intervals.

    Macro F1 is the mean over the classes that occur in either; one that is never found, or found wrongly only, counts 0.

    Returns:
        A report of ``classes``: ``accuracy``, ``macro_f1``, ``majority`` (the accuracy of always naming the largest class),
        ``classes``, ``intervals``, and ``interval``, that of the accuracy.
    """
    known, right = np.union1d(found, truth), found == truth

    def judged(counts: np.ndarray) -> np.ndarray:
        """Accuracy and macro F1 of each resample, (resamples, 2)."""
        f1 = []
        for one in known:
            hits, called, there = (counts @ rows.astype(np.float64) for rows in (right & (truth == one), found == one, truth == one))
            f1.append(np.divide(2 * hits, called + there, out=np.full(len(hits), np.nan), where=called + there > 0))
        return np.stack([counts @ right.astype(np.float64) / counts.sum(axis=1), np.nanmean(f1, axis=0)], axis=1)

    accuracy, macro = (float(value) for value in judged(np.ones((1, len(truth))))[0])
    drawn = resampled(judged, len(truth))
    of_accuracy = interval_of_share(drawn[:, 0], found == truth)
    scores: dict[str, Any] = {
        "accuracy": accuracy,
        "macro_f1": macro,
        "majority": float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
        "classes": len(np.unique(truth)),
        "intervals": {"accuracy": of_accuracy, "macro_f1": interval(drawn[:, 1])},
        "interval": of_accuracy,
    }
    return Report("classes", len(truth), scores, resampled=drawn[:, 0], answers=of_classes(found, truth))


def places_of_labels(labels: tuple[str, ...], known: tuple[str, ...]) -> np.ndarray:
    """For each label of the rows, which class of the model it is, by name.

    Raises:
        StudioError: the model does not know one of them.
    """
    places = {label_key(name): place for place, name in enumerate(known)}
    found = [places.get(label_key(label), -1) for label in labels]
    if -1 in found:
        raise StudioError(
            f"the label {labels[found.index(-1)]!r} is none of the model's classes: {', '.join(known)}", "give pairs with these labels"
        )
    return np.asarray(found, np.int64)


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
        """See :func:`~sbert_studio.evaluation.crossing.evaluate_classes`; classes are matched by name."""
        from ..answers import of_places

        found, truth = scores.argmax(axis=1), places_of_labels(examples.labels, classes)[examples.targets]
        return replace(evaluate_classes(found, truth), answers=of_places(found, truth, classes))
