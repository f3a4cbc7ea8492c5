"""Map service: draw a corpus as a map of clusters, add new texts to a map, split clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..data.corpus import Corpus
from ..errors import StudioError
from ..i18n import _, ngettext
from ..progress import Progress
from ..workspace import digest_texts
from .resources import Resources, Service
from .results import MapView, TopicInfo
from .search import SearchService, cosine_notes

if TYPE_CHECKING:
    from ..explore.clusters import ClusterParams, Clusters
    from ..explore.projection import PlacedPoints, ProjectionParams

MapPhase = Literal["encode", "layout", "groups"]
BeginMapPhase = Callable[[MapPhase], "Progress"]
_EXAMPLES = 3


class MapService(Service):
    """Maps of a corpus. Unchanged vectors, neighbors, layouts and clusters come from the caches."""

    def __init__(self, resources: Resources, search: SearchService) -> None:
        super().__init__(resources)
        self._search, self._languages = search, search.languages

    def draw(
        self,
        corpus: Corpus,
        projection: ProjectionParams | None = None,
        clusters: ClusterParams | None = None,
        model: str | None = None,
        progress: Progress | None = None,
        begin_phase: BeginMapPhase | None = None,
    ) -> MapView:
        """Draw the corpus in 2-D or 3-D, with labelled clusters.

        Args:
            progress: called with the progress of every phase.
            begin_phase: called as each phase begins; returns the progress callback of that phase, which replaces ``progress``.
        """
        from ..explore.clusters import ClusterParams, cluster, require_clusters, select_rows
        from ..explore.projection import LARGE_MAP_ROWS, ProjectionParams, project

        def begin(phase: MapPhase) -> Progress | None:
            return progress if begin_phase is None else begin_phase(phase)

        projection, clusters = projection or ProjectionParams(), clusters or ClusterParams()
        require_clusters(clusters, len(corpus))
        encoder = self._languages.load(model)
        vectors, texts, digest = self._search.vectors_by(corpus, encoder, begin("encode")), list(corpus.texts), corpus.digest
        places, times = _places_of_repeated(texts), None
        if places is not None:  # draw each text once: hundreds of rows on one point distort neighborhoods and take very long
            _, rows, times = np.unique(places, return_index=True, return_counts=True)
            vectors, texts = np.asarray(vectors)[rows], [texts[row] for row in rows.tolist()]
            digest = digest_texts(texts if corpus.passages is None else [corpus.digest, *texts])
        key, neighbors = f"{digest}-{encoder.fingerprint}", self._resources.neighbor_graphs
        if len(texts) > LARGE_MAP_ROWS:
            points, groups, layout_key = self._draw_sampled(vectors, texts, (digest, encoder.fingerprint), projection, clusters, begin)
        else:
            layout = project(vectors, projection, key, self.workspace, begin("layout"), graphs=neighbors)
            near = neighbors.of(vectors, key)
            groups = cluster(vectors, texts, clusters, key, self.workspace, progress=begin("groups"), near=near, times=times)
            points, layout_key = layout.xy, layout.key
        large, chosen = _large_notes(len(texts)), count_notes(clusters, groups.sizes, len(texts))
        if places is not None:
            points, groups = points[places], select_rows(groups, places)
            chosen = (*chosen, *repetition_notes(clusters, groups.sizes, len(corpus)))
        notes = (
            *large,
            *chosen,
            *cosine_notes(encoder),
            *self._languages.corpus_notes(corpus, model, encoder),
        )
        used = model or self.settings.default_model
        topics = _topic_infos(groups, corpus.texts)
        return MapView(points, groups.ids, topics, layout_key, corpus.account, notes, used, groups.typicality, groups.nearest)

    def _draw_sampled(
        self,
        vectors: np.ndarray,
        texts: Sequence[str],
        keys: tuple[str, str],
        projection: ProjectionParams,
        clusters: ClusterParams,
        begin: Callable[[MapPhase], Progress | None],
    ) -> tuple[np.ndarray, Clusters, str]:
        """Lay out and cluster a sample of the texts, and place the others; return the map, its clusters and its key.

        Args:
            keys: digest of the texts and fingerprint of the model.
        """
        from ..explore.clusters import cluster
        from ..explore.projection import (
            PLACED_VERSION,
            SAMPLE_ROWS,
            assign_clusters,
            find_sampled,
            load_placed,
            place_rows,
            project,
            renumber,
            sample_digest,
            store_placed,
        )
        from ..explore.topics import sample_rows

        rows, (digest, fingerprint) = sample_rows(len(texts), SAMPLE_ROWS), keys
        some, sampled = np.asarray(vectors[rows]), [texts[row] for row in rows.tolist()]
        key, neighbors = f"{digest_texts(sampled)}-{fingerprint}", self._resources.neighbor_graphs
        layout = project(some, projection, key, self.workspace, begin("layout"), graphs=neighbors)
        groups = cluster(some, sampled, clusters, key, self.workspace, progress=begin("groups"), near=neighbors.of(some, key))
        sample = sample_digest(layout.xy, groups)
        path = self.workspace.projection(f"{digest}-{fingerprint}-{projection.key}-{sample}-{PLACED_VERSION}")
        placed = load_placed(path, len(texts), projection.dimensions, groups)
        if placed is None:
            found = find_sampled(vectors, rows, groups, projection.metric, begin("layout"))
            points = place_rows(found, rows, layout.xy, projection, self.workspace.cache("numba"))
            placed = points, assign_clusters(found, rows, groups)
            store_placed(path, *placed)
        placed[0].flags.writeable = False
        return placed[0], renumber(placed[1]), f"{layout.key}-{len(texts)}"

    def find_topics(
        self, corpus: Corpus, clusters: ClusterParams | None = None, model: str | None = None, progress: Progress | None = None
    ) -> MapView:
        """Return the topics of a corpus, on the map that the page draws by default, which may be cached."""
        from ..explore.projection import ProjectionParams

        return self.draw(corpus, ProjectionParams(), clusters, model, progress)

    def extend(
        self,
        corpus: Corpus,
        earlier: Corpus,
        view: MapView,
        projection: ProjectionParams,
        model: str | None = None,
        begin_phase: BeginMapPhase | None = None,
    ) -> MapView | None:
        """Place the new texts of ``corpus`` on the map ``view`` of ``earlier``: near their nearest neighbors, in their cluster.

        Returns:
            ``None`` if the map must be drawn again: settings or model differ, texts were removed, or none or more than a tenth are new.
        """
        from ..explore.projection import match_earlier_rows, place_new_points, projection_key
        from ..explore.topics import nearest_topics, topic_centroids, typicality

        encoder = self._languages.load(model)
        if not view.projection_key.startswith(projection_key(f"{earlier.digest}-{encoder.fingerprint}", projection)):
            return None
        known = match_earlier_rows(corpus.texts, earlier.texts)
        if known is None:
            return None
        vectors = self._search.vectors_by(corpus, encoder, begin_phase("encode") if begin_phase else None)
        progress = begin_phase("layout") if begin_phase else None
        placed = place_new_points(vectors, known, view.points, projection, self.workspace.cache("numba"), progress)
        placed.xy.flags.writeable = False
        ids = view.ids[known]  # new rows index -1, a placeholder until they are assigned
        ids[placed.new] = _majority_cluster(placed, view.ids)
        sizes = {number: int((ids == number).sum()) for number in np.unique(ids).tolist()}
        parents = {topic.id: topic.parent for topic in view.topics}
        broad = Counter({parent: 0 for parent in parents.values() if parent is not None})
        for number, size in sizes.items():
            if (parent := parents.get(number)) is not None:
                broad[parent] += size
        topics = tuple(replace(topic, size=sizes.get(topic.id, broad[topic.id])) for topic in view.topics)
        centroids = topic_centroids(vectors, ids)
        key = f"{projection_key(f'{corpus.digest}-{encoder.fingerprint}', projection)}-{digest_texts([view.projection_key])[:16]}"
        count = len(placed.new)
        note = ngettext(
            "1 new text was placed near its nearest neighbors; all others are unchanged. Press Draw the map to lay out "
            "all of them together.",
            "{n} new texts were placed near their nearest neighbors; all others are unchanged. Press Draw the map to "
            "lay out all of them together.",
            count,
        )
        return MapView(
            placed.xy,
            ids,
            topics,
            key,
            corpus.account,
            (note, *self._languages.corpus_notes(corpus, model, encoder)),
            view.model,
            typicality(vectors, ids, centroids),
            np.where(ids < 0, nearest_topics(vectors, centroids), ids) if len(centroids) else ids,
        )

    def split_cluster(
        self, corpus: Corpus, rows: Sequence[int], parts: int = 2, model: str | None = None
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
        """Split texts into ``parts`` groups by k-means, largest first; return the rows and a label for each."""
        from ..explore.clusters import ClusterParams, split_clusters

        chosen = np.asarray(rows, np.int64)
        if len(chosen) < parts:
            raise StudioError(_("{chosen} texts cannot be split into {parts}", chosen=len(chosen), parts=parts), "choose a larger topic")
        vectors = np.asarray(self._search.vectors(corpus, model))[chosen]
        params = ClusterParams(method="kmeans", count=parts)
        found = split_clusters(vectors, [corpus.texts[row] for row in chosen.tolist()], params)
        if len(found.sizes) < parts:
            raise StudioError("these texts have identical vectors", "choose another topic, or select and label them with a lasso")
        return tuple(tuple(chosen[found.ids == part].tolist()) for part in range(parts)), found.labels


def _large_notes(count: int) -> tuple[str, ...]:
    """Return a sentence on a map whose layout and topics come from a sample."""
    from ..explore.projection import LARGE_MAP_ROWS, SAMPLE_ROWS

    if count <= LARGE_MAP_ROWS:
        return ()
    return (
        _(
            "The layout and the topics were computed from {sample} of {total} texts; each of the others was placed near its nearest "
            "ones, with the topic whose center is nearest.",
            sample=f"{SAMPLE_ROWS:,}",
            total=f"{count:,}",
        ),
    )


def count_notes(params: ClusterParams, sizes: Sequence[int], texts: int) -> tuple[str, ...]:
    """Return a sentence on how the number of topics was chosen, if there are several: see :func:`.topics.choose_count`.

    Args:
        sizes: number of distinct texts of each topic.
        texts: number of distinct texts.
    """
    from ..explore.projection import LARGE_MAP_ROWS
    from ..explore.topics import MANY_ROWS, MAX_SHARE, MIN_MANY

    count = len(sizes)
    if params.method != "auto" or count < 2:
        return ()
    if params.count:
        return (_("The number of topics was set to {n}.", n=count),)
    if texts < MANY_ROWS or texts > LARGE_MAP_ROWS:  # of a large corpus, the shares in the sample decided, not these
        return (_("The number of topics was chosen automatically: at {n}, they are most distinct (highest mean silhouette).", n=count),)
    if count >= MIN_MANY and max(sizes) <= MAX_SHARE * texts:
        template = (
            "The number of topics was chosen automatically: at {n}, they are most distinct (highest mean silhouette) among the numbers "
            "from {least} on at which no topic has more than {share} of the texts."
        )
    else:
        template = (
            "The number of topics was chosen automatically: at {n}, they are most distinct (highest mean silhouette); no number from "
            "{least} on gives topics that all have at most {share} of the texts."
        )
    return (_(template, n=count, least=MIN_MANY, share=f"{MAX_SHARE:.0%}"),)


def repetition_notes(params: ClusterParams, sizes: Sequence[int], rows: int) -> tuple[str, ...]:
    """Return a sentence on the share of the largest topic, if most texts are repetitions, which the choice of the number leaves out.

    Args:
        sizes: number of texts of each topic, with repetitions.
        rows: number of texts, with repetitions.
    """
    if params.method != "auto" or params.count or len(sizes) < 2:
        return ()
    share = f"{max(sizes) / rows:.0%}"
    template = "For this choice, a repeated text was counted once; with repetitions, the largest topic has {share} of all texts."
    return (_(template, share=share),)


def _topic_infos(clusters: Clusters, texts: Sequence[str]) -> tuple[TopicInfo, ...]:
    """Return the topics followed by the broad topics, whose ids continue those of the topics."""
    from ..explore.clusters import distinct_texts

    topics, broad = [], [0] * len(clusters.groups)
    for number, (label, size) in enumerate(zip(clusters.labels, clusters.sizes, strict=True)):
        group = int(clusters.parents[number])
        parent = len(clusters.labels) + group if group >= 0 else None
        examples = distinct_texts(texts, clusters.examples(number, size), _EXAMPLES)
        topics.append(TopicInfo(number, label, size, parent, clusters.keywords[number], examples))
        if group >= 0:
            broad[group] += size
    groups = zip(clusters.groups, broad, strict=True)
    return (*topics, *(TopicInfo(len(topics) + number, label, size) for number, (label, size) in enumerate(groups)))


def _places_of_repeated(texts: Sequence[str]) -> np.ndarray | None:
    """Return the index of each text among the distinct ones, (n,) int64; ``None`` if more than half of the texts are distinct."""
    if 2 * len(distinct := dict.fromkeys(texts)) > len(texts):
        return None
    known = {text: place for place, text in enumerate(distinct)}
    return np.array([known[text] for text in texts], np.int64)


def _majority_cluster(placed: PlacedPoints, ids: np.ndarray) -> np.ndarray:
    """Return the cluster of each new text, (m,): the one with the largest total weight among its nearest neighbors."""
    found = np.empty(len(placed.new), np.int64)
    for place, (near, weights) in enumerate(zip(ids[placed.near], placed.weights, strict=True)):
        names, which = np.unique(near, return_inverse=True)
        found[place] = names[np.bincount(which, weights).argmax()]
    return found
