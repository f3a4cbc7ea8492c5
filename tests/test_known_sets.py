"""A set of the literature, given as the folder that it came in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_studio import quick, sentences, studio_at

from sbert_studio.errors import StudioError
from sbert_studio.services import TrainRequest


@pytest.fixture
def year(tmp_path: Path) -> Path:
    """A year of STS whose scores are the share of words that both sides hold."""
    folder = tmp_path / "STS12-en-test"
    folder.mkdir()
    pairs = list(zip(sentences(60), sentences(60, 1), strict=True))
    scores = [5 * len({*a.split()} & {*b.split()}) / len({*a.split()} | {*b.split()}) for a, b in pairs]
    (folder / "STS.input.MSRpar.txt").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    (folder / "STS.gs.MSRpar.txt").write_text("".join(f"{score:.2f}\n" for score in [*scores[:59]]) + "\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_folder_that_holds_one_set_is_judged_and_learned_from(home: Path, tiny_model: Path, year: Path) -> None:
    with studio_at(home, tiny_model) as studio:
        report = studio.evaluation.evaluate(None, year)
        assert (report.task, report.rows) == ("sts", 59) and report.account is not None
        assert [(reason.why, reason.rows) for reason in report.account.reasons] == [("no gold score", (60,))]
        outcome = studio.fine_tune.train(TrainRequest(year, overrides=quick(seed=1, epochs=0.2)))
        assert outcome.status == "finished"


def test_a_folder_of_several_sets_or_of_none_is_refused(home: Path, tmp_path: Path, year: Path) -> None:
    other = tmp_path / "STS13-en-test"
    other.mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    for half in ("input", "gs"):
        (other / f"STS.{half}.FNWN.txt").write_text("a b\tc d\n" if half == "input" else "2\n", encoding="utf-8")
    with studio_at(home) as studio:
        with pytest.raises(StudioError, match="holds 2 sets: STS12 test, STS13 test"):
            studio.data.read_table(tmp_path)
        with pytest.raises(StudioError, match="is a folder"):
            studio.data.read_table(empty)


def test_halves_that_lie_beside_each_other_are_read_as_one(home: Path, tmp_path: Path, tiny_model: Path, year: Path) -> None:
    for half in ("input", "gs"):
        (year / f"STS.{half}.OnWN.txt").write_text((year / f"STS.{half}.MSRpar.txt").read_text(encoding="utf-8"), encoding="utf-8")
    with studio_at(home, tiny_model) as studio:
        assert len(studio.data.read_table(year / "STS.gs.OnWN.txt")) == 59
        found = studio.evaluation.evaluate_models(data=[year])
        assert [file.name for file in found.files] == ["STS.input.MSRpar.txt", "STS.input.OnWN.txt"] and not found.left_out
        assert found.groups and found.files[0].rows.scale == (0, 5)
        assert len(studio.evaluation.evaluate_models(data=[tmp_path]).files) == 2, "sets below a folder without tables"
        (year / "STS.gs.OnWN.txt").unlink()
        with pytest.raises(StudioError, match=r"are in STS\.gs\.OnWN\.txt, line by line"):
            studio.evaluation.evaluate_models(data=[year / "STS.input.OnWN.txt"])
