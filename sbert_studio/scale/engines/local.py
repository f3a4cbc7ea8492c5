"""This process: one shard after the other, in the memory of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...data.progress import checkpoint
from .base import ENGINES, Engine

if TYPE_CHECKING:
    from ..job import Shard
    from ..works.base import Work


@ENGINES.register("local")
class Local(Engine):
    """The plain path, which every other engine equals bit for bit."""

    title = "This process, one shard after the other"

    def carry(self, work: Work, shards: Sequence[Shard], tell: Callable[[int], None]) -> Iterator[int]:
        """See :meth:`Engine.carry`."""
        with work.prepared() as do:
            for shard in shards:
                checkpoint()
                do(shard, tell)
                yield shard.number
