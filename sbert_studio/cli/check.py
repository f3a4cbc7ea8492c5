"""``check``: detect a file's format, report problems, and write a fixed or converted copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import StudioError, describe_rows
from ..workspace import require_writable_file
from .options import choose_model, open_studio, parse_overrides, with_overrides
from .output import Answer, Json, progress

if TYPE_CHECKING:
    from ..data.doctor.diagnosis import Diagnosis
    from ..data.findings import Finding
    from ..data.schema.overrides import SchemaOverrides

Dev = Annotated[Path | None, typer.Option(metavar="FILE", help="Held-out rows to judge by, in the same columns.")]

CheckModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="The model that is to be tuned, whose similarity is looked at; none: names and values only.",
        show_default="all-MiniLM-L6-v2; multilingual-e5-small for texts that are mostly not English",
    ),
]


@with_overrides
def check(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="csv, tsv, jsonl, xlsx, parquet or txt.")],
    dev: Dev = None,
    said: SchemaOverrides,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the fixes of all findings.")] = False,
    convert: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make the rows into examples of another kind; check names those that fit.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the fixed or converted rows: .csv in UTF-8 or .parquet, cell for cell."),
    ] = None,
    model: CheckModel = None,
    json: Json = False,
) -> Answer:
    """Detect a file's format, report problems, and optionally fix or convert it."""
    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise StudioError(f"{out.name} is called neither a CSV nor a Parquet", "give --out a name that ends in .csv or .parquet")
        require_writable_file(out, file, dev)
    elif fix or convert:
        raise StudioError("the changed rows have nowhere to go", "add --out FILE.csv or FILE.parquet; the file that is read stays as it is")
    fixed: Sequence[Finding] = ()
    with open_studio() as studio:
        with progress("reading", "bytes") as show:
            table = studio.data.read_table(file, progress=show, overrides=said)
        model = choose_model(studio, model, table)
        if fix:
            table, said, fixed = studio.data.fix_all(table, dev=dev, overrides=said, model=model)
        if convert:
            table, said = studio.data.convert(table, convert, said, model), parse_overrides(as_read=said.as_read)
        with progress("checking", "rows") as show:
            found = studio.data.check(table, dev=dev, overrides=said, model=model, progress=show)
        if out is not None:
            if out.suffix.lower() == ".parquet":
                table.to_parquet(out)
            else:
                table.to_csv(out, guarded=False)
    data: dict[str, Any] = {**found.to_json(), "model": model}
    lines = [f"fixed: {finding.message}" for finding in fixed]
    if fix:
        data["fixed"] = [finding.message for finding in fixed]
    if convert:
        data["converted"] = convert
        lines.append(f"converted: {convert}")
    lines += _told(found)
    if out is not None:
        data["out"] = str(out)
        lines.append(f"{len(table):,} rows written to {out}")
        if out.suffix.lower() == ".csv":
            lines.append("its cells are as they were, to train on; a spreadsheet may take one that begins with = for a formula")
    return Answer(data, lines)


def _told(found: Diagnosis) -> list[str]:
    """A diagnosis in words."""
    from ..services.questions import format_question

    lines = [f"{found.account.read:,} rows of {found.roles.kind.replace('_', ' ')}: {', '.join(found.roles.texts)}"]
    lines += [found.roles.note] if found.roles.note else []
    lines += [f"because {why}" for why in found.why]
    lines += [line for question in found.questions for line in format_question(question)]
    lines.append(found.account.describe("usable for training"))
    for finding in found.findings:
        where = f" ({describe_rows(finding.rows)})" if finding.rows else ""
        change = f" – can be fixed: {finding.fix.label}" if finding.fix else ""
        lines.append(f"{finding.severity}: {finding.message}{where}{change}")
    counts = Counter(finding.severity for finding in found.findings)
    counted = [f"{count} {severity}{'s' if count != 1 else ''}" for severity, count in counts.items()]
    counted = [f"{len(found.questions)} open question{'s' if len(found.questions) != 1 else ''}", *counted] if found.questions else counted
    lines.append(", ".join(counted) or "no problems found")
    if any(finding.fix for finding in found.findings):
        lines.append("write a fixed copy with --fix --out FILE.csv")
    lines += [f"by --convert {offer.name}: {offer.describe()}" for offer in found.offers]
    return lines


COMMANDS = (check,)
