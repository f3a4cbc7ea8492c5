"""The kind of examples in a table, and which column plays which part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from ...errors import StudioError
from ..questions import Question

Kind = Literal["scored_pairs", "labelled_pairs", "positive_pairs", "triplets", "labelled_texts", "sentences"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_TEXTS = {
    "scored_pairs": (2, 2),
    "labelled_pairs": (2, 2),
    "positive_pairs": (2, 2),
    "triplets": (3, 32),
    "labelled_texts": (1, 1),
    "sentences": (1, 1),
}
_TARGETS = {"scored_pairs": "scores", "labelled_pairs": "labels", "labelled_texts": "categories"}


@dataclass(frozen=True)
class Roles:
    """Parts that the columns of a table play.

    Attributes:
        kind: the kind of examples.
        texts: the text columns: sentence 1 and 2; or anchor, positive, negative and further negatives; or the text.
        target: the column of scores (scored pairs), labels (labelled pairs) or categories (labelled texts).
        low, high: the scores of "least similar", which becomes 0, and of "most similar", which becomes 1; ``low`` is the greater of the
            two for distances and other reversed scores.
        labels: the class names, a class's index being its id; ordered classes from least to most similar.
        group: the column of topics or classes, for splits that keep a group together.
        split: the column of training, validation and test parts.
        note: the scale or the labels in words.
        ordered: a larger class id means more similar (contradiction, neutral, entailment; low, medium, high; no, yes).

    Raises:
        StudioError: the parts do not make up the kind.
    """

    kind: Kind
    texts: tuple[str, ...]
    target: str | None = None
    low: float | None = None
    high: float | None = None
    labels: tuple[str, ...] = ()
    group: str | None = None
    note: str = ""
    ordered: bool = True
    split: str | None = None

    def __post_init__(self) -> None:
        require_kind(self.kind)
        least, most = _TEXTS[self.kind]
        if not least <= len(self.texts) <= most:
            needed = f"{least}" if least == most else f"at least {least}"
            raise StudioError(
                f"{self.kind.replace('_', ' ')} need {needed} text column{'s' if needed != '1' else ''}, not {len(self.texts)}",
                "choose the columns, or another kind",
            )
        if len(set(self.texts)) < len(self.texts) or self.target in self.texts:
            raise StudioError("one column has two roles", "choose a different column for each role")
        if self.kind in _TARGETS and self.target is None:
            raise StudioError(f"{self.kind.replace('_', ' ')} need a column of {_TARGETS[self.kind]}", "choose it")
        if self.kind == "scored_pairs" and not (self.low is not None and self.high is not None and self.low != self.high):
            raise StudioError(
                f"the score scale from {self.low} to {self.high} is empty",
                "give two different scores, for least similar and most similar",
            )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON data."""
        return {**asdict(self), "texts": list(self.texts), "labels": list(self.labels)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Roles:
        """Return the roles that :meth:`to_json` gave."""
        return cls(
            kind=value["kind"],
            texts=tuple(value["texts"]),
            target=value.get("target"),
            low=value.get("low"),
            high=value.get("high"),
            labels=tuple(value.get("labels") or ()),
            group=value.get("group"),
            note=str(value.get("note", "")),
            ordered=bool(value.get("ordered", True)),
            split=value.get("split"),
        )


@dataclass(frozen=True)
class InferredSchema:
    """Inferred meaning of a table.

    Attributes:
        roles: the parts of its columns.
        questions: what only the owner can answer; none if the roles are certain.
        why: the reasons for the roles, a sentence each.
        saturation: a sentence if the model already knows what the rows teach; else empty.
    """

    roles: Roles
    questions: tuple[Question, ...] = ()
    why: tuple[str, ...] = ()
    saturation: str = ""

    @property
    def certain(self) -> bool:
        """Nothing is left to ask."""
        return not self.questions


def require_kind(kind: str) -> None:
    """Raise a StudioError unless ``kind`` is one of :data:`KINDS`."""
    if kind not in KINDS:
        raise StudioError(f"{kind!r} is not a kind of examples", f"choose one of {', '.join(KINDS)}")
