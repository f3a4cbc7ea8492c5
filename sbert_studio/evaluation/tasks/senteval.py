"""SentEval transfer (Conneau & Kiela 2018): logistic regression on frozen vectors with a tuned L2 penalty.

MR, CR, SUBJ and MPQA use ten folds (:func:`cross_validated`); TREC, SST and MRPC their own split (:func:`train_and_test`). The penalty is
chosen from :data:`GRID` on the training rows alone. The task ``transfer`` (:mod:`.transfer`) uses one fixed penalty: it is five times as
fast and as good on single texts, but not on pairs.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import StudioError
from ...models.similarity import unit
from ...progress import checkpoint
from ..report import Report
from .base import TASK_REGISTRY, DataShape, EncodedExamples, Task, TaskData, TextTask, category_names
from .transfer import classification_report

if TYPE_CHECKING:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from ...data.examples import Examples
    from ...data.loading.table import Table
    from ...data.schema.roles import Roles
    from .base import ClassRoles
    from .categories import ReferenceTexts


GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""The inverse strengths, for centred vectors of mean length one; of equally good ones the smallest, the strongest penalty, is taken."""
_FOLDS, _INNER = 10, 3
_ITERATIONS = 1000
_DEFAULT_STRENGTH = 10.0  # where too few rows are there to choose by

Split = tuple[np.ndarray, np.ndarray]


def cross_validated(
    vectors: np.ndarray,
    labels: Sequence[str],
    *,
    folds: int = _FOLDS,
    grid: Sequence[float] = GRID,
    seed: int = 12,
    positive: str | None = None,
) -> Report:
    """Cross-validate in ten stratified folds; three inner folds of each training part choose the penalty.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones.
        folds: reduced if the largest class has fewer rows.
        grid: inverse penalties to choose from.
        seed: seed of the folds.
        positive: class whose F1 is reported too.

    Returns:
        A ``senteval`` report: ``accuracy`` with its 95 % bootstrap ``interval`` over rows, ``macro_f1``, ``f1`` of the positive class,
        ``majority`` (accuracy of always predicting the largest class), ``classes``, ``folds``, and ``strengths``, the inverse penalty
        chosen in each fold.

    Raises:
        StudioError: every class has a single row.
    """
    truth = _names(labels)
    splits = _splits(truth, folds, seed)
    if not splits:
        raise StudioError("every class has a single row", "add rows, so that a class can be learnt from one and tested on another")
    predicted, strengths = truth.copy(), []
    for train, test in splits:
        chosen = _choose_strength(vectors[train], truth[train], _splits(truth[train], _INNER, seed), grid)
        strengths.append(chosen)
        (predicted[test],) = _predictions(vectors[train], truth[train], vectors[test], [chosen])
    return _report(truth, predicted, truth, positive, {"folds": len(splits), "strengths": strengths})


def train_and_test(
    train: np.ndarray,
    train_labels: Sequence[str],
    test: np.ndarray,
    test_labels: Sequence[str],
    *,
    dev: np.ndarray | None = None,
    dev_labels: Sequence[str] = (),
    grid: Sequence[float] = GRID,
    seed: int = 12,
    positive: str | None = None,
) -> Report:
    """Train on one set and test on another; the penalty is chosen on the dev set, or by three folds of the training set.

    Args:
        train, test, dev: (n, d), (m, d) and (k, d).
        train_labels, test_labels, dev_labels: their classes, at least two distinct ones in ``train_labels``.
        grid, seed, positive: as for :func:`cross_validated`.

    Returns:
        A ``senteval`` report as that of :func:`cross_validated`, with ``train_rows`` instead of ``folds``.
    """
    reference, truth = _names(train_labels), _names(test_labels)
    if dev is None:
        chosen = _choose_strength(train, reference, _splits(reference, _INNER, seed), grid)
    else:
        rows = np.arange(len(reference) + len(dev_labels))
        split = (rows[: len(reference)], rows[len(reference) :])
        chosen = _choose_strength(np.concatenate([train, dev]), np.concatenate([reference, _names(dev_labels)]), [split], grid)
    (predicted,) = _predictions(train, reference, test, [chosen])
    return _report(truth, predicted, reference, positive, {"train_rows": len(train), "strengths": [chosen]})


def pair_features(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return (|u − v|, u · v) of pairs of (n, d) vectors, (n, 2d) float32, as in SentEval's pair tasks.

    Vectors are normalised, and products scaled by √d, so that a common penalty does not suppress them.
    """
    u, v = unit(left), unit(right)
    return np.concatenate([np.abs(u - v), u * v * np.float32(np.sqrt(u.shape[1]))], axis=1)


def _names(labels: Sequence[str]) -> np.ndarray:
    return np.asarray(labels, dtype=object).astype(str)


def _splits(truth: np.ndarray, folds: int, seed: int) -> list[Split]:
    from sklearn.model_selection import StratifiedKFold

    folds = min(folds, max(Counter(truth.tolist()).values()))
    if folds < 2:
        return []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # a rare class is then absent from some folds
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(truth, truth))


def _choose_strength(vectors: np.ndarray, labels: np.ndarray, splits: Iterable[Split], grid: Sequence[float]) -> float:
    right = np.zeros(len(grid), np.int64)
    tried = sorted(grid)
    for train, test in splits:
        found = _predictions(vectors[train], labels[train], vectors[test], tried)
        right += [int((one == labels[test]).sum()) for one in found]
    return float(tried[int(right.argmax())]) if right.any() else _DEFAULT_STRENGTH


def _predictions(train: np.ndarray, labels: np.ndarray, test: np.ndarray, strengths: Sequence[float]) -> list[np.ndarray]:
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(labels)) == 1:
        return [np.full(len(test), labels[0])] * len(strengths)
    centre = train.mean(axis=0)
    scale = float(np.linalg.norm(train - centre, axis=1).mean()) or 1.0
    seen, unseen = ((part - centre) / scale for part in (train, test))
    model: LogisticRegression = LogisticRegression(solver="newton-cg", max_iter=_ITERATIONS, warm_start=True)
    found = []
    for strength in strengths:
        checkpoint()
        found.append(np.asarray(model.set_params(C=strength).fit(seen, labels).predict(unseen)))
    return found


def _report(truth: np.ndarray, predicted: np.ndarray, reference: np.ndarray, positive: str | None, extra: dict[str, Any]) -> Report:
    sizes = Counter(reference.tolist())
    largest = sizes.most_common(1)[0][0]
    return classification_report(
        "senteval", truth, predicted, positive, majority=float((truth == largest).mean()), classes=len(sizes), **extra
    )


@TASK_REGISTRY.register("senteval")
class SentEvalTask(TextTask):
    """Logistic regression with a tuned penalty."""

    order = 9
    title = "Texts or pairs with a class: SentEval's regression"
    help = "Accuracy and F1 of a logistic regression with a penalty chosen unseen, learned from rows of its own or in ten folds."
    kinds = ("labelled_texts", "labelled_pairs")
    main = ("accuracy",)
    learns = True
    reference_help = (
        "The regression learns from them: the train.csv of a test.csv. Without them it learns from the rows above, in ten folds."
    )

    def fits(self, shape: DataShape) -> bool:
        return False

    def read(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> TaskData:
        """Read labelled pairs if the table has them, otherwise labelled texts."""
        from ...data.schema.inference import infer_roles
        from ...data.schema.roles import Roles

        if known_roles is None:
            with contextlib.suppress(StudioError):
                known_roles = infer_roles(table)
        if isinstance(known_roles, Roles) and known_roles.kind == "labelled_pairs":
            return Task.read(self, table, known_roles)
        return super().read(table, known_roles)

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        return cross_validated(_features(vectors), category_names(examples), positive=_positive(examples))

    def train_and_evaluate(self, evaluated: EncodedExamples, reference: EncodedExamples, dev: EncodedExamples | None) -> Report:
        (train, taught), (test, truth) = ((_features(one.vectors), category_names(one.examples)) for one in (reference, evaluated))
        if train.shape[1] != test.shape[1]:
            raise StudioError("single texts teach nothing of pairs, nor pairs of single texts", "give two files of one kind")
        if not set(taught) & set(truth):
            classes = ", ".join(sorted(set(truth))[:6])
            raise StudioError(f"none of the classes {classes} is among those of the known rows", "give the set's own training rows")
        features, labels = (None, []) if dev is None else (_features(dev.vectors), category_names(dev.examples))
        return train_and_test(train, taught, test, truth, dev=features, dev_labels=labels, positive=_positive(evaluated.examples))


def _features(vectors: Sequence[np.ndarray]) -> np.ndarray:
    return vectors[0] if len(vectors) == 1 else pair_features(vectors[0], vectors[1])


def _positive(examples: Examples) -> str | None:
    values = examples.kind == "labelled_pairs" and examples.ordered and len(examples.labels) == 2
    return examples.labels[1] if values else None
