"""Real trainings of a few steps in the background thread, and what happens when they are stopped, killed or broken."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from processes import started
from tiny_studio import quick, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.identity import use_address
from sbert_studio.progress import stoppable
from sbert_studio.runs.execution import execute_run
from sbert_studio.runs.run import Run
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.settings import Limits

pytestmark = pytest.mark.slow


def ended(studio: Studio, run: Run) -> Run:
    assert studio.runner.wait(run.id, 240)
    return studio.fine_tune.get_run(run.id).run


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another program holds is given up after a moment."""
    monkeypatch.setattr("sbert_studio.runs.store.SHORT", 0.1)


def long_run(studio: Studio, path: Path) -> Run:
    """A run that would take minutes, once it has taken some steps."""
    run = studio.fine_tune.submit(TrainRequest(path, overrides=quick(epochs=400, evaluations_per_epoch=1)))
    wait_until(lambda: studio.fine_tune.get_run(run.id).run.step > 3, 240)
    return run


def test_a_submitted_run_trains_though_page_and_upload_are_gone_and_its_model_is_at_once_usable(studio: Studio, tmp_path: Path) -> None:
    path, closed = write_pairs(tmp_path / "pairs.csv"), threading.Event()
    with stoppable(closed.is_set):
        run = studio.fine_tune.submit(TrainRequest(path, overrides=quick(epochs=2), name="My run"))
        closed.set()
    path.unlink()
    run = ended(studio, run)
    assert (run.status, run.name, run.message) == ("finished", "My run", "")
    assert run.step == run.steps == 14
    assert run.after["rows"] == run.dev_rows == 6
    assert run.after["metric"] == "cosine_spearman"
    assert run.pairs_per_second > 0
    assert [card.name for card in studio.models.list_models()] == ["all-MiniLM-L6-v2", "multilingual-e5-small", run.id]
    assert studio.similarity.compare("cat dog", "cat dog", run.id).cosine == pytest.approx(1, abs=1e-5)


def test_events_reach_a_page_that_polls_with_a_cursor_and_one_that_comes_later(studio: Studio, tmp_path: Path) -> None:
    run = studio.fine_tune.submit(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()))
    seen, cursor = [], 0

    def poll() -> bool:
        nonlocal cursor
        view = studio.fine_tune.get_run(run.id, after=cursor)
        seen.extend(event for _, event in view.events)
        cursor = view.cursor or cursor
        return bool(seen) and seen[-1]["type"] == "finished"

    wait_until(poll, 120)
    assert [event["type"] for event in seen if event["type"] != "phase"][:2] == ["started", "evaluated"]
    assert [event for _, event in studio.fine_tune.get_run(run.id).events][: len(seen)] == seen
    assert [seq for seq, _ in studio.fine_tune.get_run(run.id).events] == list(range(1, cursor + 1))


def test_stop_keeps_a_model_and_the_run_goes_on_later(studio: Studio, tmp_path: Path) -> None:
    run = long_run(studio, write_pairs(tmp_path / "pairs.csv"))
    studio.fine_tune.stop(run.id)
    stopped = ended(studio, run)
    assert stopped.status == "stopped"
    assert 3 < stopped.step < stopped.steps
    assert stopped.model_path is not None
    assert (stopped.model_path / "model.safetensors").is_file()
    studio.fine_tune.resubmit(run.id)
    wait_until(lambda: studio.fine_tune.get_run(run.id).run.step > stopped.step + 3, 240)
    resumed = [event for _, event in studio.fine_tune.get_run(run.id).events if event["type"] == "started"][-1]
    assert resumed["step"] == stopped.step
    studio.fine_tune.stop(run.id)
    assert ended(studio, run).status == "stopped"


def train_for_long(home: Path, model: Path, data: Path) -> None:
    """Begin a run that leaves many checkpoints, and wait to be killed."""
    with studio_at(home, model) as studio:
        studio.fine_tune.submit(TrainRequest(data, overrides=quick(epochs=400, evaluations_per_epoch=1, checkpoint_every=2)))
        threading.Event().wait()


@pytest.mark.process
@pytest.mark.usefixtures("impatient")
def test_a_killed_process_leaves_an_interrupted_run_that_resumes_from_its_checkpoint(home: Path, tiny_model: Path, tmp_path: Path) -> None:
    with studio_at(home, tiny_model) as studio:
        data = write_pairs(tmp_path / "pairs.csv", 32)
        with started(tmp_path / "child", train_for_long, home, tiny_model, data) as child:
            wait_until(lambda: not child.runs or (studio.fine_tune.list_runs() and studio.fine_tune.list_runs()[0].step > 6), 120)
            assert child.runs, child.err.read_text()
            (run,) = studio.fine_tune.list_runs()
            assert run.status == "running", "a run of another process that lives is not ours"
            with pytest.raises(StudioError, match="cannot be resumed"):
                studio.fine_tune.resubmit(run.id)
            child.kill()
        (dead,) = studio.fine_tune.list_runs()
        assert dead.status == "interrupted"
        studio.fine_tune.resubmit(dead.id)
        wait_until(lambda: studio.fine_tune.get_run(dead.id).run.step > dead.step, 120)
        resumed = [event for _, event in studio.fine_tune.get_run(dead.id).events if event["type"] == "started"][-1]
        assert resumed["step"] >= 6
        studio.fine_tune.stop(dead.id)
        assert ended(studio, dead).status == "stopped"


@pytest.mark.usefixtures("impatient")
def test_another_program_can_stop_a_run_under_way_and_neither_train_nor_delete_it(studio: Studio, tiny_model: Path, tmp_path: Path) -> None:
    run = long_run(studio, write_pairs(tmp_path / "pairs.csv"))
    with studio_at(studio.settings.home, tiny_model) as other:
        error = execute_run(run.id, other.store, other.workspace, lambda: other.catalog, lambda: False)
        assert isinstance(error, StudioError) and "another program" in error.message
        for one in (studio, other):
            with pytest.raises(StudioError, match="running"):
                one.fine_tune.delete_run(run.id)
        assert studio.fine_tune.get_run(run.id).run.status == "running"
        other.fine_tune.stop(run.id)
        assert ended(studio, run).status == "stopped"
        assert other.fine_tune.get_run(run.id).run.status == "stopped"
    studio.fine_tune.delete_run(run.id)
    assert studio.fine_tune.list_runs() == []
    assert not (studio.workspace.runs / run.id).exists()
    with pytest.raises(StudioError, match="there is no run"):
        studio.fine_tune.get_run(run.id)


def test_a_failure_that_can_be_mended_says_how(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StudioError("the loss was not a number", "lower the learning rate", [4])

    monkeypatch.setattr("sbert_studio.training.trials.train", refuse)
    run = ended(studio, studio.fine_tune.submit(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick())))
    assert run.status == "failed"
    assert run.message == "the loss was not a number (row 4)"
    assert run.hint == "lower the learning rate"
    assert studio.fine_tune.get_run(run.id).events[-1][1]["type"] == "failed"


def test_a_bug_fails_one_run_with_a_report_and_the_next_one_still_trains(studio: Studio, tmp_path: Path) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise IndexError("list index out of range")

    path = write_pairs(tmp_path / "pairs.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sbert_studio.training.trials.train", stumble)
        broken = ended(studio, studio.fine_tune.submit(TrainRequest(path, overrides=quick())))
    assert broken.status == "failed"
    assert "IndexError" in broken.message
    assert "Traceback" not in broken.message + broken.hint
    assert "Traceback" in (studio.workspace.run(broken.id) / "error.log").read_text()
    assert ended(studio, studio.fine_tune.submit(TrainRequest(path, overrides=quick()))).status == "finished"


@pytest.mark.parametrize("where", ["sbert_studio.training.trials.train", "sbert_studio.runs.execution.execute_run"])
def test_nothing_ends_the_thread_that_trains(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    path, broken = write_pairs(tmp_path / "pairs.csv", 32), list[Run]()
    for what in (MemoryError(), SystemExit(3), KeyboardInterrupt(), OSError(28, "No space left on device")):

        def fall(*_: object, what: BaseException = what, **__: object) -> None:
            raise what

        with monkeypatch.context() as patch:
            patch.setattr(where, fall)
            broken.append(ended(studio, studio.fine_tune.submit(TrainRequest(path, overrides=quick()))))
        assert broken[-1].status in ("failed", "interrupted") and broken[-1].message, what
    assert ended(studio, studio.fine_tune.submit(TrainRequest(path, overrides=quick()))).status == "finished"
    for run in {run.status: run for run in broken}.values():  # one of each status
        studio.fine_tune.resubmit(run.id)
        assert ended(studio, run).status == "finished"


def test_a_run_whose_thread_cannot_start_can_be_resumed(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "sbert-studio-runner":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="new thread"):
        patch.setattr(threading.Thread, "start", refuse)
        studio.fine_tune.submit(TrainRequest(write_pairs(tmp_path / "pairs.csv", 32), overrides=quick()))
    (run,) = studio.fine_tune.list_runs()
    assert run.status == "interrupted" and "resume it" in run.message
    studio.fine_tune.resubmit(run.id)
    assert ended(studio, run).status == "finished"


def test_a_listener_and_a_log_that_fail_do_not_end_the_run(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall(*_: object) -> None:
        raise RuntimeError("nobody listens")

    monkeypatch.setattr("sbert_studio.runs.tensorboard.TensorBoardLog.write", fall)
    assert studio.fine_tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()), on_event=fall).status == "finished"


def test_two_owners_do_not_see_each_others_runs_or_models(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    runs = {owner: ended(studio, studio.fine_tune.submit(TrainRequest(path, overrides=quick(), owner=owner))) for owner in ("ann", "bob")}
    for owner, run in runs.items():
        assert [one.id for one in studio.fine_tune.list_runs(owner)] == [run.id]
        assert [card.name for card in studio.models.list_models(owner) if card.kind == "run"] == [run.id]
    assert studio.fine_tune.list_runs("eve") == []


LONG = {"epochs": 900, "evaluations_per_epoch": 1}


def submit(studio: Studio, pairs: Path, address: str = "", name: str = "x", **overrides: object) -> Run:
    with use_address(address):
        return studio.fine_tune.submit(TrainRequest(pairs, overrides=quick(**overrides), name=name))


def trains(studio: Studio, run: Run) -> bool:
    return studio.fine_tune.get_run(run.id).run.step > 3


def test_what_a_restart_interrupted_is_taken_up_in_its_order(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model) as studio:
        first = submit(studio, pairs, **LONG)
        wait_until(lambda: trains(studio, first), 60)
        waiting = [submit(studio, pairs, epochs=0.2) for _ in range(2)]
        stopped = submit(studio, pairs, epochs=0.2)
        studio.fine_tune.stop(stopped.id)
    with studio_at(tmp_path / "home", tiny_model) as studio:
        before = studio.fine_tune.get_run(first.id).run
        assert before.status == "interrupted" and before.model_path is not None
        for found in (studio.fine_tune.get_run(run.id).run for run in waiting):
            assert found.status == "interrupted" and "closed before this run started" in found.message
        assert [run.id for run in studio.fine_tune.resume_interrupted()] == [run.id for run in (first, *waiting)]
        assert studio.fine_tune.resume_interrupted() == [], "they are taken up once"
        wait_until(lambda: studio.fine_tune.get_run(first.id).run.step > before.step, 60)
        studio.fine_tune.stop(first.id)
        for run in waiting:
            assert studio.runner.wait(run.id, 60) and studio.fine_tune.get_run(run.id).run.status == "finished"
        assert studio.fine_tune.get_run(stopped.id).run.status == "stopped"
    with studio_at(tmp_path / "home", tiny_model) as studio:
        assert studio.fine_tune.resume_interrupted() == [], "what has ended stays as it is"


def test_a_run_that_ends_the_program_again_and_again_is_left(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model) as studio:
        run = submit(studio, pairs, **LONG)
    for _ in range(3):
        with studio_at(tmp_path / "home", tiny_model) as studio:
            assert [one.id for one in studio.fine_tune.resume_interrupted()] == [run.id]
    with studio_at(tmp_path / "home", tiny_model) as studio:
        assert studio.fine_tune.resume_interrupted() == []
        left = studio.fine_tune.get_run(run.id).run
        assert left.status == "interrupted" and "each of the 3 times" in left.message
        studio.fine_tune.resubmit(run.id)  # by hand it counts anew
        note = json.loads((studio.workspace.run(run.id) / "background.json").read_text())
        assert note == {"restarts": 0}


def test_a_run_of_a_terminal_is_left_to_its_owner(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model) as studio:
        run = studio.fine_tune.train(TrainRequest(pairs, overrides=quick(epochs=0.2)))
        studio.store.record(run.id, status="interrupted")
        assert studio.fine_tune.resume_interrupted() == []


def test_addresses_take_turns_and_none_fills_the_queue(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model, limits=Limits(queue=8)) as studio:
        first = submit(studio, pairs, "a", **LONG)
        wait_until(lambda: trains(studio, first), 60)
        many = [submit(studio, pairs, "a", epochs=0.2) for _ in range(4)]
        with pytest.raises(StudioError, match="from your network"):
            submit(studio, pairs, "a", epochs=0.2)
        others = [submit(studio, pairs, address, epochs=0.2) for address in ("b", "c")]
        expected = [*others, *many]
        assert [studio.runner.position(run.id) for run in expected] == [1, 2, 3, 4, 5, 6]
        studio.fine_tune.stop(first.id)
        for run in expected:
            assert studio.runner.wait(run.id, 60)
        begun = {run.id: studio.fine_tune.get_run(run.id).events[0][1]["time"] for run in expected}
        assert sorted(begun, key=lambda one: begun[one]) == [run.id for run in expected]
