"""A cross-encoder on pairs: how well do its scores, or its classes, agree with what people said?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..data.values.scales import label_key
from ..errors import StudioError
from .bootstrap import interval, resampled, resampled_mean
from .pairs import judge, resampled_average_precision, resampled_decisions
from .report import Report
from .sts import pearson, resampled_pearson, resampled_spearman, spearman

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..data.progress import Progress
    from ..encoders.scorers.pair_scorer import PairScorer

_NEEDS_VECTORS = ("retrieval", "categories", "transfer", "clustering")


def evaluate_cross(model: PairScorer, examples: Examples, task: str, progress: Progress | None = None) -> Report:
    """Judge a cross-encoder on examples.

    Args:
        task: ``sts``, ``pairs``, ``triplets`` or ``classes``.

    Raises:
        StudioError: the task needs vectors, or is not one for a model of this kind; a score is not a finite number.
    """
    refuse_vectors(task)
    if (model.labels > 1) != (task == "classes"):
        if model.labels > 1:
            raise StudioError(
                f"this model sorts pairs into classes ({', '.join(model.class_names)}) and has no score", "choose the task classes"
            )
        raise StudioError("this model gives a pair one score and knows no classes", "choose the task sts or pairs")
    if task == "triplets":
        return _triplets(model, examples, progress)
    scores = _scores(model, list(zip(examples.texts[0], examples.texts[1], strict=True)), progress)
    targets = cast(np.ndarray, examples.targets)
    if task == "classes":
        return evaluate_classes(scores.argmax(axis=1), _places(examples.labels, model.class_names)[targets])
    if task == "pairs":
        return evaluate_labels(scores, targets)
    return evaluate_scores(scores, targets if targets.dtype.kind == "f" else targets / max(1, len(examples.labels) - 1))


def refuse_vectors(task: str) -> None:
    """Raises:
    StudioError: the task compares vectors, which a cross-encoder does not have.
    """
    if task in _NEEDS_VECTORS:
        raise StudioError(f"{task} needs a vector of each text, and a cross-encoder has none", "judge it on pairs with a score or a label")


def evaluate_scores(scores: np.ndarray, gold: np.ndarray) -> Report:
    """Spearman, Pearson and the mean squared error of (n,) scores with gold ones in 0..1, each with its 95% bootstrap interval.

    Returns:
        A report of ``sts``: ``pair`` holds the three and their ``intervals``; ``interval`` is that of Spearman's ρ.
    """
    scores, gold = np.asarray(scores, np.float64), np.asarray(gold, np.float64)
    errors = (scores - gold) ** 2
    found: dict[str, Any] = {"spearman": spearman(scores, gold), "pearson": pearson(scores, gold), "mse": float(errors.mean())}
    drawn = resampled_spearman(scores, gold)
    intervals = {
        "spearman": interval(drawn),
        "pearson": interval(resampled_pearson(scores, gold)),
        "mse": interval(resampled_mean(errors)),
    }
    return Report("sts", len(scores), {"pair": {**found, "intervals": intervals}, "interval": interval(drawn)}, resampled=drawn)


def evaluate_labels(scores: np.ndarray, labels: np.ndarray) -> Report:
    """Average precision, best accuracy and best F1 of (n,) scores for labels 0 and 1, each with its 95% bootstrap interval.

    Returns:
        A report of ``pairs``: ``pair`` holds what :func:`~sbert_studio.evaluation.pairs.judge` finds, and ``intervals``; a resample
        chooses its thresholds anew. ``interval`` is that of the average precision.
    """
    found: dict[str, Any] = judge(scores, labels)
    drawn, decisions = resampled_average_precision(scores, labels), resampled_decisions(scores, labels)
    intervals = {"average_precision": interval(drawn), "accuracy": interval(decisions[:, 0]), "f1": interval(decisions[:, 1])}
    return Report("pairs", len(labels), {"pair": {**found, "intervals": intervals}, "interval": interval(drawn)}, resampled=drawn)


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
    scores: dict[str, Any] = {
        "accuracy": accuracy,
        "macro_f1": macro,
        "majority": float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
        "classes": len(np.unique(truth)),
        "intervals": {"accuracy": interval(drawn[:, 0]), "macro_f1": interval(drawn[:, 1])},
        "interval": interval(drawn[:, 0]),
    }
    return Report("classes", len(truth), scores, resampled=drawn[:, 0])


def _triplets(model: PairScorer, examples: Examples, progress: Progress | None) -> Report:
    """The share of triplets whose positive scores higher than each negative; a tie counts against the model."""
    anchors, others = examples.texts[0], examples.texts[1:]
    pairs = [pair for column in others for pair in zip(anchors, column, strict=True)]
    scores = _scores(model, pairs, progress).reshape(len(others), -1)
    right = (scores[0] > scores[1:].max(axis=0)).astype(np.float64)
    drawn = resampled_mean(right)
    return Report("triplets", len(right), {"pair": {"accuracy": float(right.mean())}, "interval": interval(drawn)}, resampled=drawn)


def _scores(model: PairScorer, pairs: list[tuple[str, str]], progress: Progress | None) -> np.ndarray:
    scores = model.predict(pairs, progress=progress)
    if not np.isfinite(scores).all():
        raise StudioError(
            "the model returns scores that are not finite numbers", "its training diverged: lower the learning rate and train it again"
        )
    return scores


def _places(labels: tuple[str, ...], known: tuple[str, ...]) -> np.ndarray:
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
