"""Encoding on a GPU that is allocated for limited time slices (ZeroGPU, package ``spaces``)."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ...identity import ANONYMOUS, Identity, current_identity, use_identity
from ..base import check_stop

if TYPE_CHECKING:
    from ...progress import Progress, ShouldStop
    from ..catalog import Catalog, CatalogSettings

T = TypeVar("T")
SLICE_SECONDS = 40.0
"""Seconds after which a slice starts no new work."""
_SLICE_LIMIT = 100  # seconds requested per slice, including loading the model and writing its results
_ERROR_TITLE = "ZeroGPU"  # prefix of the titles of the package's errors
_MIN_TEXTS = 1_000  # below that, the CPU is faster than allocating a GPU
_BATCH_TEXTS = 2_048
_SLICE_TEXTS = 50_000  # texts sent to a slice
_catalogs: dict[tuple[CatalogSettings, str], Catalog] = {}  # catalogs of a slice's process, so that the next slice finds its model loaded
_allocators: list[_Allocator] = []  # at most one


@dataclass(frozen=True)
class _Allocator:
    execute: Callable[..., Any]  # runs a function in a slice
    device: str  # device name within a slice
    process: int  # the process that requests slices


def enable(device: str = "cuda") -> bool:
    """Enable GPU slices for :func:`run_on_gpu`; return False if the package ``spaces`` is not installed.

    Call this before anything touches CUDA and before the page opens, which is when the package looks for functions that need a GPU.
    """
    try:
        import spaces
    except ImportError:
        return False
    _allocators[:] = [_Allocator(spaces.GPU(_execute, duration=_SLICE_LIMIT), device, os.getpid())]
    return True


def disable() -> None:
    """Disable GPU slices."""
    _allocators.clear()


def gpu_name() -> str:
    """Return the device name to use within a slice; empty if slices are disabled, or if already within a slice."""
    return _allocators[0].device if _allocators and _allocators[0].process == os.getpid() else ""


def run_on_gpu(function: Callable[..., T], *args: Any) -> T:
    """Call a module-level ``function`` in a GPU slice if slices are enabled, else in this process.

    Raises:
        StudioError: raised by the function, or no GPU is currently available.
        RuntimeError: the function failed otherwise.
    """
    if not gpu_name():
        return function(*args)
    try:
        result = _allocators[0].execute(function, args)
    except Exception as error:
        title, message = str(getattr(error, "title", "")), str(getattr(error, "message", error))
        if title.startswith(_ERROR_TITLE) or "GPU quota" in message:
            raise _unavailable(title, message) from error
        raise
    if result.studio_error is not None:
        raise StudioError(*result.studio_error)
    if result.traceback:
        raise RuntimeError(result.traceback)
    value: T = result.value
    return value


@dataclass(frozen=True)
class _SliceResult:
    value: Any = None
    studio_error: tuple[Any, ...] | None = None
    traceback: str = ""


def _execute(function: Callable[..., Any], args: tuple[Any, ...]) -> _SliceResult:
    import torch

    if not gpu_name():
        torch.set_num_threads(1)  # a forked process does not inherit the thread pool of its parent
    try:
        return _SliceResult(function(*args))
    except StudioError as error:
        return _SliceResult(studio_error=(error.message, error.hint, error.rows))
    except Exception as error:
        return _SliceResult(traceback=f"{type(error).__name__}: {error}\n{traceback.format_exc()}")


def _unavailable(title: str, message: str) -> StudioError:
    reason = " ".join(message.split())[:300].rstrip(". ")
    if "quota" in f"{title} {message}".lower() or "limit" in message.lower():
        hint = "wait for your quota to renew, sign in with Hugging Face for a larger one, or run on the CPU: SBERT_STUDIO_DEVICE=cpu"
        return StudioError(_("your time on the shared GPU is used up ({reason})", reason=reason), hint)
    return StudioError(
        _("the shared GPU is currently not available ({reason})", reason=reason),
        "try again in a minute; training resumes from its last checkpoint",
    )


class ZeroGPUEncoder:
    """Encodes with a model of a catalog in GPU slices.

    Args:
        settings: those of the catalog.
        name, precision: arguments of ``Catalog.load``.
        fingerprint: fingerprint of the model that is loaded in this process.
    """

    def __init__(self, settings: CatalogSettings, name: str, precision: str, fingerprint: str) -> None:
        self._model = (settings, name, precision, fingerprint)

    def is_worthwhile(self, texts: Sequence[str]) -> bool:
        return len(texts) >= _MIN_TEXTS

    def encode(self, texts: Sequence[str], progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        """Return the vectors of ``texts``, (n, dim) float32, row i for text i."""
        parts: list[np.ndarray] = []
        # Another process does not know whose request this is. Slices exist only on Spaces, where visitors are never the owner.
        identity = current_identity() or ANONYMOUS
        done = 0
        while done < len(texts):
            check_stop(should_stop)
            chunk = list(texts[done : done + _SLICE_TEXTS])
            parts.append(run_on_gpu(_encode_slice, *self._model, identity, gpu_name(), chunk, SLICE_SECONDS))
            done += len(parts[-1])
            if progress:
                progress(done, len(texts))
        return np.concatenate(parts)


def _encode_slice(
    settings: CatalogSettings,
    name: str,
    precision: str,
    fingerprint: str,
    identity: Identity,
    device: str,
    texts: list[str],
    seconds: float,
) -> np.ndarray:
    started = time.monotonic()
    key = settings, device
    if key not in _catalogs:
        _catalogs[key] = settings.open(device)
    with use_identity(identity):
        encoder = _catalogs[key].load(name, precision)
    if encoder.fingerprint != fingerprint:
        raise StudioError("the model has changed in the meantime", "try again")
    parts: list[np.ndarray] = []
    for start in range(0, len(texts), _BATCH_TEXTS):
        if parts and time.monotonic() - started > seconds:
            break
        parts.append(encoder.encode(texts[start : start + _BATCH_TEXTS]))
    return np.concatenate(parts)
