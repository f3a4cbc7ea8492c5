"""Waiting for work in the background."""

from __future__ import annotations

import time
from collections.abc import Callable

from sbert_studio.studio.jobs import JobView


def ended(latest: Callable[[], JobView | None], seconds: float = 30) -> JobView:
    """The job that ``latest`` finds, once it is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        job = latest()
        assert job is not None
        if not job.active:
            return job
        time.sleep(0.05)
    raise AssertionError("it did not end")
