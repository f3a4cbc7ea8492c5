"""Datasets on the Hub are fetched from any file system, within a limit; failures are explained."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sbert_studio.data.loading import hub as loading_hub
from sbert_studio.data.loading.hub import fetch_hub_file, hub_address, is_hub_address, parse_hub_address
from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError
from sbert_studio.settings import temporary_prefix

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
def test_the_named_file_or_the_test_split_is_fetched(hub: Any, address: str, file: str) -> None:
    calls: list[tuple[int, int]] = []
    with fetch_hub_file(address, MOST, lambda done, total: calls.append((done, total)), filesystem=hub) as (path, name):
        assert path.parent.name.startswith(temporary_prefix()), "deleted later if the process is killed meanwhile"
        table = read_table(path, name=name)
        assert (table.name, table.columns, len(table)) == (file, ("sentence1", "sentence2", "score"), 2)
        assert calls[-1] == (path.stat().st_size,) * 2
    assert not path.exists()


@pytest.mark.parametrize(
    ("address", "message", "hint"),
    [
        ("hf://datasets/a/two", "2 files to choose from: de/test.parquet, en/test.parquet", "hf://datasets/a/two/de/test.parquet"),
        ("hf://datasets/a/text", "contains no Parquet file", "download it"),
        ("hf://datasets/a/one/other.parquet", "no file 'other.parquet'", "spelling"),
        ("hf://datasets/one", "not the address", "OWNER/NAME"),
        ("hf://datasets/a/../b", "not the address", "OWNER/NAME"),
        ("hf://datasets/a/one/pairs.csv", "not the address", "parquet"),
        ("hf://models/a/one", "not the address", "OWNER/NAME"),
    ],
)
def test_an_address_without_a_single_file_is_refused(hub: Any, address: str, message: str, hint: str) -> None:
    assert hint in _refusal(address, message, hub).hint


def _refusal(address: str, message: str, files: Any, most: int = MOST) -> StudioError:
    with pytest.raises(StudioError, match=message) as caught, fetch_hub_file(address, most, filesystem=files):
        pass
    return caught.value


def test_a_file_that_is_too_large_and_an_offline_machine_are_refused(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _refusal("hf://datasets/a/alone", "exceeds the maximum", hub, most=100)
    monkeypatch.setattr(type(hub), "info", lambda self, path: {"size": None, "name": path, "type": "file"})
    _refusal("hf://datasets/a/alone", "exceeds the maximum", hub, most=100)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in _refusal("hf://datasets/a/one", "in offline mode", None).hint


class _Refusing:
    """A file system whose every answer is an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def glob(self, path: str) -> list[str]:
        raise self.error


def _answer(status: int) -> Exception:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    return HfHubHTTPError("no", response=httpx2.Response(status, request=httpx2.Request("GET", "http://hub")))


def test_errors_of_the_hub_are_explained() -> None:
    import httpx2

    hidden = FileNotFoundError("datasets/a/one")
    hidden.__cause__ = _answer(403)
    for error, message in (
        (httpx2.ConnectError("no name"), "cannot be reached"),
        (ConnectionResetError("gone"), "cannot be reached"),
        (json.JSONDecodeError("no JSON", "<html>", 0), "cannot be reached"),
        (FileNotFoundError("datasets/a/one"), "no public dataset 'a/one'"),
        (hidden, "the license of the dataset"),
        (_answer(429), "too many requests"),
        (_answer(503), "a problem on its side"),
        (_answer(404), "no public dataset 'a/one'"),
    ):
        assert _refusal("hf://datasets/a/one", message, _Refusing(error)).hint
    for other in (OSError(errno.ENOSPC, "full"), ZeroDivisionError("zero")):
        with pytest.raises(type(other)), fetch_hub_file("hf://datasets/a/one", MOST, filesystem=_Refusing(other)):
            pass


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("a/b", "a/b"),
        (" https://huggingface.co/datasets/a/b/ ", "a/b/"),
        ("huggingface.co/datasets/a/b?library=datasets", "a/b"),
        ("https://huggingface.co/datasets/a/b/viewer/default/test?row=3", "a/b"),
        ("https://huggingface.co/datasets/a/b/tree/main/data", "a/b"),
        ("https://huggingface.co/datasets/a/b/blob/main/data/test.parquet", "a/b/data/test.parquet"),
        ("https://huggingface.co/datasets/a/b/resolve/v1/data/test.parquet?download=true", "a/b@v1/data/test.parquet"),
        ("hf://datasets/a/b/test.parquet", "a/b/test.parquet"),
    ],
)
def test_the_id_of_a_dataset_is_read_from_the_address_of_its_pages(typed: str, address: str) -> None:
    assert is_hub_address(Path("hf://datasets/a/b")) and not is_hub_address(None)
    assert is_hub_address(typed) == typed.startswith("hf:")
    assert parse_hub_address(Path("hf://datasets/a/b@main/x.parquet")) == ("a/b@main", "x.parquet")
    assert hub_address(typed) == f"hf://datasets/{address}"


def test_visitors_fetch_as_nobody_and_the_owner_as_themselves(monkeypatch: pytest.MonkeyPatch, hub: Any, tmp_path: Path) -> None:
    from tiny_studio import studio_at

    asked = []
    monkeypatch.setattr(loading_hub, "_hub", lambda identity: asked.append(identity.hub_token) or hub)
    with studio_at(tmp_path / "home") as studio:
        assert studio.data.read_table("hf://datasets/a/alone").name == "a/alone/pairs.parquet"
        studio.catalog.allow_folders = False
        studio.data.read_table("hf://datasets/a/alone")
    assert asked == [None, False], "the token of this machine, and none"
