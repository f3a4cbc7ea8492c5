"""The layout on disk, atomic writes and digests. The only owner of paths below the home folder."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import StudioError
from .shutdown import TEMPORARY_PATHS

_SECRET = 32
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class Workspace:
    """Every path of the studio, below one home folder that is made on first use. What only reads needs none that can be written.

    Raises:
        StudioError: the home folder cannot be made.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudioError(
                f"the data folder {home} cannot be made: {error.strerror}", "set SBERT_STUDIO_HOME to a folder you may write"
            ) from error

    def require_writable(self) -> None:
        """Find out before it is needed whether the home folder takes files.

        Raises:
            StudioError: it does not.
        """
        if not os.access(self.home, os.W_OK):
            raise StudioError(f"the data folder {self.home} is not writable", "set SBERT_STUDIO_HOME to a folder you may write")

    @property
    def runs(self) -> Path:
        """The folder that holds one folder a run."""
        return self._folder("runs")

    @property
    def tables(self) -> Path:
        """Encoders made of tables of words that packages bring."""
        return self.home / "tables"

    @property
    def fitted(self) -> Path:
        """The folder that holds one folder a table of words that was learned or distilled."""
        return self.home / "fitted"

    @property
    def uploads(self) -> Path:
        """The folder of the files that visitors chose, one folder an owner."""
        return self._folder("uploads")

    @property
    def baskets(self) -> Path:
        """The folder of the pairs that visitors have judged, one file an owner."""
        return self._folder("baskets")

    def run(self, run_id: str) -> Path:
        """``runs/<id>``, made if absent."""
        return self._folder("runs", validate_key(run_id))

    def vectors(self, digest: str, fingerprint: str) -> Path:
        """The file of one corpus' vectors by one encoder; it need not exist."""
        return self._cached("vectors") / f"{validate_key(digest)}-{validate_key(fingerprint)}.npy"

    def cells(self, digest: str, fingerprint: str) -> Path:
        """The file of the search index of one corpus by one encoder; it need not exist."""
        return self._cached("indexes") / f"{validate_key(digest)}-{validate_key(fingerprint)}.cells"

    def words(self, digest: str) -> Path:
        """The file of one corpus' index by words; it need not exist."""
        return self._cached("words") / f"{validate_key(digest)}.npy"

    def projection(self, name: str) -> Path:
        """The file of one projection; it need not exist."""
        return self._cached("projections") / f"{validate_key(name)}.npy"

    def cache(self, name: str) -> Path:
        """A folder for what can be computed again (numba's compiled code)."""
        return self._cached("cache", validate_key(name))

    @property
    def hub(self) -> Path:
        """The folder of the models that visitors of a shared page have from the Hugging Face Hub; it need not exist."""
        return self.home / "hub"

    def exports(self) -> Path:
        """The folder of files made for download."""
        return self._folder("exports")

    @property
    def notices(self) -> Path:
        """The file that says which runs will be removed, and when; it need not exist."""
        return self.home / "notices.json"

    def secret(self) -> bytes:
        """32 random bytes of this home's own, by which tokens are made; written on first use, for its owner's eyes.

        Raises:
            StudioError: it cannot be written or read.
        """
        path = self.home / "secret"
        try:
            with suppress(FileExistsError), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as made:
                made.write(secrets.token_bytes(_SECRET))
            found = path.read_bytes()
        except OSError as error:
            raise StudioError(f"the file {path} cannot be used: {error.strerror}", "make room, or allow it to be written") from error
        if len(found) != _SECRET:
            raise StudioError(f"the file {path} is damaged", "delete it; tokens that were given before hold no longer")
        return found

    def _folder(self, *parts: str) -> Path:
        path = self.home.joinpath(*parts)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudioError(f"the folder {path} cannot be made: {error.strerror}", "make room, or look at who owns the folder") from error
        return path

    def _cached(self, *parts: str) -> Path:
        """A folder of what can be computed again; where it cannot be made, nothing is kept, and nothing fails."""
        path = self.home.joinpath(*parts)
        with suppress(OSError):
            path.mkdir(parents=True, exist_ok=True)
        return path


def validate_key(name: str) -> str:
    """``name`` if it can be one path component, so that no identifier from outside leaves its folder.

    Raises:
        StudioError: it holds anything but letters, digits, ``_`` and ``-``.
    """
    if not _KEY.fullmatch(name):
        raise StudioError(f"{name[:80]!r} is not a valid identifier", "use the name or id exactly as the list shows it")
    return name


_LONGEST, _SUFFIX = 120, 16  # letters of a file's name, and of what stands after its last dot


def file_name(name: str, default: str = "file") -> str:
    """A harmless file name made from text of any origin: no separators, control characters or leading dots.

    One that is too long is cut before what stands after its last dot.
    """
    cleaned = re.sub(r"[^\w.\- ]+", "_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(" .")
    stem, dot, suffix = cleaned.rpartition(".")
    if len(cleaned) > _LONGEST and stem and 0 < len(suffix) <= _SUFFIX:
        return f"{stem[: _LONGEST - len(suffix) - 1].rstrip(' .')}{dot}{suffix}"
    return cleaned[:_LONGEST].rstrip(" .") or default


def existing_path(name: str | Path) -> Path | None:
    """The file or folder that ``name`` leads to, ``~`` understood; None where there is none, or it cannot be a path."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long a name; the home folder of nobody; a NUL
        return None


def require_writable_file(target: Path, *sources: Path | None) -> None:
    """Find out before long work that a file can be written; its folder is made.

    Raises:
        StudioError: it cannot, is a folder, or is one of the ``sources`` that are read.
    """
    try:
        if target.is_dir():
            raise StudioError(f"{target.name or target} is a folder", "name a file")
        _require_ordinary(target)
        if target.exists() and any(source is not None and source.exists() and target.samefile(source) for source in sources):
            raise StudioError(f"{target.name} is the file that is read", "name another file to write")
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, probe = tempfile.mkstemp(prefix=".part-", dir=target.parent)
        os.close(handle)
        Path(probe).unlink()
    except OSError as error:
        raise StudioError(f"{target} cannot be written: {error.strerror}", "choose another folder, or make room") from error


def _require_ordinary(target: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe or a socket."""
    if target.exists() and not target.is_file() and not target.is_dir():
        raise StudioError(f"{target} is no ordinary file", "name another file to write")


def require_disk_space(folder: Path, wanted: int) -> None:
    """Find out before long work that its result will fit.

    Args:
        folder: that it goes to, which is there.
        wanted: bytes.

    Raises:
        StudioError: it will not.
    """
    free = shutil.disk_usage(folder).free
    if wanted > free:
        raise StudioError(
            f"the result needs about {_gigabytes(wanted)}, and the disk of {folder.name or folder} has {_gigabytes(free)} left",
            "make room, or name a folder on another disk",
        )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; on a clean exit it is flushed to disk and renamed over ``target``.

    Raises:
        StudioError: ``target`` is a device, a pipe or a socket.
    """
    _require_ordinary(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept: writers such as np.save append one of their own where it is missing.
    handle, name = tempfile.mkstemp(prefix=".part-", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    part = Path(name)
    TEMPORARY_PATHS.add(part)
    try:
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.chmod(0o644)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
        TEMPORARY_PATHS.discard(part)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside ``target``; on a clean exit it takes the place of ``target``, old content and all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=target.parent))
    TEMPORARY_PATHS.add(part)
    try:
        yield part
        part.chmod(0o755)
        while not _replace_folder(part, target):
            pass
    finally:
        shutil.rmtree(part, ignore_errors=True)
        TEMPORARY_PATHS.discard(part)


def _replace_folder(part: Path, target: Path) -> bool:
    """Rename the folder ``part`` over ``target``; whether no other program has come between."""
    old = Path(tempfile.mkdtemp(prefix=".old-", dir=target.parent))
    try:
        with suppress(FileNotFoundError):
            target.replace(old / target.name)
        try:
            part.replace(target)
        except OSError as error:
            # Another program has put its folder there in the meantime; it may be on its way out again, for a third.
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and part.is_dir():
                return False
            with suppress(OSError):
                (old / target.name).replace(target)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
    return True


def write_json(target: Path, value: Any) -> None:
    """Write ``value`` as indented UTF-8 JSON, atomically."""
    with atomic_file(target) as part:
        part.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def digest_texts(texts: Iterable[str]) -> str:
    """32 hex digits that name a sequence of texts: SHA-256 over their lengths and UTF-8 bytes."""
    state = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)
    return state.hexdigest()[:32]


def digest_file(path: Path) -> str:
    """The SHA-256 of a file, 64 hex digits, read in blocks of 1 MiB."""
    state = hashlib.sha256()
    with path.open("rb") as source:
        while block := source.read(1 << 20):
            state.update(block)
    return state.hexdigest()
