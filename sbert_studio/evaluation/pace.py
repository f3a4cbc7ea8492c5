"""How many sentences a model reads a second, measured while it is judged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.progress import Progress


@dataclass
class Pace:
    """What a model has read.

    Attributes:
        sentences: how many; the two of a pair count each.
        seconds: of the reading alone.
    """

    sentences: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Sentences a second; 0 where nothing was read."""
        return self.sentences / self.seconds if self.sentences and self.seconds > 0 else 0.0

    @contextmanager
    def reading(self, progress: Progress | None, each: int = 1) -> Iterator[Progress]:
        """Count what is read within, by what the reader tells of its progress.

        Args:
            progress: is told the same.
            each: sentences in what the reader counts: one of texts, two of pairs.
        """
        read, began = 0, time.perf_counter()

        def show(done: int, total: int) -> None:
            nonlocal read
            read = max(read, done)
            if progress is not None:
                progress(done, total)

        yield show
        self.sentences += each * read
        self.seconds += time.perf_counter() - began
