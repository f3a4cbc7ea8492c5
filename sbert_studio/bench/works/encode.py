"""Texts a second, the models loaded and warm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..base import BENCHMARKS, Bench, Benchmark
from ..duel import Duel, Round, duel, peer_library, rate

if TYPE_CHECKING:
    import numpy as np

    from ...data.progress import Progress

_PEER_BATCH = 64  # faster for it here than its default of 32


@BENCHMARKS.register("encode")
class Encode(Benchmark):
    """Texts → vectors; the least cosine between both sides' vectors is told beside."""

    def measure(self, bench: Bench, progress: Progress | None) -> Duel:
        """See :meth:`Benchmark.measure`."""
        options, texts = bench.options, bench.texts()
        name, folder = bench.model()
        peer = peer_library().SentenceTransformer(str(folder), device=str(bench.catalog.device))
        vectors: dict[str, np.ndarray] = {}

        def ours(precision: str) -> Round:
            encoder = bench.catalog.load(name, precision)
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
        return replace(found, facts={"model": name, "texts": len(texts), "min_cosine": cosines})


def _least_cosine(left: np.ndarray, right: np.ndarray) -> float:
    from ...evaluation.similarity import measures

    return float(measures(left, right)["cosine"].min())
