"""The work of a caller that has gone ends, whichever way the call came, and no other caller's with it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from hub_server import HubServer, Repository, hub_server
from tiny_studio import quick, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.progress import StoppedError, checkpoint
from sbert_studio.services import Studio
from sbert_studio.ui.app import launch
from sbert_studio.ui.sessions.streams import ANSWER_TIMEOUT, Streams, install_streams
from sbert_studio.ui.sessions.tasks import TASKS, TaskRegistry

SECONDS = 20  # in which work is to end whose caller has gone; by itself it would go on for longer
UNHEARD_HERE = 0.6  # seconds
GRACE = 1.0  # seconds in which a caller is to ask again after a cut; more in the program


class Served:
    """A page whose comparison of two texts takes until ``gates[first text]`` is set.

    Attributes:
        url: of its API; begun, stopped: the first texts of the comparisons that have begun, and of those that were stopped.
    """

    def __init__(self, studio: Studio, url: str, streams: Streams) -> None:
        self.studio, self.page, self.streams = studio, url.rstrip("/"), streams
        self.url = f"{self.page}/gradio_api"
        self.begun: list[str] = []
        self.stopped: list[str] = []
        self.gates: defaultdict[str, threading.Event] = defaultdict(threading.Event)
        self._original = studio.similarity.compare
        studio.similarity.compare = self._similarity  # type: ignore[method-assign]

    def _similarity(self, a: str, b: str, model: str | None = None) -> Any:
        self.begun.append(a)
        try:
            while not self.gates[a].wait(0.05):
                checkpoint()
        except StoppedError:
            self.stopped.append(a)
            raise
        return self._original(a, b, model)

    def call(self, text: str) -> str:
        """Begin a call as docs/api.md shows it, and return the id of its event."""
        answer = httpx.post(f"{self.url}/call/similarity", json={"data": [text, "dog", ""]}).raise_for_status()
        return str(answer.json()["event_id"])

    def listen(self, event: str) -> Any:
        return httpx.stream("GET", f"{self.url}/call/similarity/{event}", timeout=30)

    def answer(self, event: str) -> str:
        """Ask for the answer of a call, and wait for it."""
        return httpx.get(f"{self.url}/call/similarity/{event}", timeout=30).text

    def mcp(self, text: str, **meta: Any) -> Any:
        """Call a tool as an MCP client does."""
        arguments = {"name": "similarity", "arguments": {"a": text, "b": "dog", "model": ""}, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
        headers = {"Accept": "application/json, text/event-stream"}
        return httpx.stream("POST", f"{self.url}/mcp/", json=body, headers=headers, timeout=30)

    @contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Give calls that are made meanwhile another timeout, so that a slow machine opens their streams in time."""
        before, self.streams._seconds = self.streams._seconds, seconds
        yield
        self.streams._seconds = before

    def is_untimed(self, *events: str) -> bool:
        """Tell if no timeout of these calls is running. A call without a session has one of its own, named by its id."""
        return not self.streams._timers.keys() & set(events)

    def waits(self, text: str) -> bool:
        """Tell if the comparison was begun; wait for it."""
        return bool(wait_until(lambda: text in self.begun, 20, f"{text} begins"))


@contextmanager
def serving(home: Path, model: Path, unheard: float) -> Iterator[Served]:
    made: list[Streams] = []

    def install(blocks: Any) -> Streams:
        made.append(install_streams(blocks, unheard))
        return made[0]

    with studio_at(home, model) as studio, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sbert_studio.ui.app.install_streams", install)
        patch.setattr("sbert_studio.ui.sessions.streams._GRACE", GRACE)
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False, mcp=True)
        served = Served(studio, url, made[0])
        yield served
        for gate in served.gates.values():
            gate.set()
        blocks.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("home"), model_folder, ANSWER_TIMEOUT) as found:
        yield found


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Served]:
    """A page that waits for so short a time until somebody asks for an answer."""
    with serving(tmp_path_factory.mktemp("home"), model_folder, UNHEARD_HERE) as found:
        yield found


def cut_http(served: Served, text: str) -> None:
    with served.listen(served.call(text)):
        served.waits(text)


def cut_queue(served: Served, text: str) -> None:
    """As gradio_client asks, whose process is killed; without its heartbeat."""
    number = next(one["id"] for one in httpx.get(f"{served.page}/config").json()["dependencies"] if one["api_name"] == "similarity")
    body = {"data": [text, "dog", ""], "fn_index": number, "session_hash": text}
    httpx.post(f"{served.url}/queue/join", json=body).raise_for_status()
    with httpx.stream("GET", f"{served.url}/queue/data", params={"session_hash": text}, timeout=30):
        served.waits(text)


def cut_direct(served: Served, text: str) -> None:
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{served.url}/run/similarity", json={"data": [text, "dog", ""]}, timeout=2)
    served.waits(text)


def cut_mcp(served: Served, text: str) -> None:
    with served.mcp(text):
        served.waits(text)


def cut_mcp_with_progress(served: Served, text: str) -> None:
    with served.mcp(text, progressToken="one"):
        served.waits(text)


def cancel(served: Served, text: str) -> None:
    job = Client(served.page, verbose=False).submit(text, "dog", "", api_name="/similarity")
    served.waits(text)
    job.cancel()


def test_work_ends_once_its_caller_has_gone(served: Served) -> None:
    """Three callers at a time, as the server compares so many texts at once."""
    ways = (cut_http, cut_queue, cut_direct, cut_mcp, cut_mcp_with_progress, cancel)
    with ThreadPoolExecutor(3) as pool:

        def leave(way: Callable[[Served, str], None]) -> None:
            way(served, way.__name__)
            wait_until(lambda: way.__name__ in served.stopped, SECONDS, f"the work ends after {way.__name__}")

        for future in [pool.submit(leave, way) for way in ways]:
            future.result()


def test_a_caller_that_stays_gets_an_answer_whoever_leaves(served: Served) -> None:
    """All callers of MCP share one session of Gradio's."""
    answers: list[str] = []

    def stay() -> None:
        with served.mcp("mcp stays") as lines:
            answers.append(lines.read().decode())

    staying = threading.Thread(target=stay)
    staying.start()
    with served.listen(served.call("http stays")) as lines:
        assert served.waits("mcp stays") and served.waits("http stays")
        for leave in (cut_http, cut_mcp):
            leave(served, f"other {leave.__name__}")
            wait_until(lambda: f"other {leave.__name__}" in served.stopped, SECONDS, "the work ends")  # noqa: B023
        for gate in ("mcp stays", "http stays"):
            served.gates[gate].set()
        assert '"cosine"' in lines.read().decode()
    staying.join(20)
    assert not {"mcp stays", "http stays"} & set(served.stopped)
    assert len(answers) == 1 and "cosine" in answers[0] and '"isError":false' in answers[0]


def test_an_answer_comes_to_who_asks_again_after_a_cut(served: Served) -> None:
    event = served.call("cut once")
    with served.listen(event):
        served.waits("cut once")
    with served.listen(event) as lines:
        time.sleep(GRACE + 0.5)
        served.gates["cut once"].set()
        assert '"cosine"' in lines.read().decode()


def test_work_ends_whose_answer_is_never_asked_for_and_who_asks_late_is_told(impatient: Served) -> None:
    event = impatient.call("never")
    impatient.waits("never")
    wait_until(lambda: "never" in impatient.stopped, SECONDS, "the work ends")
    late = impatient.answer(event)
    assert "event: error" in late and "nobody waited" in late and f"within {ANSWER_TIMEOUT:g} seconds" in late


def test_work_that_is_waited_for_goes_on_for_longer(impatient: Served) -> None:
    with impatient.patience(30):
        event = impatient.call("heard")
    with impatient.listen(event) as lines:
        impatient.waits("heard")
        wait_until(lambda: impatient.is_untimed(event), 20, "an open stream ends the timeout")
        impatient.gates["heard"].set()
        assert '"cosine"' in lines.read().decode()


def test_an_answer_that_is_ready_stays(impatient: Served) -> None:
    impatient.gates["ready"].set()
    with impatient.patience(2):
        event = impatient.call("ready")
    impatient.waits("ready")
    wait_until(lambda: impatient.is_untimed(event), 20, "the timeout is over")
    assert '"cosine"' in impatient.answer(event)


def test_a_call_in_the_queue_is_not_begun_where_nobody_waits_for_it(impatient: Served) -> None:
    first = [f"first {number}" for number in range(4)]
    with impatient.patience(60):
        events = [impatient.call(text) for text in first]
    listening = [threading.Thread(target=impatient.answer, args=(event,)) for event in events]
    for thread in listening:
        thread.start()
    assert all(impatient.waits(text) for text in first), "so many run at the same time"
    wait_until(lambda: impatient.is_untimed(*events), 20, "all streams are open")
    left, never = impatient.call("left"), impatient.call("queued")
    with impatient.listen(left) as lines:
        assert lines.status_code == 200
    wait_until(lambda: not impatient.streams.open.get(left), 20, "the stream is seen to be closed")
    wait_until(lambda: impatient.is_untimed(left, never) and not impatient.streams._waiting, 20, "both calls are stopped")
    for text in (*first, "left", "queued"):
        impatient.gates[text].set()
    for thread in listening:
        thread.join(20)
    late = impatient.answer(never)
    assert "event: error" in late and "nobody waited" in late
    assert not {"left", "queued"} & set(impatient.begun)


def test_a_training_outlives_its_caller(impatient: Served, tmp_path: Path) -> None:
    studio, settings = impatient.studio, json.dumps(quick(epochs=900, evaluations_per_epoch=1))
    file = write_pairs(tmp_path / "pairs.csv")
    with file.open("rb") as content:
        path = httpx.post(f"{impatient.url}/upload", files={"files": content}).raise_for_status().json()[0]
    given = {"path": path, "meta": {"_type": "gradio.FileData"}}
    body = {"file": given, "loss": "cosine", "settings": settings}
    event = httpx.post(f"{impatient.url}/call/v2/train", json=body).raise_for_status().json()["event_id"]
    with httpx.stream("GET", f"{impatient.url}/call/train/{event}", timeout=30) as lines:
        run = next(json.loads(line.removeprefix("data: "))[0]["id"] for line in lines.iter_lines() if line.startswith("data: [{"))
    time.sleep(2 * UNHEARD_HERE + GRACE)
    assert studio.fine_tune.get_run(run).run.active
    studio.fine_tune.stop(run)
    studio.runner.wait(run, 60)


def test_what_is_stopped_before_it_begins_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sbert_studio.ui.sessions.tasks._event", lambda: "one")
    visits, begun = TaskRegistry(), []
    visits.stop_event("")
    visits.stop_event("other")
    with visits.run():
        begun.append("first")
    visits.stop_event("one")
    with pytest.raises(StoppedError), visits.run():
        begun.append("second")
    assert begun == ["first"] and visits.wait_until_idle(0)


@pytest.fixture
def hub(model_folder: Path, tmp_path: Path) -> Iterator[HubServer]:
    """A hub with a model of 32 MiB that takes a minute to fetch."""
    with pytest.MonkeyPatch.context() as patch, hub_server(patch) as found:
        (tmp_path / "slow").mkdir()
        (tmp_path / "slow" / "model.safetensors").write_bytes(os.urandom(32 << 20))
        found.models["o/slow"] = Repository(tmp_path / "slow", seconds=0.12)
        yield found


def test_a_download_ends_within_seconds_of_its_caller(hub: HubServer, tmp_path: Path, model_folder: Path) -> None:
    with studio_at(tmp_path / "home", model_folder, space=True) as studio:
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
        begun = httpx.post(f"{url}gradio_api/call/similarity", json={"data": ["cat", "dog", "o/slow"]}).raise_for_status().json()
        with httpx.stream("GET", f"{url}gradio_api/call/similarity/{begun['event_id']}", timeout=60):
            wait_until(lambda: hub.sent >= 1 << 20, 60, "the download begins")
        assert TASKS.wait_until_idle(SECONDS)
        sent = hub.sent
        with pytest.raises(AppError, match="no model 'o/none'"):  # the page goes on
            Client(url, verbose=False).predict("cat", "dog", "o/none", api_name="/similarity")
        assert hub.sent <= sent + (1 << 16) and sent < 16 << 20
        blocks.close()
