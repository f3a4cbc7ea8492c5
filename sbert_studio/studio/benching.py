"""Our speed beside sentence-transformers', on the same texts and the same model, in one run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StudioError
from ..evaluation.speed import Duel, Round, duel, peer_library, rate
from .bench_options import PEER, BenchOptions, folder_of
from .facade import Studio
from .training_bench import bench_train

if TYPE_CHECKING:
    from ..data.progress import Progress

_PEER_BATCH = 64  # faster for it here than its default of 32
_SEARCHED, _QUERIES, _WIDTH = 100_000, 50, 384
_OURS = "from sbert_studio.studio import Studio; Studio(allow_folders=True).explore.similarity('one text', 'another', {model!r})"
_THEIRS = "from sentence_transformers import SentenceTransformer; SentenceTransformer({folder!r}).encode(['one text', 'another'])"


def bench(studio: Studio, options: BenchOptions, progress: Progress | None = None) -> Duel:
    """Measure one kind of work.

    Raises:
        StudioError: the work or the peer is unknown, the peer is not installed, or the data do not fit.
    """
    works: dict[str, Callable[[Studio, BenchOptions, Progress | None], Duel]] = {
        "encode": _encode,
        "train": bench_train,
        "search": _search,
        "startup": _startup,
    }
    if options.work not in works:
        raise StudioError(f"there is no bench {options.work!r}", f"choose one of {', '.join(works)}")
    if options.peer != PEER:
        raise StudioError(f"there is no peer {options.peer!r}", f"the one peer is {PEER}")
    with redirect_stdout(sys.stderr):
        return works[options.work](studio, options, progress)


def texts_of(studio: Studio, options: BenchOptions) -> list[str]:
    """Distinct texts of every text column of the file, or of the bundled sample sets."""
    from ..data.corpus import text_columns
    from ..data.samples import samples

    tables = [studio.read.table(options.data)] if options.data else [studio.read.table(sample.path) for sample in samples()]
    found = dict.fromkeys(text for table in tables for column in text_columns(table) for text in table.column(column) if text.strip())
    texts = list(found)[: options.limit]
    if not texts:
        raise StudioError("there are no texts to encode", "name a file with a column of texts")
    return texts


def _encode(studio: Studio, options: BenchOptions, progress: Progress | None) -> Duel:
    """Texts a second, the models loaded and warm."""
    name, folder = folder_of(studio, options.model)
    texts = texts_of(studio, options)
    peer = peer_library().SentenceTransformer(str(folder), device=str(studio.catalog.device))
    vectors: dict[str, np.ndarray] = {}

    def ours(precision: str) -> Round:
        encoder = studio.catalog.load(name, precision)
        encoder.encode(texts[:64])

        def once(_turn: int) -> float:
            return rate(len(texts), lambda: vectors.update({precision: encoder.encode(texts)}))

        return once

    def theirs(_turn: int) -> float:
        return rate(len(texts), lambda: vectors.update(peer=peer.encode(texts, batch_size=_PEER_BATCH, show_progress_bar=False)))

    peer.encode(texts[:64], batch_size=_PEER_BATCH, show_progress_bar=False)
    contestants = {**{precision: ours(precision) for precision in options.precisions}, "peer": theirs}
    found = duel("encode", "texts/s", contestants, options.repeats, progress=progress)
    cosines = {precision: _least_cosine(vectors[precision], vectors["peer"]) for precision in options.precisions}
    facts = {"model": name, "texts": len(texts), "min_cosine": cosines}
    return replace(found, facts=facts)


def _least_cosine(left: np.ndarray, right: np.ndarray) -> float:
    from ..evaluation.similarity import measures

    return float(measures(left, right)["cosine"].min())


def _search(studio: Studio, options: BenchOptions, progress: Progress | None) -> Duel:
    """Exact queries a second, one at a time, for the ten nearest; the vectors are given."""
    from ..evaluation.similarity import normalised
    from ..explore.search import SemanticIndex

    if options.data:
        vectors = normalised(studio.explore.encode(texts_of(studio, options), options.model).vectors)
    else:
        vectors = normalised(np.random.default_rng(12).standard_normal((options.limit or _SEARCHED, _WIDTH), dtype=np.float32))
    queries = vectors[:: max(1, len(vectors) // _QUERIES)][:_QUERIES]
    util, index = peer_library().util, SemanticIndex(vectors)
    best: dict[str, list[int]] = {}

    def ours(_turn: int) -> float:
        return rate(len(queries), lambda: best.update(ours=[index.search(query, 10)[0].row for query in queries]))

    def theirs(_turn: int) -> float:
        def once() -> None:
            found = [util.semantic_search(query[None], vectors, top_k=10, score_function=util.dot_score)[0] for query in queries]
            best.update(peer=[hits[0]["corpus_id"] for hits in found])

        return rate(len(queries), once)

    found = duel("search", "queries/s", {"ours": ours, "peer": theirs}, options.repeats, progress=progress)
    facts = {"vectors": len(vectors), "dim": int(vectors.shape[1]), "same_best": best["ours"] == best["peer"]}
    return replace(found, facts=facts)


def _startup(studio: Studio, options: BenchOptions, progress: Progress | None) -> Duel:
    """Seconds of a new process until two texts are vectors."""
    name, folder = folder_of(studio, options.model)
    peer_library()

    def process(code: str) -> Round:
        def once(_turn: int) -> float:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
            return time.perf_counter() - start

        return once

    contestants = {"ours": process(_OURS.format(model=name)), "peer": process(_THEIRS.format(folder=str(folder)))}
    found = duel("startup", "seconds", contestants, options.repeats, smaller_is_faster=True, progress=progress)
    return replace(found, facts={"model": name})
