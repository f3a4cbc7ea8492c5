"""The files that visitors chose, kept on disk so that a reload, a link or a restart brings them back."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ...workspace import atomic_file, atomic_folder, file_name, key, write_json

if TYPE_CHECKING:
    from ...workspace import Workspace

_ID = re.compile(r"[0-9a-f]{12}")
_ABOUT = "about.json"
_BESIDE = re.compile(r"[a-z]+-[0-9a-f]{32}\.json")
_MOST = 20
_LONGEST = 80  # letters of a stored name
_TODAY = 86_400.0  # seconds
_LEFT = 3_600.0  # seconds after which nobody is at work on a folder any more that holds no file
_REMEMBERED = 4_096
CORPUS = "corpus"


@dataclass(frozen=True)
class KeptFile:
    """A file of a visitor.

    Attributes:
        id: by which its owner, and nobody else, finds it.
        name: as the visitor calls it.
        path: where it lies.
        bytes: what it takes, with what lies beside it.
        used: when it was last chosen, in seconds of the epoch.
        column: the column that its texts were taken from last.
        use: what it is here for, such as ``corpus``.
    """

    id: str
    name: str
    path: Path
    bytes: int
    used: float
    column: str
    use: str


class ChangedElsewhereError(StudioError):
    """What was to be changed is no longer what the page has read."""


class KeptFiles:
    """The files of all visitors, each in a folder of its own below that of its owner.

    Args:
        each: bytes that the files of one visitor may take; those that were not used for longest go first.
        everybody: bytes that all may take; then that one goes that nobody used for longest, or that is the newest where all of the
            others' were used today.
        days: how long a file stays that is not used; 0: for ever.
    """

    def __init__(self, workspace: Workspace, each: int, everybody: int, days: int = 0) -> None:
        self._workspace, self._each, self._everybody, self._days = workspace, each, everybody, days
        self._lock = threading.RLock()
        self._seen: OrderedDict[tuple[str, str], str] = OrderedDict()

    def keep(self, owner: str, path: Path, name: str, column: str, use: str = CORPUS) -> KeptFile | None:
        """Keep a copy of the file at ``path``; the one that is there already where the same is kept under the same name.

        Returns:
            ``None`` where it is larger than a visitor's whole part, or the disk has no room: what is not kept works all the same.
        """
        try:
            size = path.stat().st_size
            if size > min(self._each, self._everybody):
                return None
            with self._lock:
                for known in self.of(owner):
                    if (
                        (known.name, known.use) == (name, use)
                        and known.path.stat().st_size == size
                        and known.path.read_bytes() == path.read_bytes()
                    ):
                        return self.use(owner, known.id, column)
                made = secrets.token_hex(6)
                folder = self._workspace.uploads / key(owner) / made
                folder.parent.mkdir(parents=True, exist_ok=True)
                with atomic_folder(folder) as part:
                    copy = part / _stored(name, path.suffix)
                    shutil.copyfile(path, copy)
                    write_json(part / _ABOUT, {"name": name, "file": copy.name, "column": column, "use": use, "used": time.time()})
                self._make_room(owner, made)
                return self.get(owner, made)
        except (OSError, ValueError, StudioError):  # a name that is no text is a ValueError
            return None

    def of(self, owner: str) -> list[KeptFile]:
        """An owner's files, those used last first."""
        folder = self._workspace.uploads / key(owner)
        found = [kept for one in folder.iterdir() if (kept := _read(one)) is not None] if folder.is_dir() else []
        return sorted(found, key=lambda one: -one.used)

    def get(self, owner: str, file_id: object) -> KeptFile:
        """One of an owner's files.

        Raises:
            StudioError: this owner has none of that name.
        """
        found = None
        if isinstance(file_id, str) and _ID.fullmatch(file_id):
            found = _read(self._workspace.uploads / key(owner) / file_id)
        if found is None:
            raise StudioError("this file is no longer kept here, or is somebody else's", "upload it once more")
        return found

    def use(self, owner: str, file_id: str, column: str) -> KeptFile:
        """Note that a file is used now, and by which column; on a full disk that alone is not noted."""
        found = self.get(owner, file_id)
        about = {"name": found.name, "file": found.path.name, "column": column, "use": found.use, "used": time.time()}
        with suppress(OSError):
            write_json(found.path.parent / _ABOUT, about)
        return self.get(owner, file_id)

    def remove(self, owner: str, file_id: object) -> None:
        """Delete one.

        Raises:
            StudioError: as :meth:`get`; the disk does not let go of it.
        """
        with self._lock:
            folder = self.get(owner, file_id).path.parent
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                raise StudioError("the file could not be removed: its folder is read-only", f"remove {folder.name} by hand")

    def beside(self, owner: str, file_id: str, name: str, reader: str = "") -> Any:
        """What was put beside a file, as JSON is read; ``None`` where nothing was.

        Args:
            reader: the page that asks, which may change it from then on.

        Raises:
            ValueError: it is damaged.
            StudioError: as :meth:`get`.
        """
        path = self._beside(owner, file_id, name)
        try:
            with self._lock:
                found = path.read_bytes() if path.exists() else b""
                self._note(reader, path, found)
            return json.loads(found) if found else None
        except (OSError, RecursionError) as error:
            raise ValueError(str(error)) from error

    def put_beside(self, owner: str, file_id: str, name: str, value: Any, reader: str | None = None) -> bool:
        """Keep ``value`` beside a file, as long as the file; ``None`` takes away what is there.

        Args:
            reader: the page that asks; ``None``: whatever is there gives way.

        Returns:
            whether there was room for it.

        Raises:
            ChangedElsewhereError: another page changed it after this one had read it.
            StudioError: as :meth:`get`.
        """
        with self._lock:
            path = self._beside(owner, file_id, name)
            try:
                there = path.read_bytes() if path.exists() else b""
                if reader is not None and self._seen.get((reader, str(path)), "") != _digest(there):
                    raise ChangedElsewhereError("this map was changed in another tab", "reload the page to go on from there")
                if value is None:
                    path.unlink(missing_ok=True)
                    self._note(reader, path, b"")
                    return True
                written = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
                others = self.get(owner, file_id).bytes - (path.stat().st_size if path.exists() else 0)
                if others + len(written) > min(self._each, self._everybody):
                    return False
                with atomic_file(path) as part:
                    part.write_bytes(written)
                self._note(reader, path, written)
                self._make_room(owner, file_id)
            except OSError:
                return False
            return True

    def _note(self, reader: str | None, path: Path, found: bytes) -> None:
        """What a page has seen beside a file, last; of pages that are long gone nothing is known any more."""
        if reader is not None:
            self._seen[reader, str(path)] = _digest(found)
            self._seen.move_to_end((reader, str(path)))
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)

    def _beside(self, owner: str, file_id: str, name: str) -> Path:
        if not _BESIDE.fullmatch(name):
            raise ValueError(name)
        return self.get(owner, file_id).path.parent / name

    def sweep(self, now: float | None = None) -> None:
        """Delete what was not used for longer than files are kept, and what an upload that was cut off or damaged has left behind."""
        now = time.time() if now is None else now
        with self._lock:
            for folder in self._workspace.uploads.glob("*/*"):
                with suppress(OSError):
                    if _read(folder) is None and now - folder.stat().st_mtime > _LEFT:
                        shutil.rmtree(folder, ignore_errors=True)
            if not self._days:
                return
            for one in self._all():
                if now - one.used > self._days * 86_400:
                    shutil.rmtree(one.path.parent, ignore_errors=True)

    def _all(self) -> list[KeptFile]:
        owners = [folder.name for folder in self._workspace.uploads.iterdir() if folder.is_dir()]
        return sorted((one for owner in owners for one in self.of(owner)), key=lambda one: one.used)

    def _make_room(self, owner: str, newest: str) -> None:
        mine = [one for one in reversed(self.of(owner)) if one.id != newest]
        size = sum(one.bytes for one in self.of(owner))
        while mine and (size > self._each or len(mine) >= _MOST):
            gone = mine.pop(0)
            size -= gone.bytes
            shutil.rmtree(gone.path.parent, ignore_errors=True)
        everything, now = self._all(), time.time()
        total = sum(one.bytes for one in everything)
        # What others have used today does not give way: anybody can call themselves by as many names as they like.
        for one in sorted(everything, key=lambda one: (one.id == newest, one.used)):
            if total <= self._everybody:
                break
            if one.id == newest or one.path.parent.parent.name == key(owner) or now - one.used > _TODAY:
                total -= one.bytes
                shutil.rmtree(one.path.parent, ignore_errors=True)


def _stored(name: str, suffix: str) -> str:
    """What a copy is called on disk: as its visitor calls it, but for what this folder needs for itself."""
    stem = Path(file_name(name, "corpus")).stem[:_LONGEST]
    stored = f"{stem}{suffix}"
    return "corpus-" + stored if stored == _ABOUT or _BESIDE.fullmatch(stored) or file_name(stored) != stored else stored


def _digest(found: bytes) -> str:
    return hashlib.sha256(found).hexdigest() if found else ""


def _read(folder: Path) -> KeptFile | None:
    """The file in a folder; ``None`` where it is damaged, or half written."""
    if not _ID.fullmatch(folder.name):
        return None
    try:
        about: Any = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        path = folder / file_name(str(about["file"]))
        size = path.stat().st_size + sum(one.stat().st_size for one in folder.iterdir() if _BESIDE.fullmatch(one.name))
        used = float(about["used"])
        return KeptFile(folder.name, str(about["name"]), path, size, used, str(about["column"]), str(about.get("use") or CORPUS))
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError):
        return None
