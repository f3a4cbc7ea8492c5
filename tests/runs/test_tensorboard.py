"""The event files are read back record by record, with TensorBoard's own rule for a training that was resumed."""

from __future__ import annotations

import shutil
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tensorboardX.crc32c import crc32c
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tiny_studio import quick, write_pairs

from sbert_studio.runs.tensorboard import TensorBoardLog
from sbert_studio.services import Studio, TrainRequest

pytestmark = pytest.mark.slow


def _masked(data: bytes) -> int:
    code = crc32c(data)
    return (((code >> 15) | (code << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(path: Path) -> Iterator[Event]:
    """The events of one file; both checksums of each are verified."""
    data, place = path.read_bytes(), 0
    while place < len(data):
        (length, check) = struct.unpack_from("<QI", data, place)
        assert check == _masked(data[place : place + 8])
        body = data[place + 12 : place + 12 + length]
        assert struct.unpack_from("<I", data, place + 12 + length) == (_masked(body),)
        yield Event.FromString(body)
        place += 16 + length


def read(folder: Path) -> dict[str, list[tuple[int, Any]]]:
    """tag → (step, value), as TensorBoard shows it: a session's start at step s drops what was at s and later."""
    found: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for path in sorted(folder.glob("events.*")):
        for event in records(path):
            if event.HasField("session_log") and event.session_log.status == SessionLog.START:
                for tag, points in found.items():
                    found[tag] = [point for point in points if point[0] < event.step]
            for value in event.summary.value:
                text = value.tensor.string_val
                found[value.tag].append((event.step, text[0].decode() if text else value.simple_value))
    return found


def log_of(studio: Studio, run_id: str) -> dict[str, list[tuple[int, Any]]]:
    return read(studio.workspace.run(run_id) / "tensorboard")


def test_a_resumed_run_goes_on_without_a_point_twice(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sbert_studio.training.events.Throughput.is_due", lambda _: True)  # every step is told, not five a second
    data = write_pairs(tmp_path / "pairs.csv")
    settings = quick(epochs=4, checkpoint_every=5)

    reached = []

    def crash() -> bool:
        if reached and reached[-1] == 13:
            raise RuntimeError("the machine is gone")
        return False

    def follow(event: Any) -> None:
        reached.extend([event.step] if type(event).__name__ == "Step" else [])

    with pytest.raises(RuntimeError):
        studio.fine_tune.train(TrainRequest(data, overrides=settings), on_event=follow, should_stop=crash)
    (run,) = studio.fine_tune.list_runs()
    before = log_of(studio, run.id)
    assert [step for step, _ in before["train/loss"]] == list(range(1, 14)), "the last checkpoint is that of step 10"
    done = studio.fine_tune.resume(run.id)
    assert done.status == "finished"
    low, high = done.after["gain_interval"]  # what the untuned model did is known after a crash, too
    assert low <= done.after["score"] - done.before["score"] <= high
    found = log_of(studio, run.id)
    for tag, steps in (("train/loss", range(1, 29)), ("train/learning_rate", range(1, 29)), ("held_out/cosine_spearman", range(0, 29, 7))):
        assert [step for step, _ in found[tag]] == list(steps), tag
    assert found["train/loss"][:10] == before["train/loss"][:10], "what came before the checkpoint stays"
    assert len(found["spec/text_summary"]) == 1


def test_a_run_leaves_the_same_curves_in_event_files_and_a_folder_for_each_training(studio: Studio, tmp_path: Path) -> None:
    run = studio.fine_tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(epochs=3)))
    found, events = log_of(studio, run.id), [event for _, event in studio.fine_tune.get_run(run.id).events]
    told = [event for event in events if event["type"] == "step"]
    assert told
    for tag, name in (
        ("loss", "loss"),
        ("learning_rate", "learning_rate"),
        ("gradient_norm", "grad_norm"),
        ("rows_per_second", "pairs_per_second"),
    ):
        assert found[f"train/{tag}"] == [(event["step"], pytest.approx(event[name], rel=1e-6)) for event in told]
    judged = [event for event in events if event["type"] == "evaluated"]
    assert [event["step"] for event in judged] == [0, 7, 14, 21]
    assert found["held_out/cosine_spearman"] == [(event["step"], pytest.approx(event["score"], abs=1e-6)) for event in judged]
    assert found["held_out/euclidean/pearson"][-1][1] == pytest.approx(judged[-1]["scores"]["euclidean"]["pearson"], abs=1e-6)
    assert found["held_out/interval/low"][-1][1] == pytest.approx(judged[-1]["scores"]["interval"][0], abs=1e-6)
    ((step, spec),) = found["spec/text_summary"]
    assert step == 0
    assert "| batch_size | `8` |" in spec
    folder = studio.workspace.run(run.id)
    shutil.rmtree(folder / "tensorboard")
    log = TensorBoardLog(folder)
    step = {"type": "step", "step": 1, "loss": 0.5, "learning_rate": 1e-5, "grad_norm": None, "pairs_per_second": 9.0, "epoch": 0.1}
    for number, title in ((1, "seed 12"), (2, "../seed 13")):
        assert log.write({"type": "part", "number": number, "of": 2, "title": title}) == ""
        assert log.write({"type": "started", "step": 0}) == ""
        assert log.write({**step, "loss": number}) == ""
    log.close()
    folders = sorted(path.name for path in (folder / "tensorboard").iterdir())
    assert folders == ["01-seed-12", "02-seed-13"]
    for number, name in enumerate(folders, 1):
        found = read(folder / "tensorboard" / name)
        assert found["train/loss"] == [(1, number)]
        assert "train/gradient_norm" not in found


def test_a_log_that_cannot_be_written_is_told_once_and_ends_no_run(studio: Studio, tmp_path: Path) -> None:
    run = studio.fine_tune.submit(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()))
    # A file stands where the folder should be.
    (studio.workspace.run(run.id) / "tensorboard").write_text("in the way")
    assert studio.runner.wait(run.id, 240)
    seen = studio.fine_tune.get_run(run.id)
    assert seen.run.status == "finished"
    told = [event["message"] for _, event in seen.events if event["type"] == "notice" and "TensorBoard" in event["message"]]
    assert len(told) == 1
    assert "the run goes on without it" in told[0]
