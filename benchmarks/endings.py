"""How long the program takes to end when it is told to, whatever it is at: ``python benchmarks/endings.py [TIMES]``.

SIGTERM is sent at random moments of a start, of an idle page, of an encoding, of a training in a terminal and in the page, of the making of
an index and of an export. What is left must be true: no half-written file, and no run that reads as running.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gradio_client import Client, handle_file

ROOT = Path(__file__).resolve().parents[1]
PAIRS = ROOT / "assets" / "samples" / "scored_pairs.csv"
LIMIT = 10.0  # seconds
QUICK = ["--objective", "cosine", "--set", "judge=split", "--epochs", "50"]


def main(times: int) -> int:
    """Print a row for each kind of work; 1 where one took too long or left something behind."""
    random.seed(12)
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        texts = written(place / "texts.txt", 60_000)
        many = written(place / "many.txt", 220_000)
        run = json.loads(started(place, "train", str(PAIRS), *QUICK, "--epochs", "1", "--json").communicate()[0])["run"]
        works: dict[str, Callable[[], float]] = {
            "starting the page": lambda: page(place, lambda _: time.sleep(random.uniform(0.2, 6))),
            "an idle page": lambda: page(place, lambda process: (address(process), time.sleep(random.uniform(0, 3)))),
            "encoding": lambda: command(place, random.uniform(0.5, 12), "encode", str(texts), "--out", str(place / "x.npy")),
            "training in a terminal": lambda: command(place, random.uniform(0.5, 20), "train", str(PAIRS), *QUICK),
            "training in the page": lambda: page(place, train_in_page),
            "making an index": lambda: command(place, random.uniform(0.5, 15), "mine", str(many), "--model", "glove-6B-50d"),
            "an export": lambda: command(place, random.uniform(0.5, 6), "export", run, "--out", str(place / "run.zip")),
        }
        print(f"{'SIGTERM during':26}{'times':>6}{'mean s':>8}{'worst s':>9}  left behind")
        for name, work in works.items():
            seconds = [work() for _ in range(times)]
            left = left_behind(place)
            print(f"{name:26}{times:>6}{sum(seconds) / times:>8.1f}{max(seconds):>9.1f}  {', '.join(left) or 'nothing'}", flush=True)
            failed += max(seconds) > LIMIT or bool(left)
    return int(bool(failed))


def written(path: Path, count: int) -> Path:
    """A file of so many made-up texts, a line each."""
    words = [word for word in PAIRS.read_text(encoding="utf-8").split() if word.isalpha()]
    path.write_text("\n".join(" ".join(random.choices(words, k=12)) + f" {number}" for number in range(count)), encoding="utf-8")
    return path


def started(place: Path, *arguments: str) -> subprocess.Popen[str]:
    """``sbert-studio ARGUMENTS``, under way."""
    environment = {**os.environ, "SBERT_STUDIO_HOME": str(place / "home"), "PYTHONPATH": str(ROOT), "SBERT_STUDIO_RESUME": "0"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    return subprocess.Popen([sys.executable, "-m", "sbert_studio", *arguments], env=environment, cwd=place, **pipes)  # type: ignore[call-overload,no-any-return]


def ended(process: subprocess.Popen[str]) -> float:
    """The seconds from SIGTERM to the end."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    return time.monotonic() - began


def command(place: Path, after: float, *arguments: str) -> float:
    """A command that is ended after so many seconds."""
    process = started(place, *arguments)
    time.sleep(after)
    return ended(process)


def page(place: Path, work: Callable[[subprocess.Popen[str]], object]) -> float:
    """A page that is ended after ``work``."""
    process = started(place, "app", "--port", "0")
    work(process)
    return ended(process)


def address(process: subprocess.Popen[str]) -> str:
    """Where a page answers, once it does."""
    for line in process.stdout or ():
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise SystemExit("the page did not open")


def train_in_page(process: subprocess.Popen[str]) -> None:
    """Have the page train for some seconds."""
    client = Client(address(process), verbose=False)
    settings = json.dumps({"epochs": 50, "judge": "split"})
    client.predict(handle_file(str(PAIRS)), "cosine", "full", settings, "", "x", api_name="/train")
    time.sleep(random.uniform(0, 12))


def left_behind(place: Path) -> list[str]:
    """Half-written files, and runs that read as if they went on."""
    from sbert_studio.services import Studio
    from sbert_studio.settings import Settings

    parts = [path.name for path in place.rglob(".part-*")]
    with Studio(Settings(home=place / "home", device="cpu"), allow_folders=True) as studio:
        return [*parts, *(f"{run.id} {run.status}" for run in studio.tune.runs() if run.active)]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
