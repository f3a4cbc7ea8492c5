"""Verbs by which a caller tunes a model: check, train, run, stop, resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError, is_text
from ...services.training_plan import TrainRequest
from .reading import reads, sent

if TYPE_CHECKING:
    from ...data.schema.overrides import SchemaOverrides
    from ...services import Studio
    from ..page import Page

_FOLDERS = ("path", "model")
_DIGITS = 16


@reads(goes_on=False)
def check(
    studio: Studio,
    file: str,
    model: str = "",
    *,
    said: SchemaOverrides,
) -> dict[str, Any]:
    """Find out what kind of training examples a file holds and what is wrong with it.

    Args:
        file: a CSV, TSV, JSONL, XLSX or Parquet file of pairs, triplets or sentences.
        model: the model whose tokens are counted; empty for the default.
        said: what the owner says of the file.

    Returns:
        kind, roles of the columns, number of rows, findings with severity, message, rows and fix, and the conversions that fit;
        whether the reading is certain, and where it is not, the questions, each with its answers and what they set.
    """
    return studio.read.check(sent(file), roles=said, model=model or None).to_json()


@reads(goes_on=True)
def train(
    page: Page,
    file: str,
    objective: str,
    method: str,
    settings: str,
    model: str,
    name: str,
    dev: str | None = None,
    first: str | None = None,
    *,
    said: SchemaOverrides,
) -> dict[str, Any]:
    """Start tuning a model on a file of examples. It goes on in the background: poll /run with the id.

    Args:
        file: a CSV, TSV, JSONL, XLSX or Parquet file of pairs, triplets or sentences.
        objective: auto, or the name of an objective.
        method: auto, full or lora.
        settings: further training settings as a JSON object, such as {"epochs": 1, "learning_rate": 2e-5}; empty for none.
        model: the model to start from; empty for the default.
        name: what the new model is called; empty for the file's name.
        dev: a file with the same columns to judge by; without it a part of the rows is held out.
        first: a file to learn from before, in a stage of its own, whose settings are named like "first.epochs".
        said: what the owner says of the file.

    Returns:
        the run: its id, which is also the name of the finished model, its status, its settings and what becomes of every row; and its
        token, by which /stop ends it and /resume goes on with it. Who knows the id can see and use the run; only who holds the token can
        stop it.
    """
    try:
        given = json.loads(settings or "{}", parse_int=_integer)
        written = json.dumps(given, ensure_ascii=False)
    except (ValueError, RecursionError):  # no JSON, or brackets in brackets without end
        given, written = None, ""
    if not is_text(written):
        raise StudioError("the settings hold half of a character (a lone surrogate)", "send whole characters, in UTF-8")
    if not isinstance(given, dict):
        raise StudioError("the settings are not a JSON object", 'write them like {"epochs": 1}')
    if "first.model" in given:
        raise StudioError("a first stage begins with the run's own model", 'leave "first.model" out of the settings')
    named = given.pop("model", None) or None
    if named is not None and (not isinstance(named, str) or (model and model != named)):
        raise StudioError("the settings name another model than the model argument", "name it once")
    overrides = given | {key: value for key, value in (("objective", objective), ("method", method)) if value not in ("", "auto")}
    request = TrainRequest(
        sent(file),
        dev=Path(dev) if dev else None,
        first=Path(first) if first else None,
        choices=said,
        overrides=overrides,
        model=model or named,
        owner=page.caller(),
        name=name or None,
    )
    begun = page.studio.tune.submit(request)
    accounts = {part: account.to_json() for part, account in page.studio.tune.accounts(begun.id).items()}
    return {**begun.to_json(), "accounts": accounts, "token": page.studio.tune.token_of(begun.id)}


def run(studio: Studio, run_id: str, after: float) -> dict[str, Any]:
    """See how a training run stands.

    Args:
        run_id: the id that /train returned.
        after: only events numbered above this are returned; pass the last answer's cursor, at first 0.

    Returns:
        the run with its status, step, scores and time; what became of every row; its new events, and the cursor for the next call.
        A run of status "asks" was stopped by an alarm: its last event holds the question, whose answers go into a new /train.
    """
    seen = studio.tune.run(run_id, int(after)).to_json()
    # Folders of this machine are nobody's business, and a client would try to fetch what is called a path.
    accounts = {part: account.to_json() for part, account in studio.tune.accounts(run_id).items()}
    return {
        **seen,
        "accounts": accounts,
        "events": [{name: value for name, value in event.items() if name not in _FOLDERS} for event in seen["events"]],
    }


def stop(studio: Studio, run_id: str, token: str) -> dict[str, Any]:
    """Stop a training run; its best model so far is kept.

    Args:
        run_id: the id that /train returned.
        token: the token that /train returned with it.

    Returns:
        the run as it stands: one that trains ends after the step it is in, so poll /run until its status is "stopped".
    """
    return studio.tune.stop_with_token(run_id, token).to_json()


def resume(studio: Studio, run_id: str, token: str) -> dict[str, Any]:
    """Go on with a training run that was stopped or interrupted, or failed, from its last checkpoint.

    Args:
        run_id: the id that /train returned.
        token: the token that /train returned with it.

    Returns:
        the run as it stands: it waits for its turn, so poll /run.
    """
    return studio.tune.resume_with_token(run_id, token).to_json()


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise StudioError(f"the settings hold a number of {len(digits):,} digits", f"at most {_DIGITS} are read")
    return int(digits)
