"""Waiting for work in the background."""

from __future__ import annotations

from collections.abc import Callable

from waiting import wait_until

from sbert_studio.services.jobs import JobView


def ended(latest: Callable[[], JobView | None], seconds: float = 30) -> JobView:
    """The job that ``latest`` finds, once it is over."""

    def over() -> JobView | None:
        job = latest()
        assert job is not None
        return None if job.active else job

    found = wait_until(over, seconds, "the end of the job")
    assert found is not None
    return found
