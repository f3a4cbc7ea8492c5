"""What every work promises: the same shard becomes the same bytes, in whichever process and however often."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from ...registry import Registry
from ..folder import JobFolder
from ..job import Job, Shard

Do = Callable[[Shard, Callable[[int], None]], None]
"""Does a shard, writes its receipt, and tells how many of its rows are done on the way."""


class Work(ABC):
    """The work of one job; it is sent to every process that takes part.

    Args:
        job: what is done.
        folder: where the shards go.
    """

    name: ClassVar[str]

    def __init__(self, job: Job, folder: JobFolder) -> None:
        self.job, self.folder = job, folder

    @property
    def threads(self) -> int:
        """How many threads a shard is computed in: part of the job, for sums are added in another order with more of them."""
        return int(self.job.settings["threads"])

    @contextmanager
    def prepared(self) -> Iterator[Do]:
        """What does a shard in this process, with as many threads as the job says until the end of the ``with``."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            yield self._ready()
        finally:
            torch.set_num_threads(before)

    @abstractmethod
    def _ready(self) -> Do:
        """Load what every shard needs.

        Raises:
            StudioError: it is not here, or not what the job was begun with.
        """

    @abstractmethod
    def bytes_of(self, rows: int) -> int:
        """About how large the result of so many rows is on disk."""


WORKS: Registry[Work] = Registry("work")
