"""Load the page over HTTP and measure it: answers, response times and memory. The page runs on the loopback in a process of its own. Linux.

python benchmarks/load.py start [--times 5]                               # seconds to the first answer, resident memory
python benchmarks/load.py users [--users 16] [--minutes 10] [--rows 2000] # many users and a training; fails if a call fails
python benchmarks/load.py soak [--users 10] [--minutes 60]                # memory every minute; fails if it grows by more than 10 %
python benchmarks/load.py compare DATA [--minutes 3]                      # answers under load equal those without; DATA: the public sets
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx

_START_SECONDS, _ANSWER_SECONDS = 180, 600
_WARM_UP_SECONDS, _JANITOR_SECONDS = 15, 45  # after which the page has warmed up, and unused caches are evicted
_TOPICS = (
    ("my card was swallowed by the machine", "the cash machine kept my bank card", "how do I get a new card"),
    ("the transfer has not arrived yet", "why is my payment pending", "money sent to the wrong account"),
    ("how long does bread dough rise", "my sourdough is too dense", "which flour makes soft bread"),
    ("will it rain tomorrow", "the forecast says heavy snow", "is there a storm coming this weekend"),
)
_QUERIES = ("where is my money", "bread without yeast", "the weather on Sunday", "a new bank card", "machine ate it")

# Opens the page as `sbert-studio app` does, and logs four times a minute what its caches hold.
_APP_WITH_LOG = """
import logging, sys
from sbert_studio.cli import main
logging.basicConfig(stream=sys.stderr, format="%(message)s")
logging.getLogger("sbert_studio.services.janitor").setLevel(logging.DEBUG)
main(["app", *sys.argv[1:]])
"""


@contextmanager
def running_page(log: Path | None = None) -> Iterator[tuple[str, int]]:
    """Open the page with an empty home; yield its address and process id; end it.

    Args:
        log: a file for the page's log, with the size of each cache (see :func:`cache_sizes`).
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="sbert-studio-", ignore_cleanup_errors=True) as home:
        environment = {**os.environ, "SBERT_STUDIO_HOME": home, "HF_HUB_OFFLINE": "1"}
        program = ["-m", "sbert_studio", "app"] if log is None else ["-c", _APP_WITH_LOG]
        command = [sys.executable, *program, "--host", "127.0.0.1", "--port", str(port)]
        with (log or Path(os.devnull)).open("w") as stderr:
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr if log else None)
            try:
                address = f"http://127.0.0.1:{port}"
                _wait_for(address, process)
                yield address, process.pid
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(_START_SECONDS * 20):
        if process.poll() is not None:
            raise SystemExit("the page ended while it was starting")
        try:
            httpx.get(f"{address}/config", timeout=5)
            return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise SystemExit("the page did not open in time")


def resident_memory(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cache_sizes(log: Path) -> str:
    """Describe the sizes of the caches when the page last logged them, in MB."""
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.startswith("memory {")]
    sizes: dict[str, int] = json.loads(lines[-1].removeprefix("memory ")) if lines else {}
    return ", ".join(f"{name} {size / 1e6:,.1f}" for name, size in sizes.items() if name != "resident")


@dataclass
class CallLog:
    """Seconds of each call by endpoint, and errors."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, endpoint: str, seconds: float) -> None:
        with self.lock:
            self.seconds.setdefault(endpoint, []).append(seconds)

    def add_error(self, endpoint: str, message: str) -> None:
        with self.lock:
            self.errors.append(f"{endpoint}: {message[:300]}")

    def print(self) -> None:
        for endpoint, seconds in sorted(self.seconds.items()):
            ordered = sorted(seconds)
            middle, late = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95))
            print(f"{endpoint:<16} {len(seconds):>6}   p50 {middle:7.2f} s   p95 {late:7.2f} s   max {ordered[-1]:7.2f} s")
        print(f"errors           {len(self.errors):>6}", *(f"  {error}" for error in dict.fromkeys(self.errors)), sep="\n")


class Client:
    """A user with one connection, who calls the named endpoints as gradio_client does."""

    def __init__(self, address: str, log: CallLog) -> None:
        self._log = log
        self._http = httpx.Client(base_url=f"{address}/gradio_api", timeout=httpx.Timeout(_ANSWER_SECONDS), trust_env=False)
        named = self._http.get("/info").raise_for_status().json()["named_endpoints"]
        self._defaults = {
            name: {one["parameter_name"]: one.get("parameter_default") for one in endpoint["parameters"]}
            for name, endpoint in named.items()
        }

    def close(self) -> None:
        self._http.close()

    def upload(self, path: Path) -> dict[str, Any]:
        """Upload a file; return its value as an argument."""
        with path.open("rb") as source:
            (there,) = self._http.post("/upload", files={"files": (path.name, source)}).raise_for_status().json()
        return {"path": there, "orig_name": path.name, "meta": {"_type": "gradio.FileData"}}

    def call(self, endpoint: str, *, label: str = "", **arguments: Any) -> Any:
        """Call an endpoint and log its time as ``label``; return its answer, or None after logging an error."""
        label, values = label or endpoint, {**self._defaults[f"/{endpoint}"], **arguments}
        start = time.perf_counter()
        try:
            event = self._http.post(f"/call/{endpoint}", json={"data": list(values.values())}).raise_for_status().json()["event_id"]
            name = body = ""
            with self._http.stream("GET", f"/call/{endpoint}/{event}") as lines:
                for line in lines.iter_lines():
                    if line.startswith("event: "):
                        name = line[7:]
                    elif line.startswith("data: ") and name in ("complete", "error"):
                        body = line[6:]
                        break
        except (httpx.HTTPError, KeyError, ValueError) as error:
            self._log.add_error(label, repr(error))
            return None
        if name != "complete":
            self._log.add_error(label, body or "no answer")
            return None
        self._log.add(label, time.perf_counter() - start)
        return json.loads(body)[0]


def write_corpus(path: Path, rows: int, seed: int) -> Path:
    """Write distinct texts with a topic as CSV."""
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8") as target:
        target.write("text,topic\n")
        for number in range(rows):
            topic = draw.randrange(len(_TOPICS))
            parts = [draw.choice(draw.choice(_TOPICS)) for _ in range(draw.randrange(3))]
            target.write(f'"{" and ".join([draw.choice(_TOPICS[topic]), *parts])} {seed} {number}",{topic}\n')
    return path


def write_pairs(path: Path, rows: int) -> Path:
    """Write scored pairs as CSV: 5 within a topic, 0 across topics."""
    draw = random.Random(0)
    with path.open("w", encoding="utf-8") as target:
        target.write("sentence1,sentence2,score\n")
        for number in range(rows):
            a, b = draw.randrange(len(_TOPICS)), draw.randrange(len(_TOPICS))
            b = a if number % 2 else b
            target.write(f"{draw.choice(_TOPICS[a])} {number},{draw.choice(_TOPICS[b])} {number % 97},{5 if a == b else 0}\n")
    return path


def copy_rows(source: Path, target: Path, start: int, rows: int) -> Path:
    """Copy some rows of a CSV file, with its header."""
    with source.open(newline="", encoding="utf-8") as read, target.open("w", newline="", encoding="utf-8") as write:
        header, *lines = csv.reader(read)
        csv.writer(write).writerows([header, *lines[start : start + rows]])
    return target


@contextmanager
def background_training(address: str, pairs: Path, log: CallLog) -> Iterator[None]:
    """Train one run after another; stop the last one at the end."""
    ended = threading.Event()

    def train() -> None:
        client = Client(address, log)
        while not ended.is_set():
            settings = json.dumps({"epochs": 2, "batch_size": 16, "dev_fraction": 0.1})
            run = client.call("train", file=client.upload(pairs), method="full", settings=settings, name="background", as_read=True)
            if run is None:
                break
            while (state := client.call("run", run_id=run["id"])) and state["run"]["status"] in ("queued", "running"):
                if ended.wait(1.0):
                    client.call("stop", run_id=run["id"], token=run["token"])
                    break
            if state and state["run"]["status"] == "failed":
                log.add_error("training", state["run"]["message"])
                break
        client.close()

    trainer = threading.Thread(target=train)
    trainer.start()
    try:
        yield
    finally:
        ended.set()
        trainer.join()


def run_concurrently(tasks: Iterable[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure_start(options: argparse.Namespace) -> int:
    """Print medians and extremes; one start before warms the disk's cache and is not counted."""

    def start() -> tuple[float, float, float]:
        began = time.perf_counter()
        with running_page() as (_, pid):
            seconds, first = time.perf_counter() - began, resident_memory(pid) / 2**20
            time.sleep(_WARM_UP_SECONDS)
            return seconds, first, resident_memory(pid) / 2**20

    start()
    found = zip(*(start() for _ in range(options.times)), strict=True)
    names = (("seconds to the first answer", 2), ("MiB at the first answer", 0), ("MiB after the warm-up", 0))
    for (name, digits), values in zip(names, found, strict=True):
        middle, low, high = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
        print(f"{name:<30} {middle:>7}  ({low} to {high})")
    return 0


def load_with_users(options: argparse.Namespace) -> int:
    log = CallLog()

    def use(address: str, number: int, until: float, file: Path, pairs: Path) -> None:
        draw, client = random.Random(number), Client(address, log)
        corpus, scored = client.upload(file), client.upload(pairs)
        client.call("search", label="search, first", file=corpus, query=_QUERIES[0], column="text")
        while time.monotonic() < until:
            query, mode = draw.choice(_QUERIES), draw.choice(("semantic", "lexical", "hybrid"))
            calls: list[tuple[float, str, dict[str, Any]]] = [
                (0.6, "search", {"file": corpus, "query": query, "mode": mode, "column": "text"}),
                (0.8, "similarity", {"a": query, "b": draw.choice(_QUERIES)}),
                (0.88, "check", {"file": scored}),
                (0.95, "mine", {"file": corpus, "column": "text"}),
                (0.98, "evaluate", {"file": scored}),
                (1.0, "map", {"file": corpus, "column": "text"}),
            ]
            chance = draw.random()
            endpoint, arguments = next((endpoint, arguments) for limit, endpoint, arguments in calls if chance < limit)
            client.call(endpoint, **arguments)
            time.sleep(draw.uniform(0.2, 2.0))
        client.close()

    with tempfile.TemporaryDirectory() as folder, running_page() as (address, _):
        files = [write_corpus(Path(folder) / f"texts-{number}.csv", options.rows, number) for number in range(options.users)]
        pairs, train = write_pairs(Path(folder) / "pairs.csv", 200), write_pairs(Path(folder) / "train.csv", 2000)
        with background_training(address, train, log):
            until = time.monotonic() + options.minutes * 60
            run_concurrently([partial(use, address, number, until, file, pairs) for number, file in enumerate(files)])
    print(f"{options.users} users for {options.minutes:g} minutes, and a training; {options.rows:,} texts each")
    log.print()
    return 1 if log.errors else 0


def soak(options: argparse.Namespace) -> int:
    log, measured = CallLog(), list[int]()

    def use(address: str, number: int, until: float, folder: Path, pairs: Path) -> None:
        """Be one user after another, each of whom brings a new file and uses every endpoint."""
        draw, turn = random.Random(number), 0
        while time.monotonic() < until:
            turn += 1
            client = Client(address, log)
            path = write_corpus(folder / f"texts-{number}-{turn}.csv", draw.randrange(200, 2000), number * 100_000 + turn)
            corpus, scored = client.upload(path), client.upload(pairs)
            path.unlink()
            for mode in ("semantic", "lexical", "hybrid"):
                client.call("search", file=corpus, query=draw.choice(_QUERIES), mode=mode, column="text")
            client.call("mine", file=corpus, top=20, column="text")
            client.call("map", file=corpus, clusters=draw.choice(("auto", "6")), dimensions=draw.choice((2, 3)), column="text")
            client.call("check", file=scored)
            client.call("evaluate", file=scored)
            client.call("similarity", **dict(zip("ab", draw.sample(_QUERIES, 2), strict=True)))
            client.close()
            time.sleep(draw.uniform(0.5, 3.0))

    with tempfile.TemporaryDirectory() as scratch, running_page(Path(scratch) / "log") as (address, pid):
        folder = Path(scratch)
        pairs, train, begun = write_pairs(folder / "pairs.csv", 200), write_pairs(folder / "train.csv", 600), time.monotonic()
        until = begun + options.minutes * 60

        def watch() -> None:
            for minute in range(1, int(options.minutes) + 1):
                time.sleep(max(0.0, begun + minute * 60 - time.monotonic()))
                measured.append(resident_memory(pid))
                print(f"minute {minute:>3}   {measured[-1] / 1e6:8,.0f} MB   {cache_sizes(folder / 'log')}", flush=True)

        with background_training(address, train, log):
            run_concurrently([watch, *(partial(use, address, number, until, folder, pairs) for number in range(options.users))])
        time.sleep(_JANITOR_SECONDS)
        last = resident_memory(pid)
        print(f"at the end   {last / 1e6:8,.0f} MB   {cache_sizes(folder / 'log')}", flush=True)
    early = measured[min(10, len(measured)) - 1] if measured else last
    log.print()
    print(f"after {min(10, len(measured))} minutes {early / 1e6:,.0f} MB, at the end {last / 1e6:,.0f} MB ({last / early - 1:+.1%})")
    return 1 if log.errors or last > 1.1 * early else 0


def compare_under_load(options: argparse.Namespace) -> int:
    """One user searches, one draws maps, one evaluates, and a training runs; each answer must equal the one given without load."""
    alone, log, data = CallLog(), CallLog(), options.data
    bank = data / "banking77/train.csv"
    with (data / "banking77/test.csv").open(newline="", encoding="utf-8") as source:
        queries = [row["text"] for row in csv.DictReader(source)][:40]
    with tempfile.TemporaryDirectory() as scratch, running_page() as (address, _):
        folder, client = Path(scratch), Client(address, alone)
        corpus = client.upload(bank)
        parts = [client.upload(copy_rows(bank, folder / f"part-{n}.csv", n * 2000, 2000)) for n in range(3)]
        scored = [client.upload(copy_rows(data / "stsb/dev.csv", folder / f"pairs-{n}.csv", n * 500, 500)) for n in range(3)]
        client.close()

        def search(client: Client, query: str) -> Any:
            answer = client.call("search", file=corpus, query=query)
            return answer and [(hit["text"], round(hit["score"], 4)) for hit in answer["hits"]]

        def draw(client: Client, file: Any) -> Any:
            answer = client.call("map", file=file)
            return answer and (answer["clusters"], answer["coordinates"])

        def evaluate(client: Client, file: Any) -> Any:
            answer = client.call("evaluate", file=file)
            return answer and answer["cosine"]["spearman"]

        tasks: list[tuple[Callable[[Client, Any], Any], Sequence[Any]]] = [(search, queries), (draw, parts), (evaluate, scored)]
        expected = []
        for ask, questions in tasks:
            client = Client(address, alone)
            expected.append([ask(client, question) for question in questions])
            client.close()
        compared = list[int]()

        def repeat(ask: Callable[[Client, Any], Any], questions: Sequence[Any], known: Sequence[Any], until: float) -> None:
            client, turn = Client(address, log), 0
            while time.monotonic() < until:
                place = turn % len(questions)
                answer = ask(client, questions[place])
                if answer is not None and answer != known[place]:
                    log.add_error("compared", f"question {place} has another answer: {str(answer)[:120]}")
                turn += 1
            compared.append(turn)
            client.close()

        with background_training(address, copy_rows(data / "stsb/train.csv", folder / "train.csv", 0, 2000), log):
            until = time.monotonic() + options.minutes * 60
            run_concurrently([partial(repeat, *task, known, until) for task, known in zip(tasks, expected, strict=True)])
    print("without load, from an empty home")
    alone.print()
    print(f"concurrently for {options.minutes:g} minutes, and a training")
    log.print()
    print(f"answers compared: {sum(compared)}")
    return 1 if log.errors or alone.errors else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start")
    start.add_argument("--times", type=int, default=5)
    users = commands.add_parser("users")
    users.add_argument("--users", type=int, choices=range(1, 65), metavar="1-64", default=16)
    users.add_argument("--minutes", type=float, default=10)
    users.add_argument("--rows", type=int, default=2000, help="texts of each user's file")
    soaking = commands.add_parser("soak")
    soaking.add_argument("--users", type=int, choices=range(1, 17), metavar="1-16", default=10)
    soaking.add_argument("--minutes", type=float, default=60)
    compared = commands.add_parser("compare")
    compared.add_argument("data", type=Path, metavar="DATA")
    compared.add_argument("--minutes", type=float, default=3)
    options = parser.parse_args()
    functions = {"start": measure_start, "users": load_with_users, "soak": soak, "compare": compare_under_load}
    return functions[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
