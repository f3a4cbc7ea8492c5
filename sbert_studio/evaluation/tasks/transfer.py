"""Classification of frozen vectors by logistic regression: transfer (SentEval, Conneau & Kiela 2018), and pairs with unordered labels.

``transfer`` uses a fixed L2 penalty; ``senteval`` chooses it from :data:`GRID` using only the training rows, which takes five times as
long and is better on pairs only. ``classes`` classifies pairs from both vectors.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ...data.schema.inference import infer_roles
from ...data.schema.labels import label_key
from ...data.schema.roles import Kind, Roles
from ...errors import StudioError
from ...i18n import _
from ...models.similarity import unit
from ...progress import checkpoint
from ..answers import predictions_from_class_ids, predictions_from_classes
from ..bootstrap import bootstrap_mean, bootstrap_scores, percentile_interval, share_interval
from ..report import Report
from .base import TASK_REGISTRY, ClassRoles, DataShape, EncodedExamples, Task, TaskData, TextTask, category_names

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...data.loading.table import Table


GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Inverse penalties for centered vectors of mean length one; if several are equally good, the smallest (strongest penalty) is used."""
_FOLDS, _INNER_FOLDS, _PAIR_FOLDS = 10, 3, 5
_STRENGTH = 10.0  # fixed inverse penalty, also used if there are too few rows to choose one
_ITERATIONS = 1000

Split = tuple[np.ndarray, np.ndarray]


def evaluate_transfer(vectors: np.ndarray, labels: Sequence[str], *, seed: int = 12) -> Report:
    """Cross-validate with ten stratified folds, as the SBERT paper does for MR, CR, SUBJ, MPQA and MRPC.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones. Fewer folds are used if the largest class has fewer than ten rows.

    Returns:
        A ``transfer`` report: ``accuracy`` with its 95 % bootstrap ``interval`` over rows, ``macro_f1``, ``majority`` (accuracy of always
        predicting the largest class), ``classes``, ``folds``.

    Raises:
        StudioError: every class has a single row.
    """
    truth = _class_names(labels)
    predicted, folds = _predict_folds(vectors, truth, _FOLDS, seed)
    return _report("transfer", truth, predicted, truth, folds=folds)


def evaluate_senteval(
    vectors: np.ndarray,
    labels: Sequence[str],
    *,
    folds: int = _FOLDS,
    grid: Sequence[float] = GRID,
    seed: int = 12,
    positive: str | None = None,
) -> Report:
    """Cross-validate with ten stratified folds (SentEval's MR, CR, SUBJ, MPQA); inner folds of each training part choose the penalty.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones.
        folds: number of folds; reduced if the largest class has fewer rows.
        grid: inverse penalties to choose from.
        positive: class whose F1 is also reported.

    Returns:
        A ``senteval`` report: that of :func:`evaluate_transfer`, ``f1`` of the positive class, and ``strengths``, the inverse penalties
        chosen in the folds.

    Raises:
        StudioError: every class has a single row.
    """
    truth = _class_names(labels)
    splits = _require_folds(truth, folds, seed)
    predicted, strengths = truth.copy(), []
    for train, test in splits:
        chosen = _choose_strength(vectors[train], truth[train], _stratified_folds(truth[train], _INNER_FOLDS, seed), grid)
        strengths.append(chosen)
        (predicted[test],) = _predict(vectors[train], truth[train], vectors[test], [chosen], "newton-cg")
    return _report("senteval", truth, predicted, truth, positive, folds=len(splits), strengths=strengths)


def evaluate_senteval_split(
    train: tuple[np.ndarray, Sequence[str]],
    test: tuple[np.ndarray, Sequence[str]],
    dev: tuple[np.ndarray, Sequence[str]] | None = None,
    *,
    grid: Sequence[float] = GRID,
    seed: int = 12,
    positive: str | None = None,
) -> Report:
    """Train on one set and test on another (TREC, SST, MRPC); the dev set, or folds of the training set, choose the penalty.

    Args:
        train, test, dev: (n, d) vectors with their n classes, at least two distinct ones in ``train``.
        grid, positive: as for :func:`evaluate_senteval`.

    Returns:
        A ``senteval`` report like that of :func:`evaluate_senteval`, with ``train_rows`` instead of ``folds``.
    """
    vectors, known, truth = train[0], _class_names(train[1]), _class_names(test[1])
    if dev is None:
        chosen = _choose_strength(vectors, known, _stratified_folds(known, _INNER_FOLDS, seed), grid)
    else:
        rows = np.arange(len(known) + len(dev[1]))
        both = np.concatenate([vectors, dev[0]]), np.concatenate([known, _class_names(dev[1])])
        chosen = _choose_strength(*both, [(rows[: len(known)], rows[len(known) :])], grid)
    (predicted,) = _predict(vectors, known, test[0], [chosen], "newton-cg")
    return _report("senteval", truth, predicted, known, positive, train_rows=len(vectors), strengths=[chosen])


def pair_features(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return (|u − v|, u · v) of pairs of (n, d) vectors, (n, 2d) float32, as in SentEval's pair tasks.

    Vectors are normalized, and products scaled by √d, so that a common penalty does not suppress them.
    """
    u, v = unit(left), unit(right)
    return np.concatenate([np.abs(u - v), u * v * np.float32(np.sqrt(u.shape[1]))], axis=1)


def evaluate_pair_classes(left: np.ndarray, right: np.ndarray, classes: np.ndarray, names: Sequence[str]) -> Report:
    """Compute accuracy and macro F1 of a five-fold cross-validated logistic regression on (|u − v|, u · v) of normalized vectors.

    Unordered labels have no rank correlation. The regression is trained on the evaluated rows alone, so that it favors no model;
    (|u − v|, u · v) is the best symmetric concatenation in table 6 of Reimers and Gurevych 2019.

    Args:
        left, right: (n, d) vectors of both sides.
        classes: (n,) class ids.
        names: class names.

    Returns:
        A ``classes`` report: that of :func:`evaluate_classes`, with ``folds``.
    """
    u, v = unit(left), unit(right)
    truth = _class_names(names)[classes]
    predicted, folds = _predict_folds(np.concatenate([np.abs(u - v), u * v], axis=1), truth, _PAIR_FOLDS)
    report = evaluate_classes(predicted, truth)
    return replace(report, scores={**report.scores, "folds": folds})


def evaluate_classes(predicted: np.ndarray, truth: np.ndarray) -> Report:
    """Compute accuracy and macro F1 of (n,) predicted classes, with 95 % bootstrap intervals.

    Macro F1 averages over the classes that occur in either array; a class that is never predicted correctly counts as 0.

    Returns:
        A ``classes`` report: ``accuracy``, ``macro_f1``, ``majority`` (accuracy of always predicting the largest class), ``classes``,
        ``intervals``, and ``interval`` (of the accuracy).
    """
    names, right = np.union1d(predicted, truth), predicted == truth

    def score(counts: np.ndarray) -> np.ndarray:
        f1 = []
        for name in names:
            hits, called, there = (counts @ rows.astype(np.float64) for rows in (right & (truth == name), predicted == name, truth == name))
            f1.append(np.divide(2 * hits, called + there, out=np.full(len(hits), np.nan), where=called + there > 0))
        return np.stack([counts @ right.astype(np.float64) / counts.sum(axis=1), np.nanmean(f1, axis=0)], axis=1)

    accuracy, macro_f1 = (float(value) for value in score(np.ones((1, len(truth))))[0])
    drawn = bootstrap_scores(score, len(truth))
    interval = share_interval(drawn[:, 0], right)
    scores: dict[str, Any] = {
        "accuracy": accuracy,
        "macro_f1": macro_f1,
        "majority": float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
        "classes": len(np.unique(truth)),
        "intervals": {"accuracy": interval, "macro_f1": percentile_interval(drawn[:, 1])},
        "interval": interval,
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
            _(
                "the label {labels} is not one of the model's classes: {class_names}",
                labels=repr(labels[found.index(-1)]),
                class_names=", ".join(class_names),
            ),
            "use pairs with these labels",
        )
    return np.asarray(found, np.int64)


def _class_names(labels: Sequence[str]) -> np.ndarray:
    return np.asarray(labels, dtype=object).astype(str)


def _stratified_folds(truth: np.ndarray, folds: int, seed: int) -> list[Split]:
    from sklearn.model_selection import StratifiedKFold

    folds = min(folds, max(Counter(truth.tolist()).values()))
    if folds < 2:
        return []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # a rare class is then absent from some folds
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(truth, truth))


def _require_folds(truth: np.ndarray, folds: int, seed: int) -> list[Split]:
    splits = _stratified_folds(truth, folds, seed)
    if not splits:
        raise StudioError("every class has a single row", "add rows, so that each class has rows for training and for testing")
    return splits


def _predict_folds(vectors: np.ndarray, truth: np.ndarray, folds: int, seed: int = 12) -> tuple[np.ndarray, int]:
    splits, predicted = _require_folds(truth, folds, seed), truth.copy()
    for train, test in splits:
        (predicted[test],) = _predict(vectors[train], truth[train], vectors[test], [_STRENGTH], "lbfgs")
    return predicted, len(splits)


def _choose_strength(vectors: np.ndarray, labels: np.ndarray, splits: Iterable[Split], grid: Sequence[float]) -> float:
    right = np.zeros(len(grid), np.int64)
    tried = sorted(grid)
    for train, test in splits:
        found = _predict(vectors[train], labels[train], vectors[test], tried, "newton-cg")
        right += [int((one == labels[test]).sum()) for one in found]
    return float(tried[int(right.argmax())]) if right.any() else _STRENGTH


def _predict(
    train: np.ndarray, labels: np.ndarray, test: np.ndarray, strengths: Sequence[float], solver: Literal["lbfgs", "newton-cg"]
) -> list[np.ndarray]:
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(labels)) == 1:
        return [np.full(len(test), labels[0])] * len(strengths)
    centre = train.mean(axis=0)
    scale = float(np.linalg.norm(train - centre, axis=1).mean()) or 1.0
    seen, unseen = ((part - centre) / scale for part in (train, test))
    model: LogisticRegression = LogisticRegression(solver=solver, max_iter=_ITERATIONS, warm_start=True)
    found = []
    for strength in strengths:
        checkpoint()
        found.append(np.asarray(model.set_params(C=strength).fit(seen, labels).predict(unseen)))
    return found


def _report(task: str, truth: np.ndarray, predicted: np.ndarray, labels: np.ndarray, positive: str | None = None, **more: Any) -> Report:
    from sklearn.metrics import f1_score

    right, sizes = truth == predicted, Counter(labels.tolist())
    drawn = bootstrap_mean(right)
    scores: dict[str, Any] = {
        "accuracy": float(right.mean()),
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0)),
        **({} if positive is None else {"f1": float(f1_score(truth == positive, predicted == positive, zero_division=0))}),
        "majority": float((truth == sizes.most_common(1)[0][0]).mean()),
        "classes": len(sizes),
        **more,
        "interval": share_interval(drawn, right),
    }
    return Report(task, len(truth), scores, resampled=drawn, answers=predictions_from_classes(predicted, truth))


@TASK_REGISTRY.register("transfer")
class TransferTask(TextTask):
    """Linear probe with a fixed penalty."""

    order = 7
    title = "Labelled texts: linear probe"
    help = "Accuracy and macro F1 of a cross-validated logistic regression on the embeddings."
    main: ClassVar[tuple[str, ...]] = ("accuracy",)

    def fits(self, shape: DataShape) -> bool:
        """Return True for sentences with a class column, unless it is known to contain similarity categories."""
        return shape.classed and shape.kind == "sentences"

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return evaluate_transfer(encoded.vectors[0], category_names(encoded.examples))


@TASK_REGISTRY.register("senteval")
class SentEvalTask(TextTask):
    """Logistic regression with a tuned penalty."""

    order = 9
    title = "Labelled texts or pairs: SentEval"
    help = "Accuracy and F1 of a logistic regression with a tuned penalty, trained on reference rows or in ten folds."
    kinds: ClassVar[tuple[Kind, ...]] = ("labelled_texts", "labelled_pairs")
    main: ClassVar[tuple[str, ...]] = ("accuracy",)
    learns = True
    reference_help = (
        "The regression is trained on these rows, such as the train.csv that belongs to a test.csv; by default, on the "
        "rows above in ten folds."
    )

    def read(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> TaskData:
        """Read labelled pairs if the table has them, otherwise labelled texts."""
        if known_roles is None:
            with contextlib.suppress(StudioError):
                known_roles = infer_roles(table)
        if isinstance(known_roles, Roles) and known_roles.kind == "labelled_pairs":
            return Task.read(self, table, known_roles)
        return super().read(table, known_roles)

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return evaluate_senteval(*_features(encoded), positive=_positive_class(encoded.examples))

    def train_and_evaluate(self, evaluated: EncodedExamples, reference: EncodedExamples, dev: EncodedExamples | None) -> Report:
        train, test = _features(reference), _features(evaluated)
        if train[0].shape[1] != test[0].shape[1]:
            raise StudioError(
                "single texts cannot be used to evaluate pairs, nor pairs to evaluate single texts", "use two files of the same kind"
            )
        if not set(train[1]) & set(test[1]):
            classes = ", ".join(sorted(set(test[1]))[:6])
            raise StudioError(
                _("none of the classes {classes} is among those of the reference rows", classes=classes),
                "use the dataset's own training rows",
            )
        own = None if dev is None else _features(dev)
        return evaluate_senteval_split(train, test, own, positive=_positive_class(evaluated.examples))


def _features(encoded: EncodedExamples) -> tuple[np.ndarray, list[str]]:
    vectors = encoded.vectors
    return vectors[0] if len(vectors) == 1 else pair_features(vectors[0], vectors[1]), category_names(encoded.examples)


def _positive_class(examples: Examples) -> str | None:
    is_binary = examples.kind == "labelled_pairs" and examples.ordered and len(examples.labels) == 2
    return examples.labels[1] if is_binary else None


@TASK_REGISTRY.register("classes")
class PairClassTask(Task):
    """Classification of pairs."""

    order = 3
    title = "Pairs with unordered classes"
    help = "Accuracy and macro F1 of a cross-validated logistic regression on both embeddings, or of a cross-encoder's own classes."
    kinds: ClassVar[tuple[Kind, ...]] = ("labelled_pairs",)
    main: ClassVar[tuple[str, ...]] = ("accuracy",)
    sorts_pairs = True

    def fits(self, shape: DataShape) -> bool:
        """Return True for unordered classes, and for any classes if the model predicts classes."""
        if shape.kind != "labelled_pairs":
            return False
        return shape.gives == "class" or (not shape.ordered and not (shape.gives == "score" and shape.labels == 2))

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return evaluate_pair_classes(encoded.vectors[0], encoded.vectors[1], encoded.targets, encoded.examples.labels)

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        predicted, truth = scores.argmax(axis=1), label_ids(examples.labels, classes)[examples.targets]
        return replace(evaluate_classes(predicted, truth), answers=predictions_from_class_ids(predicted, truth, classes))
