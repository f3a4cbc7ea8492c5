"""Room for everybody: nobody pushes another visitor's things out, and memory stays bounded all the same."""

from __future__ import annotations

import time

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.ui.sessions import memory_store as module
from sbert_studio.ui.sessions.memory_store import MemoryStore, TypedStore


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
