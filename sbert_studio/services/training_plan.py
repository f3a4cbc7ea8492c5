"""Training requests and plans, and the use of every row of a run's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from .questions import OpenQuestionsError

if TYPE_CHECKING:
    import numpy as np

    from ..data.doctor.diagnosis import Diagnosis
    from ..data.examples import Examples
    from ..data.loading.table import Table
    from ..data.questions import Question
    from ..data.row_report import RowReport
    from ..data.schema.overrides import SchemaOverrides
    from ..data.schema.roles import Roles
    from ..runs.files import RunFiles
    from ..runs.run import Run
    from ..training.pins import TrackedExamples
    from ..training.spec import TrainSpec


def run_row_reports(run: Run, materials: RunFiles) -> dict[str, RowReport]:
    """The accounts of a run's files, with the rows that it held out. In folds every row is held out once, and learned from in the end.

    What was found of a run that is done is kept in its folder.
    """
    from ..training.artifacts import HELD_OUT

    found = materials.accounts()
    if run.active or "data" not in found or "dev" in found or found["data"].held_out or found["data"].in_turn:
        return found
    held = _held_out(materials.folder / HELD_OUT)
    if run.after and (run.spec.get("folds") or "folds" in run.after):
        found["data"] = replace(found["data"], in_turn=True)
        judged_by = materials.examples()[0] if "first" in found else None
    elif len(held):
        found["data"], judged_by = _split(found["data"], materials, held)
    else:
        return found
    if (first := materials.first()) is not None and judged_by is not None and "first" in found:
        found["first"] = exclude_shared_texts(found["first"], first, judged_by)
    materials.keep_accounts(found)
    return found


def exclude_shared_texts(account: RowReport, first: Examples, held: Examples) -> RowReport:
    """The account of the first stage's file without the rows that hold a text of those that judge, which the stage leaves out."""
    import numpy as np

    from ..data.row_report import SHARES_HELD_OUT_TEXT
    from ..data.split import find_leaks

    return account.after_split(first.lines, first.lines[~find_leaks(first, held)], np.array([], dtype=np.int64), SHARES_HELD_OUT_TEXT)


def describe_row_reports(accounts: Mapping[str, RowReport], *, begun: bool = True) -> tuple[str, ...]:
    """A sentence on the rows of each file, named by its part: ``120 rows read, 74 used for training, 46 skipped: …``.

    Args:
        begun: whether a step was taken; otherwise they are rows to learn from.
    """
    learned, judged = ("used for training", "used for validation") if begun else ("for training", "for validation")
    verbs = {"data": learned, "dev": judged, "first": learned}
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    return tuple(f"{titles[part]}{account.describe(verbs[part])}." for part, account in accounts.items())


def _split(account: RowReport, materials: RunFiles, held: np.ndarray) -> tuple[RowReport, Examples | None]:
    """The account once these rows were put aside, and the rows; those that share a text with them may be in neither part."""
    import numpy as np

    from ..data.row_report import SHARES_HELD_OUT_TEXT
    from ..training.evaluator import hold_out

    examples, _ = materials.examples()
    learned, judged_by, _ = hold_out(materials.spec(), examples, None)
    if judged_by is None or not np.array_equal(np.unique(judged_by.lines), held):  # a run of an earlier version, which drew other rows
        judges = np.isin(examples.lines, held)
        learned, judged_by = examples.take(np.flatnonzero(~judges)), examples.take(np.flatnonzero(judges))
    return account.after_split(examples.lines, learned.lines, held, SHARES_HELD_OUT_TEXT), judged_by


def _held_out(path: Path) -> np.ndarray:
    """The row numbers of the rows that a run was judged by; none where there is no file of them."""
    import numpy as np

    if not path.is_file():
        return np.array([], dtype=np.int64)
    with path.open(encoding="utf-8") as source:
        return np.unique(np.array([json.loads(line)["line"] for line in source], dtype=np.int64))


FIRST_STAGE_PREFIX = "first."
"""What the names of a first stage's settings, and of what is said of its columns, begin with."""


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question that was put to the owner of a file, and what they said."""

    question: str
    answer: str

    def to_json(self) -> dict[str, str]:
        """``{question, answer}``."""
        return {"question": self.question, "answer": self.answer}


@dataclass(frozen=True, eq=False)
class TrainRequest:
    """What a person asks for, the same from the page, the API and the command line.

    Attributes:
        data, dev: a file to learn from, and one to be judged by; or tables that were mended.
        first: a file to learn from before, in a stage of its own, such as NLI before scored pairs.
        choices: what was said of how the file is to be read; the rest is found out.
        overrides: fields of :class:`~sbert_studio.training.spec.TrainSpec` or of the objective's ``Params``, those of the first
            stage as ``first.epochs``, and what its columns are as ``first.target``; the advisor chooses the rest.
        model: the model to start from; ``None`` for the default.
        owner: whose run it is.
        name: what the lists call it; ``None`` for the file's name.
        changes: what was done to the table before, in words, in order.
        answered: the questions that were answered on the way here.
        pins: pairs and a query to watch the training by; it learns nothing from them.
    """

    data: Path | str | Table | None = None
    dev: Path | str | Table | None = None
    first: Path | str | Table | None = None
    choices: SchemaOverrides | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    owner: str = "local"
    name: str | None = None
    changes: tuple[str, ...] = ()
    answered: tuple[AnsweredQuestion, ...] = ()
    pins: TrackedExamples | None = None


@dataclass(frozen=True, eq=False)
class PlanFile:
    """One file of a plan, read.

    Attributes:
        given: the file as it came, or the table.
        table: its rows.
        choices: what was said of it.
        roles: what its columns are.
        examples: its usable rows.
        account: what became of every row, before any is held out.
    """

    given: Path | Table
    table: Table
    choices: SchemaOverrides
    roles: Roles
    examples: Examples
    account: RowReport


@dataclass(frozen=True, eq=False)
class TrainPlan:
    """All that decides a run; nothing of it is read, built or advised again.

    Attributes:
        request: what it answers.
        data, dev, first: the files. ``dev`` is ``None`` where none was given, or the one that was cannot be used.
        diagnosis: what the file is and what is wrong with it; ``earlier`` is that of the first stage.
        spec: the settings, those of the first stage within; ``reasons``: why, a sentence each.
    """

    request: TrainRequest
    data: PlanFile
    dev: PlanFile | None
    first: PlanFile | None
    diagnosis: Diagnosis
    earlier: Diagnosis | None
    spec: TrainSpec
    reasons: tuple[str, ...]

    @property
    def table(self) -> Table:
        """The rows of the file that is learned from."""
        return self.data.table

    @property
    def roles(self) -> Roles:
        """What its columns are."""
        return self.data.roles

    @property
    def examples(self) -> Examples:
        """Its usable rows."""
        return self.data.examples

    @property
    def sources(self) -> dict[str, PlanFile]:
        """Every file by its part: ``data``, and where given ``dev`` and ``first``."""
        named = {"data": self.data, "dev": self.dev, "first": self.first}
        return {name: source for name, source in named.items() if source is not None}

    def named(self, owner: str, name: str | None, pins: TrackedExamples | None = None) -> TrainPlan:
        """The same plan as somebody's run of that name, watched by ``pins``; nothing else is changed."""
        return replace(self, request=replace(self.request, owner=owner, name=name, pins=pins))

    @property
    def accounts(self) -> dict[str, RowReport]:
        """What became of every row of every file."""
        return {name: source.account for name, source in self.sources.items()}

    @property
    def questions(self) -> tuple[Question, ...]:
        """What only the owner of the files can say, the first stage's last and with its own flags; none where all is certain."""
        return (*self.diagnosis.questions, *(self.earlier.questions if self.earlier else ()))

    @property
    def certain(self) -> bool:
        """Whether nothing is left to ask."""
        return not self.questions

    def require_settled(self) -> None:
        """Find out whether it may be trained.

        Raises:
            Unanswered: a question is open, and the reading was not accepted as it is.
            StudioError: something is so wrong with the rows that nothing can be learned from them.
        """
        for diagnosis in (self.diagnosis, self.earlier):
            for finding in diagnosis.findings if diagnosis else ():
                if finding.severity == "error":
                    change = f"{finding.fix.label[:1].lower()}{finding.fix.label[1:]}, or put it right in the file" if finding.fix else ""
                    raise StudioError(finding.message, change or "put it right in the file", finding.rows)
        if self.questions and not (self.request.choices and self.request.choices.as_read):
            raise OpenQuestionsError.of_file(self.table.name, self.questions)

    def to_json(self) -> dict[str, Any]:
        """``spec, reasons, kind, certain, questions, roles, accounts, digests`` as plain data."""
        return {
            "spec": self.spec.to_json(),
            "reasons": list(self.reasons),
            "kind": self.roles.kind,
            "certain": self.certain,
            "questions": [question.to_json() for question in self.questions],
            "roles": self.roles.to_json(),
            "accounts": {name: account.to_json() for name, account in self.accounts.items()},
            "digests": {name: source.examples.digest for name, source in self.sources.items()},
        }
