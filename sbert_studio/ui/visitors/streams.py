"""What waits to be told to each caller: it outlives a connection that is cut, and work that nobody waits for any more ends."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Coroutine
from typing import Any
from urllib.parse import parse_qs

import gradio as gr
from gradio.server_messages import ProcessCompletedMessage
from gradio.utils import LRUCache, error_payload

from .visits import VISITS

UNHEARD = 60.0
"""Seconds after which a call ends whose answer nobody has asked for."""
ABANDONED = (
    "this was stopped, as nobody waited for the answer. "
    f"hint: ask for the answer within {UNHEARD:g} seconds of the call, and stay connected until it comes"
)
"""What is answered to a call whose work was stopped because nobody waited for it."""
# A browser whose connection was cut asks again at once, by itself; a page that was left does not.
_GRACE = 2.0  # seconds
_STREAM = "/queue/data"
_ANSWER = re.compile(r"/gradio_api/call/.+/([^/]+)/?$")  # where the answer of one call is asked for, by the id of its event


class Streams(LRUCache):  # type: ignore[misc]
    """Gradio's messages that wait, by session.

    Gradio forgets a session, and what it has asked for, as soon as a stream of its is cut off. What a page had asked for would then never
    be answered where the browser only opens the stream anew. So it is forgotten some seconds later, and only if no stream is open then.
    Gradio then lets go of the answers, but its handlers run on: their work is stopped here. So is that of calls to which no stream was ever
    opened.

    Attributes:
        open: how many streams each session has.
    """

    def __init__(self, queue: Any, unheard: float = UNHEARD) -> None:
        super().__init__(queue.pending_messages_per_session.max_size)
        self.open: Counter[str] = Counter()
        self._queue, self._seconds = queue, unheard
        self._clean, self._push, self._remove = queue.clean_events, queue.push, queue.remove_from_queue
        self._unheard: dict[str, dict[str, asyncio.TimerHandle]] = {}
        self._waiting: set[asyncio.Task[None]] = set()

    def __delitem__(self, session: str) -> None:
        self._forget_later(session)

    def popitem(self, last: bool = True) -> Any:
        """Remove the session that was used last, or first, at once: there are too many."""
        session = next(reversed(self) if last else iter(self))
        messages = self[session]
        super().__delitem__(session)
        return session, messages

    async def push(self, *args: Any, **named: Any) -> Any:
        """As the queue's own, which takes a call; it ends if nobody asks for its answer."""
        found = await self._push(*args, **named)
        accepted, event_id, _ = found
        if accepted and (event := self._queue.event_ids_to_events.get(event_id)) is not None:
            self._expect_listener(event)
        return found

    async def clean_events(self, *, session_hash: str | None = None, event_id: str | None = None) -> None:
        """As the queue's own, which cancels an event, or all of a session; a session's wait."""
        if session_hash:
            self._forget_later(session_hash)
        if event_id:
            await self._clean(event_id=event_id)

    async def remove_from_queue(self, event_id: str) -> None:
        """As the queue's own, by which a client cancels a call; its work ends where it has begun."""
        VISITS.stop_event(event_id, also_later=event_id in self._queue.event_ids_to_events)  # which need not be an id at all
        await self._remove(event_id)

    async def end(self, event_id: str) -> None:
        """End a call that nobody waits for. Whoever still asks for its answer is told so."""
        VISITS.stop_event(event_id)
        event = self._queue.event_ids_to_events.get(event_id)
        if event is None or event not in self._queue.event_queue_per_concurrency_id[event.concurrency_id].queue:
            return  # a handler that runs answers by itself
        await self._remove(event_id)
        if event_id not in self._queue.event_ids_to_events and event.session_hash in self:
            output = error_payload(gr.Error(ABANDONED, print_exception=False), False)
            self._queue.send_message(event, ProcessCompletedMessage(output=output, success=False))

    def session_of(self, event_id: str) -> str:
        """Return the session whose stream brings the answer of a call; that of a call which named none is its own id."""
        event = self._queue.event_ids_to_events.get(event_id)
        if event is not None:
            return str(event.session_hash)
        sessions = self._queue.pending_event_ids_session
        return next((session for session, events in sessions.items() if event_id in events), event_id)

    def opened(self, session: str) -> None:
        """Count a stream of the session; its calls are waited for."""
        self.open[session] += 1
        for timer in self._unheard.pop(session, {}).values():
            timer.cancel()

    def closed(self, session: str) -> None:
        """Count a stream of the session no more."""
        self.open[session] -= 1
        if not self.open[session]:
            del self.open[session]
            for event in self._unfinished(session):
                self._expect_listener(event)

    def _unfinished(self, session: str) -> list[Any]:
        return [event for event in self._queue.event_ids_to_events.values() if event.session_hash == session]

    def _expect_listener(self, event: Any) -> None:
        """End the call later, unless a stream of its session is open or opened meanwhile."""
        if self.open[event.session_hash] or event._id in self._unheard.get(event.session_hash, {}):
            return
        timers = self._unheard.setdefault(event.session_hash, {})
        timers[event._id] = asyncio.get_running_loop().call_later(self._seconds, self._end_unheard, event)

    def _end_unheard(self, event: Any) -> None:
        timers = self._unheard.get(event.session_hash, {})
        timers.pop(event._id, None)
        if not timers:
            self._unheard.pop(event.session_hash, None)
        if event._id in self._queue.event_ids_to_events:  # else its answer waits to be asked for
            self._later(self.end(event._id))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._waiting.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._waiting.discard)

    def _forget_later(self, session: str) -> None:
        self._later(self._forget(session, {event._id for event in self._unfinished(session)}))

    async def _forget(self, session: str, left: set[str]) -> None:
        """Let go of the session's calls ``left`` when its stream was cut; of the session where it has asked for nothing since."""
        await asyncio.sleep(_GRACE)
        if self.open[session]:
            return
        for event_id in left:
            VISITS.stop_event(event_id)
        if any(event._id not in left for event in self._unfinished(session)):
            for event_id in left:  # the stream of the others is about to be opened: MCP's callers share a session
                await self._clean(event_id=event_id)
            return
        if session in self:
            super().__delitem__(session)
        await self._clean(session_hash=session)


class OpenStreams:
    """ASGI middleware that counts the streams which each session has open."""

    def __init__(self, app: Any, streams: Streams) -> None:
        self.app, self._streams = app, streams

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on."""
        session = self._session(scope) if scope["type"] == "http" and scope["method"] == "GET" else ""
        if not session:
            await self.app(scope, receive, send)
            return
        self._streams.opened(session)
        try:
            await self.app(scope, receive, send)
        finally:
            self._streams.closed(session)

    def _session(self, scope: Any) -> str:
        """Return the session whose messages the request asks for; empty if it asks for none."""
        path = str(scope["path"])
        if path.endswith(_STREAM):
            return str(parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0])
        answer = _ANSWER.search(path)
        return str(self._streams.session_of(answer[1])) if answer else ""


def keep_streams(blocks: Any, unheard: float = UNHEARD) -> Streams:
    """Have the queue of ``blocks``, made already, keep what waits for a session while its connection is cut, and end what nobody waits for.

    Args:
        unheard: seconds after which a call ends whose answer nobody has asked for.

    Returns:
        what :class:`OpenStreams` counts in.
    """
    queue = blocks._queue
    streams = Streams(queue, unheard)
    queue.pending_messages_per_session = streams
    queue.clean_events, queue.push, queue.remove_from_queue = streams.clean_events, streams.push, streams.remove_from_queue
    return streams
