"""Public sets by their id on the Hugging Face Hub: ``hf://datasets/OWNER/NAME``, a Parquet file of which is read.

The file comes over :class:`huggingface_hub.HfFileSystem`; whatever else is a file system of fsspec serves as well.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import StudioError, is_of_machine
from ..identity import OWNER, Identity
from .hub_answers import hub_status, hub_trouble
from .progress import Progress, checkpoint

SCHEME = "hf://"
_NAME = r"[A-Za-z0-9][\w.-]{0,95}"
_ADDRESS = re.compile(rf"hf:/{{1,2}}datasets/({_NAME}/{_NAME}(?:@[\w.-]{{1,100}})?)((?:/[\w=. -]{{1,200}}){{1,12}})?/?", re.ASCII)
_WANTED = ("test", "validation", "dev", "train")
_BLOCK = 1 << 20
_SHOWN = 8


def is_public(name: object) -> bool:
    """Whether this is meant as the address of a public set."""
    return isinstance(name, str | Path) and str(name).startswith("hf:/")


def parsed(address: str | Path) -> tuple[str, str]:
    """(``OWNER/NAME``, path of the file in it or ``""``).

    Raises:
        StudioError: it is no such address.
    """
    found = _ADDRESS.fullmatch(str(address).strip())
    file = (found[2] or "").strip("/") if found else ""
    if found is None or ".." in str(address) or (file and not file.lower().endswith(".parquet")):
        raise StudioError(
            f"{str(address)[:200]!r} is no address of a public set", "write hf://datasets/OWNER/NAME, or …/NAME/FOLDER/file.parquet"
        )
    return found[1], file


@contextmanager
def public_file(
    address: str | Path, most: int, progress: Progress | None = None, *, identity: Identity = OWNER, filesystem: Any = None
) -> Iterator[tuple[Path, str]]:
    """Fetch the file that an address leads to, into a temporary place that is gone afterwards: (its path, what it is called).

    Args:
        address: of a file, or of a set, of which the test split is taken, or what it has in its stead.
        most: bytes; a larger file is refused before it is fetched.
        progress: told how many bytes are there.
        identity: on whose behalf the Hub is asked.
        filesystem: of fsspec; the Hub's by default.

    Raises:
        StudioError: there is no such set or file, it is too large or not open to all, or the Hub cannot be reached.
    """
    repository, file = parsed(address)
    with tempfile.TemporaryDirectory(prefix="sbert-studio-public-") as folder:
        try:
            files = filesystem if filesystem is not None else _hub(identity)
            base = f"datasets/{repository}"
            source = f"{base}/{file}" if file else _chosen(repository, files.glob(f"{base}/**/*.parquet"), base)
            target = Path(folder) / "set.parquet"
            _fetch(files, source, target, most, progress)
        except StudioError:
            raise
        except Exception as error:
            raise _in_words(error, repository, file) from error
        yield target, f"{repository}/{_below(source, base)}"


def _hub(identity: Identity) -> Any:
    from huggingface_hub import HfFileSystem

    return HfFileSystem(token=identity.hub_token, skip_instance_cache=True, use_listings_cache=False)


def _chosen(repository: str, found: Sequence[str], base: str) -> str:
    """The file of the test split, else of what stands in for it; a set in one file is that file.

    Raises:
        StudioError: there is none, or more than one.
    """
    names = {_below(path, base): path for path in sorted(found)}
    for wanted in _WANTED:
        fitting = [path for name, path in names.items() if re.search(rf"(?:^|[/_-]){wanted}(?![a-z])", name.lower())]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            names = {_below(path, base): path for path in fitting}
            break
    if len(names) == 1:
        return next(iter(names.values()))
    if not names:
        raise StudioError(f"{repository} holds no Parquet file", "choose another set, or download it and give the file")
    shown = ", ".join(list(names)[:_SHOWN]) + ("…" if len(names) > _SHOWN else "")
    raise StudioError(
        f"{repository} holds {len(names)} files to judge by: {shown}", f"name one: hf://datasets/{repository}/{next(iter(names))}"
    )


def _below(path: str, base: str) -> str:
    return path.strip("/").removeprefix(base).strip("/")


def _fetch(files: Any, source: str, target: Path, most: int, progress: Progress | None) -> None:
    """Raises:
    StudioError: the file is larger than is accepted, whatever was said of its size.
    """
    size = int(files.info(source).get("size") or 0)
    too_large = StudioError(
        f"{source.rsplit('/', 1)[-1]} has more than {most >> 20:,} MiB, as many as are accepted", "choose a smaller file of the set"
    )
    if size > most:
        raise too_large
    done = 0
    with files.open(source, "rb") as there, target.open("wb") as here:
        while block := there.read(_BLOCK):
            checkpoint()
            done += len(block)
            if done > most:
                raise too_large
            here.write(block)
            if progress is not None:
                progress(done, size)


def _in_words(error: BaseException, repository: str, file: str) -> StudioError:
    """What went wrong, and what to do; an error that is none of the network's or the disk's is raised as it is."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, OfflineModeIsEnabled

    if is_of_machine(error):
        raise error
    causes, status = [error], hub_status(error)
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    if status == 403 or any(isinstance(one, GatedRepoError) for one in causes):
        return StudioError(
            f"the set {repository} asks for a licence to be accepted first", "accept it on huggingface.co, and log in with `hf auth login`"
        )
    if any(isinstance(one, OfflineModeIsEnabled) for one in causes):
        return StudioError(
            f"the set {repository} cannot be fetched: this machine is set to be offline", "unset HF_HUB_OFFLINE, or give a file of your own"
        )
    if isinstance(error, FileNotFoundError) or status in (401, 404):
        what = (
            f"{repository} holds no file {file!r}, or there is no such set"
            if file
            else f"there is no set {repository!r} that is open to all"
        )
        return StudioError(what, "check its spelling on huggingface.co/datasets")
    if (trouble := hub_trouble(status)) is not None:
        return StudioError(*trouble)
    if isinstance(error, OSError | HfHubHTTPError) or type(error).__module__.partition(".")[0].startswith("httpx"):
        return StudioError(
            f"the set {repository} cannot be fetched: the Hugging Face Hub cannot be reached",
            "go online and try again, or give a file of your own",
        )
    raise error
