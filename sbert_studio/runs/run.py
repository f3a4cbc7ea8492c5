"""A training run as plain data, the actions that it offers in each state, and the JSON allowed in files of runs."""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WrapValidator,
    computed_field,
    model_validator,
)
from pydantic_core import from_json

from ..errors import StudioError, is_valid_utf8
from ..i18n import Message, _, restore_messages, store_messages
from ..serialization import JsonResult, describe_schema, doc
from ..training.events import FORMER_NAMES, rename_settings

LOCAL_OWNER = "local"
"""Owner of the runs of commands, notebooks and a page that is not shared."""
Action = Literal["stop", "answer", "resume", "use", "download", "rename", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)
_HINTS: dict[Action, str] = {
    "stop": "only queued and running runs can be stopped",
    "answer": "only a run that was stopped by an alarm has a question",
    "resume": "only interrupted, stopped or failed runs can be resumed",
    "use": "choose a finished run whose model encodes texts",
    "download": "choose a run that has a model",
    "rename": "rename it when it has ended",
    "delete": "stop it before deleting it",
}


def available_actions(run: Run, *, is_stopping: bool = False, is_damaged: bool = False) -> tuple[Action, ...]:
    """Return the actions that work in the current state of a run, in the order of :data:`ACTIONS`.

    Args:
        is_stopping: a stop was requested, and takes effect after the current step.
        is_damaged: the files of its model cannot be read, so that it can neither be used nor downloaded.
    """
    if run.active:
        return () if is_stopping else ("stop",)
    found: set[Action] = {"rename", "delete"}
    # An alarm must be answered first: resuming without an answer would stop at the same question.
    if run.status == "asks":
        found.add("answer")
    elif run.resumable:
        found.add("resume")
    if has_model(run) and not is_damaged:
        found.add("download")
        # Cross-encoders and poly-encoders score pairs; they are chosen as re-rankers in the Search tab, and in Evaluate.
        if run.spec.get("architecture", "siamese") == "siamese":
            found.add("use")
    return tuple(action for action in ACTIONS if action in found)


def has_model(run: Run) -> bool:
    """Return True if an ended run has a model folder."""
    return run.status in ("finished", "stopped") and run.model_path is not None and run.model_path.is_dir()


def require_action(run: Run, action: Action) -> None:
    """Check that a run offers an action.

    Raises:
        StudioError: the action is not available in the current state of the run.
    """
    if action not in available_actions(run):
        raise StudioError(_("the run {run_id} is {status}", run_id=run.id, status=run.status), _HINTS[action])


Status = Literal["queued", "running", "finished", "stopped", "failed", "interrupted", "asks"]
ACTIVE: tuple[Status, ...] = ("queued", "running")
RESUMABLE: tuple[Status, ...] = ("interrupted", "stopped", "failed", "asks")

RUN_FILE = "run.json"
MAX_DEPTH = 40  # maximum depth of nested lists and objects; runs write five levels
_LARGEST = 1 << 63
_ID = re.compile(r"run-[0-9a-f]{10}")


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; NaN and infinity, which are not valid JSON, become ``None``.

    Raises:
        ValueError: the text is not JSON, or contains lone surrogates, deeper nesting or larger numbers than this program writes.
    """
    return to_plain(from_json(text))


def to_plain(value: Any, depth: int = 0) -> Any:
    """Convert ``value`` to JSON values that any reader accepts, like :func:`parse_json`.

    Raises:
        ValueError: a string cannot be encoded as UTF-8, an integer has more than 63 bits, or the nesting is too deep.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        if not is_valid_utf8(value):
            raise ValueError("a text with lone surrogates")
    elif isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            raise ValueError("an integer of more than 63 bits")
    elif isinstance(value, dict | list | tuple | Mapping):
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, list | tuple):
            return [to_plain(item, depth + 1) for item in value]
        return {to_plain(str(name)): to_plain(item, depth + 1) for name, item in value.items()}
    return value


def _to_object(value: Any) -> Any:
    # Version 2 stored these objects as JSON texts within run.json.
    return parse_json(value) if isinstance(value, str) else to_plain(value)


def _to_number(value: Any) -> Any:
    return 0.0 if value is None or (isinstance(value, float) and not math.isfinite(value)) else value


def _check_score(scores: dict[str, Any]) -> dict[str, Any]:
    score = scores.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise ValueError("the score is not a number")
    return scores


def _check_time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Count = Annotated[int, Field(ge=0, le=1 << 53)]
Number = Annotated[float, Field(gt=-1e300, lt=1e300, allow_inf_nan=False)]
Rate = Annotated[Number, BeforeValidator(_to_number)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_to_object)]
Scores = Annotated[JsonObject, AfterValidator(_check_score)]
_PRIVATE = Field(exclude=True)
# Pydantic would make a plain string of a message.
Text = Annotated[str, WrapValidator(lambda value, handler: value if isinstance(value, Message) else handler(value))]


class Run(JsonResult, BaseModel):
    """A training run; its id is the name of the finished model.

    Attributes:
        owner: the visitor who submitted it; ``local`` on a personal machine.
        spec: the whole :class:`~sbert_studio.training.spec.TrainSpec` as JSON, so that an older one can still be listed.
        before, after: scores of the untuned and the tuned model on the held-out rows.
        model_path: folder of the finished model; ``None`` until it exists.
        number: position in the order in which runs were created, which does not depend on the clock.
    """

    model_config = ConfigDict(frozen=True, protected_namespaces=(), json_schema_extra=describe_schema)

    id: Annotated[str, doc("run- and ten random hex digits: a visitor who knows the id may see the run")]
    owner: Annotated[str, _PRIVATE]
    name: Annotated[str, doc("the name that lists show")]
    status: Annotated[Status, doc("interrupted if its process died, asks if an alarm stopped it")]
    created: Annotated[str, AfterValidator(_check_time), doc("ISO 8601, UTC")]
    model: Annotated[str, doc("the model it started from")]
    loss: Annotated[str, Field(validation_alias=AliasChoices("loss", FORMER_NAMES["loss"]))] = "auto"
    method: Annotated[str, doc("full or lora")] = "full"
    spec: Annotated[JsonObject, AfterValidator(rename_settings), _PRIVATE] = {}
    rows: Annotated[Count, doc("number of examples for training")] = 0
    dev_rows: Annotated[Count, doc("number of examples for evaluation")] = 0
    before: Annotated[Scores, _PRIVATE] = {}
    after: Annotated[Scores, _PRIVATE] = {}
    step: Annotated[Count, doc("optimizer steps done")] = 0
    steps: Annotated[Count, doc("optimizer steps planned")] = 0
    seconds: Annotated[Rate, doc("training time, once it ended")] = 0.0
    pairs_per_second: Rate = 0.0
    message: Annotated[Text, doc("why it failed or stopped")] = ""
    hint: Annotated[Text, doc("what to do about it")] = ""
    model_path: Annotated[Path | None, _PRIVATE] = None
    number: Annotated[int, Field(ge=0, le=1 << 53, validation_alias=AliasChoices("number", "rowid")), _PRIVATE] = 0

    @model_validator(mode="before")
    @classmethod
    def _restore_messages(cls, values: Any) -> Any:
        return restore_messages(values) if isinstance(values, Mapping) else values

    @property
    def active(self) -> bool:
        return self.status in ACTIVE

    @property
    def resumable(self) -> bool:
        """True if the run ended early and can continue from its last checkpoint."""
        return self.status in RESUMABLE

    @computed_field(description="before and after training; which ones depends on the kind of data")  # type: ignore[prop-decorator]
    @property
    def scores(self) -> dict[Literal["before", "after"], dict[str, Any]]:
        return {"before": self.before, "after": self.after}

    @computed_field(description="what can be done with it now")  # type: ignore[prop-decorator]
    @property
    def actions(self) -> tuple[Action, ...]:
        return available_actions(self)

    def updated(self, **changes: Any) -> Run:
        """Return a copy with some fields changed and validated.

        Raises:
            TypeError: a field does not exist.
        """
        if unknown := changes.keys() - Run.model_fields.keys():
            raise TypeError(f"a run has no {sorted(unknown)}")
        return Run(**(dict(self) | changes))


def dump_run(run: Run, home: Path) -> bytes:
    """Return the content of a ``run.json``; the model's path is relative to ``home``, so that the home folder can be moved."""
    values = dict(run)
    if run.model_path is not None:
        inside = run.model_path.is_relative_to(home)
        values["model_path"] = run.model_path.relative_to(home).as_posix() if inside else str(run.model_path)
    return json.dumps(store_messages(values), ensure_ascii=False, indent=1).encode("utf-8", "replace")


def load_run(text: bytes, run_id: str, home: Path) -> Run:
    """Return the run described by a ``run.json`` of this version or of version 2.

    Raises:
        ValueError: it is damaged, or describes another run.
    """
    values = from_json(text)  # its parts are checked field by field
    if not isinstance(values, dict) or values.get("id") != run_id:
        raise ValueError("not the run of this folder")
    path = values.get("model_path")
    if isinstance(path, str):
        # The first version stored absolute paths, which are invalid after the home folder was moved.
        here = home / "runs" / run_id / "model"
        values["model_path"] = here if not (home / path).exists() and here.exists() else home / path
    return Run.model_validate(values, strict=True)


def new_run_id() -> str:
    """Return an identifier that cannot be guessed: 40 random bits."""
    return f"run-{secrets.token_hex(5)}"


def is_run_id(name: str) -> bool:
    """Return True if ``name`` is a well-formed run id."""
    return _ID.fullmatch(name) is not None


def utc_now() -> str:
    """Return the current time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
