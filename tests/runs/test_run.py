"""Which actions a run offers in each state: those that work, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.runs.run import ACTIONS, Run, Status, available_actions, has_model, new_run_id, utc_now
from sbert_studio.services import Studio

ALL_ENDED = ("rename", "delete")
EXPECTED = {  # without a model, with one
    "queued": (("stop",), ("stop",)),
    "running": (("stop",), ("stop",)),
    "finished": (ALL_ENDED, ("use", "download", *ALL_ENDED)),
    "stopped": (("resume", *ALL_ENDED), ("resume", "use", "download", *ALL_ENDED)),
    "failed": (("resume", *ALL_ENDED), ("resume", *ALL_ENDED)),
    "interrupted": (("resume", *ALL_ENDED), ("resume", *ALL_ENDED)),
    "asks": (("answer", *ALL_ENDED), ("answer", *ALL_ENDED)),
}


def run_with(status: str, folder: Path | None = None, **fields: object) -> Run:
    values = {"id": new_run_id(), "owner": "local", "name": "a", "created": utc_now(), "model": "tiny", "model_path": folder, **fields}
    return Run.model_validate({**values, "status": status})


@pytest.mark.parametrize("status", get_args(Status))
def test_each_state_offers_its_actions(status: str, tmp_path: Path) -> None:
    without, with_model = EXPECTED[status]
    assert available_actions(run_with(status)) == without
    run = run_with(status, tmp_path)
    assert available_actions(run) == with_model and run.to_json()["actions"] == list(with_model)
    assert has_model(run) == ("download" in with_model)
    assert set(with_model) <= set(ACTIONS)


def test_stopping_damaged_and_pair_models_offer_fewer_actions(tmp_path: Path) -> None:
    assert available_actions(run_with("running"), is_stopping=True) == ()
    assert available_actions(run_with("finished", tmp_path), is_damaged=True) == ALL_ENDED
    assert available_actions(run_with("finished", tmp_path / "gone")) == ALL_ENDED
    for architecture in ("cross", "poly"):
        assert available_actions(run_with("finished", tmp_path, spec={"architecture": architecture})) == ("download", *ALL_ENDED)


def test_offered_actions_work_and_names_are_unique(studio: Studio) -> None:
    first, second = (studio.store.add(run_with("finished", name=name)) for name in ("one", "two"))
    with pytest.raises(StudioError, match="another run is named 'one'"):
        studio.fine_tune.rename(second.id, "one")
    other = studio.store.add(run_with("finished", owner="visitor-0000000000000000"))
    assert studio.fine_tune.rename(other.id, "one").name == studio.fine_tune.rename(first.id, "one").name
    service = studio.fine_tune
    for status in get_args(Status):
        run = studio.store.add(run_with(status))
        if not run.active:
            studio.store.release(run.id)
        if status == "finished":
            with pytest.raises(StudioError, match="cannot be resumed"):
                service.resubmit(run.id)
        if "rename" in run.actions:
            assert service.rename(run.id, f"  my \n {status} ").name == f"my {status}"
        else:
            with pytest.raises(StudioError, match=status):
                service.rename(run.id, "b")
        if "delete" in run.actions:
            service.delete_run(run.id)
            assert run.id not in {one.id for one in studio.store.runs()}
        else:
            with pytest.raises(StudioError, match=status) as refused:
                service.delete_run(run.id)
            assert refused.value.hint == "stop it before deleting it"


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "\ud800", "\u200b\u202e", "\0"])
def test_a_name_has_visible_characters_and_a_length(studio: Studio, name: str) -> None:
    run = studio.store.add(run_with("finished"))
    with pytest.raises(StudioError, match="characters"):
        studio.fine_tune.rename(run.id, name)
