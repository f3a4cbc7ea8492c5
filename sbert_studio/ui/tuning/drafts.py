"""A tuning run before it starts: the file, what its columns are, what is wrong with it, and the settings that fit."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.asked import Asked, in_one_line, scale_in_words
from ...errors import StudioError, describe_rows
from ..follow import sentence
from ..views import Value, plain

if TYPE_CHECKING:
    from ...data.doctor import Diagnosis
    from ...data.progress import Progress
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
        path: the file as it came, and ``original`` its table; ``table`` is the same, perhaps mended or converted.
        changes: what was done to the table, in words, in order.
        dev: a file to judge by, if one was given.
        first: a file to learn from in a stage before, if one was given.
        asked: kind, columns, target, group and scale where a person chose them by hand; ``None`` where nothing was.
        diagnosis: ``None`` where the columns fit no kind; ``problem`` then says why.
        advice: the settings and their reasons, with ``overrides``, a person's own, in their place.
    """

    name: str
    path: Path
    original: Table
    table: Table
    changes: tuple[str, ...] = ()
    dev: Path | None = None
    first: Path | None = None
    asked: Asked | None = None
    diagnosis: Diagnosis | None = None
    problem: str = ""
    advice: Advice | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def saved_as(self) -> str:
        """What the file is called on the visitor's disk, once it is changed and downloaded."""
        return f"{Path(self.name).stem}-mended.csv" if self.changes else self.name


def open_draft(
    studio: Studio,
    path: Path,
    model: str | None,
    *,
    name: str | None = None,
    reading: Progress | None = None,
    checking: Progress | None = None,
) -> Draft:
    """A draft from a file.

    Args:
        reading, checking: told how far the one and then the other is.

    Raises:
        StudioError: it cannot be read.
    """
    table = studio.read(path, name, reading)
    return checked(studio, Draft(name or path.name, path, table, table), model, checking)


def checked(studio: Studio, draft: Draft, model: str | None, progress: Progress | None = None) -> Draft:
    """The draft, looked at again by the doctor and the advisor."""
    try:
        diagnosis = studio.check(draft.table, dev=draft.dev, roles=draft.asked, model=model, progress=progress)
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


def with_columns(studio: Studio, draft: Draft, chosen: Asked, model: str | None) -> Draft:
    """The draft with its columns chosen by hand; another kind starts without columns and without an objective of one's own.

    What only repeats the group or the scale that was found is no choice, and another column of scores has a scale of its own.
    """
    roles, before = draft.diagnosis.roles if draft.diagnosis else None, draft.asked or Asked()
    if chosen.kind != (roles.kind if roles else before.kind):
        kept = {name: value for name, value in draft.overrides.items() if name != "objective"}
        return checked(studio, replace(draft, asked=Asked(chosen.kind), overrides=kept), model)
    if roles is None:  # what was tried and did not fit can be put right
        group = before.group if before.group is None else chosen.group or ""
        scale = before.scale and chosen.scale
    else:
        group, scale = before.group, before.scale
        group = group if (chosen.group or "") == (roles.group or "") else chosen.group or ""
        scale = scale if chosen.scale in (None, (roles.low, roles.high)) else chosen.scale
        scale = scale if chosen.target == roles.target else None
    asked = Asked(chosen.kind, chosen.columns or None, chosen.target or None, group, scale)
    return checked(studio, replace(draft, asked=asked), model)


def shows(draft: Draft, chosen: Asked) -> bool:
    """Whether the columns are already what the controls hold, so that a field which was only visited changes nothing."""
    if draft.diagnosis is None:
        return False
    roles = draft.diagnosis.roles
    scale = None if roles.low is None or roles.high is None else (roles.low, roles.high)
    return chosen == Asked(roles.kind, roles.texts, roles.target, roles.group or "", scale)


def changed(studio: Studio, draft: Draft, action: Any, which: Any, model: str | None) -> Draft:
    """The draft after a button of the findings; ``action`` and ``which`` come from the browser.

    Args:
        action: ``mend`` (``which`` is a finding's number), ``convert`` (``which`` is an offer's name) or ``undo``.

    Raises:
        StudioError: there is no such mend or offer.
    """
    if action == "undo":
        return checked(studio, replace(draft, table=draft.original, changes=(), asked=None), model)
    return converted(studio, draft, which, model) if action == "convert" else mended(studio, draft, which, model)


def mended(studio: Studio, draft: Draft, index: Any, model: str | None) -> Draft:
    """The draft after the mend of finding ``index``.

    Raises:
        StudioError: that finding has no mend.
    """
    findings = draft.diagnosis.findings if draft.diagnosis else ()
    mend = findings[index].mend if isinstance(index, int) and 0 <= index < len(findings) else None
    if mend is None:
        raise StudioError("that finding has no mend", "check the file again")
    asked = draft.asked.after(mend) if draft.asked else None
    table = studio.mend(draft.table, mend)
    return checked(studio, replace(draft, table=table, changes=(*draft.changes, mend.label), asked=asked), model)


def converted(studio: Studio, draft: Draft, name: Any, model: str | None) -> Draft:
    """The draft with its examples made into those of another kind; an objective of one's own does not outlive that.

    Raises:
        StudioError: that conversion is not offered.
    """
    diagnosis = draft.diagnosis
    offer = next((offer for offer in diagnosis.offers if offer.name == name), None) if diagnosis else None
    if offer is None or diagnosis is None:
        raise StudioError("that conversion does not fit this file", "check the file again")
    table = studio.convert(draft.table, offer.name, diagnosis.roles)
    asked = Asked(kind=offer.kind)
    kept = {name: value for name, value in draft.overrides.items() if name != "objective"}
    return checked(studio, replace(draft, table=table, changes=(*draft.changes, offer.label), asked=asked, overrides=kept), model)


def start(studio: Studio, draft: Draft, model: str | None, owner: str, name: str) -> Run:
    """Queue the run.

    Raises:
        StudioError: the columns fit no kind, or the settings do not fit the rows.
    """
    data, given = _given(draft, model)
    return studio.submit(data, **given, owner=owner, name=name.strip() or Path(draft.name).stem)


def estimate(studio: Studio, draft: Draft, model: str | None) -> Value:
    """What the run would take, as a ``reasons`` view; a few steps are taken for it.

    Raises:
        StudioError: as :func:`start` would; or a training is under way.
    """
    data, given = _given(draft, model)
    found = studio.estimate(data, **given)
    spec = found.spec
    span, steps = found.in_words().split("; ")
    trainings = spec.seeds * max(1, spec.folds)
    of = f"{spec.epochs:g} epochs of {len(draft.table):,} rows, {spec.batch_size} at a time"
    reasons = [sentence(of + (f", {trainings} trainings" if trainings > 1 else "")), sentence(steps)]
    return {"title": sentence(span), "reasons": [*reasons, "Found by taking a few steps; the memory is that of this whole program."]}


def _given(draft: Draft, model: str | None) -> tuple[Path | Table, dict[str, Any]]:
    """The data of a draft, and what else decides its run."""
    if draft.diagnosis is None:
        raise StudioError(draft.problem or "this file cannot be trained on", "choose its kind and its columns")
    roles = draft.diagnosis.roles
    more = {"dev": draft.dev, "first": draft.first, "roles": roles, "overrides": draft.overrides, "model": model}
    return draft.table if draft.changes else draft.path, more


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
    more = {"changes": list(draft.changes), "undo": "Undo" if draft.changes else ""}
    if draft.diagnosis is None:
        trouble = {"severity": "error", "message": sentence(draft.problem), "where": "", "mend": "", "index": -1}
        return {"verdict": "This file cannot be trained on as it is.", "findings": [trouble], "offers": [], **more}
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
    offers = [{"name": offer.name, "label": offer.label, "rows": f"{offer.rows:,} rows"} for offer in draft.diagnosis.offers]
    return plain({"verdict": verdict, "findings": shown, "offers": offers, **more})  # type: ignore[no-any-return]


def command(draft: Draft, model: str, default_model: str) -> str:
    """The same run from a terminal; of a file that was changed here, with the file that can be downloaded."""
    words = ["sbert-studio", "train", draft.saved_as]
    words += ["--dev", draft.dev.name] if draft.dev else []
    words += ["--first", draft.first.name] if draft.first else []
    words += _asked_in_words(draft.asked) if draft.asked else []
    words += ["--model", model] if model != default_model else []
    spec = draft.advice.spec.to_json() if draft.advice else {}
    for name, flag in _FLAGS.items():
        if name in spec:
            words += [flag, f"{spec[name]:g}" if isinstance(spec[name], float) else str(spec[name])]
    for name, value in draft.overrides.items():
        if name not in _FLAGS:
            words += ["--set", f"{name}={value}"]
    return shlex.join(words)


def _asked_in_words(asked: Asked) -> list[str]:
    """What was chosen by hand, as options of the command line."""
    words = ["--kind", asked.kind] if asked.kind else []
    words += ["--columns", in_one_line(asked.columns)] if asked.columns else []
    words += ["--target", asked.target] if asked.target else []
    words += ["--group", asked.group] if asked.group is not None else []
    return words + (["--scale", scale_in_words(*asked.scale)] if asked.scale else [])
