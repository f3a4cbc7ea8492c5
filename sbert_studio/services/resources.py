"""Services shared by all verbs of the studio, and how they are built."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..caches import LruCache, estimate_bytes
from ..progress import SharedProgress
from ..settings import Settings
from ..workspace import Workspace

if TYPE_CHECKING:
    from collections import Counter
    from typing import Self

    from ..data.corpus import Corpus
    from ..explore.bm25 import LexicalIndex, LexicalStore
    from ..explore.explain import ScoreDistribution
    from ..explore.index import BackgroundJobs, IVFIndexStore
    from ..explore.neighbors import NeighborGraphCache
    from ..explore.search import SemanticIndex
    from ..explore.vector_store import VectorStore
    from ..models.catalog import Catalog
    from ..models.static.tokens import Coverage
    from ..runs.runner import Runner
    from ..runs.store import RunStore
    from ..shards.serving import ShardIndex
    from .jobs import JobQueue


class Service:
    """What every part has at hand; each service is made when it is first asked for.

    Args:
        services: shared by all parts of one studio.
    """

    def __init__(self, services: Resources) -> None:
        self._services = services

    @property
    def settings(self) -> Settings:
        """What the environment says."""
        return self._services.settings

    @property
    def workspace(self) -> Workspace:
        """The home folder."""
        return self._services.workspace

    @property
    def catalog(self) -> Catalog:
        """Names → encoders."""
        return self._services.catalog

    @property
    def multilingual(self) -> str:
        """Return the multilingual model that needs no download, which warnings name first; empty where there is none."""
        from .languages import find_multilingual_model

        return find_multilingual_model(self.catalog, self.settings)

    def usual_model(self, found: Counter[str]) -> str:
        """Return the model that is used where none is chosen, for texts in the languages that were ``found``."""
        from .languages import choose_default_model

        return choose_default_model(self.catalog, self.settings, found)

    @property
    def store(self) -> RunStore:
        """The memory of runs."""
        return self._services.store

    @property
    def runner(self) -> Runner:
        """The thread that trains in the background."""
        return self._services.runner


T = TypeVar("T")
_MODELS, _INDEXES, _WORDS, _CORPORA, _NEIGHBOURS = 0.47, 0.17, 0.08, 0.05, 0.03
_MAPPED = 4  # bytes that are mapped count for one: the system takes them back, but a file that was deleted stays until then
_OF_CORPORA = ("meanings", "wordings", "corpora", "neighbourhoods")
_CACHES = {name: name for name in (*_OF_CORPORA, "coverages", "usuals")} | {"catalog": "models"}
_SMALL = 4 << 20  # bytes that figures about corpora and models may take
_VECTORS, _HUB = 7, 5  # tenths of the disk budget; on a shared page the models that visitors fetch take theirs from the vectors
VISITORS = 0.2
"""The parts of the memory budget: models, indexes by meaning, by words, corpora of the API, neighbours of maps, what
visitors have chosen."""


class Resources:
    """The services below the verbs, each made when it is first asked for and only once, whichever thread asks.

    Args:
        settings: read from the environment where not given.
        allow_folders: whether a model may be named by a path; where strangers reach the page, only if it is said here.

    Raises:
        StudioError: the data folder cannot be used.
    """

    def __init__(self, settings: Settings | None = None, *, allow_folders: bool | None = None) -> None:
        self.settings = settings or Settings.from_env()
        self.allow_folders = not self.settings.shared if allow_folders is None else allow_folders
        self.workspace = Workspace(self.settings.home)
        self.on_close: list[Callable[[], None]] = []
        self._made: dict[str, Any] = {}
        self._making = threading.RLock()

    @property
    def catalog(self) -> Catalog:
        """Names → encoders."""
        from ..models.catalog import Catalog
        from ..models.inference.zerogpu import ZeroGPUEncoder, gpu_name

        return self._once(
            "catalog",
            lambda: Catalog(
                self.workspace,
                device=self.settings.device,
                budget=self._share(_MODELS),
                allow_folders=self.allow_folders,
                zerogpu=ZeroGPUEncoder if gpu_name() else None,
                max_model_bytes=self.settings.largest_model_mb << 20,
                max_cache_bytes=self._disk(_HUB),
                chosen=(self.settings.default_model, self.settings.multilingual, self.settings.reranker),
            ),
        )

    @property
    def vectors(self) -> VectorStore:
        """The cache of vectors."""
        from ..explore.vector_store import VectorStore

        return self._once("vectors", lambda: VectorStore(self.workspace, self._disk(_VECTORS - (_HUB if self.settings.shared else 0))))

    @property
    def meanings(self) -> LruCache[SemanticIndex]:
        """The indexes by meaning of the corpora used of late."""
        return self._once("meanings", lambda: LruCache(self._share(_INDEXES), lambda index: index.bytes + index.mapped // _MAPPED))

    @property
    def indexes(self) -> IVFIndexStore:
        """The search indexes of large corpora, on disk."""
        from ..explore.index import IVFIndexStore

        return self._once("indexes", lambda: IVFIndexStore(self.workspace, self._disk(1)))

    @property
    def background(self) -> BackgroundJobs:
        """What is made while others are answered."""
        from ..explore.index import BackgroundJobs

        return self._once("background", BackgroundJobs)

    @property
    def served(self) -> LruCache[ShardIndex]:
        """The folders of shards searched of late, whose rows stay on disk."""
        return self._once("served", lambda: LruCache(self._share(_INDEXES), lambda served: served.bytes))

    @property
    def together(self) -> SharedProgress:
        """How far encodings are that several wait for."""
        return self._once("together", SharedProgress)

    @property
    def wordings(self) -> LruCache[LexicalIndex]:
        """The indexes by words of the corpora used of late."""
        return self._once("wordings", lambda: LruCache(self._share(_WORDS), lambda index: index.bytes))

    @property
    def kept_wordings(self) -> LexicalStore:
        """The indexes by words that are kept on disk."""
        from ..explore.bm25 import LexicalStore

        return self._once("kept_wordings", lambda: LexicalStore(self.workspace, self._disk(1)))

    @property
    def neighbourhoods(self) -> NeighborGraphCache:
        """The neighbours of the rows of the corpora that were drawn of late."""
        from ..explore.neighbors import NeighborGraphCache

        return self._once("neighbourhoods", lambda: NeighborGraphCache(self._share(_NEIGHBOURS)))

    @property
    def corpora(self) -> LruCache[Corpus]:
        """The corpora that callers of the API have sent of late."""
        return self._once("corpora", lambda: LruCache(self._share(_CORPORA), estimate_bytes))

    @property
    def coverages(self) -> LruCache[Coverage]:
        """How much of the corpora used of late the tables of words know."""
        return self._once("coverages", lambda: LruCache(_SMALL, estimate_bytes))

    @property
    def usuals(self) -> LruCache[ScoreDistribution]:
        """The cosines of random pairs by the models used of late."""
        return self._once("usuals", lambda: LruCache(_SMALL, estimate_bytes))

    @property
    def store(self) -> RunStore:
        """The memory of runs; what a dead process left behind is marked as interrupted when it is first opened."""
        return self._once("store", self._open_store)

    @property
    def runner(self) -> Runner:
        """The thread that trains in the background."""
        from ..runs.runner import Runner

        return self._once("runner", lambda: Runner(self.store, self.workspace, lambda: self.catalog))

    @property
    def jobs(self) -> JobQueue:
        """The word vectors that are made in the background."""
        from .jobs import JobQueue

        return self._once("jobs", lambda: JobQueue(self.settings.limits))

    @property
    def evaluations(self) -> JobQueue:
        """The evaluations that are made in the background."""
        from .jobs import JobQueue

        return self._once("evaluations", lambda: JobQueue(self.settings.limits))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the background run politely (its checkpoint is kept) and close the database."""
        closing, self.on_close = self.on_close, []
        for close in closing:
            close()
        with self._making:
            made, self._made = self._made, {}
        for name in ("jobs", "evaluations", "background"):
            if name in made:
                made[name].close()
        if "runner" in made:
            made["runner"].close()
        if "store" in made:
            made["store"].close()

    def held(self) -> dict[str, int]:
        """The bytes that each cache in memory holds, by its name; those that nothing has asked for yet hold none."""
        with self._making:
            made = dict(self._made)
        return {shown: int(made[name].bytes) for name, shown in _CACHES.items() if name in made}

    def forget_unused(self, seconds: float) -> None:
        """Let go of what nobody has asked for since so long of corpora: files hold it, or it is made again."""
        with self._making:
            made = [self._made[name] for name in _OF_CORPORA if name in self._made]
        for cache in made:
            cache.forget_unused(seconds)

    @property
    def room_of_visitors(self) -> int:
        """Bytes that what visitors have chosen may take in memory."""
        return self._share(VISITORS)

    def _share(self, part: float) -> int:
        """Bytes of memory that one cache may take."""
        return int(part * self.settings.memory_mb * (1 << 20))

    def _disk(self, tenths: int) -> int:
        """Bytes of disk that one kind of files may take."""
        return self.settings.disk_mb * (1 << 20) * tenths // 10

    def _open_store(self) -> RunStore:
        from ..runs.store import RunStore

        self.workspace.require_writable()
        store = RunStore(self.workspace.home)
        store.recover()
        return store

    def _once(self, name: str, make: Callable[[], T]) -> T:
        with self._making:
            if name not in self._made:
                self._made[name] = make()
            made: T = self._made[name]
            return made
