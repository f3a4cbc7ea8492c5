"""A tuning run before it starts: the file, what its columns are, what is wrong with it, and the settings that fit."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError, describe_rows
from ..follow import sentence
from ..views import Value, plain

if TYPE_CHECKING:
    from ...data.doctor import Diagnosis
    from ...data.tables import Table
    from ...runs.record import Run
    from ...studio import Studio
    from ...training.advisor import Advice

KIND_WORDS = {
    "scored_pairs": "Pairs with a score",
    "labelled_pairs": "Pairs with a label",
    "positive_pairs": "Pairs that belong together",
    "triplets": "Triplets: anchor, positive, negative",
    "sentences": "Sentences alone",
}
_FLAGS = {
    "objective": "--objective",
    "method": "--method",
    "epochs": "--epochs",
    "batch_size": "--batch-size",
    "learning_rate": "--lr",
    "seed": "--seed",
}


@dataclass(frozen=True)
class Draft:
    """All that Start needs.

    Attributes:
        name: of the file, as it was uploaded.
        path: the file as it came; ``table`` is the same, perhaps mended.
        dev: a file to judge by, if one was given.
        first: a file to learn from in a stage before, if one was given.
        asked: kind, columns and target where a person chose them by hand.
        diagnosis: ``None`` where the columns fit no kind; ``problem`` then says why.
        advice: the settings and their reasons, with ``overrides``, a person's own, in their place.
    """

    name: str
    path: Path
    table: Table
    mended: bool = False
    dev: Path | None = None
    first: Path | None = None
    asked: tuple[str | None, tuple[str, ...] | None, str | None] = (None, None, None)
    diagnosis: Diagnosis | None = None
    problem: str = ""
    advice: Advice | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)


def open_draft(studio: Studio, path: Path, model: str | None, *, name: str | None = None, progress: Any = None) -> Draft:
    """A draft from a file.

    Raises:
        StudioError: it cannot be read.
    """
    return checked(studio, Draft(name or path.name, path, studio.read(path, name, progress)), model)


def checked(studio: Studio, draft: Draft, model: str | None) -> Draft:
    """The draft, looked at again by the doctor and the advisor."""
    from ...data.examples import detect_roles

    kind, columns, target = draft.asked
    try:
        roles = detect_roles(draft.table, kind, columns, target)  # type: ignore[arg-type]
        diagnosis = studio.check(draft.table, dev=draft.dev, roles=roles, model=model)
    except StudioError as error:
        rows = f" ({describe_rows(error.rows)})" if error.rows else ""
        words = " ".join(sentence(part) for part in (error.message + rows, error.hint) if part)
        return replace(draft, diagnosis=None, advice=None, problem=words.rstrip("."))
    return planned(studio, replace(draft, diagnosis=diagnosis, problem=""), model, draft.overrides)


def planned(studio: Studio, draft: Draft, model: str | None, overrides: Mapping[str, Any]) -> Draft:
    """The draft with the advisor's settings around a person's own."""
    if draft.diagnosis is None:
        return replace(draft, overrides=dict(overrides))
    return replace(draft, overrides=dict(overrides), advice=studio.plan(draft.diagnosis, model, **overrides))


def with_roles(studio: Studio, draft: Draft, kind: str | None, columns: Sequence[str], target: str | None, model: str | None) -> Draft:
    """The draft with kind and columns chosen by hand; another kind starts without an objective of one's own."""
    other_kind = draft.diagnosis is None or kind != draft.diagnosis.roles.kind
    asked = (kind, None if other_kind or not columns else tuple(columns), None if other_kind else target or None)
    kept = {name: value for name, value in draft.overrides.items() if not other_kind or name != "objective"}
    return checked(studio, replace(draft, asked=asked, overrides=kept), model)


def mended(studio: Studio, draft: Draft, index: Any, model: str | None) -> Draft:
    """The draft after the mend of finding ``index``, a number that comes from the browser.

    Raises:
        StudioError: that finding has no mend.
    """
    findings = draft.diagnosis.findings if draft.diagnosis else ()
    mend = findings[index].mend if isinstance(index, int) and 0 <= index < len(findings) else None
    if mend is None:
        raise StudioError("that finding has no mend", "check the file again")
    table = studio.mend(draft.table, mend)
    names = set(table.columns)
    kind, columns, target = draft.asked
    still = set(columns or ()) <= names and (target is None or target in names)
    return checked(studio, replace(draft, table=table, mended=True, asked=draft.asked if still else (kind, None, None)), model)


def start(studio: Studio, draft: Draft, model: str | None, owner: str, name: str) -> Run:
    """Queue the run.

    Raises:
        StudioError: the columns fit no kind, or the settings do not fit the rows.
    """
    if draft.diagnosis is None:
        raise StudioError(draft.problem or "this file cannot be trained on", "choose its kind and its columns")
    data = draft.table if draft.mended else draft.path
    return studio.submit(
        data,
        dev=draft.dev,
        first=draft.first,
        roles=draft.diagnosis.roles,
        overrides=draft.overrides,
        model=model,
        owner=owner,
        name=name.strip() or Path(draft.name).stem,
    )


def with_first(studio: Studio, draft: Draft, path: Path | None) -> Draft:
    """The draft with a file to learn from before, or without one.

    Raises:
        StudioError: that file cannot be trained on.
    """
    if path is not None:
        studio.check(path)
    return replace(draft, first=path)


def findings(draft: Draft) -> Value:
    """The value of a ``findings`` view."""
    if draft.diagnosis is None:
        trouble = {"severity": "error", "message": sentence(draft.problem), "where": "", "mend": "", "index": -1}
        return {"verdict": "This file cannot be trained on as it is.", "findings": [trouble]}
    roles, found = draft.diagnosis.roles, draft.diagnosis.findings
    verdict = f"{draft.diagnosis.rows:,} rows · {KIND_WORDS[roles.kind]}" + (f" · {roles.note}" if roles.note else "")
    shown = [
        {
            "severity": item.severity,
            "message": sentence(item.message),
            "where": describe_rows(item.rows).capitalize() if item.rows else "",
            "mend": item.mend.label if item.mend else "",
            "index": number,
        }
        for number, item in enumerate(found)
    ]
    return plain({"verdict": verdict, "findings": shown})  # type: ignore[no-any-return]


def command(draft: Draft, model: str, default_model: str) -> str:
    """The same run from a terminal."""
    words = ["sbert-studio", "train", draft.name]
    words += ["--dev", draft.dev.name] if draft.dev else []
    words += ["--first", draft.first.name] if draft.first else []
    words += ["--model", model] if model != default_model else []
    spec = draft.advice.spec.to_json() if draft.advice else {}
    for name, flag in _FLAGS.items():
        if name in spec:
            words += [flag, f"{spec[name]:g}" if isinstance(spec[name], float) else str(spec[name])]
    for name, value in draft.overrides.items():
        if name not in _FLAGS:
            words += ["--set", f"{name}={value}"]
    return shlex.join(words)
