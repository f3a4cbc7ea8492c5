"""Download of one Parquet file of a Hugging Face dataset, ``hf://datasets/OWNER/NAME``."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import StudioError, is_machine_error
from ...i18n import _
from ...identity import OWNER, Identity
from ...progress import Progress, checkpoint
from ...settings import temporary_prefix

_NAME = r"[A-Za-z0-9][\w.-]{0,95}"
_ADDRESS = re.compile(rf"hf:/{{1,2}}datasets/({_NAME}/{_NAME}(?:@[\w.-]{{1,100}})?)((?:/[\w=. -]{{1,200}}){{1,12}})?/?", re.ASCII)
# Parts of the address of a page: of a file, or of the dataset's list of files and its preview.
_PAGE_OF_FILE = re.compile(r"/(?:blob|resolve|raw)/(?P<revision>[^/]+)/(?P<file>.+)")
_PAGE_OF_SET = re.compile(r"/(?:tree|viewer|discussions|settings|blob|embed)(?:/.*)?$")
_SPLITS = ("test", "validation", "dev", "train")
_BLOCK = 1 << 20
_MOST_LISTED = 8
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY_REQUESTS, _SERVER_ERROR = 401, 403, 404, 429, 500


def is_hub_address(name: object) -> bool:
    """Return True if the text looks like the address of a Hub dataset."""
    return isinstance(name, str | Path) and str(name).startswith("hf:/")


def hub_address(name: str) -> str:
    """Return the ``hf://`` address of a dataset from its id, its address or its page on huggingface.co."""
    text = name.strip()
    if is_hub_address(text):
        return text
    path = re.sub(r"^(?:https?://)?(?:www\.)?huggingface\.co/", "", text).split("?")[0].split("#")[0].removeprefix("datasets/")
    path = _PAGE_OF_SET.sub("", _PAGE_OF_FILE.sub(_at_revision, path))
    return f"hf://datasets/{path}"


def _at_revision(page: re.Match[str]) -> str:
    revision, file = page["revision"], page["file"]
    return f"/{file}" if revision == "main" else f"@{revision}/{file}"


def parse_hub_address(address: str | Path) -> tuple[str, str]:
    """Return ``OWNER/NAME`` and the path of the file within the dataset, or ``""``.

    Raises:
        StudioError: the address is malformed.
    """
    found = _ADDRESS.fullmatch(str(address).strip())
    file = (found[2] or "").strip("/") if found else ""
    if found is None or ".." in str(address) or (file and not file.lower().endswith(".parquet")):
        hint = "write hf://datasets/OWNER/NAME, or …/NAME/FOLDER/file.parquet"
        raise StudioError(_("{address} is not the address of a public dataset", address=repr(str(address)[:200])), hint)
    return found[1], file


@contextmanager
def fetch_hub_file(
    address: str | Path, most: int, progress: Progress | None = None, *, identity: Identity = OWNER, filesystem: Any = None
) -> Iterator[tuple[Path, str]]:
    """Download a file to a temporary folder that is deleted afterwards; yield its path and display name.

    Args:
        address: the address of a file, or of a dataset; for a dataset, its test split is used, else its validation or training split.
        most: the maximum size in bytes; larger files are rejected before the download.
        progress: called with (bytes downloaded, total bytes).
        identity: the account whose token is sent to the Hub.
        filesystem: an fsspec file system; the Hub's by default.

    Raises:
        StudioError: the dataset or file does not exist, is too large or gated, or the Hub cannot be reached.
    """
    repository, file = parse_hub_address(address)
    base = f"datasets/{repository}/"
    with tempfile.TemporaryDirectory(prefix=temporary_prefix()) as folder:
        target = Path(folder) / "set.parquet"
        try:
            files = filesystem if filesystem is not None else _hub(identity)
            if not file:
                file = _choose_file(repository, [path.strip("/").removeprefix(base) for path in files.glob(f"{base}**/*.parquet")])
            _download(files, base + file, target, most, progress)
        except StudioError:
            raise
        except Exception as error:
            if is_machine_error(error) or (explained := _explain(error, repository, file)) is None:
                raise
            raise explained from error
        yield target, f"{repository}/{file}"


def http_status(error: BaseException) -> int:
    """Return the HTTP status of an error or of its causes; 0 if there was no response."""
    statuses = (int(getattr(getattr(one, "response", None), "status_code", 0) or 0) for one in _causes(error))
    return next(filter(None, statuses), 0)


def describe_hub_failure(status: int) -> tuple[str, str] | None:
    """Return a message and a hint for an HTTP status that indicates a problem on the Hub's side; None for any other."""
    if status == _TOO_MANY_REQUESTS:
        return "the Hugging Face Hub has received too many requests from this address", "try again in a few minutes"
    if status >= _SERVER_ERROR:
        return _("the Hugging Face Hub reports a problem on its side (status {status})", status=status), "try again later"
    return None


def _hub(identity: Identity) -> Any:
    from huggingface_hub import HfFileSystem

    return HfFileSystem(token=identity.hub_token, skip_instance_cache=True, use_listings_cache=False)


def _choose_file(repository: str, files: Sequence[str]) -> str:
    by_split = ([name for name in files if re.search(rf"(?:^|[/_-]){split}(?![a-z])", name.lower())] for split in _SPLITS)
    found = sorted(next(filter(None, by_split), files))
    if not found:
        raise StudioError(
            _("{repository} contains no Parquet file", repository=repository), "choose another dataset, or download it and use the file"
        )
    if len(found) > 1:
        listed = ", ".join(found[:_MOST_LISTED]) + ("…" if len(found) > _MOST_LISTED else "")
        raise StudioError(
            _("{repository} contains {found} files to choose from: {listed}", repository=repository, found=len(found), listed=listed),
            _("name one: {address}", address=f"hf://datasets/{repository}/{found[0]}"),
        )
    return found[0]


def _download(files: Any, source: str, target: Path, most: int, progress: Progress | None) -> None:
    size, done = int(files.info(source).get("size") or 0), 0
    name = source.rsplit("/", 1)[-1]
    too_large = StudioError(
        _("{name} exceeds the maximum of {most} MiB", name=name, most=f"{most >> 20:,}"),
        "choose a smaller file from the dataset",
    )
    if size > most:
        raise too_large
    with files.open(source, "rb") as remote, target.open("wb") as local:
        while block := remote.read(_BLOCK):
            checkpoint()
            done += len(block)
            if done > most:  # even if the Hub reported a smaller size
                raise too_large
            local.write(block)
            if progress is not None:
                progress(done, size)


def _causes(error: BaseException) -> list[BaseException]:
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    return causes


def _explain(error: BaseException, repository: str, file: str) -> StudioError | None:
    """Return an error with an explanation and a hint; None if it is caused by neither the network nor the disk."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, OfflineModeIsEnabled

    status, causes = http_status(error), _causes(error)
    if status == _FORBIDDEN or any(isinstance(one, GatedRepoError) for one in causes):
        hint = "accept it on huggingface.co, and log in with `hf auth login`"
        return StudioError(_("the license of the dataset {repository} has to be accepted first", repository=repository), hint)
    if any(isinstance(one, OfflineModeIsEnabled) for one in causes):
        hint = "unset HF_HUB_OFFLINE, or use your own file"
        return StudioError(_("the dataset {repository} cannot be downloaded: this machine is in offline mode", repository=repository), hint)
    if isinstance(error, FileNotFoundError) or status in (_UNAUTHORIZED, _NOT_FOUND):
        no_set = _("there is no public dataset {repository}", repository=repr(repository))
        message = (
            _("{repository} has no file {file}, or the dataset does not exist", repository=repository, file=repr(file)) if file else no_set
        )
        return StudioError(message, "check its spelling on huggingface.co/datasets")
    if failure := describe_hub_failure(status):
        return StudioError(*failure)
    # A ValueError: the answer is no JSON, such as the login page of a network.
    if isinstance(error, OSError | HfHubHTTPError | ValueError) or type(error).__module__.startswith("httpx"):
        hint = "go online and try again, or use your own file"
        return StudioError(
            _("the dataset {repository} cannot be downloaded: the Hugging Face Hub cannot be reached", repository=repository), hint
        )
    return None
