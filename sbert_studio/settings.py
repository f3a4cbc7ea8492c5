"""Settings from the environment. No other module reads or writes ``os.environ``."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from .errors import StudioError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
MULTILINGUAL_MODEL = "multilingual-e5-small"
MULTILINGUAL_HUB_ID = "intfloat/multilingual-e5-small"
DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L6-v2"
_SPACE_STORAGE = Path("/data")  # persistent storage of a Space
UPLOAD_PREFIX = "sbert-studio-sent-"
_UPLOAD_VARIABLE = "GRADIO_TEMP_DIR"
_YES = ("1", "yes", "true", "on")
_MIN_POLL, _MAX_POLL = 0.05, 3_600
_SHARED_MODEL_MB = 5_000
_PRIVATE_NETWORKS = "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Limits:
    """Limits for visitors of a shared machine; 0 means no limit.

    Attributes:
        rows: training rows of a run, including its first stage.
        minutes: training time of a run; it is then stopped and keeps its best model.
        trainings: folds × seeds of a run.
        epochs: epochs of a run.
        runs: queued and running runs of one visitor.
        queue: queued and running runs in total.
        keep_days: days until a run is deleted; lists show the date.
        runs_mb: disk space of all runs; beyond it the oldest are deleted after a day's notice.
        uploads_mb: daily uploads of one address; ``all_uploads_mb``: of all.
    """

    rows: int = 0
    minutes: int = 0
    trainings: int = 0
    epochs: int = 0
    runs: int = 0
    queue: int = 0
    keep_days: int = 0
    runs_mb: int = 0
    uploads_mb: int = 0
    all_uploads_mb: int = 0

    @classmethod
    def from_env(cls, env: Mapping[str, str], shared: bool) -> Limits:
        """Read ``SBERT_STUDIO_LIMIT_ROWS`` and so on; by default only a shared page has limits.

        Raises:
            StudioError: a value is not a whole number.
        """
        defaults = SHARED_LIMITS if shared else cls()
        return cls(
            **{
                item.name: _whole_number(env, f"SBERT_STUDIO_LIMIT_{item.name.upper()}", getattr(defaults, item.name))
                for item in fields(cls)
            }
        )


SHARED_LIMITS = Limits(
    rows=100_000,
    minutes=60,
    trainings=10,
    epochs=50,
    runs=1,
    queue=20,
    keep_days=14,
    runs_mb=20_480,
    uploads_mb=2_048,
    all_uploads_mb=8_192,
)


@dataclass(frozen=True)
class Settings:
    """Settings of the program.

    Attributes:
        home: folder of all state (database, runs, corpora, vectors).
        host: address to bind.
        port: TCP port of the page.
        share: create a public Gradio link.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        space: whether the app runs on a Hugging Face Space.
        space_id: ``owner/name`` of the Space; empty elsewhere.
        sign_in: whether visitors can sign in with Hugging Face (``hf_oauth`` in the Space's README).
        zero_gpu: whether the Space is on ZeroGPU and ``device`` is not ``cpu``.
        default_model: model used where none is given.
        multilingual_model: model used where none is given and the texts are mostly not English; empty for ``default_model``. If unset,
            multilingual-e5-small, unless ``default_model`` was changed (see :attr:`multilingual`).
        reranker: cross-encoder or poly-encoder that re-ranks search hits: a folder or a hub id.
        max_upload_mb: largest accepted upload, in MiB.
        max_model_mb: largest model fetched from the Hugging Face Hub, in MiB; 0 for no limit. If unset, 5,000 on a shared page, else no
            limit (see :attr:`largest_model_mb`).
        memory_mb: total size of in-memory caches, in MiB: models, indexes and visitors' sessions.
        disk_mb: disk space of vectors, maps and zips, in MiB; they are recomputed when needed.
        mcp: serve the endpoints to MCP clients too.
        resume: resume background runs interrupted by the end of the program.
        poll_seconds: interval at which an open page polls the progress of running work.
        trusted_proxies: addresses and networks of proxies whose ``X-Forwarded-For`` is trusted; on a Space its private networks. A page
            behind a proxy is shared.
        allowed_hosts: further host names of the page; ``*.example.org`` for all subdomains, ``*`` for any.
        limits: limits for visitors; by default only a shared page has any.
    """

    home: Path
    host: str = "127.0.0.1"
    port: int = 7860
    share: bool = False
    device: str = "auto"
    space: bool = False
    space_id: str = ""
    sign_in: bool = False
    zero_gpu: bool = False
    default_model: str = DEFAULT_MODEL
    multilingual_model: str | None = None
    reranker: str = DEFAULT_RERANKER
    max_upload_mb: int = 512
    max_model_mb: int | None = None
    memory_mb: int = 1024
    disk_mb: int = 10_240
    mcp: bool = False
    resume: bool = True
    poll_seconds: float = 1.0
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def shared(self) -> bool:
        """True if strangers can reach the page; visitors then do not see each other's runs."""
        return self.space or self.share or self.host not in _LOOPBACK or bool(self.trusted_proxies)

    @property
    def multilingual(self) -> str:
        """Model for texts that are mostly not English; empty to use ``default_model`` for all texts."""
        if self.multilingual_model is not None:
            return self.multilingual_model
        return MULTILINGUAL_MODEL if self.default_model == DEFAULT_MODEL else ""

    @property
    def largest_model_mb(self) -> int:
        """Largest model fetched from the Hub, in MiB; 0 for no limit."""
        if self.max_model_mb is not None:
            return self.max_model_mb
        return _SHARED_MODEL_MB if self.shared else 0

    @property
    def ephemeral(self) -> bool:
        """True if ``home`` is lost when the Space restarts, since it has no persistent storage."""
        return self.space and not self.home.is_relative_to(_SPACE_STORAGE)

    @property
    def duplicate_url(self) -> str:
        """URL at which a visitor duplicates this Space; empty elsewhere."""
        return f"https://huggingface.co/spaces/{self.space_id}?duplicate=true" if self.space_id else ""

    @property
    def elsewhere(self) -> str:
        """Hint on where the limits do not apply."""
        if self.duplicate_url:
            return f"a Space of your own has limits of your own: duplicate this one at {self.duplicate_url}"
        return "on a machine of your own there is no such limit"

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read ``SBERT_STUDIO_HOME`` and the other variables listed in the README, and those of Spaces.

        Raises:
            StudioError: a value is invalid.
        """
        env = os.environ if environ is None else environ
        space = bool(env.get("SPACE_ID")) or env.get("SYSTEM") == "spaces"
        found = cls(
            home=_expanded(env["SBERT_STUDIO_HOME"]) if env.get("SBERT_STUDIO_HOME") else _default_home(env, space),
            host=env.get("SBERT_STUDIO_HOST") or ("0.0.0.0" if space else cls.host),
            port=_whole_number(env, "SBERT_STUDIO_PORT", cls.port),
            device=env.get("SBERT_STUDIO_DEVICE") or cls.device,
            space=space,
            space_id=env.get("SPACE_ID") or "",
            sign_in=space
            and all(env.get(name) for name in ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")),
            zero_gpu=(env.get("SPACES_ZERO_GPU") or "").lower() in ("t", *_YES) and env.get("SBERT_STUDIO_DEVICE") != "cpu",
            default_model=env.get("SBERT_STUDIO_MODEL") or DEFAULT_MODEL,
            multilingual_model=env.get("SBERT_STUDIO_MULTILINGUAL_MODEL"),
            reranker=env.get("SBERT_STUDIO_RERANKER") or DEFAULT_RERANKER,
            max_upload_mb=_whole_number(env, "SBERT_STUDIO_MAX_UPLOAD_MB", cls.max_upload_mb),
            max_model_mb=_whole_number(env, "SBERT_STUDIO_MAX_MODEL_MB", 0) if env.get("SBERT_STUDIO_MAX_MODEL_MB") else None,
            memory_mb=_whole_number(env, "SBERT_STUDIO_MEMORY_MB", cls.memory_mb),
            disk_mb=_whole_number(env, "SBERT_STUDIO_DISK_MB", cls.disk_mb),
            mcp=(env.get("SBERT_STUDIO_MCP") or "").lower() in _YES,
            resume=(env.get("SBERT_STUDIO_RESUME") or "1").lower() in _YES,
            poll_seconds=_seconds(env, "SBERT_STUDIO_POLL_SECONDS", cls.poll_seconds),
            trusted_proxies=_networks(env, _PRIVATE_NETWORKS if space else ""),
            allowed_hosts=tuple(name for name in re.split(r"[\s,]+", env.get("SBERT_STUDIO_ALLOWED_HOSTS") or "") if name)
            + ((env["SPACE_HOST"],) if space and env.get("SPACE_HOST") else ()),
        )
        return replace(found, limits=Limits.from_env(env, found.shared))

    def served(self, host: str, port: int, share: bool, environ: Mapping[str, str] | None = None) -> Settings:
        """Return the settings for a page served at this address, with the limits of a shared page if it is one.

        Raises:
            StudioError: a limit is not a whole number.
        """
        found = replace(self, host=host, port=port, share=share)
        return replace(found, limits=Limits.from_env(os.environ if environ is None else environ, found.shared))


def is_launched_alone(environ: Mapping[str, str] | None = None) -> bool:
    """Return True if ``accelerate launch --cpu`` was asked for several processes but started one, as it does without MPI."""
    env = os.environ if environ is None else environ
    counts = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
    return "ACCELERATE_USE_CPU" in env and "MASTER_PORT" in env and not any(name in env for name in counts)


def has_screen(environ: Mapping[str, str] | None = None) -> bool:
    """Return True if this machine has a display, so that a browser can be opened."""
    env = os.environ if environ is None else environ
    if sys.platform in ("darwin", "win32"):
        return not env.get("SSH_CONNECTION")
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def configure_thread_waiting(command: str = "") -> None:
    """Configure how OpenMP threads wait; call before PyTorch is imported.

    They spin by default, which with another busy process on the same cores took twice the processor time for the same work and three times
    the time for one text: let them sleep. A training with its many short products would take a fifth longer: let it spin briefly.
    Benchmarks run with the defaults, as the other library does.
    """
    if command == "train":
        os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    elif command != "bench":
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def limit_kernel_cache() -> None:
    """Limit oneDNN's cache of generated kernels; call before PyTorch is imported.

    Kernels are generated for each number of tokens, and 1,024 of them take some 100 MB. Generating one takes about a millisecond.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")


def reduce_gradio_analytics() -> None:
    """Make Gradio update its /monitoring summary every 1,000 events; call before its queue is created.

    By default it does so after every event, from the last 10,000 of them, which slows a long-running page.
    """
    os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000")


def trust_proxies(settings: Settings) -> None:
    """Accept ``X-Forwarded-For`` from trusted proxies only; call before the server is created.

    By default it trusts every process of this machine.
    """
    os.environ["FORWARDED_ALLOW_IPS"] = ",".join(settings.trusted_proxies)


@contextmanager
def private_upload_folder() -> Iterator[None]:
    """Use a private upload folder, deleted at exit, unless one is configured; enter before Gradio is imported.

    Gradio's default folder is shared by all apps of a machine, and one that closes deletes the files of the others.
    """
    if os.environ.get(_UPLOAD_VARIABLE):
        yield
        return
    with tempfile.TemporaryDirectory(prefix=f"{UPLOAD_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        os.environ[_UPLOAD_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[_UPLOAD_VARIABLE]


def configure_ray(*, alone: bool) -> None:
    """Disable Ray's usage statistics and informational logs; call before Ray is imported.

    Args:
        alone: the cluster is this machine only: its processes then listen on the loopback.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if alone:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"


def _default_home(env: Mapping[str, str], space: bool) -> Path:
    if space and os.access(_SPACE_STORAGE, os.W_OK):
        return _SPACE_STORAGE / "sbert-studio"
    data_home = env.get("XDG_DATA_HOME") or "~/.local/share"
    return _expanded(data_home) / "sbert-studio"


def _expanded(folder: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError:
        raise StudioError(f"there is no home folder for {folder!r}", "set SBERT_STUDIO_HOME to a folder you may write") from None


def _networks(env: Mapping[str, str], default: str) -> tuple[str, ...]:
    found = tuple(one for one in re.split(r"[\s,]+", env.get("SBERT_STUDIO_TRUSTED_PROXIES") or default) if one)
    for one in found:
        try:
            ipaddress.ip_network(one)
        except ValueError:
            hint = "name them like 127.0.0.1 or 10.0.0.0/8, with commas between them"
            raise StudioError(f"SBERT_STUDIO_TRUSTED_PROXIES names {one!r}, which is no address or network", hint) from None
    return found


def _whole_number(env: Mapping[str, str], name: str, default: int) -> int:
    raw = env.get(name)
    if not raw:
        return default
    try:
        return int(raw)
    except ValueError:
        raise StudioError(f"{name} is {raw!r}, which is not a whole number", f"set it to a number such as {default}") from None


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    raw = env.get(name)
    try:
        seconds = float(raw) if raw else default
    except ValueError:
        seconds = 0.0
    if not _MIN_POLL <= seconds <= _MAX_POLL:
        hint = f"set it to a number from {_MIN_POLL:g} to {_MAX_POLL:g}, such as {default:g}"
        raise StudioError(f"{name} is {raw!r}, which is not a number of seconds that can be used", hint)
    return seconds
