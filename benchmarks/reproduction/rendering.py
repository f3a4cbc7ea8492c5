"""The results as a page of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from .registry import ROWS, SECTIONS
from .results import Results, measures
from .rows import Row

_HEAD = """# Results

The systems of the STS Benchmark's comparison, of Sentence-BERT (Reimers & Gurevych 2019) and of CoSENT (Su 2022), trained and judged by
the commands below each table, beside the figures that were reported. Made by

```sh
make reproduce DATA=/path/to/sets                      # all that this machine can run; goes on where it was interrupted
make reproduce DATA=/path/to/sets ARGS="skipgram gru"  # these rows
make reproduce DATA=/path/to/sets ARGS=--speeds        # sentences a second, on a machine that does nothing else
make reproduce ARGS=--render                           # this page, from docs/results.json
```

{measured}
- **In bold**: the 23 rows of the comparison's Table 1. Where no reported figure is at hand, its cell holds –.
- **Paper**: the figures of the comparison's Table 1 and of Sentence-BERT's Table 6 are of the dev set, those of the CoSENT article of its
  test sets.
- **Chosen** is on the dev set alone, or on held-out rows of the training set where there is none; the test set is judged once, at the end.
- **MSE** is that of the prediction with score / 5. A cross-encoder predicts by what its head gives; vectors predict by their cosine as it
  is, clipped to 0…1 and not fitted to the scale: where cosines lie high or close together it is large, however well they rank.
- **± is the standard deviation** over the seeds, where there are several. A seed gives the same figure again on the same machine and
  libraries.
- **MiniLM** is all-MiniLM-L6-v2, the one transformer that comes with the program: 22.7 M weights, and already tuned for sentences on a
  billion pairs by its makers. It stands in for BERT, so that its figures begin where the papers' end.
- **Training** is seconds of processor time of the whole command, the mean over the seeds, so that other work on the machine does not count;
  `~`: seconds of the clock beside other work, an order of magnitude.
- **Sentences/s** are of {threads}, measured apart while nothing else ran, over 2,000 texts of STSb's test set in batches of
  like length: the median of three rounds. A network is as fast whatever it learned, so that rows of one network share a figure. A
  cross-encoder gives no vectors: it reads so many pairs a second, and every pair anew. An empty cell was not measured yet.
- In the commands, `DATA` is the folder of the sets, `WORK` that of the models, `OUT` the row's own model and `SEED` its seed.
  `WORK/nli.csv` (SNLI and SICK's labels, 5,773 rows), `WORK/stsb-classes.csv` (rounded scores) and `WORK/smollm2` are made on the way.
- A row that was **not run** says what it needs: its command is the one to type where there is a hub or a GPU.
"""
_PARTS = ("mse", "pearson", "spearman")


def rendered(results: Results) -> str:
    """The page."""
    parts = [_HEAD.format(measured=_measured(results), threads=_threads(results.speeds.values()))]
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
    due = [row for row in ROWS.values() if row.sets is not None and not row.needs]
    done = sum(not results.left(row) for row in due)
    told = f"Measured {when}: {done} of the {len(due)} rows that need neither hub nor GPU."
    return "\n".join((told, "", f"- **Machine**: {machines}; no GPU.", f"- **Versions**: {versions}."))


def _threads(measured: Iterable[Mapping[str, Any]]) -> str:
    numbers = sorted({int(run["threads"]) for run in measured})
    return f"{' or '.join(map(str, numbers)) or 'no'} thread{'s' * (numbers != [1])}"


def _table(rows: Sequence[Row], results: Results) -> Iterator[str]:
    if all(row.sets is None for row in rows):
        yield from ("| system | row | paper, CPU | ours | why different |", "| --- | --- | --- | --- | --- |")
        for row in rows:
            speed = _state(row) if row.needs else _speed(row, results)
            yield _line(row.title, f"`{row.name}`", f"{row.paper['speed']:,.0f}", speed, row.why)
        return
    yield _line("system", "row", "paper", "ours, dev", "ours, test", "weights", "training, s", "sentences/s", "why different")
    yield _line(*["---"] * 9)
    measured = [row for row in rows if row.sets is not None]
    full = any("mse" in row.paper for row in measured)
    yield _line("", "", *["MSE / Pearson / Spearman" if full else "Spearman × 100"] * 3, "", "", "", "")
    for row in measured:
        runs = results.runs(row)
        paper = _figures({name: [row.paper[name]] for name in row.paper}, full=full) or "–"
        title = f"**{row.title}**" if row.of_table else row.title
        if not runs:
            yield _line(title, f"`{row.name}`", paper, _state(row), "", "", "", "", row.why)
            continue
        ours = [_figures({name: measures(runs, part, name) for name in _PARTS}, full=full) for part in ("dev", "test")]
        some = "" if not results.left(row) else f" ({len(runs)} of {len(row.seeds)} seeds)"
        weights = f"{runs[0]['parameters'] / 1e6:.1f} M" if runs[0]["parameters"] else ""
        yield _line(
            title, f"`{row.name}`", paper, ours[0] + some * bool(ours[0]), ours[1] + some * (not ours[0]), weights,
            _seconds(row, runs), _speed(row, results), row.why,
        )  # fmt: skip


def _seconds(row: Row, runs: Sequence[Mapping[str, Any]]) -> str:
    """What a training took of a processor; ``~``: of the clock, of a run whose processor time was not kept."""
    if not row.commands:
        return "–"
    if all("processor_seconds" in run for run in runs):
        return f"{mean(run['processor_seconds'] for run in runs):,.0f}"
    return f"~{mean(run['training_seconds'] for run in runs):,.0f}"


def _state(row: Row) -> str:
    return f"not run: needs {row.needs}" if row.needs else "not run yet"


def _speed(row: Row, results: Results) -> str:
    found = results.speed(ROWS[row.network] if row.network else row)
    if not found:
        return ""
    if "pairs_per_second" in found:
        return f"{found['pairs_per_second']:,.0f} pairs"
    return f"{found['sentences_per_second']:,.0f}"


def _figures(values: Mapping[str, Sequence[float]], *, full: bool) -> str:
    """``.034 / .875 / .868``, or Spearman × 100 alone; with a spread where there are several."""
    if not full:
        return _spread([100 * value for value in values.get("spearman", ())], "{:.2f}")
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
        yield f"# rows of {next(iter(sets.files.values())).partition('/')[0]} are judged by"
        yield from (f"sbert-studio evaluate MODEL --data DATA/{file} --task sts" for file in sets.files.values())
    if not judged:
        yield "# each encodes the texts, in the order in which they stand (32 at a time) or in batches of similar length"
        yield "sbert-studio encode DATA/stsb/test.csv --model MODEL --out vectors.npy"
    yield "```"
    yield ""


def _line(*cells: Any) -> str:
    shown = (str(cell).replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(shown)} |"
