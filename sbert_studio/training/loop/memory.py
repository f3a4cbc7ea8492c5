"""How much memory something takes while it goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

import torch

_EVERY = 0.005  # seconds
_STATM = Path("/proc/self/statm")


class PeakMemory:
    """The most memory in use between ``with`` and its end, in ``bytes``.

    On a GPU what PyTorch holds there. Elsewhere the resident memory of this process as it stands, looked at every 5 ms: the
    system's own peak (``ru_maxrss``) is that of the whole life of the process, of which a page that has drawn a map or
    trained before has long had a higher one.
    """

    def __init__(self, device: torch.device) -> None:
        self.bytes = 0
        self._device = device
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peak-memory", daemon=True)

    def __enter__(self) -> PeakMemory:
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
        else:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._device.type == "cuda":
            self.bytes = int(torch.cuda.max_memory_allocated(self._device))
        else:
            self._ended.set()
            self._thread.join()

    def _watch(self) -> None:
        while True:
            self.bytes = max(self.bytes, resident_bytes())
            if self._ended.wait(_EVERY):
                return


def resident_bytes() -> int:
    """The physical memory that this process holds now."""
    if _STATM.exists():
        import resource

        return int(_STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    import psutil  # type: ignore[import-untyped, unused-ignore]  # comes with accelerate

    return int(psutil.Process().memory_info().rss)
