"""Commands that make and check training data: ``pairs``, ``negatives`` and ``labels``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import StudioError
from ..registry import parse_params
from ..workspace import require_writable_file
from .completion import complete_runs, one_of
from .options import FormatOptions, LlmOptions, open_studio, with_options
from .output import Answer, Json, Model, one_line, print_message, print_notes, progress, progress_by_phase
from .train import parse_settings

if TYPE_CHECKING:
    from ..explore.hard_negatives import NegativeOptions
    from ..services import Studio
    from ..services.written_queries import WritingOptions

_MARGINS = ("relative-margin", "absolute-margin", "max-score", "min-score")
_LEAST_SHOWN = 10  # suspicious labels
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE.jsonl", help="Output file, which train reads.")]


@dataclass(frozen=True)
class WritingArguments(LlmOptions):
    """Options of queries written by a language model."""

    llm_prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Instruction for the language model.", show_default="built-in")
    ] = None
    llm_examples: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your own queries, one column, or with the passage that answers them in a second.")
    ] = None
    llm_passages: Annotated[int, typer.Option(min=0, help="Number of passages, drawn at random; 0 for all.")] = 0
    llm_depth: Annotated[int, typer.Option(min=0, help="Keep a query if its document is among this number of first hits; 0 keeps all.")] = 1
    llm_price: Annotated[str, typer.Option(metavar="IN,OUT", help="Prices of a million tokens, for the estimate.", show_default="none")] = (
        ""
    )

    def options(self, studio: Studio, seed: int) -> WritingOptions:
        """Return the options of the service; read the instruction and the examples."""
        from ..services.written_queries import INSTRUCTION, WritingOptions

        known: tuple[tuple[str, str], ...] = ()
        if self.llm_examples is not None:
            table = studio.data.read_table(self.llm_examples)
            columns = [table.column(name) for name in table.columns[:2]]
            known = tuple(zip(columns[0], columns[1] if len(columns) > 1 else [""] * len(table), strict=True))
        try:
            instruction = INSTRUCTION if self.llm_prompt is None else self.llm_prompt.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise StudioError(
                f"the instruction {self.llm_prompt} cannot be read: {reason}", "specify a text file with --llm-prompt"
            ) from None
        try:
            prices = [float(one) for one in self.llm_price.split(",")] if self.llm_price else []
        except ValueError:
            prices = [-1]
        if prices and (len(prices) != 2 or not all(0 <= one < math.inf for one in prices)):
            raise StudioError(f"--llm-price is {self.llm_price!r}", "write two numbers, such as 0.15,0.60")
        return WritingOptions(instruction, known, self.llm_passages, self.llm_depth, (prices[0], prices[1]) if prices else None, seed)


@with_options
def pairs(
    *,
    documents: Annotated[
        list[Path],
        typer.Argument(metavar="DOCUMENTS", help="Folder, zip, BEIR folder, table with title and text, or txt, md, html, docx, pdf."),
    ],
    out: Out,
    sources: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="A,B",
            autocompletion=one_of(("structure", "crop", "llm")),
            help="structure: headings, questions, first sentences; crop: sentences and spans; llm: written.",
        ),
    ] = "structure,crop",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 12,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="cloze, crops: queries per passage; fill=no: crops of all passages; keep."),
    ] = None,
    llm: WritingArguments,
    plan: Annotated[bool, typer.Option("--plan", help="Only estimate the time and cost of --from llm, from a few queries.")] = False,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Make training pairs of queries and passages from documents alone; print ten pairs of each origin.

    With --from llm, a language model writes a query for each passage. Its answers are cached: the same command resumes an interrupted one.
    """
    from ..data.document_pairs import PairOptions

    _require_json_lines(out, *documents, llm.llm_prompt, llm.llm_examples)
    names = [name.strip() for name in sources.split(",") if name.strip()]
    if plan and "llm" not in names:
        raise StudioError("--plan estimates the queries of a language model", "add --from llm, or omit --plan")
    with open_studio() as studio, progress_by_phase() as begin_phase:
        language_model = studio.language_models.open(llm.llm_url, llm.llm_model) if "llm" in names else None
        writing = llm.options(studio, seed)
        source = studio.pairs.read(documents, model, begin_phase)
        if language_model is not None:
            estimate = studio.pairs.estimate(source, language_model, writing)
            if plan:
                return Answer(estimate.to_json(), [estimate.describe()])
            print_message(estimate.describe())
        options = parse_params(PairOptions, {"seed": seed, **parse_settings(sets or ())})
        found = studio.pairs.make(source, names, options, language_model=language_model, writing=writing, begin_phase=begin_phase)
    found.write(out)
    print_notes(None, "", found.notes)
    lines: list[str | list[str]] = [f"{found.describe()} Written to {out}."]
    for origin in dict.fromkeys((*found.kept, *found.dropped)):
        reasons = ", ".join(f"{reason} {number:,}" for reason, number in found.dropped.get(origin, {}).items())
        lines.append(f"{origin}: {found.kept.get(origin, 0):,} pairs" + (f"; dropped: {reasons}" if reasons else ""))
        lines += [f"  {one_line(pair.query, 60)} → {one_line(pair.document, 80)}" for pair in found.examples if pair.origin == origin]
    return Answer({**found.to_json(), "out": str(out)}, [*lines, f"next: sbert-studio train {out}"])


@dataclass(frozen=True)
class NegativeArguments:
    """Options of the choice of hard negatives."""

    k: Annotated[int, typer.Option("-k", "--k", min=1, max=50, help="Negatives per pair.")] = 1
    relative_margin: Annotated[
        float | None,
        typer.Option(
            help="Reject texts above the positive's score minus this share of it; negative: no such margin.",
            show_default="5 % of what it exceeds unrelated texts by",
        ),
    ] = None
    absolute_margin: Annotated[
        float | None, typer.Option(help="Reject texts above the positive's score minus this.", show_default="none")
    ] = None
    max_score: Annotated[float | None, typer.Option(help="Highest score of a negative.", show_default="none")] = None
    min_score: Annotated[float | None, typer.Option(help="Lowest score of a negative.", show_default="none")] = None
    skip: Annotated[int, typer.Option(min=0, help="Number of best remaining texts to skip.")] = 0
    depth: Annotated[int, typer.Option(min=0, help="Number of texts to consider per pair.", show_default="ten per negative")] = 0

    def options(self) -> NegativeOptions:
        """Return the options of the service; a negative relative margin means that there is none."""
        from ..explore.hard_negatives import NegativeOptions

        margins = self.relative_margin, self.absolute_margin, self.max_score, self.min_score
        for name, number in zip(_MARGINS, margins, strict=True):
            if number is not None and math.isnan(number):
                raise StudioError(f"--{name} is not a number", "specify a number, such as 0.05")
        if self.relative_margin is None:
            return NegativeOptions(self.k, NegativeOptions.relative_margin, *margins[1:], self.skip, self.depth, baseline=None)
        margin = self.relative_margin if self.relative_margin >= 0 else None
        return NegativeOptions(self.k, margin, *margins[1:], self.skip, self.depth)


@with_options
def negatives(
    *,
    file: Annotated[Path, typer.Argument(metavar="PAIRS", help="Pairs of texts that belong together: jsonl, csv, tsv, xlsx or parquet.")],
    out: Out,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(metavar="DOCS", help="Documents to search; may be repeated.", show_default="the second texts of the pairs"),
    ] = None,
    limits: NegativeArguments,
    reranker: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Cross-encoder whose scores decide.", autocompletion=complete_runs, show_default="none"),
    ] = None,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Add hard negatives to pairs: the texts most similar to each query that are probably not relevant."""
    _require_json_lines(out, file, *(corpus or ()))
    options = limits.options()
    with open_studio() as studio, progress_by_phase() as begin_phase:
        found = studio.pairs.mine_negatives(file, corpus, options, model=model, reranker=reranker, begin_phase=begin_phase)
    if not found.rows:
        raise StudioError("no pair has a negative", "search more documents, or lower the margins")
    found.write(out)
    print_notes(found.account, "used", found.notes)
    summary = f"{found.negatives:,} negatives for {len(found.rows):,} pairs from {found.corpus:,} passages: {out}"
    rest = f"not used: {found.suspected_false:,} candidates that may be relevant; left out: {found.without:,} pairs without a negative"
    lines: list[str] = [summary, rest, *found.describe_margin()]
    for row in found.examples:
        lines.append(f"{one_line(row.query, 90)}")
        for name, text, score in (("positive", row.positive, row.positive_score), ("negative", row.negatives[0], row.negative_scores[0])):
            lines.append(f"  {score:.4f}  {name}  {one_line(text, 80)}")
    return Answer({**found.to_json(), "out": str(out)}, [*lines, f"next: sbert-studio train {out}"])


def _require_json_lines(out: Path, *sources: Path | None) -> None:
    for folder in (source for source in sources if source is not None and source.is_dir()):
        corpus = folder / "corpus.jsonl"  # of a BEIR folder, which contains documents in this file alone
        if out.resolve() == corpus.resolve() or (not corpus.is_file() and out.resolve().is_relative_to(folder.resolve())):
            raise StudioError(f"{out} is among the documents of {folder}, and would be read as one of them", "write it elsewhere")
    require_writable_file(out, *sources, suffixes=(".jsonl",))


@with_options
def labels(
    *,
    source: Annotated[str, typer.Argument(metavar="FILE|RUN", help="Labelled rows, or a run, whose training rows are checked.")],
    file_format: FormatOptions,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the list as CSV.")] = None,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """List the rows whose label is contradicted most by models that were not trained on them."""
    from ..data.cells import write_rows

    overrides = file_format.overrides()
    if out is not None:
        require_writable_file(out, Path(source), suffixes=(".csv",))
    with open_studio() as studio, progress("encoding", "texts") as report:
        is_run = source.startswith("run-") and not Path(source).exists()
        found = (
            studio.labels.check_run(source, report)
            if is_run
            else studio.labels.check_file(Path(source), model, overrides=overrides, progress=report)
        )
    if out is not None:
        width = max((len(one.texts) for one in found.listed), default=1)
        names = ["row", *(f"text{place}" for place in range(1, width + 1)), "label", "predicted", "doubt"]
        write_rows(out, names, ([str(one.row), *one.texts, one.label, one.predicted, f"{one.doubt:.3f}"] for one in found.listed))
    shown = found.listed[: max(found.suspicious, _LEAST_SHOWN)]
    more = f"; the first {len(shown)} are listed" if found.suspicious > len(shown) else ""
    lines: list[str | list[str]] = [found.describe() + more]
    lines += [[f"row {one.row}", f"{one.label} → {one.predicted}?", " | ".join(one_line(text, 60) for text in one.texts)] for one in shown]
    return Answer({**found.to_json(), **({"out": str(out)} if out else {})}, lines)
