"""Gradio's session state, smaller and released earlier.

Gradio copies the configuration of every component for each session (0.6 MB on this page), keeps the last value of each, and makes a session
for every call of the API, of which a thousand stay. The copy serves links to a page's state, which this page does not offer.
"""

from __future__ import annotations

import threading
from copy import copy
from datetime import datetime, timedelta

import gradio as gr
from gradio.state_holder import SessionState, StateHolder

_IDLE = timedelta(minutes=2)
_CLOSED = timedelta(minutes=10)


class LeanSessionState(SessionState):  # type: ignore[misc]
    """State of a session without a copy of the configuration."""

    def __init__(self, blocks: gr.Blocks) -> None:
        self.blocks_config = copy(blocks.default_config)
        self.config_values: dict[int, object] = {}
        self.state_data: dict[int, object] = {}
        self._state_ttl: dict[int, object] = {}
        self.is_closed = False
        self.STATE_TTL_WHEN_CLOSED = int(_CLOSED.total_seconds())

    def __setitem__(self, key: int, value: object) -> None:
        super().__setitem__(key, value)
        self.config_values.clear()

    def _update_config(self, key: int) -> None:
        pass

    def _update_value_in_config(self, key: int, value: object) -> None:
        pass


class SessionHolder(StateHolder):  # type: ignore[misc]
    """Sessions of an app. Those of open pages stay; those of single calls go after two minutes."""

    def __init__(self) -> None:
        super().__init__()
        self._pages: set[str] = set()
        self._guard = threading.Lock()

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = LeanSessionState(self.blocks)
        return super().__getitem__(session_id)

    def opened(self, session_id: str) -> None:
        """Note that a page was opened; it may be idle for hours."""
        with self._guard:
            self._pages.add(session_id)

    def closed(self, session_id: str) -> None:
        """Note that a page's connection ended."""
        with self._guard:
            self._pages.discard(session_id)

    def sweep(self, now: datetime | None = None) -> list[str]:
        """Remove sessions that nobody returns to, and return their ids."""
        now, removed = now or datetime.now(), []
        with self._guard, self.lock:
            for name, used in list(self.time_last_used.items()):
                session = self.session_data.get(name)
                patience = _CLOSED if session is not None and session.is_closed else _IDLE
                if name not in self._pages and now - used > patience:
                    self.session_data.pop(name, None)
                    self.time_last_used.pop(name, None)
                    removed.append(name)
        return removed
