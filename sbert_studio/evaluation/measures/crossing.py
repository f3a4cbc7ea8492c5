"""A cross-encoder on pairs: how well do its scores, or its classes, agree with what people said?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.values.scales import label_key
from ...errors import StudioError
from ..answers import of_classes, of_labels, of_margins, of_scores
from ..bootstrap import interval, interval_of_share, resampled, resampled_mean
from ..report import Report
from ..tasks.pairs import judge, resampled_average_precision, resampled_decisions
from ..tasks.sts import pearson, resampled_pearson, resampled_spearman, spearman


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
    return Report(
        "sts",
        len(scores),
        {"pair": {**found, "intervals": intervals}, "interval": interval(drawn)},
        resampled=drawn,
        answers=of_scores(scores, gold, "score"),
    )


def evaluate_labels(scores: np.ndarray, labels: np.ndarray) -> Report:
    """Average precision, best accuracy and best F1 of (n,) scores for labels 0 and 1, each with its 95% bootstrap interval.

    Returns:
        A report of ``pairs``: ``pair`` holds what :func:`~sbert_studio.evaluation.tasks.pairs.judge` finds, and ``intervals``; a
        resample chooses its thresholds anew. ``interval`` is that of the average precision.
    """
    found: dict[str, Any] = judge(scores, labels)
    drawn, decisions = resampled_average_precision(scores, labels), resampled_decisions(scores, labels)
    intervals = {"average_precision": interval(drawn), "accuracy": interval(decisions[:, 0]), "f1": interval(decisions[:, 1])}
    return Report(
        "pairs",
        len(labels),
        {"pair": {**found, "intervals": intervals}, "interval": interval(drawn)},
        resampled=drawn,
        answers=of_labels(scores, labels, "score"),
    )


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


def evaluate_triplet_scores(scores: np.ndarray) -> Report:
    """The share of triplets whose positive scores higher than each negative; a tie counts against the model.

    Args:
        scores: (columns, n): of each anchor with its positive, then with its negatives.
    """
    margins = scores[0] - scores[1:].max(axis=0)
    right = (margins > 0).astype(np.float64)
    drawn = resampled_mean(right)
    found = {"pair": {"accuracy": float(right.mean())}, "interval": interval_of_share(drawn, right)}
    return Report("triplets", len(right), found, resampled=drawn, answers=of_margins(margins))


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


def require_finite(scores: np.ndarray) -> np.ndarray:
    """``scores`` as they are.

    Raises:
        StudioError: one is not a finite number, as those of a diverged model are.
    """
    if not np.isfinite(scores).all():
        raise StudioError(
            "the model returns scores that are not finite numbers", "its training diverged: lower the learning rate and train it again"
        )
    return scores
