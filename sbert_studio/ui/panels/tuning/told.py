"""What the page says of a draft: its findings, the questions to its owner, why the settings are so, and the command for a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....data.schema.hypotheses import UNUSED
from ....data.schema.overrides import SchemaOverrides, format_names, format_scale
from ....errors import StudioError, describe_rows
from ....services.training_plan import FIRST, Answered, in_sentences
from ....services.training_questions import answered, in_words
from ...views import Value, questions_view, to_json, to_sentence
from .drafts import KIND_WORDS, Draft, checked

if TYPE_CHECKING:
    from ....data.questions import Question
    from ....services import Studio

_FLAGS = {
    "objective": "--objective",
    "method": "--method",
    "epochs": "--epochs",
    "batch_size": "--batch-size",
    "learning_rate": "--lr",
    "seed": "--seed",
}
_OF_FILE = ("encoding", "delimiter", "header")


def findings(draft: Draft) -> Value:
    """The value of a ``findings`` view."""
    more = {"changes": list(draft.changes), "undo": "Undo" if draft.changes else ""}
    if draft.plan is None:
        trouble = {"severity": "error", "message": to_sentence(draft.problem), "where": "", "fix": "", "index": -1}
        return {"verdict": "No training can start yet.", "findings": [trouble], "offers": [], **more}
    diagnosis, roles = draft.plan.diagnosis, draft.plan.roles
    verdict = f"{diagnosis.rows:,} rows · {KIND_WORDS[roles.kind]}" + (f" · {roles.note}" if roles.note else "")
    # Of what is still asked, the question says what speaks for it.
    why = _because(diagnosis.why) if draft.plan.certain else ""
    shown = [
        {
            "severity": item.severity,
            "message": to_sentence(item.message),
            "where": describe_rows(item.rows).capitalize() if item.rows else "",
            "fix": item.fix.label if item.fix else "",
            "index": number,
        }
        for number, item in enumerate(diagnosis.findings)
    ]
    offers = [
        {"name": offer.name, "label": offer.label, "rows": offer.describe().removeprefix(f"{offer.label}: ")} for offer in diagnosis.offers
    ]
    return to_json({"verdict": verdict, "why": why, "findings": shown, "offers": offers, **more})  # type: ignore[no-any-return]


def _because(why: Sequence[str]) -> str:
    """What tells what the rows are, and which columns have no part in it."""
    aside = [to_sentence(one) for one in why if one.startswith(UNUSED)]
    told = [one for one in why if not one.startswith(UNUSED)]
    return " ".join([to_sentence(f"Read so because {'; '.join(told)}")] * bool(told) + aside)


def questions(draft: Draft) -> Value | None:
    """The value of a ``questions`` view: what only the owner can say, with their rows and a button an answer; ``None``: nothing."""
    if draft.plan is None or draft.plan.certain:
        return None
    number = len(draft.plan.questions)
    return questions_view("Before it can train" if number == 1 else f"Before it can train: {number} questions", draft.plan.questions)


def answer(studio: Studio, draft: Draft, which: Any, model: str | None) -> Draft:
    """The draft read again with an answer; ``which`` comes from the browser: the question's place and the answer's.

    Raises:
        StudioError: there is no such answer.
    """
    asked = draft.plan.questions if draft.plan else ()
    known = isinstance(which, list) and len(which) == 2 and all(isinstance(place, int) and place >= 0 for place in which)
    if not known or which[0] >= len(asked) or which[1] >= len(asked[which[0]].options):
        raise StudioError("that question is no longer open", "look at the file again")
    question = asked[which[0]]
    option = question.options[which[1]]
    said = (*draft.request.answered, Answered(question.text, option.answer))
    staged = {name: value for name, value in option.choice.items() if name.startswith(FIRST)}
    own = {name: value for name, value in option.choice.items() if name not in staged}
    done = draft.asking(answered=said, overrides={**draft.overrides, **staged}, choices=answered(draft.asked, own))
    if any(name in _OF_FILE for name in own):  # the file is read anew, and what was done to its rows is undone
        table = studio.read.table(draft.path, draft.original.name, asked=done.asked)
        done = replace(done.asking(changes=()), original=table, table=table)
    if "kind" in own:
        done = done.without_objective()
    return checked(studio, done, model)


def reasons(draft: Draft) -> Value | None:
    """Why the settings are as they are, and what becomes of every row."""
    if draft.plan is None:
        return None
    return {"title": "The rows, and why these settings", "reasons": [*in_sentences(draft.plan.accounts), *draft.plan.reasons]}


def command(draft: Draft, model: str, default_model: str) -> str:
    """The same run from a terminal; of a file that was changed here, with the file that can be downloaded.

    While a question is open it is the run with the answer that is proposed, or of what is read, which ``--as-read`` lets begin.
    """
    request = draft.request
    words = ["sbert-studio", "train", draft.saved_as]
    words += ["--dev", _name(request.dev)] if request.dev else []
    words += ["--first", _name(request.first)] if request.first else []
    words += asked_in_flags(draft.asked)
    words += _flags_while_open(draft.plan.questions if draft.plan is not None and not draft.asked.as_read else ())
    words += ["--model", model] if model != default_model else []
    spec = draft.plan.spec.to_json() if draft.plan else {}
    for name, flag in _FLAGS.items():
        if name in spec:
            words += [flag, f"{spec[name]:g}" if isinstance(spec[name], float) else str(spec[name])]
    for name, value in draft.overrides.items():
        if name not in _FLAGS:
            words += ["--set", f"{name}={in_words(value)}"]
    return shlex.join(words)


def asked_in_flags(asked: SchemaOverrides) -> list[str]:
    """What was said of a file, as options of the command line."""
    words = ["--kind", asked.kind] if asked.kind else []
    words += ["--columns", format_names(asked.columns)] if asked.columns else []
    words += ["--target", asked.target] if asked.target else []
    words += ["--group", asked.group] if asked.group is not None else []
    words += ["--scale", format_scale(*asked.scale)] if asked.scale else []
    words += ["--order", in_words(asked.order)] if asked.order is not None else []
    words += ["--encoding", asked.encoding] if asked.encoding else []
    words += ["--delimiter", asked.delimiter] if asked.delimiter else []
    words += [] if asked.header is None else ["--header" if asked.header else "--no-header"]
    return words + (["--as-read"] if asked.as_read else [])


def _flags_while_open(questions: Sequence[Question]) -> list[str]:
    """What lets a run begin whose file leaves something open: the proposed answer where nothing else hangs on it, else ``--as-read``."""
    if len(questions) == 1 and questions[0].proposed is not None and questions[0].name in ("order", "scale"):
        return shlex.split(questions[0].options[questions[0].proposed].flag)
    return ["--as-read"] if questions else []


def line(draft: Draft, model: str, default_model: str) -> Value | None:
    """The value of a ``command`` view; ``None`` where the file cannot be trained on."""
    if draft.plan is None:
        return None
    proposed = "--as-read" not in _flags_while_open(draft.plan.questions)
    now = "with the answer that is proposed" if proposed else "as it is read now"
    title = "The same from a terminal" + ("" if draft.plan.certain else f", {now}; your answer changes the line")
    return {"title": title, "command": command(draft, model, default_model)}


def _name(given: Any) -> str:
    return str(getattr(given, "name", given))
