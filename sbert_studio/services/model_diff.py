"""The verb by which a person sees what changed from one model to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StudioError
from ..models.base import require_finite_vectors
from .map import MapService
from .results.model_diff import CategoryChange, ModelDiff, QueryChange
from .training_history import trained_texts

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..explore.model_diff import NeighborChange
    from ..explore.projection import ProjectionParams
    from ..models.base import Encoder
    from ..progress import Progress

MAX_TEXTS = 30_000
MAX_QUERIES = 3
_PAIRS = 10
_FEWEST = 20  # texts that no model was tuned on, below which all are judged
_SEED = 12  # that of the Map tab, so that the first map is the one that stands there

Phase = Callable[[str], "Progress | None"]
"""Told what begins, in words; gives what is told how far that is, if anybody asks."""


class ModelDiffService(MapService):
    """Two models, a corpus → what is no longer as it was."""

    def changes(
        self,
        corpus: Corpus,
        before: str,
        after: str,
        *,
        queries: Sequence[str] = (),
        column: str | None = None,
        projection: ProjectionParams | None = None,
        begin: Phase | None = None,
    ) -> ModelDiff:
        """What changed from one model to another: maps, neighbours, pairs, and categories that are taken for each other.

        Args:
            queries: at most three; where none is given, the three texts whose neighbours changed most.
            column: that holds categories.
            projection: how the maps are drawn; as in the Map tab where not given.
            begin: told each phase.

        Raises:
            StudioError: the models are the same, or give no vectors; the corpus has fewer than three texts or more than 30,000; there is
                no such column.
        """
        from ..data.split import normalize_text
        from ..explore.model_diff import align_points, compare_neighbors, most_changed_pairs
        from ..explore.projection import ProjectionParams, project

        told = begin or (lambda words: None)
        if before == after:
            raise StudioError("these are the same model", "choose two different ones")
        if not 3 <= len(corpus) <= MAX_TEXTS:
            raise StudioError(
                f"the corpus has {len(corpus):,} text{'' if len(corpus) == 1 else 's'}", f"what changed is shown of 3 to {MAX_TEXTS:,}"
            )
        if column is not None and column not in corpus.fields:
            raise StudioError(f"there is no column {column!r}", f"choose one of {', '.join(corpus.fields)}")
        encoders, vectors = [], []
        for place, name in enumerate((before, after), 1):
            encoders.append(self._encoder(name))
            vectors.append(self._vectors(corpus, encoders[-1], told(f"Encoding by model {place} of 2")))
        near = compare_neighbors(vectors[0], vectors[1], progress=told("Looking for neighbours"))
        closer, apart = most_changed_pairs(vectors[0], vectors[1], _PAIRS, told("Comparing every text with every other"))
        params = projection or ProjectionParams(seed=_SEED)
        keys = [f"{corpus.digest}-{encoder.fingerprint}" for encoder in encoders]
        first = project(vectors[0], params, keys[0], self.workspace, told("Drawing map 1 of 2"), graphs=self._services.neighbourhoods)
        second = project(
            vectors[1], params, keys[1], self.workspace, told("Drawing map 2 of 2"), start=first, graphs=self._services.neighbourhoods
        )
        learned = set().union(*(trained_texts(lambda: self.store, self.workspace, name) for name in (before, after)))
        new = np.array([normalize_text(text) not in learned for text in corpus.texts])
        asked = [query.strip() for query in queries if query.strip()][:MAX_QUERIES]
        return ModelDiff(
            corpus=corpus,
            before=before,
            after=after,
            points_before=first.xy,
            points_after=align_points(second.xy, first.xy),
            movement=near,
            closer=tuple(closer),
            apart=tuple(apart),
            queries=tuple(self._typed(corpus, encoders, asked, near.before.shape[1]) if asked else _most_moved(corpus, near, vectors)),
            categories=None if column is None else _by_category(corpus, column, vectors, new, told("Looking for confused categories")),
            notes=self._noted(corpus, (before, after), encoders, new),
        )

    def _typed(self, corpus: Corpus, encoders: Sequence[Encoder], queries: Sequence[str], k: int) -> list[QueryChange]:
        """The nearest texts of words that somebody has typed."""
        found = []
        for encoder in encoders:
            asked = require_finite_vectors(encoder.for_role("query").encode(list(queries)))
            hits = self._semantic(corpus, encoder.for_role("document")).search_many(asked, k)
            found.append([tuple((hit.row, hit.score) for hit in own) for own in hits])
        return [QueryChange(query, None, *near) for query, *near in zip(queries, *found, strict=True)]

    def _noted(self, corpus: Corpus, names: Sequence[str], encoders: Sequence[Encoder], new: np.ndarray) -> tuple[str, ...]:
        """What is to be known of the corpus and the models, and that one was tuned on these very texts."""
        notes = [*corpus.repeat_notes()]
        for name, encoder in zip(names, encoders, strict=True):
            notes += [*self.language_notes(corpus, name), *self._unknown(corpus, encoder)]
        if not new.all():
            notes.append(f"{int((~new).sum()):,} of these {len(corpus):,} texts are among those that a model was tuned on.")
        return tuple(dict.fromkeys(notes))


def _most_moved(corpus: Corpus, near: NeighborChange, vectors: Sequence[np.ndarray]) -> list[QueryChange]:
    """The texts whose neighbours changed most, each text once, the longer of those that moved as far first."""
    order = sorted(range(len(corpus)), key=lambda row: (-near.moved[row], -len(corpus.texts[row]), row))
    first: dict[str, int] = {}
    for row in order:
        first.setdefault(corpus.texts[row], row)
    rows = list(first.values())[:MAX_QUERIES]
    return [
        QueryChange(corpus.texts[row], row, _scored(vectors[0], row, near.before[row]), _scored(vectors[1], row, near.after[row]))
        for row in rows
    ]


def _scored(vectors: np.ndarray, row: int, rows: np.ndarray) -> tuple[tuple[int, float], ...]:
    from ..explore.products import exact_products

    scores = exact_products(vectors, np.full(len(rows), row), rows)
    return tuple(zip(rows.tolist(), scores.tolist(), strict=True))


def _by_category(
    corpus: Corpus, column: str, vectors: Sequence[np.ndarray], new: np.ndarray, progress: Progress | None
) -> CategoryChange | None:
    """The texts that no model was tuned on are judged, by all others; all of them where there are hardly any such.

    A text whose cell is blank has no category, and is neither judged nor near; ``None`` where no text has one.
    """
    from ..evaluation.bootstrap import bootstrap_mean, paired_gain, resample_clusters
    from ..evaluation.tasks.categories import nearest_categories
    from ..explore.model_diff import compare_confusions

    labels = corpus.fields[column]
    found = []
    for done, own in enumerate(vectors):
        truth, nearest, names = nearest_categories(np.asarray(own), labels, corpus.texts)
        found.append(nearest)
        if progress is not None:
            progress(done + 1, len(vectors))
    told = truth >= 0
    if not told.any():
        return None
    judged = np.flatnonzero(told & new if (told & new).sum() >= _FEWEST else told)
    right = [(nearest == truth)[judged] for nearest in found]
    with resample_clusters([corpus.texts[row] for row in judged]):
        span = paired_gain(*(bootstrap_mean(own.astype(np.float64)) for own in right)).get("gain_interval")
    interval = (float(span[0]), float(span[1])) if span else None
    before, after = (np.where(np.isin(np.arange(len(truth)), judged), nearest, truth) for nearest in found)
    confused = tuple(compare_confusions(truth, before, after, names))
    return CategoryChange(
        column, len(judged), float(right[0].mean()), float(right[1].mean()), interval, confused, int((~new[judged]).sum())
    )
