"""Real trainings of a few steps in the background thread, and what happens when they are stopped, killed or broken."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.data.progress import stoppable
from sbert_studio.errors import StudioError
from sbert_studio.runs.records.record import Run
from sbert_studio.studio import Studio, TrainRequest


def until(condition: Callable[[], bool], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def ended(studio: Studio, run: Run) -> Run:
    assert studio.runner.wait(run.id, 240)
    return studio.tune.run(run.id).run


def long_run(studio: Studio, path: Path) -> Run:
    """A run that would take minutes, once it has taken some steps."""
    run = studio.tune.submit(TrainRequest(path, overrides=quick(epochs=400, evaluations_per_epoch=1)))
    until(lambda: studio.tune.run(run.id).run.step > 3)
    return run


def test_a_submitted_run_trains_in_the_background_and_its_model_is_at_once_usable(studio: Studio, tmp_path: Path) -> None:
    run = ended(studio, studio.tune.submit(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(epochs=2), name="My run")))
    assert (run.status, run.name, run.message) == ("finished", "My run", "")
    assert run.step == run.steps == 14
    assert run.after["rows"] == run.dev_rows == 6
    assert run.after["metric"] == "cosine_spearman"
    assert run.pairs_per_second > 0
    assert [card.name for card in studio.judge.models()] == ["all-MiniLM-L6-v2", run.id]
    assert studio.explore.similarity("cat dog", "cat dog", run.id).cosine == pytest.approx(1, abs=1e-5)


def test_what_stops_the_page_that_asked_does_not_stop_its_training(studio: Studio, tmp_path: Path) -> None:
    closed = threading.Event()
    with stoppable(closed.is_set):
        run = studio.tune.submit(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()))
        closed.set()
    assert ended(studio, run).status == "finished"


def test_events_reach_a_page_that_polls_with_a_cursor_and_one_that_comes_later(studio: Studio, tmp_path: Path) -> None:
    run = studio.tune.submit(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()))
    seen, cursor = [], 0
    while not seen or seen[-1]["type"] != "finished":
        view = studio.tune.run(run.id, after=cursor)
        seen += [event for _, event in view.events]
        cursor = view.cursor or cursor
        time.sleep(0.02)
    assert [event["type"] for event in seen if event["type"] != "phase"][:2] == ["started", "evaluated"]
    assert [event for _, event in studio.tune.run(run.id).events][: len(seen)] == seen
    assert [seq for seq, _ in studio.tune.run(run.id).events] == list(range(1, cursor + 1))


def test_the_upload_is_copied_at_once_so_that_it_may_vanish(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    run = studio.tune.submit(TrainRequest(path, overrides=quick()))
    path.unlink()
    assert ended(studio, run).status == "finished"


def test_stop_keeps_a_model_and_the_run_goes_on_later(studio: Studio, tmp_path: Path) -> None:
    run = long_run(studio, write_pairs(tmp_path / "pairs.csv"))
    studio.tune.stop(run.id)
    stopped = ended(studio, run)
    assert stopped.status == "stopped"
    assert 3 < stopped.step < stopped.steps
    assert stopped.model_path is not None
    assert (stopped.model_path / "model.safetensors").is_file()
    studio.tune.resume(run.id)
    until(lambda: studio.tune.run(run.id).run.step > stopped.step + 3)
    resumed = [event for _, event in studio.tune.run(run.id).events if event["type"] == "started"][-1]
    assert resumed["step"] == stopped.step
    studio.tune.stop(run.id)
    assert ended(studio, run).status == "stopped"


def test_a_waiting_run_is_stopped_before_it_begins_and_the_queue_goes_on(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    first, second, third = (
        long_run(studio, path),
        studio.tune.submit(TrainRequest(path, overrides=quick())),
        studio.tune.submit(TrainRequest(path, overrides=quick())),
    )
    assert [studio.tune.run(run.id).waiting for run in (first, second, third)] == [0, 1, 2]
    assert studio.tune.stop(second.id).status == "stopped"
    assert studio.tune.run(third.id).waiting == 1
    studio.tune.stop(first.id)
    assert ended(studio, third).status == "finished"
    assert studio.tune.run(second.id).run.step == 0


def test_closing_the_program_keeps_what_was_learned_and_says_so(home: Path, tiny: Path, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    with studio_at(home, tiny) as studio:
        running, waiting = long_run(studio, path), studio.tune.submit(TrainRequest(path, overrides=quick()))
    with studio_at(home, tiny) as studio:
        assert [studio.tune.run(run.id).run.status for run in (running, waiting)] == ["interrupted", "interrupted"]
        assert studio.tune.run(running.id).run.model_path is not None
        studio.tune.resume(waiting.id)
        assert ended(studio, waiting).status == "finished"


_TRAIN = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tiny_studio import quick, studio_at
from sbert_studio.studio import TrainRequest
with studio_at(Path({home!r}), Path({model!r})) as studio:
    studio.tune.submit(TrainRequest(Path({data!r}), overrides=quick(epochs=400, checkpoint_every=2)))
    sys.stdin.read()
"""


def test_a_killed_process_leaves_an_interrupted_run_that_resumes_from_its_checkpoint(home: Path, tiny: Path, tmp_path: Path) -> None:
    code = _TRAIN.format(
        tests=str(Path(__file__).parents[1]), home=str(home), model=str(tiny), data=str(write_pairs(tmp_path / "pairs.csv"))
    )
    with studio_at(home, tiny) as studio:
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
        try:
            until(lambda: bool(studio.tune.runs()) and studio.tune.runs()[0].step > 10)
            (run,) = studio.tune.runs()
            assert run.status == "running", "a run of another living process is not ours to touch"
            with pytest.raises(StudioError, match="cannot be resumed"):
                studio.tune.resume(run.id)
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        (dead,) = studio.tune.runs()
        assert dead.status == "interrupted"
        studio.tune.resume(dead.id)
        until(lambda: studio.tune.run(dead.id).run.step > dead.step)
        resumed = [event for _, event in studio.tune.run(dead.id).events if event["type"] == "started"][-1]
        assert resumed["step"] >= 10
        studio.tune.stop(dead.id)
        assert ended(studio, dead).status == "stopped"


def test_another_process_can_stop_a_run(home: Path, tiny: Path, studio: Studio, tmp_path: Path) -> None:
    run = long_run(studio, write_pairs(tmp_path / "pairs.csv"))
    with studio_at(home, tiny) as other:
        other.tune.stop(run.id)
        assert ended(studio, run).status == "stopped"
        assert other.tune.run(run.id).run.status == "stopped"


def test_a_failure_that_can_be_mended_says_how(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StudioError("the loss was not a number five times in a row", "lower the learning rate", [4])

    monkeypatch.setattr("sbert_studio.training.trials.trials.train", refuse)
    run = ended(studio, studio.tune.submit(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick())))
    assert run.status == "failed"
    assert run.message == "the loss was not a number five times in a row (row 4)"
    assert run.hint == "lower the learning rate"
    assert studio.tune.run(run.id).events[-1][1]["type"] == "failed"


def test_a_bug_fails_one_run_with_a_report_and_the_next_one_still_trains(studio: Studio, tmp_path: Path) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise IndexError("list index out of range")

    path = write_pairs(tmp_path / "pairs.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sbert_studio.training.trials.trials.train", stumble)
        broken = ended(studio, studio.tune.submit(TrainRequest(path, overrides=quick())))
    assert broken.status == "failed"
    assert "IndexError" in broken.message
    assert "Traceback" not in broken.message + broken.hint
    assert "Traceback" in (studio.workspace.run(broken.id) / "error.log").read_text()
    assert ended(studio, studio.tune.submit(TrainRequest(path, overrides=quick()))).status == "finished"


@pytest.mark.parametrize("what", [MemoryError(), SystemExit(3), KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("where", ["sbert_studio.training.trials.trials.train", "sbert_studio.runs.running.runner.perform"])
def test_nothing_ends_the_thread_that_trains(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, what: BaseException
) -> None:
    def fall(*_: object, **__: object) -> None:
        raise what

    path = write_pairs(tmp_path / "pairs.csv")
    with monkeypatch.context() as patch:
        patch.setattr(where, fall)
        broken = ended(studio, studio.tune.submit(TrainRequest(path, overrides=quick())))
    assert broken.status in ("failed", "interrupted") and broken.message
    assert ended(studio, studio.tune.submit(TrainRequest(path, overrides=quick()))).status == "finished"
    studio.tune.resume(broken.id)
    assert ended(studio, broken).status == "finished"


def test_a_listener_and_a_log_that_fail_do_not_end_the_run(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall(*_: object) -> None:
        raise RuntimeError("nobody listens")

    monkeypatch.setattr("sbert_studio.runs.exports.tensorboard.TensorBoardLog.write", fall)
    assert studio.tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()), emit=fall).status == "finished"


def test_an_error_that_cannot_even_be_written_down_ends_one_run_only(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fall(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    path = write_pairs(tmp_path / "pairs.csv")
    run = studio.tune.submit(TrainRequest(path, overrides=quick(epochs=400, evaluations_per_epoch=1)))
    until(lambda: studio.tune.run(run.id).run.step > 3)
    with monkeypatch.context() as patch:
        patch.setattr("sbert_studio.training.checkpoint.Checkpoints.write", fall)
        patch.setattr(Path, "write_text", fall)
        patch.setattr("sbert_studio.runs.records.mirror.atomic_file", fall)
        studio.tune.stop(run.id)
        broken = ended(studio, run)
    assert (broken.status, broken.message) == ("failed", "the disk is full")
    assert "room" in broken.hint
    assert ended(studio, studio.tune.submit(TrainRequest(path, overrides=quick()))).status == "finished"


def test_a_run_that_another_program_has_is_not_trained_a_second_time(studio: Studio, tmp_path: Path) -> None:
    from sbert_studio.runs.running.work import perform

    run = long_run(studio, write_pairs(tmp_path / "pairs.csv"))
    with studio_at(studio.settings.home) as other:
        error = perform(run.id, other.store, other.workspace, lambda: other.catalog, lambda: False)
        assert isinstance(error, StudioError) and "another program" in error.message
    assert studio.tune.run(run.id).run.status == "running"
    studio.tune.stop(run.id)
    assert ended(studio, run).status == "stopped"


def test_two_owners_do_not_see_each_others_runs_or_models(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    runs = {owner: ended(studio, studio.tune.submit(TrainRequest(path, overrides=quick(), owner=owner))) for owner in ("ann", "bob")}
    for owner, run in runs.items():
        assert [one.id for one in studio.tune.runs(owner)] == [run.id]
        assert [card.name for card in studio.judge.models(owner) if card.kind == "run"] == [run.id]
    assert studio.tune.runs("eve") == []


def test_a_run_under_way_cannot_be_deleted_and_a_deleted_one_leaves_nothing(studio: Studio, tmp_path: Path) -> None:
    run = long_run(studio, write_pairs(tmp_path / "pairs.csv"))
    with pytest.raises(StudioError, match="running"):
        studio.tune.delete_run(run.id)
    studio.tune.stop(run.id)
    ended(studio, run)
    studio.tune.delete_run(run.id)
    assert studio.tune.runs() == []
    assert not (studio.workspace.runs / run.id).exists()
    with pytest.raises(StudioError, match="there is no run"):
        studio.tune.run(run.id)
