"""Exact queries a second, one at a time, for the ten nearest; the vectors are given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..base import BENCHMARKS, Bench, Benchmark
from ..duel import Duel, duel, peer_library, rate

if TYPE_CHECKING:
    from ...data.progress import Progress

_SEARCHED, _QUERIES, _WIDTH = 100_000, 50, 384


@BENCHMARKS.register("search")
class Search(Benchmark):
    """Over the vectors of a file's texts, or over made-up ones."""

    def measure(self, bench: Bench, progress: Progress | None) -> Duel:
        """See :meth:`Benchmark.measure`."""
        import numpy as np

        from ...explore.search import SemanticIndex
        from ...models.similarity import unit

        options = bench.options
        if options.data:
            vectors = unit(bench.catalog.load(options.model or bench.default_model).encode(bench.texts()))
        else:
            vectors = unit(np.random.default_rng(12).standard_normal((options.limit or _SEARCHED, _WIDTH), dtype=np.float32))
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
