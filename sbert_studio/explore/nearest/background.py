"""What is made while others are answered: one thing at a time, in a thread that ends when it is asked to."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from ...data.progress import StoppedError, stoppable

log = logging.getLogger(__name__)
_PATIENCE = 5.0  # seconds that closing waits for the work's next step


class Background:
    """Work by key, each done once; what fails is logged and not tried again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._to_come: set[str] = set()
        self._waiting: queue.SimpleQueue[tuple[str, Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    def want(self, key: str, work: Callable[[], None]) -> bool:
        """Have ``work`` done some time, unless it was wanted before; :meth:`forget` allows it once more.

        Returns:
            Whether it is still to come, or under way.
        """
        with self._lock:
            if key in self._seen or self._ending.is_set():
                return key in self._to_come
            self._seen.add(key)
            self._to_come.add(key)
            self._waiting.put((key, work))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="indexes", daemon=True)
                self._thread.start()
            return True

    def forget(self, key: str) -> None:
        """What is wanted again under this key is done again."""
        with self._lock:
            self._seen.discard(key)

    def close(self) -> None:
        """End what is under way at its next step; nothing else begins."""
        with self._lock:
            self._ending.set()
            thread = self._thread
        self._waiting.put(None)
        if thread is not None:
            thread.join(_PATIENCE)

    def _run(self) -> None:
        while (wanted := self._waiting.get()) is not None and not self._ending.is_set():
            key, work = wanted
            try:
                with stoppable(self._ending.is_set):
                    work()
            except StoppedError:
                return
            except Exception:
                log.exception("an index could not be built; search stays exact")
            finally:
                with self._lock:
                    self._to_come.discard(key)
