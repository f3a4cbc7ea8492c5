"""Run folders as the only record of runs: read, written, shared by processes, damaged, and on a full disk."""

from __future__ import annotations

import json
import math
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from processes import started
from tiny_studio import quick, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.runs import lease, store
from sbert_studio.runs.lease import RunLeases
from sbert_studio.runs.run import Run, dump_run, new_run_id, utc_now
from sbert_studio.runs.store import RunStore
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.workspace import atomic_folder


def new_run(owner: str = "local", **values: Any) -> Run:
    return Run(**{"id": new_run_id(), "owner": owner, "name": "n", "status": "queued", "created": utc_now(), "model": "m", **values})


@pytest.fixture
def kept(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path)


def folder_of(store: RunStore, run: Run) -> Path:
    return store._runs / run.id


def saved(store: RunStore, run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder_of(store, run) / "run.json").read_text())
    return found


def refuse(*_: object, **__: object) -> None:
    """A disk that takes nothing more."""
    raise OSError(28, "No space left on device")


def test_a_run_is_read_back_as_it_was_added_and_the_home_can_be_moved(kept: RunStore, tmp_path: Path) -> None:
    path = tmp_path / "runs" / "x" / "model"
    run = kept.add(new_run("ann", spec={"epochs": 2.0, "loss_params": {"scale": 20}}, before={"score": 0.5}, rows=7, model_path=path))
    assert RunStore(tmp_path).get(run.id) == run and run.number == 1
    assert str(tmp_path) not in json.dumps(saved(kept, run)) and saved(kept, run)["owner"] == "ann"
    kept.close()
    (tmp_path / "moved").mkdir()
    (tmp_path / "runs").rename(tmp_path / "moved" / "runs")
    assert RunStore(tmp_path / "moved").get(run.id).model_path == tmp_path / "moved" / "runs" / "x" / "model"


@pytest.mark.parametrize("run_id", ["run-0000000000", "../../etc", "", "run-\ud800"])
def test_an_unknown_run_is_an_error(kept: RunStore, run_id: str) -> None:
    for act in (kept.get, kept.claim):
        with pytest.raises(StudioError, match="there is no run"):
            act(run_id)
    assert kept.events(run_id) == []


def test_runs_are_listed_newest_first_whatever_the_clock_says(kept: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first = kept.add(new_run("ann", created="2031-01-01T00:00:00+00:00"))
    monkeypatch.setattr(time, "time", lambda: 0.0)
    theirs, later = kept.add(new_run("bob", status="stopped")), kept.add(new_run("ann", created="1970-01-01T00:00:00+00:00"))
    for one in (kept, RunStore(kept._home)):
        assert [run.id for run in one.runs()] == [later.id, theirs.id, first.id]
        assert [run.id for run in one.runs("ann")] == [later.id, first.id] and one.runs("nobody") == []
        assert [run.id for run in one.runs(status="stopped")] == [theirs.id]
    assert RunStore(kept._home).recover() == []


def test_events_are_numbered_within_their_run_and_read_from_a_cursor(kept: RunStore) -> None:
    a, b = kept.add(new_run()), kept.add(new_run())
    for step in range(3):
        for run in (a, b):
            kept.record(run.id, {"type": "step", "step": step}, step=step)
    assert [(number, event["step"]) for number, event in kept.events(a.id, after=1)] == [(2, 1), (3, 2)]
    assert kept.events(a.id, after=3) == [] and len(kept.events(b.id, limit=2)) == 2
    assert kept.last_event(a.id, "step")["step"] == kept.get(a.id).step == 2  # type: ignore[index]
    assert kept.last_event(a.id, "finished") is None


@pytest.mark.parametrize(
    ("event", "changes"),
    [({"type": "x"}, {"no_such_field": 1}), ({"type": object()}, {"step": 9}), ({"type": "x"}, {"status": "no such status"})],
)
def test_an_event_and_its_change_are_written_both_or_neither(kept: RunStore, event: dict[str, Any], changes: dict[str, Any]) -> None:
    run = kept.add(new_run())
    with pytest.raises((TypeError, ValueError)):
        kept.record(run.id, event, **changes)
    assert kept.get(run.id) == run and kept.events(run.id) == []


def test_many_threads_and_stores_write_without_losing_or_doubling_anything(kept: RunStore) -> None:
    run, other = kept.add(new_run()), RunStore(kept._home)

    def write(one: RunStore) -> None:
        for _ in range(20):
            one.record(run.id, {"type": "notice", "message": "m"}, seconds=one.get(run.id).seconds + 1)

    threads = [threading.Thread(target=write, args=(one,)) for one in (kept, kept, kept, other, other, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [number for number, _ in other.events(run.id)] == list(range(1, 121))
    assert kept.get(run.id) == other.get(run.id)


def test_stop_requests_and_claims_are_shared(kept: RunStore) -> None:
    run, other = kept.add(new_run()), RunStore(kept._home)
    assert not other.is_stop_requested(run.id)
    other.request_stop(run.id)
    assert kept.is_stop_requested(run.id)
    kept.record(run.id, status="stopped")
    kept.release(run.id)
    assert other.claim(run.id).status == "queued" and not kept.is_stop_requested(run.id)
    run = kept.add(new_run(status="finished"))
    kept.release(run.id)
    with pytest.raises(StudioError, match="cannot be resumed"):
        kept.claim(run.id)
    kept.record(run.id, status="interrupted", message="x", hint="y")
    claimed = kept.claim(run.id)
    assert (claimed.status, claimed.message, claimed.hint) == ("queued", "", "")
    for one in (kept, RunStore(kept._home)):
        with pytest.raises(StudioError, match="cannot be resumed"):
            one.claim(run.id)


def test_a_deleted_run_is_gone_and_whoever_still_trains_it_should_stop(kept: RunStore, tmp_path: Path) -> None:
    run = kept.add(new_run())
    kept.record(run.id, {"type": "step", "step": 1})
    with pytest.raises(StudioError, match="in progress"):
        RunStore(tmp_path).delete(run.id)
    kept.release(run.id)
    RunStore(tmp_path).delete(run.id)
    assert kept.runs() == [] and kept.events(run.id) == [] and kept.is_stop_requested(run.id)
    kept.try_record(run.id, {"type": "step", "step": 2}, status="failed")
    assert not folder_of(kept, run).exists()
    (tmp_path / "runs" / f"{store.DELETED}{run.id}").mkdir()  # as a kill in the midst of a deletion leaves it
    RunStore(tmp_path).runs()
    assert list((tmp_path / "runs").glob(f"{store.DELETED}*")) == []


def test_a_step_is_known_to_other_processes_and_after_a_kill_though_it_writes_no_run_file(kept: RunStore) -> None:
    run = kept.add(new_run())
    before = saved(kept, run)
    kept.try_record(run.id, {"type": "step", "step": 5, "run_step": 8, "pairs_per_second": 2.5}, step=8, pairs_per_second=2.5)
    assert saved(kept, run) == before
    other = RunStore(kept._home)
    assert (other.get(run.id).step, other.get(run.id).pairs_per_second) == (8, 2.5)
    kept._leases.release_all()  # as a kill does
    assert other.recover() == [run.id] and saved(kept, run)["step"] == 8
    assert (other.get(run.id).status, other.recover()) == ("interrupted", [])


def write_halves(places: list[Path]) -> None:
    """Hold the run of the first place, begin folders in all places, and wait to be killed."""
    leases, begun = RunLeases(places[0].parent), []
    assert leases.try_acquire(places[0].name)
    for place in places:
        whole = place / "checkpoints" / "step-000000001"
        whole.mkdir(parents=True)
        (whole / "state.json").write_text("{}")
        (place / ".old-x" / "model").mkdir(parents=True)
        (place / ".part-x.json").touch()
        for half in (place / "adapter", whole.with_name("step-000000002")):
            begun.append(atomic_folder(half))
            (begun[-1].__enter__() / "model.safetensors").write_bytes(bytes(1000))
    print("begun", flush=True)
    threading.Event().wait()


@pytest.mark.process
def test_what_a_killed_process_left_half_written_is_removed_once_its_run_is_interrupted(kept: RunStore, tmp_path: Path) -> None:
    run = kept.add(new_run())
    kept.record(run.id, status="running")
    kept.release(run.id)
    folder = folder_of(kept, run)
    places = [folder, folder / "folds" / "1"]
    parts = [place / "checkpoints" for place in places]
    with started(tmp_path / "writer", write_halves, places) as writer:
        wait_until(writer.out.read_text, what="all folders are begun")
        assert kept.recover() == [] and all(list(part.glob(".part-*")) for part in parts), "a living process is at it"
    assert kept.recover() == [run.id]
    assert [sorted(path.name for path in part.iterdir()) for part in parts] == [["step-000000001"]] * 2
    assert sorted(path.name for path in places[0].iterdir()) == ["checkpoints", "folds", "lock", "model", "run.json"]
    assert sorted(path.name for path in places[1].iterdir()) == ["checkpoints", "model"]


def test_a_full_disk_is_reported_but_the_end_of_a_run_is_still_written(kept: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = kept.add(new_run())
    monkeypatch.setattr(store, "atomic_file", refuse)
    with pytest.raises(StudioError, match="disk is full") as caught:
        kept.add(new_run())
    assert caught.value.hint and [one.id for one in kept.runs()] == [run.id]
    kept.record(run.id, status="failed", message="the disk is full")
    assert (saved(kept, run)["status"], RunStore(kept._home).get(run.id).message) == ("failed", "the disk is full")


def test_what_the_disk_refuses_is_seen_here_and_written_later_and_only_then_is_the_run_released(
    kept: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = kept.add(new_run()), RunStore(kept._home)

    with monkeypatch.context() as patch:
        patch.setattr("sbert_studio.runs.event_log.EventLog.append", refuse)
        for step in range(3):
            kept.try_record(run.id, {"type": "step", "step": step}, step=step)
        kept.try_record(run.id, {"type": "failed", "message": "m", "hint": ""}, status="failed", message="no memory")
        kept.release(run.id)
        assert kept.get(run.id).status == kept.runs()[0].status == "failed" and kept.get(run.id).step == 2
        assert other.get(run.id).status == "failed" and other.events(run.id) == [], "there is room for the end alone"
        assert not other.try_acquire(run.id), "it is not released before all is written"
    assert kept.claim(run.id).status == "queued", "now it is written, released and claimed at once"
    assert (other.get(run.id).status, other.get(run.id).step) == ("queued", 2)
    assert [event["type"] for _, event in other.events(run.id)] == ["step"] * 3 + ["failed"]


def test_a_lost_run_is_shown_as_interrupted_though_that_cannot_be_written(kept: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = kept.add(new_run(status="running"))
    kept.close()
    other = RunStore(kept._home)

    with monkeypatch.context() as patch:
        patch.setattr(other, "_write", refuse)
        assert other.recover() == [] and other.get(run.id).status == "interrupted" and saved(kept, run)["status"] == "running"
    assert other.recover() == [run.id]
    assert other.claim(run.id).status == "queued"


def test_a_folder_that_another_program_locks_is_an_error_in_words_and_reading_goes_on(
    kept: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = kept.add(new_run())
    monkeypatch.setattr(lease, "SHORT", 0.05)
    other = RunStore(kept._home)
    with FileLock(kept._home / ".runs.lock"):
        with pytest.raises(StudioError, match="locked by another program") as caught:
            other.record(run.id, status="running")
        assert caught.value.hint and other.get(run.id).status == other.runs()[0].status == "queued"
    other.record(run.id, status="running")


@pytest.mark.slow
def test_a_run_ends_and_the_next_begins_though_the_disk_takes_nothing(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    tries = threading.Event()

    def fail(*_: object) -> None:
        tries.set()
        refuse()

    runs = [studio.fine_tune.submit(TrainRequest(path, overrides=quick(epochs=epochs))) for epochs in (40, 1)]
    with monkeypatch.context() as patch:
        patch.setattr("sbert_studio.runs.event_log.EventLog.append", fail)
        patch.setattr(RunStore, "_write", fail)
        assert tries.wait(30)
        studio.fine_tune.stop(runs[0].id)
        assert studio.runner.wait(runs[0].id, 60) and studio.runner.wait(runs[1].id, 60)
        assert [studio.store.get(run.id).status for run in runs] == ["stopped", "finished"]
    studio.close()
    with studio_at(studio.settings.home) as later:
        assert [later.fine_tune.get_run(run.id).run.status for run in runs] == ["stopped", "finished"]
        assert later.fine_tune.get_run(runs[1].id).events[-1][1]["type"] == "finished"


DEEP, NESTED = "[" * 5000 + "]" * 5000, "[" * 150 + "]" * 150
ODD: list[str] = [
    '["x"]', '{"a": 1}', str(1 << 63), str(-(1 << 63) - 1), '"\\ud800"', DEEP, NESTED, "1e400", "NaN", "true", "9" * 400, '"\\ud800{}"',
    '{"score": []}', '"[]"', '"{\\"score\\": [1]}"', "null", "-1", '"2026"', '""', '{"x": ' + "9" * 30 + "}", '{"x": NaN}',
]  # fmt: skip


def on_disk(home: Path, **values: Any) -> tuple[str, dict[str, Any], Path]:
    run = new_run(**{"status": "finished", **values})
    folder = home / "runs" / run.id
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(dump_run(run, home))
    return run.id, json.loads((folder / "run.json").read_text()), folder


def with_value(values: dict[str, Any], name: str, value: str) -> str:
    return json.dumps({**values, name: "HERE"}).replace('"HERE"', value)


@pytest.mark.parametrize("name", [*Run.model_fields, "rowid", "unknown"])
def test_no_value_of_a_run_file_hides_the_other_runs(tmp_path: Path, name: str) -> None:
    good, *_ = on_disk(tmp_path)
    odd = []
    for value in ODD:
        run_id, values, folder = on_disk(tmp_path)
        (folder / "run.json").write_text(with_value(values, name, value))
        odd.append(run_id)
    found = RunStore(tmp_path)
    listed = {run.id for run in found.runs()}
    assert good in listed
    assert listed | {run_id for run_id in odd if any(run_id in notice for notice in found.notices)} >= {good, *odd}
    for run in found.runs():
        json.dumps(run.to_json(), ensure_ascii=False, allow_nan=False).encode()
        assert RunStore(tmp_path).get(run.id) == run
    assert found.recover() == [] or name == "status"


@pytest.mark.parametrize("text", ['{"id":"ID","name":["x"]}', "", "[", DEEP, '{"id":"ID"}', "\ufeff", '{"id": 3}'])
def test_a_damaged_run_file_is_named_until_it_is_whole_again(tmp_path: Path, text: str) -> None:
    good, *_ = on_disk(tmp_path)
    bad, values, folder = on_disk(tmp_path)
    (folder / "run.json").write_text(text.replace("ID", bad), encoding="utf-8")
    found = RunStore(tmp_path)
    assert [run.id for run in found.runs()] == [good]
    assert [bad in notice for notice in found.notices] == [True]
    (folder / "run.json").write_text(json.dumps(values))
    assert len(found.runs()) == 2 and found.notices == ()


@pytest.mark.parametrize("kind", ["step", "evaluated", "started", "notice", "part", "partended", "unheard-of"])
@pytest.mark.parametrize("name", ["step", "run_step", "time", "loss", "type", "message", "dev_rows", "after", "title", "metric", "score"])
def test_no_value_of_an_event_hides_its_run(tmp_path: Path, kind: str, name: str) -> None:
    run_id, _, folder = on_disk(tmp_path, status="running")
    whole = {
        "time": 1.7e9, "type": kind, "step": 1, "steps": 2, "loss": 0.5, "message": "m", "dev_rows": 2, "metric": "m", "score": 0.5,
        "number": 1, "of": 2, "title": "t", "before": {"score": 0.5}, "after": {"score": 0.5},
    }  # fmt: skip
    lines = [*(with_value(whole, name, value) for value in ODD), json.dumps({"time": 1.7e9, "type": "step", "step": 7}), '{"time": 1']
    (folder / "events.jsonl").write_text("\n".join(lines))
    found = RunStore(tmp_path)
    assert found.get(run_id).step == 7
    events = found.events(run_id)
    assert any(run_id in notice and "skipped" in notice for notice in found.notices)
    json.dumps(events, ensure_ascii=False, allow_nan=False).encode()
    found.record(run_id, {"type": "step", "step": 8})
    assert found.get(run_id).step == 8, "the line that was cut off does not take the next one with it"


def test_a_change_that_is_a_bug_hides_no_run(kept: RunStore, caplog: pytest.LogCaptureFixture) -> None:
    run = kept.add(new_run())
    kept.try_record(run.id, status="no such status", pairs_per_second=math.inf)
    kept.try_record(run.id, {"type": object()})
    assert kept.get(run.id) == kept.runs()[0] == run and len(caplog.records) == 2
    kept.try_record(run.id, status="finished", pairs_per_second=math.nan, seconds=None)
    assert RunStore(kept._home).get(run.id).status == "finished"


def test_numbers_without_a_json_word_become_null_and_other_values_come_back(kept: RunStore) -> None:
    run = kept.add(new_run(before={"score": 0.5, "interval": (0.1, math.nan)}, name="caf\udce9"))
    assert run.before == {"score": 0.5, "interval": [0.1, None]}
    assert RunStore(kept._home).get(run.id).before == run.before and RunStore(kept._home).get(run.id).name == "caf?"
