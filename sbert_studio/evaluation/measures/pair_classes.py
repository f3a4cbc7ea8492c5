"""Pairs whose labels have no order: how well do the two vectors tell the classes apart?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...encoders.unit import unit
from ..report import Report
from .crossing import evaluate_classes
from .transfer import predict_folds

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
