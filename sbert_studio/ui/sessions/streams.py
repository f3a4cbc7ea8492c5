"""Response streams that survive a lost connection, and cancellation of abandoned calls."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Coroutine
from urllib.parse import parse_qs

import gradio as gr
from gradio.queueing import Event, Queue
from gradio.route_utils import FnIndexInferError
from gradio.server_messages import ProcessCompletedMessage
from gradio.utils import LRUCache, error_payload

from .middleware import App, Receive, Scope, Send
from .tasks import TASKS

ANSWER_TIMEOUT = 60.0
"""Seconds after which a call is stopped if its response was not requested."""
ABANDONED = (
    "this was stopped, as nobody waited for the answer. "
    f"hint: ask for the answer within {ANSWER_TIMEOUT:g} seconds of the call, and stay connected until it comes"
)
"""Response to a call that was stopped because it was abandoned."""
# A browser reconnects immediately after a lost connection; a closed page does not.
_GRACE = 2.0  # seconds
_STREAM = "/queue/data"
_ANSWER = re.compile(r"/gradio_api/call/.+/([^/]+)/?$")  # the response to one call, by its event id


class Streams(LRUCache):  # type: ignore[misc]
    """Gradio's pending messages by session.

    Gradio drops a session and its pending calls as soon as one of its streams is interrupted, so that the calls are never answered when the
    browser reconnects. Here, a session is dropped a few seconds later, and only if it has no open stream. Gradio drops responses but lets
    their handlers continue; here they are stopped, as are calls for which no stream was ever opened.

    Attributes:
        open: number of open streams by session.
    """

    def __init__(self, queue: Queue, timeout: float = ANSWER_TIMEOUT) -> None:
        super().__init__(queue.pending_messages_per_session.max_size)
        self.open: Counter[str] = Counter()
        self._queue, self._seconds = queue, timeout
        self._clean, self._push, self._remove = queue.clean_events, queue.push, queue.remove_from_queue
        self._timers: dict[str, dict[str, asyncio.TimerHandle]] = {}
        self._waiting: set[asyncio.Task[None]] = set()

    def __delitem__(self, session: str) -> None:
        self._forget_later(session)

    def popitem(self, last: bool = True) -> tuple[str, object]:
        """Remove the most or least recently used session immediately, because there are too many."""
        session = next(reversed(self) if last else iter(self))
        messages = self[session]
        super().__delitem__(session)
        return session, messages

    async def push(self, *args: object, **named: object) -> tuple[bool, str, str]:
        """Accept a call, like the queue; it is stopped if its response is not requested.

        Raises:
            FnIndexInferError: there is no such event.
        """
        number = getattr(named.get("body"), "fn_index", None)
        if number is not None and number not in self._queue.blocks.fns:
            raise FnIndexInferError(f"there is no event {number}")
        found: tuple[bool, str, str] = await self._push(*args, **named)
        accepted, event_id, _ = found
        if accepted and (event := self._queue.event_ids_to_events.get(event_id)) is not None:
            self._stop_later(event)
        return found

    async def clean_events(self, *, session_hash: str | None = None, event_id: str | None = None) -> None:
        """Cancel one event immediately, as the queue does, or schedule cancellation of all events of a session."""
        if session_hash:
            self._forget_later(session_hash)
        if event_id:
            await self._clean(event_id=event_id)

    async def remove_from_queue(self, event_id: str) -> None:
        """Cancel a call at the client's request, as Gradio's queue does, and stop its task."""
        TASKS.stop_event(event_id, also_later=event_id in self._queue.event_ids_to_events)
        await self._remove(event_id)

    async def stop(self, event_id: str) -> None:
        """Stop an abandoned call; a later request for its response gets :data:`ABANDONED`."""
        TASKS.stop_event(event_id)
        event = self._queue.event_ids_to_events.get(event_id)
        if event is None or event not in self._queue.event_queue_per_concurrency_id[event.concurrency_id].queue:
            return  # a running handler responds itself
        await self._remove(event_id)
        if event_id not in self._queue.event_ids_to_events and event.session_hash in self:
            output = error_payload(gr.Error(ABANDONED, print_exception=False), False)
            self._queue.send_message(event, ProcessCompletedMessage(output=output, success=False))

    def session_of(self, event_id: str) -> str:
        """Return the session of a call; for a call without a session, the id of the call."""
        event = self._queue.event_ids_to_events.get(event_id)
        if event is not None:
            return str(event.session_hash)
        sessions = self._queue.pending_event_ids_session
        return next((session for session, events in sessions.items() if event_id in events), event_id)

    def opened(self, session: str) -> None:
        self.open[session] += 1
        for timer in self._timers.pop(session, {}).values():
            timer.cancel()

    def closed(self, session: str) -> None:
        self.open[session] -= 1
        if not self.open[session]:
            del self.open[session]
            for event in self._unfinished(session):
                self._stop_later(event)

    def _unfinished(self, session: str) -> list[Event]:
        return [event for event in self._queue.event_ids_to_events.values() if event.session_hash == session]

    def _stop_later(self, event: Event) -> None:
        if self.open[event.session_hash] or event._id in self._timers.get(event.session_hash, {}):
            return
        timers = self._timers.setdefault(event.session_hash, {})
        timers[event._id] = asyncio.get_running_loop().call_later(self._seconds, self._stop_unanswered, event)

    def _stop_unanswered(self, event: Event) -> None:
        timers = self._timers.get(event.session_hash, {})
        timers.pop(event._id, None)
        if not timers:
            self._timers.pop(event.session_hash, None)
        if event._id in self._queue.event_ids_to_events:  # otherwise its response is ready
            self._later(self.stop(event._id))

    def _later(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._waiting.add(task)  # the event loop only keeps weak references to tasks
        task.add_done_callback(self._waiting.discard)

    def _forget_later(self, session: str) -> None:
        self._later(self._forget(session, {event._id for event in self._unfinished(session)}))

    async def _forget(self, session: str, left: set[str]) -> None:
        await asyncio.sleep(_GRACE)
        if self.open[session]:
            return
        for event_id in left:
            TASKS.stop_event(event_id)
        if any(event._id not in left for event in self._unfinished(session)):
            for event_id in left:  # another stream is about to be opened: MCP callers share a session
                await self._clean(event_id=event_id)
            return
        if session in self:
            super().__delitem__(session)
        await self._clean(session_hash=session)


class OpenStreams:
    """ASGI middleware that counts the open streams of each session."""

    def __init__(self, app: App, streams: Streams) -> None:
        self.app, self._streams = app, streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._session(scope) if scope["type"] == "http" and scope["method"] == "GET" else ""
        if not session:
            await self.app(scope, receive, send)
            return
        self._streams.opened(session)
        try:
            await self.app(scope, receive, send)
        finally:
            self._streams.closed(session)

    def _session(self, scope: Scope) -> str:
        path = str(scope["path"])
        if path.endswith(_STREAM):
            return str(parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0])
        answer = _ANSWER.search(path)
        return str(self._streams.session_of(answer[1])) if answer else ""


def install_streams(blocks: gr.Blocks, timeout: float = ANSWER_TIMEOUT) -> Streams:
    """Replace the pending messages of a page's queue with :class:`Streams`. ``timeout``: seconds until an unrequested call is stopped."""
    queue = blocks._queue
    streams = Streams(queue, timeout)
    queue.pending_messages_per_session = streams
    queue.clean_events, queue.push, queue.remove_from_queue = streams.clean_events, streams.push, streams.remove_from_queue
    return streams
