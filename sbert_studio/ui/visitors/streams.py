"""What waits to be told to each open page: a page that closes two streams at once is no error."""

from __future__ import annotations

from typing import Any

from gradio.utils import LRUCache


class Streams(LRUCache):  # type: ignore[misc]
    """Gradio's messages that wait, by session.

    Gradio forgets a session when a stream of its is cut off, and a page that is left cuts off all of its streams: those after the
    first forgot what was forgotten already, which logged a traceback.
    """

    def __delitem__(self, session: str) -> None:
        if session in self:
            super().__delitem__(session)


def close_quietly(blocks: Any) -> None:
    """Let the queue of ``blocks``, made already, forget a session as often as it likes."""
    queue = blocks._queue
    queue.pending_messages_per_session = Streams(queue.pending_messages_per_session.max_size)
