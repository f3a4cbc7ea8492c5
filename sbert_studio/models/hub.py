"""Fetching a model from the Hugging Face Hub: weights as safetensors, settings as JSON, and no code.

Visitors of a shared page are served from a cache of their own, so that they see nothing that only the host may see: what is open to
everybody lies in one folder, and what a visitor's token opened in one a token.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

from ..data.loading.hub import describe_hub_failure, http_status
from ..errors import StudioError, is_network
from ..identity import Identity
from ..progress import KeyLocks, bind_checkpoint, checkpoint

# "name" or "owner/name", as the Hub allows them.
HUB_ID = re.compile(r"(?:[A-Za-z0-9][\w.-]{0,95}/)?[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_ALLOWED = ["*.safetensors", "*.json", "*.txt", "*.model", "README.md"]
# Other forms of the same weights, which some repositories keep beside the ones that are read.
_IGNORED = ["onnx/*", "openvino/*", "*/onnx/*", "*.onnx*", "tf_*", "flax_*", "original/*"]
_TIMEOUT = 10  # seconds
_CHUNK = 1 << 20  # bytes between two looks at whether somebody still waits
_REFUSALS = (401, 403)
_FRESH = 60.0  # seconds in which the Hub is not asked again for the newest version of a model
_SPARED = 600.0  # seconds in which a model that was fetched is not removed: somebody is about to open it
_MOST_ASKED = 1_000
_MIB = 1 << 20
_SMALLER = "choose a smaller model; who runs this page can raise SBERT_STUDIO_MAX_MODEL_MB"


def transport_errors() -> list[type[Exception]]:
    """What the Hub's client raises where nothing answers: it speaks HTTP by httpx, and from its second version on by httpx2."""
    found = [importlib.import_module(name) for name in ("httpx", "httpx2") if importlib.util.find_spec(name) is not None]
    return [module.HTTPError for module in found]


@dataclass(frozen=True)
class _Access:
    """How a model may be asked for. ``token``: as huggingface_hub takes it; ``cache``: the folder of its cache, ``None`` for the usual."""

    token: str | bool | None = field(repr=False)
    cache: Path | None


@dataclass(frozen=True)
class _Listing:
    """What the Hub says of a repository: its commit, the files that are wanted, their bytes, and whether it asks for a licence."""

    commit: str
    files: tuple[str, ...]
    bytes: int
    gated: bool


class Hub:
    """Models of the Hub, fetched on behalf of whoever asks.

    Args:
        cache: the folder of visitors' models; the owner's lie in the Hub's usual cache.
        max_bytes: a larger model is refused before anything of it is fetched; 0 for no limit.
        max_cache_bytes: what visitors' models may take together; those that were not used for longest make room. 0 for no limit.
    """

    def __init__(self, cache: Path, *, max_bytes: int = 0, max_cache_bytes: int = 0) -> None:
        self._cache, self._max_bytes, self._max_cache_bytes = cache, max_bytes, max_cache_bytes
        self._lock = threading.Lock()
        self._turns = KeyLocks()  # one download of a model at a time
        self._under_way: dict[Path, int] = {}  # folders of visitors' models that are being fetched, and their bytes
        self._asked: dict[tuple[str, _Access], tuple[float, Path]] = {}  # when the Hub was asked last, and the folder

    def fetch(self, hub_id: str, identity: Identity) -> Path:
        """The folder of ``hub_id``'s newest version: fetched, or from the cache when the Hub cannot be reached.

        The download stops within seconds of the caller's wish to stop (:func:`~sbert_studio.progress.stoppable`).

        Raises:
            StudioError: there is no such model, ``identity`` may not see it, it is too large, or the Hub cannot be reached.
            StoppedError: nobody waits for it any more.
        """
        ways = self._accesses(identity)
        for way in ways[:-1]:
            with suppress(_NoAccessError, _UnreachableError):
                return self._fetch(hub_id, way, identity)
        return self._fetch(hub_id, ways[-1], identity)

    def _accesses(self, identity: Identity) -> list[_Access]:
        if identity.kind == "owner":
            return [_Access(None, None)]
        everybody = _Access(False, self._cache / "public")
        if not identity.token:
            return [everybody]
        return [everybody, _Access(identity.token, self._cache / hashlib.sha256(identity.token.encode()).hexdigest()[:16])]

    def _fetch(self, hub_id: str, way: _Access, identity: Identity) -> Path:
        checkpoint()
        with self._turns[str(_repository(_usual_cache() if way.cache is None else way.cache, hub_id))], _in_words(hub_id, identity):
            asked, folder = self._asked.get((hub_id, way), (0.0, None))
            if folder is None or time.monotonic() - asked > _FRESH or not folder.is_dir():
                folder = self._newest(hub_id, way, identity)
                if len(self._asked) > _MOST_ASKED:
                    self._asked.clear()
                self._asked[hub_id, way] = time.monotonic(), folder
            if way.cache is not None:
                os.utime(_repository(way.cache, hub_id))
            return folder

    def _newest(self, hub_id: str, way: _Access, identity: Identity) -> Path:
        listing = _listing(hub_id, way.token)
        if isinstance(listing, Exception):
            return _in_cache(hub_id, way, listing)
        if listing.gated and way.token is False:
            raise _NoAccessError(hub_id, identity, gated=True)
        self._require_small(hub_id, listing.bytes)
        known = _repository(_usual_cache() if way.cache is None else way.cache, hub_id) / "snapshots" / listing.commit
        if not _complete(known, listing):
            with self._room(hub_id, way, listing.bytes):
                bar = _stoppable_bar(self._max_bytes, lambda: self._refuse_larger(hub_id))
                for name in listing.files:
                    _download(hub_id, name, way, bar)
        if not _complete(known, listing):
            raise StudioError(f"the model {hub_id} was changed on the Hugging Face Hub while it was fetched", "try again")
        return known

    def _require_small(self, hub_id: str, size: int) -> None:
        if self._max_bytes and size > self._max_bytes:
            raise StudioError(
                f"the model {hub_id} has {size / _MIB:,.0f} MiB, and {self._max_bytes / _MIB:,.0f} are allowed here", _SMALLER
            )

    def _refuse_larger(self, hub_id: str) -> NoReturn:
        raise StudioError(
            f"the model {hub_id} is larger than the Hugging Face Hub says, and than the {self._max_bytes / _MIB:,.0f} MiB allowed here",
            _SMALLER,
        )

    @contextmanager
    def _room(self, hub_id: str, way: _Access, size: int) -> Iterator[None]:
        """Have room for a model on disk while it is fetched: older ones of visitors go where theirs is full.

        Raises:
            StudioError: there is none.
        """
        cache = way.cache if way.cache is not None else _usual_cache()
        own = _repository(cache, hub_id)
        missing = max(0, size - _bytes(own))
        free = shutil.disk_usage(_existing(cache)).free
        if missing > free:
            raise StudioError(
                f"the model {hub_id} needs {missing / _MIB:,.0f} MiB, and {free / _MIB:,.0f} are free on the disk",
                "make room there, or choose a smaller model",
            )
        if way.cache is None or not self._max_cache_bytes:
            yield
            return
        with self._lock:
            self._make_room(hub_id, own, size)
            self._under_way[own] = size
        try:
            yield
        finally:
            with self._lock:
                del self._under_way[own]

    def _make_room(self, hub_id: str, own: Path, size: int) -> None:
        kept = {folder: _bytes(folder) for folder in self._cache.glob("*/models--*") if folder != own}
        taken = sum(max(kept.pop(folder, 0), expected) for folder, expected in self._under_way.items())
        old = sorted(kept, key=lambda folder: folder.stat().st_mtime)
        spare = [folder for folder in old if time.time() - folder.stat().st_mtime > _SPARED]
        while taken + sum(kept.values()) + size > self._max_cache_bytes and spare:
            shutil.rmtree(spare[0], ignore_errors=True)
            del kept[spare.pop(0)]
        if taken + sum(kept.values()) + size > self._max_cache_bytes:
            raise StudioError(
                f"there is no room for the model {hub_id} now: the models that visitors use here may take "
                f"{self._max_cache_bytes / _MIB:,.0f} MiB together",
                "try again in ten minutes, or choose a smaller model; who runs this page can raise SBERT_STUDIO_DISK_MB",
            )


class _UnreachableError(StudioError):
    """The Hub does not send the model, and it is not in the cache."""


class _NoAccessError(StudioError):
    """A model is not there for whoever asks; the Hub does not say which of the two it is, none or a private one."""

    def __init__(self, hub_id: str, identity: Identity, *, gated: bool = False) -> None:
        sign_in = "log in with `hf auth login`" if identity.kind == "owner" else "sign in with Hugging Face, where this page offers it"
        if gated:
            super().__init__(f"the model {hub_id} asks for a licence to be accepted first", f"accept it on huggingface.co, and {sign_in}")
            return
        how = "check its spelling" if identity.kind == "owner" else f"check its spelling; if it is private, {sign_in}"
        super().__init__(f"there is no model {hub_id!r} here or on the Hugging Face Hub", how)


@contextmanager
def _in_words(hub_id: str, identity: Identity) -> Iterator[None]:
    """What the Hub's client raises, as an error that says how to mend it."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

    unreachable: tuple[type[BaseException], ...] = (LocalEntryNotFoundError, HfHubHTTPError, OSError, *transport_errors())
    try:
        yield
    except StudioError:
        raise
    except GatedRepoError as error:
        raise _NoAccessError(hub_id, identity, gated=True) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise _NoAccessError(hub_id, identity) from error
    except unreachable as error:
        if isinstance(error, OSError) and error.errno is not None and not is_network(error):
            raise  # of the disk or the memory
        if http_status(error) in _REFUSALS:
            raise _NoAccessError(hub_id, identity) from error
        raise _not_sent(hub_id, error) from error


def _not_sent(hub_id: str, error: BaseException) -> _UnreachableError:
    """Why the Hub does not send a model that is open to whoever asks."""
    from huggingface_hub.errors import RemoteEntryNotFoundError

    status = http_status(error)
    if isinstance(error, RemoteEntryNotFoundError):
        file = unquote(urlsplit(str(error.response.url)).path).partition("/resolve/")[2].partition("/")[2]
        return _UnreachableError(
            f"the Hugging Face Hub lists the file {file} of {hub_id}, but does not have it", "try again later, or choose another model"
        )
    if (trouble := describe_hub_failure(status)) is not None:
        return _UnreachableError(*trouble)
    if status:
        return _UnreachableError(f"the Hugging Face Hub does not send the model {hub_id} (status {status})", "try again later")
    if "Consistency check failed" in str(error) or type(error).__name__ == "RemoteProtocolError":
        return _UnreachableError(f"a file of the model {hub_id} came incomplete from the Hugging Face Hub", "try again")
    return _UnreachableError(
        f"there is no model {hub_id!r} on this machine, and the Hugging Face Hub cannot be reached", "check the name, or go online"
    )


def _listing(hub_id: str, token: str | bool | None) -> _Listing | Exception:
    """What the Hub says of a model; the error where it does not answer, or has a problem: the model may be in the cache."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, OfflineModeIsEnabled, RepositoryNotFoundError

    away: tuple[type[Exception], ...] = (OfflineModeIsEnabled, OSError, *transport_errors())
    try:
        info = HfApi(token=token).model_info(hub_id, files_metadata=True, timeout=_TIMEOUT)
    except (GatedRepoError, RepositoryNotFoundError):
        raise
    except HfHubHTTPError as error:
        if http_status(error) in _REFUSALS:
            raise
        return error
    except away as error:
        return error
    sizes = {one.rfilename: one.size or 0 for one in info.siblings or ()}
    files = tuple(name for name in sizes if _is_wanted(name))
    return _Listing(info.sha or "main", files, sum(sizes[name] for name in files), bool(info.gated))


def _in_cache(hub_id: str, way: _Access, error: Exception) -> Path:
    """The newest version that is in the cache, since the Hub has met the request with ``error``, which is raised where there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    given: dict[str, Any] = {"allow_patterns": _ALLOWED, "ignore_patterns": _IGNORED}
    try:
        return Path(snapshot_download(hub_id, local_files_only=True, token=way.token, cache_dir=way.cache, **given))
    except LocalEntryNotFoundError:
        raise error from None


def _is_wanted(name: str) -> bool:
    """By the patterns as the Hub's client reads them."""
    return any(fnmatch(name, pattern) for pattern in _ALLOWED) and not any(fnmatch(name, pattern) for pattern in _IGNORED)


def _complete(folder: Path, listing: _Listing) -> bool:
    return all((folder / name).is_file() for name in listing.files)


def _download(hub_id: str, name: str, way: _Access, bar: Any) -> None:
    from huggingface_hub import constants, hf_hub_download

    checkpoint()
    # The client looks up once in 10 MB, and not at all while its Xet library fetches: a download could not be stopped.
    constants.DOWNLOAD_CHUNK_SIZE, constants.HF_HUB_DISABLE_XET = _CHUNK, True
    # By the branch, not the commit: which commit is the newest is noted so, for when the Hub cannot be reached.
    hf_hub_download(hub_id, name, token=way.token, cache_dir=way.cache, etag_timeout=_TIMEOUT, tqdm_class=bar)


def _stoppable_bar(max_bytes: int, refuse: Callable[[], NoReturn]) -> Any:
    """A class of progress bars for one model, which end the download where nobody waits for it, or where it is larger than was said."""
    from huggingface_hub.utils.tqdm import tqdm

    wish, done = bind_checkpoint(), 0

    class Bar(tqdm):  # type: ignore[type-arg]
        def update(self, n: float | None = 1) -> bool | None:
            nonlocal done
            wish()
            done += int(n or 0)
            if max_bytes and done > max_bytes:
                refuse()
            return bool(super().update(n))

    return Bar


def _usual_cache() -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def _repository(cache: Path, hub_id: str) -> Path:
    return cache / f"models--{hub_id.replace('/', '--')}"


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _bytes(repository: Path) -> int:
    """What a repository in the cache takes, what is only partly there included."""
    found = 0
    for path in (repository / "blobs").glob("*"):
        with suppress(OSError):  # renamed meanwhile: it is complete
            found += path.stat().st_size
    return found
