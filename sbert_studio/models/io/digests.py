"""What the files of a model were when they were written, so that a flipped bit or a file cut short is named and not used.

SHA-256 of each file, in ``digests.json`` beside them; the card, which may be written anew, is left out. A file is read once by a
process, until its size or its times change.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from pathlib import Path

from ...errors import StudioError, is_of_machine
from ...workspace import digest_file, write_json

NAME = "digests.json"
_CARD = "README.md"
_REMEMBERED = 4096
# Whatever decides what a model computes lies in files of these kinds, in its folder or one level below.
_DECIDING = {".safetensors", ".json", ".txt", ".model"}
_guard = threading.Lock()
_known: OrderedDict[tuple[str, str], str] = OrderedDict()


def stamp(path: Path) -> str:
    """What changes when a file is replaced or written to.

    Raises:
        OSError: there is none.
    """
    state = path.stat()
    return f"{state.st_size}-{state.st_mtime_ns}-{state.st_ctime_ns}-{state.st_ino}"


def folder_stamp(folder: Path) -> str:
    """What changes when a file of the model in ``folder`` is replaced: weights, settings or tokenizer, a module's too."""
    found = []
    for path in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        if path.suffix in _DECIDING:
            try:
                found.append(f"{path.relative_to(folder).as_posix()} {stamp(path)}")
            except OSError:  # gone since
                continue
    return ",".join(found)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, from memory where it has not changed since it was last read.

    Raises:
        OSError: it cannot be read.
    """
    place = (str(path), stamp(path))
    with _guard:
        if place in _known:
            _known.move_to_end(place)
            return _known[place]
    found = digest_file(path)
    with _guard:
        _known[place] = found
        while len(_known) > _REMEMBERED:
            _known.popitem(last=False)
    return found


def seal(folder: Path) -> None:
    """Write the digests of all files of a model's folder into it, the last thing before it is put in place."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files if path.name not in (NAME, _CARD)}
    write_json(folder / NAME, {name: digest_file(path) for name, path in names.items()})


def written(folder: Path) -> frozenset[str]:
    """The names of the files that were written into a model's folder, where it says so; a card is not among them."""
    return frozenset(_sealed(folder) or ())


def damage(folder: Path) -> str:
    """What is wrong with the files of a model, such as ``model.safetensors is not what was written``; nothing where all is well.

    Of a folder without digests, as an older version wrote it, only the lengths of its weights are known.
    """
    sealed = _sealed(folder)
    found = _first_difference(folder, sealed)
    if found and sealed != (again := _sealed(folder)):  # it was replaced meanwhile
        found = _first_difference(folder, again)
    return found


def require_whole(folder: Path, name: str) -> None:
    """Refuse a model whose files are not what was written.

    Args:
        name: what the model is called.

    Raises:
        StudioError: the file at fault is named.
    """
    if found := damage(folder):
        raise StudioError(
            f"the model of {name} is damaged: its file {found}", "delete it and train it again, or copy it anew from where it is whole"
        )


def cut_short(path: Path) -> str:
    """Why the header of a safetensors file does not fit the file, or nothing."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            file.keys()
    except (SafetensorError, OSError, ValueError) as error:
        if is_of_machine(error):
            raise
        return (str(error).strip() or type(error).__name__).splitlines()[0][:120]
    return ""


def _sealed(folder: Path) -> dict[str, str] | None:
    """The digests; ``None`` where there are none, and one that nothing fits where their file is damaged."""
    try:
        values = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {NAME: ""}
    return values if isinstance(values, dict) and all(isinstance(name, str) for name in values) else {NAME: ""}


def _first_difference(folder: Path, sealed: dict[str, str] | None) -> str:
    if sealed is None:
        found = ((path, cut_short(path)) for path in sorted(folder.rglob("*.safetensors")))
        return next((f"{path.name} is cut short or damaged" for path, why in found if why), "")
    for name, digest in sealed.items():
        try:
            if ".." in Path(name).parts or digest_of(folder / name) != digest:
                return f"{name} is not what was written"
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror})"
    return ""
