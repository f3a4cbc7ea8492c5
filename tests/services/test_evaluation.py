"""Several models on several files: the verb of the studio, the command, and the endpoint."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import studio_at, write_doubtful, write_pairs

from sbert_studio.cli.evaluation_tables import short_names
from sbert_studio.cli.main import run
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.services import Studio
from sbert_studio.services.questions import OpenQuestionsError
from sbert_studio.settings import Settings
from sbert_studio.ui import verbs as api


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> tuple[str, str]:
    """The tiny model, and the same with other words for its weights."""
    import torch

    from sbert_studio.models.io.load import load_folder

    encoder = load_folder(tiny_model)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)))
    other = tmp_path_factory.mktemp("models") / "other"
    encoder.save(other)
    return str(tiny_model), str(other)


@pytest.fixture
def studio(tmp_path: Path, models: tuple[str, str]) -> Iterator[Studio]:
    with studio_at(tmp_path / "home", models[0]) as studio:
        yield studio


def sts12(folder: Path) -> Path:
    """A part of a suite, in the folder that is called after it."""
    (folder / "sts12").mkdir(parents=True)
    for seed, name in enumerate(("MSRpar", "OnWN")):
        write_pairs(folder / "sts12" / f"{name}.csv", seed=10 * seed)
    return folder


def test_the_answer_holds_files_groups_and_comparisons(studio: Studio, models: tuple[str, str], tmp_path: Path) -> None:
    paths = [write_pairs(tmp_path / f"{seed}.csv", seed=10 * seed) for seed in (0, 1)]
    found = json.loads(json.dumps(studio.evaluation.evaluate_models(models, paths).to_json()))
    assert set(found) == {"models", "files", "together", "averages", "comparisons"} and found["models"] == list(models)
    for place, name in enumerate(models):
        for file, path in zip(found["files"], paths, strict=True):
            alone = studio.evaluation.evaluate(name, path).to_json()
            own = file["reports"][place]
            assert file["file"] == path.name and file["account"] == alone.pop("account") and own.pop("model") == name
            for measure in ("cosine", "dot", "euclidean", "manhattan"):
                assert own[measure] == pytest.approx(alone[measure], abs=1e-6)
        together = found["together"][0]["reports"][place]
        assert set(together) == {"model", "mean", "weighted_mean", "all"} and set(together["mean"]) == set(together["all"]) - {"interval"}
    assert [(one["of"], one["by"]) for one in found["comparisons"]] == [
        ("0.csv", "file"), ("1.csv", "file"), ("2 files", "mean"), ("2 files", "all"),
    ]  # fmt: skip
    assert set(found["comparisons"][0]) == {
        "of", "by", "task", "metric", "models", "scores", "difference", "interval", "chance", "better", "words",
    }  # fmt: skip


@pytest.mark.parametrize("column", ["score", "mark"])
def test_a_model_that_knows_nothing_does_not_change_how_the_file_is_read(
    studio: Studio, models: tuple[str, str], tmp_path: Path, column: str
) -> None:
    import torch

    from sbert_studio.models.io.load import load_folder

    encoder = load_folder(Path(models[0]))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    encoder.save(tmp_path / "knows-nothing")
    path = write_pairs(tmp_path / "pairs.csv", 150)
    path.write_text(path.read_text(encoding="utf-8").replace("score", column, 1), encoding="utf-8")
    found = studio.evaluation.evaluate(str(tmp_path / "knows-nothing"), path)
    assert (found.task, abs(found.scores["cosine"]["spearman"]) < 0.4) == ("sts", True)


def test_static_embeddings_do_not_change_the_reading_and_missing_words_are_counted(studio: Studio, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("nothing of that here\nthere is nothing of that here\n" * 20, encoding="utf-8")
    path = write_pairs(tmp_path / "pairs.csv", 150)
    path.write_text(path.read_text(encoding="utf-8").replace("score", "mark", 1), encoding="utf-8")
    kept = studio.static_embeddings.fit(corpus, "tfidf").model
    taken = studio.static_embeddings.fit(corpus, "tfidf", out=tmp_path / "table").model
    assert kept.startswith("words-")
    assert [studio.evaluation.evaluate(name, path).task for name in (str(taken), kept)] == ["sts", "sts"]
    (tmp_path / "data").mkdir()
    path = write_pairs(tmp_path / "data" / "pairs.csv", 150)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("a cat and a dog sat on the mat\nthe dog ran to the park\n" * 20, encoding="utf-8")
    table = studio.static_embeddings.fit(corpus, "tfidf").model
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    more = [f"{row},quite unheard of remark number {number}" for number, row in enumerate(rows)]
    path.write_text("\n".join([f"{head},remark", *more]), encoding="utf-8")
    alone = studio.evaluation.evaluate(table, path).notes
    (together,) = studio.evaluation.evaluate_models([table], [path.parent]).models[0].notes
    counted = [note for note in alone if "are ignored" in note]
    assert len(counted) == 1 and [note for note in together if "are ignored" in note] == counted


def test_folders_and_suites_stand_for_their_tables(studio: Studio, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_pairs(folder / "pairs.csv")
    (folder / "notes.txt").write_text("a line of text\nanother line\n")
    (folder / "empty.csv").write_text("")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    found = studio.evaluation.evaluate_models(data=[folder])
    assert [file.name for file in found.files] == ["pairs.csv"] and not found.groups
    assert {one.file for one in found.left_out} == {"notes.txt", "empty.csv"} and all(one.why for one in found.left_out)
    with pytest.raises(StudioError, match="empty"):
        studio.evaluation.evaluate_models(data=[folder / "pairs.csv", folder / "empty.csv"])
    with pytest.raises(StudioError, match="no evaluation data"):
        studio.evaluation.evaluate_models()
    (tmp_path / "bare").mkdir()
    with pytest.raises(StudioError, match="contains no table"):
        studio.evaluation.evaluate_models(data=[tmp_path / "bare"])
    write_doubtful(folder / "doubtful.csv")
    with pytest.raises(OpenQuestionsError, match=r"doubtful\.csv"):
        studio.evaluation.evaluate_models(data=[folder])
    found = studio.evaluation.evaluate_models(data=[sts12(tmp_path / "data")], suite="sts12")
    assert [(file.suite, file.name, file.rows.scale) for file in found.files] == [("STS12", "MSRpar", (0, 5)), ("STS12", "OnWN", (0, 5))]
    assert [group.name for group in found.groups] == ["STS12"]
    assert [one.file for one in found.missing] == ["MSRvid", "SMTeuroparl", "SMTnews"]
    (note,) = found.files[0].notes
    assert re.findall(r"\d+", note) == ["60", "750"]
    with pytest.raises(StudioError, match="suites"):
        studio.evaluation.evaluate_models(suite="STS12")
    sts12(studio.workspace.home / "suites")
    assert len(studio.evaluation.evaluate_models(suite="STS12").files) == 2
    whole = studio.evaluation.evaluate_models(suite="STS").to_json()
    assert whole["averages"][0]["suites"] == ["STS12"] and whole["averages"][0]["wanted"] == 7
    assert sum(one["suite"] == "STS16" for one in whole["missing"]) == 5


@pytest.mark.slow
def test_the_command_prints_a_table_and_one_json_object(
    models: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")
    monkeypatch.setenv("SBERT_STUDIO_MODEL", models[0])  # which is asked what columns mean
    data = sts12(tmp_path / "data")
    assert run(["evaluate", *models, "--data", str(data), "--suite", "STS12"]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = lines[: lines.index("")]
    assert [line.split("  ")[0] for line in table[1:]] == ["MSRpar", "OnWN", "STS12, mean", "STS12, mean by rows", "STS12, all"]
    assert len({line.index("Cosine Spearman") for line in table[1:]}) == 1, "columns stand below each other"
    assert sum("beyond chance" in line for line in lines) == 4 and "STS12: MSRvid is missing (750 pairs)" in lines
    files = [str(path) for path in sorted((data / "sts12").iterdir())]
    assert run(["evaluate", models[0], *files]) == 0, "files may stand among the models"
    table = capsys.readouterr().out.splitlines()
    assert "manhattan" in table[2] and table[-1].startswith("2 files, all")
    assert run(["evaluate", models[0], "--data", files[0], "--data", files[1], "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [file["file"] for file in found["files"]] == ["MSRpar.csv", "OnWN.csv"]
    assert run(["evaluate", models[0], "--data", files[0], "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert list(alone)[:3] == ["task", "rows", "cosine"] and "account" in alone, "one model and one file answer as ever"
    for wrong, words in (
        ([models[0]], "no evaluation data"),
        ([files[0]], "no model"),
        ([models[0], "--suite", "STS99"], "STS99"),
        ([models[0], str(tmp_path / "absent.csv")], f"there is no file '{tmp_path / 'absent.csv'}'"),
    ):
        assert run(["evaluate", *wrong]) == 2
        assert words in capsys.readouterr().err


def test_models_are_named_by_the_end_of_their_paths(models: tuple[str, str], tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "model").mkdir(parents=True)
    one, two = (str(tmp_path / name / "model") for name in ("one", "two"))
    assert short_names(["glove-6B-50d", one, two]) == {"glove-6B-50d": "glove-6B-50d", one: "one/model", two: "two/model"}
    assert short_names([models[0]]) == {models[0]: Path(models[0]).name}


def test_the_endpoint_takes_further_files_models_and_a_suite(studio: Studio, models: tuple[str, str], tmp_path: Path) -> None:
    files = [str(path) for path in sorted((sts12(tmp_path / "data") / "sts12").iterdir())]
    assert api.evaluate(studio, files[0], "", "auto").to_json()["task"] == "sts"
    both = api.evaluate(studio, files[0], models[0], "auto", files=files[1:], models=f"{models[1]}, ").to_json()
    assert both["models"] == list(models) and len(both["files"]) == 2 and len(both["comparisons"]) == 4
    loose = [shutil.copy(file, tmp_path / Path(file).name) for file in files]
    suite = api.evaluate(studio, "", "", "auto", files=[str(file) for file in loose], suite="STS12").to_json()
    assert suite["together"][0]["name"] == "STS12" and suite["missing"]
    with pytest.raises(StudioError, match="no file"):
        api.evaluate(studio, "", "", "auto")
    with pytest.raises(StudioError, match="at most"):
        api.evaluate(studio, files[0], "", "auto", models=",".join("abcdefg"))


def test_strangers_are_not_told_where_files_lie(tmp_path: Path, models: tuple[str, str]) -> None:
    settings = Settings(home=tmp_path / "home", default_model=models[0], device="cpu", space=True)
    pairs = write_pairs(tmp_path / "pairs.csv")
    with Studio(settings) as shared:
        for data in ((), (pairs,)):
            with pytest.raises(StudioError) as caught:
                shared.evaluation.evaluate_models((), data, suite="STS12")
            assert str(tmp_path) not in str(caught.value) and caught.value.hint


def test_scores_that_are_read_as_distances_are_reported(studio: Studio, models: tuple[str, str], tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    low, high = (
        studio.evaluation.evaluate_models([models[0]], [path], overrides=SchemaOverrides(scale=scale)) for scale in ((0, 5), (5, 0))
    )
    assert any("reversed" in note for note in high.files[0].notes) and not any("reversed" in note for note in low.files[0].notes)
