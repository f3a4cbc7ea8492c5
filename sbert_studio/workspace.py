"""Layout of the home folder, path validation, atomic writes and digests."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import StudioError, is_disk_full
from .i18n import _
from .shutdown import TEMPORARY_PATHS

_SECRET = 32
_BUSY, _BUSY_SECONDS = (5, 32), 2.0  # errors of Windows for a file that another program has open
_ALLOW_WRITING = "set SBERT_STUDIO_HOME to a folder with write permission"
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class Workspace:
    """Paths inside the home folder, which is created on first use. Reading does not require write permission.

    Raises:
        StudioError: the home folder cannot be created.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudioError(
                _("the data folder {home} cannot be created: {strerror}", home=home, strerror=error.strerror),
                _ALLOW_WRITING,
            ) from error

    def require_writable(self) -> None:
        """Raise StudioError if the home folder is not writable."""
        if not os.access(self.home, os.W_OK):
            raise StudioError(_("the data folder {home} is not writable", home=self.home), _ALLOW_WRITING)

    @property
    def runs(self) -> Path:
        """Folder with one folder per run."""
        return self._folder("runs")

    @property
    def tables(self) -> Path:
        """Folder of encoders built from bundled word vectors."""
        return self.home / "tables"

    @property
    def fitted(self) -> Path:
        """Folder with one folder per locally trained static model."""
        return self.home / "fitted"

    @property
    def uploads(self) -> Path:
        """Folder of uploaded files, one folder per owner."""
        return self._folder("uploads")

    @property
    def baskets(self) -> Path:
        """Folder of labelled pairs, one file per owner."""
        return self._folder("baskets")

    def run(self, run_id: str) -> Path:
        """Return ``runs/<id>``, creating it if missing."""
        return self._folder("runs", validate_key(run_id))

    def vectors(self, digest: str, fingerprint: str) -> Path:
        """Return the file for a corpus' vectors computed by an encoder; it may not exist."""
        return self._cached("vectors") / f"{validate_key(digest)}-{validate_key(fingerprint)}.npy"

    def cells(self, digest: str, fingerprint: str) -> Path:
        """Return the file for a corpus' search index with an encoder; it may not exist."""
        return self._cached("indexes") / f"{validate_key(digest)}-{validate_key(fingerprint)}.cells"

    def words(self, digest: str) -> Path:
        """Return the file for a corpus' BM25 index; it may not exist."""
        return self._cached("words") / f"{validate_key(digest)}.npy"

    def projection(self, name: str) -> Path:
        """Return the file for a projection; it may not exist."""
        return self._cached("projections") / f"{validate_key(name)}.npy"

    def cache(self, name: str) -> Path:
        """Return a cache folder, such as for numba's compiled code."""
        return self._cached("cache", validate_key(name))

    @property
    def hub(self) -> Path:
        """Folder of models downloaded from the Hugging Face Hub by visitors of a shared page; it may not exist."""
        return self.home / "hub"

    def exports(self) -> Path:
        """Folder of files for download."""
        return self._folder("exports")

    @property
    def notices(self) -> Path:
        """File with the announced deletion times of runs; it may not exist."""
        return self.home / "notices.json"

    def secret(self) -> bytes:
        """Return the 32-byte secret of this home folder, from which tokens are derived; created on first use with mode 600."""
        path = self.home / "secret"
        try:
            with suppress(FileExistsError), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as made:
                made.write(secrets.token_bytes(_SECRET))
            found = path.read_bytes()
        except OSError as error:
            raise StudioError(
                _("the file {path} cannot be used: {strerror}", path=path, strerror=error.strerror),
                "free some disk space, or allow writing to it",
            ) from error
        if len(found) != _SECRET:
            raise StudioError(_("the file {path} is damaged", path=path), "delete it; existing tokens become invalid")
        return found

    def _folder(self, *parts: str) -> Path:
        path = self.home.joinpath(*parts)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudioError(
                _("the folder {path} cannot be created: {strerror}", path=path, strerror=error.strerror),
                _ALLOW_WRITING if error.errno in _READ_ONLY else "free some disk space, or check the owner of the folder",
            ) from error
        return path

    def _cached(self, *parts: str) -> Path:
        # A missing cache folder is not an error: nothing is cached then.
        path = self.home.joinpath(*parts)
        with suppress(OSError):
            path.mkdir(parents=True, exist_ok=True)
        return path


def validate_key(name: str) -> str:
    """Return ``name`` if it is a safe path component, so that external identifiers cannot escape their folder.

    Raises:
        StudioError: the name is not safe.
    """
    if not _KEY.fullmatch(name):
        raise StudioError(_("{name} is not a valid identifier", name=repr(name[:80])), "use the name or id exactly as listed")
    return name


_MAX_NAME, _MAX_SUFFIX = 120, 16  # characters


def file_name(name: str, default: str = "file") -> str:
    """Return a safe file name for any text: without separators, control characters or leading dots, and not too long."""
    cleaned = re.sub(r"[^\w.\- ]+", "_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(" .")
    stem, dot, suffix = cleaned.rpartition(".")
    if len(cleaned) > _MAX_NAME and stem and 0 < len(suffix) <= _MAX_SUFFIX:
        return f"{stem[: _MAX_NAME - len(suffix) - 1].rstrip(' .')}{dot}{suffix}"
    return cleaned[:_MAX_NAME].rstrip(" .") or default


def existing_path(name: str | Path) -> Path | None:
    """Return the existing file or folder at ``name`` with ``~`` expanded; ``None`` if there is none or it is not a valid path."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long, unknown home folder, or a NUL character
        return None


def require_writable_file(target: Path, *sources: Path | None, suffixes: Sequence[str] = ()) -> None:
    """Raise a StudioError before long work unless ``target`` can be written, is not one of ``sources`` and has one of the suffixes, if any.

    Create its folder.
    """
    try:
        if target.is_dir():
            raise StudioError(_("{name} is a folder", name=target.name or target), "specify a file")
        _require_regular_file(target)
        if target.exists() and any(source is not None and source.exists() and target.samefile(source) for source in sources):
            raise StudioError(_("{name} is the input file", name=target.name), "specify another output file")
        if suffixes:
            require_suffix(target, suffixes)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, probe = tempfile.mkstemp(prefix=".part-", dir=target.parent)
        os.close(handle)
        Path(probe).unlink()
    except OSError as error:
        raise StudioError(
            _("{target} cannot be written: {strerror}", target=target, strerror=error.strerror),
            "choose another folder, or free some disk space",
        ) from error


def require_suffix(target: Path, suffixes: Sequence[str]) -> None:
    """Raise a StudioError unless the name of an output file ends in one of the suffixes: no file of another kind is overwritten."""
    if target.suffix.lower() not in suffixes:
        raise StudioError(
            _("the output cannot be written to {name}", name=target.name),
            _("use a name that ends in {suffixes}", suffixes=", ".join(suffixes)),
        )


def _require_regular_file(target: Path) -> None:
    if target.exists() and not target.is_file() and not target.is_dir():
        raise StudioError(_("{target} is not a regular file", target=target), "specify another output file")


def require_disk_space(folder: Path, wanted: int) -> None:
    """Raise a StudioError before long work if ``wanted`` bytes do not fit on the disk of an existing folder."""
    free = shutil.disk_usage(folder).free
    if wanted > free:
        raise StudioError(
            _(
                "the result needs about {gigabytes}, but the disk of {name} has only {gigabytes2} left",
                gigabytes=_gigabytes(wanted),
                name=folder.name or folder,
                gigabytes2=_gigabytes(free),
            ),
            "free some disk space, or specify a folder on another disk",
        )


def _gigabytes(size: int) -> str:
    return _("{size} GB", size=f"{size / 1e9:,.1f}") if size >= 1e8 else _("{size} MB", size=f"{size / 1e6:,.1f}")


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``target``, a regular file; on success it is flushed to disk and renamed to ``target``."""
    _require_regular_file(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Keep the suffix: writers such as np.save append their own if it is missing.
    handle, name = tempfile.mkstemp(prefix=".part-", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    part = Path(name)
    TEMPORARY_PATHS.add(part)
    try:
        yield part
        flush_to_disk(part)
        part.chmod(0o644)
        _replace_file(part, target)
    except Exception as error:
        full = _full_disk_at(target, error, part)
        if full is None:
            raise
        raise full from error
    finally:
        part.unlink(missing_ok=True)
        TEMPORARY_PATHS.discard(part)


def _full_disk_at(target: Path, error: Exception, part: Path) -> OSError | None:
    """Return the error of a full disk with the path that was to be written, which the system does not name; None for other errors."""
    if isinstance(error, StudioError) or not is_disk_full(error):
        return None
    place = getattr(error, "filename", None)
    if place is not None and not Path(str(place)).is_relative_to(part):
        return None
    code, reason = (getattr(error, name, None) for name in ("errno", "strerror"))
    return OSError(code or errno.ENOSPC, reason or os.strerror(errno.ENOSPC), str(target))


def flush_to_disk(path: Path) -> None:
    """Wait until a file that was written is on the disk."""
    with path.open("r+b") as written:  # Windows flushes no file that is open for reading only
        os.fsync(written.fileno())


def _replace_file(part: Path, target: Path) -> None:
    """Rename a file; wait for programs that read the target, which Windows does not replace meanwhile."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            part.replace(target)
            return
        except PermissionError as error:
            if getattr(error, "winerror", None) not in _BUSY or time.monotonic() > end:
                raise
            time.sleep(0.02)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder next to ``target``; on success it replaces ``target`` and its previous content."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=target.parent))
    TEMPORARY_PATHS.add(part)
    try:
        yield part
        part.chmod(0o755)
        while not _replace_folder(part, target):
            pass
    except Exception as error:
        full = _full_disk_at(target, error, part)
        if full is None:
            raise
        raise full from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        TEMPORARY_PATHS.discard(part)


def _replace_folder(part: Path, target: Path) -> bool:
    """Rename the folder ``part`` to ``target``; return False if another program interfered."""
    old = Path(tempfile.mkdtemp(prefix=".old-", dir=target.parent))
    try:
        with suppress(FileNotFoundError):
            target.replace(old / target.name)
        try:
            part.replace(target)
        except OSError as error:
            # Another program has put its own folder there in the meantime.
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


def write_json_lines(target: Path, rows: Iterable[Any]) -> None:
    """Write each row as a line of UTF-8 JSON, atomically."""
    with atomic_file(target) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def digest_texts(texts: Iterable[str]) -> str:
    """Return the digest of a sequence of texts, 32 hex digits: SHA-256 of their lengths and UTF-8 bytes."""
    state = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little"))
        state.update(raw)
    return state.hexdigest()[:32]


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hex digits."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


_PACKAGE = Path(__file__).resolve().parent


def assets() -> Path:
    """Return the folder ``assets``: inside an installed package, or at the top of a checkout."""
    inside = _PACKAGE / "assets"
    return inside if inside.is_dir() else _PACKAGE.parent / "assets"
