from __future__ import annotations

import csv
import hashlib
import io
import json
import runpy
import shlex
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from processes import started
from tiny_studio import WORDS, quick, sentences, studio_at, unpack_export, write_pairs

from sbert_studio.cli.main import run as run_command
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.report import describe_score
from sbert_studio.runs.export import Export, write_zip
from sbert_studio.runs.run import Run
from sbert_studio.services import Studio, TrainRequest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``my pairs.csv`` lies."""
    return tmp_path_factory.mktemp("export")


@pytest.fixture(scope="module")
def studio(folder: Path, tiny_model: Path) -> Iterator[Studio]:
    """One studio for all tests here, which read its first run and add others."""
    with studio_at(folder / "home", tiny_model) as made:
        yield made


@pytest.fixture(scope="module")
def trained(studio: Studio, folder: Path) -> Run:
    """Read only."""
    path = write_pairs(folder / "my pairs.csv", 80)
    # Rows that a spreadsheet would run, and a path that must lead nowhere.
    with path.open("a", encoding="utf-8") as target:
        target.writelines(f"\"=cmd|' /C calc'!A{row} {row % 7}\",../../etc/passwd {row},{row % 6}\n" for row in range(60))
    return studio.fine_tune.train(TrainRequest(path, overrides=quick(dev_fraction=0.4), name="../../my model"))


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_zip_holds_everything_and_says_nothing_of_this_machine(
    studio: Studio, trained: Run, folder: Path, tmp_path: Path, tiny_model: Path
) -> None:
    exported = studio.fine_tune.export(trained.id, tmp_path / "model.zip")
    assert exported.bytes == exported.path.stat().st_size
    files = _members(exported.path)
    tops = {name.split("/")[0] for name in files}
    assert tops == {"my-model"}
    names = {name.split("/", 1)[1] for name in files}
    assert {"model/model.safetensors", "model/modules.json", "spec.json", "scores.json", "data.json"} <= names
    assert {"held_out.jsonl", "held_out.csv", "README.md", "verify.py"} <= names
    for name, content in files.items():
        if not name.endswith(".safetensors"):
            for secret in (str(tmp_path), str(folder), str(studio.workspace.home), str(tiny_model)):
                assert secret.encode() not in content, f"{name} holds {secret}"
    data = json.loads(files["my-model/data.json"])["files"]["data"]
    assert data["sha256"] == hashlib.sha256((folder / "my pairs.csv").read_bytes()).hexdigest()
    assert json.loads(files["my-model/spec.json"])["loss"] == "cosine"
    assert json.loads(files["my-model/scores.json"])["after"] == trained.after


def test_the_unpacked_folder_says_where_the_model_lies_and_opens_as_one(studio: Studio, trained: Run, tmp_path: Path) -> None:
    folder = unpack_export(studio, trained.id, tmp_path)
    assert 'SentenceTransformer("path/to/this/folder/model")' in (folder / "README.md").read_text(encoding="utf-8")
    assert 'SentenceTransformer("path/to/this/folder")' in (folder / "model" / "README.md").read_text(encoding="utf-8")
    alike = [studio.similarity.compare("cat dog", "red moon", name).cosine for name in (trained.id, str(folder), str(folder / "model"))]
    assert alike[0] == pytest.approx(alike[1], abs=1e-6) and alike[1] == alike[2]


def test_no_cell_of_the_held_out_rows_is_a_live_formula_and_none_is_lost(studio: Studio, trained: Run, tmp_path: Path) -> None:
    files = _members(studio.fine_tune.export(trained.id, tmp_path / "model.zip").path)
    rows = list(csv.DictReader(io.StringIO(files["my-model/held_out.csv"].decode("utf-8-sig"))))
    exact = [json.loads(line) for line in files["my-model/held_out.jsonl"].decode().splitlines()]
    assert len(rows) == len(exact) == trained.dev_rows
    assert any("=cmd" in row["sentence1"] for row in rows), "the test's own rows must be among them"
    assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for row in rows for cell in row.values())
    assert [row["sentence1"].removeprefix("'") for row in rows] == [row["texts"][0] for row in exact]


def verify_twice(folder: Path) -> None:
    """Run ``verify.py`` with the score as reported and with another one, where nothing of this package can be imported."""
    for name in [name for name in sys.modules if name.split(".")[0] == "sbert_studio"]:
        del sys.modules[name]
    sys.modules["sbert_studio"] = None  # type: ignore[assignment]
    codes = []
    for shift in (0.0, 0.0002):
        scores = json.loads((folder / "scores.json").read_text())
        scores["after"]["score"] += shift
        (folder / "scores.json").write_text(json.dumps(scores))
        try:
            runpy.run_path(str(folder / "verify.py"), run_name="__main__")
        except SystemExit as end:
            codes.append(end.code)
    print(codes)


@pytest.mark.process
def test_verify_measures_the_reported_score_again_with_sentence_transformers_alone(studio: Studio, trained: Run, tmp_path: Path) -> None:
    with started(tmp_path / "child", verify_twice, unpack_export(studio, trained.id, tmp_path)) as child:
        said = child.succeed(120)
    assert f"reported {trained.after['score']:.4f}: the same" in said
    assert said.splitlines()[-1] == "[0, 1]", "a wrong score is called one"


@pytest.mark.usefixtures("two_folds")
def test_a_run_judged_in_folds_brings_no_rows_to_verify_and_says_why(studio: Studio, tmp_path: Path) -> None:
    run = studio.fine_tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv", 40), overrides=quick(evaluation="folds")))
    account = studio.fine_tune.get_row_reports(run.id)["data"]
    assert run.after["folds"] == 2 and (account.used, account.held_out, account.in_turn) == (40, 0, True)
    words = account.describe("used for training")
    assert "40 used for training" in words and "held out in one fold" in words and words.endswith("0 skipped")
    files = _members(studio.fine_tune.export(run.id, tmp_path / "run.zip").path)
    assert "pairs/model/model.safetensors" in files
    assert not {"pairs/verify.py", "pairs/held_out.jsonl", "pairs/held_out.csv"} & files.keys()
    assert "There is no `verify.py` here" in files["pairs/README.md"].decode()
    assert json.loads(files["pairs/data.json"])["accounts"]["data"]["in_turn"] is True


def test_a_lora_run_brings_its_adapter_and_on_the_base_it_is_the_merged_model(studio: Studio, tmp_path: Path, tiny_model: Path) -> None:
    import torch
    from peft import PeftModel
    from sentence_transformers import SentenceTransformer

    run = studio.fine_tune.train(
        TrainRequest(write_pairs(tmp_path / "pairs.csv", 32), overrides=quick(method="lora", lora_r=2, epochs=5, learning_rate=0.02))
    )
    folder = unpack_export(studio, run.id, tmp_path)
    texts = ["cat dog mat", "red blue fast slow hello"]
    base, merged = (SentenceTransformer(str(place), device="cpu") for place in (tiny_model, folder / "model"))
    before = base.encode(texts)
    base[0].auto_model = PeftModel.from_pretrained(base[0].auto_model, str(folder / "adapter")).base_model.model
    with torch.no_grad():
        after = base.encode(texts)
    assert abs(after - before).max() > 1e-3
    assert abs(after - merged.encode(texts)).max() < 1e-5


def test_the_card_has_scores_with_intervals_and_a_command_that_trains_the_same_model(
    studio: Studio, trained: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    card = _members(studio.fine_tune.export(trained.id, tmp_path / "model.zip").path)["my-model/README.md"].decode()
    assert describe_score(trained.after).replace("[", "\\[").replace("]", "\\]") in card
    assert "Gain" in card or "No gain" in card
    line = card.rsplit("```sh\n", 1)[1].split("\n```")[0]
    words = shlex.split(line)
    assert words[:3] == ["sbert-studio", "train", "my pairs.csv"]
    words[words.index("--model") + 1] = studio.settings.default_model
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")
    assert run_command([*words[1:], "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["after"] == trained.after
    assert (Path(again["model"]) / "model.safetensors").read_bytes() == (trained.model_path / "model.safetensors").read_bytes()  # type: ignore[operator]


def test_the_card_tells_of_a_strength_that_was_set_by_hand_and_how_to_set_it_again(
    studio: Studio, trained: Run, home: Path, tmp_path: Path, tiny_model: Path
) -> None:
    shutil.copytree(studio.workspace.home, home)
    with studio_at(home, tiny_model) as own:

        def card() -> str:
            return _members(own.fine_tune.export(trained.id, tmp_path / "model.zip").path)["my-model/README.md"].decode()

        assert "sbert-studio strength" not in card()
        by_hand = 0.25 if trained.after["strength"] != 0.25 else 0.75
        own.fine_tune.set_strength(trained.id, by_hand)
        assert f"sbert-studio strength RUN {by_hand}\n" in card()
        assert "was selected manually on these rows" in card()


def test_a_run_without_a_model_cannot_be_exported(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StudioError("no")

    monkeypatch.setattr("sbert_studio.training.trials.train", refuse)
    with pytest.raises(StudioError, match="no"):
        studio.fine_tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()))
    run = studio.fine_tune.list_runs()[0]
    with pytest.raises(StudioError, match="has no model"):
        studio.fine_tune.export(run.id, tmp_path / "run.zip")
    with pytest.raises(StudioError, match="there is no run"):
        studio.fine_tune.export("run-0000000000")


def test_texts_with_a_category_and_labels_in_no_order_are_verified_too(
    studio: Studio, tmp_path: Path, verify_export: Callable[[Path], str]
) -> None:
    texts = [f"{' '.join(WORDS[5 * (row % 3) : 5 * (row % 3) + 2])} {text}" for row, text in enumerate(sentences(80))]
    kinds = {"texts": ["text", "category"], "labels": ["sentence1", "sentence2", "label"]}
    for name, columns in kinds.items():
        path = tmp_path / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as target:
            writer = csv.writer(target)
            writer.writerow(columns)
            writer.writerows(
                [*([text] if name == "texts" else [text, sentences(80, 5)[row]]), "xyz"[row % 3]] for row, text in enumerate(texts)
            )
        asked = SchemaOverrides(kind="labelled_texts") if name == "texts" else SchemaOverrides(kind="labelled_pairs", order=())
        run = studio.fine_tune.train(TrainRequest(path, choices=asked, overrides=quick(loss="auto", dev_fraction=0.3)))
        assert run.after["metric"] == ("nearest_neighbour_accuracy" if name == "texts" else "accuracy")
        folder = unpack_export(studio, run.id, tmp_path / f"{name} exported")
        assert f"reported {run.after['score']:.4f}: the same" in verify_export(folder)


class MixedExport(Export):
    help = "a file, a text and bytes"

    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str | bytes]]:
        yield from (("spec.json", folder / "spec.json"), ("notes.txt", "naïve"), ("vectors.bin", b"\x00\xff"))


def test_exports_are_reproducible_and_consist_of_parts(studio: Studio, trained: Run, tmp_path: Path) -> None:
    first, second = (studio.fine_tune.export(trained.id, tmp_path / name).path.read_bytes() for name in ("a.zip", "b.zip"))
    assert first == second
    folder = studio.workspace.home / "runs" / trained.id
    write_zip(MixedExport(), trained, folder, tmp_path / "mixed.zip")
    expected = {"spec.json": (folder / "spec.json").read_bytes(), "notes.txt": "naïve".encode(), "vectors.bin": b"\x00\xff"}
    assert _members(tmp_path / "mixed.zip") == {f"my-model/{name}": content for name, content in expected.items()}
    everything, model = (studio.fine_tune.export(trained.id, tmp_path / f"{kind}.zip", kind) for kind in ("all", "model"))
    names = _members(model.path)
    assert names and all(name.startswith("my-model/model/") for name in names)
    assert names.items() <= _members(everything.path).items()
    with pytest.raises(StudioError, match="tuned whole and has no adapter"):
        studio.fine_tune.export(trained.id, tmp_path / "adapter.zip", "adapter")
    assert not (tmp_path / "adapter.zip").exists()
    with pytest.raises(StudioError, match="there is no export 'onnx'"):
        studio.fine_tune.export(trained.id, kind="onnx")
