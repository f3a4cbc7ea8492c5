"""Visitors' files on disk: found again by their owner alone, within a budget, gone when their time has come."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.ui.visitors.kept import KeptFiles
from sbert_studio.workspace import Workspace

ANNA, BEN = "visitor-0000000000000001", "visitor-0000000000000002"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "home")


def file(folder: Path, name: str = "texts.csv", size: int = 100) -> Path:
    path = folder / name
    path.write_bytes(b"text\n" + b"x" * (size - 5))
    return path


def test_a_file_is_found_again_by_its_owner_and_by_nobody_else(workspace: Workspace, tmp_path: Path) -> None:
    kept = KeptFiles(workspace, 1000, 1000)
    one = kept.keep(ANNA, file(tmp_path), "my texts.csv", "text")
    assert one is not None and one.path.read_bytes() == file(tmp_path).read_bytes() and one.path.is_relative_to(workspace.home)
    again = KeptFiles(workspace, 1000, 1000).get(ANNA, one.id)  # after a restart
    assert (again.name, again.column, again.bytes) == ("my texts.csv", "text", 100)
    for owner, name in ((BEN, one.id), (ANNA, "0" * 12), (ANNA, "../" + one.id), (ANNA, None), (ANNA, "")):
        with pytest.raises(StudioError, match="no longer kept here"):
            kept.get(owner, name)
    with pytest.raises(StudioError, match="not a valid identifier"):
        kept.get("../else", one.id)


def test_the_same_file_is_kept_once_and_comes_first_when_it_is_used(workspace: Workspace, tmp_path: Path) -> None:
    kept = KeptFiles(workspace, 10_000, 10_000)
    first = kept.keep(ANNA, file(tmp_path), "a.csv", "text")
    other = kept.keep(ANNA, file(tmp_path, "b.csv", 200), "b.csv", "text")
    assert first is not None and other is not None
    assert [one.name for one in kept.of(ANNA)] == ["b.csv", "a.csv"]
    again = kept.keep(ANNA, file(tmp_path), "a.csv", "title")
    assert again is not None and again.id == first.id and again.column == "title"
    assert [one.name for one in kept.of(ANNA)] == ["a.csv", "b.csv"]


def test_what_was_not_used_for_longest_makes_room_and_only_for_its_owner(workspace: Workspace, tmp_path: Path) -> None:
    kept = KeptFiles(workspace, 250, 1000)
    theirs = kept.keep(BEN, file(tmp_path, "theirs.csv"), "theirs.csv", "text")
    for name in ("a.csv", "b.csv", "c.csv"):
        kept.keep(ANNA, file(tmp_path, name), name, "text")
    assert [one.name for one in kept.of(ANNA)] == ["c.csv", "b.csv"]
    assert [one.id for one in kept.of(BEN)] == [theirs.id if theirs else ""]
    assert kept.keep(ANNA, file(tmp_path, "huge.csv", 300), "huge.csv", "text") is None and len(kept.of(ANNA)) == 2


def test_together_no_more_is_kept_than_there_is_room_for(workspace: Workspace, tmp_path: Path) -> None:
    kept = KeptFiles(workspace, 300, 300)
    kept.keep(BEN, file(tmp_path, "old.csv"), "old.csv", "text")
    for name in ("a.csv", "b.csv", "c.csv"):
        kept.keep(ANNA, file(tmp_path, name), name, "text")
    assert kept.of(BEN) == [] and len(kept.of(ANNA)) == 3


def test_files_go_when_they_were_not_used_for_their_days_and_never_where_they_stay(workspace: Workspace, tmp_path: Path) -> None:
    for days, left in ((14, 0), (0, 1)):
        kept = KeptFiles(workspace, 1000, 1000, days)
        kept.keep(ANNA, file(tmp_path), "a.csv", "text")
        kept.sweep()
        assert len(kept.of(ANNA)) == 1
        kept.sweep(time.time() + 15 * 86_400)
        assert len(kept.of(ANNA)) == left


def test_a_damaged_folder_hides_no_other_file(workspace: Workspace, tmp_path: Path) -> None:
    kept = KeptFiles(workspace, 1000, 1000)
    one = kept.keep(ANNA, file(tmp_path), "a.csv", "text")
    other = kept.keep(ANNA, file(tmp_path, "b.csv", 120), "b.csv", "text")
    assert one is not None and other is not None
    (one.path.parent / "about.json").write_text("[", encoding="utf-8")
    (one.path.parent.parent / ".part-left").mkdir()
    assert [kept_file.id for kept_file in kept.of(ANNA)] == [other.id]
    kept.remove(ANNA, other.id)
    assert kept.of(ANNA) == [] and not other.path.exists()
