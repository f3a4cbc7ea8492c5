"""What stands in the runs' folders is data: whatever it is, the other runs are listed and the damaged one is named."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.runs.records.record import Run, new_run_id, now
from sbert_studio.runs.records.row import COLUMNS, to_row
from sbert_studio.runs.records.store import Store

DEEP = "[" * 5000 + "]" * 5000
NESTED = "[" * 300 + "]" * 300
ODD: list[str] = [
    '["x"]', '{"a": 1}', str(1 << 63), str(-(1 << 63) - 1), '"\\ud800"', DEEP, NESTED, "1e400", "NaN", "true", "9" * 400, '"\\ud800{}"',
    '{"score": []}', '"[]"', '"{\\"score\\": [1]}"', "null", "-1", '"2026"', '""',
]  # fmt: skip


def folder_of(home: Path, **values: Any) -> tuple[str, dict[str, Any], Path]:
    """A run that stands in its folder alone."""
    run = Run(**{"id": new_run_id(), "owner": "local", "name": "n", "status": "finished", "created": now(), "model": "m", **values})
    row = {**to_row({name: getattr(run, name) for name in COLUMNS}, home), "process": 0, "birth": "", "stop": 0}
    folder = home / "runs" / run.id
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(row))
    return run.id, row, folder


def with_value(row: dict[str, Any], name: str, value: str) -> str:
    return json.dumps({**row, name: "HERE"}).replace('"HERE"', value)


@pytest.mark.parametrize("name", [*COLUMNS, "process", "birth", "stop", "rowid", "unknown"])
def test_no_value_of_a_row_hides_the_other_runs(tmp_path: Path, name: str) -> None:
    good, row, _ = folder_of(tmp_path)
    odd = {}
    for value in ODD:
        run_id, row, folder = folder_of(tmp_path)
        (folder / "run.json").write_text(with_value(row, name, value))
        odd[run_id] = value
    store = Store(tmp_path / "studio.db")
    listed = {run.id for run in store.runs()}
    assert good in listed
    assert listed | {run_id for run_id in odd if any(run_id in notice for notice in store.notices)} >= {good, *odd}
    for run in store.runs():
        json.dumps(run.to_json(), ensure_ascii=False, allow_nan=False).encode()
    assert store.recover() == [] or name == "status"
    store.close()


@pytest.mark.parametrize("text", ['{"id":"ID","name":["x"]}', "", "[", DEEP, '{"id":"ID"}', "\ufeff", '{"id": 3}'])
def test_a_row_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    good, *_ = folder_of(tmp_path)
    bad, _, folder = folder_of(tmp_path)
    (folder / "run.json").write_text(text.replace("ID", bad), encoding="utf-8")
    store = Store(tmp_path / "studio.db")
    assert [run.id for run in store.runs()] == [good]
    assert [bad in notice for notice in store.notices] == [True]


@pytest.mark.parametrize("kind", ["step", "evaluated", "started", "notice", "part", "partended", "unheard-of"])
@pytest.mark.parametrize("name", ["step", "run_step", "time", "loss", "type", "message", "dev_rows", "after", "title", "metric", "score"])
def test_no_value_of_an_event_hides_its_run(tmp_path: Path, kind: str, name: str) -> None:
    from sbert_studio.ui.panels.tuning.follow import Follow

    run_id, _, folder = folder_of(tmp_path)
    whole = {
        "time": 1.7e9, "type": kind, "step": 1, "steps": 2, "loss": 0.5, "message": "m", "dev_rows": 2, "metric": "m", "score": 0.5,
        "number": 1, "of": 2, "title": "t", "before": {"score": 0.5}, "after": {"score": 0.5},
    }  # fmt: skip
    lines = [*(with_value(whole, name, value) for value in ODD), json.dumps({"time": 1.7e9, "type": "step", "step": 7}), '{"time": 1']
    (folder / "events.jsonl").write_text("\n".join(lines))
    store = Store(tmp_path / "studio.db")
    assert store.get(run_id).step == 7
    assert any(run_id in notice and "left out" in notice for notice in store.notices)
    events = store.events(run_id)
    json.dumps(events, ensure_ascii=False).encode()
    Follow(run_id).absorb(events)


def test_what_is_drawn_by_chance_hides_nothing(tmp_path: Path) -> None:
    chance = random.Random(12)
    good, row, _ = folder_of(tmp_path)
    for _ in range(150):
        _, row, folder = folder_of(tmp_path)
        text = json.dumps(row)
        for name in chance.sample(sorted(row), chance.randint(1, 4)):
            text = json.dumps({**row, name: "HERE"}).replace('"HERE"', chance.choice(ODD))
        if chance.random() < 0.5:
            place = chance.randrange(len(text))
            text = text[:place] + chance.choice(["", "\0", "[", '"', "\\ud800", "9" * 30]) + text[place + chance.randint(0, 9) :]
        (folder / "run.json").write_text(text)
    store = Store(tmp_path / "studio.db")
    assert good in [run.id for run in store.runs()]
    assert len(store.runs()) + len(store.notices) == 151
