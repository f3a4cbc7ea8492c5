"""Texts a second, the models loaded and warm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..base import BENCHMARKS, Bench, Benchmark
from ..costs import cost_of
from ..duel import Duel, Round, duel, peer_library, rate

if TYPE_CHECKING:
    import numpy as np

    from ...data.progress import Progress

# The peer is measured by the batch size that is its fastest with so many of the texts.
_BATCHES, _OF_A_GPU, _TRIED = (16, 32, 64, 128), (64, 128, 256, 512, 1_024, 2_048), 1_000


@BENCHMARKS.register("encode")
class Encode(Benchmark):
    """Texts → vectors.

    Told beside: the least cosine of ours and the peer's in float32, the peer's batch size, and what the products cost.
    """

    def measure(self, bench: Bench, progress: Progress | None) -> Duel:
        """See :meth:`Benchmark.measure`."""
        import numpy as np

        options, texts = bench.options, bench.texts()
        name, folder = bench.model()
        device, library = bench.catalog.device, peer_library()
        peer = library.SentenceTransformer(str(folder), device=str(device), model_kwargs={"dtype": options.peer_precision})
        vectors: dict[str, np.ndarray] = {}

        def ours(precision: str) -> Round:
            encoder = bench.catalog.load(name, precision)
            encoder.encode(texts[:64])

            def once(_turn: int) -> float:
                return rate(len(texts), lambda: vectors.update({precision: encoder.encode(texts)}))

            return once

        def by_peer(some: list[str], batch_size: int) -> np.ndarray:
            return np.asarray(peer.encode(some, batch_size=batch_size, show_progress_bar=False))

        by_peer(texts[:64], 64)
        some = texts if device.type == "cuda" else texts[:: -(-len(texts) // _TRIED)]
        best = max(_OF_A_GPU if device.type == "cuda" else _BATCHES, key=lambda size: rate(len(some), lambda: by_peer(some, size)))

        def theirs(_turn: int) -> float:
            return rate(len(texts), lambda: vectors.update(peer=by_peer(texts, best)))

        contestants = {**{precision: ours(precision) for precision in options.precisions}, "peer": theirs}
        if options.peer_precision != "float32":
            whole = library.SentenceTransformer(str(folder), device=str(device))
            exact = np.asarray(whole.encode(texts, batch_size=best, show_progress_bar=False))
        measured = duel("encode", "texts/s", contestants, options.repeats, progress=progress)
        if options.peer_precision == "float32":
            exact = vectors["peer"]
        cosines = {side: _least_cosine(found, exact) for side, found in vectors.items() if side != "peer" or found is not exact}
        costs = cost_of(bench.catalog.load_fresh(name), texts)
        return replace(measured, facts={"model": name, "texts": len(texts), "peer_batch": best, "min_cosine": cosines, **costs})


def _least_cosine(left: np.ndarray, right: np.ndarray) -> float:
    from ...evaluation.encoding import pairwise_measures

    return float(pairwise_measures(left, right)["cosine"].min())
