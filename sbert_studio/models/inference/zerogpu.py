"""Work on a GPU lent for a limited time (ZeroGPU, package ``spaces``)."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ...errors import StudioError

T = TypeVar("T")
SECONDS = 40.0
"""How long a slice works; what then has begun is still ended."""
_ASKED = 100  # seconds that a slice is granted: the model is loaded and, at its end, written
_OURS = "ZeroGPU"  # how the titles of the package's errors begin


@dataclass(frozen=True)
class _Lender:
    """The package's function that carries out another one in a slice; the device there; the process that borrows."""

    carry_out: Callable[..., Any]
    device: str
    process: int


_lenders: list[_Lender] = []  # none, or one


def borrow(device: str = "cuda") -> bool:
    """Have :func:`on_gpu` borrow one from now on, where the package ``spaces`` is there; whether it is.

    It must be called before anything touches CUDA, and before the page is opened: the package looks then for what will ask for a GPU.

    Args:
        device: its name within a slice.
    """
    try:
        import spaces
    except ImportError:
        return False
    _lenders[:] = [_Lender(spaces.GPU(_carry_out, duration=_ASKED), device, os.getpid())]
    return True


def give_back() -> None:
    """Borrow none from now on."""
    _lenders.clear()


def lent() -> str:
    """The device's name within a slice; empty where none is lent, and within a slice, where it is simply there."""
    return _lenders[0].device if _lenders and _lenders[0].process == os.getpid() else ""


def on_gpu(function: Callable[..., T], *given: Any) -> T:
    """What ``function``, which a module holds, returns; carried out in a slice where a GPU is lent, and else here.

    Raises:
        StudioError: that the function raised, or that no GPU can be had now.
        RuntimeError: it failed otherwise.
    """
    if not lent():
        return function(*given)
    try:
        answer = _lenders[0].carry_out(function, given)
    except Exception as error:
        title, words = str(getattr(error, "title", "")), str(getattr(error, "message", error))
        if title.startswith(_OURS) or "GPU quota" in words:
            raise _refused(title, words) from error
        raise
    if answer.told is not None:
        raise StudioError(*answer.told)
    if answer.fault:
        raise RuntimeError(answer.fault)
    value: T = answer.value
    return value


@dataclass(frozen=True)
class _Answer:
    """What comes out of a slice: a value, what a :class:`StudioError` tells, or the report of a fault. Only these survive the way."""

    value: Any = None
    told: tuple[Any, ...] | None = None
    fault: str = ""


def _carry_out(function: Callable[..., Any], given: tuple[Any, ...]) -> _Answer:
    import torch

    if not lent():
        torch.set_num_threads(1)  # the threads that computed before the fork are not in it
    try:
        return _Answer(function(*given))
    except StudioError as error:
        return _Answer(told=(error.message, error.hint, error.rows))
    except Exception as error:
        return _Answer(fault=f"{type(error).__name__}: {error}\n{traceback.format_exc()}")


def _refused(title: str, words: str) -> StudioError:
    said = " ".join(words.split())[:300].rstrip(". ")
    if "quota" in f"{title} {words}".lower() or "limit" in words.lower():
        hint = "wait until there is time again, sign in with Hugging Face for more of it, or run this on a CPU: SBERT_STUDIO_DEVICE=cpu"
        return StudioError(f"the time that the shared GPU lends you is used up ({said})", hint)
    return StudioError(f"the shared GPU cannot be had now ({said})", "try again in a minute; a training is resumed where it was")
