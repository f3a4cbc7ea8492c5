"""Whether the process that took a run is still alive; process ids are reused, so its birth is compared too."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

_PROC = Path("/proc")


@lru_cache(maxsize=1)
def _own_mark(pid: int) -> str:
    return birth_of(pid)


def own_process() -> tuple[int, str]:
    """The id and the birth mark of this process."""
    pid = os.getpid()
    return pid, _own_mark(pid)


def is_alive(pid: int, birth: str) -> bool:
    """Whether the process ``pid`` that was born at ``birth`` still runs; a zombie does not."""
    return bool(birth) and birth_of(pid) == birth


def birth_of(pid: int) -> str:
    """When a process was born, as a mark that only equals itself; empty if there is none.

    Linux tells the clock ticks since boot, which no change of the wall clock moves; elsewhere psutil's time is rounded.
    """
    if (_PROC / "self" / "stat").exists():
        try:
            # The name, in brackets, may hold spaces and brackets of its own: the fields are counted from the last bracket.
            fields = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        except OSError:
            return ""
        return "" if fields[0] in "ZX" else f"{boot[:8]}-{fields[19]}"
    import psutil  # type: ignore[import-untyped, unused-ignore]  # comes with accelerate

    try:
        return str(round(psutil.Process(pid).create_time()))
    except psutil.Error:
        return ""
