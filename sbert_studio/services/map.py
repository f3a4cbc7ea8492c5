"""The verb by which a map grows: texts that are new are placed on it, and what stands stays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..workspace import digest_texts
from .results import MapView
from .search import SearchService

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..data.corpus import Corpus
    from ..explore.projection import PlacedPoints, ProjectionParams
    from ..progress import Progress
    from .search import Phase


class MapService(SearchService):
    """A map, a corpus with some more texts → the same map with them."""

    def grown(
        self,
        corpus: Corpus,
        earlier: Corpus,
        view: MapView,
        projection: ProjectionParams,
        model: str | None = None,
        phase: Callable[[Phase], Progress] | None = None,
    ) -> MapView | None:
        """The map ``view`` of ``earlier`` with the new texts of ``corpus``, each among its nearest neighbours and in their cluster.

        Returns:
            ``None`` where the map has to be laid out anew: the settings or the model are others, texts are gone, none is new, or more
            than a tenth.
        """
        from ..explore.projection import match_earlier_rows, place_new_points, projection_key

        encoder = self._encoder(model)
        if not view.projection_key.startswith(projection_key(f"{earlier.digest}-{encoder.fingerprint}", projection)):
            return None
        known = match_earlier_rows(corpus.texts, earlier.texts)
        if known is None:
            return None
        vectors = self._vectors(corpus, encoder, phase("encode") if phase else None)
        told = phase("layout") if phase else None
        placed = place_new_points(vectors, known, view.points, projection, self.workspace.cache("numba"), told)
        placed.xy.flags.writeable = False
        ids = view.ids[known]  # -1, the last, stands for nothing yet
        ids[placed.new] = _voted(placed, view.ids)
        sizes = {number: int((ids == number).sum()) for number in np.unique(ids).tolist()}
        clusters = tuple(replace(info, size=sizes[info.id]) for info in view.clusters)
        key = f"{projection_key(f'{corpus.digest}-{encoder.fingerprint}', projection)}-{digest_texts([view.projection_key])[:16]}"
        note = (
            f"{_new_texts(len(placed.new))} placed among nearest neighbours, and all others stay where they were. "
            "Press Draw the map to lay all of them out together."
        )
        return MapView(placed.xy, ids, clusters, key, corpus.account, (note, *self._notes(corpus, model, encoder)))


def _new_texts(count: int) -> str:
    return "1 new text was" if count == 1 else f"{count:,} new texts were"


def _voted(placed: PlacedPoints, ids: np.ndarray) -> np.ndarray:
    """(m,) the cluster to which most of what is near belongs, by weight."""
    found = np.empty(len(placed.new), np.int64)
    for place, (near, weights) in enumerate(zip(ids[placed.near], placed.weights, strict=True)):
        names, which = np.unique(near, return_inverse=True)
        found[place] = names[np.bincount(which, weights).argmax()]
    return found
