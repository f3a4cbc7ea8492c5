"""Questions about training data, and their answers."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ..errors import StudioError, describe_rows

if TYPE_CHECKING:
    from ..data.questions import Option, Question
    from ..data.schema.overrides import SchemaOverrides

_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_TEXTS = 60  # characters of a row's text in a line


class OpenQuestionsError(StudioError):
    """Something can be meant in more than one way, and its owner has not said which.

    Args:
        message: what is open.
        questions: at least one.
        otherwise: what else can be done than to answer.
    """

    def __init__(self, message: str, questions: Sequence[Question], otherwise: str) -> None:
        flags = " or ".join(f"{option.flag} ({option.answer})" for option in questions[0].options if option.flag)
        rows = [row.row for question in questions for row in question.rows]
        super().__init__(message, f"answer with {flags}; or {otherwise}", list(dict.fromkeys(rows)))
        self.questions = tuple(questions)

    @classmethod
    def of_file(cls, name: str, questions: Sequence[Question]) -> OpenQuestionsError:
        """A file that can be read in more than one way."""
        asked = "; ".join(question.text for question in questions)
        return cls(f"{name} leaves open what only you can say: {asked}", questions, "go on as it is read with --as-read")

    @classmethod
    def of_run(cls, run_id: str, question: Question) -> OpenQuestionsError:
        """A run that an alarm has stopped."""
        message = f"the run {run_id} stopped and asks: {question.text}"
        return cls(message, [question], "leave it. The answer goes behind the same command")

    def lines(self) -> list[str]:
        """Every question with its rows and its answers, a line each."""
        return [line for question in self.questions for line in format_question(question)]


def format_question(question: Question) -> list[str]:
    """A question for a terminal: itself and why, its rows, and the flag of each answer."""
    lines = [f"question: {question.text}" + (f" ({question.why})" if question.why else "")]
    for shown in question.rows:
        texts = " | ".join(text if len(text) <= _TEXTS else text[: _TEXTS - 1] + "…" for text in shown.texts)
        value = f" = {shown.value}" if shown.value else ""
        read = f" → {shown.read_as}" if shown.read_as else ""
        lines.append(f"  {describe_rows([shown.row])}: {texts}{value}{read}")
    return [*lines, *(f"  {option.answer}: {option.flag}" for option in question.options if option.flag)]


def question_from_json(value: Mapping[str, Any]) -> Question:
    """The inverse of :meth:`~sbert_studio.data.questions.Question.to_json`."""
    from ..data.questions import ExampleRow, Option, Question

    options = tuple(Option(str(one["answer"]), str(one["flag"]), dict(one.get("choice") or {})) for one in value["options"])
    rows = tuple(
        ExampleRow(int(one["row"]), tuple(one["texts"]), str(one.get("value", "")), str(one.get("read_as", "")))
        for one in value.get("rows") or ()
    )
    return Question(str(value["name"]), str(value["question"]), options, str(value.get("why", "")), rows, value.get("proposed"))


def apply_answer(asked: SchemaOverrides | None, choice: Mapping[str, Any]) -> SchemaOverrides:
    """What was said of a file, with an answer's choice (see :class:`~sbert_studio.data.questions.Option`) taken up."""
    from ..data.schema.overrides import SchemaOverrides

    return replace(asked or SchemaOverrides(), **overrides_from_json(choice))


def overrides_from_json(choice: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of :class:`~sbert_studio.data.schema.overrides.SchemaOverrides` that plain JSON data sets; lists become tuples.

    Raises:
        StudioError: there is no such field.
    """
    from ..data.schema.overrides import SchemaOverrides

    known = [item.name for item in fields(SchemaOverrides)]
    for name in choice:
        if name not in known:
            raise StudioError(f"nothing called {name!r} can be said of a file", f"known: {', '.join(known)}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in choice.items()}


def for_first_stage(question: Question) -> Question:
    """A question about the file of the first stage, whose answers are settings named ``first.…``."""
    return replace(question, text=f"In the file of the first stage: {question.text}", options=tuple(map(_first_option, question.options)))


def _first_option(option: Option) -> Option:
    choice = {f"first.{name}": value for name, value in option.choice.items()}
    flag = " ".join(f"--set {shlex.quote(f'{name}={format_value(value)}')}" for name, value in choice.items())
    return replace(option, flag=flag, choice=choice)


def format_value(value: Any) -> str:
    """A chosen value as it is typed: names with commas between them, a scale as ``0-5``."""
    from ..data.schema.overrides import NO_ORDER, format_names, format_scale

    if isinstance(value, list | tuple) and not value:
        return NO_ORDER
    if isinstance(value, list | tuple):
        if len(value) == 2 and all(isinstance(end, int | float) for end in value):
            return format_scale(float(value[0]), float(value[1]))
        return format_names([str(item) for item in value])
    return {True: "yes", False: "no", None: ""}.get(value, str(value)) if isinstance(value, bool | None) else str(value)


def parse_overrides(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a file, where a person typed it as words: names with commas between them, a scale such as ``0-5``.

    Raises:
        StudioError: a value is none of those known.
    """
    from ..data.schema.overrides import parse_columns, parse_order, parse_scale

    readers: dict[str, Callable[[str], Any]] = {
        "columns": parse_columns,
        "order": parse_order,
        "scale": parse_scale,
        "kind": lambda text: text.strip().replace("-", "_"),
        "header": _yes_or_no,
    }
    return {name: readers[name](value) if isinstance(value, str) and name in readers else value for name, value in said.items()}


def _yes_or_no(text: str) -> bool:
    word = text.strip().lower()
    if word not in _YES + _NO:
        raise StudioError(f"header is {text!r}", "say yes where the first row names the columns, and no where it does not")
    return word in _YES


def describe_answers(question: Question) -> str:
    """The answers as a caller of the API gives them: ``answer with order="no,yes" (yes) or …, or go on with as_read=true``."""
    ways = (
        " and ".join(f'{name}="{format_value(value)}"' for name, value in option.choice.items()) + f" ({option.answer})"
        for option in question.options
    )
    return f"answer with {' or '.join(ways)}; or go on as it is read with as_read=true"
