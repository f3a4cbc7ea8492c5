"""Render docs/RESULTS.md, a page of tables, from the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from . import ROWS, SECTIONS
from .results import Results, measures
from .rows import Row, evaluations

_HEAD = """# Results

The systems of the STS Benchmark comparison, of Sentence-BERT (Reimers & Gurevych 2019), of CoSENT (Su 2022), of AnglE, SimCSE and
poly-encoders, trained and evaluated by the commands below each table, next to the figures that were published. Written by

```sh
make reproduce DATA=/path/to/sets                      # everything this machine can run; resumes after an interruption
make reproduce DATA=/path/to/sets ARGS="skipgram gru"  # these rows
make reproduce DATA=/path/to/sets ARGS=--speeds        # sentences a second, on an idle machine
make reproduce ARGS=--render                           # this page, from docs/results.json
```

{measured}
- **Bold**: the 23 rows of the comparison's Table 1. A cell holds – where no published figure is known.
- **Paper**: the figures of the comparison's Table 1 and of Sentence-BERT's Table 6 are of the dev set, all others of test sets.
- **Model selection** uses the dev set, or held-out rows of the training set where there is none; the test set is used once, at the end.
- **MSE** compares the prediction with score / 5. A cross-encoder predicts with its head; vectors predict with their cosine, clipped to 0…1
  and not fitted to the scale, so that MSE is large where cosines are high or close together, however well they rank.
- **± is the standard deviation** over the seeds, where there are several; for cross-validation, over the folds. A seed gives the same
  figure again on the same machine and libraries.
- **MiniLM** is all-MiniLM-L6-v2, the transformer that comes with the program: 22.7 M weights, already trained for sentences on a billion
  pairs by its makers. It stands in for BERT, so its figures begin where the papers' end.
- **Training** is seconds of processor time of the whole command, the mean over the seeds, which other work on the machine does not affect;
  `~`: wall-clock seconds next to other work, an order of magnitude.
- **Sentences/s** were measured separately with {threads} on an idle machine, over 2,000 texts of STSb's test set in batches of similar
  length: the median of three rounds. Training does not change a network's speed, so rows of one network share a figure. A cross-encoder
  has no vectors: its figure is pairs a second, and every pair is read anew. An empty cell has not been measured.
- **The time of a query** is processor time with {times}, measured by turns in one process for the three kinds of models; compare the
ratios.
- In the commands, `DATA` is the folder of the sets, `WORK` that of the models, `OUT` the row's own model and `SEED` its seed.
  `WORK/nli.csv` (labels of SNLI and SICK, 5,773 rows), `WORK/stsb-classes.csv` (rounded scores) and `WORK/smollm2` are created when needed,
  as are the triplets, candidates, sentences and topics, capped and with a fixed seed, by `benchmarks/reproduction/datasets.py`.
- A row that was **not run** names what it needs: run its command where there is a hub, a GPU or the set.
"""
_PARTS = ("mse", "pearson", "spearman")


def render(results: Results) -> str:
    """Return the page in Markdown."""
    parts = [
        _HEAD.format(
            measured=_measured(results), threads=_threads(_speeds(results, timed=False)), times=_threads(_speeds(results, timed=True))
        )
    ]
    for section, title in SECTIONS.items():
        rows = [row for row in ROWS.values() if row.section == section]
        parts.append("\n".join([f"## {title}", "", *_table(rows, results), "", *_commands(rows)]))
    return "\n".join(parts) + "\n"


def _measured(results: Results) -> str:
    runs = [run for row in ROWS.values() for run in results.runs(row)]
    if not runs:
        return "Nothing has been measured yet."
    dates = sorted({run["date"] for run in runs})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    machines = "; ".join(sorted({f"{run['machine']}, {_threads([run])}" for run in runs}))
    versions = "; ".join(sorted({", ".join(f"{name} {number}" for name, number in run["versions"].items()) for run in runs}))
    due = [row for row in ROWS.values() if row.sets is not None and not row.needs and not (row.original and results.remaining_seeds(row))]
    done = sum(not results.remaining_seeds(row) for row in due)
    summary = f"Measured {when}: {done} of the {len(due)} rows that need no hub, no GPU and no set that is missing here."
    return "\n".join((summary, "", f"- **Machine**: {machines}; no GPU.", f"- **Versions**: {versions}."))


def _speeds(results: Results, *, timed: bool) -> list[Mapping[str, Any]]:
    """Return the speeds of rows whose ranking time is measured, or of the others."""
    return [found for name, found in results.speeds.items() if name in ROWS and bool(ROWS[name].candidates) == timed]


def _threads(measured: Iterable[Mapping[str, Any]]) -> str:
    numbers = sorted({int(run["threads"]) for run in measured})
    return f"{' or '.join(map(str, numbers)) or 'no'} thread{'s' * (numbers != [1])}"


def _table(rows: Sequence[Row], results: Results) -> Iterator[str]:
    if all(row.candidates for row in rows):
        yield from _times(rows, results)
        return
    if all(row.sets is None for row in rows):
        yield from ("| system | row | paper, CPU | ours | why different |", "| --- | --- | --- | --- | --- |")
        for row in rows:
            speed = _state(row) if row.needs else _speed(row, results)
            yield _line(row.title, f"`{row.name}`", f"{row.paper['speed']:,.0f}", speed, row.why)
        return
    folds = all(row.sets is not None and row.sets.task == "folds" for row in rows)
    ours = ("untuned, held-out folds", "ours, held-out folds") if folds else ("ours, dev", "ours, test")
    yield _line("system", "row", "paper", *ours, "weights", "training, s", "sentences/s", "why different")
    yield _line(*["---"] * 9)
    measured = [row for row in rows if row.sets is not None]
    full = any("mse" in row.paper for row in measured)
    shown = "MSE / Pearson / Spearman" if full else f"{_measure(measured[0]).capitalize()} × 100"
    yield _line("", "", *[shown] * 3, "", "", "", "")
    for row in measured:
        runs = results.runs(row)
        paper = _figures({name: [row.paper[name]] for name in row.paper}, _measure(row), full=full) or "–"
        title = f"**{row.title}**" if row.in_table_1 else row.title
        if not runs:
            yield _line(title, f"`{row.name}`", paper, _state(row), "", "", "", "", row.why)
            continue
        if folds:
            figures = [_folds(runs, part) for part in ("untuned", "test")]
        else:
            names = _PARTS if full else (_measure(row),)
            figures = [_figures({name: measures(runs, part, name) for name in names}, _measure(row), full=full) for part in ("dev", "test")]
        some = "" if not results.remaining_seeds(row) else f" ({len(runs)} of {len(row.seeds)} seeds)"
        weights = f"{runs[0]['parameters'] / 1e6:.1f} M" if runs[0]["parameters"] else ""
        yield _line(
            title, f"`{row.name}`", paper, figures[0] + some * bool(figures[0]), figures[1] + some * (not figures[0]), weights,
            _seconds(row, runs), _speed(row, results), row.why,
        )  # fmt: skip


def _times(rows: Sequence[Row], results: Results) -> Iterator[str]:
    number = f"{rows[0].candidates:,} candidates"
    yield _line("system", "row", "paper, ms", "ours, ms", "paper, ratio", "ours, ratio", "lowest to highest", "why different")
    yield _line(*["---"] * 8)
    yield _line("", "", *[f"a query, {number}"] * 2, *["to the bi-encoder"] * 2, "of the rounds", "")
    first = rows[0].paper["milliseconds"]
    for row in rows:
        paper, found = row.paper["milliseconds"], results.speed(row)
        ours = ["not run yet", "", ""]
        if found:
            spread = " to ".join(f"{one:,.2f}" for one in found["ratios"])
            ours = [f"{found['milliseconds']:,.1f}", f"{found['ratio']:,.2f}", spread]
        yield _line(row.title, f"`{row.name}`", f"{paper:,.0f}", ours[0], f"{paper / first:,.2f}", *ours[1:], row.why)


def _measure(row: Row) -> str:
    return "spearman" if row.sets is None else row.sets.measure


def _folds(runs: Sequence[Mapping[str, Any]], part: str) -> str:
    """Return the mean over the folds ± their standard deviation; for several seeds, the mean of both."""
    figure, spread = (100 * mean(run[part][name] for run in runs) for name in ("spearman", "sd"))
    return f"{figure:.2f} ± {spread:.2f}"


def _seconds(row: Row, runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the mean processor time; ``~``: wall-clock time of runs without it."""
    if not row.commands:
        return "–"
    if all("processor_seconds" in run for run in runs):
        return f"{mean(run['processor_seconds'] for run in runs):,.0f}"
    return f"~{mean(run['training_seconds'] for run in runs):,.0f}"


def _state(row: Row) -> str:
    return f"not run: needs {row.needs or row.original}" if row.needs or row.original else "not run yet"


def _speed(row: Row, results: Results) -> str:
    found = results.speed(ROWS[row.network] if row.network else row)
    if not found:
        return ""
    if "pairs_per_second" in found:
        return f"{found['pairs_per_second']:,.0f} pairs"
    return f"{found['sentences_per_second']:,.0f}"


def _figures(values: Mapping[str, Sequence[float]], measure: str, *, full: bool) -> str:
    """Return ``.034 / .875 / .868``, or one measure × 100, with the spread over several values."""
    if not full:
        return _spread([100 * value for value in values.get(measure, ())], "{:.2f}")
    shown = [_spread(values.get(name, ()), "{:.3f}") for name in _PARTS]
    return " / ".join(shown) if any(shown) else ""


def _spread(values: Sequence[float], how: str) -> str:
    if not values:
        return ""
    text = how.format(mean(values))
    return f"{text} ± {how.format(stdev(values))}" if len(values) > 1 else text


def _commands(rows: Sequence[Row]) -> Iterator[str]:
    yield "```sh"
    for row in rows:
        seeds = f", SEED = {' '.join(map(str, row.seeds))}" if any("SEED" in command for command in row.commands) else ""
        yield f"# {row.name}{seeds}" if row.commands else f"# {row.name}: {row.model}, unchanged"
        yield from (f"sbert-studio {command}" for command in row.commands)
    evaluate_model = {row.sets: row for row in rows if row.sets is not None and not row.needs}
    for sets in evaluate_model:
        if sets.task == "folds":
            yield "# each training reports the scores of the rows that its folds hold out"
            continue
        yield f"# rows of {next(iter(sets.files.values())).partition('/')[0]} are evaluated by"
        yield from (f"sbert-studio {command}" for command in evaluations(sets, "MODEL"))
    if rows[0].candidates:
        yield "# the candidates are encoded before, where the model allows it; see benchmarks/reproduction/speeds.py"
    elif not evaluate_model:
        yield "# each encodes the texts, in their order (32 at a time) or in batches of similar length"
        yield "sbert-studio encode DATA/stsb/test.csv --model MODEL --out vectors.npy"
    yield "```"
    yield ""


def _line(*cells: Any) -> str:
    shown = (str(cell).replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(shown)} |"
