"""Storage of a mirror: a mounted folder, such as a bucket of the Hugging Face Hub, or a private data set of the Hub.

Neither is a disk. A bucket's files are written from beginning to end and stored when they are closed; they may not be renamed or changed,
and other readers, including the next start of the program, see them seconds later. A storage is therefore only asked to write new files, to
list and read files, and to delete them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ..data.loading.hub import http_status
from ..errors import StudioError
from ..i18n import _
from ..models.hub import transport_errors

_BLOCK = 1 << 20
_PROBE = "probe-"
_VISIBLE_SECONDS = 60.0  # longest time that the probe waits for a file to appear


class ChangedError(Exception):
    """A file was changed while it was copied, or differs from its checksum."""


class Storage(Protocol):
    """Files by name, a folder and a file name separated by a slash. Methods raise ``OSError`` or StudioError."""

    interval: float  # minimum seconds between two writes

    def list_names(self) -> list[str]:
        """Return the names of all files that are visible now."""

    def read(self, name: str, target: Path, sha256: str = "", max_bytes: int = 0) -> None:
        """Copy a file to ``target``; a ChangedError is raised if it differs from its checksum, or is larger than ``max_bytes``."""

    def write(self, files: Sequence[tuple[str, Path, str]]) -> None:
        """Write new files, each with a name, a source and its checksum, in this order."""

    def delete(self, names: Sequence[str]) -> None:
        """Delete files; those that cannot be deleted are kept."""

    def probe(self) -> str:
        """Return one sentence on what the storage can do."""


class FileSystem:
    """The calls with which a mounted folder is used."""

    def open(self, path: Path, mode: str) -> BinaryIO:
        return path.open(mode)  # type: ignore[return-value]

    def list_files(self, folder: Path) -> list[str]:
        return [entry.name for entry in os.scandir(folder) if entry.is_file()] if folder.is_dir() else []

    def rename(self, path: Path, target: Path) -> None:
        path.rename(target)

    def delete(self, path: Path) -> None:
        path.unlink()


class FolderStorage:
    """Storage in a mounted folder."""

    interval = 15.0

    def __init__(self, folder: Path, files: FileSystem | None = None) -> None:
        self._folder, self._files = folder, files or FileSystem()

    def list_names(self) -> list[str]:
        folders = [entry.name for entry in os.scandir(self._folder) if entry.is_dir()] if self._folder.is_dir() else []
        return [f"{folder}/{name}" for folder in folders for name in self._files.list_files(self._folder / folder)]

    def read(self, name: str, target: Path, sha256: str = "", max_bytes: int = 0) -> None:
        with self._files.open(self._folder / name, "rb") as source, target.open("wb") as copy:
            _copy(source, copy, sha256, max_bytes)

    def write(self, files: Sequence[tuple[str, Path, str]]) -> None:
        for name, path, sha256 in files:
            target = self._folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with path.open("rb") as source, self._files.open(target, "xb") as copy:
                _copy(source, copy, sha256)

    def delete(self, names: Sequence[str]) -> None:
        for name in names:
            with suppress(OSError):
                self._files.delete(self._folder / name)

    def probe(self) -> str:
        """Write a small file, wait until it is visible, and try what else can be done with it."""
        name = f"{_PROBE}{time.time_ns()}"
        path, other = self._folder / name, self._folder / f"{name}-renamed"
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._files.open(path, "xb") as file:
            file.write(b"probe")
        began, seconds = time.monotonic(), None
        while seconds is None and time.monotonic() - began < _VISIBLE_SECONDS:
            if self._is_visible(path):
                seconds = time.monotonic() - began
            else:
                time.sleep(min(0.2, _VISIBLE_SECONDS / 10))
        can = {
            "append": _works(lambda: self._write_all(path, "ab")),
            "overwrite": _works(lambda: self._write_all(path, "wb")),
            "rename": _works(lambda: self._files.rename(path, other)),
            "delete": _works(lambda: self._files.delete(other)) or _works(lambda: self._files.delete(path)),
        }
        visible = f"after {seconds:.1f} s" if seconds is not None else f"not within {_VISIBLE_SECONDS:.0f} s"
        return f"a new file in {self._folder} is visible {visible}; " + ", ".join(f"{what}: {'yes' if can[what] else 'no'}" for what in can)

    def _is_visible(self, path: Path) -> bool:
        try:
            with self._files.open(path, "rb") as file:
                return path.name in self._files.list_files(path.parent) and file.read() == b"probe"
        except OSError:
            return False

    def _write_all(self, path: Path, mode: str) -> None:
        with self._files.open(path, mode) as file:
            file.write(b"more")


class HubStorage:
    """Storage in a private data set of the Hugging Face Hub; files that belong together are one commit.

    Args:
        repository: ``owner/name``, or ``name`` in the account of the token.
        token: of the account; ``None`` for this machine's own.
        create: create it if it does not exist.
        endpoint: URL of a hub other than huggingface.co.

    Raises:
        LookupError: there is no such data set.
        StudioError: the data set is public or cannot be written, or the Hub cannot be reached.
    """

    interval = 300.0  # the Hub limits the number of commits per hour

    def __init__(self, repository: str, token: str | None = None, endpoint: str | None = None, *, create: bool = True) -> None:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import RepositoryNotFoundError

        self._api = HfApi(endpoint=endpoint, token=token, library_name="sbert-studio")
        self._sizes: dict[str, int] = {}
        with _translated_errors(repository):
            self._repository = repository if "/" in repository else f"{self._api.whoami()['name']}/{repository}"
            if create:
                self._api.create_repo(self._repository, repo_type="dataset", private=True, exist_ok=True)
            try:
                is_private = self._api.dataset_info(self._repository).private
            except RepositoryNotFoundError:
                raise LookupError(self._repository) from None
        if not is_private:
            raise StudioError(
                _("the data set {repository} is public, and would publish the files of visitors", repository=self._repository),
                "make it private in its settings on the Hub, or use another one",
            )

    def list_names(self) -> list[str]:
        with _translated_errors(self._repository):
            info = self._api.dataset_info(self._repository, files_metadata=True)
        self._sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        return list(self._sizes)

    def read(self, name: str, target: Path, sha256: str = "", max_bytes: int = 0) -> None:
        if max_bytes and self._sizes.get(name, 0) > max_bytes:
            raise ChangedError
        with tempfile.TemporaryDirectory() as folder, _translated_errors(self._repository):
            path = self._api.hf_hub_download(self._repository, name, repo_type="dataset", cache_dir=folder)
            with Path(path).open("rb") as source, target.open("wb") as copy:
                _copy(source, copy, sha256, max_bytes)

    def write(self, files: Sequence[tuple[str, Path, str]]) -> None:
        from huggingface_hub import CommitOperationAdd

        self._commit([CommitOperationAdd(name, path) for name, path, _sha256 in files], "Save work of SBERT Studio")

    def delete(self, names: Sequence[str]) -> None:
        from huggingface_hub import CommitOperationDelete

        if names:
            self._commit([CommitOperationDelete(name) for name in names], "Delete earlier versions")

    @property
    def url(self) -> str:
        return f"{self._api.endpoint}/datasets/{self._repository}"

    def probe(self) -> str:
        return f"files are stored in the private data set {self._repository} of the Hugging Face Hub"

    def _commit(self, operations: list[Any], message: str) -> None:
        with _translated_errors(self._repository):
            self._api.create_commit(self._repository, operations, commit_message=message, repo_type="dataset")


def _copy(source: BinaryIO, target: BinaryIO, sha256: str, max_bytes: int = 0) -> None:
    state, copied = hashlib.sha256(), 0
    while block := source.read(_BLOCK):
        state.update(block)
        copied += len(block)
        if max_bytes and copied > max_bytes:
            raise ChangedError
        target.write(block)
    if sha256 and state.hexdigest() != sha256:
        raise ChangedError


def _works(call: Callable[[], object]) -> bool:
    try:
        call()
    except OSError:
        return False
    return True


@contextmanager
def _translated_errors(repository: str) -> Iterator[None]:
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled

    unreachable: tuple[type[BaseException], ...] = (OfflineModeIsEnabled, ConnectionError, TimeoutError, *transport_errors())
    try:
        yield
    except (HfHubHTTPError, LocalTokenNotFoundError) as error:
        what = _("the data set {repository} of the Hub cannot be used (status {status})", repository=repository, status=http_status(error))
        raise StudioError(what, "check its name and the permissions of the token, or sign in again") from error
    except unreachable as error:
        raise StudioError("the Hugging Face Hub cannot be reached", "try again later") from error


def require_space(folder: Path, size: int, total: int, limit: int) -> None:
    """Raise StudioError if ``size`` bytes do not fit on the disk of ``folder``, or ``total`` bytes exceed a limit, unless it is 0."""
    if limit and total > limit:
        what = _("the kept work is larger than {limit} MB, the most that is restored here", limit=f"{limit / 1e6:,.0f}")
        raise StudioError(what, "delete old files in the data set on the Hub")
    if size > shutil.disk_usage(folder).free:
        raise StudioError("the stored work does not fit on the disk of this machine", "delete old runs")
