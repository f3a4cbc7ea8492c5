"""The data doctor: what is wrong with a training file, where, and the mend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...errors import StudioError
from ..accounts import RowAccount, account_of
from ..conversion.conversions import Offer, offers
from ..examples import Examples, build_examples
from ..findings import Finding, Severity, count, drop_rows
from ..loading.table import Table
from ..progress import Progress
from ..questions import Question
from ..schema.evidence import SimilarityFunction
from ..schema.inference import infer_schema
from ..schema.overrides import SchemaOverrides
from ..schema.roles import InferredSchema, Roles
from ..splits.held_out import build_like, opposed
from .checks.amounts import imbalance, lonely, too_few
from .checks.columns import constant_columns, swapped_cells, swapped_columns
from .checks.context import CheckContext
from .checks.leaks import leaks
from .checks.numbers import mixed_forms
from .checks.repeats import contradictions, duplicates, same_on_both_sides
from .checks.texts import mojibake, truncated, wrong_language
from .mends import mend

__all__ = ["Diagnosis", "diagnose", "mend"]

_CHECKS: tuple[Callable[[CheckContext], list[Finding]], ...] = (
    swapped_columns,
    swapped_cells,
    mixed_forms,
    constant_columns,
    contradictions,
    same_on_both_sides,
    duplicates,
    leaks,
    truncated,
    wrong_language,
    mojibake,
    imbalance,
    lonely,
    too_few,
)
# What these offer rests on which rows are most alike: nothing of it is offered while that is open.
_BY_DIRECTION = (contradictions, same_on_both_sides)
_GRAVITY = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Diagnosis:
    """What a file is and what is wrong with it.

    Attributes:
        roles: the columns' parts, found or given.
        rows: the rows of the file.
        examples: its usable rows.
        findings: the gravest first.
        account: what became of every row of the file; those that can be learned from are used.
        questions: what only the owner can say; none where all is certain.
        why: what tells what the columns are, a sentence each.
        held_out: the usable rows of the held-out file, where one was given that can be used; ``held_account``: what became of every
            row of it.
    """

    roles: Roles
    rows: int
    examples: Examples
    findings: tuple[Finding, ...]
    account: RowAccount
    questions: tuple[Question, ...] = ()
    why: tuple[str, ...] = ()
    held_out: Examples | None = None
    held_account: RowAccount | None = None

    @property
    def certain(self) -> bool:
        """Whether nothing is left to ask."""
        return not self.questions

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings with which nothing should be trained."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def usable(self) -> bool:
        """Whether it can be trained on: no finding is an error."""
        return not self.errors

    def noting(self, severity: Severity, message: str) -> Diagnosis:
        """The same with one finding more."""
        found = (*self.findings, Finding(severity, message))
        return replace(self, findings=tuple(sorted(found, key=lambda finding: _GRAVITY[finding.severity])))

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """The conversions that fit, each tried; none while something is to be asked, for they would make it come true."""
        return () if self.questions else offers(self.examples)

    def to_json(self) -> dict[str, Any]:
        """``kind, certain, questions, usable, why, roles, rows, account, dev_account, findings, offers`` as plain data."""
        return {
            "kind": self.roles.kind,
            "certain": self.certain,
            "questions": [question.to_json() for question in self.questions],
            "usable": self.usable,
            "why": list(self.why),
            "roles": self.roles.to_json(),
            "rows": self.rows,
            "account": self.account.to_json(),
            **({"dev_account": self.held_account.to_json()} if self.held_account else {}),
            "findings": [finding.to_json() for finding in self.findings],
            "offers": [offer.to_json() for offer in self.offers],
        }


def diagnose(
    table: Table,
    roles: Roles | SchemaOverrides | InferredSchema | None = None,
    dev: Table | None = None,
    tokenize: Callable[[Sequence[str]], list[int]] | None = None,
    max_tokens: int | None = None,
    *,
    languages: Sequence[str] | None = None,
    multilingual: str = "",
    similar: SimilarityFunction | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Examine a training file.

    Args:
        table: the file.
        roles: its columns' parts, which leave nothing to ask; or what was said of them, or how they were read; found out if None.
        dev: the held-out file, to look for sentences on both sides.
        tokenize: gives the number of tokens of each text, special tokens included.
        max_tokens: the most tokens that the model reads.
        similar: the cosines of a model, where the columns' parts are to be found out; None: without a model.
        languages: ISO 639-1 codes of the model's languages, such as ``("en",)``; None: unknown, nothing is said.
        multilingual: the model that a finding about the language proposes; empty where none is at hand.
        progress: told how many rows' worth of the checks is done, and the number of rows.

    Raises:
        StudioError: no kind of examples can be had from the table, or no row is usable.
    """
    if isinstance(roles, Roles):
        reading = InferredSchema(roles)
    else:
        reading = roles if isinstance(roles, InferredSchema) else infer_schema(table, roles, similar=similar)
    roles = reading.roles
    examples, left_out = build_examples(table, roles)
    held_out, dev_findings, held_account = _held_out(dev, roles, examples, similar)
    known = tuple(languages) if languages else None
    patient = CheckContext(table, roles, examples, held_out, tokenize, max_tokens, known, multilingual)
    found = [*table.notes, *left_out, *dev_findings, *([Finding("info", reading.saturation)] if reading.saturation else [])]
    if progress is not None:
        progress(0, len(table))
    for done, check in enumerate(_CHECKS, 1):
        guessed = bool(reading.questions) and check in _BY_DIRECTION
        found += [replace(finding, mend=None) if guessed else finding for finding in check(patient)]
        if progress is not None:
            progress(len(table) * done // len(_CHECKS), len(table))
    account = account_of(table, found, examples.lines)
    ordered = each_row_offered_once(sorted(found, key=lambda finding: _GRAVITY[finding.severity]))
    return Diagnosis(roles, len(table), examples, ordered, account, reading.questions, reading.why, held_out, held_account)


def each_row_offered_once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, of which none offers to leave out rows that an earlier one offers to leave out already."""
    offered: set[int] = set()
    return tuple(_still_to_offer(finding, offered) for finding in findings)


def _still_to_offer(finding: Finding, offered: set[int]) -> Finding:
    """A finding without the rows that were offered before; what it offers itself is added to these."""
    if finding.mend is None or finding.mend.name != "drop_rows":
        return finding
    rows = {int(row) for row in finding.mend.values["rows"]}
    new = tuple(sorted(rows - offered))
    offered |= rows
    if not new:
        return replace(finding, message=f"{finding.message}; what is offered above leaves them out as well", mend=None)
    if len(new) < len(rows):
        return replace(finding, mend=drop_rows(new, f"Leave out the other {count(len(new), 'row')}"))
    return finding


def _held_out(
    dev: Table | None, roles: Roles, learned: Examples, similar: SimilarityFunction | None
) -> tuple[Examples | None, list[Finding], RowAccount | None]:
    if dev is None:
        return None, [], None
    try:
        examples, found = build_like(dev, roles, similar)
        if why := opposed(learned, examples, similar):
            raise StudioError(
                f"its rows seem to stand the other way round ({why})",
                "turn its scores or labels round, so that they mean what those of the training file mean, or leave the file out",
            )
    except StudioError as error:
        mends = f"; {error.hint}" if error.hint else ""
        return None, [Finding("error", f"the held-out file cannot be used: {error.message}{mends}")], None
    account = account_of(dev, found, examples.lines)
    told = [Finding("warning", f"the held-out file: {account.in_words('to judge by')}")] if account.left_out else []
    told += [Finding(one.severity, f"the held-out file: {one.message}") for one in found if not one.rows]
    return examples, told, account
