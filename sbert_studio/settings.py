"""Settings from the environment. No other module reads or writes ``os.environ``."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
import tempfile
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .errors import StudioError
from .i18n import _
from .registry import Field
from .registry import setting as variable

DEFAULT_MODEL = "all-MiniLM-L6-v2"
MULTILINGUAL_MODEL = "multilingual-e5-small"
MULTILINGUAL_HUB_ID = "intfloat/multilingual-e5-small"
DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L6-v2"
_SPACE_STORAGE = Path("/data")  # bucket mounted in a Space, or the persistent disk of an old one
UPLOAD_PREFIX = "sbert-studio-sent-"
_UPLOAD_VARIABLE = "GRADIO_TEMP_DIR"
_PREFIX = "SBERT_STUDIO_"
_DEVICE_VARIABLE = f"{_PREFIX}DEVICE"
_SIGN_IN = ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")
_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_MIN_POLL, _MAX_POLL = 0.05, 3_600
_SHARED_MODEL_MB = 5_000
_PRIVATE_NETWORKS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def secret_variable(help: str, default: str | tuple[str, ...] = "") -> Any:
    """Return the field of a setting that is part of no ``repr``."""
    return field(default=default, repr=False, metadata={"help": help, "min": None, "max": None, "shown": "–"})


@dataclass(frozen=True)
class Limits:
    """Limits for visitors of a shared machine; 0 means no limit. Each can be set by a variable such as ``SBERT_STUDIO_LIMIT_ROWS``."""

    rows: int = variable(0, "maximum number of training rows per run, including its first stage", min=0)
    trainings: int = variable(0, "maximum number of folds × seeds per run", min=0)
    epochs: int = variable(0, "maximum number of epochs per run", min=0)
    minutes: int = variable(0, "maximum training time per run, in minutes; the run is then stopped and keeps its best model", min=0)
    runs: int = variable(0, "maximum number of queued and running runs per visitor", min=0)
    queue: int = variable(0, "maximum number of queued and running runs in total", min=0)
    uploads_mb: int = variable(0, "maximum daily uploads per IP address, in MiB", min=0)
    all_uploads_mb: int = variable(0, "maximum daily uploads in total, in MiB", min=0)
    keep_days: int = variable(
        0, "days until a run is deleted (the date is shown on the page), on a shared page only visitors' runs; 0 keeps all", min=0
    )
    runs_mb: int = variable(0, "disk space for all runs, in MiB; beyond it, the oldest are deleted after a day's notice", min=0)
    llm_requests: int = variable(0, "maximum number of requests per day to the language model, of all visitors together", min=0)

    @classmethod
    def from_env(cls, env: Mapping[str, str], shared: bool) -> Limits:
        """Read ``SBERT_STUDIO_LIMIT_ROWS`` and so on; by default only a shared page has limits.

        Raises:
            StudioError: a value is not an integer.
        """
        return replace(SHARED_LIMITS if shared else cls(), **_read_variables(cls, f"{_PREFIX}LIMIT_", env))


SHARED_LIMITS = Limits(
    rows=100_000,
    trainings=10,
    epochs=50,
    minutes=60,
    runs=1,
    queue=20,
    uploads_mb=2_048,
    all_uploads_mb=8_192,
    keep_days=14,
    runs_mb=20_480,
    llm_requests=2_000,
)


@dataclass(frozen=True)
class Settings:
    """Settings of the program. Those listed in the README come from the environment, the others from the machine.

    Attributes:
        share: create a public Gradio link.
        space: whether the app runs on a Hugging Face Space.
        space_id: ``owner/name`` of the Space; empty elsewhere.
        sign_in: whether visitors can sign in with Hugging Face (``hf_oauth`` in the Space's README).
        mcp_reads_only: whether MCP clients are offered only the endpoints that change nothing: on a Space, unless ``mcp`` is set.
        zero_gpu: whether the Space uses ZeroGPU and ``device`` is not ``cpu``.
        limits: limits for visitors; by default only a shared page has any.
    """

    home: Path = field(metadata={"help": "folder for all data", "shown": "`~/.local/share/sbert-studio`"})
    host: str = variable("127.0.0.1", "address of the page; local by default")
    port: int = variable(7860, "TCP port of the page", min=0, max=65_535)
    device: str = variable("auto", "`cpu`, `cuda`, `cuda:N` or `mps`")
    default_model: str = variable(DEFAULT_MODEL, "default model: a bundled name, a folder or a Hub id")
    multilingual_model: str | None = variable(
        None,
        "default model for texts that are mostly not English; `SBERT_STUDIO_MODEL` if empty, or if only that variable is set",
        shown=f"`{MULTILINGUAL_MODEL}`",
    )
    reranker: str = variable(DEFAULT_RERANKER, "cross-encoder or poly-encoder that re-ranks search hits: a folder or a Hub id")
    mcp: bool = variable(
        False,
        "serve the endpoints to MCP clients, like `--mcp`",
        shown="off (on a Space: on, without the endpoints that train, stop and resume)",
    )
    resume: bool = variable(True, "resume interrupted runs after a restart; `0` to resume manually")
    poll_seconds: float = variable(
        1.0, "polling interval of open pages in seconds; larger values reduce load", min=_MIN_POLL, max=_MAX_POLL
    )
    mirror: str = variable(
        "",
        "copy of finished runs, models, uploads and labelled pairs, restored at start: a folder, such as a mounted bucket, or a private "
        "data set of the Hugging Face Hub, `hf://datasets/OWNER/NAME`",
        shown="none (on a Space: `/data/sbert-studio-mirror`, if `/data` is writable)",
    )
    max_upload_mb: int = variable(512, "maximum upload size, in MiB", min=0)
    max_model_mb: int | None = variable(
        None,
        "maximum size of a model downloaded from the Hugging Face Hub, in MiB; 0 for no limit",
        shown=f"none; `{_SHARED_MODEL_MB}` on a shared page",
    )
    memory_mb: int = variable(1_024, "memory budget for models, indexes and session data, in MiB; they are recomputed when needed", min=0)
    disk_mb: int = variable(10_240, "disk budget for cached vectors, maps and archives, in MiB", min=0)
    trusted_proxies: tuple[str, ...] = variable(
        (),
        "addresses of trusted reverse proxies, such as `127.0.0.1` or `10.0.0.0/8`; the page is then shared",
        shown="none (on a Space: its own network)",
    )
    allowed_hosts: tuple[str, ...] = variable(
        (),
        "additional host names, such as `studio.example.org` or `*.example.org`; `*` allows all; the page is then shared",
        shown="–",
    )
    llm_url: str = variable(
        "",
        "base URL of an OpenAI-compatible endpoint, such as `http://localhost:11434/v1`, or `local`, whose language model names topics on "
        "request; visitors of a shared page can use it too, and no other",
        shown="–",
    )
    llm_model: str = variable("", "name of the language model at this endpoint; with `local`, its folder or Hugging Face id", shown="–")
    llm_key: str = secret_variable("key of this endpoint; never stored, logged or shown")
    llm_seconds: float = variable(60.0, "maximum time of a request to the language model, in seconds", min=1, max=3_600)
    api_keys: tuple[str, ...] = secret_variable("API keys that `serve` accepts, separated by commas or spaces", ())
    share: bool = False
    space: bool = False
    space_id: str = ""
    sign_in: bool = False
    mcp_reads_only: bool = False
    zero_gpu: bool = False
    limits: Limits = field(default_factory=Limits)

    @property
    def shared(self) -> bool:
        """True if other people can reach the page; visitors then do not see each other's runs."""
        return self.space or self.share or self.host not in _LOOPBACK or bool(self.trusted_proxies or self._public_hosts())

    def _public_hosts(self) -> set[str]:
        return {name.lower().strip("[].") for name in self.allowed_hosts} - {*_LOOPBACK}

    @property
    def multilingual(self) -> str:
        """Model for texts that are mostly not English; empty to use ``default_model`` for all texts."""
        if self.multilingual_model is not None:
            return self.multilingual_model
        return MULTILINGUAL_MODEL if self.default_model == DEFAULT_MODEL else ""

    @property
    def largest_model_mb(self) -> int:
        """Maximum size of models downloaded from the Hub, in MiB; 0 for no limit."""
        if self.max_model_mb is not None:
            return self.max_model_mb
        return _SHARED_MODEL_MB if self.shared else 0

    @property
    def ephemeral(self) -> bool:
        """True if everything is lost when the Space restarts, because the Space has neither a mirror nor a persistent home folder."""
        return self.space and not self.mirror and not self.home.is_relative_to(_SPACE_STORAGE)

    @property
    def old_home(self) -> Path | None:
        """Home folder of an earlier version, in a Space's storage."""
        return _SPACE_STORAGE / "sbert-studio" if self.space and self.mirror and not self.home.is_relative_to(_SPACE_STORAGE) else None

    @property
    def duplicate_url(self) -> str:
        """URL for duplicating this Space; empty elsewhere."""
        return f"https://huggingface.co/spaces/{self.space_id}?duplicate=true" if self.space_id else ""

    @property
    def elsewhere(self) -> str:
        """Hint on how to avoid the limits."""
        if self.duplicate_url:
            return _("duplicate this Space to set your own limits: {duplicate_url}", duplicate_url=self.duplicate_url)
        return "there is no such limit on your own machine"

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read ``SBERT_STUDIO_HOME`` and the other variables listed in the README, and the variables set by Spaces.

        Raises:
            StudioError: a value is invalid.
        """
        env = os.environ if environ is None else environ
        space = bool(env.get("SPACE_ID")) or env.get("SYSTEM") == "spaces"
        own_hosts = (env["SPACE_HOST"],) if space and env.get("SPACE_HOST") else ()
        values = _read_variables(cls, _PREFIX, env)
        home = Path(values.get("home") or _default_home(env))
        has_storage = space and not home.is_relative_to(_SPACE_STORAGE) and os.access(_SPACE_STORAGE, os.W_OK)
        found = cls(
            **{
                "home": home,
                "mirror": str(_SPACE_STORAGE / "sbert-studio-mirror") if has_storage else "",
                "host": "0.0.0.0" if space else cls.host,
                "trusted_proxies": _PRIVATE_NETWORKS if space else (),
                "mcp": space,
                **values,
                "allowed_hosts": (*values.get("allowed_hosts", ()), *own_hosts),
                "space": space,
                "space_id": env.get("SPACE_ID") or "",
                "sign_in": space and all(env.get(name) for name in _SIGN_IN),
                "mcp_reads_only": space and "mcp" not in values,
                "zero_gpu": (env.get("SPACES_ZERO_GPU") or "").lower() in ("t", "1", "yes", "true", "on") and values.get("device") != "cpu",
            }
        )
        _require_networks(found.trusted_proxies)
        _require_host_names(values.get("allowed_hosts", ()))
        _require_llm_url(found.llm_url)
        return replace(found, limits=Limits.from_env(env, found.shared))

    def served(self, host: str, port: int, share: bool, environ: Mapping[str, str] | None = None) -> Settings:
        """Return the settings for a page served at this address, with the default limits if it is shared.

        Raises:
            StudioError: a limit is not an integer.
        """
        found = replace(self, host=host, port=port, share=share)
        return replace(found, limits=Limits.from_env(os.environ if environ is None else environ, found.shared))


_PROCESS_COUNTS = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")


def is_launched_alone(environ: Mapping[str, str] | None = None) -> bool:
    """Return True if ``accelerate launch --cpu`` was asked for several processes but started only one, as it does without MPI."""
    env = os.environ if environ is None else environ
    return "ACCELERATE_USE_CPU" in env and "MASTER_PORT" in env and not any(name in env for name in _PROCESS_COUNTS)


def is_distributed(environ: Mapping[str, str] | None = None) -> bool:
    """Return True if this process has peers, started by ``accelerate launch``, ``torchrun`` or MPI."""
    env = os.environ if environ is None else environ
    return any(env.get(name, "1") != "1" for name in _PROCESS_COUNTS)


def has_screen(environ: Mapping[str, str] | None = None) -> bool:
    """Return True if this machine has a display, so that a browser can be opened."""
    env = os.environ if environ is None else environ
    if sys.platform in ("darwin", "win32"):
        return not env.get("SSH_CONNECTION")
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def configure_thread_waiting(command: str = "") -> None:
    """Configure how OpenMP threads wait; call before PyTorch is imported.

    By default they spin. With another busy process on the same cores, this doubled the CPU time for the same work and tripled the latency
    of encoding a single text, so threads sleep instead. Training consists of many short matrix products and would be a fifth slower, so its
    threads spin briefly.
    """
    if command == "train":
        os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    else:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def limit_kernel_cache() -> None:
    """Limit oneDNN's cache of generated kernels; call before PyTorch is imported.

    Kernels are generated for each number of tokens; 1,024 of them take about 100 MB, and generating one takes about a millisecond.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")


@contextmanager
def override_device(device: str) -> Iterator[None]:
    """Use this device within the block, also in the processes started there; an empty string leaves the configured one."""
    before = os.environ.get(_DEVICE_VARIABLE)
    if device:
        os.environ[_DEVICE_VARIABLE] = device
    try:
        yield
    finally:
        if before is not None:
            os.environ[_DEVICE_VARIABLE] = before
        elif device:
            os.environ.pop(_DEVICE_VARIABLE, None)


def reduce_gradio_analytics() -> None:
    """Make Gradio update its /monitoring summary every 1,000 events, and send no telemetry; call before its queue is created.

    By default, Gradio recomputes the summary after every event from the last 10,000 events, which slows down a long-running page, and the
    client of its MCP server sends telemetry whatever its argument says.
    """
    os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000")
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"


def trust_proxies(settings: Settings) -> None:
    """Accept ``X-Forwarded-For`` from trusted proxies only; call before the server is created.

    By default, every process of this machine is trusted.
    """
    os.environ["FORWARDED_ALLOW_IPS"] = ",".join(settings.trusted_proxies)


def bypass_proxy() -> None:
    """Reach this machine without a proxy; call before the server is created, which sends a request to itself."""
    for name in ("no_proxy", "NO_PROXY"):
        known = [one.strip() for one in os.environ.get(name, "").split(",") if one.strip()]
        os.environ[name] = ",".join(dict.fromkeys([*known, "localhost", "127.0.0.1", "::1"]))


def temporary_prefix() -> str:
    """Return the prefix of this process's temporary folders, by which those of a killed process are found and deleted."""
    return f"{UPLOAD_PREFIX}{os.getpid()}-"


@contextmanager
def private_upload_folder() -> Iterator[None]:
    """Use a private upload folder, deleted at exit, unless one is configured; enter before Gradio is imported.

    Gradio's default folder is shared by all apps of a machine, and an app that exits deletes the files of the others.
    """
    if os.environ.get(_UPLOAD_VARIABLE):
        yield
        return
    with tempfile.TemporaryDirectory(prefix=temporary_prefix(), ignore_cleanup_errors=True) as folder:
        os.environ[_UPLOAD_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[_UPLOAD_VARIABLE]


def configure_ray(*, alone: bool) -> None:
    """Disable Ray's usage statistics and informational logs; call before Ray is imported.

    Args:
        alone: whether the cluster consists of this machine only; its processes then listen on the loopback interface.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if alone:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"


def _default_home(env: Mapping[str, str]) -> Path:
    data_home = env.get("XDG_DATA_HOME") or "~/.local/share"
    return _expanded(data_home) / "sbert-studio"


def _expanded(folder: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError:
        raise StudioError(f"there is no home folder for {folder!r}", "set SBERT_STUDIO_HOME to a folder with write permission") from None


def variables() -> Iterator[tuple[str, str, str]]:
    """Yield (name, default, help in Markdown) of each environment variable, for the table of the README."""
    for cls, prefix in ((Settings, _PREFIX), (Limits, f"{_PREFIX}LIMIT_")):
        for item in fields(cls):
            if item.metadata.get("help"):
                default = getattr(SHARED_LIMITS, item.name) if cls is Limits else item.default
                default = {True: "on", False: "off"}[default] if isinstance(default, bool) else f"`{default}`"
                yield _variable(prefix, item.name), item.metadata.get("shown") or default, item.metadata["help"]


def unknown_variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the ``SBERT_STUDIO_`` variables that are set but do not exist, each with the most similar known name, or an empty string."""
    from difflib import get_close_matches

    env = os.environ if environ is None else environ
    known = [name.removeprefix(_PREFIX) for name, *_rest in variables()]
    found = {}
    for name in sorted(env):
        own = name.removeprefix(_PREFIX)
        if own != name and own not in known:
            found[name] = next((f"{_PREFIX}{one}" for one in get_close_matches(own, known, 1)), "")
    return found


def require_root_path(environ: Mapping[str, str] | None = None) -> None:
    """Raise StudioError if ``GRADIO_ROOT_PATH``, which Gradio reads without checking it, is neither a path nor an address."""
    root = (os.environ if environ is None else environ).get("GRADIO_ROOT_PATH", "")
    if root and not root.startswith(("/", "http://", "https://")):
        raise StudioError(
            f"GRADIO_ROOT_PATH is {root!r}, which is neither a path nor an address",
            "write the full address of the page, such as https://example.org/studio, or its path, such as /studio",
        )


def _variable(prefix: str, name: str) -> str:
    return prefix + ("MODEL" if name == "default_model" else name.upper())


def _read_variables(cls: type, prefix: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of ``cls`` that are set in the environment. An empty variable counts as unset, except for optional texts.

    Raises:
        StudioError: a value is invalid.
    """
    found: dict[str, Any] = {}
    for item in fields(cls):
        name = _variable(prefix, item.name)
        raw = env.get(name)
        if not item.metadata.get("help") or raw is None or (not raw and item.type != "str | None"):
            continue
        if item.type == "Path":
            found[item.name] = _expanded(raw)
        elif item.type == "tuple[str, ...]":
            found[item.name] = tuple(one for one in re.split(r"[\s,]+", raw) if one)
        else:
            kind = _TYPES[str(item.type).partition(" ")[0]]
            hint = f"write a whole number, such as {_example(item)}" if kind is int else item.metadata["help"]
            found[item.name] = Field(name, kind, item.default, hint, item.metadata["min"], item.metadata["max"]).parse(raw)
    return found


def _example(item: Any) -> str:
    return "4096 (MiB)" if item.name.endswith("_mb") else str(getattr(SHARED_LIMITS, item.name, item.default))


def _require_networks(addresses: tuple[str, ...]) -> None:
    for one in addresses:
        try:
            ipaddress.ip_network(one)
        except ValueError:
            hint = "list addresses such as 127.0.0.1 or 10.0.0.0/8, separated by commas"
            raise StudioError(f"SBERT_STUDIO_TRUSTED_PROXIES contains {one!r}, which is not an address or network", hint) from None


def _require_host_names(names: tuple[str, ...]) -> None:
    for one in names:
        if "/" in one or re.search(r"^[^:]*:\d*$", one):
            hint = "list names such as studio.example.org, without https://, port and path, separated by commas"
            raise StudioError(f"SBERT_STUDIO_ALLOWED_HOSTS contains {one!r}, which is not a host name", hint)


def _require_llm_url(url: str) -> None:
    """Raise StudioError unless the URL is empty, ``local`` or an HTTP address. The message does not quote it: it may contain a key."""
    try:
        parts = urllib.parse.urlsplit(url.strip())
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address and url.strip() not in ("", "local"):
        raise StudioError("SBERT_STUDIO_LLM_URL is not an address with http:// or https://", "write http://localhost:11434/v1, or local")
