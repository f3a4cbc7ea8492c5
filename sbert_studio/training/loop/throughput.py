"""How fast a run goes, and how long it still takes."""

from __future__ import annotations

import time
from collections import deque

_RECENT = 50  # steps over which the shown rate is taken
_SHOWN_EVERY = 0.2  # seconds


def rate_in_words(rate: float) -> str:
    """Rows a second as they are shown everywhere: ``72``; one decimal below ten."""
    return f"{rate:,.0f}" if round(rate, 1) >= 10 else f"{rate:.1f}"


class Throughput:
    """Counts the rows and the seconds of steps; evaluations and checkpoints are not counted.

    Attributes:
        rows, seconds: of all steps so far, those before a resumption too.
    """

    def __init__(self, rows: int = 0, seconds: float = 0.0) -> None:
        self.rows, self.seconds = rows, seconds
        self._recent: deque[tuple[int, float]] = deque(maxlen=_RECENT)
        self._start = time.perf_counter()
        self._shown = 0.0

    def begin(self) -> None:
        """The steps begin, or go on after something else."""
        self._start = time.perf_counter()

    def end(self, rows: int) -> None:
        """A step of ``rows`` rows has ended, and the next one begins."""
        now = time.perf_counter()
        took, self._start = now - self._start, now
        self.rows, self.seconds = self.rows + rows, self.seconds + took
        self._recent.append((rows, took))

    @property
    def rate(self) -> float:
        """Rows a second of late."""
        rows, seconds = (sum(values) for values in zip(*self._recent, strict=True)) if self._recent else (0, 0.0)
        return rows / seconds if seconds > 0 else 0.0

    def left(self, steps: int) -> float:
        """Seconds that ``steps`` more steps will take."""
        return steps * sum(seconds for _, seconds in self._recent) / max(1, len(self._recent))

    def shows(self) -> bool:
        """Whether it is time to tell of a step again."""
        now = time.perf_counter()
        if now - self._shown < _SHOWN_EVERY:
            return False
        self._shown = now
        return True
