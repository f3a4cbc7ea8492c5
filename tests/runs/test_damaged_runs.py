"""One damaged run or model hides no other, says why it cannot be used, and can be deleted; a model cut in half is not packed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.services import Studio, TrainRequest


def cut(path: Path, size: int | None = None) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 if size is None else size])


def widen(model: Path) -> None:
    path = model / "1_Pooling" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"word_embedding_dimension": "wide"}))


MODEL_DAMAGE: dict[str, Callable[[Path], object]] = {
    "weights cut": lambda model: cut(model / "model.safetensors"),
    "weights garbled": lambda model: (model / "model.safetensors").write_bytes(b"\xff" * 100),
    "no weights": lambda model: (model / "model.safetensors").unlink(),
    "no config": lambda model: (model / "config.json").unlink(),
    "odd modules": lambda model: (model / "modules.json").write_text("[1, 2]"),
    "odd pooling": lambda model: (model / "1_Pooling" / "config.json").write_text("[]"),
    "odd width": widen,
    "no folder": shutil.rmtree,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A home with two finished runs."""
    folder = tmp_path_factory.mktemp("trained")
    with studio_at(folder / "home", tiny_model) as studio:
        for name in ("whole", "broken"):
            studio.fine_tune.train(TrainRequest(write_pairs(folder / "pairs.csv"), overrides=quick(), name=name))
    return folder / "home"


@pytest.fixture
def runs(trained: Path, home: Path) -> Path:
    shutil.copytree(trained, home)
    return home


@pytest.mark.parametrize("damage", MODEL_DAMAGE.values(), ids=MODEL_DAMAGE)
def test_a_damaged_model_is_listed_as_damaged_and_can_be_deleted(runs: Path, tiny_model: Path, damage: Callable[[Path], object]) -> None:
    with studio_at(runs, tiny_model) as studio:
        broken, whole = studio.fine_tune.list_runs()
        damage(studio.workspace.runs / broken.id / "model")
        cards = {card.name: card for card in studio.models.list_models()}
        assert list(cards) == ["all-MiniLM-L6-v2", "multilingual-e5-small", broken.id, whole.id]
        assert cards[broken.id].damaged and not cards[whole.id].damaged
        for use in (studio.catalog.load, studio.catalog.load_trainable, studio.fine_tune.export):
            with pytest.raises(StudioError):
                use(broken.id)
        studio.similarity.compare("cat", "dog", whole.id)
        studio.fine_tune.delete_run(broken.id)
        assert [run.id for run in studio.fine_tune.list_runs()] == [whole.id]
        assert [card.name for card in studio.models.list_models()] == ["all-MiniLM-L6-v2", "multilingual-e5-small", whole.id]


def test_the_command_line_and_the_page_list_what_is_damaged(
    runs: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sbert_studio.cli.main import run

    with studio_at(runs, tiny_model) as studio:
        broken, whole = studio.fine_tune.list_runs()
        cut(studio.workspace.runs / broken.id / "model" / "model.safetensors")
    assert run(["runs", "--json"]) == 0
    found = {one["id"]: one["damaged"] for one in json.loads(capsys.readouterr().out)["runs"]}
    assert "truncated" in found[broken.id] and found[whole.id] == ""
    assert run(["models", "--json"]) == 0
    assert [bool(one["damaged"]) for one in json.loads(capsys.readouterr().out)["models"]] == [False, False, True, False]
    assert run(["runs"]) == run(["models"]) == 0
    assert capsys.readouterr().out.count("damaged") >= 2
    pytest.importorskip("gradio")
    from sbert_studio.ui.page import Page
    from sbert_studio.ui.tabs.models import handlers as models

    with studio_at(runs, tiny_model) as studio:
        broken, whole = studio.fine_tune.list_runs()
        cut(studio.workspace.runs / broken.id / "model" / "model.safetensors")
        page = Page(studio)
        _, value = models.list_models(page, None, "")
        assert {card["id"]: card["badge"] for card in value["cards"]} == {
            "all-MiniLM-L6-v2": "built in",
            "multilingual-e5-small": "built in",
            broken.id: "damaged",
            whole.id: "finished",
        }
        known, _, _ = models.model_details(page, None, broken.id)
        assert known is not None and any("damaged" in note for note in known["notes"])
        assert broken.id not in [name for _, name in page.model_choices(None)]
        assert "damaged" not in str(models.show_models(page, None, "").facts)
        (studio.workspace.runs / whole.id / "run.json").write_bytes(b"no run" * 1000)
        assert [run.id for run in studio.fine_tune.list_runs()] == [broken.id]
        assert whole.id in str(models.show_models(page, None, "").facts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "more"),
    [("sbert_studio.training.trials.shutil.copytree", {"seeds": 2}), ("sbert_studio.training.checkpoints.Checkpoints.write", {})],
    ids=["after the last training of several", "within the training"],
)
def test_a_full_disk_names_the_folder_to_its_owner_and_how_to_resume(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, more: dict[str, int]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(where, fail)
        with pytest.raises(StudioError, match=r"disk (is|was|became) full") as caught:
            studio.fine_tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(**more)))
    (run,) = studio.fine_tune.list_runs()
    assert f"--resume {run.id}" in caught.value.hint and str(studio.workspace.home / "runs" / run.id) in caught.value.message
    assert (run.status, run.hint) == ("failed", caught.value.hint) and str(studio.workspace.home) not in run.message
    assert studio.fine_tune.resume(run.id).status == "finished"


def without_examples(folder: Path) -> Path:
    """Return the data file of a run as one of version 1, which builds its examples anew."""
    (folder / "learned.parquet").unlink()
    return next(folder.glob("data.*"))


INPUT_DAMAGE: dict[str, Callable[[Path], object]] = {
    "examples cut": lambda folder: cut(folder / "learned.parquet", -40),
    "data cut": lambda folder: cut(without_examples(folder), -40),
    "no data": lambda folder: without_examples(folder).unlink(),
    "odd spec": lambda folder: (folder / "spec.json").write_text('{"epochs": '),
}


@pytest.mark.parametrize("damage", INPUT_DAMAGE.values(), ids=INPUT_DAMAGE)
def test_damaged_input_files_are_named(runs: Path, tiny_model: Path, damage: Callable[[Path], object]) -> None:
    with studio_at(runs, tiny_model) as studio:
        run = studio.fine_tune.list_runs()[0]
        damage(studio.workspace.runs / run.id)
        studio.store.record(run.id, status="interrupted")
        studio.fine_tune.resubmit(run.id)
        assert studio.runner.wait(run.id, 240)
        found = studio.fine_tune.list_runs()[0]
        assert found.status == "failed" and found.hint and "unforeseen" not in found.message
        assert any(words in found.message for words in ("damaged", "gone", "missing", "differs", "not what"))


def at_command_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    from sbert_studio.cli.main import run

    code = run(arguments)
    return code, *capsys.readouterr()


def test_an_export_names_a_changed_file_and_a_deleted_folder_is_gone(
    runs: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with studio_at(runs, tiny_model) as studio:
        broken, whole = studio.fine_tune.list_runs()
        weights = studio.workspace.runs / broken.id / "model" / "model.safetensors"
        data = bytearray(weights.read_bytes())
        data[-7] ^= 16
        weights.write_bytes(data)
        with pytest.raises(StudioError, match=r"model\.safetensors differs from what was written"):
            studio.fine_tune.export(broken.id)
        assert studio.fine_tune.export(whole.id).bytes > 1000
    with studio_at(runs, tiny_model) as studio:
        broken, whole = studio.fine_tune.list_runs()
    shutil.rmtree(runs / "runs" / broken.id)
    assert [run["id"] for run in json.loads(at_command_line(capsys, "runs", "--json")[1])["runs"]] == [whole.id]
    code, _, err = at_command_line(capsys, "similarity", "cat", "dog", "--model", broken.id)
    assert code == 2 and broken.id in err and "wait" not in err


def test_a_full_disk_speaks_of_a_checkpoint_only_where_there_is_one(tmp_path: Path) -> None:
    from sbert_studio.training.checkpoints import report_full_disk

    with pytest.raises(StudioError, match="no checkpoint yet"), report_full_disk("the checkpoint", tmp_path):
        raise OSError(28, "No space left on device")
    state = tmp_path / "checkpoints/step-000000002/state.json"
    state.parent.mkdir(parents=True)
    state.touch()
    with pytest.raises(StudioError, match="last good checkpoint is intact"), report_full_disk("the checkpoint", tmp_path):
        raise OSError(28, "No space left on device")
