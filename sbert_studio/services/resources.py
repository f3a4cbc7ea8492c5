"""Resources shared by all services: settings, models, caches, runs and background jobs. Each is created on first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from ..caches import LruCache, estimate_bytes
from ..data.corpus import Corpus
from ..progress import SharedProgress
from ..settings import Settings
from ..workspace import Workspace
from .jobs import JobQueue

if TYPE_CHECKING:
    from ..explore.bm25 import LexicalIndex, LexicalStore
    from ..explore.explain import ScoreDistribution
    from ..explore.index import BackgroundJobs, IVFIndexStore
    from ..explore.search import SemanticIndex
    from ..explore.umap import NeighborGraphCache
    from ..explore.vector_store import VectorStore
    from ..models.catalog import Catalog
    from ..models.static.tokens import Coverage
    from ..runs.runner import Runner
    from ..runs.store import RunStore
    from ..shards.serving import ShardIndex

T = TypeVar("T")

# Shares of the memory budget.
_MODELS, _SEMANTIC, _LEXICAL, _CORPORA, _NEIGHBORS, _SESSIONS = 0.47, 0.17, 0.08, 0.05, 0.03, 0.2
_MAPPED_DISCOUNT = 4  # mapped bytes count as a quarter: the system can drop them, but a deleted file occupies the disk until it is unmapped
_CORPUS_CACHES = ("semantic_indexes", "lexical_indexes", "corpora", "neighbor_graphs")
_MEMORY_CACHES = {name: name for name in (*_CORPUS_CACHES, "coverages", "long_texts", "baselines")} | {"catalog": "models"}
_STATISTICS_BYTES = 4 << 20
# Tenths of the disk budget. On a shared page, models downloaded by visitors use part of the share of the vectors.
_VECTOR_TENTHS, _HUB_TENTHS = 7, 5


class _Lazy(Generic[T]):
    """Property created on first access, once for all threads, and closed with the resources."""

    def __init__(self, create: Callable[[Any], T]) -> None:
        self._create, self.__doc__ = create, create.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, resources: None, owner: type) -> Self: ...
    @overload
    def __get__(self, resources: Resources, owner: type) -> T: ...
    def __get__(self, resources: Resources | None, owner: type) -> T | Self:
        if resources is None:
            return self
        with resources._lock:
            if self._name not in resources._created:
                resources._created[self._name] = self._create(resources)
            value: T = resources._created[self._name]
            return value


class Resources:
    """Shared resources, each created on first use.

    Args:
        settings: read from the environment by default.
        allow_folders: whether models may be specified by folder; by default only if the page is not shared.

    Raises:
        StudioError: the home folder cannot be used.
    """

    def __init__(self, settings: Settings | None = None, *, allow_folders: bool | None = None) -> None:
        self.settings = settings or Settings.from_env()
        self.allow_folders = not self.settings.shared if allow_folders is None else allow_folders
        self.workspace = Workspace(self.settings.home)
        self.on_close: list[Callable[[], None]] = []
        self._created: dict[str, Any] = {}
        self._lock = threading.RLock()

    # In-memory caches: recently used indexes and corpora, statistics of models.
    semantic_indexes: _Lazy[LruCache[SemanticIndex]] = _Lazy(
        lambda own: LruCache(own._memory(_SEMANTIC), lambda index: index.bytes + index.mapped // _MAPPED_DISCOUNT)
    )
    lexical_indexes: _Lazy[LruCache[LexicalIndex]] = _Lazy(lambda own: LruCache(own._memory(_LEXICAL), lambda index: index.bytes))
    served_shards: _Lazy[LruCache[ShardIndex]] = _Lazy(lambda own: LruCache(own._memory(_SEMANTIC), lambda served: served.bytes))
    corpora: _Lazy[LruCache[Corpus]] = _Lazy(lambda own: LruCache(own._memory(_CORPORA), estimate_bytes))
    coverages: _Lazy[LruCache[Coverage]] = _Lazy(lambda own: LruCache(_STATISTICS_BYTES, estimate_bytes))
    long_texts: _Lazy[LruCache[int]] = _Lazy(lambda own: LruCache(_STATISTICS_BYTES, estimate_bytes))
    baselines: _Lazy[LruCache[ScoreDistribution]] = _Lazy(lambda own: LruCache(_STATISTICS_BYTES, estimate_bytes))
    shared_progress: _Lazy[SharedProgress] = _Lazy(lambda own: SharedProgress())
    # Background jobs that train static embeddings, evaluate, make training data from documents, and export models.
    embedding_jobs: _Lazy[JobQueue] = _Lazy(lambda own: JobQueue(own.settings.limits))
    distillation_jobs: _Lazy[JobQueue] = _Lazy(lambda own: JobQueue(own.settings.limits))
    evaluation_jobs: _Lazy[JobQueue] = _Lazy(lambda own: JobQueue(own.settings.limits))
    document_jobs: _Lazy[JobQueue] = _Lazy(lambda own: JobQueue(own.settings.limits))
    export_jobs: _Lazy[JobQueue] = _Lazy(lambda own: JobQueue(own.settings.limits))

    @_Lazy
    def catalog(self) -> Catalog:
        """Model catalog, indexed by name."""
        from ..models.catalog import Catalog
        from ..models.inference.zerogpu import ZeroGPUEncoder, gpu_name

        return Catalog(
            self.workspace,
            device=self.settings.device,
            budget=self._memory(_MODELS),
            allow_folders=self.allow_folders,
            zerogpu=ZeroGPUEncoder if gpu_name() else None,
            max_model_bytes=self.settings.largest_model_mb << 20,
            max_cache_bytes=self._disk(_HUB_TENTHS),
            chosen=(self.settings.default_model, self.settings.multilingual, self.settings.reranker),
        )

    @_Lazy
    def vectors(self) -> VectorStore:
        """On-disk cache of corpus vectors."""
        from ..explore.vector_store import VectorStore

        return VectorStore(self.workspace, self._disk(_VECTOR_TENTHS - (_HUB_TENTHS if self.settings.shared else 0)))

    @_Lazy
    def index_files(self) -> IVFIndexStore:
        """On-disk approximate indexes of large corpora."""
        from ..explore.index import IVFIndexStore

        return IVFIndexStore(self.workspace, self._disk(1))

    @_Lazy
    def background(self) -> BackgroundJobs:
        """Background worker that builds indexes."""
        from ..explore.index import BackgroundJobs

        return BackgroundJobs()

    @_Lazy
    def lexical_store(self) -> LexicalStore:
        """On-disk BM25 indexes."""
        from ..explore.bm25 import LexicalStore

        return LexicalStore(self.workspace, self._disk(1))

    @_Lazy
    def neighbor_graphs(self) -> NeighborGraphCache:
        """Nearest neighbors of recently mapped corpora."""
        from ..explore.umap import NeighborGraphCache

        return NeighborGraphCache(self._memory(_NEIGHBORS))

    @_Lazy
    def store(self) -> RunStore:
        """Runs and scores. Runs of dead processes are marked as interrupted when it is opened."""
        from ..runs.store import RunStore

        self.workspace.require_writable()
        store = RunStore(self.workspace.home)
        store.recover()
        return store

    @_Lazy
    def runner(self) -> Runner:
        """Background training thread."""
        from ..runs.runner import Runner

        return Runner(self.store, self.workspace, lambda: self.catalog)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop background work gracefully (a running training run keeps its checkpoint) and close the store."""
        callbacks, self.on_close = self.on_close, []
        for callback in callbacks:
            callback()
        with self._lock:
            created, self._created = self._created, {}
        queues = ("embedding_jobs", "distillation_jobs", "evaluation_jobs", "document_jobs", "export_jobs")
        for name in (*queues, "background", "runner", "store"):
            if name in created:
                created[name].close()

    def cache_sizes(self) -> dict[str, int]:
        """Return the bytes held by each in-memory cache that has been created."""
        with self._lock:
            created = dict(self._created)
        return {label: int(created[name].bytes) for name, label in _MEMORY_CACHES.items() if name in created}

    def evict_unused(self, seconds: float) -> None:
        """Evict corpus caches not used for ``seconds``; they can be reloaded from disk or recomputed."""
        with self._lock:
            created = [self._created[name] for name in _CORPUS_CACHES if name in self._created]
        for cache in created:
            cache.evict_unused(seconds)

    @property
    def session_memory(self) -> int:
        """Memory budget of visitors' sessions, in bytes."""
        return self._memory(_SESSIONS)

    def _memory(self, share: float) -> int:
        return int(share * self.settings.memory_mb * (1 << 20))

    def _disk(self, tenths: int) -> int:
        return self.settings.disk_mb * (1 << 20) * tenths // 10


class Service:
    """Base of all services: access to the shared resources."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self.settings, self.workspace = resources.settings, resources.workspace

    @property
    def catalog(self) -> Catalog:
        """Model catalog, indexed by name."""
        return self._resources.catalog

    @property
    def store(self) -> RunStore:
        """Runs and scores."""
        return self._resources.store

    @property
    def runner(self) -> Runner:
        """Background training thread."""
        return self._resources.runner
