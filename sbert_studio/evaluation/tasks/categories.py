"""Texts with categories: accuracy of the nearest neighbor and centroid, and V-measure of a clustering (Rosenberg & Hirschberg 2007)."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...data.split import normalize_text
from ...i18n import _
from ...models.similarity import unit
from ...progress import checkpoint
from ..answers import predictions_from_class_ids
from ..bootstrap import bootstrap_mean, bootstrap_scores, percentile_interval, share_interval
from ..encoding import TIE
from ..report import Report
from .base import TASK_REGISTRY, ClassRoles, DataShape, EncodedExamples, TaskData, TextTask, category_names

if TYPE_CHECKING:
    from ...data.loading.table import Table
    from ...data.schema.roles import Roles


_BLOCK = 4_000_000  # cells per block of cosines: 16 MB
_MAX_PAIRS = 5
_EXAMPLE_TEXTS = 2
_MAX_CHARACTERS = 200  # maximum length of a text in a report
_MAX_TEXTS = 20_000  # per table; more do not change the reported figures
_MINI_BATCH_ROWS = 50_000  # full k-means would take minutes


@dataclass(frozen=True, eq=False)
class ReferenceTexts:
    """Labelled texts that new texts are compared with.

    Attributes:
        vectors: (n, d).
        labels, texts: the categories and the texts.
    """

    vectors: np.ndarray
    labels: Sequence[str]
    texts: Sequence[str]


def evaluate_categories(
    vectors: np.ndarray, labels: Sequence[str], texts: Sequence[str], reference: ReferenceTexts | None = None
) -> Report:
    """Compute nearest-neighbor and nearest-centroid accuracy by cosine, and the V-measure of a clustering.

    The nearest neighbor is searched in ``reference`` or, without it, among all other evaluated texts; texts equal up to case and spaces are
    skipped. Ties count as errors, so that collapsed vectors score 0, as do texts that are the only ones of their category. A centroid is
    the mean of the normalized vectors of a category without the text itself. The V-measure (Rosenberg and Hirschberg 2007) is that of
    k-means on the evaluated texts.

    Args:
        vectors: (n, d) of the evaluated texts.
        labels, texts: their n categories, and the texts.

    Returns:
        A ``categories`` report: ``nearest_neighbour_accuracy`` with its 95 % ``interval`` (Wilson), ``centroid_accuracy``, ``v_measure``
        (with two or more categories), ``classes``, ``majority`` (accuracy of always predicting the largest category), ``known_rows``, and
        ``confused``: the most often confused pairs of categories, ``{categories, count, texts}``, with two example texts each.
    """
    alone = reference is None
    beside = ReferenceTexts(vectors, labels, texts) if reference is None else reference
    names = sorted({*labels, *beside.labels})
    places = {name: place for place, name in enumerate(names)}
    truth, theirs = (np.fromiter((places[label] for label in column), np.int64, len(column)) for column in (labels, beside.labels))
    new, old = unit(vectors), unit(beside.vectors)
    found = _nearest(new, truth, [normalize_text(text) for text in texts], old, theirs, [normalize_text(text) for text in beside.texts])
    right = found == truth
    drawn = bootstrap_mean(right.astype(np.float64))
    scores: dict[str, Any] = {
        "nearest_neighbour_accuracy": float(right.mean()),
        "centroid_accuracy": float((_nearest_centroid(new, truth, old, theirs, len(names), alone) == truth).mean()),
        "classes": len(set(labels)),
        "majority": Counter(labels).most_common(1)[0][1] / len(labels),
        "known_rows": 0 if alone else len(theirs),
        "interval": share_interval(drawn, right),
        "confused": _confusions(truth, found, names, texts),
    }
    if scores["classes"] > 1:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Number of distinct clusters")  # identical vectors
            scores["v_measure"] = evaluate_clustering(vectors, labels).scores["v_measure"]
    return Report("categories", len(truth), scores, resampled=drawn, answers=predictions_from_class_ids(found, truth, names))


def nearest_categories(vectors: np.ndarray, labels: Sequence[str], texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the category of each text and of its nearest neighbor, by the rules of :func:`evaluate_categories`.

    Returns:
        Both as (n,) int64 ids (-1: no category or no neighbor), and the category names.
    """
    names = sorted({label for label in labels if label.strip()})
    places = {name: place for place, name in enumerate(names)}
    truth = np.fromiter((places.get(label, -1) for label in labels), np.int64, len(labels))
    labelled, found = np.flatnonzero(truth >= 0), np.full(len(truth), -1, np.int64)
    rows, same = unit(vectors)[labelled], [normalize_text(texts[row]) for row in labelled.tolist()]
    found[labelled] = _nearest(rows, truth[labelled], same, rows, truth[labelled], same)
    return truth, found, names


def _nearest(
    new: np.ndarray, truth: np.ndarray, texts: Sequence[str], old: np.ndarray, theirs: np.ndarray, reference: Sequence[str]
) -> np.ndarray:
    same: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(reference):
        same[text].append(place)
    found = np.full(len(new), -1, np.int64)
    at_once = max(1, _BLOCK // max(1, len(old)))
    for start in range(0, len(new), at_once):
        checkpoint()
        cosines = new[start : start + at_once] @ old.T
        for offset, row in enumerate(cosines):
            place = start + offset
            row[same.get(texts[place], [])] = -np.inf
            sibling = theirs == truth[place]
            nearest_sibling = row[sibling].max(initial=-np.inf)
            row[sibling] = -np.inf
            other = int(row.argmax()) if len(row) else -1
            if other >= 0 and row[other] > -np.inf and row[other] >= nearest_sibling - TIE:
                found[place] = theirs[other]
            elif nearest_sibling > -np.inf:
                found[place] = truth[place]
    return found


def _nearest_centroid(new: np.ndarray, truth: np.ndarray, old: np.ndarray, theirs: np.ndarray, classes: int, alone: bool) -> np.ndarray:
    sums = np.zeros((classes, new.shape[1]), np.float32)
    np.add.at(sums, theirs, old)
    sizes = np.bincount(theirs, minlength=classes)
    cosines = new @ unit(sums).T
    own_sums, own_sizes = (sums[truth] - new, sizes[truth] - 1) if alone else (sums[truth], sizes[truth])
    own = np.einsum("nd,nd->n", new, unit(own_sums))
    cosines[:, sizes == 0] = -np.inf
    cosines[np.arange(len(new)), truth] = -np.inf
    other = cosines.argmax(axis=1)
    right = (own_sizes > 0) & (own > cosines[np.arange(len(new)), other] + TIE)
    return np.where(right, truth, other)


def _confusions(truth: np.ndarray, predicted: np.ndarray, names: Sequence[str], texts: Sequence[str]) -> list[dict[str, Any]]:
    missed = np.flatnonzero((predicted != truth) & (predicted >= 0))
    pairs: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in missed.tolist():
        one, two = sorted((int(truth[place]), int(predicted[place])))
        pairs[one, two].append(place)
    most = sorted(pairs.items(), key=lambda item: (-len(item[1]), item[0]))[:_MAX_PAIRS]
    return [
        {
            "categories": [names[one], names[two]],
            "count": len(places),
            "texts": [
                {"text": texts[place][:_MAX_CHARACTERS], "category": names[truth[place]], "found": names[predicted[place]]}
                for place in places[:_EXAMPLE_TEXTS]
            ],
        }
        for (one, two), places in most
    ]


def merge_confusions(parts: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Merge the ``confused`` lists of reports on different texts, adding counts."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for pair in (pair for part in parts for pair in part):
        reference = found.setdefault(tuple(pair["categories"]), {"categories": list(pair["categories"]), "count": 0, "texts": []})
        reference["count"] += pair["count"]
        reference["texts"] = [*reference["texts"], *pair["texts"]][:_EXAMPLE_TEXTS]
    return sorted(found.values(), key=lambda pair: (-pair["count"], pair["categories"]))[:_MAX_PAIRS]


def evaluate_clustering(vectors: np.ndarray, labels: Sequence[str], *, seed: int = 12) -> Report:
    """Cluster normalized vectors by k-means with as many clusters as classes.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones.

    Returns:
        A ``clustering`` report: ``v_measure`` with its 95 % bootstrap ``interval`` over rows (clusters fixed), ``homogeneity``,
        ``completeness``, ``clusters``.
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.metrics import homogeneity_completeness_v_measure

    classes = len(set(labels))
    if len(vectors) < _MINI_BATCH_ROWS:
        model = KMeans(classes, n_init=1, random_state=seed)
    else:
        model = MiniBatchKMeans(classes, n_init=1, batch_size=4096, random_state=seed)
    found = model.fit_predict(unit(vectors))
    homogeneity, completeness, v_measure = (float(score) for score in homogeneity_completeness_v_measure(list(labels), found))
    drawn = bootstrap_v_measure(np.unique(list(labels), return_inverse=True)[1], found)
    scores: dict[str, Any] = {"v_measure": v_measure, "homogeneity": homogeneity, "completeness": completeness, "clusters": classes}
    return Report("clustering", len(vectors), scores | {"interval": percentile_interval(drawn)}, resampled=drawn)


def bootstrap_v_measure(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the V-measure of (n,) cluster ids with (n,) class ids in every resample, (resamples,); NaN for a single class.

    V = 2 I(C; K) / (H(C) + H(K)), so only the counts of classes, clusters and their intersections are needed.
    """
    both = truth.astype(np.int64) * (int(predicted.max()) + 1) + predicted
    parts = [_membership(ids) for ids in (truth, predicted, both)]

    def v_measure(counts: np.ndarray) -> np.ndarray:
        of_classes, of_clusters, of_both = (_entropy(part @ counts.T) for part in parts)
        total = of_classes + of_clusters
        shared = np.maximum(total - of_both, 0.0)
        return np.asarray(np.divide(2 * shared, total, out=np.full_like(total, np.nan), where=of_classes > 0))

    return bootstrap_scores(v_measure, len(truth))


def _membership(ids: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    _, group = np.unique(ids, return_inverse=True)
    return csr_matrix((np.ones(len(ids)), (group, np.arange(len(ids)))))


def _entropy(sizes: np.ndarray) -> np.ndarray:
    shares = sizes / sizes.sum(axis=0)
    return np.asarray(-np.sum(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0), axis=0))


@TASK_REGISTRY.register("categories")
class CategoryTask(TextTask):
    """Nearest-neighbor classification."""

    order = 6
    title = "Labelled texts: nearest neighbor"
    help = "Share of texts whose nearest neighbor, or nearest category centroid, has their own category."
    main: ClassVar[tuple[str, ...]] = ("nearest_neighbour_accuracy",)
    uses_reference = True
    reference_help = "Nearest neighbors are searched in these rows; by default, among the texts above."

    def fits(self, shape: DataShape) -> bool:
        return shape.kind == "labelled_texts"

    def read(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> TaskData:
        """Read the labelled texts, or a sample of a very large table."""
        rows = super().read(table, known_roles)
        examples, notes = rows.examples, rows.notes
        if len(examples) > _MAX_TEXTS:
            notes = (
                *notes,
                _(
                    "evaluated on a sample of {max_texts} of the {examples} texts",
                    max_texts=f"{_MAX_TEXTS:,}",
                    examples=f"{len(examples):,}",
                ),
            )
            examples = examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:_MAX_TEXTS]))
        single = sum(count == 1 for count in Counter(category_names(examples)).values())
        if single:
            notes = (
                *notes,
                _(
                    "texts that are the only ones in their category count as wrong: {single} of {examples}",
                    single=f"{single:,}",
                    examples=f"{len(examples):,}",
                ),
            )
        return replace(rows, examples=examples, notes=notes)

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return evaluate_categories(*_columns(encoded), None if reference is None else ReferenceTexts(*_columns(reference)))


def _columns(encoded: EncodedExamples) -> tuple[np.ndarray, list[str], tuple[str, ...]]:
    return encoded.vectors[0], category_names(encoded.examples), encoded.examples.texts[0]


@TASK_REGISTRY.register("clustering")
class ClusteringTask(TextTask):
    """k-means clustering compared with the classes."""

    order = 8
    title = "Labelled texts: clustering"
    help = "V-measure of k-means with as many clusters as classes."
    main: ClassVar[tuple[str, ...]] = ("v_measure",)

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return evaluate_clustering(encoded.vectors[0], category_names(encoded.examples))
