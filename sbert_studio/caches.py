"""In-memory LRU cache with a byte budget, and functions that return unused memory to the system."""

from __future__ import annotations

import ctypes
import gc
import math
import mmap
import os
import sys
import threading
import time
import weakref
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .progress import KeyLocks

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")


class LruCache(Generic[T]):
    """Thread-safe LRU cache with a byte budget; concurrent requests for a key compute its value once.

    cachetools also evicts by size, but a thread cannot wait for another's computation. The newest value is kept even if it alone exceeds
    the budget, because it is about to be used.

    Args:
        budget: total size of the values in bytes.
        size: returns the size of a value in bytes.
    """

    def __init__(self, budget: int, size: Callable[[T], int]) -> None:
        self.budget = budget
        self._size = size
        self._lock = threading.Lock()
        self._computing = KeyLocks()
        self._items: OrderedDict[Hashable, tuple[T, int, float]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T], patience: Callable[[], None] = lambda: None) -> T:
        """Return the value of ``key``, computing it with ``make`` if needed; other keys are not blocked in the meantime.

        Args:
            patience: called while another thread computes the value; it may raise an exception to stop waiting.
        """
        found = self._find(key)
        if found is None:
            with self._computing.hold(key, patience):
                found = self._find(key)
                if found is None:
                    found = (make(),)
                    self._add(key, found[0])
        return found[0]

    @property
    def bytes(self) -> int:
        """Total size of the values."""
        with self._lock:
            return self._total()

    def __len__(self) -> int:
        return len(self._items)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._items.clear()

    def evict_unused(self, seconds: float) -> None:
        """Remove values not used for ``seconds``."""
        with self._lock:
            before = time.monotonic() - seconds
            while self._items and next(iter(self._items.values()))[2] < before:
                self._items.popitem(last=False)

    def _total(self) -> int:
        return sum(size for _, size, _ in self._items.values())

    def _find(self, key: Hashable) -> tuple[T] | None:
        with self._lock:
            if key not in self._items:
                return None
            value, size, _ = self._items.pop(key)
            self._items[key] = value, size, time.monotonic()
            return (value,)

    def _add(self, key: Hashable, value: T) -> None:
        size = self._size(value)
        with self._lock:
            self._items.pop(key, None)
            self._items[key] = value, size, time.monotonic()
            total = self._total()
            while total > self.budget and len(self._items) > 1:
                _, (_, removed, _) = self._items.popitem(last=False)
                total -= removed


_LONG = 1000


def estimate_bytes(value: Any) -> int:
    """Estimate the memory of a value: texts, numbers, arrays and tables in tuples, lists, mappings and objects.

    Shared objects are counted once; memory-mapped arrays are not counted.
    """
    seen: set[int] = set()
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if item is None or isinstance(item, bool | type) or callable(item) or id(item) in seen:
            continue
        seen.add(id(item))
        if hasattr(item, "nbytes"):  # NumPy arrays and Arrow tables
            total += 0 if _is_mapped(item) else int(item.nbytes)
            continue
        total += sys.getsizeof(item)
        if isinstance(item, str | bytes | int | float):
            continue
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple) and item and isinstance(item[0], str):
            total += sum(map(sys.getsizeof, item))  # fast path: a corpus has a million texts
        elif isinstance(item, list | tuple) and len(item) > _LONG and set(map(type, item)) <= {int, float}:
            total += sum(map(sys.getsizeof, item))  # row numbers
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
        elif hasattr(item, "__dict__"):
            waiting += vars(item).values()
        elif hasattr(item, "__slots__"):
            waiting += [getattr(item, name, None) for name in item.__slots__]
    return total


def _is_mapped(array: Any) -> bool:
    base = array
    while base is not None:
        if isinstance(base, mmap.mmap):
            return True
        base = getattr(base, "base", None)
    return False


def release_memory() -> None:
    """Collect reference cycles, then return free heap memory to the system."""
    gc.collect()
    trim_heap()


def trim_heap() -> None:
    """Return free heap memory to the system (glibc); takes a few milliseconds."""
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def release_mapped_pages(addresses: Collection[int]) -> tuple[Path, ...]:
    """Drop the resident pages of files mapped at these addresses; they are read again on access (Linux).

    A static model is read completely once, for its fingerprint, but encoding needs only a few rows. Mappings with modified private pages
    are skipped. The caller must keep the mappings alive and must not write to them.

    Returns:
        The mapped files.
    """
    wanted = sorted(addresses)
    mappings = [(start, size, path) for start, size, path in _mapped_files() if _first_from(wanted, start) < start + size]
    advise = getattr(_c_library(), "madvise", None)
    for start, size, _ in mappings:
        with suppress(OSError, ValueError):
            if advise is not None and not _has_private_pages(start, size):
                advise(ctypes.c_void_p(start), ctypes.c_size_t(size), _NOT_NEEDED)
    return tuple(sorted({Path(path) for *_, path in mappings}))


def register_mapped_array(array: np.memmap) -> None:
    """Register a memory-mapped array for :func:`release_registered_pages` as long as it is in use."""
    with _registry_lock:
        _registered.add(array._mmap)  # type: ignore[attr-defined]


def release_registered_pages(folder: Path, beyond: int) -> None:
    """Drop the resident pages of all registered arrays if files below ``folder`` have more than ``beyond`` resident bytes (Linux).

    Vectors of known corpora stay mapped, and the pages read by searches count as memory of this process. Each mapping is released through
    its own object, because an address that was looked up may have been reused.
    """
    below = f"{folder.resolve()}/"
    if _resident_bytes(below) <= beyond:
        return
    with _registry_lock:
        arrays = list(_registered)
    for mapped in arrays:
        with suppress(OSError, ValueError):
            mapped.madvise(mmap.MADV_DONTNEED)


_registered: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_registry_lock = threading.Lock()


def _first_from(wanted: Sequence[int], start: int) -> float:
    place = bisect_left(wanted, start)
    return wanted[place] if place < len(wanted) else math.inf


def _mapped_files() -> Iterator[tuple[int, int, str]]:
    """Yield (address, size, path) of each mapped file; yield nothing if /proc is missing."""
    for words in _proc_lines("maps"):
        if len(words) == 6 and words[5].startswith("/"):
            low, high = (int(part, 16) for part in words[0].split("-"))
            yield low, high - low, words[5]


def _has_private_pages(start: int, size: int) -> bool:
    # smaps has this information too, but only for all thousand mappings at once, which takes longer than loading a small model.
    import numpy as np

    with Path("/proc/self/pagemap").open("rb", buffering=0) as source:
        flags = np.frombuffer(os.pread(source.fileno(), size // mmap.PAGESIZE * 8, start // mmap.PAGESIZE * 8), np.uint64)
    return bool(((flags & np.uint64(_PRESENT_OR_SWAPPED) != 0) & (flags & np.uint64(_FILE_PAGE) == 0)).any())


def _resident_bytes(below: str) -> int:
    total, counts = 0, False
    for words in _proc_lines("smaps"):
        if words[0] == "Rss:":
            total += int(words[1]) << 10 if counts else 0
        elif not words[0].endswith(":"):
            counts = len(words) == 6 and words[5].startswith(below)
    return total


def _proc_lines(name: str) -> Iterator[list[str]]:
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            for line in Path("/proc/self", name).read_text(encoding="utf-8", errors="replace").splitlines():
                yield line.split(maxsplit=5)


@contextmanager
def paused_gc() -> Iterator[Callable[[], None]]:
    """Pause garbage collection while a long-running program starts, which saves a tenth of the time: loaded objects stay alive anyway.

    Yields:
        A function to call once started; objects created until then are never collected.
    """
    collected = gc.isenabled()
    gc.disable()

    def started() -> None:
        gc.collect()
        gc.freeze()
        if collected:
            gc.enable()

    try:
        yield started
    finally:
        if collected:
            gc.enable()


def tune_malloc() -> None:
    """Make glibc retain less free memory; call once when a long-running program starts.

    Each thread has its own arena, and the memory of a training run in an arena is not returned automatically. The number of arenas is
    therefore small, and blocks larger than a batch's activations are allocated with mmap. The activations must stay on the heap: mapping
    and zeroing them for each layer made encoding a third slower.
    """
    option = getattr(_c_library(), "mallopt", None)
    if option is not None:
        for name, value in ((_ARENAS, 4), (_MAPPED_FROM, 32 << 20), (_TRIMMED_FROM, 64 << 20)):
            option(name, value)


_ARENAS, _MAPPED_FROM, _TRIMMED_FROM = -8, -3, -1
_NOT_NEEDED = 4  # MADV_DONTNEED
_PRESENT_OR_SWAPPED, _FILE_PAGE = 3 << 62, 1 << 61  # flags in /proc/PID/pagemap


def _c_library() -> Any:
    if sys.platform != "linux":
        return None
    try:
        return ctypes.CDLL("libc.so.6")
    except OSError:  # musl, which retains almost no free memory
        return None
