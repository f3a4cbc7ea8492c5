"""Gradio's sessions stay small, and go once nobody will come back to them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from tiny_studio import studio_at, write_model

from sbert_studio.memory import resident_memory
from sbert_studio.ui.app import launch
from sbert_studio.ui.sessions.state_holder import LeanSessionState


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("sessions")
    with studio_at(folder / "home", write_model(folder / "tiny")) as studio:
        found, _ = launch(studio, "127.0.0.1", 0, False, block=False)
        yield found
        found.close()


def ask(blocks: Any, session: str | None = None) -> None:
    url = blocks.local_url.rstrip("/")
    body = {"data": ["cat dog", "cat", ""], **({"session_hash": session} if session else {})}
    event = httpx.post(f"{url}/gradio_api/call/similarity", json=body, timeout=60).json()["event_id"]
    assert "complete" in httpx.get(f"{url}/gradio_api/call/similarity/{event}", timeout=60).text


def test_a_session_is_small(blocks: Any) -> None:
    gc.collect()
    before = resident_memory()
    kept = [LeanSessionState(blocks) for _ in range(200)]
    assert (resident_memory() - before) / len(kept) < 100_000


def test_single_calls_leave_no_session_behind_and_pages_keep_theirs(blocks: Any) -> None:
    sessions = blocks.app.state_holder
    for _ in range(3):
        ask(blocks)
    assert len(sessions.session_data) >= 3
    sessions["a page"], sessions["a closed page"]
    sessions.opened("a page")
    sessions["a closed page"].is_closed = True
    later = datetime.now() + timedelta(minutes=3)
    assert len(sessions.sweep(later)) >= 3
    assert set(sessions.session_data) == {"a page", "a closed page"}
    sessions.sweep(datetime.now() + timedelta(minutes=11))
    assert set(sessions.session_data) == {"a page"}
    sessions.closed("a page")
    sessions.sweep(later)
    assert not sessions.session_data and not sessions.time_last_used
