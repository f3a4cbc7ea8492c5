"""Search, paraphrase mining and the map beside FAISS, hnswlib, bm25s, sentence-transformers and umap-learn; the vectors are given."""

from __future__ import annotations

import importlib.util
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from claims import Measured, Ratio, Setting, three_digits
from synthetic import SyntheticVectors, neighbours, recombined, sentences
from timing import compare, import_peer, seconds

from sbert_studio.data.loading.table import read_table
from sbert_studio.explore.bm25 import LexicalStore
from sbert_studio.explore.index import ApproximateSearch, IVFIndex, IVFIndexStore, SearchDepth, measure_recall
from sbert_studio.explore.paraphrase_mining import paraphrase_mining
from sbert_studio.explore.products import int8_is_fast
from sbert_studio.explore.projection import ProjectionParams, project, warm_up
from sbert_studio.explore.search import ExactSearch, SemanticIndex, reciprocal_rank_fusion
from sbert_studio.explore.umap import EPOCHS, LARGE_EPOCHS, LARGE_ROWS, NeighborGraphCache
from sbert_studio.models.similarity import unit
from sbert_studio.services.resources import Resources
from sbert_studio.workspace import Workspace, digest_texts

PEER = "sentence-transformers"
_VECTORS, _MANY_VECTORS, _QUERIES, _TEXT_QUERIES = 100_000, 1_000_000, 300, 200
_MINED, _TOP = 10_000, 10
_K, _MAP_NEIGHBOURS, _TRUST_SAMPLE, _BLOCK = 10, 15, 5_000, 200
_FUSED_HITS = 100  # hits of each ranking that a hybrid search fuses
_FINGERPRINT, _DISK = "0123456789abcdef", 8 << 30
_MAP_KEY = f"{'a' * 32}-{'b' * 16}"
_MAP = ProjectionParams(seed=12)


@dataclass(frozen=True)
class Latency:
    """Milliseconds of a query by contestant: the median and the 95th percentile of each round, and what its last round found."""

    medians: dict[str, list[float]]
    late: dict[str, list[float]]
    rows: dict[str, list[list[int]]]


def measure_latency(contestants: Mapping[str, tuple[Sequence[Any], Callable[[Any], list[int]]]], rounds: int) -> Latency:
    """Ask each contestant its queries one at a time, by turns; the first query is asked once before."""
    found = Latency({name: [] for name in contestants}, {name: [] for name in contestants}, {})
    for _ in range(rounds):
        for name, (queries, ask) in contestants.items():
            ask(queries[0])
            rows: list[list[int]] = []
            times = [1000 * seconds(lambda query=query: rows.append(ask(query))) for query in queries]  # noqa: B023
            found.rows[name] = rows
            found.medians[name].append(float(np.median(times)))
            found.late[name].append(float(np.quantile(times, 0.95)))
    return found


@dataclass(frozen=True)
class VectorSearch:
    """Our searches and FAISS's flat index over the same vectors.

    Attributes:
        latency: of ``flat``, ``exact`` and ``index``.
        recall: of the ten nearest, by contestant.
        bytes_read: of a query in our index: the centres of all cells, and the cells it reads.
        built, opened: seconds to build the index, and to open it in a new process.
        share: size of the index's file relative to the vectors.
    """

    latency: Latency
    recall: dict[str, float]
    bytes_read: float
    built: float
    opened: float
    share: float


def compare_vector_search(source: SyntheticVectors, rows: int, rounds: int, folder: Path) -> VectorSearch:
    """Search ``rows`` synthetic vectors for the ten nearest of synthetic queries, none of which is a row.

    How many cells the index reads was chosen on its own rows when it was built. The exact searches are asked a tenth of the queries.
    """
    import faiss

    vectors, queries = source.rows(rows, folder / "vectors.npy"), source.queries(_QUERIES)
    truth = neighbours(queries, vectors, _K)[1]
    home, texts = Workspace(folder / "home"), [f"text {row}" for row in range(rows)]
    files, digest, index = IVFIndexStore(home, _DISK), digest_texts(texts), SemanticIndex(vectors)
    built = seconds(lambda: setattr(index, "approximate", files.make(digest, _FINGERPRINT, index.exact)))
    if index.approximate is None:
        raise SystemExit("the index could not be written")
    with multiprocessing.get_context("spawn").Pool(1) as fresh:
        opened = fresh.apply(_open_index, (folder / "home", digest, rows, vectors.shape[1]))
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(np.ascontiguousarray(vectors))
    few = queries[: _QUERIES // 10]
    latency = measure_latency(
        {
            "flat": (few, lambda query: flat.search(query[None], _K)[1][0].tolist()),
            "exact": (few, lambda query: [hit.row for hit in index.search(query, _K)]),
            "index": (queries, lambda query: [hit.row for hit in index.find(query, _K).hits]),
        },
        rounds,
    )
    recall = {name: _recall(found, truth.tolist()) for name, found in latency.rows.items()}
    cells, reach = index.approximate.cells, index.approximate.reach(_K)
    read = rows if reach is None else rows * reach.probes / cells.count
    bytes_read = 4 * vectors.shape[1] * cells.count + cells.index.code_size * read
    size = home.cells(digest, _FINGERPRINT).stat().st_size
    return VectorSearch(latency, recall, bytes_read, built, opened, size / (4 * vectors.shape[1] * rows))


def _recall(found: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]) -> float:
    return float(np.mean([len(set(rows) & set(best)) / len(best) for rows, best in zip(found, truth, strict=False)]))


def _open_index(home: Path, digest: str, rows: int, width: int) -> float:
    """Return the seconds to open an index, its file's digest compared."""
    import faiss  # noqa: F401

    files = IVFIndexStore(Workspace(home), _DISK)
    return seconds(lambda: files.load(digest, _FINGERPRINT, rows, width))


def search(setting: Setting) -> Measured:
    """Find the ten nearest of 100,000 synthetic vectors, one query at a time."""
    yield from _vector_ratios(setting, "search", _VECTORS, "search-index", with_late=False)


_RECALLS, _NODES = (0.95, 0.985), (*range(16, 64, 8), *range(64, 256, 16), *range(256, 1025, 64))
_CANDIDATES, _SHARES, _RANDOM = (30, 40, 50, 60, 80, 120), np.geomspace(1 / 32, 1, 21), 5
Effort = tuple[int, ...]


@dataclass(frozen=True)
class Engine:
    """An index: ``ask`` finds the ten nearest of a query with one of ``efforts``, in ascending order."""

    ask: Callable[[np.ndarray, Effort], list[int]]
    efforts: Sequence[Effort]
    built: str
    megabytes: float


def graphs(setting: Setting) -> Measured:
    """Find the ten nearest of 100,000 vectors beside HNSW graphs, each with the least effort that reaches a recall on the queries."""
    yield from _beside_graphs(setting, _VECTORS, "graph")


def graphs_million(setting: Setting) -> Measured:
    """The same of a million vectors; builds graphs for ten minutes."""
    yield from _beside_graphs(setting, _MANY_VECTORS, "graph-million")


def _beside_graphs(setting: Setting, rows: int, prefix: str) -> Measured:
    if setting.data is None:
        return
    source, folder = SyntheticVectors.around(setting.data), setting.scratch / prefix
    folder.mkdir()
    vectors, queries = source.rows(rows), source.queries(_QUERIES)
    truth = neighbours(queries, vectors, _K)[1].tolist()
    ours = _our_engine(vectors, folder)
    for name, build in {"FAISS HNSW": _faiss_graph, "hnswlib": _hnswlib_graph}.items():
        if importlib.util.find_spec("hnswlib") is None and name == "hnswlib":
            print("hnswlib is not installed and was not measured", file=sys.stderr)
            continue
        peer = build(vectors, folder)
        for recall in _RECALLS:
            efforts = [_least_effort(engine, queries, truth, recall) for engine in (ours, peer)]
            contestants = {
                key: (queries, lambda query, engine=engine, effort=effort: engine.ask(query, effort))  # type: ignore[misc]
                for key, engine, effort in zip(("ours", "peer"), (ours, peer), efforts, strict=True)
            }
            latency = measure_latency(contestants, setting.rounds)
            reached, others = (_recall(latency.rows[key], truth) for key in ("ours", "peer"))
            quality = (
                f"recall@10 {reached:.3f}, the peer's {others:.3f}; processor time: {ours.built}, the peer's {peer.built}; "
                f"{ours.megabytes:.0f} MB beside the vectors, the peer's {peer.megabytes:.0f} MB with a copy of them"
            )
            what = f"the ten nearest of {rows:,} vectors, by the index, recall@10 from {recall:g}"
            yield _ratio(f"{prefix}-{name.split()[0].lower()}-{recall:g}", what, name, latency.medians, "ours", "peer", quality, "", 1.0)


def _least_effort(engine: Engine, queries: np.ndarray, truth: list[list[int]], recall: float) -> Effort:
    """Return the least effort that reaches the recall, or the most there is."""
    reached = (effort for effort in engine.efforts if _recall([engine.ask(query, effort) for query in queries], truth) >= recall)
    return next(reached, engine.efforts[-1])


def _our_engine(vectors: np.ndarray, folder: Path) -> Engine:
    exact, start = ExactSearch(vectors), time.process_time()
    cells = IVFIndex.build(vectors)
    built = time.process_time() - start
    measure_recall(cells, exact)
    took = f"built in {built:.1f} s and its recall measured in {time.process_time() - start - built:.0f} s"
    cells.write(folder / "ours")

    def ask(query: np.ndarray, effort: Effort) -> list[int]:
        depth = SearchDepth(_K, *effort, recall=1.0)
        return [hit.row for hit in ApproximateSearch(cells, (depth,)).search(exact, query, _K, depth)]

    def bytes_read(effort: Effort) -> float:
        probes, candidates = effort
        codes = cells.index.code_size * len(vectors) * probes / cells.count
        return codes + _RANDOM * vectors.shape[1] * 4 * candidates  # candidates lie at random places

    probes = sorted({max(1, round(share * cells.count)) for share in _SHARES.tolist()})
    efforts = sorted(((number, candidates) for number in probes for candidates in _CANDIDATES), key=bytes_read)
    return Engine(ask, efforts, took, (folder / "ours").stat().st_size / 1e6)


def _faiss_graph(vectors: np.ndarray, folder: Path) -> Engine:
    import faiss

    start, graph = time.process_time(), faiss.IndexHNSWFlat(vectors.shape[1], 32)
    graph.add(vectors)
    built = f"{time.process_time() - start:.0f} s"
    faiss.write_index(graph, str(folder / "faiss"))

    def ask(query: np.ndarray, effort: Effort) -> list[int]:
        return graph.search(query[None], _K, params=faiss.SearchParametersHNSW(efSearch=effort[0]))[1][0].tolist()  # type: ignore[no-any-return]

    return Engine(ask, [(nodes,) for nodes in _NODES], built, (folder / "faiss").stat().st_size / 1e6)


def _hnswlib_graph(vectors: np.ndarray, folder: Path) -> Engine:
    import hnswlib

    start, graph = time.process_time(), hnswlib.Index("ip", vectors.shape[1])
    graph.init_index(len(vectors), M=16, ef_construction=200)
    graph.add_items(vectors)
    built = f"{time.process_time() - start:.0f} s"
    graph.save_index(str(folder / "hnswlib"))

    def ask(query: np.ndarray, effort: Effort) -> list[int]:
        graph.set_ef(*effort)
        return graph.knn_query(query, _K, num_threads=1)[0][0].tolist()  # type: ignore[no-any-return]

    return Engine(ask, [(nodes,) for nodes in _NODES], built, (folder / "hnswlib").stat().st_size / 1e6)


def million(setting: Setting) -> Measured:
    """Search a million rows: exactly, by the index, lexically, and both; there are too few samples for it."""
    if setting.data is None:
        return
    yield from _vector_ratios(setting, "million", _MANY_VECTORS, "million-index", with_late=True)
    latency, same = compare_text_search(setting.data, _MANY_VECTORS, setting.rounds)
    what, quality = f"lexical search of {_MANY_VECTORS:,} texts, ten hits", f"{same:.2f} of the ten hits are the same"
    yield _ratio("million-words", what, "bm25s", latency.medians, "ours", "peer", quality)
    yield _ratio("million-words-late", f"{what}, 95th percentile", "bm25s", latency.late, "ours", "peer", quality)
    what = f"hybrid search of {_MANY_VECTORS:,} texts, encoding the query included, 95th percentile"
    yield _ratio("million-both-late", what, "bm25s, lexical alone", latency.late, "both", "peer")


def _vector_ratios(setting: Setting, prefix: str, rows: int, index_key: str, *, with_late: bool) -> Measured:
    source, folder = SyntheticVectors.around(setting.data), setting.scratch / prefix
    folder.mkdir()
    found = compare_vector_search(source, rows, setting.rounds, folder)
    what, medians = f"the ten nearest of {rows:,} vectors", found.latency.medians
    exact, index = (f"recall@10 {found.recall[name]:.4f}" for name in ("exact", "index"))
    floor = _read_floor(4.0 * rows * source.real.shape[1], setting)
    yield _ratio(f"{prefix}-exact", f"{what}, exact", "FAISS flat", medians, "exact", "flat", exact, floor, 1.0)
    if setting.data is None:
        return  # the index is claimed on the public sets only
    floor = _read_floor(found.bytes_read, setting)
    if with_late:
        index += f"; {found.share:.0%} of the vectors' bytes; built in {found.built:.0f} s, opened in {found.opened:.2f} s"
    yield _ratio(index_key, f"{what}, by the index", "FAISS flat", medians, "index", "flat", index, floor, 10.0)
    if with_late:
        late = found.latency.late
        yield _ratio(f"{index_key}-late", f"{what}, by the index, 95th percentile", "FAISS flat", late, "index", "flat", index, floor)


def _ratio(key: str, what: str, peer: str, times: Mapping[str, Sequence[float]], ours: str, theirs: str, *rest: Any) -> Ratio:
    return Ratio(key, what, peer, "s", *([value / 1000 for value in times[name]] for name in (ours, theirs)), *rest)


def _read_floor(size: float, setting: Setting) -> str:
    rate = setting.rates["memory"]
    return f"{three_digits(size / 1e6)} MB read: {size / rate / 1e6:.2g} ms at {rate:.0f} GB/s"


def compare_text_search(data: Path, rows: int, rounds: int) -> tuple[Latency, float]:
    """Search ``rows`` texts lexically (``ours``), by bm25s (``peer``) and lexically and semantically (``both``).

    Texts beyond the public sets' are recombined; queries are whole sentences of the sets, which is more words than people type. A hybrid
    search includes encoding the query; its vectors are synthetic, not those of the texts, which would take long to encode.

    Returns:
        The latency, and the share of bm25s's ten hits that ours finds.
    """
    import bm25s

    every = sentences(data)
    texts = recombined(every, rows)
    queries = [every[row] for row in np.random.default_rng(34).choice(len(every), _TEXT_QUERIES, replace=False).tolist()]
    with tempfile.TemporaryDirectory() as folder, Resources() as services:
        digest, home = digest_texts(texts), Workspace(Path(folder))
        lexical = LexicalStore(home, 1 << 40).get(texts, digest)
        peer = bm25s.BM25()
        peer.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
        semantic = SemanticIndex(SyntheticVectors.around(data).rows(rows, Path(folder) / "vectors.npy"))
        semantic.approximate = IVFIndexStore(home, _DISK).make(digest, _FINGERPRINT, semantic.exact)
        encoder = services.catalog.load(services.settings.default_model)

        def search_by_peer(query: str) -> list[int]:
            tokens = bm25s.tokenize([query], stopwords=None, show_progress=False)
            return [int(row) for row in peer.retrieve(tokens, k=_K, show_progress=False, n_threads=0)[0][0]]

        def search_both(query: str) -> list[int]:
            near = semantic.find(encoder.encode([query])[0], _FUSED_HITS).hits
            return [hit.row for hit in reciprocal_rank_fusion([near, lexical.search(query, _FUSED_HITS)])]

        latency = measure_latency(
            {
                "ours": (queries, lambda query: [hit.row for hit in lexical.search(query, _K)]),
                "peer": (queries, search_by_peer),
                "both": (queries, search_both),
            },
            rounds,
        )
    return latency, _recall(latency.rows["ours"], latency.rows["peer"])


def mine(setting: Setting) -> Measured:
    """Find the ten most similar pairs of 10,000 vectors.

    The peer is given the least that surely finds the same pairs: ten pairs, of the ten nearest of each sentence.
    """
    import torch

    vectors = SyntheticVectors.around(None).rows(_MINED) if setting.data is None else _sentence_vectors(setting.data, _MINED)
    tensor, peer = torch.from_numpy(vectors), import_peer().util.paraphrase_mining_embeddings
    is_int8 = int8_is_fast()
    pairs: dict[str, set[tuple[int, int]]] = {}

    def ours() -> None:
        pairs["ours"] = {(pair.a, pair.b) for pair in paraphrase_mining(vectors, _TOP, use_int8=is_int8)}

    def theirs() -> None:
        pairs["peer"] = {(a, b) for _, a, b in peer(tensor, top_k=_TOP, max_pairs=_TOP)[:_TOP]}

    ours(), theirs()  # compiled and in the cache before they are timed
    contestants = {"ours": lambda _turn: seconds(ours), "peer": lambda _turn: seconds(theirs)}
    rounds = compare("mine", "s", contestants, setting.rounds, smaller_is_faster=True).rounds
    operations, precision = float(_MINED) ** 2 * vectors.shape[1], "int8" if is_int8 else "float32"
    floor = f"{operations / 1e9:.0f} G operations: {operations / setting.rates[precision] / 1e9:.3f} s in {precision}"
    quality = f"{len(pairs['ours'] & pairs['peer'])} of {_TOP} the same"
    yield Ratio("mine", f"the {_TOP} closest pairs of {_MINED:,} vectors", PEER, "s", rounds["ours"], rounds["peer"], quality, floor, 4.0)


def _sentence_vectors(data: Path, count: int) -> np.ndarray:
    every = sentences(data)
    if count > len(every):
        raise SystemExit(f"the sets in {data} hold {len(every):,} distinct sentences, fewer than {count:,}")
    return _encode([every[row] for row in np.sort(np.random.default_rng(12).choice(len(every), count, replace=False)).tolist()])


def _encode(texts: list[str]) -> np.ndarray:
    with Resources() as services:
        return np.array(services.vectors.get(texts, digest_texts(texts), services.catalog.load(services.settings.default_model)))


def draw(setting: Setting) -> Measured:
    """Compute the 2-D layout of BANKING77's 10,003 training texts, or of 5,000 synthetic vectors, neighbours included.

    The peer is ``UMAP(metric="cosine")``, unseeded, on all processors. Both sides' code is compiled before.
    """
    if setting.data is None:
        vectors = SyntheticVectors.around(None).rows(_MINED // 2)
    else:
        vectors = _encode(list(read_table(setting.data / "banking77" / "train.csv").column("text")))
    warm_up(Workspace(setting.scratch / "compiled"))
    layouts: dict[str, np.ndarray] = {}
    trust: dict[str, list[float]] = {"ours": [], "peer": []}

    def ours() -> None:
        with tempfile.TemporaryDirectory() as folder:
            layouts["ours"] = project(vectors, _MAP, _MAP_KEY, Workspace(Path(folder)), graphs=NeighborGraphCache(1 << 30)).xy

    def theirs() -> None:
        from umap import UMAP

        layouts["peer"] = np.asarray(UMAP(metric="cosine").fit_transform(vectors))

    def measured(name: str, once: Callable[[], None]) -> Callable[[int], float]:
        def measure(_turn: int) -> float:
            taken = seconds(once)
            trust[name].append(trustworthiness(vectors, layouts[name]))
            return taken

        return measure

    ours(), theirs()  # compiled before they are timed
    contestants = {"ours": measured("ours", ours), "peer": measured("peer", theirs)}
    rounds = compare("map", "s", contestants, setting.rounds, smaller_is_faster=True).rounds
    quality = "trustworthiness {:.4f}, the peer's {:.4f}".format(*(statistics.median(trust[name]) for name in ("ours", "peer")))
    # At most: an epoch moves both ends of each of 15 edges a row, and one end for each of five rows drawn; two numbers each.
    moves = float(EPOCHS if len(vectors) <= LARGE_ROWS else LARGE_EPOCHS) * len(vectors) * _MAP_NEIGHBOURS * (2 + 5)
    floor = f"{moves / 1e6:.0f} M moves of a point, {moves * 16 / 1e9:.1f} GB touched, in the processor's cache"
    what = f"a map of {len(vectors):,} texts, their vectors given"
    yield Ratio("map", what, "umap-learn", "s", rounds["ours"], rounds["peer"], quality, floor)


def trustworthiness(vectors: np.ndarray, xy: np.ndarray) -> float:
    """Compute ``sklearn.manifold.trustworthiness(…, n_neighbors=15, metric="cosine")`` of a sample of 5,000 rows (Venna & Kaski 2001)."""
    import faiss

    count, space = len(vectors), unit(vectors)
    rows = np.arange(count) if count <= _TRUST_SAMPLE else np.random.default_rng(0).choice(count, _TRUST_SAMPLE, replace=False)
    index = faiss.IndexFlatL2(xy.shape[1])
    index.add(np.ascontiguousarray(xy, np.float32))
    near = index.search(np.ascontiguousarray(xy[rows], np.float32), _MAP_NEIGHBOURS + 1)[1]
    penalty = 0
    for start in range(0, len(rows), _BLOCK):
        own = rows[start : start + _BLOCK]
        cosines = space[own] @ space.T
        cosines[np.arange(len(own)), own] = np.inf
        for row, candidates in enumerate(near[start : start + _BLOCK]):
            others = candidates[candidates != own[row]][:_MAP_NEIGHBOURS]
            ranks = (cosines[row] > cosines[row, others][:, None]).sum(axis=1)  # the row itself counts, as rank 0
            penalty += int(np.maximum(ranks - _MAP_NEIGHBOURS, 0).sum())
    return 1 - penalty * 2 / (len(rows) * _MAP_NEIGHBOURS * (2 * count - 3 * _MAP_NEIGHBOURS - 1))
