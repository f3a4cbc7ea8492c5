"""Work that nobody waits for any more ends: by Cancel, and when its page is closed."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import numpy as np
import pytest
from tiny_studio import quick, studio_at, write_model, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.explore.clusters import ClusterParams
from sbert_studio.explore.projection import ProjectionParams
from sbert_studio.progress import StoppedError, checkpoint, stoppable
from sbert_studio.services import Studio
from sbert_studio.services.training_plan import TrainRequest
from sbert_studio.ui.app import launch
from sbert_studio.ui.handlers import handle_errors, progress_callback
from sbert_studio.ui.page import Page
from sbert_studio.ui.sessions.tasks import TASKS, TaskRegistry


def after(asked: int) -> Any:
    """A wish that comes at the so-manieth question."""
    left = [asked]

    def wished() -> bool:
        left[0] -= 1
        return left[0] < 0

    return wished


@pytest.mark.parametrize(
    ("verb", "asked"),
    [(verb, 0) for verb in ("search", "mine", "map", "kmeans", "agglomerative", "evaluate", "similarity", "encode")]
    + [("search", 1), ("mine", 2), ("map", 3), ("kmeans", 4), ("agglomerative", 2), ("evaluate", 2)],
)
def test_every_verb_that_takes_long_ends_when_asked(studio: Studio, corpus_file: Path, tmp_path: Path, verb: str, asked: int) -> None:
    corpus, pairs = studio.data.read_corpus(corpus_file), write_pairs(tmp_path / "pairs.csv")
    verbs = {
        "search": lambda: studio.search.search(corpus, "cat", mode="hybrid"),
        "mine": lambda: studio.search.mine(corpus),
        "map": lambda: studio.map.draw(corpus, ProjectionParams(seed=1)),
        "kmeans": lambda: studio.map.draw(corpus, ProjectionParams(seed=1), ClusterParams(method="kmeans", count=3)),
        "agglomerative": lambda: studio.map.draw(corpus, ProjectionParams(seed=1), ClusterParams(method="agglomerative")),
        "evaluate": lambda: studio.evaluation.evaluate(None, pairs),
        "similarity": lambda: studio.similarity.compare_file(pairs),
        "encode": lambda: studio.similarity.encode(corpus),
    }
    if verb == "map" and asked:
        studio.search.vectors(corpus)  # the questions are those of UMAP
    with pytest.raises(StoppedError), stoppable(after(asked)):
        verbs[verb]()
    verbs[verb]()  # nothing is left half done


def test_who_waits_for_anothers_vectors_can_stop_waiting(studio: Studio, corpus_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, encoder = studio.data.read_corpus(corpus_file), studio.catalog.load(studio.settings.default_model)
    begun, gate, original = threading.Event(), threading.Event(), encoder.encode

    def slow(*args: Any, **named: Any) -> np.ndarray:
        begun.set()
        gate.wait(20)
        return original(*args, **named)

    monkeypatch.setattr(encoder, "encode", slow)
    first = threading.Thread(target=studio.search.vectors, args=(corpus,))
    first.start()
    assert begun.wait(10)
    start = time.monotonic()
    with pytest.raises(StoppedError), stoppable(lambda: time.monotonic() > start + 0.5):
        studio.search.vectors(corpus)
    assert time.monotonic() - start < 5
    gate.set()
    first.join()
    assert studio.search.vectors(corpus).shape == (40, 32)


def test_reading_and_checking_hear_a_wish_where_they_tell_their_progress() -> None:
    with pytest.raises(StoppedError), stoppable(lambda: True):
        progress_callback(lambda *_, **__: None, "Reading")(1, 2)


def test_a_cancelled_handler_changes_nothing_and_says_so(page: Page, monkeypatch: pytest.MonkeyPatch, toasts: list[str]) -> None:
    monkeypatch.setattr("sbert_studio.ui.sessions.tasks.session_id", lambda: "me")

    def work() -> str:
        TASKS.stop("me", "other")
        checkpoint()
        TASKS.stop("me", "map")
        checkpoint()
        return "done"

    assert handle_errors(work, work="other")() is not None
    assert toasts == ["Cancelled; nothing was changed."]
    with pytest.raises(gr.Error, match="Cancelled"):
        handle_errors(work, stop=True, work="map")()
    assert TASKS.wait_until_idle(0)


def test_what_an_error_quotes_is_no_markup_of_a_toast(toasts: list[str]) -> None:

    def fail() -> None:
        raise StudioError("the column '<img src=x>' is empty", "choose another than '<b>'")

    handle_errors(fail)()
    assert toasts[0].count("&lt;") == 2 and re.findall("<[^>]*>", toasts[0]) == ["<br>"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_slow_answer_to_an_earlier_question_does_not_take_the_place_of_the_later_one(
    page: Page, monkeypatch: pytest.MonkeyPatch, toasts: list[str], fails: bool
) -> None:
    monkeypatch.setattr("sbert_studio.ui.sessions.tasks.session_id", lambda: "me")
    begun, gate, shown, bar = threading.Event(), threading.Event(), [], []

    def ask(question: str) -> str:
        if question == "nothing":
            return question
        TASKS.supersede_earlier()
        tell = progress_callback(lambda *_, **__: bar.append(question), "Encoding")
        if question == "slow":
            begun.set()
            gate.wait(20)
            tell(1, 2)
            if fails:
                raise StudioError("it went wrong")
        return question

    asked = handle_errors(ask, work="search", newest=True)
    first = threading.Thread(target=lambda: shown.append(asked("slow")))
    first.start()
    assert begun.wait(10)
    shown.append(handle_errors(ask, work="map", newest=True)("other work"))
    asked("nothing")  # no question, which overtakes none
    (slow,) = (work for work in TASKS.for_session("me") if not work.ended)
    assert not slow.superseded
    shown.append(asked("quick"))
    gate.set()
    first.join()
    assert shown[:2] == ["other work", "quick"] and shown[2] == gr.skip() and bar == toasts == []
    assert asked("again") == "again"


@contextmanager
def heartbeat(url: str, session: str) -> Iterator[None]:
    """The connection by which the page knows that a browser is there."""
    with httpx.stream("GET", f"{url}/gradio_api/heartbeat/{session}", timeout=None) as lines:
        beats = lines.iter_raw()
        next(beats)
        yield
        beats.close()


def test_a_question_of_one_page_overtakes_no_answer_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    asks = "one"
    monkeypatch.setattr("sbert_studio.ui.sessions.tasks.session_id", lambda: asks)
    visits = TaskRegistry()
    with visits.run("search") as slow:
        asks = "other"
        with visits.run("search"):
            visits.supersede_earlier()
        assert not slow.superseded
        asks = "one"
        with visits.run("map"):
            visits.supersede_earlier()
        assert not slow.superseded, "nor does a question of another kind"
        with visits.run("search"):
            visits.supersede_earlier()
        assert slow.superseded


def test_closing_the_page_ends_its_search_and_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome: list[str] = []

    def search(*_: Any, **__: Any) -> None:
        outcome.append("begun")
        try:
            for _ in range(1200):
                time.sleep(0.05)
                checkpoint()
        except StoppedError:
            outcome.append("stopped")
            raise

    with studio_at(tmp_path / "home", write_model(tmp_path / "tiny")) as studio:
        monkeypatch.setattr(studio.search, "search", search)
        run = studio.fine_tune.submit(
            TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(epochs=900, evaluations_per_epoch=1))
        )
        blocks, url = launch(studio, "127.0.0.1", 0, False, block=False)
        url = url.rstrip("/")
        number = next(number for number, fn in blocks.fns.items() if fn.api_name == "page_search")
        with heartbeat(url, "visitor"):
            data = [None, "query", 10, "semantic", str(studio.settings.default_model), "", "", [], "", None, "", "", 0]
            body = {"fn_index": number, "data": data, "session_hash": "visitor"}
            assert httpx.post(f"{url}/gradio_api/queue/join", json=body).status_code == 200
            wait_until(lambda: outcome, 60, "the search")
        left = time.monotonic()
        while len(outcome) < 2 and time.monotonic() < left + 10:
            time.sleep(0.05)
        assert outcome == ["begun", "stopped"]
        assert studio.fine_tune.get_run(run.id).run.active
        studio.fine_tune.stop(run.id)
        studio.runner.wait(run.id, 60)
        blocks.close()
