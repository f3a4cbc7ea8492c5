"""Diagnose a training file: its format, its problems and their fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

from pydantic import computed_field

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress
from ...serialization import OMIT_EMPTY, Internal, JsonResult, doc
from ..convert import PossibleConversion, find_conversions
from ..dev_file import build_dev_examples, find_reversed_scores
from ..examples import Examples, build_examples
from ..findings import Finding, Fix, Question, Severity, count, drop_rows_fix
from ..loading.table import Table
from ..row_report import RowReport, report_rows
from ..schema.evidence import SimilarityFunction
from ..schema.inference import infer_schema
from ..schema.roles import InferredSchema, Kind, Roles, SchemaOverrides
from ..schema.split_column import RowSplit, split_rows
from .column_checks import (
    check_balance,
    check_constant_columns,
    check_number_forms,
    check_singletons,
    check_size,
    check_swapped_cells,
    check_swapped_columns,
)
from .row_checks import (
    CheckContext,
    check_contradictions,
    check_duplicates,
    check_language,
    check_leaks,
    check_length,
    check_markup,
    check_mojibake,
    check_self_pairs,
)

_CHECKS: tuple[Callable[[CheckContext], Iterable[Finding]], ...] = (
    check_swapped_columns,
    check_swapped_cells,
    check_number_forms,
    check_constant_columns,
    check_contradictions,
    check_self_pairs,
    check_duplicates,
    check_leaks,
    check_length,
    check_language,
    check_mojibake,
    check_markup,
    check_balance,
    check_singletons,
    check_size,
)
# Their fixes depend on which end of the scale is similar: offer none while a question is unanswered.
_NEEDS_DIRECTION = (check_contradictions, check_self_pairs)
_FEW_DEV_ROWS = 30
_SEVERITY_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Diagnosis(JsonResult):
    """The detected kind of a file, and its problems.

    Attributes:
        examples: its usable rows.
        dev_examples: the usable rows of the held-out file, or else of the validation part of this file, if they can be used.
    """

    roles: Annotated[Roles, doc("inferred or given")]
    rows: Annotated[int, doc("number of rows of the file")]
    examples: Internal[Examples]
    findings: Annotated[tuple[Finding, ...], doc("the most severe first")]
    account: Annotated[RowReport, doc("those usable for training count as used")]
    questions: Annotated[tuple[Question, ...], doc("empty if everything is certain")] = ()
    why: Annotated[tuple[str, ...], doc("the reasons for the roles, a sentence each")] = ()
    dev_examples: Internal[Examples | None] = None
    dev_account: Annotated[RowReport | None, doc("rows of the held-out file"), OMIT_EMPTY] = None
    split: Annotated[RowSplit | None, doc("parts to which a column assigns the rows; those for training are diagnosed")] = None

    @computed_field(description="the kind of the rows")  # type: ignore[prop-decorator]
    @property
    def kind(self) -> Kind:
        return self.roles.kind

    @computed_field  # type: ignore[prop-decorator]
    @property
    def certain(self) -> bool:
        return not self.questions

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that prevent training."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @computed_field(description="whether no finding forbids training")  # type: ignore[prop-decorator]
    @property
    def usable(self) -> bool:
        return not self.errors

    def with_finding(self, severity: Severity, message: str) -> Diagnosis:
        return self.with_findings(Finding(severity, message))

    def with_findings(self, *findings: Finding) -> Diagnosis:
        return replace(self, findings=_by_severity([*self.findings, *findings]))

    @computed_field(description="possible conversions; none while a question is open")  # type: ignore[prop-decorator]
    @cached_property
    def offers(self) -> tuple[PossibleConversion, ...]:
        """Possible conversions; none while a question is unanswered, because a conversion would silently decide it."""
        return () if self.questions else find_conversions(self.examples)


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
    uses_own_dev: bool = True,
) -> Diagnosis:
    """Diagnose a training file. If a column assigns rows to splits, only the training rows are diagnosed.

    Args:
        table: the file.
        roles: the roles of its columns (no questions remain), the user's overrides, or an inferred schema; None: infer them.
        dev: the held-out file, checked for overlap with the training file.
        tokenize: returns the number of tokens of each text, including special tokens.
        max_tokens: the maximum sequence length of the model.
        languages: ISO 639-1 codes of the model's languages, such as ``("en",)``; None: unknown.
        multilingual: the multilingual model to suggest; empty if none is installed.
        similar: a model's cosine similarities, used to infer the roles; None: infer them without a model.
        progress: called with (done, total) in rows.
        uses_own_dev: use the validation part of the file, if it has one and there is no held-out file.

    Raises:
        StudioError: the table contains no examples of any kind, or no usable rows.
    """
    if isinstance(roles, Roles):
        reading = InferredSchema(roles)
    else:
        reading = roles if isinstance(roles, InferredSchema) else infer_schema(table, roles, similar=similar)
    roles = reading.roles
    uses_own_dev = uses_own_dev and dev is None
    split, split_findings = _split(table, roles, uses_own_dev=uses_own_dev)
    trained = table if split is None else split.select("train")
    examples, skipped = build_examples(trained, roles)
    if split is not None and uses_own_dev and split.has("dev"):
        dev_examples, dev_findings, dev_account = _build_own_dev(split, roles)
    else:
        dev_examples, dev_findings, dev_account = _diagnose_dev(dev, roles, examples, similar)
    if dev_examples is not None and len(dev_examples) < _FEW_DEV_ROWS:
        rows = count(len(dev_examples), "row")
        dev_findings.append(
            Finding(
                "warning",
                _("only {rows} for validation: too few for a reliable score; provide {few} or more", rows=rows, few=_FEW_DEV_ROWS),
            )
        )
    context = CheckContext(
        trained, roles, examples, dev_examples, tokenize, max_tokens, tuple(languages) if languages else None, multilingual
    )
    saturation = [Finding("info", reading.saturation)] if reading.saturation else []
    findings = [*table.notes, *split_findings, *skipped, *dev_findings, *saturation]
    if progress is not None:
        progress(0, len(table))
    for done, check in enumerate(_CHECKS, 1):
        is_guess = bool(reading.questions) and check in _NEEDS_DIRECTION
        findings += [replace(finding, fix=None) if is_guess else finding for finding in check(context)]
        if progress is not None:
            progress(len(table) * done // len(_CHECKS), len(table))
    unused = () if split is None else split.unused(uses_dev=uses_own_dev)
    held_out = dev_examples.lines if dev is None and dev_examples is not None else ()
    account = report_rows(table, [*findings, *unused], examples.lines, held_out)
    ordered = drop_each_row_once(_by_severity(findings))
    return Diagnosis(roles, len(table), examples, ordered, account, reading.questions, reading.why, dev_examples, dev_account, split)


def _split(table: Table, roles: Roles, *, uses_own_dev: bool) -> tuple[RowSplit | None, list[Finding]]:
    """Return the split of the table, if it has a split column and training rows, and findings about it."""
    split = None if roles.split is None else split_rows(table, roles.split)
    if split is None:
        return None, []
    if split.has("train"):
        return split, [Finding("info", split.describe(uses_dev=uses_own_dev)), *split.report_other()]
    message = _("the column {column} assigns no row to training", column=repr(split.column))
    fix = Fix("drop_column", _("Remove {column} and train on all rows", column=split.column), {"column": split.column})
    return None, [Finding("error", message, fix=fix)]


def _build_own_dev(split: RowSplit, roles: Roles) -> tuple[Examples | None, list[Finding], None]:
    try:
        examples, findings = build_examples(split.select("dev"), roles)
    except StudioError as error:
        return None, [Finding("warning", error.message, tuple(error.rows))], None
    return examples, list(findings), None


def _by_severity(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: _SEVERITY_ORDER[finding.severity]))


def drop_each_row_once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Restrict each fix that drops rows to rows that no earlier fix drops."""
    dropped: set[int] = set()
    restricted = []
    for finding in findings:
        rows = set(finding.dropped_rows)
        new = tuple(sorted(rows - dropped))
        dropped |= rows
        if rows and not new:
            restricted.append(replace(finding, message=f"{finding.message}; a fix above removes them as well", fix=None))
        elif len(new) < len(rows):
            restricted.append(replace(finding, fix=drop_rows_fix(new, f"Remove the other {count(len(new), 'row')}")))
        else:
            restricted.append(finding)
    return tuple(restricted)


def _diagnose_dev(
    dev: Table | None, roles: Roles, train: Examples, similar: SimilarityFunction | None
) -> tuple[Examples | None, list[Finding], RowReport | None]:
    if dev is None:
        return None, [], None
    try:
        examples, notes = build_dev_examples(dev, roles, similar)
        if why := find_reversed_scores(train, examples, similar):
            raise StudioError(
                _("its scores or labels seem to be reversed ({why})", why=why),
                "reverse them to match the training file, or do not use the file",
            )
    except StudioError as error:
        hint = _("; {hint}", hint=error.hint) if error.hint else ""
        return None, [Finding("error", _("the held-out file cannot be used: {message}{hint}", message=error.message, hint=hint))], None
    account = report_rows(dev, notes, examples.lines)
    findings = (
        [Finding("warning", _("the held-out file: {account}", account=account.describe("for validation")))] if account.skipped else []
    )
    findings += [Finding(note.severity, _("the held-out file: {message}", message=note.message)) for note in notes if not note.rows]
    return examples, findings, account
