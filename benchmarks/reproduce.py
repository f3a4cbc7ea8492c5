"""Train and judge every system of the literature that this machine can run, and write docs/RESULTS.md and docs/results.json.

    python benchmarks/reproduce.py [DATA] [ROW ...] [options]

DATA is a folder with the public sets as CSV: stsb, sick, snli, mrpc, stsb-zh, trec and banking77, each {train,dev,test}.csv, sts14 with a
file a subset, and, where you have them, afs (ArgPairs_*.csv) and wikisections as their authors hand them out. Rows whose set is not there
are skipped. Rows are chosen by name (`--list` shows them); those that take least time come first. Each training is kept at once, so that
whatever interrupts this, the next call goes on with what is left. Where a row was measured by other commands than it has now, it is
measured again.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from reproduction.registry import ROWS, SECTIONS, chosen  # noqa: E402
from reproduction.rendering import rendered  # noqa: E402
from reproduction.results import Results  # noqa: E402


def main(arguments: list[str]) -> int:
    """Do what is asked; 0: done, 1: some rows failed, 2: it was asked wrongly, 130: stopped."""
    asked = _parser().parse_args(arguments)
    if str(asked.data) in ROWS:  # no folder was named
        asked.data, asked.rows = None, [str(asked.data), *asked.rows]
    results, page = Results(asked.results), asked.results.with_name("RESULTS.md")
    try:
        rows = chosen([*asked.rows, *asked.only], asked.section)
    except KeyError as error:
        return _refuse(f"there is no row or section {error}", "see --list")
    if asked.list:
        for row in rows:
            absent = row.absent(asked.data) if asked.data is not None else []
            needs = row.lacks or ", ".join(absent)
            state = f"needs {needs}" if needs else "speed" if row.sets is None else "left" if results.left(row) else "done"
            print(f"{row.name:32} {row.section:14} {row.minutes:5.1f} min  {state:40} {row.title}")
        return 0
    code = 0
    if not asked.render:
        if asked.data is None or not asked.data.is_dir():
            return _refuse("no folder of sets was named", "make reproduce DATA=/path/to/sets, or --render")
        try:
            code = _measure(asked, rows, results)
        except KeyboardInterrupt:
            print("stopped; the next call goes on", file=sys.stderr)
            code = 130
    page.write_text(rendered(results), encoding="utf-8")
    return code


def _measure(asked: argparse.Namespace, rows: list, results: Results) -> int:  # type: ignore[type-arg]
    from reproduction.running import Places, run_rows

    work = asked.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    os.environ["SBERT_STUDIO_HOME"] = str(work / "home")  # apart from the runs of whoever measures
    places = Places(asked.data.resolve(), work)
    if asked.speeds:
        from reproduction.speeds import take_speeds

        take_speeds(rows, places, results)
        return 0
    return 1 if run_rows(rows, places, results, minutes=asked.minutes, seeds=asked.seeds, hub=asked.hub) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, metavar="DATA", help="the folder of the sets")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows by name; all by default")
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="the same")
    parser.add_argument("--section", nargs="+", default=[], metavar="NAME", help=", ".join(SECTIONS))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop before a training that would go beyond")
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
