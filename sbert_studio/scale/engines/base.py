"""What every engine promises: each shard is done, somewhere, at least once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...errors import StudioError
from ...registry import Registry

if TYPE_CHECKING:
    from ..job import Shard
    from ..works.base import Work


@dataclass(frozen=True)
class How:
    """By whom a job is carried out, which changes nothing in its result.

    Attributes:
        engine: one of :data:`ENGINES`.
        address: of a cluster that is there; an engine that needs one starts it on this machine where it is empty.
        workers: how many shards are done at a time; 0: as many as there are cores for.
        memory_mb: what such a cluster may keep in shared memory, in MiB. Only numbers of shards and receipts pass through it.

    Raises:
        StudioError: an address is given to the engine of this process alone.
    """

    engine: str = "local"
    address: str = ""
    workers: int = 0
    memory_mb: int = 100

    def __post_init__(self) -> None:
        if self.engine == "local" and self.address:
            raise StudioError("--address goes with an engine of several machines", "add --engine ray, or leave it out")


class Engine(ABC):
    """A way to carry out shards.

    Args:
        how: by whom.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, how: How) -> None:
        self.how = how

    @abstractmethod
    def carry(self, work: Work, shards: Sequence[Shard], tell: Callable[[int], None]) -> Iterator[int]:
        """Do the shards, in whatever order, and yield the number of each once its receipt is written.

        Args:
            tell: told how many rows are done of a shard that is under way, where that is known.

        Raises:
            StudioError: one cannot be done, wherever it was tried.
        """


ENGINES: Registry[Engine] = Registry("engine")
