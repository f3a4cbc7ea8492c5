"""The verb by which speed is measured."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from ..errors import StudioError
from .base import Part

if TYPE_CHECKING:
    from ..bench.base import BenchOptions
    from ..bench.duel import Duel
    from ..data.progress import Progress
    from .base import Services
    from .data import Reading


class Benching(Part):
    """Work → how much faster than a peer."""

    def __init__(self, services: Services, read: Reading) -> None:
        super().__init__(services)
        self.read = read

    def run(self, options: BenchOptions, progress: Progress | None = None) -> Duel:
        """Measure one kind of work.

        Raises:
            StudioError: the work or the peer is unknown, the peer is not installed, or the data do not fit.
        """
        from ..bench.base import PEER, Bench
        from ..bench.works import BENCHMARKS

        work = BENCHMARKS[options.work]()
        if options.peer != PEER:
            raise StudioError(f"there is no peer {options.peer!r}", f"the one peer is {PEER}")
        with redirect_stdout(sys.stderr):
            return work.measure(Bench(options, self.catalog, self.settings.default_model, self.read.table), progress)
