"""A page that is left cuts off all of its streams at once, and the log stays quiet."""

from __future__ import annotations

import logging
import threading
import time

import gradio as gr
import httpx
import pytest

from sbert_studio.ui.visitors.streams import Streams, close_quietly


def test_a_session_is_forgotten_as_often_as_it_is_asked_for() -> None:
    streams = Streams(2)
    for session in "abc":
        streams[session] = session
    assert list(streams) == ["b", "c"]
    del streams["b"], streams["b"]
    assert list(streams) == ["c"]


def test_two_streams_of_one_session_that_are_cut_off_log_no_error(caplog: pytest.LogCaptureFixture) -> None:
    gate = threading.Event()
    with gr.Blocks() as blocks:
        gr.Button().click(lambda: gate.wait(30) and None, None, None)
    blocks.queue()
    close_quietly(blocks)
    _, url, _ = blocks.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    logging.getLogger("uvicorn.error").addHandler(caplog.handler)  # which passes nothing on
    try:
        with caplog.at_level(logging.ERROR), httpx.Client(base_url=f"{url}gradio_api", timeout=20) as client:
            client.post("/queue/join", json={"data": [], "fn_index": 0, "session_hash": "s"}).raise_for_status()
            with client.stream("GET", "/queue/data?session_hash=s") as one, client.stream("GET", "/queue/data?session_hash=s") as other:
                assert one.status_code == other.status_code == 200
                time.sleep(0.5)
            until = time.monotonic() + 20
            while "s" in blocks._queue.pending_messages_per_session and time.monotonic() < until:
                time.sleep(0.05)
            assert "s" not in blocks._queue.pending_messages_per_session
            time.sleep(1)
        assert not caplog.records, caplog.text
    finally:
        logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
        gate.set()
        blocks.close()
