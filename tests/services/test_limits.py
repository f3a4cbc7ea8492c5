"""A machine that is shared: how much each may ask, what is removed when, and that whoever is refused is told why."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import quick, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.identity import ANONYMOUS, Identity, current_identity, signed_in, use_identity
from sbert_studio.runs.run import Run
from sbert_studio.services import Studio
from sbert_studio.services.janitor import Janitor, remove_old_runs
from sbert_studio.services.jobs import BeginPhase, JobQueue
from sbert_studio.services.training_plan import TrainRequest
from sbert_studio.settings import SHARED_LIMITS, Limits, Settings

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def request(path: Path, owner: str = "visitor-1", **overrides: Any) -> TrainRequest:
    return TrainRequest(path, overrides=quick(**overrides), owner=owner)


def ended(studio: Studio, run: Run) -> Run:
    assert studio.runner.wait(run.id, 240)
    return studio.fine_tune.get_run(run.id).run


@pytest.mark.parametrize(
    ("limits", "overrides", "words"),
    [
        (Limits(rows=50), {}, "60 rows; the maximum here is 50"),
        (Limits(trainings=10), {"folds": 5, "seeds": 3}, "15 training runs"),
        (Limits(epochs=5), {"epochs": 1000}, "1,000 epochs; the maximum here is 5"),
    ],
)
def test_a_run_that_is_too_large_is_refused_with_its_limit(
    tmp_path: Path, tiny_model: Path, limits: Limits, overrides: dict[str, Any], words: str
) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model, limits=limits) as studio:
        with pytest.raises(StudioError, match=words):
            studio.fine_tune.submit(request(pairs, **overrides))
        assert studio.fine_tune.list_runs() == [] and not list(studio.workspace.runs.iterdir())
    with studio_at(tmp_path / "own", tiny_model) as studio:  # a machine of one's own has no limits
        studio.fine_tune.stop(studio.fine_tune.submit(request(pairs, **overrides)).id)


@pytest.mark.slow
def test_a_visitor_has_one_run_at_a_time_and_a_place_in_the_queue(tmp_path: Path, tiny_model: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    with studio_at(tmp_path / "home", tiny_model, limits=Limits(runs=1, queue=3)) as studio:
        first = studio.fine_tune.submit(request(pairs, "visitor-1", epochs=900, evaluations_per_epoch=1))
        wait_until(lambda: studio.fine_tune.get_run(first.id).run.status == "running")
        with pytest.raises(StudioError, match="pairs is training"):
            studio.fine_tune.submit(request(pairs, "visitor-1"))
        waiting = [studio.fine_tune.submit(request(pairs, f"visitor-{number}", epochs=0.2)) for number in (2, 3)]
        assert [studio.fine_tune.get_run(run.id).waiting for run in (first, *waiting)] == [0, 1, 2]
        assert [seen.run.id for seen in studio.fine_tune.list_active()] == [first.id, *(run.id for run in waiting)]
        with pytest.raises(StudioError, match="waiting for its turn"):
            studio.fine_tune.submit(request(pairs, "visitor-2"))
        with pytest.raises(StudioError, match="3 runs are queued, and the maximum is 3"):
            studio.fine_tune.submit(request(pairs, "visitor-4"))
        studio.fine_tune.stop(waiting[0].id)
        assert studio.fine_tune.get_run(waiting[1].id).waiting == 1
        studio.fine_tune.stop(first.id)
        assert studio.fine_tune.get_run(first.id).stopping or studio.fine_tune.get_run(first.id).run.status == "stopped"
        assert ended(studio, waiting[1]).status == "finished"
        assert not studio.fine_tune.get_run(first.id).stopping
        assert studio.fine_tune.submit(request(pairs, "visitor-1")).id


@pytest.mark.slow
def test_a_run_that_trains_for_too_long_is_stopped_and_says_why(tmp_path: Path, tiny_model: Path) -> None:
    with studio_at(tmp_path / "home", tiny_model, limits=Limits(minutes=60)) as studio:
        run = studio.fine_tune.submit(request(write_pairs(tmp_path / "pairs.csv"), epochs=900, evaluations_per_epoch=1))
        wait_until(lambda: studio.fine_tune.get_run(run.id).run.step > 2)
        Janitor(studio).run_once()
        assert not studio.fine_tune.get_run(run.id).stopping
        Janitor(studio).run_once(datetime.now(UTC) + timedelta(minutes=61))
        assert ended(studio, run).status == "stopped"
        notes = [event["message"] for _, event in studio.fine_tune.get_run(run.id).events if event["type"] == "notice"]
        assert sum("at most 60 minutes" in note for note in notes) == 1


def old_run(studio: Studio, number: int, days: float, size: int = 1000, owner: str = "local") -> str:
    created = (NOW - timedelta(days=days)).isoformat(timespec="seconds")
    run = studio.store.add(Run(id=f"run-{number:010x}", owner=owner, name="old", status="finished", created=created, model="m"))
    studio.store.release(run.id)
    (studio.workspace.run(run.id) / "weights").write_bytes(bytes(size))
    return run.id


def test_runs_of_a_shared_page_go_on_the_day_that_was_told(tmp_path: Path, tiny_model: Path) -> None:
    with studio_at(tmp_path / "home", tiny_model, limits=Limits(keep_days=14)) as studio:
        old, young = old_run(studio, 1, 13.9), old_run(studio, 2, 2)
        assert studio.fine_tune.get_run(young).kept_until == (NOW + timedelta(days=12)).isoformat(timespec="seconds")
        assert remove_old_runs(studio, NOW) == []
        assert remove_old_runs(studio, NOW + timedelta(hours=3)) == [old]
        assert [run.id for run in studio.fine_tune.list_runs()] == [young]
        assert not (studio.workspace.runs / old).exists()


def test_runs_of_commands_are_kept_and_visitors_have_a_day_after_a_pause(
    tmp_path: Path, tiny_model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with studio_at(tmp_path / "home", tiny_model, limits=Limits(keep_days=14), trusted_proxies=("127.0.0.1",)) as studio:
        own, theirs = old_run(studio, 1, 100), old_run(studio, 2, 100, owner="visitor")
        janitor = Janitor(studio)
        assert studio.fine_tune.get_run(own).kept_until == "" and studio.fine_tune.get_run(theirs).kept_until != ""
        seen = studio.workspace.home / "retention.txt"
        written = []
        for minutes in (0, 59, 61):  # stored once an hour
            janitor.run_once(NOW + timedelta(minutes=minutes))
            written.append(seen.read_text())
        assert written[0] == written[1] != written[2]
        for hours in (2, 12, 23):  # the page has just been started
            janitor.run_once(NOW + timedelta(hours=hours))
        assert {run.id for run in studio.fine_tune.list_runs()} == {own, theirs} and not caplog.records
        janitor.run_once(NOW + timedelta(hours=25))
        assert [run.id for run in studio.fine_tune.list_runs()] == [own] and f"the run {theirs} was deleted" in caplog.text
        janitor.run_once(NOW + timedelta(days=3650))  # the clock is ahead for a moment
        janitor.run_once(NOW + timedelta(hours=26))
        later = old_run(studio, 3, 100, owner="visitor")
        Janitor(studio).run_once(NOW + timedelta(days=40))  # after a pause, or a jump of the clock
        assert studio.fine_tune.get_run(later) is not None and "nothing is deleted before 2026-12-12" in caplog.text


def test_where_runs_fill_the_disk_the_oldest_get_a_day_of_notice(tmp_path: Path, tiny_model: Path) -> None:
    mebibyte = 1 << 20
    with studio_at(tmp_path / "home", tiny_model, limits=Limits(runs_mb=10)) as studio:
        ids = [old_run(studio, number, 10 - number, 4 * mebibyte) for number in range(4)]
        assert remove_old_runs(studio, NOW) == []
        told = [studio.fine_tune.get_run(run_id).kept_until for run_id in ids]
        assert told == [(NOW + timedelta(days=1)).isoformat(timespec="seconds")] * 2 + ["", ""]
        assert remove_old_runs(studio, NOW + timedelta(hours=23)) == []
        assert remove_old_runs(studio, NOW + timedelta(hours=25)) == ids[:2]
        assert remove_old_runs(studio, NOW + timedelta(days=300)) == []


def test_on_a_machine_of_ones_own_nothing_is_removed(tmp_path: Path, tiny_model: Path) -> None:
    with studio_at(tmp_path / "home", tiny_model) as studio:
        old = old_run(studio, 1, 4000)
        Janitor(studio).run_once(NOW)
        assert studio.fine_tune.get_run(old).kept_until == "" and remove_old_runs(studio, NOW) == []


@pytest.mark.slow
def test_what_can_be_made_again_is_kept_within_its_part_of_the_disk(tmp_path: Path, tiny_model: Path) -> None:
    with studio_at(tmp_path / "home", tiny_model, disk_mb=10) as studio:
        for folder, suffix in (("projections", ".npy"), ("exports", ".zip")):
            (studio.workspace.home / folder).mkdir()
            for number in range(4):
                (studio.workspace.home / folder / f"{number}{suffix}").write_bytes(bytes(400_000))
        Janitor(studio).run_once()
        sizes = [sum(path.stat().st_size for path in (studio.workspace.home / folder).iterdir()) for folder in ("projections", "exports")]
        assert all(0 < size <= 1 << 20 for size in sizes)


def test_a_home_that_cannot_be_used_is_logged_once_and_memory_is_returned_all_the_same(
    tmp_path: Path, tiny_model: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with studio_at(tmp_path / "home", tiny_model, limits=Limits(minutes=60, keep_days=14)) as studio:
        janitor, read_only = Janitor(studio), lambda *_: False
        with monkeypatch.context() as patch:
            patch.setattr("os.access", read_only)
            for _ in range(3):
                janitor.run_once(NOW)
        (logged,) = caplog.records
        assert logged.levelname == "WARNING" and logged.exc_info is None and "not writable" in logged.getMessage()
        assert janitor._resident > 0  # what was in use when memory was returned
        janitor.run_once(NOW)
        assert len(caplog.records) == 1
        studio.close()
        monkeypatch.setattr("os.access", read_only)
        janitor.run_once(NOW)
        assert len(caplog.records) == 2  # it has come again


def test_limits_come_from_the_environment_and_only_a_shared_page_has_any_by_itself(tmp_path: Path) -> None:
    assert Settings.from_env({"SBERT_STUDIO_HOME": str(tmp_path)}).limits == Limits()
    assert Settings.from_env({"SPACE_ID": "a/b", "SBERT_STUDIO_HOME": str(tmp_path)}).limits == SHARED_LIMITS
    given = {"SBERT_STUDIO_LIMIT_ROWS": "500", "SBERT_STUDIO_LIMIT_KEEP_DAYS": "0", "SBERT_STUDIO_HOME": str(tmp_path)}
    settings = Settings.from_env(given)
    assert settings.limits == Limits(rows=500)
    shared = settings.served("0.0.0.0", 7860, False, given).limits
    assert (shared.rows, shared.keep_days, shared.runs) == (500, 0, 1)
    with pytest.raises(StudioError, match="SBERT_STUDIO_LIMIT_MINUTES"):
        Settings.from_env({"SBERT_STUDIO_LIMIT_MINUTES": "an hour"})


def test_what_a_killed_process_has_half_written_goes_after_an_hour(tmp_path: Path, tiny_model: Path) -> None:
    with studio_at(tmp_path / "home", tiny_model) as studio:
        folder = studio.workspace.exports()
        old, new, whole = folder / ".part-old.zip", folder / ".part-new.zip", folder / "whole.zip"
        for path in (old, new, whole):
            path.write_bytes(b"x")
        (folder / ".part-folder" / "deep").mkdir(parents=True)
        for path in (old, whole, folder / ".part-folder"):
            os.utime(path, (0, 0))
        Janitor(studio).run_once()
        assert sorted(path.name for path in folder.iterdir()) == [".part-new.zip", "whole.zip"]


def test_what_a_killed_process_was_replacing_goes_or_comes_back(tmp_path: Path, tiny_model: Path) -> None:
    """A folder is replaced in two steps: the old one is moved into a folder beside it, then the new one takes its place."""
    with studio_at(tmp_path / "home", tiny_model) as studio:
        folder = studio.workspace.exports()
        for place in (
            folder / ".old-done" / "replaced",
            folder / "replaced",
            folder / ".old-killed" / "missing",
            folder / ".old-now" / "x",
        ):
            place.mkdir(parents=True)
            (place / "weights").write_text(place.parent.name)
        for old in (folder / ".old-done", folder / ".old-killed"):
            os.utime(old, (0, 0))
        Janitor(studio).run_once()
        assert sorted(path.name for path in folder.iterdir()) == [".old-now", "missing", "replaced"]
        assert [(folder / name / "weights").read_text() for name in ("missing", "replaced")] == [".old-killed", folder.name]


@dataclass
class Nothing:
    """What a job made."""

    model: str = ""

    def describe(self) -> str:
        return "done"


def test_a_job_acts_for_who_asked_for_it_however_long_it_has_waited() -> None:
    go_on, found = threading.Event(), dict[str, Identity | None]()
    jobs = JobQueue(Limits())

    def ask(name: str, identity: Identity | None) -> None:
        def work(begin: BeginPhase) -> Nothing:
            go_on.wait(10)
            found[name] = current_identity()
            return Nothing()

        with use_identity(identity):
            jobs.submit(name, name, work)

    askers = {"visitor": signed_in("hf_one"), "another": signed_in("hf_another"), "nobody": ANONYMOUS, "owner": None}
    try:
        for name, identity in askers.items():
            ask(name, identity)
        with use_identity(signed_in("hf_who_looks_on")):
            go_on.set()
            wait_until(lambda: not jobs.list_active())
    finally:
        jobs.close()
    assert found == askers
    assert [view.message for name in askers for view in jobs.list_jobs(name)] == ["done"] * 4
