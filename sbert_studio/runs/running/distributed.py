"""Processes that ``accelerate launch`` or ``torchrun`` started together: one of them keeps the books, all of them train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import StudioError


def is_main() -> bool:
    """Whether this is the process that writes to the store and answers; true where there is only one."""
    from accelerate import PartialState

    return bool(PartialState().is_main_process)


def agreed(make: Callable[[], str], device: str) -> str:
    """What ``make`` returns in the main process, known to all; it is called in that one only.

    Companions on several machines need a data folder that all of them see.

    Args:
        device: what the processes train on. They find each other here, and on a CPU only if that is said.

    Raises:
        StudioError: in every process, where ``make`` raised it in the main one.
    """
    from accelerate import PartialState

    state: Any = PartialState(cpu=device == "cpu")
    if state.num_processes == 1:
        return make()
    from accelerate.utils import broadcast_object_list

    told: list[Any] = ["", None]
    own: StudioError | None = None
    if state.is_main_process:
        try:
            told[0] = make()
        except StudioError as error:
            own, told[1] = error, (error.message, error.hint, error.rows)
    broadcast_object_list(told)
    if told[1] is not None:
        raise own or StudioError(*told[1])
    return str(told[0])
