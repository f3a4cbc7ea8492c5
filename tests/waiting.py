"""Wait for a condition instead of sleeping for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], seconds: float = 30, what: str = "") -> T:
    """Poll until ``condition`` returns something true, and return it.

    Raises:
        AssertionError: it stayed false for ``seconds``; ``what`` names the thing that was waited for.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what or condition}")
        time.sleep(0.01)
    return found
