"""Four visitors at once: one searches, one draws maps, one trains, one evaluates. How long a search takes, and whether all is right.

Run: python benchmarks/four_visitors.py ../shared/data [--minutes 3]
Each answer is compared with the one that the same question was given before the others came: texts in their order, scores, Spearman's
correlation to the last digit, points of a map. The page is opened on the loopback in a process of its own, with an empty home.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from page import Caller, Told, at_once, beside_training, page

_QUERIES, _MAP_ROWS = 40, 2000


def cut(path: Path, source: Path, start: int, rows: int) -> Path:
    """So many rows of a CSV with their header."""
    with source.open(newline="", encoding="utf-8") as given, path.open("w", newline="", encoding="utf-8") as target:
        found = list(csv.reader(given))
        csv.writer(target).writerows([found[0], *found[1 + start : 1 + start + rows]])
    return path


def hits(answer: dict[str, Any]) -> list[tuple[str, float]]:
    """What a search found: texts and scores."""
    return [(hit["text"], round(hit["score"], 4)) for hit in answer["hits"]]


class Visitor:
    """Asks the same questions again and again, and compares each answer with the first."""

    def __init__(self, caller: Caller, told: Told, questions: list[Callable[[Caller], Any]]) -> None:
        self.caller, self.told, self.questions = caller, told, questions
        self.known = [question(caller) for question in questions]
        self.asked = 0

    def go_on(self, until: float) -> None:
        """Ask until then."""
        while time.monotonic() < until:
            place = self.asked % len(self.questions)
            found = self.questions[place](self.caller)
            self.asked += 1
            if found is not None and found != self.known[place]:
                self.told.failed("compared", f"question {place} was answered otherwise: {str(found)[:120]}")


def main() -> int:
    """0 where nothing failed and no answer differed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--minutes", type=float, default=3)
    given = parser.parse_args()
    alone, told, training = Told(), Told(), Told()
    with tempfile.TemporaryDirectory() as folder, page() as (address, _):
        bank, scored = given.data / "banking77/train.csv", given.data / "stsb/dev.csv"
        with (given.data / "banking77/test.csv").open(newline="", encoding="utf-8") as source:
            asked = [row[0] for row in list(csv.reader(source))[1 : 1 + _QUERIES]]
        callers = [Caller(address, told) for _ in range(3)]
        corpus = callers[0].upload(bank)
        parts = [callers[1].upload(cut(Path(folder) / f"part-{n}.csv", bank, n * _MAP_ROWS, _MAP_ROWS)) for n in range(3)]
        judged = [callers[2].upload(cut(Path(folder) / f"pairs-{n}.csv", scored, n * 500, 500)) for n in range(3)]

        def search(query: str) -> Callable[[Caller], Any]:
            return lambda caller: (answer := caller.call("search", file=corpus, query=query)) and hits(answer)

        def draw(file: Any) -> Callable[[Caller], Any]:
            return lambda caller: (answer := caller.call("map", file=file)) and (answer["clusters"], answer["coordinates"])

        def judge(file: Any) -> Callable[[Caller], Any]:
            return lambda caller: (answer := caller.call("evaluate", file=file)) and answer["cosine"]["spearman"]

        questions = ([search(query) for query in asked], [draw(file) for file in parts], [judge(file) for file in judged])
        visitors = [Visitor(caller, told, asks) for caller, asks in zip(callers, questions, strict=True)]
        alone.seconds, told.seconds = told.seconds, {}
        pairs = cut(Path(folder) / "train.csv", given.data / "stsb/train.csv", 0, 2000)
        with beside_training(address, pairs, training):
            until = time.monotonic() + given.minutes * 60
            at_once([partial(visitor.go_on, until) for visitor in visitors])
        for caller in callers:
            caller.close()
    told.errors += training.errors
    print("alone, one after the other, from an empty home")
    print("\n".join(alone.lines()))
    print(f"at once for {given.minutes:g} minutes, a training beside them")
    print("\n".join(told.lines()))
    print(
        f"answers compared: {sum(visitor.asked for visitor in visitors)}; the training was asked after {len(training.seconds['run'])} times"
    )
    return 1 if told.errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
