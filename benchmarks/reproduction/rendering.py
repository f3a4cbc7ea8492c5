"""The results as a page of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from .registry import ROWS, SECTIONS
from .results import Results, measures
from .rows import Row, evaluations

_HEAD = """# Results

The systems of the STS Benchmark's comparison, of Sentence-BERT (Reimers & Gurevych 2019), of CoSENT (Su 2022), of AnglE, SimCSE and
poly-encoders, trained and evaluated by the commands below each table, beside the figures that were reported. Made by

```sh
make reproduce DATA=/path/to/sets                      # all that this machine can run; goes on where it was interrupted
make reproduce DATA=/path/to/sets ARGS="skipgram gru"  # these rows
make reproduce DATA=/path/to/sets ARGS=--speeds        # sentences a second, on a machine that does nothing else
make reproduce ARGS=--render                           # this page, from docs/results.json
```

{measured}
- **In bold**: the 23 rows of the comparison's Table 1. Where no reported figure is at hand, its cell holds –.
- **Paper**: the figures of the comparison's Table 1 and of Sentence-BERT's Table 6 are of the dev set, all others of test sets.
- **Chosen** is on the dev set alone, or on held-out rows of the training set where there is none; the test set is judged once, at the end.
- **MSE** is that of the prediction with score / 5. A cross-encoder predicts by what its head gives; vectors predict by their cosine as it
  is, clipped to 0…1 and not fitted to the scale: where cosines lie high or close together it is large, however well they rank.
- **± is the standard deviation** over the seeds, where there are several; of a cross-validation, over its folds. A seed gives the same
  figure again on the same machine and libraries.
- **MiniLM** is all-MiniLM-L6-v2, the one transformer that comes with the program: 22.7 M weights, and already tuned for sentences on a
  billion pairs by its makers. It stands in for BERT, so that its figures begin where the papers' end.
- **Training** is seconds of processor time of the whole command, the mean over the seeds, so that other work on the machine does not count;
  `~`: seconds of the clock beside other work, an order of magnitude.
- **Sentences/s** are of {threads}, measured apart while nothing else ran, over 2,000 texts of STSb's test set in batches of
  like length: the median of three rounds. A network is as fast whatever it learned, so that rows of one network share a figure. A
  cross-encoder gives no vectors: it reads so many pairs a second, and every pair anew. An empty cell was not measured yet.
- **The time of a query** is processor time on {times}, taken of the three kinds of models in turns in one process; the ratios count.
- In the commands, `DATA` is the folder of the sets, `WORK` that of the models, `OUT` the row's own model and `SEED` its seed.
  `WORK/nli.csv` (SNLI and SICK's labels, 5,773 rows), `WORK/stsb-classes.csv` (rounded scores) and `WORK/smollm2` are made on the way,
  and so are the triplets, candidates, sentences and topics, capped and with a fixed seed, by `benchmarks/reproduction/derived.py`.
- A row that was **not run** says what it needs: its command is the one to type where there is a hub, a GPU or the set.
"""
_PARTS = ("mse", "pearson", "spearman")


def rendered(results: Results) -> str:
    """The page."""
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
    """When, where and with what the figures were taken."""
    runs = [run for row in ROWS.values() for run in results.runs(row)]
    if not runs:
        return "Nothing was measured yet."
    dates = sorted({run["date"] for run in runs})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    machines = "; ".join(sorted({f"{run['machine']}, {_threads([run])}" for run in runs}))
    versions = "; ".join(sorted({", ".join(f"{name} {number}" for name, number in run["versions"].items()) for run in runs}))
    due = [row for row in ROWS.values() if row.sets is not None and not row.needs and not (row.original and results.left(row))]
    done = sum(not results.left(row) for row in due)
    told = f"Measured {when}: {done} of the {len(due)} rows that need neither hub nor GPU nor a set that is not at hand."
    return "\n".join((told, "", f"- **Machine**: {machines}; no GPU.", f"- **Versions**: {versions}."))


def _speeds(results: Results, *, timed: bool) -> list[Mapping[str, Any]]:
    """What was measured of rows whose ranking time is taken, or of the others."""
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
        title = f"**{row.title}**" if row.of_table else row.title
        if not runs:
            yield _line(title, f"`{row.name}`", paper, _state(row), "", "", "", "", row.why)
            continue
        if folds:
            figures = [_folds(runs, part) for part in ("untuned", "test")]
        else:
            names = _PARTS if full else (_measure(row),)
            figures = [_figures({name: measures(runs, part, name) for name in names}, _measure(row), full=full) for part in ("dev", "test")]
        some = "" if not results.left(row) else f" ({len(runs)} of {len(row.seeds)} seeds)"
        weights = f"{runs[0]['parameters'] / 1e6:.1f} M" if runs[0]["parameters"] else ""
        yield _line(
            title, f"`{row.name}`", paper, figures[0] + some * bool(figures[0]), figures[1] + some * (not figures[0]), weights,
            _seconds(row, runs), _speed(row, results), row.why,
        )  # fmt: skip


def _times(rows: Sequence[Row], results: Results) -> Iterator[str]:
    """Milliseconds of a query, and the ratio to the first row, the paper's and ours."""
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
    """The mean over the folds ± their standard deviation; of several seeds the mean of both."""
    figure, spread = (100 * mean(run[part][name] for run in runs) for name in ("spearman", "sd"))
    return f"{figure:.2f} ± {spread:.2f}"


def _seconds(row: Row, runs: Sequence[Mapping[str, Any]]) -> str:
    """What a training took of a processor; ``~``: of the clock, of a run whose processor time was not kept."""
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
    """``.034 / .875 / .868``, or one measure × 100 alone; with a spread where there are several."""
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
    """How each model is made, and once how all are judged."""
    yield "```sh"
    for row in rows:
        seeds = f", SEED = {' '.join(map(str, row.seeds))}" if any("SEED" in command for command in row.commands) else ""
        yield f"# {row.name}{seeds}" if row.commands else f"# {row.name}: {row.model}, as it is"
        yield from (f"sbert-studio {command}" for command in row.commands)
    judged = {row.sets: row for row in rows if row.sets is not None and not row.needs}
    for sets in judged:
        if sets.task == "folds":
            yield "# each training gives the scores of the rows that its folds hold out"
            continue
        yield f"# rows of {next(iter(sets.files.values())).partition('/')[0]} are judged by"
        yield from (f"sbert-studio {command}" for command in evaluations(sets, "MODEL"))
    if rows[0].candidates:
        yield "# the candidates are read before, as far as the model can keep them; see benchmarks/reproduction/ranking.py"
    elif not judged:
        yield "# each encodes the texts, in the order in which they stand (32 at a time) or in batches of similar length"
        yield "sbert-studio encode DATA/stsb/test.csv --model MODEL --out vectors.npy"
    yield "```"
    yield ""


def _line(*cells: Any) -> str:
    shown = (str(cell).replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(shown)} |"
