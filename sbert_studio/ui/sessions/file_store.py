"""Visitors' files on disk: uploads that can be restored after a reload, link or restart, and files created for download."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ...i18n import _
from ...settings import temporary_prefix
from ...workspace import atomic_file, atomic_folder, file_name, validate_key, write_json

if TYPE_CHECKING:
    from ...workspace import Workspace
    from ..page import Page

CORPUS = "corpus"
_ID = re.compile(r"[0-9a-f]{12}")
_ABOUT = "about.json"
_EXTRA = re.compile(r"[a-z]+-[0-9a-f]{32}\.json")
_MAX_FILES = 20  # maximum number of files per visitor
_MAX_NAME = 80  # maximum characters of a stored name
_DAY, _HOUR = 86_400.0, 3_600.0
_MAX_SEEN = 4_096


@dataclass(frozen=True)
class StoredFile:
    id: str  # known to its owner only
    name: str  # the visitor's name of the file
    path: Path  # path of the copy
    bytes: int  # size with the extra JSON files
    used: float  # when it was last opened, in seconds since the epoch
    column: str  # text column that was used last
    use: str  # purpose, such as ``corpus``
    layout: Mapping[str, Any] = field(default_factory=dict)  # text columns and types of columns that the visitor has set


class EditConflictError(StudioError):
    """Another page has changed the data since this page read it."""


class FileStore:
    """Files of all visitors, each in its own folder inside its owner's, with JSON files next to it.

    Args:
        each: quota of one visitor in bytes; their least recently used files are deleted first.
        total: quota of all visitors. Beyond it, the least recently used file is deleted; if all files of others were used today, the
            newest.
        days: days after which an unused file is deleted; 0 for never.
    """

    def __init__(self, workspace: Workspace, each: int, total: int, days: int = 0) -> None:
        self._workspace, self._each, self._total, self._days = workspace, each, total, days
        self._lock = threading.RLock()
        self._seen: OrderedDict[tuple[str, str], str] = OrderedDict()  # (reader, path) → digest of what the reader has seen

    def save(
        self, owner: str, path: Path, name: str, column: str, use: str = CORPUS, layout: Mapping[str, Any] | None = None
    ) -> StoredFile | None:
        """Store a copy of a file, or reuse an identical one with the same name that was made from the same data (``layout["data"]``).

        Return ``None`` if there is not enough space.
        """
        try:
            size = path.stat().st_size
            if size > min(self._each, self._total):
                return None
            with self._lock:
                for file in self.list_files(owner):
                    is_same = (file.name, file.use, file.layout.get("data")) == (name, use, (layout or {}).get("data"))
                    is_same = is_same and file.path.stat().st_size == size
                    if is_same and file.path.read_bytes() == path.read_bytes():
                        return self.touch(owner, file.id, column, layout)
                file_id = secrets.token_hex(6)
                folder = self._workspace.uploads / validate_key(owner) / file_id
                folder.parent.mkdir(parents=True, exist_ok=True)
                with atomic_folder(folder) as part:
                    copy = part / _stored_name(name, path.suffix)
                    shutil.copyfile(path, copy)
                    about = {"name": name, "file": copy.name, "column": column, "use": use, "used": time.time(), "layout": layout or {}}
                    write_json(part / _ABOUT, about)
                self._make_room(owner, file_id)
                return self.get(owner, file_id)
        except (OSError, ValueError, StudioError):  # a name with a lone surrogate raises a ValueError
            return None

    def list_files(self, owner: str) -> list[StoredFile]:
        folder = self._workspace.uploads / validate_key(owner)
        files = [file for item in folder.iterdir() if (file := _read(item)) is not None] if folder.is_dir() else []
        return sorted(files, key=lambda file: -file.used)

    def get(self, owner: str, file_id: object) -> StoredFile:
        found = None
        if isinstance(file_id, str) and _ID.fullmatch(file_id):
            found = _read(self._workspace.uploads / validate_key(owner) / file_id)
        if found is None:
            raise StudioError("this file is no longer stored here, or belongs to another user", "upload it again")
        return found

    def touch(self, owner: str, file_id: str, column: str, layout: Mapping[str, Any] | None = None) -> StoredFile:
        """Record that a file is being used, and with which columns. On a full disk this is not recorded.

        Args:
            layout: text columns and types; ``None`` keeps those that are stored.
        """
        found = self.get(owner, file_id)
        about = {"name": found.name, "file": found.path.name, "column": column, "use": found.use, "used": time.time()}
        about["layout"] = dict(found.layout if layout is None else layout)
        with suppress(OSError):
            write_json(found.path.parent / _ABOUT, about)
        return self.get(owner, file_id)

    def remove(self, owner: str, file_id: object) -> None:
        """Delete a file.

        Raises:
            StudioError: see :meth:`get`; or the file cannot be deleted.
        """
        with self._lock:
            folder = self.get(owner, file_id).path.parent
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                raise StudioError("the file could not be removed: its folder is read-only", _("remove {name} manually", name=folder.name))

    def read_extra(self, owner: str, file_id: str, name: str, reader: str = "") -> object:
        """Return the JSON stored next to a file, which the page ``reader`` may then overwrite.

        Raises:
            ValueError: it is damaged.
        """
        path = self._extra_path(owner, file_id, name)
        try:
            with self._lock:
                content = path.read_bytes() if path.exists() else b""
                self._note_seen(reader, path, content)
            return json.loads(content) if content else None
        except (OSError, RecursionError) as error:
            raise ValueError(str(error)) from error

    def write_extra(self, owner: str, file_id: str, name: str, value: object, reader: str | None = None) -> bool:
        """Store JSON next to a file, or delete it if ``value`` is ``None``; return whether there was enough space.

        Raises:
            EditConflictError: another page has changed it since the page ``reader`` read it; without a reader it is overwritten.
        """
        with self._lock:
            path = self._extra_path(owner, file_id, name)
            try:
                current = path.read_bytes() if path.exists() else b""
                if reader is not None and self._seen.get((reader, str(path)), "") != _digest(current):
                    raise EditConflictError("this map was changed in another tab", "reload the page to continue from there")
                if value is None:
                    path.unlink(missing_ok=True)
                    self._note_seen(reader, path, b"")
                    return True
                content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
                others = self.get(owner, file_id).bytes - (path.stat().st_size if path.exists() else 0)
                if others + len(content) > min(self._each, self._total):
                    return False
                with atomic_file(path) as part:
                    part.write_bytes(content)
                self._note_seen(reader, path, content)
                self._make_room(owner, file_id)
            except OSError:
                return False
            return True

    def sweep(self, now: float | None = None) -> None:
        """Delete files that were not used for too long, and remains of interrupted uploads."""
        now = time.time() if now is None else now
        with self._lock:
            for folder in self._workspace.uploads.glob("*/*"):
                with suppress(OSError):
                    if _read(folder) is None and now - folder.stat().st_mtime > _HOUR:
                        shutil.rmtree(folder, ignore_errors=True)
            if not self._days:
                return
            for file in self._all_files():
                if now - file.used > self._days * _DAY:
                    shutil.rmtree(file.path.parent, ignore_errors=True)

    def _note_seen(self, reader: str | None, path: Path, content: bytes) -> None:
        if reader is not None:
            self._seen[reader, str(path)] = _digest(content)
            self._seen.move_to_end((reader, str(path)))
            while len(self._seen) > _MAX_SEEN:
                self._seen.popitem(last=False)

    def _extra_path(self, owner: str, file_id: str, name: str) -> Path:
        if not _EXTRA.fullmatch(name):
            raise ValueError(name)
        return self.get(owner, file_id).path.parent / name

    def _all_files(self) -> list[StoredFile]:
        owners = [folder.name for folder in self._workspace.uploads.iterdir() if folder.is_dir()]
        return sorted((file for owner in owners for file in self.list_files(owner)), key=lambda file: file.used)

    def _make_room(self, owner: str, newest: str) -> None:
        own = [file for file in reversed(self.list_files(owner)) if file.id != newest]
        size = sum(file.bytes for file in self.list_files(owner))
        while own and (size > self._each or len(own) >= _MAX_FILES):
            oldest = own.pop(0)
            size -= oldest.bytes
            shutil.rmtree(oldest.path.parent, ignore_errors=True)
        files, now = self._all_files(), time.time()
        total = sum(file.bytes for file in files)
        # Keep other visitors' files of today, because anyone can create any number of visitor ids.
        for file in sorted(files, key=lambda file: (file.id == newest, file.used)):
            if total <= self._total:
                break
            if file.id == newest or file.path.parent.parent.name == validate_key(owner) or now - file.used > _DAY:
                total -= file.bytes
                shutil.rmtree(file.path.parent, ignore_errors=True)


def _stored_name(name: str, suffix: str) -> str:
    stem = Path(file_name(name, "corpus")).stem[:_MAX_NAME]
    stored = f"{stem}{suffix}"
    return "corpus-" + stored if stored == _ABOUT or _EXTRA.fullmatch(stored) or file_name(stored) != stored else stored


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest() if content else ""


def _read(folder: Path) -> StoredFile | None:
    if not _ID.fullmatch(folder.name):
        return None
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        path = folder / file_name(str(about["file"]))
        size = path.stat().st_size + sum(item.stat().st_size for item in folder.iterdir() if _EXTRA.fullmatch(item.name))
        used, layout = float(about["used"]), about.get("layout")
        layout = layout if isinstance(layout, dict) else {}
        return StoredFile(folder.name, str(about["name"]), path, size, used, str(about["column"]), str(about.get("use") or CORPUS), layout)
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def save_form_file(page: Page, owner: object, path: str | Path | None, use: str) -> str:
    """Store the file of a form for the next visit, and return its id; empty without a file or enough space. ``use``: name of the form."""
    if not path:
        return ""
    if stored := next((file.id for file in page.files.list_files(page.visitor(owner)) if file.path == Path(path)), ""):
        return stored
    file = page.files.save(page.visitor(owner), Path(path), Path(path).name, "", use)
    return "" if file is None else file.id


def restore_form_file(page: Page, owner: object, file_id: object) -> str | None:
    """Return a copy of a stored file for an upload box; ``None`` if it was deleted or belongs to another visitor."""
    try:
        file = page.files.get(page.visitor(owner), file_id)
        copy = page.downloads.path(file.name)
        shutil.copyfile(file.path, copy)
    except (StudioError, OSError):
        return None
    return str(copy)


def fingerprint(path: str | Path | None) -> str:
    """Return a file's name and digest, which identify it regardless of its location; empty without a file."""
    try:
        file = Path(path) if path else None
        return "" if file is None else f"{file.name} {_file_digest(file, file.stat().st_mtime_ns, file.stat().st_size)}"
    except OSError:
        return str(path)


@lru_cache(maxsize=64)
def _file_digest(path: Path, _modified: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class TempFiles:
    """Files created for one visitor in the system's temporary folder; deleted at the end, or a few seconds after another is created."""

    def __init__(self, seconds: float = _HOUR) -> None:
        self._folder: Path | None = None
        self._seconds = seconds

    def path(self, name: str) -> Path:
        folder = self._folder
        if folder is None or not folder.is_dir():  # the system may have deleted it
            self._folder = folder = Path(tempfile.mkdtemp(prefix=temporary_prefix()))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for old in folder.iterdir():
            with suppress(FileNotFoundError):  # deleted in the meantime to make room for another visitor's file
                if time.time() - old.stat().st_mtime > self._seconds:
                    shutil.rmtree(old, ignore_errors=True)
        return Path(tempfile.mkdtemp(dir=folder)) / file_name(name)

    def delete(self) -> None:
        """Delete all files; called at the end, because the app exits without finalizers."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
