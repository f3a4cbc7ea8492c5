"""Work kept on a hub: the real client of the Hugging Face Hub, against a server on this machine that speaks its part of the protocol."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from push_server import TOKEN, Hub
from servers import served
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.services.kept_work import REPOSITORY
from sbert_studio.services.mirror import Mirror
from sbert_studio.services.mirror_storage import HubStorage
from sbert_studio.settings import Limits

ME, MINE_ELSEWHERE, OTHER = "visitor-0123456789abcdef", "visitor-1111111111111111", "visitor-2222222222222222"
UPLOAD = f"uploads/{ME}/0123456789ab"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    Hub.folder = tmp_path / "hub"
    with served(Hub) as url:
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
        yield url


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> tuple[Path, str]:
    """A home folder with a finished run of a visitor, and the id of the run. Read only."""
    folder = tmp_path_factory.mktemp("kept")
    with studio_at(folder / "home", tiny_model) as studio:
        run_id = studio.fine_tune.train(TrainRequest(write_pairs(folder / "pairs.csv"), overrides=quick(), name="Mine", owner=ME)).id
    return folder / "home", run_id


@pytest.fixture
def studio(trained: tuple[Path, str], tmp_path: Path, tiny_model: Path) -> Iterator[Studio]:
    """A studio with a run, an upload and a basket of one visitor, and an upload of another."""
    home = tmp_path / "home"
    shutil.copytree(trained[0], home)
    for unit in (UPLOAD, f"uploads/{OTHER}/0123456789ab"):
        (home / unit).mkdir(parents=True)
        (home / unit / "texts.txt").write_text(f"of {unit}")
        (home / unit / "about.json").write_text(json.dumps({"name": "t", "file": "texts.txt", "column": "text", "used": 1.0}))
    (home / "baskets").mkdir(exist_ok=True)
    (home / f"baskets/{ME}.json").write_text('[["a", "b", true, ""]]')
    with studio_at(home, tiny_model) as found:
        yield found


def stored(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((tmp_path / f"hub/datasets/me/{REPOSITORY}/manifests").iterdir())]


def test_work_is_kept_and_comes_back_in_another_browser(
    studio: Studio, trained: tuple[Path, str], hub: str, tmp_path: Path, tiny_model: Path
) -> None:
    run_id = trained[1]
    assert studio.kept_work.restore(ME, TOKEN, hub) is None, "nothing is kept yet, and no data set is made"
    assert not (tmp_path / "hub/datasets").exists()
    kept = studio.kept_work.keep(ME, TOKEN, hub)
    assert (kept.url, kept.units) == (f"{hub}/datasets/me/{REPOSITORY}", 3)
    assert (tmp_path / f"hub/datasets/me/{REPOSITORY}/.private").read_text() in ("private", "True")
    assert {one["unit"] for one in stored(tmp_path)} == {f"runs/{run_id}", "uploads/me/0123456789ab", "baskets/me.json"}
    assert studio.kept_work.keep(ME, TOKEN, hub).units == 0, "what has not changed is not sent again"
    with studio_at(tmp_path / "elsewhere", tiny_model) as other:
        found = other.kept_work.restore(MINE_ELSEWHERE, TOKEN, hub)
        assert found is not None and found.units == 3
        run = other.store.get(run_id)
        assert (run.owner, run.name, run.status) == (MINE_ELSEWHERE, "Mine", "finished")
        assert (other.catalog.load(run_id).encode(["cat"]) == studio.catalog.load(run_id).encode(["cat"])).all()
        home = other.workspace.home
        assert (home / f"uploads/{MINE_ELSEWHERE}/0123456789ab/texts.txt").read_text() == f"of {UPLOAD}"
        assert (home / f"baskets/{MINE_ELSEWHERE}.json").is_file()
        again = other.kept_work.restore(MINE_ELSEWHERE, TOKEN, hub)
        assert again is not None and again.units == 0
        assert other.kept_work.restore(OTHER, "hf_other", hub) is None, "another account has its own"


def test_in_another_browser_of_the_same_host_a_run_gets_an_id_of_its_own(
    studio: Studio, trained: tuple[Path, str], hub: str, tmp_path: Path
) -> None:
    studio.kept_work.keep(ME, TOKEN, hub)
    found = studio.kept_work.restore(MINE_ELSEWHERE, TOKEN, hub)
    assert found is not None and found.units == 3
    (copy,) = studio.store.runs(MINE_ELSEWHERE)
    assert copy.id != trained[1] and copy.model_path == studio.workspace.run(copy.id) / "model"
    assert studio.store.get(trained[1]).owner == ME
    studio.kept_work.keep(MINE_ELSEWHERE, TOKEN, hub)
    assert {one["unit"] for one in stored(tmp_path)} == {f"runs/{trained[1]}", "uploads/me/0123456789ab", "baskets/me.json"}


def test_a_crafted_data_set_gives_access_to_nothing_of_others(
    studio: Studio, trained: tuple[Path, str], hub: str, tmp_path: Path, tiny_model: Path
) -> None:
    victim, run_id = trained[1], "run-00000000aa"
    crafted = tmp_path / "crafted"
    (crafted / "uploads" / OTHER / "aaaaaaaaaaaa").mkdir(parents=True)
    shutil.copytree(studio.workspace.run(victim), crafted / "runs" / victim)
    for number, (file, change) in enumerate(
        [
            ("source.json", {"data": {"file": f"../{victim}/data.csv", "name": "x.csv", "sha256": "0", "bytes": 1}}),
            ("run.json", {"status": "queued"}),
            ("run.json", {"model_path": "/etc"}),
        ]
    ):
        folder = shutil.copytree(studio.workspace.run(victim), crafted / "runs" / f"run-00000000a{number}")
        (folder / file).write_text(json.dumps({**json.loads((folder / file).read_text()), **change}))
    (crafted / "secret").write_bytes(b"x" * 32)
    (crafted / f"uploads/{OTHER}/aaaaaaaaaaaa/about.json").write_text(json.dumps({"file": "texts.txt"}))
    Mirror(crafted, lambda: HubStorage(REPOSITORY, "hf_other", hub)).sync()
    secret, before = studio.workspace.secret(), {run.id: run.owner for run in studio.store.runs()}
    studio.kept_work.restore(MINE_ELSEWHERE, "hf_other", hub)
    assert studio.workspace.secret() == secret
    assert not (studio.workspace.home / f"uploads/{OTHER}/aaaaaaaaaaaa").exists()
    after = {run.id: run for run in studio.store.runs()}
    assert {name: after[name].owner for name in before} == before
    new = [run for name, run in after.items() if name not in before]
    assert {run.owner for run in new} == {MINE_ELSEWHERE} and len(new) == 2, "a copy of the run, and the one whose path was changed"
    assert all(run.model_path == studio.workspace.run(run.id) / "model" for run in new)
    assert run_id not in after


def test_a_public_data_set_and_too_much_work_are_refused(studio: Studio, hub: str, tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(StudioError, match="status 401"):
        studio.kept_work.keep(ME, "hf_wrong", hub)
    studio.kept_work.keep(ME, TOKEN, hub)
    with studio_at(tmp_path / "small", tiny_model, limits=Limits(uploads_mb=1)) as small:
        large = tmp_path / "large" / "uploads" / "me" / "bbbbbbbbbbbb"
        large.mkdir(parents=True)
        (large / "texts.txt").write_bytes(b"x" * (2 << 20))
        (large / "about.json").write_text("{}")
        Mirror(tmp_path / "large", lambda: HubStorage(REPOSITORY, TOKEN, hub)).sync()
        with pytest.raises(StudioError, match="larger than"):
            small.kept_work.restore(ME, TOKEN, hub)
    (tmp_path / f"hub/datasets/me/{REPOSITORY}/.private").write_text("False")
    for action in (studio.kept_work.keep, studio.kept_work.restore):
        with pytest.raises(StudioError, match="is public"):
            action(ME, TOKEN, hub)
