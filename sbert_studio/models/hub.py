"""Download models from the Hugging Face Hub: safetensors weights and JSON settings, never code.

Visitors of a shared page use a separate cache from the owner's: one folder for public models, and one per token for gated and private
models.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..data.loading.hub import describe_hub_failure, http_status
from ..errors import StudioError, is_network_error
from ..i18n import _
from ..identity import Identity
from ..progress import KeyLocks, bind_checkpoint, checkpoint

# "name" or "owner/name", as the Hub allows them.
HUB_ID = re.compile(r"(?:[A-Za-z0-9][\w.-]{0,95}/)?[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_ALLOWED = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja", "README.md"]
# Other formats of the same weights.
_IGNORED = ["onnx/*", "openvino/*", "*/onnx/*", "*.onnx*", "tf_*", "flax_*", "original/*"]
_TIMEOUT = 10  # seconds
_CHUNK = 1 << 20  # bytes between two checks for a stop
_REFUSALS = (401, 403)
_REFRESH_SECONDS = 60.0  # minimum seconds between two checks for a newer version of a model
_PROTECTED_SECONDS = 600.0  # seconds during which a downloaded model is not deleted, because it is about to be opened
_MAX_REMEMBERED = 1_000
_MIB = 1 << 20
_SMALLER = "choose a smaller model; the host of this page can raise SBERT_STUDIO_MAX_MODEL_MB"


def transport_errors() -> list[type[Exception]]:
    """Return the connection errors of the Hub's client, which uses httpx or, since its version 2, httpx2.

    An answer that is not JSON counts as one: that of a network that requires a login, for example.
    """
    found = [importlib.import_module(name) for name in ("httpx", "httpx2") if importlib.util.find_spec(name) is not None]
    return [json.JSONDecodeError, UnicodeDecodeError, *(module.HTTPError for module in found)]


@dataclass(frozen=True)
class _Access:
    token: str | bool | None = field(repr=False)
    cache: Path | None

    @property
    def root(self) -> Path:
        from huggingface_hub.constants import HF_HUB_CACHE

        return Path(HF_HUB_CACHE) if self.cache is None else self.cache

    def repository(self, hub_id: str) -> Path:
        return self.root / f"models--{hub_id.replace('/', '--')}"


@dataclass(frozen=True)
class _Listing:
    commit: str
    files: tuple[str, ...]
    bytes: int
    gated: bool

    def is_complete(self, folder: Path) -> bool:
        return all((folder / name).is_file() for name in self.files)


class Hub:
    """Models of the Hub, downloaded on behalf of an identity.

    Args:
        cache: folder for visitors' models; the owner's are in the Hub's default cache.
        max_bytes: larger models are rejected before the download; 0 for no limit.
        max_cache_bytes: limit of all visitors' models together; the least recently used are deleted. 0 for no limit.
        default_models: models that the host has configured. Visitors use them from the default cache, into which a Space downloads them
            when it is built, but still access the Hub without the host's token.
    """

    def __init__(self, cache: Path, *, max_bytes: int = 0, max_cache_bytes: int = 0, default_models: Collection[str] = frozenset()) -> None:
        self._cache, self._max_bytes, self._max_cache_bytes = cache, max_bytes, max_cache_bytes
        self._default_models = frozenset(default_models)
        self._lock = threading.Lock()
        self._locks = KeyLocks()  # one download per model at a time
        self._downloads: dict[Path, int] = {}  # visitors' models being downloaded, and their bytes
        self._requests: dict[tuple[str, _Access], tuple[float, Path]] = {}  # time of the last request, and the folder

    def fetch(self, hub_id: str, identity: Identity) -> Path:
        """Download the newest version of ``hub_id`` and return its folder; use the cache if the Hub is unreachable.

        The download stops within seconds of a stop request (:func:`~sbert_studio.progress.stoppable`).

        Raises:
            StudioError: the model does not exist, ``identity`` has no access, it is too large, or the Hub is unreachable.
            StoppedError: the work was stopped.
        """
        if identity.kind == "owner":
            return self._fetch(hub_id, _Access(None, None), identity)
        public = self._public(hub_id)
        if not identity.token:
            return self._fetch(hub_id, public, identity)
        with suppress(_NoAccessError, _UnreachableError):
            return self._fetch(hub_id, public, identity)
        own = self._cache / hashlib.sha256(identity.token.encode()).hexdigest()[:16]
        return self._fetch(hub_id, _Access(identity.token, own), identity)

    def is_downloaded(self, hub_id: str, identity: Identity) -> bool:
        """Return True if the weights of ``hub_id`` are in the cache that ``identity`` uses; nothing is requested."""
        access = _Access(None, None) if identity.kind == "owner" else self._public(hub_id)
        try:
            return any(_in_cache(hub_id, access, LookupError()).rglob("*.safetensors"))
        except LookupError:
            return False

    def _public(self, hub_id: str) -> _Access:
        return _Access(False, None if hub_id in self._default_models else self._cache / "public")

    def _fetch(self, hub_id: str, access: _Access, identity: Identity) -> Path:
        checkpoint()
        with self._locks[str(access.repository(hub_id))], _translate_hub_errors(hub_id, identity):
            requested, folder = self._requests.get((hub_id, access), (0.0, None))
            if folder is None or time.monotonic() - requested > _REFRESH_SECONDS or not folder.is_dir():
                folder = self._newest(hub_id, access, identity)
                if len(self._requests) > _MAX_REMEMBERED:
                    self._requests.clear()
                self._requests[hub_id, access] = time.monotonic(), folder
            if access.cache is not None:
                os.utime(access.repository(hub_id))
            return folder

    def _newest(self, hub_id: str, access: _Access, identity: Identity) -> Path:
        listing = _listing(hub_id, access.token)
        if isinstance(listing, Exception):
            return _in_cache(hub_id, access, listing)
        if listing.gated and access.token is False:
            raise _NoAccessError(hub_id, identity, gated=True)
        limit = f"{self._max_bytes / _MIB:,.0f}"
        if self._max_bytes and listing.bytes > self._max_bytes:
            raise StudioError(
                _(
                    "the size of the model {hub_id} is {bytes} MiB; the maximum here is {limit} MiB",
                    hub_id=hub_id,
                    bytes=f"{listing.bytes / _MIB:,.0f}",
                    limit=limit,
                ),
                _SMALLER,
            )
        folder = access.repository(hub_id) / "snapshots" / listing.commit
        if not listing.is_complete(folder):
            larger = _(
                "the model {hub_id} is larger than reported by the Hugging Face Hub, and exceeds the maximum of {limit} MiB here",
                hub_id=hub_id,
                limit=limit,
            )
            with self._reserve_space(hub_id, access, listing.bytes):
                bar = _stoppable_bar(self._max_bytes, StudioError(larger, _SMALLER))
                for name in listing.files:
                    _download(hub_id, name, access, bar)
        if not listing.is_complete(folder):
            raise StudioError(_("the model {hub_id} changed on the Hugging Face Hub during the download", hub_id=hub_id), "try again")
        return folder

    @contextmanager
    def _reserve_space(self, hub_id: str, access: _Access, size: int) -> Iterator[None]:
        own = access.repository(hub_id)
        missing = max(0, size - _bytes(own))
        free = shutil.disk_usage(next(folder for folder in own.parents if folder.exists())).free
        if missing > free:
            raise StudioError(
                _(
                    "the model {hub_id} needs {missing} MiB, but only {free} MiB are free on the disk",
                    hub_id=hub_id,
                    missing=f"{missing / _MIB:,.0f}",
                    free=f"{free / _MIB:,.0f}",
                ),
                "free some disk space, or choose a smaller model",
            )
        if access.cache is None or not self._max_cache_bytes:
            yield
            return
        with self._lock:
            self._make_room(hub_id, own, size)
            self._downloads[own] = size
        try:
            yield
        finally:
            with self._lock:
                del self._downloads[own]

    def _make_room(self, hub_id: str, own: Path, size: int) -> None:
        kept = {folder: _bytes(folder) for folder in self._cache.glob("*/models--*") if folder != own}
        taken = sum(max(kept.pop(folder, 0), expected) for folder, expected in self._downloads.items())
        old = sorted(kept, key=lambda folder: folder.stat().st_mtime)
        spare = [folder for folder in old if time.time() - folder.stat().st_mtime > _PROTECTED_SECONDS]
        while taken + sum(kept.values()) + size > self._max_cache_bytes and spare:
            shutil.rmtree(spare[0], ignore_errors=True)
            del kept[spare.pop(0)]
        if taken + sum(kept.values()) + size > self._max_cache_bytes:
            raise StudioError(
                _(
                    "there is currently no space for the model {hub_id}: the models used by visitors may take up to "
                    "{max_cache_bytes} MiB in total",
                    hub_id=hub_id,
                    max_cache_bytes=f"{self._max_cache_bytes / _MIB:,.0f}",
                ),
                "try again in ten minutes, or choose a smaller model; the host of this page can raise SBERT_STUDIO_DISK_MB",
            )


class _UnreachableError(StudioError):
    """The Hub does not provide the model, and it is not cached."""


class _NoAccessError(StudioError):
    def __init__(self, hub_id: str, identity: Identity, *, gated: bool = False) -> None:
        sign_in = "log in with `hf auth login`" if identity.kind == "owner" else "sign in with Hugging Face, where this page offers it"
        if gated:
            super().__init__(
                _("the license of the model {hub_id} has to be accepted first", hub_id=hub_id),
                _("accept it on huggingface.co, and {sign_in}", sign_in=sign_in),
            )
            return
        how = "check its spelling" if identity.kind == "owner" else _("check its spelling; if it is private, {sign_in}", sign_in=sign_in)
        super().__init__(_("there is no model {hub_id} here or on the Hugging Face Hub", hub_id=repr(hub_id)), how)


@contextmanager
def _translate_hub_errors(hub_id: str, identity: Identity) -> Iterator[None]:
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
        if isinstance(error, OSError) and error.errno is not None and not is_network_error(error):
            raise  # a lack of disk space or memory
        if http_status(error) in _REFUSALS:
            raise _NoAccessError(hub_id, identity) from error
        raise _not_sent(hub_id, error) from error


def _not_sent(hub_id: str, error: BaseException) -> _UnreachableError:
    from huggingface_hub.errors import RemoteEntryNotFoundError

    status = http_status(error)
    if isinstance(error, RemoteEntryNotFoundError):
        file = unquote(urlsplit(str(error.response.url)).path).partition("/resolve/")[2].partition("/")[2]
        what, hint = (
            _("the Hugging Face Hub lists the file {file} of {hub_id}, but does not provide it", file=file, hub_id=hub_id),
            "try again later, or choose another model",
        )
    elif (trouble := describe_hub_failure(status)) is not None:
        what, hint = trouble
    elif status:
        what, hint = (
            _("the Hugging Face Hub does not provide the model {hub_id} (status {status})", hub_id=hub_id, status=status),
            "try again later",
        )
    elif "Consistency check failed" in str(error) or type(error).__name__ == "RemoteProtocolError":
        what, hint = _("a file of the model {hub_id} was downloaded incompletely from the Hugging Face Hub", hub_id=hub_id), "try again"
    else:
        what, hint = (
            _("there is no model {hub_id} on this machine, and the Hugging Face Hub cannot be reached", hub_id=repr(hub_id)),
            "check the name, or go online",
        )
    return _UnreachableError(what, hint)


def _listing(hub_id: str, token: str | bool | None) -> _Listing | Exception:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, OfflineModeIsEnabled, RepositoryNotFoundError
    from huggingface_hub.utils import filter_repo_objects  # type: ignore[attr-defined]

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
    files = tuple(filter_repo_objects(sizes, allow_patterns=_ALLOWED, ignore_patterns=_IGNORED))
    return _Listing(info.sha or "main", files, sum(sizes[name] for name in files), bool(info.gated))


def _in_cache(hub_id: str, access: _Access, error: Exception) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    options: dict[str, Any] = {"token": access.token, "allow_patterns": _ALLOWED, "ignore_patterns": _IGNORED}
    try:
        return Path(snapshot_download(hub_id, local_files_only=True, cache_dir=access.cache, **options))
    except LocalEntryNotFoundError:
        raise error from None


def _download(hub_id: str, name: str, access: _Access, bar: Any) -> None:
    from huggingface_hub import constants, hf_hub_download

    checkpoint()
    # The client reports progress every 10 MB, and never with its Xet library: a download could not be stopped.
    constants.DOWNLOAD_CHUNK_SIZE, constants.HF_HUB_DISABLE_XET = _CHUNK, True
    # By branch, not commit, so that the cache records the newest commit for offline use.
    hf_hub_download(hub_id, name, token=access.token, cache_dir=access.cache, etag_timeout=_TIMEOUT, tqdm_class=bar)


def _stoppable_bar(max_bytes: int, error: StudioError) -> Any:
    from huggingface_hub.utils.tqdm import tqdm

    wish, done = bind_checkpoint(), 0

    class Bar(tqdm):  # type: ignore[type-arg]
        def update(self, n: float | None = 1) -> bool | None:
            nonlocal done
            wish()
            done += int(n or 0)
            if max_bytes and done > max_bytes:
                raise error
            return bool(super().update(n))

    return Bar


def _bytes(repository: Path) -> int:
    found = 0
    for path in (repository / "blobs").glob("*"):
        with suppress(OSError):  # renamed meanwhile: complete
            found += path.stat().st_size
    return found
