"""Free memory of this process, considering the machine, its control groups and its resource limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_STATM = Path("/proc/self/statm")
_NO_LIMIT = 1 << 60  # bytes; control groups v1 report a larger number if there is no limit


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the number of bytes that this process can still allocate; ``None`` if unknown.

    This is the minimum of ``MemAvailable``, the remainder of each enclosing control group (versions 1 and 2; inactive page cache counts as
    free), and the remainder of ``RLIMIT_AS`` and ``RLIMIT_DATA``.

    Args:
        root: folder that contains ``proc`` and ``sys``.
    """
    found = [*_available(root), *_cgroups_left(root), *_limits_left(root)]
    return max(0, min(found)) if found else None


def _available(root: Path) -> Iterator[int]:
    for line in _lines(root / "proc" / "meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) << 10


def _cgroups_left(root: Path) -> Iterator[int]:
    base = root / "sys" / "fs" / "cgroup"
    for line in _lines(root / "proc" / "self" / "cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            top, names = base, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top, names = base / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # In a container, the path may be that of the host, and only its last part is visible, as the root.
        place = top / path.lstrip("/")
        for folder in dict.fromkeys((place, *place.parents, top)):
            if folder.is_relative_to(top):
                yield from _cgroup_left(folder, *names)


def _cgroup_left(folder: Path, limit: str, used: str, reclaimable: str) -> Iterator[int]:
    most, taken = _number(folder / limit), _number(folder / used)
    if most is None or taken is None or most >= _NO_LIMIT:
        return
    spare = [line.split()[1] for line in _lines(folder / "memory.stat") if line.startswith(f"{reclaimable} ")]
    yield most - taken + int(spare[0] if spare else 0)


def _limits_left(root: Path) -> Iterator[int]:
    try:
        import resource
    except ImportError:  # not available on Windows
        return
    used = dict(line.split()[:2] for line in _lines(root / "proc" / "self" / "status") if line.startswith(("VmSize:", "VmData:")))
    for kind, name in ((resource.RLIMIT_AS, "VmSize:"), (resource.RLIMIT_DATA, "VmData:")):
        most = resource.getrlimit(kind)[0]
        if most != resource.RLIM_INFINITY and name in used:
            yield most - (int(used[name]) << 10)


def _number(path: Path) -> int | None:
    words = "".join(_lines(path)[:1]).strip()
    return int(words) if words.isdigit() else None  # "max": no limit


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def resident_memory() -> int:
    """Return the resident memory of this process in bytes."""
    if _STATM.exists():
        import resource

        return int(_STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    import psutil  # type: ignore[import-untyped, unused-ignore]  # comes with accelerate

    return int(psutil.Process().memory_info().rss)
