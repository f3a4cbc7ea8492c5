"""Mirror of a home folder: closed files in a storage that survives the machine, from which they are restored at start.

The home folder itself is always on a local disk, where files can be renamed and locked. What is worth keeping consists of *units*: a run
that is not active, a static model, an upload, a basket. Each version of a unit is a manifest, which lists its files with their checksums,
and is written after them. A version counts only if its manifest and all its files are complete; otherwise the previous one does.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ..data.loading.hub import is_hub_address, parse_hub_address
from ..errors import StudioError
from ..progress import checkpoint
from ..runs.lease import LOCK_FILE
from ..runs.run import RUN_FILE
from ..runs.store import STOP_FILE
from ..workspace import atomic_file, atomic_folder, digest_file, write_json
from .mirror_storage import ChangedError, FolderStorage, HubStorage, Storage, require_space
from .resources import Resources

log = logging.getLogger(__name__)
# Folders and files of a home folder that are units. Everything else is a cache.
_FOLDERS = {"runs/run-*": RUN_FILE, "fitted/words-*": "fitted.json", "uploads/*/*": "about.json"}
_SECRET = "secret"
_FILES = ("baskets/*.json", "leaderboard.jsonl", _SECRET)
_UNIT = re.compile(
    r"runs/run-[0-9a-f]{10}|fitted/words-[0-9a-f]{10}|uploads/[\w-]{1,128}/[0-9a-f]{12}|baskets/[\w-]{1,128}\.json|leaderboard\.jsonl|secret",
    re.ASCII,
)
_CONTENT, _MANIFESTS, CHECKPOINTS = "content", "manifests", "checkpoints"
_FOLDERS_HERE = (f"{_CONTENT}/", f"{_MANIFESTS}/")
_TEMPORARY = (".part-", ".old-", ".deleted-")
_DAY_NS = 86_400 * 10**9
_SMALL = 1 << 20  # maximum size of a manifest


@dataclass(frozen=True)
class MirroredFile:
    """A file of a unit: its path within the unit (empty if the unit is a file), its name in the storage, checksum and bytes."""

    path: str
    content: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Manifest:
    """A version of a unit; a deleted unit has no files."""

    unit: str
    files: tuple[MirroredFile, ...] = ()
    is_deleted: bool = False
    name: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: bytes, name: str) -> Manifest:
        """Parse a manifest. A file that was written only in part is no valid JSON.

        Raises:
            ValueError: it is damaged, or describes files outside its unit.
        """
        try:
            values = json.loads(text)
            files = tuple(MirroredFile(str(f["path"]), str(f["content"]), str(f["sha256"]), int(f["bytes"])) for f in values["files"])
            found = cls(str(values["unit"]), files, values["is_deleted"] is True, name)
        except (TypeError, KeyError, RecursionError) as error:
            raise ValueError("damaged") from error
        if not _UNIT.fullmatch(found.unit) or not all(_is_inside(file) for file in files):
            raise ValueError("not the manifest of a unit")
        return found


def _is_inside(file: MirroredFile) -> bool:
    path, content = PurePosixPath(file.path), PurePosixPath(file.content)
    parts = () if file.path == "" else path.parts
    is_plain = not path.is_absolute() and "\\" not in file.path and "\0" not in file.path and ".." not in parts
    return is_plain and file.bytes >= 0 and len(content.parts) == 2 and content.parts[0] == _CONTENT and content.parts[1] not in ("..", ".")


class Mirror:
    """Copies the units of a home folder to a storage, and back.

    Args:
        home: the home folder.
        storage: creates the storage on first use.
        list_active: returns ids of runs that are being written.
        wanted: whether a unit is mirrored; by default all are.
        to_home, to_storage: convert the name of a unit, which may differ if it contains the id of a visitor.
        adapt: called with a restored unit and its temporary path before it takes its place.
        report: called with messages for the log.
        max_bytes: maximum size of what is restored; 0 for no limit.
        record: file in which the state of the mirror is stored for the next start, if the home folder survives: what was deleted meanwhile
            is then deleted in the mirror, not restored.
    """

    def __init__(
        self,
        home: Path,
        storage: Callable[[], Storage],
        list_active: Callable[[], Collection[str]] = tuple,
        *,
        wanted: Callable[[str], bool] = lambda unit: True,
        to_home: Callable[[str], str] = lambda unit: unit,
        to_storage: Callable[[str], str] = lambda unit: unit,
        adapt: Callable[[str, Path], None] = lambda unit, path: None,
        report: Callable[[str], None] = log.info,
        max_bytes: int = 0,
        record: Path | None = None,
    ) -> None:
        self._home, self._open, self._list_active = home, storage, list_active
        self._wanted, self._to_home, self._to_storage = wanted, to_home, to_storage
        self._adapt, self._report, self._max_bytes, self._restored_bytes = adapt, report, max_bytes, 0
        self._storage: Storage | None = None
        self._record = record
        self._states = _read_states(record)  # unit → state of its files when it was last mirrored
        self._known: dict[str, MirroredFile] = {}  # checksum → complete file in the storage
        self._stored: dict[str, tuple[MirroredFile, ...]] = {}  # unit in the storage → files of its newest version
        self._moved: Path | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem = ""

    @property
    def storage(self) -> Storage:
        if self._storage is None:
            self._storage = self._open()
        return self._storage

    def restore(self, old_home: Path | None = None) -> int:
        """Restore the newest complete version of each unit that the home folder lacks, and return their number.

        Args:
            old_home: home folder of an earlier version, not on a local disk. Units that were never mirrored are moved from there.

        Raises:
            OSError, StudioError: the storage cannot be read.
        """
        versions, known, moved = self._read_manifests(), len(self._states), 0
        for manifests in versions.values():
            any(manifest.is_deleted or self._restore(manifest) for manifest in manifests)  # the first that is complete
        if old_home is not None and old_home.is_dir():
            for unit in _list_units(old_home):
                if self._to_storage(unit) not in versions and not (self._home / unit).exists():
                    _copy_unit(old_home / unit, self._home / unit)
                    moved += 1
            self._moved = old_home
        return len(self._states) - known + moved

    def compare(self) -> set[str]:
        """Read what the storage has, so that :meth:`sync` writes only what differs; return the names of its units."""
        names = set(self.storage.list_names())
        versions = self._read_manifests(names)
        for unit, manifests in versions.items():
            if not manifests[0].is_deleted and all(file.content in names for file in manifests[0].files):
                self._stored[unit] = manifests[0].files
                self._known |= {file.sha256: file for file in manifests[0].files}
        return {unit for unit, manifests in versions.items() if not manifests[0].is_deleted}

    def sync(self) -> int:
        """Mirror what has changed, and return the number of new versions.

        Raises:
            OSError, StudioError: the storage cannot be written.
        """
        active, written, units = self._list_active(), 0, _list_units(self._home)
        for unit in units:
            checkpoint()
            if not self._wanted(unit) or unit.partition("/")[2] in active:
                continue
            state = _state(self._home / unit)
            if state and self._states.get(unit) != state:
                try:
                    written += self._write(unit, state)
                except (ChangedError, FileNotFoundError):
                    continue  # it was changed or deleted meanwhile, and is mirrored next time
        for unit in [unit for unit in self._states if not (self._home / unit).exists() and self._home.is_dir()]:
            self._write_manifest(Manifest(self._to_storage(unit), is_deleted=True), [])
            del self._states[unit]
            written += 1
        if self._record is not None and written:
            write_json(self._record, self._states)
        self._remove_moved(units)
        return written

    def prune(self, now: float | None = None) -> None:
        """Delete versions that a newer complete one has replaced, and files without a manifest that are older than a day."""
        names, now_ns = set(self.storage.list_names()), int((time.time() if now is None else now) * 1e9)
        manifests, spare = self._read_manifests(names), []
        kept = set()
        for versions in manifests.values():
            whole = next((number for number, one in enumerate(versions) if all(file.content in names for file in one.files)), len(versions))
            spare += [one.name for one in versions[whole + 1 :]]
            newest = versions[0]
            if newest.is_deleted and len(versions) == 1 and now_ns - _time_of(newest.name) > _DAY_NS:
                spare.append(newest.name)
            kept |= {file.content for one in versions[: whole + 1] for file in one.files}
            kept |= {one.name for one in versions}
        spare += [name for name in names if name.startswith(_FOLDERS_HERE) and name not in kept and now_ns - _time_of(name) > _DAY_NS]
        self._known = {sha256: file for sha256, file in self._known.items() if file.content not in spare}
        self.storage.delete(spare)

    def start(self) -> None:
        """Mirror in the background until :meth:`close`."""
        self._thread = threading.Thread(target=self._work, name="sbert-studio-mirror", daemon=True)
        self._thread.start()

    def close(self, seconds: float = 6.0) -> None:
        """Mirror what has changed a last time, for at most some seconds: what is not complete by then does not count."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        try:
            self._report(self.storage.probe())
        except (OSError, StudioError) as error:
            log.warning("the mirror cannot be used: %s", error)
        is_last = False
        while not is_last:
            is_last = self._stopping.is_set()
            try:
                if self.sync() and not is_last:
                    self.prune()
                self._problem = ""
            except Exception as error:  # storages raise errors of many libraries; the thread must go on
                if self._problem != str(error):
                    log.warning("changes could not be mirrored, which is tried again: %s", error)
                self._problem = str(error)
            if not is_last:
                self._stopping.wait(self.storage.interval if self._storage is not None else 60.0)

    def _read_manifests(self, names: Collection[str] | None = None) -> dict[str, list[Manifest]]:
        found: dict[str, list[Manifest]] = defaultdict(list)
        listed = self.storage.list_names() if names is None else names
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "manifest"
            for name in sorted((name for name in listed if name.startswith(f"{_MANIFESTS}/")), reverse=True):
                try:
                    self.storage.read(name, copy, max_bytes=_SMALL)
                    manifest = Manifest.parse(copy.read_bytes(), name)
                except (OSError, ValueError, ChangedError):
                    continue  # not visible yet, or written only in part
                found[manifest.unit].append(manifest)
        return found

    def _restore(self, manifest: Manifest) -> bool:
        unit = self._to_home(manifest.unit)
        target = self._home / unit
        if not self._wanted(unit) or target.exists() or unit in self._states:
            return True
        size = sum(file.bytes for file in manifest.files)
        self._restored_bytes += size
        require_space(self._home, size, self._restored_bytes, self._max_bytes)
        is_file = not _is_folder(unit)
        try:
            with atomic_file(target) if is_file else atomic_folder(target) as part:
                for file in manifest.files:
                    checkpoint()
                    copy = part if is_file else part / file.path
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    self.storage.read(file.content, copy, file.sha256, file.bytes)
                self._adapt(unit, part)
        except (OSError, ValueError, ChangedError) as error:
            log.warning("a version of %s is not complete in the mirror, and is not restored: %s", unit, str(error) or "a checksum differs")
            return False
        if unit == _SECRET:
            target.chmod(0o600)
        self._known |= {file.sha256: file for file in manifest.files}
        self._states[unit] = _state(target)
        return True

    def _write(self, unit: str, state: str) -> bool:
        files, new = [], []
        for path, source in _list_files(self._home / unit):
            sha256, size = digest_file(source), source.stat().st_size
            if sha256 not in self._known:
                stored = MirroredFile(path, f"{_CONTENT}/{time.time_ns():020d}-{sha256[:16]}", sha256, size)
                self._known[sha256] = stored
                new.append((stored.content, source, sha256))
            files.append(MirroredFile(path, self._known[sha256].content, sha256, size))
        try:
            if _state(self._home / unit) != state:
                raise ChangedError
            if is_new := self._stored.get(self._to_storage(unit)) != tuple(files):
                self._write_manifest(Manifest(self._to_storage(unit), tuple(files)), new)
        except BaseException:
            for _name, _source, sha256 in new:
                del self._known[sha256]
            raise
        self._states[unit] = state
        return is_new

    def _write_manifest(self, manifest: Manifest, new: list[tuple[str, Path, str]]) -> None:
        """Write new files and then the manifest, in one call, because on the Hub they are one commit."""
        name = f"{_MANIFESTS}/{time.time_ns():020d}-{hashlib.sha256(manifest.unit.encode()).hexdigest()[:16]}.json"
        values: dict[str, Any] = {key: value for key, value in asdict(manifest).items() if key != "name"}
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder) / "manifest"
            part.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
            self.storage.write([*new, (name, part, digest_file(part))])

    def _remove_moved(self, units: Mapping[str, object]) -> None:
        """Delete the home folder of an earlier version once all its units are in the mirror."""
        old, self._moved = self._moved, None
        if old is None:
            return
        if all(unit in self._states or not (self._home / unit).exists() for unit in _list_units(old)):
            shutil.rmtree(old, ignore_errors=True)
            self._report(f"the data of {old} were moved to {self._home}, and are mirrored")
        else:
            self._moved = old


def _read_states(record: Path | None) -> dict[str, str]:
    try:
        found = {} if record is None else json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(unit): str(state) for unit, state in found.items()} if isinstance(found, dict) else {}


def _is_folder(unit: str) -> bool:
    return unit.startswith(("runs/", "fitted/", "uploads/"))


def _list_units(home: Path) -> dict[str, None]:
    folders = [path.parent for pattern, record in _FOLDERS.items() for path in home.glob(f"{pattern}/{record}")]
    files = [path for pattern in _FILES for path in home.glob(pattern) if path.is_file()]
    found = [path.relative_to(home).as_posix() for path in (*folders, *files)]
    return dict.fromkeys(unit for unit in sorted(found) if _UNIT.fullmatch(unit))


def _list_files(path: Path) -> list[tuple[str, Path]]:
    """Return (path within the unit, file) of a unit's files. Checkpoints are of use only for a run that can be resumed."""
    if path.is_file():
        return [("", path)]
    is_final = (path / RUN_FILE).exists() and (path / "model").is_dir()
    found = []
    for file in sorted(path.rglob("*")):
        inside = file.relative_to(path)
        is_spare = inside.name in (LOCK_FILE, STOP_FILE) or any(part.startswith(_TEMPORARY) for part in inside.parts)
        if file.is_file() and not file.is_symlink() and not is_spare and not (is_final and CHECKPOINTS in inside.parts):
            found.append((inside.as_posix(), file))
    return found


def _state(path: Path) -> str:
    """Return a text that changes with the files of a unit; empty if it is being deleted."""
    try:
        stats = [(name, file.stat()) for name, file in _list_files(path)]
    except OSError:
        return ""
    return hashlib.sha256(repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]).encode()).hexdigest() if stats else ""


def _copy_unit(source: Path, target: Path) -> None:
    with atomic_file(target) if source.is_file() else atomic_folder(target) as part:
        for path, file in _list_files(source):
            (part / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, part / path if path else part)


def _time_of(name: str) -> int:
    digits = name.rpartition("/")[2].partition("-")[0]
    return int(digits) if digits.isdigit() else 0


def open_mirror(studio: Resources, report: Callable[[str], None]) -> Mirror | None:
    """Return the mirror of the settings after restoring the home folder from it; ``None`` if there is none.

    Raises:
        StudioError: the mirror cannot be read.
    """
    address = studio.settings.mirror
    if not address:
        return None

    def storage() -> Storage:
        return HubStorage(parse_hub_address(address)[0]) if is_hub_address(address) else FolderStorage(Path(address).expanduser())

    home = studio.workspace.home
    record = home / f"mirror-{hashlib.sha256(address.encode()).hexdigest()[:8]}.json"
    mirror = Mirror(home, storage, lambda: {run.id for run in studio.store.runs() if run.active}, report=report, record=record)
    try:
        restored = mirror.restore(studio.settings.old_home)
    except (OSError, StudioError) as error:
        told, hint = (error.message, error.hint) if isinstance(error, StudioError) else (str(error.strerror or error), "check the folder")
        raise StudioError(f"the mirror {address} cannot be read: {told}", f"{hint}, or change SBERT_STUDIO_MIRROR") from error
    report(f"restored from the mirror {address}: {restored} runs, models and files")
    return mirror
