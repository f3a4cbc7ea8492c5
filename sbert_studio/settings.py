"""Everything that the environment decides. The only reader of ``os.environ`` in the project."""

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
_PERSISTENT = Path("/data")  # what a Space keeps
UPLOAD_PREFIX = "sbert-studio-sent-"
_UPLOADS = "GRADIO_TEMP_DIR"
_YES = ("1", "yes", "true", "on")
_SHORTEST_POLL, _LONGEST_POLL = 0.05, 3_600
_SHARED_MODEL_MB = 5_000
_PRIVATE_NETWORKS = "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Limits:
    """What one visitor may ask of a machine that they share; 0 stands for no limit.

    Attributes:
        rows: examples that a run learns from, its first stage among them.
        minutes: how long a run trains; it then ends as if it were stopped, and keeps its best model.
        trainings: folds × seeds of a run.
        epochs: of a run.
        runs: runs of one visitor that wait or train at the same time.
        queue: runs of everybody that wait or train.
        keep_days: how long a run stays after it was begun; the list says until when.
        runs_mb: what all runs may take on disk; beyond it the oldest are given notice of a day, and go.
        uploads_mb: what one address may upload in a day; all_uploads_mb: what all may.
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
        """``SBERT_STUDIO_LIMIT_`` with the name of each in capitals, such as ``SBERT_STUDIO_LIMIT_ROWS``; by default none on a machine of
        one's own.

        Raises:
            StudioError: one is not a number.
        """
        usual = SHARED_LIMITS if shared else cls()
        return cls(
            **{item.name: _whole_number(env, f"SBERT_STUDIO_LIMIT_{item.name.upper()}", getattr(usual, item.name)) for item in fields(cls)}
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
    """Where things lie, what is listened on, and what the machine may use.

    Attributes:
        home: the folder that holds all state (database, runs, corpora, vectors).
        host: the address to bind; the loopback unless told otherwise.
        port: the TCP port of the page.
        share: ask Gradio for a public tunnel.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        space: whether the app runs on a Hugging Face Space.
        space_id: its ``owner/name``; empty elsewhere.
        sign_in: whether visitors can sign in with Hugging Face there (``hf_oauth`` of the README's head).
        zero_gpu: whether the Space is on ZeroGPU, which lends a GPU a slice of time at a time, and may be used (``device`` is not ``cpu``).
        default_model: the name chosen where none is given.
        multilingual_model: the name chosen where none is given and the texts are mostly not English; empty for ``default_model``.
            Where it is not given, multilingual-e5-small, unless ``default_model`` was changed (see :attr:`multilingual`).
        reranker: the cross- or poly-encoder that ranks search hits again: a folder or a hub id.
        max_upload_mb: the largest accepted upload, in MiB.
        max_model_mb: the largest model that is fetched from the Hugging Face Hub, in MiB; 0 for no limit. Where it is not given, 5,000 on
            a shared page, else no limit (see :attr:`largest_model_mb`).
        memory_mb: what all caches in memory may hold together, in MiB: models, indexes, and what visitors have chosen.
        disk_mb: what vectors, maps and zips may take on disk, in MiB; they are made again when they are asked for.
        mcp: whether the endpoints are served to MCP clients as well.
        resume: whether runs of the page that its end interrupted go on by themselves once it is started anew.
        poll_seconds: how often an open page asks for the progress of running work.
        trusted_proxies: addresses and networks of proxies before the page, whose ``X-Forwarded-For`` says who asks; nobody's by default,
            on a Space those of its own network. A page behind a proxy is shared.
        allowed_hosts: further names under which the page may be asked for; ``*.example.org`` for all below one, ``*`` for any.
        limits: what a visitor may ask for; by default only a shared page has any.
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
        """Whether strangers can reach the page, so that visitors must not see each other's runs."""
        return self.space or self.share or self.host not in _LOOPBACK or bool(self.trusted_proxies)

    @property
    def multilingual(self) -> str:
        """Return the name of the model for texts that are mostly not English; empty where ``default_model`` is meant for all texts."""
        if self.multilingual_model is not None:
            return self.multilingual_model
        return MULTILINGUAL_MODEL if self.default_model == DEFAULT_MODEL else ""

    @property
    def largest_model_mb(self) -> int:
        """The largest model that is fetched from the Hub, in MiB; 0 for no limit."""
        if self.max_model_mb is not None:
            return self.max_model_mb
        return _SHARED_MODEL_MB if self.shared else 0

    @property
    def ephemeral(self) -> bool:
        """Whether what lies in ``home`` is gone when the Space sleeps or is built anew, for it has no persistent storage."""
        return self.space and not self.home.is_relative_to(_PERSISTENT)

    @property
    def duplicate_url(self) -> str:
        """Where a visitor makes this Space their own; empty elsewhere."""
        return f"https://huggingface.co/spaces/{self.space_id}?duplicate=true" if self.space_id else ""

    @property
    def elsewhere(self) -> str:
        """Where the limits of a shared page do not hold, for a refusal's hint."""
        if self.duplicate_url:
            return f"a Space of your own has limits of your own: duplicate this one at {self.duplicate_url}"
        return "on a machine of your own there is no such limit"

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read ``SBERT_STUDIO_HOME``, ``…_HOST`` and the others that the README lists, and Spaces' own variables.

        Raises:
            StudioError: a number is not one.
        """
        env = os.environ if environ is None else environ
        space = bool(env.get("SPACE_ID")) or env.get("SYSTEM") == "spaces"
        found = cls(
            home=_expanded(env["SBERT_STUDIO_HOME"]) if env.get("SBERT_STUDIO_HOME") else _default_home(env, space),
            host=env.get("SBERT_STUDIO_HOST") or ("0.0.0.0" if space else "127.0.0.1"),
            port=_whole_number(env, "SBERT_STUDIO_PORT", 7860),
            device=env.get("SBERT_STUDIO_DEVICE") or "auto",
            space=space,
            space_id=env.get("SPACE_ID") or "",
            sign_in=space
            and all(env.get(name) for name in ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")),
            zero_gpu=(env.get("SPACES_ZERO_GPU") or "").lower() in ("t", *_YES) and env.get("SBERT_STUDIO_DEVICE") != "cpu",
            default_model=env.get("SBERT_STUDIO_MODEL") or DEFAULT_MODEL,
            multilingual_model=env.get("SBERT_STUDIO_MULTILINGUAL_MODEL"),
            reranker=env.get("SBERT_STUDIO_RERANKER") or DEFAULT_RERANKER,
            max_upload_mb=_whole_number(env, "SBERT_STUDIO_MAX_UPLOAD_MB", 512),
            max_model_mb=_whole_number(env, "SBERT_STUDIO_MAX_MODEL_MB", 0) if env.get("SBERT_STUDIO_MAX_MODEL_MB") else None,
            memory_mb=_whole_number(env, "SBERT_STUDIO_MEMORY_MB", 1024),
            disk_mb=_whole_number(env, "SBERT_STUDIO_DISK_MB", 10_240),
            mcp=(env.get("SBERT_STUDIO_MCP") or "").lower() in _YES,
            resume=(env.get("SBERT_STUDIO_RESUME") or "1").lower() in _YES,
            poll_seconds=_seconds(env, "SBERT_STUDIO_POLL_SECONDS", 1.0),
            trusted_proxies=_networks(env, _PRIVATE_NETWORKS if space else ""),
            allowed_hosts=tuple(name for name in re.split(r"[\s,]+", env.get("SBERT_STUDIO_ALLOWED_HOSTS") or "") if name)
            + ((env["SPACE_HOST"],) if space and env.get("SPACE_HOST") else ()),
        )
        return replace(found, limits=Limits.from_env(env, found.shared))

    def served(self, host: str, port: int, share: bool, environ: Mapping[str, str] | None = None) -> Settings:
        """These settings for a page that is opened there; where strangers can reach it, with the limits of a shared page.

        Raises:
            StudioError: a limit is not a number.
        """
        found = replace(self, host=host, port=port, share=share)
        return replace(found, limits=Limits.from_env(os.environ if environ is None else environ, found.shared))


def is_launched_alone(environ: Mapping[str, str] | None = None) -> bool:
    """Whether ``accelerate launch`` was asked for several processes and started one: so it does with ``--cpu``, unless MPI helps it."""
    env = os.environ if environ is None else environ
    counts = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
    return "ACCELERATE_USE_CPU" in env and "MASTER_PORT" in env and not any(name in env for name in counts)


def has_screen(environ: Mapping[str, str] | None = None) -> bool:
    """Whether somebody sits before this machine's screen: else a browser that is opened would be a program in the terminal, or none."""
    env = os.environ if environ is None else environ
    if sys.platform in ("darwin", "win32"):
        return not env.get("SSH_CONNECTION")
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def configure_thread_waiting(command: str = "") -> None:
    """How threads wait for each other during a command; to be called before PyTorch is imported.

    OpenMP's threads spin by default. Where anything else runs on the same cores, a browser or a second process, that was seen to take
    twice the processor's time for the same work, and thrice the time for one text: so they sleep. A training of its own takes a fifth
    longer by that, for its products are many and short: its threads spin for some hundredths of a millisecond first.
    """
    if command == "train":
        os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    else:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def limit_kernel_cache() -> None:
    """Have oneDNN remember fewer of the products it has written code for; to be called before PyTorch is imported.

    It writes some anew for each number of tokens, and remembers 1,024 by default: on a page that runs for long some 100 MB. The texts
    of one query need a few, and writing them takes a millisecond.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")


def reduce_gradio_analytics() -> None:
    """Have Gradio update the summary on its page /monitoring every 1,000 events; to be called before its queue is made.

    By default it does so after each event, from the last 10,000 of them, so that each takes longer the longer the page has run.
    """
    os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000")


def trust_proxies(settings: Settings) -> None:
    """Have the server take a request's address from ``X-Forwarded-For`` where a trusted proxy sends it, and from nobody else.

    To be called before the server is made: by itself it trusts whatever runs on this machine.
    """
    os.environ["FORWARDED_ALLOW_IPS"] = ",".join(settings.trusted_proxies)


@contextmanager
def private_upload_folder() -> Iterator[None]:
    """A folder for what is sent to this page, gone when it closes, where none is named; to be entered before Gradio is imported.

    Gradio's usual one is one for all that runs on a machine, by what files hold: whoever closes removes those of another too.
    """
    if os.environ.get(_UPLOADS):
        yield
        return
    with tempfile.TemporaryDirectory(prefix=f"{UPLOAD_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        os.environ[_UPLOADS] = folder
        try:
            yield
        finally:
            del os.environ[_UPLOADS]


def configure_ray(*, alone: bool) -> None:
    """Have Ray send nothing about its use to anybody, and write of itself only what failed; to be called before Ray is imported.

    Args:
        alone: the cluster is this machine: its processes then listen on the loopback only, as they do where Ray knows no clusters.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if alone:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"


def _default_home(env: Mapping[str, str], space: bool) -> Path:
    if space and os.access(_PERSISTENT, os.W_OK):
        return _PERSISTENT / "sbert-studio"
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
    if not _SHORTEST_POLL <= seconds <= _LONGEST_POLL:
        hint = f"set it to a number from {_SHORTEST_POLL:g} to {_LONGEST_POLL:g}, such as {default:g}"
        raise StudioError(f"{name} is {raw!r}, which is not a number of seconds that can be used", hint)
    return seconds
