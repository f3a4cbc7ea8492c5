"""Dynamic batching: requests that wait at the same time are computed together, by one worker thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import StudioError

Compute = Callable[[Sequence[Any]], np.ndarray]
"""Maps items to an array with one row per item, such as ``Encoder.encode`` or ``PairScorer.predict``."""

_SMOOTHING = 0.2  # weight of the latest batch in the average rate


class ServerStoppingError(StudioError):
    """The server stopped before it computed the request."""

    def __init__(self) -> None:
        super().__init__("the server is stopping", "send the request to another server, or again later")


class _QueuedRequest:
    """A request that is computed in one or several batches, longest items first.

    Args:
        compute: jobs with the same function can share a batch.
        items: texts or pairs of texts.
        sizes: number of tokens of each item.
    """

    def __init__(self, compute: Compute, items: Sequence[Any], sizes: Sequence[int]) -> None:
        self.compute, self.items, self.sizes = compute, items, sizes
        self.future: Future[np.ndarray] = Future()
        self.waiting = deque(sorted(range(len(items)), key=lambda index: -sizes[index]))
        self.waiting_tokens = sum(sizes)
        self.missing = len(items)
        self.values: np.ndarray | None = None

    def take(self, budget: int) -> list[int]:
        """Return the next items that fit into ``budget`` tokens."""
        taken = []
        while self.waiting and self.sizes[self.waiting[0]] <= budget:
            taken.append(self.waiting.popleft())
            budget -= self.sizes[taken[-1]]
        self.waiting_tokens -= sum(self.sizes[index] for index in taken)
        return taken

    def put(self, indices: Sequence[int], values: np.ndarray) -> None:
        """Store the values of some items; the last ones complete the request."""
        if self.values is None:
            self.values = np.empty((len(self.items), *values.shape[1:]), values.dtype)
        self.values[list(indices)] = values
        self.missing -= len(indices)
        if not self.missing:
            with suppress(InvalidStateError):  # cancelled in the meantime
                self.future.set_result(self.values)

    def fail(self, error: BaseException) -> None:
        self.waiting.clear()
        with suppress(InvalidStateError):  # cancelled in the meantime
            self.future.set_exception(error)


class Batcher:
    """Queue of requests and the thread that computes them.

    A batch takes items of as many waiting requests as its token budget allows, so no request waits for a batch to fill up. A request that
    is larger than a batch goes to the end of the queue after each one: a short request never waits for a long one as a whole.

    Args:
        budget: tokens per batch.
        observe: called after each batch with its number of items, tokens and seconds.
    """

    def __init__(self, budget: int, observe: Callable[[int, int, float], None] = lambda *_: None) -> None:
        self._budget, self._observe = budget, observe
        self._jobs: deque[_QueuedRequest] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._rate = 0.0  # tokens per second
        self._thread = threading.Thread(target=self._work, name="batcher", daemon=True)
        self._thread.start()

    def submit(self, compute: Compute, items: Sequence[Any], sizes: Sequence[int]) -> Future[np.ndarray]:
        """Queue a request; cancelling the future removes what was not computed yet.

        Args:
            compute: called in the worker thread with items of all requests that have the same function.
            items: at least one text, or pair of texts.
            sizes: number of tokens of each item.
        """
        job = _QueuedRequest(compute, items, sizes)
        with self._changed:
            if self._closed:
                raise ServerStoppingError
            self._jobs.append(job)
            self._changed.notify()
        return job.future

    @property
    def waiting(self) -> tuple[int, int]:
        """Number of waiting requests and of their tokens."""
        with self._changed:
            jobs = [job for job in self._jobs if not job.future.cancelled()]
        return len(jobs), sum(job.waiting_tokens for job in jobs)

    def seconds_left(self) -> float:
        """Estimate the time until the waiting requests are computed."""
        return self.waiting[1] / self._rate if self._rate else 0.0

    def close(self) -> None:
        """Refuse new requests, fail those that wait, and end the thread after its current batch."""
        with self._changed:
            self._closed = True
            for job in self._jobs:
                job.fail(ServerStoppingError())
            self._jobs.clear()
            self._changed.notify()
        self._thread.join(5)

    def _work(self) -> None:
        while batch := self._next_batch():
            start = time.perf_counter()
            parts = [(job, indices) for job, indices in batch if not job.future.cancelled()]
            try:
                values = batch[0][0].compute([job.items[index] for job, indices in parts for index in indices]) if parts else None
            except Exception as error:
                for job, _ in parts:
                    job.fail(error)
                continue
            done = 0
            for job, indices in parts:
                assert values is not None
                job.put(indices, values[done : done + len(indices)])
                done += len(indices)
            tokens = sum(job.sizes[index] for job, indices in parts for index in indices)
            seconds = time.perf_counter() - start
            if parts:
                rate = tokens / max(seconds, 1e-6)
                self._rate = rate if not self._rate else (1 - _SMOOTHING) * self._rate + _SMOOTHING * rate
                self._observe(done, tokens, seconds)

    def _next_batch(self) -> list[tuple[_QueuedRequest, list[int]]]:
        """Wait for work and return items of requests with the function of the first one; empty once closed."""
        with self._changed:
            while True:
                self._jobs = deque(job for job in self._jobs if job.waiting and not job.future.cancelled())
                if self._jobs or self._closed:
                    break
                self._changed.wait()
            if self._closed:
                return []
            first, budget = self._jobs[0], self._budget
            batch, unfinished = [], []
            for job in [job for job in self._jobs if job.compute == first.compute]:
                # The first request always progresses, even if its longest text exceeds the budget.
                taken = job.take(max(budget, job.sizes[job.waiting[0]]) if job is first else budget)
                budget -= sum(job.sizes[index] for index in taken)
                if taken:
                    batch.append((job, taken))
                    unfinished += [job] if job.waiting else []
                if budget <= 0:
                    break
            self._jobs = deque([*(job for job in self._jobs if job.waiting and job not in unfinished), *unfinished])
            return batch
