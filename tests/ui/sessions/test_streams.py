"""What waits for a page: it is there after a cut of the connection, and forgotten once the page was left, without a word in the log."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import gradio as gr
import httpx
import pytest
from starlette.middleware import Middleware
from waiting import wait_until

from sbert_studio.ui.sessions.streams import OpenStreams, Streams, install_streams


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What the handler of :func:`client` waits for."""
    found = threading.Event()
    yield found
    found.set()


@pytest.fixture
def opened(gate: threading.Event) -> Iterator[tuple[httpx.Client, Streams]]:
    """A page with one event, and what waits for its sessions."""
    with gr.Blocks() as blocks:
        gr.Button().click(lambda: gate.wait(30) and None, None, None)
    blocks.queue()
    streams = install_streams(blocks)
    middleware = {"middleware": [Middleware(OpenStreams, streams=streams)]}
    _, url, _ = blocks.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, app_kwargs=middleware)
    with httpx.Client(base_url=f"{url}gradio_api", timeout=20, trust_env=False) as client:
        yield client, streams
    gate.set()
    blocks.close()


def ask(client: httpx.Client) -> str:
    return str(client.post("/queue/join", json={"data": [], "fn_index": 0, "session_hash": "s"}).raise_for_status().json()["event_id"])


def follow(client: httpx.Client) -> Any:
    return client.stream("GET", "/queue/data?session_hash=s")


def test_of_too_many_sessions_the_first_goes_at_once(opened: tuple[httpx.Client, Streams]) -> None:
    _, streams = opened
    streams.max_size = 2
    for session in "abc":
        streams[session] = session
    assert list(streams) == ["b", "c"]


def test_an_answer_comes_by_the_stream_that_is_opened_after_a_cut(opened: tuple[httpx.Client, Streams], gate: threading.Event) -> None:
    client, streams = opened
    event = ask(client)
    with follow(client) as stream:
        next(stream.iter_lines())
    wait_until(lambda: not streams.open["s"])
    with follow(client) as stream:
        gate.set()
        messages = (json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line.startswith("data: "))
        completed = next(message for message in messages if message["msg"] == "process_completed")
    assert completed["event_id"] == event and completed["success"]


def test_a_stream_that_was_opened_before_the_cut_was_seen_goes_on(opened: tuple[httpx.Client, Streams], gate: threading.Event) -> None:
    client, streams = opened
    event = ask(client)
    with follow(client) as first:
        lines = first.iter_lines()  # kept: the stream is closed with it
        next(lines)
        with follow(client) as second:
            wait_until(lambda: streams.open["s"] == 2)
            lines.close()  # type: ignore[attr-defined]
            first.close()
            wait_until(lambda: streams.open["s"] == 1)
            gate.set()
            assert event in next(line for line in second.iter_lines() if "process_completed" in line)


def test_a_call_after_a_cut_is_not_forgotten_with_those_before_it(opened: tuple[httpx.Client, Streams], gate: threading.Event) -> None:
    client, streams = opened
    first = ask(client)
    with follow(client) as stream:
        next(stream.iter_lines())
    wait_until(lambda: streams._waiting, what="the cut is seen")
    event = ask(client)
    wait_until(lambda: not streams._waiting, what="what was left is forgotten")
    gate.set()
    with follow(client) as stream:
        messages = (json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line.startswith("data: "))
        completed = next(message for message in messages if message["msg"] == "process_completed")
    assert completed["event_id"] == event != first and completed["success"]


def test_streams_of_a_page_that_is_left_are_forgotten_and_log_no_error(
    opened: tuple[httpx.Client, Streams], caplog: pytest.LogCaptureFixture
) -> None:
    client, streams = opened
    logging.getLogger("uvicorn.error").addHandler(caplog.handler)  # which passes nothing on
    try:
        with caplog.at_level(logging.ERROR):
            ask(client)
            with follow(client) as one, follow(client) as other:
                assert one.status_code == other.status_code == 200
                wait_until(lambda: streams.open["s"] == 2)
            wait_until(lambda: "s" not in streams and not streams._waiting, 20)
        assert not caplog.records, caplog.text
    finally:
        logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
