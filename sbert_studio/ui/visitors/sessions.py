"""What Gradio keeps of each session, made small and let go of.

By itself Gradio copies the configuration of every component for each session, 0.6 MB on this page, keeps the last value of each
beside it, and makes a session for every single call of the API: a thousand of them stay. The copy serves links to a page's state,
which this page does not offer.
"""

from __future__ import annotations

import threading
from copy import copy
from datetime import datetime, timedelta
from typing import Any

from gradio.state_holder import SessionState, StateHolder

_IDLE = timedelta(minutes=2)
_CLOSED = timedelta(minutes=10)


class LeanSession(SessionState):  # type: ignore[misc]
    """A session without its copy of the configuration."""

    def __init__(self, blocks: Any) -> None:
        self.blocks_config = copy(blocks.default_config)
        self.config_values: dict[int, Any] = {}
        self.state_data: dict[int, Any] = {}
        self._state_ttl: dict[int, Any] = {}
        self.is_closed = False
        self.STATE_TTL_WHEN_CLOSED = int(_CLOSED.total_seconds())

    def __setitem__(self, key: int, value: Any) -> None:
        super().__setitem__(key, value)
        self.config_values.clear()

    def _update_config(self, key: int) -> None:
        pass

    def _update_value_in_config(self, key: int, value: Any) -> None:
        pass


class Sessions(StateHolder):  # type: ignore[misc]
    """The sessions of an app. Those of pages stay while the page is open; those of single calls go after two minutes."""

    def __init__(self) -> None:
        super().__init__()
        self._pages: set[str] = set()
        self._guard = threading.Lock()

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = LeanSession(self.blocks)
        return super().__getitem__(session_id)

    def opened(self, session_id: str) -> None:
        """A page was opened, which may be looked at for hours without a word."""
        with self._guard:
            self._pages.add(session_id)

    def closed(self, session_id: str) -> None:
        """Its connection ended."""
        with self._guard:
            self._pages.discard(session_id)

    def sweep(self, now: datetime | None = None) -> list[str]:
        """Let go of sessions that nobody will come back to; their names."""
        now, gone = now or datetime.now(), []
        with self._guard, self.lock:
            for name, used in list(self.time_last_used.items()):
                session = self.session_data.get(name)
                patience = _CLOSED if session is not None and session.is_closed else _IDLE
                if name not in self._pages and now - used > patience:
                    self.session_data.pop(name, None)
                    self.time_last_used.pop(name, None)
                    gone.append(name)
        return gone
