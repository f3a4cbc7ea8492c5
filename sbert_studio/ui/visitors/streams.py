"""What waits to be told to each open page: it outlives a connection that is cut, and a page that closes two streams at once is no error."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any
from urllib.parse import parse_qs

from gradio.utils import LRUCache

# A browser whose connection was cut asks again at once, by itself; a page that was left does not.
_GRACE = 2.0  # seconds
_STREAM = "/queue/data"


class Streams(LRUCache):  # type: ignore[misc]
    """Gradio's messages that wait, by session.

    Gradio forgets a session, and what it has asked for, as soon as a stream of its is cut off. What a page had asked for would then never
    be answered where the browser only opens the stream anew. So it is forgotten some seconds later, and only if no stream is open then.

    Attributes:
        open: how many streams each session has.
    """

    def __init__(self, queue: Any) -> None:
        super().__init__(queue.pending_messages_per_session.max_size)
        self.open: Counter[str] = Counter()
        self._clean = queue.clean_events
        self._waiting: set[asyncio.Task[None]] = set()

    def __delitem__(self, session: str) -> None:
        self._forget_later(session)

    def popitem(self, last: bool = True) -> Any:
        """Remove the session that was used last, or first, at once: there are too many."""
        session = next(reversed(self) if last else iter(self))
        messages = self[session]
        super().__delitem__(session)
        return session, messages

    async def clean_events(self, *, session_hash: str | None = None, event_id: str | None = None) -> None:
        """As the queue's own, which cancels an event, or all of a session; a session's wait."""
        if session_hash:
            self._forget_later(session_hash)
        if event_id:
            await self._clean(event_id=event_id)

    def _forget_later(self, session: str) -> None:
        task = asyncio.get_running_loop().create_task(self._forget(session))
        self._waiting.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._waiting.discard)

    async def _forget(self, session: str) -> None:
        await asyncio.sleep(_GRACE)
        if self.open[session]:
            return
        if session in self:
            super().__delitem__(session)
        await self._clean(session_hash=session)


class OpenStreams:
    """ASGI middleware that counts the streams which each session has open."""

    def __init__(self, app: Any, streams: Streams) -> None:
        self.app, self._open = app, streams.open

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on."""
        is_stream = scope["type"] == "http" and str(scope["path"]).endswith(_STREAM)
        session = parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0] if is_stream else ""
        if not session:
            await self.app(scope, receive, send)
            return
        self._open[session] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._open[session] -= 1
            if not self._open[session]:
                del self._open[session]


def keep_streams(blocks: Any) -> Streams:
    """Have the queue of ``blocks``, made already, keep what waits for a session while its connection is cut.

    Returns:
        what :class:`OpenStreams` counts in.
    """
    queue = blocks._queue
    streams = Streams(queue)
    queue.pending_messages_per_session = streams
    queue.clean_events = streams.clean_events
    return streams
