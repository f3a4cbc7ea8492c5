"""Visitors' files on disk and data in memory: found by their owner alone, within a budget, gone when their time has come."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.ui.sessions import file_store
from sbert_studio.ui.sessions import memory_store as module
from sbert_studio.ui.sessions.file_store import EditConflictError, FileStore
from sbert_studio.ui.sessions.memory_store import MemoryStore, TypedStore
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
    kept = FileStore(workspace, 1000, 1000)
    one = kept.save(ANNA, file(tmp_path), "my texts.csv", "text")
    assert one is not None and one.path.read_bytes() == file(tmp_path).read_bytes() and one.path.is_relative_to(workspace.home)
    again = FileStore(workspace, 1000, 1000).get(ANNA, one.id)  # after a restart
    assert (again.name, again.column, again.bytes) == ("my texts.csv", "text", 100)
    for owner, name in ((BEN, one.id), (ANNA, "0" * 12), (ANNA, "../" + one.id), (ANNA, None), (ANNA, "")):
        with pytest.raises(StudioError, match="no longer stored here"):
            kept.get(owner, name)
    with pytest.raises(StudioError, match="not a valid identifier"):
        kept.get("../else", one.id)


def test_the_same_file_is_kept_once_and_comes_first_when_it_is_used(workspace: Workspace, tmp_path: Path) -> None:
    kept = FileStore(workspace, 10_000, 10_000)
    first = kept.save(ANNA, file(tmp_path), "a.csv", "text")
    other = kept.save(ANNA, file(tmp_path, "b.csv", 200), "b.csv", "text")
    assert first is not None and other is not None
    assert [one.name for one in kept.list_files(ANNA)] == ["b.csv", "a.csv"]
    again = kept.save(ANNA, file(tmp_path), "a.csv", "title")
    assert again is not None and again.id == first.id and again.column == "title"
    assert [one.name for one in kept.list_files(ANNA)] == ["a.csv", "b.csv"]
    made = [kept.save(ANNA, file(tmp_path), "a.csv", "", "pairs", {"data": data}) for data in ("one", "two", "one")]
    assert made[0] is not None and made[1] is not None and made[2] is not None
    assert made[0].id == made[2].id != made[1].id, "what was made from other data is another file"


@pytest.mark.parametrize(("each", "together"), [(250, 1000), (300, 300)])
def test_the_least_recently_used_file_makes_room_only_for_its_owner(workspace: Workspace, tmp_path: Path, each: int, together: int) -> None:
    kept = FileStore(workspace, each, together)
    kept.save(BEN, file(tmp_path, "theirs.csv"), "theirs.csv", "text")
    for name in ("a.csv", "b.csv", "c.csv"):
        kept.save(ANNA, file(tmp_path, name), name, "text")
    assert [one.name for one in kept.list_files(ANNA)] == ["c.csv", "b.csv"]
    assert [one.name for one in kept.list_files(BEN)] == ["theirs.csv"]
    assert kept.save(ANNA, file(tmp_path, "huge.csv", 301), "huge.csv", "text") is None and len(kept.list_files(ANNA)) == 2


def test_files_go_when_they_were_not_used_for_their_days_and_never_where_they_stay(workspace: Workspace, tmp_path: Path) -> None:
    for days, left in ((14, 0), (0, 1)):
        kept = FileStore(workspace, 1000, 1000, days)
        kept.save(ANNA, file(tmp_path), "a.csv", "text")
        kept.sweep()
        assert len(kept.list_files(ANNA)) == 1
        kept.sweep(time.time() + 15 * 86_400)
        assert len(kept.list_files(ANNA)) == left


@pytest.mark.parametrize(
    "name", ["about.json", f"map-{'a' * 32}.json", "long " * 60 + ".csv", "\ud800half a letter.csv", "...", "名" * 130 + ".csv"]
)
def test_a_file_is_kept_whatever_its_visitor_calls_it(workspace: Workspace, tmp_path: Path, name: str) -> None:
    kept, path = FileStore(workspace, 10_000, 10_000), file(tmp_path, f"given{Path(name).suffix}")
    one = kept.save(ANNA, path, name, "text")
    if "\ud800" in name:  # no file system and no JSON takes it
        assert one is None
    else:
        assert one is not None and one.name == name
        assert kept.touch(ANNA, one.id, "text").path.read_bytes() == path.read_bytes() and one.path.suffix == path.suffix
    left = [folder for folder in (workspace.uploads / ANNA).iterdir() if folder.name not in {one.id for one in kept.list_files(ANNA)}]
    assert not left, "nothing lies there that nobody finds"


def test_a_file_is_opened_on_a_full_disk(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = FileStore(workspace, 10_000, 10_000)
    one = found.save(ANNA, file(tmp_path), "a.csv", "text")
    assert one is not None

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file_store, "write_json", full)
    assert found.touch(ANNA, one.id, "text").path == one.path
    assert found.save(ANNA, file(tmp_path, "b.csv", 200), "b.csv", "text") is None


def test_what_a_killed_upload_left_behind_goes_in_time(workspace: Workspace, tmp_path: Path) -> None:
    kept = FileStore(workspace, 10_000, 10_000)
    one = kept.save(ANNA, file(tmp_path), "a.csv", "text")
    part, damaged = workspace.uploads / ANNA / ".part-x", workspace.uploads / ANNA / ("0" * 12)
    for folder in (part, damaged):
        folder.mkdir()
        (folder / "about.json").write_text('{"used": 1e999}', encoding="utf-8")
    kept.sweep()
    assert part.exists(), "somebody may still be at work on it"
    kept.sweep(time.time() + 4000)
    assert not part.exists() and not damaged.exists()
    assert one is not None and one.path.exists()


@pytest.mark.parametrize("damage", ['{"name": "a"', "[" * 20_000, '{"name": "a", "file": "a.csv", "column": "text", "used": 1e999}', "3"])
def test_a_damaged_note_hides_its_file_alone(workspace: Workspace, tmp_path: Path, damage: str) -> None:
    kept = FileStore(workspace, 10_000, 10_000)
    one, other = (kept.save(ANNA, file(tmp_path, name), name, "text") for name in ("a.csv", "b.csv"))
    assert one is not None and other is not None
    (one.path.parent / "about.json").write_text(damage, encoding="utf-8")
    assert other.id in {found.id for found in kept.list_files(ANNA)}


def test_what_another_page_changed_meanwhile_is_not_overwritten(workspace: Workspace, tmp_path: Path) -> None:
    kept, name = FileStore(workspace, 10_000, 10_000), f"map-{'a' * 32}.json"
    one = kept.save(ANNA, file(tmp_path), "a.csv", "text")
    assert one is not None
    for page in ("first", "second"):
        assert kept.read_extra(ANNA, one.id, name, page) is None
    assert kept.write_extra(ANNA, one.id, name, [1], "first") and kept.write_extra(ANNA, one.id, name, [1, 2], "first")
    with pytest.raises(EditConflictError, match="another tab"):
        kept.write_extra(ANNA, one.id, name, [3], "second")
    assert kept.read_extra(ANNA, one.id, name, "second") == [1, 2], "read anew, as by a reload"
    assert kept.write_extra(ANNA, one.id, name, [1, 2, 3], "second")
    with pytest.raises(EditConflictError):
        kept.write_extra(ANNA, one.id, name, None, "first")


def test_others_files_of_today_do_not_give_way_to_a_newer_one(workspace: Workspace, tmp_path: Path) -> None:
    kept = FileStore(workspace, 300, 300)
    hers = kept.save(ANNA, file(tmp_path, "hers.csv", 200), "hers.csv", "text")
    assert hers is not None
    assert kept.save(BEN, file(tmp_path, "his.csv", 200), "his.csv", "text") is None, "there is no room for it, which the page says"
    assert kept.save(BEN, file(tmp_path, "his.csv", 90), "his.csv", "text") is not None
    about = hers.path.parent / "about.json"
    old = json.loads(about.read_text(encoding="utf-8")) | {"used": time.time() - 90_000}
    about.write_text(json.dumps(old), encoding="utf-8")
    assert kept.save(BEN, file(tmp_path, "his.csv", 150), "his.csv", "text") is not None and kept.list_files(ANNA) == []


class Visitor:
    """Whoever asks: the tests' own stand-in for a request's session."""

    name = ""
    address = ""


@pytest.fixture
def visitor(monkeypatch: pytest.MonkeyPatch) -> type[Visitor]:
    monkeypatch.setattr(module, "session_id", lambda: Visitor.name)
    monkeypatch.setattr(module, "client_address", lambda: Visitor.address)
    return Visitor


def things(size: int) -> bytes:
    return bytes(size)


def test_the_same_thing_chosen_again_takes_no_more_room(visitor: type[Visitor]) -> None:
    shelves = MemoryStore(100_000, 100_000)
    shelf: TypedStore[bytes] = TypedStore("corpus", shelves)
    sample = things(5_000)
    assert len({shelf.put(sample) for _ in range(48)}) == 1
    assert shelves.bytes < 6_000


def test_where_all_want_too_much_the_one_who_holds_most_gives_way_and_is_told(visitor: type[Visitor]) -> None:
    shelves = MemoryStore(50_000, 30_000)
    shelf: TypedStore[bytes] = TypedStore("map", shelves)
    keys = {}
    for name, sizes in (("ada", [5_000]), ("bob", [14_000, 14_000]), ("eve", [10_000]), ("kim", [10_000])):
        visitor.name = name
        keys[name] = [shelf.put(things(size)) for size in sizes]
    assert shelves.bytes <= 50_000
    assert [[key in shelf for key in keys[name]] for name in ("ada", "bob", "eve", "kim")] == [[True], [False, True], [True], [True]]
    with pytest.raises(StudioError, match="was unloaded to free memory, because too much was open") as caught:
        shelf.get(keys["bob"][0])
    assert caught.value.hint == "choose it again"


def test_what_a_closed_page_had_goes_first_and_after_a_while(visitor: type[Visitor], monkeypatch: pytest.MonkeyPatch) -> None:
    shelves = MemoryStore(50_000, 30_000)
    shelf: TypedStore[bytes] = TypedStore("corpus", shelves)
    visitor.name = "ada"
    hers = shelf.put(things(20_000))
    visitor.name = "bob"
    his = shelf.put(things(10_000))
    shelves.close("bob")
    visitor.name = "eve"
    shelf.put(things(25_000))
    assert hers in shelf and his not in shelf
    shelves.close("ada")
    shelves.sweep()
    assert hers in shelf  # the connection may only have been lost
    later = time.monotonic() + 601
    monkeypatch.setattr(time, "monotonic", lambda: later)
    shelves.sweep()
    assert hers not in shelf


def test_values_are_replaced_by_key_and_have_a_type() -> None:
    memory = MemoryStore(1000, 1000)
    maps, corpora = TypedStore[str]("map", memory), TypedStore[str]("corpus", memory)
    key = maps.put("old")
    assert maps.put("new", key) == key and maps.get(key) == "new"
    with pytest.raises(StudioError, match="this is not a map"):
        maps.get(corpora.put("texts"))


@pytest.mark.parametrize("key", [None, "", "guess", 3, ["x"], {"key": 1}])
def test_a_key_from_a_browser_that_is_none_is_refused(key: object) -> None:
    with pytest.raises(StudioError, match="no longer in memory"):
        TypedStore[str]("map", MemoryStore(1000, 1000)).get(key)  # type: ignore[arg-type]


def test_one_visitor_or_address_evicts_nobody_elses_data(visitor: type[Visitor]) -> None:
    shelf: TypedStore[bytes] = TypedStore("corpus", MemoryStore(100_000, 20_000))
    visitor.name = "ada"
    hers = shelf.put(things(9_000))
    visitor.name = "bob"
    his = [shelf.put(things(9_000)) for _ in range(48)]
    assert len(shelf.get(hers)) == 9_000
    assert [key in shelf for key in his[-2:]] == [True, True]
    with pytest.raises(StudioError, match="was unloaded to free memory for a newer selection"):
        shelf.get(his[0])
    shelf: TypedStore[bytes] = TypedStore("corpus", MemoryStore(50_000, 30_000))
    visitor.name, visitor.address = "ada", "1.2.3.4"
    hers = shelf.put(things(20_000))
    visitor.address = "6.6.6.6"
    for number in range(40):
        visitor.name = f"visitor {number}"
        shelf.put(things(3_000))
    assert hers in shelf
