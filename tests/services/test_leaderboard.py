"""The leaderboard: what evaluations leave behind, who sees it, and that nothing of it stops an evaluation."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from filelock import FileLock
from tiny_studio import write_pairs

from sbert_studio.cli.main import run
from sbert_studio.data.samples import list_samples
from sbert_studio.errors import StudioError
from sbert_studio.runs import lease, scores
from sbert_studio.runs.scores import LeaderboardEntry
from sbert_studio.runs.store import RunStore
from sbert_studio.services import Studio
from sbert_studio.services.leaderboard import dataset_names, rank_entries, write_leaderboard

ENTRY = LeaderboardEntry(
    owner="local", public=False, model="m", title="m", fingerprint="f" * 16, data="pairs.csv", digest="d" * 32, task="sts",
    metric="cosine_spearman", score=0.5, low=0.4, high=0.6, rows=60, rate=900.0, dim=32, seconds=1.5, created="2026-11-22T10:00:00+00:00",
    rate_low=850.0, rate_high=950.0,
)  # fmt: skip


def replace(entry: LeaderboardEntry, **changes: object) -> LeaderboardEntry:
    return entry.model_copy(update=changes)


@pytest.fixture
def tiny(tiny_model: Path) -> str:
    return str(tiny_model)


def test_the_name_of_a_file_that_is_not_utf8_is_stored_with_a_question_mark(studio: Studio, tiny: str, tmp_path: Path) -> None:
    pairs = tmp_path / os.fsdecode(b"caf\xe9.csv")
    try:
        pairs.write_bytes(write_pairs(tmp_path / "pairs.csv").read_bytes())
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    assert not any("leaderboard" in note for note in studio.evaluation.evaluate(tiny, pairs).notes)
    assert [one.data for one in studio.leaderboard.entries()] == ["caf?.csv"]


@pytest.mark.slow
def test_every_evaluation_leaves_its_scores(studio: Studio, tiny: str, static: str, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.csv")
    report = studio.evaluation.evaluate(tiny, pairs)
    (one,) = studio.leaderboard.entries()
    assert (one.owner, one.public, one.model, one.title, one.data) == ("local", False, tiny, Path(tiny).name, "pairs.csv")
    assert (one.task, one.metric, one.rows, one.dim) == ("sts", "cosine_spearman", 60, 32)
    assert one.score == report.scores["cosine"]["spearman"] and [one.low, one.high] == report.scores["interval"]
    assert one.rate_spread is not None and one.rate_spread[0] <= one.rate <= one.rate_spread[1] and one.rate_spread[0] < one.rate_spread[1]
    assert one.rate > 0 and one.seconds > 0 and one.fingerprint == studio.catalog.load(tiny).fingerprint
    again = studio.evaluation.evaluate_models([tiny, static], [pairs])
    assert again.notes == () and "notes" not in again.to_json()
    mine, other = sorted(studio.leaderboard.entries(), key=lambda entry: entry.model != tiny)
    measured = {name: getattr(one, name) for name in ("id", "rate", "rate_low", "rate_high", "seconds", "created")}
    assert mine.id > one.id and replace(mine, **measured) == one, "the last one counts"
    assert (other.model, other.dim) == (static, 8)
    lines = pairs.read_text(encoding="utf-8").splitlines()
    pairs.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    studio.evaluation.evaluate(tiny, pairs)
    assert len({entry.digest for entry in studio.leaderboard.entries(data="PAIRS.csv")}) == 2, "other rows are another set"
    with pytest.raises(StudioError, match="no evaluation on") as caught:
        studio.leaderboard.entries(data="else.csv")
    assert "pairs.csv" in caught.value.hint


def test_a_suite_leaves_its_files_its_rows_as_one_set_and_its_average(studio: Studio, tiny: str) -> None:
    for seed, part in enumerate(("sts12/MSRpar", "sts12/OnWN", "stsb/test")):
        (path := studio.workspace.home / "suites" / f"{part}.csv").parent.mkdir(parents=True, exist_ok=True)
        write_pairs(path, seed=10 * seed)
    assert [(one.name, one.parts, one.wanted) for one in studio.evaluation.list_suites()] == [
        ("STS12", 2, 5),
        ("STSb", 1, 1),
        ("STS", 3, 26),
    ]
    studio.evaluation.evaluate_models([tiny], suite="STS")
    found = {one.data: one for one in studio.leaderboard.entries()}
    assert list(found) == ["STS, average", "STS12 MSRpar", "STS12 OnWN", "STS12, all", "STSb"]
    assert found["STS, average"].score == pytest.approx((found["STS12, all"].score + found["STSb"].score) / 2)
    assert found["STS, average"].rows == 180 and found["STS, average"].low < found["STS, average"].score < found["STS, average"].high  # type: ignore[operator]


@pytest.mark.slow
def test_visitors_see_their_own_and_what_is_everybodys(studio: Studio, tiny: str, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "secret.csv")
    sample = next(one for one in list_samples() if one.kind == "scored_pairs")
    judge, board = studio.evaluation, studio.leaderboard
    judge.evaluate_models([tiny, "glove-6B-50d"], [sample.path], owner="ann")
    judge.evaluate_models(["glove-6B-50d"], [pairs], owner="ann")
    judge.evaluate(tiny, pairs, owner="")
    assert {(one.model, one.data) for one in board.entries("ann")} == {
        (tiny, sample.title), ("glove-6B-50d", sample.title), ("glove-6B-50d", "secret.csv"),
    }  # fmt: skip
    (public,) = board.entries("bob")
    assert (public.model, public.data, public.owner) == ("glove-6B-50d", sample.title, "ann")
    with pytest.raises(StudioError, match="not yours"):
        board.remove(public.id, "bob")
    judge.evaluate("glove-6B-50d", sample.path, owner="bob")
    (own,) = board.entries("bob")
    assert own.owner == "bob" and len(board.entries()) == 4, "their own stands before another's of the same"
    board.remove(own.id, "bob")
    assert [one.owner for one in board.entries("bob")] == ["ann"]


def test_an_owner_has_so_many_rows_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "MOST", 3)
    store = RunStore(tmp_path)
    store.scores.add([replace(ENTRY, owner="other")])
    for number in range(5):
        store.scores.add([replace(ENTRY, data=f"{number}.csv")])
    assert [one.data for one in store.scores.visible_to()] == ["4.csv", "3.csv", "2.csv", "pairs.csv"]


@pytest.mark.slow
def test_a_file_that_cannot_be_written_stops_no_evaluation(
    studio: Studio, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, board = write_pairs(tmp_path / "pairs.csv"), studio.workspace.home / "leaderboard.jsonl"
    monkeypatch.setattr(lease, "SHORT", 0.1)
    with FileLock(board.with_name(".leaderboard.jsonl.lock")):
        assert any("not on the leaderboard" in note and "locked" in note for note in studio.evaluation.evaluate(tiny, pairs).notes)
        assert "locked" in studio.evaluation.evaluate_models([tiny], [pairs]).to_json()["notes"][0]
    board.mkdir()
    report = studio.evaluation.evaluate(tiny, pairs)
    assert report.rows == 60 and any("not on the leaderboard" in note for note in report.notes)


def test_files_tell_sets_apart_and_have_no_formulas_or_markup(tmp_path: Path) -> None:
    alike = [ENTRY, replace(ENTRY, digest="e" * 32), replace(ENTRY, data="other.csv")]
    assert list(dataset_names(alike).values()) == ["pairs.csv · rows dddd", "pairs.csv · rows eeee", "other.csv"]
    text = write_leaderboard(tmp_path / "best.md", alike).read_text(encoding="utf-8")
    assert "pairs.csv · rows dddd" in text and "pairs.csv · rows eeee" in text and "| other.csv |" in text
    evil = replace(
        ENTRY, model="=HYPERLINK(1)", title="=1+1|<b>x</b>", data="[a](http://x) `y` **z**\n# t", low=None, high=None, rate=0.0, dim=0
    )
    found = rank_entries([replace(ENTRY, score=0.1), evil, replace(ENTRY, title="best", score=0.9)])
    assert [one.title for one in found] == ["=1+1|<b>x</b>", "best", "m"]
    rows = list(csv.reader(write_leaderboard(tmp_path / "board.csv", found).open(encoding="utf-8", newline="")))
    named = dict(zip(rows[0], rows[1], strict=True))
    assert named["model"] == "'=HYPERLINK(1)" and named["name"].startswith("'=") and named["low"] == named["sentences_per_second"] == ""
    assert dict(zip(rows[0], rows[2], strict=True))["score"] == "0.9"
    lines = write_leaderboard(tmp_path / "board.md", found).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 5 and lines[2].count("|") == lines[0].count("|") + 1  # the one that is escaped
    assert r"\[a\](http\://x) \`y\` \*\*z\*\* \# t" in lines[2] and r"=1+1\|\<b\>x\</b\>" in lines[2]
    with pytest.raises(StudioError, match=r"\.txt"):
        write_leaderboard(tmp_path / "board.txt", found)


def test_a_speed_stored_without_its_spread_is_read_and_shown_without_a_range(tmp_path: Path) -> None:
    old = {name: value for name, value in ENTRY.model_dump().items() if name not in ("rate_low", "rate_high")}
    file = tmp_path / "leaderboard.jsonl"
    file.write_text(json.dumps(old | {"id": 1}) + "\n", encoding="utf-8")
    notices: dict[str, str] = {}
    (read,) = scores.ScoreStore(file, notices).visible_to(None)
    assert notices == {} and read.rate == 900 and read.rate_spread is None
    lines = write_leaderboard(tmp_path / "board.md", [read, ENTRY]).read_text(encoding="utf-8").splitlines()
    assert "| 900 |" in lines[2] and "| 900 (850–950) |" in lines[3]


@pytest.mark.slow
def test_the_command_lists_writes_and_removes(
    tiny: str, static: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")
    monkeypatch.setenv("SBERT_STUDIO_MODEL", tiny)  # which is asked what columns mean
    pairs = [str(write_pairs(tmp_path / f"{name}.csv", seed=seed)) for seed, name in enumerate("ab")]
    assert run(["leaderboard"]) == 0 and "nothing has been evaluated yet" in capsys.readouterr().out
    assert run(["evaluate", tiny, "--data", pairs[0], "--json"]) == 0
    assert run(["evaluate", tiny, static, "--data", pairs[1]]) == 0
    capsys.readouterr()
    assert run(["leaderboard", "--json", "--out", str(tmp_path / "all.csv")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["entries"][0]["set"], found["entries"][0]["name"]) == ("a.csv", Path(tiny).name) and len(found["entries"]) == 3
    assert found["path"] == str(tmp_path / "all.csv") and len((tmp_path / "all.csv").read_text().splitlines()) == 4
    best = [one["score"] for one in found["entries"] if one["set"] == "b.csv"]
    assert best == sorted(best, reverse=True)
    assert run(["leaderboard", "--data", "B.csv", "--out", str(tmp_path / "b.md")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 and "static" in (tmp_path / "b.md").read_text()
    assert run(["leaderboard", "--remove", str(found["entries"][0]["id"]), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["entries"]) == 2
    for wrong, words in ((["--data", "a.csv"], "no evaluation on"), (["--remove", "999"], "does not exist"), (["--out", "x.pdf"], ".pdf")):
        assert run(["leaderboard", *wrong]) == 2
        assert words in capsys.readouterr().err
    assert run(["evaluate", tiny, "--data", "hf://datasets/a/b"]) == 2
    assert "offline" in capsys.readouterr().err


def test_damaged_lines_are_named_and_hide_no_others(studio: Studio) -> None:
    board = studio.workspace.home / "leaderboard.jsonl"
    studio.store.scores.add([ENTRY, replace(ENTRY, model="word")])
    good, other = board.read_text(encoding="utf-8").splitlines()
    odd = [other.replace(old, new) for old, new in (("0.5", '"much"'), ("0.5", "9e999"), ("32", '"wide"'), ('"word"', "[]"), ("}", ""))]
    board.write_text("\n".join([*odd, good, "", "\x00", "null"]), encoding="utf-8")
    assert [one.model for one in studio.leaderboard.entries()] == ["m"]
    assert "leaderboard.jsonl" in studio.store.notices[0] and "7 damaged lines" in studio.store.notices[0]
    studio.store.scores.add([ENTRY])
    assert [one.model for one in studio.leaderboard.entries()] == ["m"] and studio.store.notices == ()
