"""The one cache in memory: what was used last stays, as far as a budget of bytes goes; and memory that is given back."""

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

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
_WAIT = 0.25  # seconds between two questions whether what is waited for is still wanted


class LruCache(Generic[T]):
    """Values by key, each made once however many threads ask for it at the same time; the least recently used leaves first.

    What was made last stays even where it alone is larger than the budget: it is about to be used.

    Args:
        budget: bytes that all values may take together.
        size: the bytes of a value.
    """

    def __init__(self, budget: int, size: Callable[[T], int]) -> None:
        self.budget = budget
        self._size = size
        self._lock = threading.Lock()
        self._turns: dict[Hashable, tuple[threading.Lock, int]] = {}
        self._kept: OrderedDict[Hashable, tuple[T, int, float]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T], patience: Callable[[], None] = lambda: None) -> T:
        """The value of ``key``, made by ``make`` where it is not in memory; other keys can be had meanwhile.

        Args:
            patience: called while another thread makes the value; it may raise to wait no longer.
        """
        found = self._find(key)
        if found is not None:
            return found[0]
        with self._lock:
            turn, waiting = self._turns.get(key, (threading.Lock(), 0))
            self._turns[key] = turn, waiting + 1
        try:
            while not turn.acquire(timeout=_WAIT):
                patience()
            try:
                found = self._find(key)
                if found is None:
                    found = (make(),)
                    self._keep(key, found[0])
                return found[0]
            finally:
                turn.release()
        finally:
            with self._lock:
                turn, waiting = self._turns.pop(key)
                if waiting > 1:
                    self._turns[key] = turn, waiting - 1

    @property
    def bytes(self) -> int:
        """What is held now."""
        with self._lock:
            return self._held()

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._kept.clear()

    def evict_unused(self, seconds: float) -> None:
        """Let go of what nobody has asked for since so long."""
        with self._lock:
            before = time.monotonic() - seconds
            while self._kept and next(iter(self._kept.values()))[2] < before:
                self._kept.popitem(last=False)

    def _held(self) -> int:
        return sum(size for _, size, _ in self._kept.values())

    def _find(self, key: Hashable) -> tuple[T] | None:
        with self._lock:
            if key not in self._kept:
                return None
            value, size, _ = self._kept.pop(key)
            self._kept[key] = value, size, time.monotonic()
            return (value,)

    def _keep(self, key: Hashable, value: T) -> None:
        size = self._size(value)
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = value, size, time.monotonic()
            held = self._held()
            while held > self.budget and len(self._kept) > 1:
                _, (_, gone, _) = self._kept.popitem(last=False)
                held -= gone


def estimate_bytes(value: Any) -> int:
    """About how much memory a value holds: texts, numbers, arrays and tables, in tuples, lists, mappings and objects of ours.

    What stands in several places is counted once; arrays that are mapped from a file are not counted.
    """
    seen: set[int] = set()
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if item is None or isinstance(item, bool | type) or callable(item) or id(item) in seen:
            continue
        seen.add(id(item))
        if hasattr(item, "nbytes"):  # NumPy's arrays and Arrow's tables tell it
            total += 0 if _is_mapped(item) else int(item.nbytes)
            continue
        total += sys.getsizeof(item)
        if isinstance(item, str | bytes | int | float):
            continue
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple) and item and isinstance(item[0], str):
            total += sum(map(sys.getsizeof, item))  # a corpus has a million of them
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
    """Return memory that nothing uses to the system: what only cycles hold, then what the C library keeps for later."""
    gc.collect()
    trim_heap()


def trim_heap() -> None:
    """Return to the system what the C library keeps between what is used (glibc); some milliseconds."""
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def release_mapped_pages(addresses: Collection[int]) -> tuple[Path, ...]:
    """Let go of what was read of the files that are mapped to these addresses: what is asked for again is read again (Linux).

    Of a table of words a text needs a few rows; all of it was looked at once, to tell the model from others. Pages that were written to
    are of this process alone: a mapping that has such stays as it is. The caller holds what lies at the addresses, and nobody writes to it.

    Returns:
        The files.
    """
    wanted = sorted(addresses)
    held = [(start, size, path) for start, size, path in _mapped() if _first_from(wanted, start) < start + size]
    advise = getattr(_c_library(), "madvise", None)
    for start, size, _ in held:
        with suppress(OSError, ValueError):
            if advise is not None and not _written(start, size):
                advise(ctypes.c_void_p(start), ctypes.c_size_t(size), _NOT_NEEDED)
    return tuple(sorted({Path(path) for *_, path in held}))


def register_mapped_array(array: np.memmap) -> None:
    """Let :func:`unread_noted` know of an array whose file is mapped, as long as anything of it is in use."""
    with _noting:
        _noted.add(array._mmap)  # type: ignore[attr-defined]


def release_registered_pages(folder: Path, beyond: int) -> None:
    """Let go of what was read of all arrays noted, where what is in memory of files below ``folder`` is more than ``beyond`` bytes (Linux).

    The vectors of each corpus that was asked for stay mapped as long as it is known, and what a search read of them counts as this
    process's memory. It is read again from the system's cache of files, or the disk, where it is asked for. Each is let go by the
    mapping itself: at an address that was looked up something else may lie by now.
    """
    below = f"{folder.resolve()}/"
    if _resident(below) <= beyond:
        return
    with _noting:
        noted = list(_noted)
    for mapped in noted:
        with suppress(OSError, ValueError):
            mapped.madvise(mmap.MADV_DONTNEED)


_noted: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_noting = threading.Lock()


def _first_from(wanted: Sequence[int], start: int) -> float:
    """The first of sorted addresses that is not before ``start``."""
    place = bisect_left(wanted, start)
    return wanted[place] if place < len(wanted) else math.inf


def _mapped() -> Iterator[tuple[int, int, str]]:
    """Where each file is mapped, over how many bytes, and its path; none where the system does not tell."""
    for words in _lines("maps"):
        if len(words) == 6 and words[5].startswith("/"):
            low, high = (int(part, 16) for part in words[0].split("-"))
            yield low, high - low, words[5]


def _written(start: int, size: int) -> bool:
    """Whether any page between is of this process alone, in memory or swapped out.

    It stands in smaps too, but for all of a thousand mappings at once, which took most of the time of loading a small model.
    """
    import numpy as np

    with Path("/proc/self/pagemap").open("rb", buffering=0) as source:
        flags = np.frombuffer(os.pread(source.fileno(), size // mmap.PAGESIZE * 8, start // mmap.PAGESIZE * 8), np.uint64)
    return bool(((flags & np.uint64(_SOMEWHERE) != 0) & (flags & np.uint64(_OF_A_FILE) == 0)).any())


def _resident(below: str) -> int:
    """The bytes in memory of mapped files whose paths begin so."""
    total, counts = 0, False
    for words in _lines("smaps"):
        if words[0] == "Rss:":
            total += int(words[1]) << 10 if counts else 0
        elif not words[0].endswith(":"):
            counts = len(words) == 6 and words[5].startswith(below)
    return total


def _lines(name: str) -> Iterator[list[str]]:
    """The words of each line of a file about this process; none where there is none."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            for line in Path("/proc/self", name).read_text(encoding="utf-8", errors="replace").splitlines():
                yield line.split(maxsplit=5)


@contextmanager
def paused_gc() -> Iterator[Callable[[], None]]:
    """Look for no cycles while a program that runs for long starts: what it reads in stays, and looking took a tenth of that time.

    Yields:
        what to call once it has started: from then on cycles are looked for among what comes later alone.
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
    """Have the C library (glibc) keep less for later; called once, when a program begins that runs for long.

    Each thread has a heap of its own there, and a heap that has once held a training is not given back by itself: so few heaps, and
    what is larger than a batch's activations straight from the system. Those themselves must come from a heap: asked for from the
    system at each layer, and filled with zeros by it each time, they were seen to make encoding a third slower.
    """
    option = getattr(_c_library(), "mallopt", None)
    if option is not None:
        for name, value in ((_ARENAS, 4), (_MAPPED_FROM, 32 << 20), (_TRIMMED_FROM, 64 << 20)):
            option(name, value)


_ARENAS, _MAPPED_FROM, _TRIMMED_FROM = -8, -3, -1
_NOT_NEEDED = 4  # MADV_DONTNEED
_SOMEWHERE, _OF_A_FILE = 3 << 62, 1 << 61  # in /proc/PID/pagemap


def _c_library() -> Any:
    if sys.platform != "linux":
        return None
    try:
        return ctypes.CDLL("libc.so.6")
    except OSError:  # musl has another, which keeps next to nothing
        return None
