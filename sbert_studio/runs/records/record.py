"""What is remembered of one training run."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

Status = Literal["queued", "running", "finished", "stopped", "failed", "interrupted", "asks"]
ACTIVE: tuple[Status, ...] = ("queued", "running")
RESUMABLE: tuple[Status, ...] = ("interrupted", "stopped", "failed", "asks")


@dataclass(frozen=True)
class Run:
    """One training run, as the store knows it.

    Attributes:
        id: ``run-`` and ten hex digits; not to be guessed, so that knowing it is the permission to see it.
        owner: who submitted it; ``local`` on a machine of one's own.
        name: what the lists show.
        status: queued, running, finished, stopped, failed, interrupted (its process died) or asks (an alarm stopped it).
        created: UTC, ISO 8601, to the second.
        model: the name of the encoder that it started from.
        objective, method: as the spec resolved them.
        spec: the whole :class:`~sbert_studio.training.spec.TrainSpec` as JSON, so that an older one still lists.
        rows, dev_rows: how many examples train and judge it.
        before, after: scores on the held-out rows of the untuned and the tuned model.
        step, steps: optimiser steps done and planned.
        seconds, pairs_per_second: training time and rate, once it ended.
        message, hint: why it failed or what became of it.
        model_path: the finished model's folder; ``None`` until it stands there.
    """

    id: str
    owner: str
    name: str
    status: Status
    created: str
    model: str
    objective: str = "auto"
    method: str = "full"
    spec: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    dev_rows: int = 0
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    step: int = 0
    steps: int = 0
    seconds: float = 0.0
    pairs_per_second: float = 0.0
    message: str = ""
    hint: str = ""
    model_path: Path | None = None

    @property
    def active(self) -> bool:
        """Whether it waits or trains."""
        return self.status in ACTIVE

    @property
    def resumable(self) -> bool:
        """Whether it ended early and may go on from its last checkpoint."""
        return self.status in RESUMABLE

    def to_json(self) -> dict[str, Any]:
        """The run as plain data, with ``scores`` of before and after, and without its owner or any path."""
        return {
            "id": self.id,
            "name": self.name,
            "status": self.status,
            "created": self.created,
            "model": self.model,
            "objective": self.objective,
            "method": self.method,
            "rows": self.rows,
            "dev_rows": self.dev_rows,
            "step": self.step,
            "steps": self.steps,
            "seconds": self.seconds,
            "pairs_per_second": self.pairs_per_second,
            "scores": {"before": dict(self.before), "after": dict(self.after)},
            "message": self.message,
            "hint": self.hint,
        }


def new_run_id() -> str:
    """An identifier that nobody guesses: 40 random bits."""
    return f"run-{secrets.token_hex(5)}"


def now() -> str:
    """The time of day, UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
