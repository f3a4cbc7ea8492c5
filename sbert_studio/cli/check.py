"""Command check: detect a file's format, report problems, fix or convert it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import StudioError, describe_rows
from ..workspace import require_writable_file
from .options import Dev, choose_model, open_studio, parse_overrides, with_overrides
from .output import DEFAULT_MODELS, Answer, Json, progress

if TYPE_CHECKING:
    from ..data.doctor.diagnosis import Diagnosis
    from ..data.findings import Finding
    from ..data.schema.roles import SchemaOverrides


@with_overrides
def check(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="csv, tsv, jsonl, xlsx, parquet or txt.")],
    dev: Dev = None,
    overrides: SchemaOverrides,
    fix: Annotated[bool, typer.Option("--fix", help="Apply every fix the findings offer.")] = False,
    convert: Annotated[
        str | None, typer.Option(metavar="NAME", help="Convert the rows to examples of another kind; check lists the conversions.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the fixed or converted rows for training: .csv (UTF-8) or .parquet.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="The model to be fine-tuned; none: check names and values only.", show_default=DEFAULT_MODELS),
    ] = None,
    json: Json = False,
) -> Answer:
    """Detect a file's format, report problems, and optionally fix or convert it."""
    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise StudioError(f"{out.name} is neither a CSV nor a Parquet file", "give --out a name that ends in .csv or .parquet")
        require_writable_file(out, file, dev)
    elif fix or convert:
        raise StudioError("the changed rows have nowhere to go", "add --out FILE.csv or FILE.parquet; the file that is read stays as it is")
    fixed: Sequence[Finding] = ()
    with open_studio() as studio:
        with progress("reading", "bytes") as report:
            table = studio.data.read_table(file, progress=report, overrides=overrides)
        model = choose_model(studio, model, table)
        if fix:
            table, overrides, fixed = studio.data.fix_all(table, dev=dev, overrides=overrides, model=model)
        if convert:
            table = studio.data.convert(table, convert, overrides, model)
            overrides = parse_overrides(as_read=overrides.as_read)
        with progress("checking", "rows") as report:
            found = studio.data.check(table, dev=dev, overrides=overrides, model=model, progress=report)
        if out is not None and out.suffix.lower() == ".parquet":
            table.to_parquet(out)
        elif out is not None:
            table.to_csv(out, guarded=False)
    data: dict[str, Any] = {**found.to_json(), "model": model}
    lines = [f"fixed: {finding.message}" for finding in fixed]
    if fix:
        data["fixed"] = [finding.message for finding in fixed]
    if convert:
        data["converted"] = convert
        lines.append(f"converted: {convert}")
    lines += _describe(found)
    if out is not None:
        data["out"] = str(out)
        lines.append(f"{len(table):,} rows written to {out}")
        if out.suffix.lower() == ".csv":
            lines.append("cells are written unchanged, for training; a spreadsheet may run a cell that begins with = as a formula")
    return Answer(data, lines)


def _describe(diagnosis: Diagnosis) -> list[str]:
    from ..services.questions import format_question

    lines = [f"{diagnosis.account.read:,} rows of {diagnosis.roles.kind.replace('_', ' ')}: {', '.join(diagnosis.roles.texts)}"]
    lines += [diagnosis.roles.note] if diagnosis.roles.note else []
    lines += [f"because {why}" for why in diagnosis.why]
    lines += [line for question in diagnosis.questions for line in format_question(question)]
    lines.append(diagnosis.account.describe("usable for training"))
    for finding in diagnosis.findings:
        where = f" ({describe_rows(finding.rows)})" if finding.rows else ""
        change = f" – fix: {finding.fix.label}" if finding.fix else ""
        lines.append(f"{finding.severity}: {finding.message}{where}{change}")
    counts = Counter(finding.severity for finding in diagnosis.findings)
    totals = [_plural(count, severity) for severity, count in counts.items()]
    if diagnosis.questions:
        totals.insert(0, _plural(len(diagnosis.questions), "open question"))
    lines.append(", ".join(totals) or "no problems diagnosis")
    if any(finding.fix for finding in diagnosis.findings):
        lines.append("apply the fixes: --fix --out FILE.csv")
    lines += [f"by --convert {offer.name}: {offer.describe()}" for offer in diagnosis.offers]
    return lines


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


COMMANDS = (check,)
