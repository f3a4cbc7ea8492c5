"""Training requests and plans, and reports on the use of every row of a run's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.examples import Examples
from ..data.findings import Question
from ..data.loading.table import Table
from ..data.row_report import SHARES_HELD_OUT_TEXT, RowReport
from ..data.schema.roles import Roles, SchemaOverrides
from ..data.schema.split_column import RowSplit
from ..data.split import find_leaks
from ..errors import StudioError
from ..i18n import _, uncapitalize
from ..runs.run import Run
from ..serialization import JsonResult
from .questions import OpenQuestionsError

if TYPE_CHECKING:
    import numpy as np

    from ..data.doctor.diagnosis import Diagnosis
    from ..data.retrieval import RetrievalSet
    from ..runs.files import RunFiles
    from ..training.events import TrackedExamples
    from ..training.spec import TrainSpec


FIRST_STAGE_PREFIX = "first."
"""Prefix of the first stage's settings and column overrides."""


@dataclass(frozen=True)
class AnsweredQuestion(JsonResult):
    """A question about a file, and its owner's answer."""

    question: str
    answer: str


@dataclass(frozen=True, eq=False)
class TrainRequest:
    """Training request, the same for the page, the API and the command line.

    Attributes:
        data, dev: training and validation file, or fixed tables.
        first: file of a first stage, such as NLI before scored pairs.
        choices: format options set by the user; the rest is inferred.
        overrides: fields of :class:`~sbert_studio.training.spec.TrainSpec` or of the loss's ``Params``; those of the first stage as
            ``first.epochs``, its columns as ``first.target``. The rest is chosen automatically.
        model: the base model; ``None`` for the default.
        name: display name; ``None`` for the file name.
        changes: descriptions of the fixes applied to the table, in order.
        answered: the questions answered so far.
        pins: example pairs and a query tracked during training; not used for training.
        retrieval: BEIR folder, table of judgments, or documents, with which retrieval is measured before and after.
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
    retrieval: Path | str | RetrievalSet | None = None


@dataclass(frozen=True, eq=False)
class PlanFile:
    """Training, validation or first-stage file.

    Attributes:
        given: the path, or the table.
        choices: format options set by the user.
        examples: its usable rows.
        account: the use of every row, before any rows are held out.
    """

    given: Path | Table
    table: Table
    choices: SchemaOverrides
    roles: Roles
    examples: Examples
    account: RowReport


@dataclass(frozen=True, eq=False)
class TrainPlan:
    """Everything that determines a run.

    Attributes:
        data, dev, first: the files. ``dev`` is ``None`` if none was given or it is unusable.
        diagnosis: diagnosis of the training file; ``earlier`` is that of the first stage's file.
        spec: the settings, including those of the first stage.
        reasons: one sentence for each choice.
        time_reason: the one for fewer folds than usual, or none, to save time; empty for the usual evaluation.
    """

    request: TrainRequest
    data: PlanFile
    dev: PlanFile | None
    first: PlanFile | None
    diagnosis: Diagnosis
    earlier: Diagnosis | None
    spec: TrainSpec
    reasons: tuple[str, ...]
    time_reason: str = ""

    @property
    def table(self) -> Table:
        """Rows of the training file."""
        return self.data.table

    @property
    def roles(self) -> Roles:
        """Roles of the training file's columns."""
        return self.data.roles

    @property
    def examples(self) -> Examples:
        """Usable rows of the training file."""
        return self.data.examples

    @property
    def dev_examples(self) -> Examples | None:
        """Usable rows of the validation file, or of the validation part of the training file."""
        return self.diagnosis.dev_examples

    @property
    def splits(self) -> dict[str, RowSplit]:
        """Splits that a column assigns rows to, by file: ``data`` and ``first``."""
        found = {"data": self.diagnosis.split, "first": self.earlier.split if self.earlier else None}
        return {name: split for name, split in found.items() if split is not None}

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the examples, by part."""
        parts = {name: source.examples for name, source in self.sources.items()}
        return {name: one.digest for name, one in {**parts, "dev": self.dev_examples}.items() if one is not None}

    @property
    def sources(self) -> dict[str, PlanFile]:
        """Files by part: ``data``, and ``dev`` and ``first`` if given."""
        named = {"data": self.data, "dev": self.dev, "first": self.first}
        return {name: source for name, source in named.items() if source is not None}

    def named(self, owner: str, name: str | None, pins: TrackedExamples | None = None) -> TrainPlan:
        """Return the plan with another owner, name and tracked examples."""
        return replace(self, request=replace(self.request, owner=owner, name=name, pins=pins))

    @property
    def accounts(self) -> dict[str, RowReport]:
        """Use of every row of every file."""
        return {name: source.account for name, source in self.sources.items()}

    @property
    def questions(self) -> tuple[Question, ...]:
        """Unanswered questions about the files; those of the first stage come last, with their own flags."""
        return (*self.diagnosis.questions, *(self.earlier.questions if self.earlier else ()))

    @property
    def certain(self) -> bool:
        """True if there are no unanswered questions."""
        return not self.questions

    def require_settled(self) -> None:
        """Check that the run can start.

        Raises:
            OpenQuestionsError: a question is unanswered and ``as_read`` is not set.
            StudioError: the rows are not suitable for training.
        """
        for diagnosis in (self.diagnosis, self.earlier):
            for finding in diagnosis.findings if diagnosis else ():
                if finding.severity == "error":
                    change = _("{label}, or correct it in the file", label=uncapitalize(finding.fix.label)) if finding.fix else ""
                    raise StudioError(finding.message, change or "correct it in the file", finding.rows)
        if self.questions and not (self.request.choices and self.request.choices.as_read):
            raise OpenQuestionsError.of_file(self.table.name, self.questions)

    def to_json(self) -> dict[str, Any]:
        """Return ``spec, reasons, kind, certain, questions, roles, splits, accounts, digests`` as plain data."""
        return {
            "spec": self.spec.to_json(),
            "reasons": list(self.reasons),
            "kind": self.roles.kind,
            "certain": self.certain,
            "questions": [question.to_json() for question in self.questions],
            "roles": self.roles.to_json(),
            "accounts": {name: account.to_json() for name, account in self.accounts.items()},
            "splits": {name: split.to_json() for name, split in self.splits.items()},
            "digests": self.digests,
        }


def run_row_reports(run: Run, files: RunFiles) -> dict[str, RowReport]:
    """Return the row reports of a run's files, with held-out rows. In cross-validation every row is held out once.

    The result for a finished run is stored in its folder.
    """
    from ..training.artifacts import HELD_OUT

    found = files.accounts()
    if run.active or "data" not in found or "dev" in found or found["data"].held_out or found["data"].in_turn:
        return found  # not finished, or known already
    held = _held_out_lines(files.folder / HELD_OUT)
    if run.after and (run.spec.get("folds") or "folds" in run.after):
        found["data"] = replace(found["data"], in_turn=True)
        dev = files.examples()[0] if "first" in found else None
    elif len(held):
        found["data"], dev = _apply_split(found["data"], files, held)
    else:
        return found
    if (first := files.first()) is not None and dev is not None and "first" in found:
        found["first"] = exclude_shared_texts(found["first"], first, dev)
    files.keep_accounts(found)
    return found


def exclude_shared_texts(account: RowReport, first: Examples, held: Examples) -> RowReport:
    """Exclude the rows that share a text with held-out rows from the report of the first stage's file."""
    import numpy as np

    return account.after_split(first.lines, first.lines[~find_leaks(first, held)], np.array([], dtype=np.int64), SHARES_HELD_OUT_TEXT)


def describe_row_reports(accounts: Mapping[str, RowReport], *, has_begun: bool = True) -> tuple[str, ...]:
    """Return one sentence on the rows of each file, such as ``120 rows read, 74 used for training, 46 skipped: …``.

    Args:
        has_begun: False before the first step.
    """
    training, validation = ("used for training", "used for validation") if has_begun else ("for training", "for validation")
    verbs = {"data": training, "dev": validation, "first": training}
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    return tuple(_("{titles}{account}.", titles=titles[part], account=account.describe(verbs[part])) for part, account in accounts.items())


def _apply_split(account: RowReport, files: RunFiles, held: np.ndarray) -> tuple[RowReport, Examples | None]:
    """Return the report with held-out rows counted, and the held-out examples. Rows that share a text with them may be in neither part."""
    import numpy as np

    from ..training.evaluator import hold_out

    examples, _ = files.examples()
    train, dev, _ = hold_out(files.spec(), examples, None)
    if dev is None or not np.array_equal(np.unique(dev.lines), held):  # an earlier version split differently
        is_dev = np.isin(examples.lines, held)
        train, dev = examples.take(np.flatnonzero(~is_dev)), examples.take(np.flatnonzero(is_dev))
    return account.after_split(examples.lines, train.lines, held, SHARES_HELD_OUT_TEXT), dev


def _held_out_lines(path: Path) -> np.ndarray:
    import numpy as np

    if not path.is_file():
        return np.array([], dtype=np.int64)
    with path.open(encoding="utf-8") as source:
        return np.unique(np.array([json.loads(line)["line"] for line in source], dtype=np.int64))
