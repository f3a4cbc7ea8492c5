"""Base classes of evaluation tasks: required data, supported models, and the main score."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ...data.examples import Examples, build_examples
from ...data.findings import Finding
from ...data.row_report import RowReport, report_rows
from ...data.schema.content import blank_missing
from ...data.schema.inference import infer_roles
from ...data.schema.roles import Kind, Roles
from ...errors import StudioError, describe_rows
from ...i18n import _, join
from ...registry import Registry
from ..encoding import similarities
from ..report import SIMILARITY_KEY

if TYPE_CHECKING:
    from ...data.loading.table import Table
    from ...models.base import PairScorer
    from ...progress import Progress
    from ..report import Report


@dataclass(frozen=True)
class ClassRoles:
    """The text column and the class column of a table."""

    text: str
    label: str


def class_roles(table: Table) -> ClassRoles:
    """Return the text column and the class column (topic, class or label) of a table.

    Raises:
        StudioError: the table has no text column, or no column of classes.
    """
    with contextlib.suppress(StudioError):
        found = infer_roles(table)
        if found.kind == "labelled_texts" and found.target is not None:
            return ClassRoles(found.texts[0], found.target)
    roles = infer_roles(table, "sentences")
    if roles.group is None:
        raise StudioError(
            _("no column of {name} can contain classes", name=table.name),
            "a text column and a class column are required, with at least two classes and several rows per class",
        )
    return ClassRoles(roles.texts[0], roles.group)


def class_roles_from(roles: Roles) -> ClassRoles | None:
    """Return the text and class columns of known roles, or ``None``."""
    label = roles.target if roles.kind == "labelled_texts" else roles.group if roles.kind == "sentences" else None
    return None if label is None else ClassRoles(roles.texts[0], label)


def class_row_report(table: Table, roles: ClassRoles) -> RowReport:
    """Report the use of every row: rows with a text and a class are evaluated."""
    used = _class_columns(table, roles)[2]
    blank = tuple(table.lines[~used].tolist())
    return report_rows(table, [Finding("warning", "skipped", blank, skip_reason="no text or no class")] if blank else [], table.lines[used])


def labelled_texts(table: Table, roles: ClassRoles) -> tuple[list[str], list[str], tuple[str, ...]]:
    """Return the texts, their classes, and a note on rows skipped for a blank text or class.

    Raises:
        StudioError: fewer than two classes remain.
    """
    texts, labels, used = _class_columns(table, roles)
    rows = np.flatnonzero(used).tolist()
    if len({labels[row] for row in rows}) < 2:
        raise StudioError(_("the column {label} contains a single class", label=repr(roles.label)), "use texts of at least two classes")
    notes = () if used.all() else (_("skipped because of a blank text or class: {rows}", rows=describe_rows(table.lines[~used].tolist())),)
    return [texts[row] for row in rows], [labels[row] for row in rows], notes


def _class_columns(table: Table, roles: ClassRoles) -> tuple[Sequence[str], list[str], np.ndarray]:
    texts, labels = blank_missing(table.column(roles.text)), [label.strip() for label in table.column(roles.label)]
    return texts, labels, np.array([bool(text.strip() and label) for text, label in zip(texts, labels, strict=True)], bool)


@dataclass(frozen=True)
class DataShape:
    """Properties that determine the default task for a dataset.

    Attributes:
        kind: kind of the examples.
        labels: number of classes.
        ordered: True if later classes mean more similar pairs.
        classed: True if unlabelled sentences come with a class column.
        gives: output of the model: a vector per text, a score per pair, or a class per pair.
    """

    kind: Kind
    labels: int = 0
    ordered: bool = True
    classed: bool = False
    gives: Literal["vectors", "score", "class"] = "vectors"


@dataclass(frozen=True, eq=False)
class TaskData:
    """Data of a table for a task.

    Attributes:
        examples: examples to evaluate on.
        notes: notes on skipped rows.
        account: use of every row.
        scale: for scored pairs, the scores of the least and the most similar pairs.
        reference: reference examples with known labels (see :attr:`Task.uses_known_rows`).
        dev: examples for choosing settings, if given separately.
    """

    examples: Examples
    notes: tuple[str, ...]
    account: RowReport
    scale: tuple[float, float] | None = None
    reference: Examples | None = None
    dev: Examples | None = None


@dataclass(frozen=True, eq=False)
class EncodedExamples:
    """Examples with the (n, d) vectors of each text column."""

    examples: Examples
    vectors: Sequence[np.ndarray]

    @property
    def targets(self) -> np.ndarray:
        """(n,) targets of labelled or scored examples."""
        assert self.examples.targets is not None
        return self.examples.targets


class Task(ABC):
    """An evaluation task.

    Attributes:
        order: position in lists.
        title: display name; ``help`` is one sentence on what is measured.
        kinds: supported kinds of examples, the default first.
        main: path of the main score in a report's scores; for pair scorers, its last element is below ``pair``.
        lower_is_better: True if a smaller main score is better.
        needs_vectors: True if pair scorers cannot be evaluated.
        ranks_candidates: True if pair scorers with candidate vectors (poly-encoders) can be evaluated nevertheless.
        sorts_pairs: True if the task is for pair scorers that predict classes, not scores.
        pools: True if the literature also evaluates the rows of several files as one set ("all").
        uses_reference: True if texts are compared with labelled reference texts when there are any.
        learns: True if it trains on labelled rows when there are any (see :meth:`train_and_evaluate`).
        reference_help: help text for such rows.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    title: ClassVar[str]
    help: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]]
    main: ClassVar[tuple[str, ...]]
    needs_vectors: ClassVar[bool] = False
    ranks_candidates: ClassVar[bool] = False
    sorts_pairs: ClassVar[bool] = False
    pools: ClassVar[bool] = False
    uses_reference: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    reference_help: ClassVar[str] = ""
    lower_is_better: ClassVar[bool] = False

    @property
    def uses_known_rows(self) -> bool:
        """True if the task can use labelled rows in addition to the evaluated ones."""
        return self.learns or self.uses_reference

    def fits(self, shape: DataShape) -> bool:
        """Return True if this is the default task for such data; there is at most one."""
        return False

    @abstractmethod
    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        """Evaluate a model from the vectors of each text column.

        Args:
            reference: labelled reference texts, for tasks with ``uses_reference``.
            by: the model's similarity function (``Encoder.similarity_name``); classification tasks use cosine.
        """

    def train_and_evaluate(self, evaluated: EncodedExamples, reference: EncodedExamples, dev: EncodedExamples | None) -> Report:
        """Train on ``reference``, choose settings on ``dev``, evaluate on ``evaluated``, for tasks with ``learns``."""
        raise StudioError(_("{name} does not use reference rows", name=self.name), "specify only the evaluation data")

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """Evaluate the output of a pair scorer for :meth:`pairs`: (n,) scores, or (n, c) logits of ``classes``."""
        raise StudioError(_("{name} needs a vector for each text", name=self.name), "evaluate it on pairs with a score or a label")

    def evaluate_ranking(self, examples: Examples, model: PairScorer, progress: Progress | None) -> Report:
        """Evaluate a pair scorer that ranks encoded candidates, for tasks with ``ranks_candidates``."""
        raise StudioError(_("{name} cannot rank candidates", name=self.name), "evaluate the model on pairs with a score or a label")

    def pairs(self, examples: Examples) -> list[tuple[str, str]]:
        """Return the text pairs that a pair scorer has to score."""
        return list(zip(examples.texts[0], examples.texts[1], strict=True))

    def main_path(self, scores: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the path of the main score in the scores of a report."""
        if "pair" in scores:
            return ("pair", self.main[-1])
        return (str(scores[SIMILARITY_KEY]), self.main[-1]) if SIMILARITY_KEY in scores else self.main

    def averaged(self, scores: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scores to average over files, nested as in a report: the main score."""
        path = self.main_path(scores)
        return dict(reduce(lambda value, step: {step: value}, reversed(path), reduce(getitem, path, scores)))

    def require_pairs(self, model: PairScorer) -> None:
        """Check that a pair scorer can be evaluated.

        Raises:
            StudioError: the task needs vectors of single texts.
        """
        if self.needs_vectors and (model.candidate_encoder is None or not self.ranks_candidates):
            kind = (
                "a cross-encoder has none"
                if model.candidate_encoder is None
                else "a poly-encoder compares several vectors of one text with one of the other"
            )
            raise StudioError(
                _("{name} needs a vector for each text, but {kind}", name=self.name, kind=kind),
                "evaluate it on pairs with a score or a label",
            )

    def require_scorer(self, model: PairScorer) -> None:
        """Check that the output of a pair scorer fits the task.

        Raises:
            StudioError: the model predicts classes instead of a score or vice versa, or the task needs vectors.
        """
        self.require_pairs(model)
        if model.labels > 1 and not self.sorts_pairs:
            raise StudioError(
                _("this model classifies pairs ({class_names}) and has no score", class_names=", ".join(model.class_names)),
                "choose the task classes",
            )
        if model.labels == 1 and self.sorts_pairs:
            raise StudioError("this model returns one score per pair and has no classes", "choose the task sts or pairs")

    def require(self, roles: Roles) -> None:  # noqa: B027 (most tasks need nothing beyond their kinds)
        """Check that the columns are of a supported kind.

        Raises:
            StudioError: they do not fit, for example labels without an order.
        """

    def read(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> TaskData:
        """Read the data of a table for this task.

        Args:
            known_roles: column roles; detected if not given.

        Raises:
            StudioError: the table lacks what the task needs, or all rows have the same target.
        """
        roles = self.roles_of(table, known_roles)
        data = build_task_data(table, roles)
        if data.examples.targets is not None and len(np.unique(data.examples.targets)) < 2:
            raise StudioError(
                _("every row of {name} has the same {target}", name=table.name, target=roles.target),
                "a model can only be evaluated on rows with different values",
            )
        return data

    def roles_of(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> Roles:
        """Return the column roles of a table for this task.

        Raises:
            StudioError: the table lacks what the task needs.
        """
        roles = known_roles if isinstance(known_roles, Roles) else infer_roles(table)
        if roles.kind not in self.kinds:
            if roles is known_roles:
                wanted = join(" or ", (kind.replace("_", " ") for kind in self.kinds))
                raise StudioError(
                    _("these rows are {kind}, but {name} needs {wanted}", kind=roles.kind.replace("_", " "), name=self.name, wanted=wanted),
                    "choose another task or kind",
                )
            roles = infer_roles(table, self.kinds[0])
        self.require(roles)
        return roles


def build_task_data(table: Table, roles: Roles) -> TaskData:
    """Read the examples of a table with known column roles."""
    examples, findings = build_examples(table, roles)
    scale = None if roles.low is None or roles.high is None else (roles.low, roles.high)
    return TaskData(examples, tuple(finding.describe() for finding in findings), report_rows(table, findings, examples.lines), scale)


def require_order(roles: Roles) -> None:
    """Check that labels have an order.

    Raises:
        StudioError: they have none, so that no ranking can be derived.
    """
    if roles.kind == "labelled_pairs" and not roles.ordered:
        raise StudioError(
            _("the labels {labels} have no order, so they cannot be ranked", labels=", ".join(roles.labels[:6])), "choose the task classes"
        )


TASK_REGISTRY: Registry[Task] = Registry("evaluation")


class SimilarityTask(Task):
    """Task on pairs of which only the similarity matters."""

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return self.evaluate_similarities(similarities(encoded.vectors[0], encoded.vectors[1]), encoded.targets, by)

    @abstractmethod
    def evaluate_similarities(self, values: Mapping[str, np.ndarray], targets: np.ndarray, by: str = "cosine") -> Report:
        """Evaluate from the (n,) similarities by each measure and the (n,) targets; ``by`` is the main measure."""


class TextTask(Task):
    """Task on texts with classes. Texts are encoded one by one, so the model must return vectors."""

    kinds: ClassVar[tuple[Kind, ...]] = ("labelled_texts",)
    needs_vectors = True

    def read(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> TaskData:
        """Read the texts that have a class; see :meth:`Task.read`."""
        known = class_roles_from(known_roles) if isinstance(known_roles, Roles) else known_roles
        roles = known or class_roles(table)
        texts, labels, notes = labelled_texts(table, roles)
        names, targets = np.unique(np.array(labels, dtype=object), return_inverse=True)
        lines = table.lines[_class_columns(table, roles)[2]]
        examples = Examples("labelled_texts", (tuple(texts),), targets.astype(np.int64), lines, tuple(names.tolist()))
        return TaskData(examples, notes, class_row_report(table, roles))


def category_names(examples: Examples) -> list[str]:
    """Return the category name of each text."""
    return [] if examples.targets is None else [examples.labels[place] for place in examples.targets.tolist()]
