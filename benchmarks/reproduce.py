"""Train and evaluate every system of the literature that this machine can run; write docs/RESULTS.md and docs/results.json.

    python benchmarks/reproduce.py [DATA] [ROW ...] [options]

DATA is a folder of public sets as CSV: stsb, sick, snli, mrpc, stsb-zh, trec and banking77, each {train,dev,test}.csv, sts14 with a file a
subset, and optionally afs (ArgPairs_*.csv) and wikisections as their authors distribute them. Rows whose set is missing are skipped. Rows
are selected by name (`--list` shows them); the shortest come first. Each training is stored at once, so that after an interruption the
next call resumes. A row whose commands have changed is measured again.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reproduction import ROWS, SECTIONS, select_rows  # noqa: E402
from reproduction.report import render  # noqa: E402
from reproduction.results import Results  # noqa: E402


def main(arguments: list[str]) -> int:
    """Return 0: done, 1: some rows failed, 2: wrong arguments, 130: stopped."""
    options = _parser().parse_args(arguments)
    if str(options.data) in ROWS:  # without DATA
        options.data, options.rows = None, [str(options.data), *options.rows]
    results, page = Results(options.results), options.results.with_name("RESULTS.md")
    try:
        rows = select_rows([*options.rows, *options.only], options.section)
    except KeyError as error:
        return _refuse(f"there is no row or section {error}", "see --list")
    if options.list:
        for row in rows:
            absent = row.missing_sets(options.data) if options.data is not None else []
            needs = row.missing_requirement or ", ".join(absent)
            state = f"needs {needs}" if needs else "speed" if row.sets is None else "to do" if results.remaining_seeds(row) else "done"
            print(f"{row.name:32} {row.section:14} {row.minutes:5.1f} min  {state:40} {row.title}")
        return 0
    code = 0
    if not options.render:
        if options.data is None or not options.data.is_dir():
            return _refuse("no folder of sets was named", "make reproduce DATA=/path/to/sets, or --render")
        try:
            code = _measure(options, rows, results)
        except KeyboardInterrupt:
            print("stopped; the next call resumes", file=sys.stderr)
            code = 130
    page.write_text(render(results), encoding="utf-8")
    return code


def _measure(options: argparse.Namespace, rows: list, results: Results) -> int:  # type: ignore[type-arg]
    from reproduction.runner import Places, run_rows

    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    os.environ["SBERT_STUDIO_HOME"] = str(work / "home")  # so that the user's own runs stay apart
    places = Places(options.data.resolve(), work)
    if options.speeds:
        from reproduction.speeds import measure_speeds

        measure_speeds(rows, places, results)
        return 0
    return 1 if run_rows(rows, places, results, minutes=options.minutes, seeds=options.seeds, hub=options.hub) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, metavar="DATA", help="folder of the public sets")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows by name; all by default")
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="the same")
    parser.add_argument("--section", nargs="+", default=[], metavar="NAME", help=", ".join(SECTIONS))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop before a training that would exceed this")
    parser.add_argument("--seeds", type=int, metavar="N", help="run the first N seeds of each row; a later call runs the others")
    parser.add_argument("--hub", action="store_true", help="run those rows too that need the hub")
    parser.add_argument("--list", action="store_true", help=f"the {len(ROWS)} rows, and what is left of them")
    parser.add_argument("--render", action="store_true", help="write RESULTS.md from the JSON alone")
    parser.add_argument("--speeds", action="store_true", help="measure sentences a second alone, of the models that are there")
    home = os.environ.get("SBERT_STUDIO_HOME") or Path.home() / ".local/share/sbert-studio"
    parser.add_argument("--work", type=Path, default=Path(home) / "reproduce", metavar="DIR", help="where models go (%(default)s)")
    parser.add_argument("--results", type=Path, default=ROOT / "docs/results.json", metavar="FILE", help="the JSON (%(default)s)")
    return parser


def _refuse(what: str, how: str) -> int:
    print(f"error: {what}. hint: {how}.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
