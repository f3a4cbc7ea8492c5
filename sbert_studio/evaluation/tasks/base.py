"""Which column holds the texts and which their classes.

What every evaluation task says of itself: what it judges by, of which model, and which of its numbers counts.

What the tasks share that judge by texts with a category: any column of classes beside any column of texts will do.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ...data.accounts import RowAccount, account_of
from ...data.columns.roles import Kind
from ...data.examples import detect_roles
from ...data.findings import Finding
from ...data.values.no_answer import answered
from ...errors import StudioError, describe_rows
from ...registry import Registry
from ..report import COMPARED_BY

if TYPE_CHECKING:
    import numpy as np

    from ...data.columns.roles import Roles
    from ...data.examples import Examples, Roles
    from ...data.progress import Progress
    from ...data.tables import Table
    from ...models.pair_scorer import PairScorer
    from ..report import Report
    from .categories import Known


@dataclass(frozen=True)
class ClassRoles:
    """The column of texts and the column of their classes."""

    text: str
    label: str


def class_roles(table: Table) -> ClassRoles:
    """The text column, and the column of topics, classes or labels beside it.

    Raises:
        StudioError: the table has no text, or no column that can hold classes.
    """
    with contextlib.suppress(StudioError):
        found = detect_roles(table)
        if found.kind == "labelled_texts" and found.target is not None:
            return ClassRoles(found.texts[0], found.target)
    roles = detect_roles(table, "sentences")
    if roles.group is None:
        raise StudioError(
            f"no column of {table.name} can hold classes",
            "needed are a column of texts and one of classes, with at least two classes and several rows of each",
        )
    return ClassRoles(roles.texts[0], roles.group)


def class_roles_of(roles: Roles) -> ClassRoles | None:
    """The text and the category or group of a table whose columns are known; ``None`` where they name none."""
    label = roles.target if roles.kind == "labelled_texts" else roles.group if roles.kind == "sentences" else None
    return None if label is None else ClassRoles(roles.texts[0], label)


def class_account(table: Table, roles: ClassRoles) -> RowAccount:
    """What became of the rows: those with a text and a class are judged."""
    both = zip(answered(table.column(roles.text)), table.column(roles.label), strict=True)
    blank = [not (text.strip() and label.strip()) for text, label in both]
    rows = tuple(table.lines[np.array(blank, dtype=bool)].tolist())
    left = [Finding("warning", "left out", rows, left_out="no text or no class")] if rows else []
    return account_of(table, left, np.setdiff1d(table.lines, rows))


def classed_texts(table: Table, roles: ClassRoles) -> tuple[list[str], list[str], tuple[str, ...]]:
    """The texts, their classes, and a note on the rows left out because one of the two is blank.

    Raises:
        StudioError: fewer than two classes are left.
    """
    texts, labels, blank = [], [], []
    for text, label, line in zip(answered(table.column(roles.text)), table.column(roles.label), table.lines, strict=True):
        if text.strip() and label.strip():
            texts.append(text)
            labels.append(label.strip())
        else:
            blank.append(int(line))
    if len(set(labels)) < 2:
        raise StudioError(f"the column {roles.label!r} holds a single class", "give texts of at least two classes")
    notes = (f"left out for a blank text or class: {describe_rows(blank)}",) if blank else ()
    return texts, labels, notes


@dataclass(frozen=True)
class Shape:
    """What decides which task fits some examples where nobody has said.

    Attributes:
        kind: of the examples.
        labels: how many classes there are.
        ordered: whether a later class means more alike.
        classed: whether texts of no kind that judges have a column of classes beside them.
        gives: what the model gives: a vector a text, a score a pair, or a class a pair.
    """

    kind: Kind
    labels: int = 0
    ordered: bool = True
    classed: bool = False
    gives: Literal["vectors", "score", "class"] = "vectors"


@dataclass(frozen=True, eq=False)
class Rows:
    """What a table holds for a task.

    Attributes:
        examples: what is judged.
        notes: in words, which rows were left out and why.
        account: what became of every row.
        scale: of scored pairs, the scores of least and of most alike.
        known: others whose answers are known, for a task that can use them (see :attr:`Task.uses_known`).
        dev: those of them by which a setting is chosen, if they are set apart.
    """

    examples: Examples
    notes: tuple[str, ...]
    account: RowAccount
    scale: tuple[float, float] | None = None
    known: Examples | None = None
    dev: Examples | None = None


@dataclass(frozen=True, eq=False)
class WithVectors:
    """Examples, and the (n, d) vectors of each of their text columns."""

    examples: Examples
    vectors: Sequence[np.ndarray]


class Task(ABC):
    """One way to judge a model.

    Attributes:
        order: where it stands in lists.
        title: what people call it; ``help`` says in a sentence what is measured.
        kinds: the kinds of examples that it judges by, the usual one first.
        main: where in a report's scores the one number lies that says which of two models is better. Of a model that scores pairs the
            last step lies in ``pair``.
        smaller_is_better: whether a smaller main number is the better one; of no task that is found from the examples.
        needs_vectors: whether a model that only scores pairs cannot be judged by it.
        ranks_candidates: whether a model that scores pairs, and reads candidates by themselves, can be judged by it nevertheless.
        sorts_pairs: of the models that score pairs, whether it is for those that give a class in place of a score.
        pools: whether the literature also judges the rows of several files as one set ("all").
        beside_known: whether judged texts are laid beside others, if there are any whose answers are known.
        by_similarity: whether it judges by how alike the two texts of each pair are, and by nothing else (see :meth:`judge_alike`).
        learns: whether it learns from others whose answers are known, if there are any (see :meth:`judge_taught`).
        known_use: what such rows are for, and what happens without them, to whoever may give some.
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
    by_similarity: ClassVar[bool] = False
    pools: ClassVar[bool] = False
    beside_known: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    known_use: ClassVar[str] = ""
    smaller_is_better: ClassVar[bool] = False

    @property
    def uses_known(self) -> bool:
        """Whether examples whose answers are known are of use to it, beside those that are judged."""
        return self.learns or self.beside_known

    @abstractmethod
    def fits(self, shape: Shape) -> bool:
        """Whether this is the task for such examples; no two tasks fit the same."""

    @abstractmethod
    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """Judge a model by the (n, d) vectors of each text column.

        Args:
            known: of a task that is ``beside_known``, texts whose answers are known.
            by: how the model compares (:attr:`~sbert_studio.models.base.Encoder.similarity_name`); tasks that compare no two texts, or
                sort them into classes, go by the cosine.
        """

    def judge_alike(self, targets: np.ndarray, alike: Mapping[str, np.ndarray], by: str = "cosine") -> Report:
        """Of a task that judges ``by_similarity``: judge by (n,) targets and the four :func:`~..similarity.similarities` of each pair."""
        raise StudioError(f"{self.name} judges by more than how alike two texts are", "judge it on pairs with a score or a label")

    def judge_taught(self, judged: WithVectors, known: WithVectors, dev: WithVectors | None) -> Report:
        """Of a task that ``learns``: learn from ``known``, choose settings by ``dev``, judge on ``judged``."""
        raise StudioError(f"{self.name} learns from no other rows", "give only what is to be judged")

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """Judge a model by what it gives :meth:`pairs`: (n,) scores, or (n, c) logits of ``classes``."""
        raise StudioError(f"{self.name} needs a vector of each text", "judge it on pairs with a score or a label")

    def judge_ranking(self, examples: Examples, model: PairScorer, progress: Progress | None) -> Report:
        """Of a task that ``ranks_candidates``: judge a model that scores a query with candidates whose vectors are given."""
        raise StudioError(f"{self.name} ranks no candidates", "judge the model on pairs with a score or a label")

    def pairs(self, examples: Examples) -> list[tuple[str, str]]:
        """The pairs of texts that a model is asked to score."""
        return list(zip(examples.texts[0], examples.texts[1], strict=True))

    def place_of_main(self, scores: Mapping[str, Any]) -> tuple[str, ...]:
        """Where the one number lies that counts, in the scores of a report of this task."""
        if "pair" in scores:
            return ("pair", self.main[-1])
        return (str(scores[COMPARED_BY]), self.main[-1]) if COMPARED_BY in scores else self.main

    def averaged(self, scores: Mapping[str, Any]) -> dict[str, Any]:
        """Those numbers of a report's scores of which a mean over several files is told, nested as they are there: the main one."""
        place = self.place_of_main(scores)
        value: Any = scores
        for step in place:
            value = value[step]
        for step in reversed(place):
            value = {step: value}
        return dict(value)

    def require_pairs(self, model: PairScorer) -> None:
        """Raises:
        StudioError: the task compares vectors, which this model that scores pairs does not have.
        """
        if self.needs_vectors and (model.candidates is None or not self.ranks_candidates):
            kind = (
                "a cross-encoder has none" if model.candidates is None else "a poly-encoder compares several of one with one of the other"
            )
            raise StudioError(f"{self.name} needs a vector of each text, and {kind}", "judge it on pairs with a score or a label")

    def require_scorer(self, model: PairScorer) -> None:
        """Raises:
        StudioError: the model gives pairs a class where the task needs a score, or the other way round, or the task needs vectors.
        """
        self.require_pairs(model)
        if model.labels > 1 and not self.sorts_pairs:
            raise StudioError(
                f"this model sorts pairs into classes ({', '.join(model.class_names)}) and has no score", "choose the task classes"
            )
        if model.labels == 1 and self.sorts_pairs:
            raise StudioError("this model gives a pair one score and knows no classes", "choose the task sts or pairs")

    def require(self, roles: Roles) -> None:  # noqa: B027 (most tasks ask for nothing more than their kinds)
        """Raises:
        StudioError: columns of the right kind still do not fit, such as labels without an order.
        """

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """What a table holds for this task.

        Args:
            known: what the columns are; found by names and values where it is not said.

        Raises:
            StudioError: the table does not hold what the task needs, or all its rows have the same target.
        """
        import numpy as np

        from ...data.accounts import account_of
        from ...data.examples import build_examples

        roles = self.roles_of(table, known)
        examples, findings = build_examples(table, roles)
        if examples.targets is not None and len(np.unique(examples.targets)) < 2:
            raise StudioError(f"every row of {table.name} has the same {roles.target}", "a model can only be judged where they differ")
        account = account_of(table, findings, examples.lines)
        scale = None if roles.low is None or roles.high is None else (roles.low, roles.high)
        return Rows(examples, tuple(finding.in_words() for finding in findings), account, scale)

    def roles_of(self, table: Table, known: Roles | ClassRoles | None = None) -> Roles:
        """What the columns of a table are for this task.

        Raises:
            StudioError: it has not what the task needs.
        """
        from ...data.examples import Roles, detect_roles

        said = known if isinstance(known, Roles) else None
        roles = said or detect_roles(table)
        if roles.kind not in self.kinds:
            if said is not None:
                wanted = " or ".join(kind.replace("_", " ") for kind in self.kinds)
                raise StudioError(
                    f"these rows are {roles.kind.replace('_', ' ')}, and {self.name} needs {wanted}", "choose another task or kind"
                )
            roles = detect_roles(table, self.kinds[0])
        self.require(roles)
        return roles


def require_order(roles: Roles) -> None:
    """Raises:
    StudioError: the labels have no order that a ranking could follow.
    """
    if roles.kind == "labelled_pairs" and not roles.ordered:
        raise StudioError(f"the labels {', '.join(roles.labels[:6])} have no order that a ranking could follow", "choose classes")


REGISTRY: Registry[Task] = Registry("evaluation")


class OfTexts(Task):
    """A task of texts and their classes. It looks at each text alone, so that a model needs vectors for it."""

    kinds: ClassVar[tuple[Kind, ...]] = ("labelled_texts",)
    needs_vectors = True

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """The texts that have a class; see :meth:`.base.Task.read`."""
        import numpy as np

        from ...data.examples import Examples

        found = known if isinstance(known, ClassRoles) else class_roles_of(known) if known is not None else None
        roles = found or class_roles(table)
        texts, labels, notes = classed_texts(table, roles)
        account = class_account(table, roles)
        names = tuple(sorted(set(labels)))
        places = {name: place for place, name in enumerate(names)}
        targets = np.fromiter((places[label] for label in labels), np.int64, len(labels))
        left = [row for reason in account.reasons for row in reason.rows]
        lines = table.lines[~np.isin(table.lines, left)]
        return Rows(Examples("labelled_texts", (tuple(texts),), targets, lines, names), notes, account)


def categories_of(examples: Examples) -> list[str]:
    """The name of each text's category."""
    return [] if examples.targets is None else [examples.labels[place] for place in examples.targets.tolist()]
