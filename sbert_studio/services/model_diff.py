"""Model diff service: compare two models on a corpus by maps, neighbors, pairs and confused categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..data.corpus import Corpus
from ..data.split import normalize_text
from ..errors import StudioError
from ..evaluation.bootstrap import bootstrap_mean, paired_gain, resample_clusters
from ..evaluation.tasks.categories import nearest_categories
from ..i18n import _, ngettext
from ..models.base import Encoder, require_finite_vectors
from ..progress import Progress
from .resources import Resources, Service
from .results.evaluation import CategoryChange, ModelDiff, QueryChange
from .search import SearchService
from .training_history import TrainingHistory

if TYPE_CHECKING:
    from ..explore.model_diff import NeighborChange
    from ..explore.projection import ProjectionParams

MAX_TEXTS = 30_000
MAX_QUERIES = 3
_PAIRS = 10
_MIN_UNSEEN_TEXTS = 20  # minimum number of unseen texts; with fewer, texts used for training are evaluated too

BeginPhase = Callable[[str], "Progress | None"]
"""Called with the title of each phase; returns its progress callback, if any."""


class ModelDiffService(Service):
    """Differences between two models on one corpus."""

    def __init__(self, resources: Resources, search: SearchService) -> None:
        super().__init__(resources)
        self._search, self._languages, self._history = search, search.languages, TrainingHistory(resources)

    def compare(
        self,
        corpus: Corpus,
        before: str,
        after: str,
        *,
        queries: Sequence[str] = (),
        column: str | None = None,
        projection: ProjectionParams | None = None,
        begin_phase: BeginPhase | None = None,
    ) -> ModelDiff:
        """Compare two models.

        Args:
            queries: at most three; by default, the three texts whose neighbors changed most.
            column: column of categories.
            projection: parameters of the maps; by default those of the Map tab.
            begin_phase: called as each phase begins.

        Raises:
            StudioError: the models are the same or have no vectors, the corpus has fewer than three or more than 30,000 texts, or the
                column does not exist.
        """
        from ..explore.model_diff import align_points, compare_neighbors, most_changed_pairs
        from ..explore.projection import ProjectionParams, project

        _require_comparable(corpus, before, after, column)
        begin = begin_phase or (lambda title: None)
        encoders, vectors = [], []
        for place, name in enumerate((before, after), 1):
            encoders.append(self._languages.load(name))
            vectors.append(self._search.vectors_by(corpus, encoders[-1], begin(_("Encoding by model {place} of 2", place=place))))
        near = compare_neighbors(vectors[0], vectors[1], progress=begin("Finding neighbors"))
        closer, apart = most_changed_pairs(vectors[0], vectors[1], _PAIRS, begin("Comparing every text with every other"))
        params, neighbors = projection or ProjectionParams(), self._resources.neighbor_graphs
        keys = [f"{corpus.digest}-{encoder.fingerprint}" for encoder in encoders]
        first = project(vectors[0], params, keys[0], self.workspace, begin("Drawing map 1 of 2"), graphs=neighbors)
        second = project(vectors[1], params, keys[1], self.workspace, begin("Drawing map 2 of 2"), start=first, graphs=neighbors)
        trained = set().union(*(self._history.trained_texts(name) for name in (before, after)))
        unseen = np.array([normalize_text(text) not in trained for text in corpus.texts])
        typed = [query.strip() for query in queries if query.strip()][:MAX_QUERIES]
        shown = self._search_queries(corpus, encoders, typed, near.before.shape[1]) if typed else _most_moved(corpus, near, vectors)
        return ModelDiff(
            corpus=corpus,
            before=before,
            after=after,
            points_before=first.xy,
            points_after=align_points(second.xy, first.xy),
            movement=near,
            closer=tuple(closer),
            apart=tuple(apart),
            queries=tuple(shown),
            categories=None
            if column is None
            else _compare_categories(corpus, column, vectors, unseen, begin("Finding confused categories")),
            notes=self._notes(corpus, (before, after), encoders, unseen),
        )

    def _search_queries(self, corpus: Corpus, encoders: Sequence[Encoder], queries: Sequence[str], k: int) -> list[QueryChange]:
        found = []
        for encoder in encoders:
            vectors = require_finite_vectors(encoder.for_role("query").encode(list(queries)))
            hits = self._search.semantic_index(corpus, encoder.for_role("document")).search_many(vectors, k)
            found.append([tuple((hit.row, hit.score) for hit in own) for own in hits])
        return [QueryChange(query, None, *near) for query, *near in zip(queries, *found, strict=True)]

    def _notes(self, corpus: Corpus, names: Sequence[str], encoders: Sequence[Encoder], unseen: np.ndarray) -> tuple[str, ...]:
        notes = [*corpus.repeat_notes()]
        for name, encoder in zip(names, encoders, strict=True):
            notes += [*self._languages.language_notes(corpus, name), *self._languages.vocabulary_notes(corpus, encoder)]
        if not unseen.all():
            notes.append(
                _(
                    "{value} of these {corpus} texts were used to fine-tune one of the models.",
                    value=f"{int((~unseen).sum()):,}",
                    corpus=f"{len(corpus):,}",
                )
            )
        return tuple(dict.fromkeys(notes))


def _require_comparable(corpus: Corpus, before: str, after: str, column: str | None) -> None:
    if before == after:
        raise StudioError("these are the same model", "choose two different ones")
    if not 3 <= len(corpus) <= MAX_TEXTS:
        raise StudioError(
            ngettext("the corpus has only {n} text", "the corpus has only {n} texts", len(corpus)),
            _("models can be compared on 3 to {max_texts} texts", max_texts=f"{MAX_TEXTS:,}"),
        )
    if column is not None and column not in corpus.fields:
        raise StudioError(
            _("there is no column {column}", column=repr(column)), _("choose one of {fields}", fields=", ".join(corpus.fields))
        )


def _most_moved(corpus: Corpus, near: NeighborChange, vectors: Sequence[np.ndarray]) -> list[QueryChange]:
    """Return the distinct texts whose neighbors changed most; ties by length, longest first."""
    order = sorted(range(len(corpus)), key=lambda row: (-near.moved[row], -len(corpus.texts[row]), row))
    first: dict[str, int] = {}
    for row in order:
        first.setdefault(corpus.texts[row], row)

    def scored(own: np.ndarray, row: int, rows: np.ndarray) -> tuple[tuple[int, float], ...]:
        from ..explore.products import exact_products

        scores = exact_products(own, np.full(len(rows), row), rows)
        return tuple(zip(rows.tolist(), scores.tolist(), strict=True))

    return [
        QueryChange(corpus.texts[row], row, scored(vectors[0], row, near.before[row]), scored(vectors[1], row, near.after[row]))
        for row in list(first.values())[:MAX_QUERIES]
    ]


def _compare_categories(
    corpus: Corpus, column: str, vectors: Sequence[np.ndarray], unseen: np.ndarray, progress: Progress | None
) -> CategoryChange | None:
    """Compare the leave-one-out accuracy of nearest-text classification; ``None`` if no text has a category.

    Only texts that neither model was trained on are classified, using all other texts; all texts if there are too few of these. Texts with
    a blank cell are neither classified nor neighbors.
    """
    from ..explore.model_diff import compare_confusions

    predictions = []
    for done, own in enumerate(vectors):
        truth, nearest, names = nearest_categories(np.asarray(own), corpus.fields[column], corpus.texts)
        predictions.append(nearest)
        if progress is not None:
            progress(done + 1, len(vectors))
    labelled = truth >= 0
    if not labelled.any():
        return None
    evaluated = np.flatnonzero(labelled & unseen if (labelled & unseen).sum() >= _MIN_UNSEEN_TEXTS else labelled)
    correct = [(nearest == truth)[evaluated] for nearest in predictions]
    with resample_clusters([corpus.texts[row] for row in evaluated]):
        span = paired_gain(*(bootstrap_mean(own.astype(np.float64)) for own in correct)).get("gain_interval")
    interval = (float(span[0]), float(span[1])) if span else None
    before, after = (np.where(np.isin(np.arange(len(truth)), evaluated), nearest, truth) for nearest in predictions)
    confused = tuple(compare_confusions(truth, before, after, names))
    accuracies = (float(correct[0].mean()), float(correct[1].mean()))
    return CategoryChange(column, len(evaluated), *accuracies, interval, confused, int((~unseen[evaluated]).sum()))
