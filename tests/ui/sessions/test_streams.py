"""What waits for a page: it is there after a cut of the connection, and forgotten once the page was left, without a word in the log."""

from __future__ import annotations

import json
import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import gradio as gr
import httpx
import pytest
from starlette.middleware import Middleware
from waiting import wait_until

from sbert_studio.ui.sessions.streams import OpenStreams, Streams, install_streams

GATES: defaultdict[str, threading.Event] = defaultdict(threading.Event)


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple[httpx.Client, Streams]]:
    """A page with one event, which waits for the gate of its session, and what waits for its sessions."""
    with gr.Blocks() as blocks:
        session = gr.Textbox()
        gr.Button().click(lambda name: GATES[name].wait(30) and None, session, None)
    blocks.queue(default_concurrency_limit=None)
    streams = install_streams(blocks)
    middleware = {"middleware": [Middleware(OpenStreams, streams=streams)]}
    _, url, _ = blocks.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, app_kwargs=middleware)
    with httpx.Client(base_url=f"{url}gradio_api", timeout=20, trust_env=False) as client:
        yield client, streams
    for gate in GATES.values():
        gate.set()
    blocks.close()


@pytest.fixture
def session(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def completed(stream: httpx.Response) -> Any:
    messages = (json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line.startswith("data: "))
    return next(message for message in messages if message["msg"] == "process_completed")


def ask(client: httpx.Client, session: str) -> str:
    body = {"data": [session], "fn_index": 0, "session_hash": session}
    return str(client.post("/queue/join", json=body).raise_for_status().json()["event_id"])


def follow(client: httpx.Client, session: str) -> Any:
    return client.stream("GET", f"/queue/data?session_hash={session}")


def test_of_too_many_sessions_the_first_goes_at_once() -> None:
    with gr.Blocks() as blocks:
        pass
    blocks.queue()
    streams = Streams(blocks._queue)
    streams.max_size = 2
    for session in "abc":
        streams[session] = session
    assert list(streams) == ["b", "c"]


def test_an_answer_comes_by_the_stream_that_is_opened_after_a_cut(opened: tuple[httpx.Client, Streams], session: str) -> None:
    client, streams = opened
    event = ask(client, session)
    with follow(client, session) as stream:
        next(stream.iter_lines())
    wait_until(lambda: not streams.open[session])
    with follow(client, session) as stream:
        GATES[session].set()
        found = completed(stream)
    assert found["event_id"] == event and found["success"]


def test_a_stream_that_was_opened_before_the_cut_was_seen_goes_on(opened: tuple[httpx.Client, Streams], session: str) -> None:
    client, streams = opened
    event = ask(client, session)
    with follow(client, session) as first:
        lines = first.iter_lines()  # kept: the stream is closed with it
        next(lines)
        with follow(client, session) as second:
            wait_until(lambda: streams.open[session] == 2)
            lines.close()  # type: ignore[attr-defined]
            first.close()
            wait_until(lambda: streams.open[session] == 1)
            GATES[session].set()
            assert completed(second)["event_id"] == event


def test_a_call_after_a_cut_is_not_forgotten_with_those_before_it(opened: tuple[httpx.Client, Streams], session: str) -> None:
    client, streams = opened
    first = ask(client, session)
    with follow(client, session) as stream:
        next(stream.iter_lines())
    wait_until(lambda: streams._waiting, what="the cut is seen")
    event = ask(client, session)
    wait_until(lambda: not streams._waiting, what="what was left is forgotten")
    GATES[session].set()
    with follow(client, session) as stream:
        found = completed(stream)
    assert found["event_id"] == event != first and found["success"]


def test_streams_of_a_page_that_is_left_are_forgotten_and_log_no_error(
    opened: tuple[httpx.Client, Streams], session: str, caplog: pytest.LogCaptureFixture
) -> None:
    client, streams = opened
    logging.getLogger("uvicorn.error").addHandler(caplog.handler)  # which passes nothing on
    try:
        with caplog.at_level(logging.ERROR):
            ask(client, session)
            with follow(client, session) as one, follow(client, session) as other:
                assert one.status_code == other.status_code == 200
                wait_until(lambda: streams.open[session] == 2)
            wait_until(lambda: session not in streams and not streams._waiting, 20)
        assert not caplog.records, caplog.text
    finally:
        logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
