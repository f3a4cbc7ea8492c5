"""The files that visitors chose, kept on disk so that a reload, a link or a restart brings them back."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import threading
import time
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


class KeptFiles:
    """The files of all visitors, each in a folder of its own below that of its owner.

    Args:
        each: bytes that the files of one visitor may take; those that were not used for longest go first.
        everybody: bytes that all may take; then that one goes that nobody used for longest.
        days: how long a file stays that is not used; 0: for ever.
    """

    def __init__(self, workspace: Workspace, each: int, everybody: int, days: int = 0) -> None:
        self._workspace, self._each, self._everybody, self._days = workspace, each, everybody, days
        self._lock = threading.RLock()

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
                    copy = part / file_name(name, "corpus" + path.suffix)
                    if copy.suffix.lower() != path.suffix.lower():
                        copy = copy.with_name(copy.name + path.suffix)
                    shutil.copyfile(path, copy)
                    write_json(part / _ABOUT, {"name": name, "file": copy.name, "column": column, "use": use, "used": time.time()})
                self._make_room(owner, made)
                return self.get(owner, made)
        except (OSError, StudioError):
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
        """Note that a file is used now, and by which column."""
        found = self.get(owner, file_id)
        about = {"name": found.name, "file": found.path.name, "column": column, "use": found.use, "used": time.time()}
        write_json(found.path.parent / _ABOUT, about)
        return self.get(owner, file_id)

    def remove(self, owner: str, file_id: object) -> None:
        """Delete one.

        Raises:
            StudioError: as :meth:`get`.
        """
        with self._lock:
            shutil.rmtree(self.get(owner, file_id).path.parent, ignore_errors=True)

    def beside(self, owner: str, file_id: str, name: str) -> Any:
        """What was put beside a file, as JSON is read; ``None`` where nothing was.

        Raises:
            ValueError: it is damaged.
            StudioError: as :meth:`get`.
        """
        path = self._beside(owner, file_id, name)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, RecursionError) as error:
            raise ValueError(str(error)) from error

    def put_beside(self, owner: str, file_id: str, name: str, value: Any) -> bool:
        """Keep ``value`` beside a file, as long as the file; ``None`` takes away what is there.

        Returns:
            whether there was room for it.

        Raises:
            StudioError: as :meth:`get`.
        """
        with self._lock:
            path = self._beside(owner, file_id, name)
            try:
                if value is None:
                    path.unlink(missing_ok=True)
                    return True
                written = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
                others = self.get(owner, file_id).bytes - (path.stat().st_size if path.exists() else 0)
                if others + len(written) > min(self._each, self._everybody):
                    return False
                with atomic_file(path) as part:
                    part.write_bytes(written)
                self._make_room(owner, file_id)
            except OSError:
                return False
            return True

    def _beside(self, owner: str, file_id: str, name: str) -> Path:
        if not _BESIDE.fullmatch(name):
            raise ValueError(name)
        return self.get(owner, file_id).path.parent / name

    def sweep(self, now: float | None = None) -> None:
        """Delete what was not used for longer than files are kept."""
        if not self._days:
            return
        now = time.time() if now is None else now
        with self._lock:
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
        everything = self._all()
        total = sum(one.bytes for one in everything)
        for one in everything:
            if total <= self._everybody:
                break
            if one.id != newest:
                total -= one.bytes
                shutil.rmtree(one.path.parent, ignore_errors=True)


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
    except (OSError, ValueError, KeyError, TypeError):
        return None
