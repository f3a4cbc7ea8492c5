"""Texts with a category: does the nearest text, and the nearest centre of a category, belong to the right one?

Texts with a category, judged by their neighbours.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.progress import checkpoint
from ...data.splits.splitting import plain
from ...models.similarity import unit
from ..answers import of_places
from ..bootstrap import interval_of_share, resampled_mean
from ..encoding import TIE
from ..report import Report
from .base import REGISTRY, OfTexts, Rows, Shape, categories_of
from .clustering import evaluate_clustering

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples, Roles
    from ...data.tables import Table
    from .base import ClassRoles


_BLOCK = 4_000_000  # cells of a block of cosines: 16 MB
_MOST_PAIRS = 5
_SHOWN = 2
_LONGEST = 200  # letters of a text that is shown


@dataclass(frozen=True, eq=False)
class Known:
    """Texts whose category is known: new ones are laid beside them.

    Attributes:
        vectors: (n, d).
        labels, texts: their categories, and the texts themselves.
    """

    vectors: np.ndarray
    labels: Sequence[str]
    texts: Sequence[str]


def evaluate_categories(vectors: np.ndarray, labels: Sequence[str], texts: Sequence[str], known: Known | None = None) -> Report:
    """Nearest-neighbour and nearest-centroid accuracy by cosine, and the V-measure of a clustering.

    A text's nearest neighbour is looked for among ``known``, or among all other judged texts where there are none; one that says the
    same (case and blanks aside) is passed over. Ties count against the model, so that vectors which all coincide score nothing, and so
    does a text whose category has no other text. A centroid is the mean of the normalised vectors of a category, without the text
    itself. The V-measure (Rosenberg and Hirschberg 2007) is that of k-means on the judged texts alone.

    Args:
        vectors: (n, d) of the judged texts.
        labels, texts: their n categories, and the texts.

    Returns:
        A report of ``categories``: ``nearest_neighbour_accuracy`` with its 95% ``interval`` (Wilson), ``centroid_accuracy``,
        ``v_measure`` (absent of a single category), ``classes``, ``majority`` (the accuracy of always naming the largest category),
        ``known_rows``, and ``confused``: the pairs of categories that are most often taken for each other,
        ``{categories, count, texts}``, each with two of the texts, their ``category`` and the one ``found``.
    """
    alone = known is None
    beside = Known(vectors, labels, texts) if known is None else known
    names = sorted({*labels, *beside.labels})
    places = {name: place for place, name in enumerate(names)}
    truth, theirs = (np.fromiter((places[label] for label in column), np.int64, len(column)) for column in (labels, beside.labels))
    new, old = unit(vectors), unit(beside.vectors)
    found = _nearest(new, truth, [plain(text) for text in texts], old, theirs, [plain(text) for text in beside.texts])
    right = found == truth
    drawn = resampled_mean(right.astype(np.float64))
    scores: dict[str, Any] = {
        "nearest_neighbour_accuracy": float(right.mean()),
        "centroid_accuracy": float((_nearest_centroid(new, truth, old, theirs, len(names), alone) == truth).mean()),
        "classes": len(set(labels)),
        "majority": Counter(labels).most_common(1)[0][1] / len(labels),
        "known_rows": 0 if alone else len(theirs),
        "interval": interval_of_share(drawn, right),
        "confused": _confused(truth, found, names, texts),
    }
    if scores["classes"] > 1:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Number of distinct clusters")  # vectors that coincide
            scores["v_measure"] = evaluate_clustering(vectors, labels).scores["v_measure"]
    return Report("categories", len(truth), scores, resampled=drawn, answers=of_places(found, truth, names))


def nearest_categories(vectors: np.ndarray, labels: Sequence[str], texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Each text's category and that of its nearest other text that has one, by the rules of :func:`evaluate_categories`.

    Returns:
        the two as (n,) int64 places, -1 where the text has no category or nothing is near, and the names that they are places in.
    """
    names = sorted({label for label in labels if label.strip()})
    places = {name: place for place, name in enumerate(names)}
    truth = np.fromiter((places.get(label, -1) for label in labels), np.int64, len(labels))
    told, found = np.flatnonzero(truth >= 0), np.full(len(truth), -1, np.int64)
    rows, same = unit(vectors)[told], [plain(texts[row]) for row in told.tolist()]
    found[told] = _nearest(rows, truth[told], same, rows, truth[told], same)
    return truth, found, names


def _nearest(
    new: np.ndarray, truth: np.ndarray, texts: Sequence[str], old: np.ndarray, theirs: np.ndarray, known: Sequence[str]
) -> np.ndarray:
    """(n,) the class of the nearest known text; of several as near, a wrong one; -1 where there is none."""
    same: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(known):
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
    """(n,) the class of the nearest centroid; of several as near, a wrong one; -1 where its own class has no other text."""
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


def _confused(truth: np.ndarray, found: np.ndarray, names: Sequence[str], texts: Sequence[str]) -> list[dict[str, Any]]:
    """The pairs of categories most often taken for each other, whichever for which."""
    missed = np.flatnonzero((found != truth) & (found >= 0))
    pairs: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in missed.tolist():
        one, two = sorted((int(truth[place]), int(found[place])))
        pairs[one, two].append(place)
    most = sorted(pairs.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_PAIRS]
    return [
        {
            "categories": [names[one], names[two]],
            "count": len(places),
            "texts": [
                {"text": texts[place][:_LONGEST], "category": names[truth[place]], "found": names[found[place]]}
                for place in places[:_SHOWN]
            ],
        }
        for (one, two), places in most
    ]


def confused_together(parts: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The ``confused`` of several reports on different texts as one: counts are added, as far as each report told them."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for pair in (pair for part in parts for pair in part):
        known = found.setdefault(tuple(pair["categories"]), {"categories": list(pair["categories"]), "count": 0, "texts": []})
        known["count"] += pair["count"]
        known["texts"] = [*known["texts"], *pair["texts"]][:_SHOWN]
    return sorted(found.values(), key=lambda pair: (-pair["count"], pair["categories"]))[:_MOST_PAIRS]


# Texts that are laid beside each other: more of them change no figure that is shown.
_MOST_ALONE = 20_000


@REGISTRY.register("categories")
class Categories(OfTexts):
    """The nearest neighbour's category."""

    order = 6
    title = "Texts with a category: the nearest neighbour's"
    help = "The share of texts whose nearest neighbour, or nearest centre of a category, is of their own category."
    main = ("nearest_neighbour_accuracy",)
    beside_known = True
    known_use = "The nearest neighbour of a text is sought among them. Without them the texts above are laid beside each other."

    def fits(self, shape: Shape) -> bool:
        """Texts whose categories are meant to lie together."""
        return shape.kind == "labelled_texts"

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """Each text beside all others of its table, or of a sample of a very large one."""
        import numpy as np

        rows = super().read(table, known)
        examples, notes = rows.examples, rows.notes
        if len(examples) > _MOST_ALONE:
            notes = (*notes, f"judged on a sample of {_MOST_ALONE:,} of the {len(examples):,} texts")
            examples = examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:_MOST_ALONE]))
        single = sum(count == 1 for count in Counter(categories_of(examples)).values())
        if single:
            notes = (*notes, f"the only text of its category counts as wrong: {single:,} of {len(examples):,}")
        return replace(rows, examples=examples, notes=notes)

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.categories.evaluate_categories`."""

        return evaluate_categories(vectors[0], categories_of(examples), examples.texts[0], known)
