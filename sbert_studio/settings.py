"""Everything that the environment decides. The only reader of ``os.environ`` in the project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import StudioError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L6-v2"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


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
        default_model: the name chosen where none is given.
        reranker: the cross-encoder that ranks search hits again: a folder or a hub id.
        max_upload_mb: the largest accepted upload, in MiB.
        resident_models: how many encoders stay in memory at once.
    """

    home: Path
    host: str = "127.0.0.1"
    port: int = 7860
    share: bool = False
    device: str = "auto"
    space: bool = False
    default_model: str = DEFAULT_MODEL
    reranker: str = DEFAULT_RERANKER
    max_upload_mb: int = 512
    resident_models: int = 3

    @property
    def shared(self) -> bool:
        """Whether strangers can reach the page, so that visitors must not see each other's runs."""
        return self.space or self.share or self.host not in _LOOPBACK

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read ``SBERT_STUDIO_{HOME,HOST,PORT,DEVICE,MODEL,RERANKER,MAX_UPLOAD_MB,RESIDENT_MODELS}`` and Spaces' own variables.

        Raises:
            StudioError: a number is not one.
        """
        env = os.environ if environ is None else environ
        space = bool(env.get("SPACE_ID")) or env.get("SYSTEM") == "spaces"
        return cls(
            home=_expanded(env["SBERT_STUDIO_HOME"]) if env.get("SBERT_STUDIO_HOME") else _default_home(env, space),
            host=env.get("SBERT_STUDIO_HOST") or ("0.0.0.0" if space else "127.0.0.1"),
            port=_whole_number(env, "SBERT_STUDIO_PORT", 7860),
            device=env.get("SBERT_STUDIO_DEVICE") or "auto",
            space=space,
            default_model=env.get("SBERT_STUDIO_MODEL") or DEFAULT_MODEL,
            reranker=env.get("SBERT_STUDIO_RERANKER") or DEFAULT_RERANKER,
            max_upload_mb=_whole_number(env, "SBERT_STUDIO_MAX_UPLOAD_MB", 512),
            resident_models=_whole_number(env, "SBERT_STUDIO_RESIDENT_MODELS", 3),
        )


def launched_alone(environ: Mapping[str, str] | None = None) -> bool:
    """Whether ``accelerate launch`` was asked for several processes and started one: so it does with ``--cpu``, unless MPI helps it."""
    env = os.environ if environ is None else environ
    counts = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
    return "ACCELERATE_USE_CPU" in env and "MASTER_PORT" in env and not any(name in env for name in counts)


def _default_home(env: Mapping[str, str], space: bool) -> Path:
    persistent = Path("/data")
    if space and os.access(persistent, os.W_OK):
        return persistent / "sbert-studio"
    data_home = env.get("XDG_DATA_HOME") or "~/.local/share"
    return _expanded(data_home) / "sbert-studio"


def _expanded(folder: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError:
        raise StudioError(f"there is no home folder for {folder!r}", "set SBERT_STUDIO_HOME to a folder you may write") from None


def _whole_number(env: Mapping[str, str], name: str, default: int) -> int:
    raw = env.get(name)
    if not raw:
        return default
    try:
        return int(raw)
    except ValueError:
        raise StudioError(f"{name} is {raw!r}, which is not a whole number", f"set it to a number such as {default}") from None
