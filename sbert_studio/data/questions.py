"""What only the owner of a table can say: a plain question with a few of their own rows, and the answers that settle it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Option:
    """An answer.

    Attributes:
        answer: what the button says, such as ``yes`` or ``the other way round``.
        flag: the command line's way to give it, such as ``--order no,yes``; it can be put behind the command as it stands.
        choice: the fields of :class:`~sbert_studio.data.schema.overrides.SchemaOverrides` that it sets, as plain JSON data.
    """

    answer: str
    flag: str
    choice: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"answer": self.answer, "flag": self.flag, "choice": dict(self.choice)}


@dataclass(frozen=True)
class Shown:
    """A row of the owner's own, beside a question.

    Attributes:
        row: its number in a spreadsheet.
        texts: its texts, cut to a readable length.
        value: the score, label or category it holds, as it is written; empty where there is none.
        read_as: how it would be read, such as ``most alike``; empty where that is not the question.
    """

    row: int
    texts: tuple[str, ...]
    value: str = ""
    read_as: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"row": self.row, "texts": list(self.texts), "value": self.value, "read_as": self.read_as}


@dataclass(frozen=True)
class Question:
    """One thing that names, values and the model leave open.

    Attributes:
        name: what is open: ``kind, columns, target, order, scale, encoding, delimiter`` or ``header``.
        text: the question, in one plain sentence that ends with a question mark.
        options: the answers, the one that is read if nobody answers first.
        why: a sentence on what makes it uncertain.
        rows: two or three of the owner's rows.
        proposed: the place of the answer that names and evidence favour; ``None`` where they favour none, or contradict each other.
    """

    name: str
    text: str
    options: tuple[Option, ...]
    why: str = ""
    rows: tuple[Shown, ...] = ()
    proposed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """``name, question, why, options, rows, proposed`` as plain data."""
        return {
            "name": self.name,
            "question": self.text,
            "why": self.why,
            "options": [option.to_json() for option in self.options],
            "rows": [row.to_json() for row in self.rows],
            "proposed": self.proposed,
        }
