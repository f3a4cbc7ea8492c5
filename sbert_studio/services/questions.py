"""Questions about a file that only the user can answer: how they are displayed, and how answers become overrides."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ..data.findings import ExampleRow, Option, Question
from ..data.schema.roles import NO_ORDER, SchemaOverrides, format_value
from ..errors import StudioError, describe_rows
from ..i18n import _, join

_TEXTS = 60  # maximum characters of a row's text per line


class OpenQuestionsError(StudioError):
    """Unanswered questions about a file or a run.

    Args:
        message: what is ambiguous.
        questions: at least one.
        otherwise: alternative to answering.
    """

    def __init__(self, message: str, questions: Sequence[Question], otherwise: str) -> None:
        flags = join(
            " or ", (_("{flag} ({answer})", flag=option.flag, answer=option.answer) for option in questions[0].options if option.flag)
        )
        rows = [row.row for question in questions for row in question.rows]
        super().__init__(message, _("answer with {flags}; or {otherwise}", flags=flags, otherwise=otherwise), list(dict.fromkeys(rows)))
        self.questions = tuple(questions)

    @classmethod
    def of_file(cls, name: str, questions: Sequence[Question]) -> OpenQuestionsError:
        """Return the error for an ambiguous file."""
        texts = join("; ", (question.text for question in questions))
        return cls(_("{name} is ambiguous: {texts}", name=name, texts=texts), questions, "accept the detected format with --as-read")

    @classmethod
    def of_run(cls, run_id: str, question: Question) -> OpenQuestionsError:
        """Return the error for a run stopped by an alarm."""
        message = _("the run {run_id} stopped with a question: {text}", run_id=run_id, text=question.text)
        return cls(message, [question], "leave it stopped. Add the answer to the same command")

    def lines(self) -> list[str]:
        """Return all questions, rows and answers as lines."""
        return [line for question in self.questions for line in format_question(question)]


def format_question(question: Question) -> list[str]:
    """Format a question as lines for a terminal: text and reason, example rows, and the flag of each answer."""
    lines = [
        (_("question: {text} ({why})", text=question.text, why=question.why) if question.why else _("question: {text}", text=question.text))
    ]
    for shown in question.rows:
        texts = " | ".join(text if len(text) <= _TEXTS else text[: _TEXTS - 1] + "…" for text in shown.texts)
        value = f" = {shown.value}" if shown.value else ""
        read = f" → {shown.read_as}" if shown.read_as else ""
        lines.append(f"  {describe_rows([shown.row])}: {texts}{value}{read}")
    return [*lines, *(f"  {option.answer}: {option.flag}" for option in question.options if option.flag)]


def question_from_json(value: Mapping[str, Any]) -> Question:
    """Inverse of :meth:`~sbert_studio.data.findings.Question.to_json`."""
    options = tuple(Option(_text(one["answer"]), str(one["flag"]), dict(one.get("choice") or {})) for one in value["options"])
    rows = tuple(
        ExampleRow(int(one["row"]), tuple(one["texts"]), str(one.get("value", "")), _text(one.get("read_as", "")))
        for one in value.get("rows") or ()
    )
    return Question(str(value["name"]), _text(value["question"]), options, _text(value.get("why", "")), rows, value.get("proposed"))


def _text(value: object) -> str:
    """Convert a JSON value to text, keeping messages, which ``str`` would convert to plain strings."""
    return value if isinstance(value, str) else str(value)


def apply_answer(overrides: SchemaOverrides | None, choice: Mapping[str, Any]) -> SchemaOverrides:
    """Return the overrides with an answer's choice (see :class:`~sbert_studio.data.findings.Option`) applied."""
    return replace(overrides or SchemaOverrides(), **overrides_from_json(choice))


def overrides_from_json(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of :class:`~sbert_studio.data.schema.roles.SchemaOverrides` from plain JSON; lists become tuples."""
    known = [item.name for item in fields(SchemaOverrides)]
    for name in choice:
        if name not in known:
            raise StudioError(_("there is no file option {name}", name=repr(name)), _("known: {known}", known=", ".join(known)))
    return {name: tuple(value) if isinstance(value, list) else value for name, value in choice.items()}


def for_first_stage(question: Question) -> Question:
    """Return a question about the first stage's file; its answers are settings named ``first.…``."""
    text = _("In the file of the first stage: {question}", question=question.text)
    return replace(question, text=text, options=tuple(map(_first_option, question.options)))


def _first_option(option: Option) -> Option:
    choice = {f"first.{name}": value for name, value in option.choice.items()}
    flag = " ".join(f"--set {shlex.quote(f'{name}={format_value(value)}')}" for name, value in choice.items())
    return replace(option, flag=flag, choice=choice)


def describe_answers(question: Question) -> str:
    """Return the answers as API arguments: ``answer with order="no,yes" (yes) or …, or go on with as_read=true``."""
    answers = (
        _(
            "{items} ({answer})",
            items=" and ".join(f'{name}="{format_value(value) or NO_ORDER}"' for name, value in option.choice.items()),
            answer=option.answer,
        )
        for option in question.options
    )
    return _("answer with {answers}; or accept the detected format with as_read=true", answers=" or ".join(answers))
