"""Limits of this process, for tests of what happens at them; where a system has none, the test is skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Let files grow up to ``size`` bytes: whatever writes a larger one finds the disk full."""
    resource = pytest.importorskip("resource", reason="limits of a process are those of POSIX")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def no_more_memory_than(size: int, kind: str = "AS") -> Iterator[None]:
    """Let this process have ``size`` more bytes of address space (``AS``) or data (``DATA``)."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("limits of the memory are those of Linux")
    resource = pytest.importorskip("resource")
    limit, name = getattr(resource, f"RLIMIT_{kind}"), {"AS": "VmSize:", "DATA": "VmData:"}[kind]
    before = resource.getrlimit(limit)
    used = next(int(line.split()[1]) << 10 for line in status.read_text().splitlines() if line.startswith(name))
    resource.setrlimit(limit, (used + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(limit, before)
