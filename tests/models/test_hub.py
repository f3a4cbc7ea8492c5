"""Models of the Hub: the real client against a hub on this machine, on behalf of an owner, of a visitor, and of nobody."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hub_server import HubServer, Repository, hub_server
from limits import no_file_above
from waiting import wait_until

from sbert_studio.data.loading.hub import fetch_hub_file
from sbert_studio.errors import StudioError, is_disk_full
from sbert_studio.identity import ANONYMOUS, OWNER, Identity, signed_in, use_identity
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.hub import Hub
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.workspace import Workspace

HOST, VISITOR = "hf_of_the_host", "hf_of_a_visitor"
LARGE, SOME = 6 << 20, 1 << 20  # bytes


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tiny_model: Path, tmp_path: Path) -> Iterator[HubServer]:
    """A hub with an open model, and private ones of the host and of a visitor; the host is logged in on this machine."""
    monkeypatch.setenv("HF_TOKEN", HOST)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "usual"))
    with hub_server(monkeypatch) as found:
        found.models["all/open"] = Repository(tiny_model)
        found.models["host/private"] = Repository(tiny_model, readers=(HOST,))
        found.models["visitor/private"] = Repository(tiny_model, readers=(VISITOR,))
        found.models["all/licensed"] = Repository(tiny_model, readers=(HOST, VISITOR), gated=True)
        yield found


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path / "visitors")


def large(folder: Path, size: int = LARGE) -> Path:
    """A repository with one file of that many random bytes."""
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(os.urandom(size))
    return folder


def test_the_owner_sees_what_their_token_opens(server: HubServer, hub: Hub) -> None:
    for name in ("all/open", "host/private", "all/licensed"):
        assert (hub.fetch(name, OWNER) / "model.safetensors").is_file()
    # By the way the client asks once, without a token, which assistants for programming there are.
    assert {token for _, path, token in server.asked if "/api/agent-harnesses" not in path} == {HOST}
    with pytest.raises(StudioError, match="no model"):
        hub.fetch("visitor/private", OWNER)


def test_nobody_known_sees_what_is_open_and_sends_no_token(server: HubServer, hub: Hub) -> None:
    assert hub.fetch("all/open", ANONYMOUS).is_dir()
    for name, words in (("host/private", "no model"), ("visitor/private", "no model"), ("all/licensed", "license")):
        with pytest.raises(StudioError, match=words) as caught:
            hub.fetch(name, ANONYMOUS)
        assert "sign in" in caught.value.hint
    assert server.tokens == {""}


def test_a_visitor_sees_what_is_theirs_and_nobody_else_sees_it_after_them(server: HubServer, hub: Hub) -> None:
    for name in ("all/open", "visitor/private", "all/licensed"):
        assert hub.fetch(name, signed_in(VISITOR)).is_dir()
    assert HOST not in server.tokens
    assert all(token == "" for _, path, token in server.asked if "all/open" in path), "what is open is asked for without a token"
    with pytest.raises(StudioError, match="no model"):
        hub.fetch("host/private", signed_in(VISITOR))
    for other in (ANONYMOUS, signed_in("hf_of_another")):
        for name in ("visitor/private", "all/licensed"):
            with pytest.raises(StudioError):
                hub.fetch(name, other)


def test_visitors_use_the_hosts_models_from_the_default_cache_without_the_hosts_token(server: HubServer, tmp_path: Path) -> None:
    """A Space downloads them there when it is built (``preload_from_hub``)."""
    hub = Hub(tmp_path / "visitors", default_models=("all/open", "host/private"))
    preloaded = hub.fetch("all/open", OWNER)
    server.asked.clear()
    for identity in (ANONYMOUS, signed_in(VISITOR)):
        assert hub.is_downloaded("all/open", identity)
        assert hub.fetch("all/open", identity) == preloaded
        hub.fetch("host/private", OWNER)
        with pytest.raises(StudioError, match="no model"):
            hub.fetch("host/private", identity)
    assert HOST not in {token for _, path, token in server.asked if "all/open" in path}
    assert not list(tmp_path.glob("visitors/public/*"))


@pytest.mark.parametrize("page", [b"<html>Please log in</html>", b"\xff\xfe\x00 no text"], ids=["page", "bytes"])
def test_an_answer_that_is_not_the_hubs_counts_as_none(server: HubServer, hub: Hub, page: bytes) -> None:
    """As from a network that wants a login first."""
    server.page = page
    with pytest.raises(StudioError, match="cannot be reached"):
        hub.fetch("all/open", ANONYMOUS)
    with pytest.raises(StudioError, match="cannot be reached"), fetch_hub_file("hf://datasets/all/open", 1 << 20):
        pass


def test_what_the_host_has_on_disk_is_not_a_visitors_even_while_the_hub_is_away(
    server: HubServer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.fetch("host/private", OWNER)
    hub.fetch("visitor/private", signed_in(VISITOR))
    hub.fetch("all/open", ANONYMOUS)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    away = Hub(hub._cache)
    assert away.fetch("host/private", OWNER).is_dir() and away.fetch("all/open", ANONYMOUS).is_dir()
    assert away.fetch("visitor/private", signed_in(VISITOR)).is_dir()
    for name in ("host/private", "visitor/private"):
        with pytest.raises(StudioError, match="cannot be reached"):
            away.fetch(name, ANONYMOUS)


def test_a_catalogue_that_serves_strangers_asks_as_nobody_or_as_the_visitor_who_acts(
    server: HubServer, tmp_path: Path, tiny_model: Path
) -> None:
    shared = Catalog(Workspace(tmp_path / "home"), device="cpu", allow_folders=False)
    assert shared.load("all/open").dim == 32
    with pytest.raises(StudioError, match="no model"):
        shared.load("host/private")
    with use_identity(signed_in(VISITOR)):
        assert shared.load("visitor/private").dim == 32
    with pytest.raises(StudioError, match="no model"):
        shared.load("visitor/private")
    assert HOST not in server.tokens
    own = Catalog(Workspace(tmp_path / "own"), device="cpu")
    assert own.load("host/private").dim == 32


def test_the_newest_version_is_fetched_and_nothing_twice(server: HubServer, tiny_model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_model, tmp_path / "copy")
    server.models["all/changing"] = Repository(copy)
    first = Hub(tmp_path / "visitors").fetch("all/changing", ANONYMOUS)
    sent, asked = server.sent, len(server.asked)
    again = Hub(tmp_path / "visitors")
    assert again.fetch("all/changing", ANONYMOUS) == again.fetch("all/changing", ANONYMOUS) == first
    assert server.sent == sent and len(server.asked) == asked + 1, "the Hub is asked once for what is newest"
    (copy / "README.md").write_text("changed")
    newer = Hub(tmp_path / "visitors").fetch("all/changing", ANONYMOUS)
    assert newer != first and (newer / "README.md").read_text() == "changed"


def test_neither_code_nor_pickles_are_fetched(server: HubServer, hub: Hub, tiny_model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_model, tmp_path / "copy")
    for name in ("modeling_x.py", "pytorch_model.bin", "model.pt", "x.pkl", "onnx/model.onnx", "sentencepiece.bpe.model"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_bytes(b"x")
    server.models["all/mixed"] = Repository(copy)
    folder = hub.fetch("all/mixed", ANONYMOUS)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {"model.safetensors", "1_Pooling/config.json", "sentencepiece.bpe.model"} <= found
    assert not {name for name in found if name.endswith((".py", ".bin", ".pt", ".pkl", ".onnx"))}


def test_a_model_too_large_is_refused_before_anything_is_fetched(server: HubServer, tmp_path: Path, tiny_model: Path) -> None:
    server.models["all/huge"] = Repository(tiny_model, said={f"model-{number}.safetensors": 50 << 30 for number in range(4)})
    server.models["all/with-other-forms"] = Repository(tiny_model, said={"onnx/model.onnx": 50 << 30, "pytorch_model.bin": 50 << 30})
    hub = Hub(tmp_path / "visitors", max_bytes=5_000 << 20)
    with pytest.raises(StudioError, match=r"204,8\d\d MiB.*5,000"):
        hub.fetch("all/huge", ANONYMOUS)
    assert server.sent == 0 and not list((tmp_path / "visitors").rglob("*.safetensors"))
    assert hub.fetch("all/with-other-forms", ANONYMOUS).is_dir(), "only what is read counts"
    server.models["all/huge"] = Repository(tiny_model, said={"model-2.safetensors": 1 << 60})
    with pytest.raises(StudioError, match="are free"):
        Hub(tmp_path / "unlimited").fetch("all/huge", OWNER)


def test_a_model_larger_than_was_said_is_refused_while_it_is_fetched(server: HubServer, tmp_path: Path) -> None:
    server.models["all/lies"] = Repository(large(tmp_path / "lies"), said={"model.safetensors": 10}, seconds=0.005)
    hub = Hub(tmp_path / "visitors", max_bytes=2 << 20)
    with pytest.raises(StudioError, match=r"larger than reported by the Hugging Face Hub, and exceeds the maximum of 2 MiB"):
        hub.fetch("all/lies", ANONYMOUS)
    assert server.sent < LARGE
    assert not list((tmp_path / "visitors").rglob("*.incomplete"))


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"said": {"vocab.txt.model": 5}}, "lists the file vocab.txt.model of all/faulty, but does not provide it"),
    ({"fails": {"": 429}}, "too many requests"),
    ({"fails": {"config.json": 429}}, "too many requests"),
    ({"fails": {"": 503}}, r"a problem on its side \(status 503\)"),
    ({"fails": {"config.json": 500}}, r"a problem on its side \(status 500\)"),
    ({"fails": {"config.json": 418}}, r"does not provide the model all/faulty \(status 418\)"),
    ({"lengths": {"model.safetensors": 10**6}}, "a file of the model all/faulty was downloaded incompletely"),
]


@pytest.mark.parametrize(
    ("identity", "fault", "words"),
    [
        *((OWNER, *fault) for fault in FAULTS),
        *((identity, *fault) for identity in (ANONYMOUS, signed_in(VISITOR)) for fault in FAULTS[::3]),
    ],
)
def test_what_the_hub_does_not_send_is_told_by_its_reason(
    server: HubServer, hub: Hub, tiny_model: Path, fault: dict[str, Any], words: str, identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its client asks for a file six times, and waits 23 seconds in between.
    monkeypatch.setattr("huggingface_hub.utils._http.time", SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None}))
    server.models["all/faulty"] = Repository(tiny_model, **fault)
    with pytest.raises(StudioError, match=words) as caught:
        hub.fetch("all/faulty", identity)
    assert "go online" not in caught.value.hint


@pytest.mark.parametrize("status", [429, 503])
def test_a_model_in_the_cache_is_used_while_the_hub_has_a_problem(server: HubServer, tiny_model: Path, tmp_path: Path, status: int) -> None:
    server.models["all/cached"] = Repository(tiny_model)
    folder = Hub(tmp_path / "visitors").fetch("all/cached", ANONYMOUS)
    server.models["all/cached"].fails[""] = status
    assert Hub(tmp_path / "visitors").fetch("all/cached", ANONYMOUS) == folder


def test_a_full_disk_is_not_told_as_a_hub_that_is_away(server: HubServer, hub: Hub, tmp_path: Path) -> None:
    server.models["all/large"] = Repository(large(tmp_path / "large"))
    with no_file_above(SOME), pytest.raises(OSError) as caught:
        hub.fetch("all/large", ANONYMOUS)
    assert is_disk_full(caught.value)


def test_a_download_stops_once_nobody_waits_for_it(server: HubServer, hub: Hub, tmp_path: Path) -> None:
    server.models["all/slow"] = Repository(large(tmp_path / "slow"), seconds=0.02)
    gone = threading.Event()
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            with stoppable(gone.is_set):
                hub.fetch("all/slow", ANONYMOUS)
        except BaseException as error:
            ended.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: server.sent >= SOME)
    gone.set()
    asking.join(10)
    assert [type(error) for error in ended] == [StoppedError]
    assert server.sent < LARGE
    assert not list((tmp_path / "visitors").rglob("*.incomplete")), "nothing is left of it"


def test_who_waits_for_another_ones_download_goes_on_with_it_once_they_have_left(server: HubServer, hub: Hub, tmp_path: Path) -> None:
    server.models["all/slow"] = Repository(large(tmp_path / "slow"), seconds=0.01)
    gone = threading.Event()
    found: list[object] = []

    def ask(leaves: bool) -> None:
        try:
            with stoppable(gone.is_set if leaves else lambda: False):
                found.append(hub.fetch("all/slow", ANONYMOUS))
        except StoppedError:
            found.append("left")

    asking = [threading.Thread(target=ask, args=(leaves,)) for leaves in (True, False)]
    asking[0].start()
    wait_until(lambda: server.sent >= SOME)
    asking[1].start()
    gone.set()
    for thread in asking:
        thread.join(30)
    assert found[0] == "left" and isinstance(found[1], Path)


def test_visitors_models_make_room_for_each_other_the_one_used_last_stays(server: HubServer, tmp_path: Path) -> None:
    for name in "abcd":
        server.models[f"all/{name}"] = Repository(large(tmp_path / name, 1 << 20))
    hub = Hub(tmp_path / "visitors", max_cache_bytes=(5 << 20) // 2)
    folders = {}
    for age, name in ((3_000, "a"), (2_000, "b")):
        folders[name] = hub.fetch(f"all/{name}", ANONYMOUS)
        os.utime(folders[name].parents[1], (time.time() - age,) * 2)
    folders["c"] = hub.fetch("all/c", ANONYMOUS)
    assert not folders["a"].exists() and folders["b"].is_dir() and folders["c"].is_dir()
    os.utime(folders["b"].parents[1])
    with pytest.raises(StudioError, match="no space"):
        hub.fetch("all/d", ANONYMOUS)
    assert folders["b"].is_dir(), "what somebody is about to open stays"
