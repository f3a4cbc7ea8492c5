"""Public sets by their id: fetched from any file system, within a bound, and told in words where they cannot be."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sbert_studio.data.loading import hub as loading_hub
from sbert_studio.data.loading.hub import fetch_hub_file, is_hub_address, parse_hub_address
from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError

MOST = 1 << 20


@pytest.fixture
def hub(tmp_path: Path) -> Any:
    """A file system that holds what the Hub would."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    content = pa.table({"sentence1": ["a cat", "a dog"], "sentence2": ["the cat", "a stone"], "score": [4.5, 0.5]})
    pq.write_table(content, tmp_path / "x.parquet")
    for name in (
        "a/one/data/test-00000-of-00001.parquet", "a/one/data/train-00000-of-00001.parquet", "a/two/en/test.parquet",
        "a/two/de/test.parquet", "a/alone/pairs.parquet", "a/latest/contest/validation.parquet", "a/latest/contest/train.parquet",
    ):  # fmt: skip
        files.pipe(f"/datasets/{name}", (tmp_path / "x.parquet").read_bytes())
    files.pipe("/datasets/a/text/README.md", b"# nothing")
    yield files
    files.store.clear()


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("hf://datasets/a/one", "a/one/data/test-00000-of-00001.parquet"),
        ("hf:/datasets/a/one/data/train-00000-of-00001.parquet", "a/one/data/train-00000-of-00001.parquet"),
        ("hf://datasets/a/alone/", "a/alone/pairs.parquet"),
        ("hf://datasets/a/latest", "a/latest/contest/validation.parquet"),
    ],
)
def test_the_file_that_is_named_or_the_test_split_is_fetched(hub: Any, address: str, file: str) -> None:
    told: list[tuple[int, int]] = []
    with fetch_hub_file(address, MOST, lambda done, total: told.append((done, total)), filesystem=hub) as (path, name):
        table = read_table(path, name=name)
        assert (table.name, table.columns, len(table)) == (file, ("sentence1", "sentence2", "score"), 2)
        assert told[-1] == (path.stat().st_size,) * 2
    assert not path.exists()


def test_what_cannot_be_chosen_or_found_says_what_to_do(hub: Any) -> None:
    for address, what, how in (
        ("hf://datasets/a/two", "2 files to judge by: de/test.parquet, en/test.parquet", "hf://datasets/a/two/de/test.parquet"),
        ("hf://datasets/a/text", "holds no Parquet file", "download it"),
        ("hf://datasets/a/one/other.parquet", "no file 'other.parquet'", "spelling"),
        ("hf://datasets/one", "no address", "OWNER/NAME"),
        ("hf://datasets/a/../b", "no address", "OWNER/NAME"),
        ("hf://datasets/a/one/pairs.csv", "no address", "parquet"),
        ("hf://models/a/one", "no address", "OWNER/NAME"),
    ):
        with pytest.raises(StudioError, match=what) as caught, fetch_hub_file(address, MOST, filesystem=hub):
            pass
        assert how in caught.value.hint


def test_a_file_that_is_too_large_is_refused_before_and_while_it_comes(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudioError, match="as many as are accepted"), fetch_hub_file("hf://datasets/a/alone", 100, filesystem=hub):
        pass
    monkeypatch.setattr(type(hub), "info", lambda self, path: {"size": None, "name": path, "type": "file"})
    with pytest.raises(StudioError, match="as many as are accepted"), fetch_hub_file("hf://datasets/a/alone", 100, filesystem=hub):
        pass


def test_a_machine_that_is_set_to_be_offline_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(StudioError, match="set to be offline") as caught, fetch_hub_file("hf://datasets/a/one", MOST):
        pass
    assert "HF_HUB_OFFLINE" in caught.value.hint


class _Answer:
    def __init__(self, status: int) -> None:
        self.status_code = status


class _Refusing:
    """A file system whose every answer is an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def glob(self, path: str) -> list[str]:
        raise self.error


def _answered(status: int) -> Exception:
    """What the client raises over an answer of the Hub."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    return HfHubHTTPError("no", response=httpx2.Response(status, request=httpx2.Request("GET", "http://hub")))


def test_errors_of_the_hub_are_told_in_words() -> None:
    import httpx2

    class Refused(Exception):
        response = _Answer(403)

    hidden = FileNotFoundError("datasets/a/one")
    hidden.__cause__ = Refused()
    for error, words in (
        (httpx2.ConnectError("no name"), "cannot be reached"),
        (ConnectionResetError("gone"), "cannot be reached"),
        (FileNotFoundError("datasets/a/one"), "no set 'a/one'"),
        (hidden, "asks for a licence"),
        (_answered(429), "too many requests"),
        (_answered(503), "a problem of its own"),
        (_answered(404), "no set 'a/one'"),
    ):
        with pytest.raises(StudioError, match=words) as caught, fetch_hub_file("hf://datasets/a/one", MOST, filesystem=_Refusing(error)):
            pass
        assert caught.value.hint
    with (
        pytest.raises(OSError, match="full"),
        fetch_hub_file("hf://datasets/a/one", MOST, filesystem=_Refusing(OSError(errno.ENOSPC, "full"))),
    ):
        pass
    with pytest.raises(ZeroDivisionError), fetch_hub_file("hf://datasets/a/one", MOST, filesystem=_Refusing(ZeroDivisionError())):
        pass


def test_addresses_are_told_from_files(hub: Any) -> None:
    assert is_hub_address("hf://datasets/a/b") and is_hub_address(Path("hf://datasets/a/b"))
    assert not is_hub_address("pairs.csv") and not is_hub_address(None)
    assert parse_hub_address(Path("hf://datasets/a/b@main/x.parquet")) == ("a/b@main", "x.parquet")


def test_visitors_fetch_as_nobody_and_the_owner_as_themselves(monkeypatch: pytest.MonkeyPatch, hub: Any, tmp_path: Path) -> None:
    from tiny_studio import studio_at

    asked = []
    monkeypatch.setattr(loading_hub, "_hub", lambda identity: asked.append(identity.hub_token) or hub)
    with studio_at(tmp_path / "home") as studio:
        assert studio.read.table("hf://datasets/a/alone").name == "a/alone/pairs.parquet"
        studio.catalog.allow_folders = False
        studio.read.table("hf://datasets/a/alone")
    assert asked == [None, False], "the token of this machine, and none"
