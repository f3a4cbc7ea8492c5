"""Questions about a table that only its owner can answer, with the possible answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Option:
    """A possible answer.

    Attributes:
        answer: the label of the button, such as ``yes``.
        flag: the equivalent command-line option, such as ``--order no,yes``, quoted for a shell.
        choice: the fields of :class:`~sbert_studio.data.schema.roles.SchemaOverrides` that it sets, as plain JSON data.
    """

    answer: str
    flag: str
    choice: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"answer": self.answer, "flag": self.flag, "choice": dict(self.choice)}


@dataclass(frozen=True)
class ExampleRow:
    """A row of the table, shown with a question.

    Attributes:
        row: the spreadsheet row number.
        texts: its texts, shortened.
        value: its score, label or category as written; empty if there is none.
        read_as: how the value would be interpreted, such as ``most similar``; empty if the question is about something else.
    """

    row: int
    texts: tuple[str, ...]
    value: str = ""
    read_as: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"row": self.row, "texts": list(self.texts), "value": self.value, "read_as": self.read_as}


@dataclass(frozen=True)
class Question:
    """A point that names, values and the model leave ambiguous.

    Attributes:
        name: the subject: ``kind, columns, target, order, scale, encoding, delimiter`` or ``header``.
        text: one plain sentence that ends with a question mark.
        options: the answers; the first one is the default.
        why: one sentence with the reason for the doubt.
        rows: two or three rows of the table.
        proposed: the index of the answer supported by names and evidence; ``None`` if they support none or contradict each other.
    """

    name: str
    text: str
    options: tuple[Option, ...]
    why: str = ""
    rows: tuple[ExampleRow, ...] = ()
    proposed: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "question": self.text,
            "why": self.why,
            "options": [option.to_json() for option in self.options],
            "rows": [row.to_json() for row in self.rows],
            "proposed": self.proposed,
        }
