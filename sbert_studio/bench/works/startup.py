"""Seconds of a new process until two texts are vectors."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ..base import BENCHMARKS, Bench, Benchmark
from ..duel import Duel, Round, duel, peer_library

if TYPE_CHECKING:
    from ...data.progress import Progress

_OURS = "from sbert_studio.services import Studio; Studio(allow_folders=True).explore.similarity('one text', 'another', {model!r})"
_THEIRS = "from sentence_transformers import SentenceTransformer; SentenceTransformer({folder!r}).encode(['one text', 'another'])"


@BENCHMARKS.register("startup")
class Startup(Benchmark):
    """From nothing to two vectors, imports and loading counted."""

    def measure(self, bench: Bench, progress: Progress | None) -> Duel:
        """See :meth:`Benchmark.measure`."""
        name, folder = bench.model()
        peer_library()

        def process(code: str) -> Round:
            def once(_turn: int) -> float:
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
                return time.perf_counter() - start

            return once

        contestants = {"ours": process(_OURS.format(model=name)), "peer": process(_THEIRS.format(folder=str(folder)))}
        found = duel("startup", "seconds", contestants, bench.options.repeats, smaller_is_faster=True, progress=progress)
        return replace(found, facts={"model": name})
