"""The page in a process of its own, on the loopback, and those who call it over HTTP; what visitors.py and soak.py share."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

_START, _ANSWER = 180, 600
_TOPICS = (
    ("my card was swallowed by the machine", "the cash machine kept my bank card", "how do I get a new card"),
    ("the transfer has not arrived yet", "why is my payment pending", "money sent to the wrong account"),
    ("how long does bread dough rise", "my sourdough is too dense", "which flour makes soft bread"),
    ("will it rain tomorrow", "the forecast says heavy snow", "is there a storm coming this weekend"),
)
QUERIES = ("where is my money", "bread without yeast", "the weather on Sunday", "a new bank card", "machine ate it")


# The page as ``sbert-studio app`` opens it, and what it holds in memory told on stderr four times a minute.
_TELLING = """
import logging, sys
from sbert_studio.cli import main
logging.basicConfig(stream=sys.stderr, format="%(message)s")
logging.getLogger("sbert_studio.services.janitor").setLevel(logging.DEBUG)
main(["app", *sys.argv[1:]])
"""


@contextmanager
def page(told_to: Path | None = None, **environment: str) -> Iterator[tuple[str, int]]:
    """Open the page with a home of its own; its address and its process id. It is ended, and its home removed, on the way out.

    Args:
        told_to: a file for what the page logs, among it what each of its caches holds; see :func:`held`.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="sbert-studio-", ignore_cleanup_errors=True) as home:
        told = {**os.environ, "SBERT_STUDIO_HOME": home, "HF_HUB_OFFLINE": "1", **environment}
        begin = ["-m", "sbert_studio", "app"] if told_to is None else ["-c", _TELLING]
        command = [sys.executable, *begin, "--host", "127.0.0.1", "--port", str(port)]
        log = None if told_to is None else told_to.open("w")
        process = subprocess.Popen(command, env=told, stdout=subprocess.DEVNULL, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(_START * 20):
                assert process.poll() is None, "the page ended while it was opened"
                try:
                    httpx.get(f"{address}/config", timeout=5)
                    break
                except httpx.HTTPError:
                    time.sleep(0.05)
            else:
                raise AssertionError("the page did not open in time")
            yield address, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if log is not None:
                log.close()


def resident(pid: int) -> int:
    """The resident memory of a process, in bytes (Linux)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def held(told: Path) -> dict[str, int]:
    """The bytes that each cache of the page held when it last told."""
    lines = [line for line in told.read_text(encoding="utf-8", errors="replace").splitlines() if line.startswith("memory {")]
    return json.loads(lines[-1].removeprefix("memory ")) if lines else {}


@dataclass
class Told:
    """How long each call took, by verb, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def took(self, verb: str, seconds: float) -> None:
        """Note an answer."""
        with self.lock:
            self.seconds.setdefault(verb, []).append(seconds)

    def failed(self, verb: str, why: str) -> None:
        """Note a failure."""
        with self.lock:
            self.errors.append(f"{verb}: {why[:300]}")

    def lines(self) -> Iterator[str]:
        """A line a verb: how many, the middle one, the 95th of a hundred, the longest."""
        for verb, found in sorted(self.seconds.items()):
            ordered = sorted(found)
            at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95)]
            yield f"{verb:<16} {len(found):>6}   p50 {at[0]:7.2f} s   p95 {at[1]:7.2f} s   max {ordered[-1]:7.2f} s"
        yield f"errors           {len(self.errors):>6}"
        yield from (f"  {error}" for error in dict.fromkeys(self.errors))


class Caller:
    """A visitor: one connection, the verbs of the API as gradio_client calls them."""

    def __init__(self, address: str, told: Told) -> None:
        self._told = told
        self._http = httpx.Client(base_url=f"{address}/gradio_api", timeout=httpx.Timeout(_ANSWER), trust_env=False)
        named = self._http.get("/info").raise_for_status().json()["named_endpoints"]
        self._defaults = {
            verb: {one["parameter_name"]: one.get("parameter_default") for one in found["parameters"]} for verb, found in named.items()
        }

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def upload(self, path: Path) -> dict[str, Any]:
        """Send a file; what stands for it in a call."""
        with path.open("rb") as source:
            (there,) = self._http.post("/upload", files={"files": (path.name, source)}).raise_for_status().json()
        return {"path": there, "orig_name": path.name, "meta": {"_type": "gradio.FileData"}}

    def call(self, verb: str, *, timed_as: str = "", **named: Any) -> Any:
        """The answer of a verb, timed as ``timed_as``; None where it failed, which is noted."""
        kind, data = timed_as, {**self._defaults[f"/{verb}"], **named}
        start = time.perf_counter()
        try:
            event = self._http.post(f"/call/{verb}", json={"data": list(data.values())}).raise_for_status().json()["event_id"]
            name = body = ""
            with self._http.stream("GET", f"/call/{verb}/{event}") as lines:
                for line in lines.iter_lines():
                    if line.startswith("event: "):
                        name = line[7:]
                    elif line.startswith("data: ") and name in ("complete", "error"):
                        body = line[6:]
                        break
        except (httpx.HTTPError, KeyError, ValueError) as error:
            self._told.failed(kind or verb, repr(error))
            return None
        if name != "complete":
            self._told.failed(kind or verb, body or "no answer")
            return None
        self._told.took(kind or verb, time.perf_counter() - start)
        return json.loads(body)[0]


def write_corpus(path: Path, rows: int, seed: int) -> Path:
    """So many texts, no two alike, in a CSV with a topic."""
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8") as target:
        target.write("text,topic\n")
        for number in range(rows):
            topic = draw.randrange(len(_TOPICS))
            parts = [draw.choice(draw.choice(_TOPICS)) for _ in range(draw.randrange(3))]
            target.write(f'"{" and ".join([draw.choice(_TOPICS[topic]), *parts])} {seed} {number}",{topic}\n')
    return path


def write_pairs(path: Path, rows: int, seed: int = 0) -> Path:
    """Scored pairs: 5 within a topic, 0 across."""
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8") as target:
        target.write("sentence1,sentence2,score\n")
        for number in range(rows):
            a, b = draw.randrange(len(_TOPICS)), draw.randrange(len(_TOPICS))
            b = a if number % 2 else b
            target.write(f"{draw.choice(_TOPICS[a])} {number},{draw.choice(_TOPICS[b])} {number % 97},{5 if a == b else 0}\n")
    return path


@contextmanager
def beside_training(address: str, pairs: Path, told: Told) -> Iterator[None]:
    """Meanwhile, one training after the other goes on; the last one is stopped at the end."""
    ended = threading.Event()
    trainer = threading.Thread(target=keep_training, args=(address, pairs, ended, told))
    trainer.start()
    try:
        yield
    finally:
        ended.set()
        trainer.join()


def at_once(works: Iterable[Callable[[], object]]) -> None:
    """Carry out each work in a thread of its own; back once all have ended."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def keep_training(address: str, pairs: Path, ended: threading.Event, told: Told) -> None:
    """Train one run after the other until told to end; the last one is stopped by its token."""
    caller = Caller(address, told)
    while not ended.is_set():
        settings = json.dumps({"epochs": 2, "batch_size": 16, "dev_fraction": 0.1})
        run = caller.call("train", file=caller.upload(pairs), method="full", settings=settings, name="beside", as_read=True)
        if run is None:
            break
        while (seen := caller.call("run", run_id=run["id"])) and seen["run"]["status"] in ("queued", "running"):
            if ended.wait(1.0):
                caller.call("stop", run_id=run["id"], token=run["token"])
                break
        if seen and seen["run"]["status"] == "failed":
            told.failed("training", seen["run"]["message"])
            break
    caller.close()
