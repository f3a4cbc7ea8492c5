"""Measure requests per second and latency of ``sbert-studio serve`` and of infinity-emb, by turns, on the same texts.

    python benchmarks/serving.py --infinity /path/to/infinity_emb [--onnx FOLDER] [--model M] [--seconds 5] [--rounds 2] [--json]

With --onnx, also its engine optimum (ONNX Runtime), for the same model in FOLDER/model.onnx beside its tokenizer and configuration. Each
server runs in its own process. A closed loop of 1 to 64 clients sends requests of 1 and of 16 texts with keep-alive, in base64. For every
number of clients it prints requests per second, the 95th percentile of the latency, and the server's processor time per request; then the
requests per second that each server reaches below the same 95th percentile, interpolated between the measured numbers of clients.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

CLIENTS = (1, 2, 4, 8, 16, 32, 64)
TEXTS_PER_REQUEST = (1, 16)
LIMITS = {1: (10, 25, 50, 100, 200), 16: (50, 100, 200, 500, 1_000)}  # ms, by number of texts
_START_SECONDS = 180
_LEAST_COSINE = 0.9999
_MODEL = "m"  # id at every server


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        path: URL path of embeddings.
    """

    name: str
    port: int
    path: str
    process: int

    def body(self, texts: Sequence[str]) -> bytes:
        return json.dumps({"model": _MODEL, "input": list(texts), "encoding_format": "base64"}).encode()


@dataclass(frozen=True)
class Level:
    """Median over the rounds with a number of clients."""

    clients: int
    requests_per_second: float
    p95: float  # ms
    processor: float  # ms of processor time per request


def rate_below(levels: Sequence[Level], limit: float) -> float:
    """Return the highest requests per second with a 95th percentile of at most ``limit`` ms; 0 if a single client exceeds it."""
    best = max((level.requests_per_second for level in levels if level.p95 <= limit), default=0.0)
    for low, high in itertools.pairwise(levels):
        if low.p95 <= limit < high.p95:
            share = (limit - low.p95) / (high.p95 - low.p95)
            best = max(best, low.requests_per_second + share * (high.requests_per_second - low.requests_per_second))
    return best


async def run_clients(server: Server, bodies: Sequence[bytes], clients: int, seconds: float) -> tuple[float, list[float]]:
    """Send requests for a time; return requests per second, and the latency of each in ms."""
    taken, latencies, end = itertools.count(), list[float](), time.perf_counter() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        while (start := time.perf_counter()) < end:
            body = bodies[next(taken) % len(bodies)]
            head = f"POST {server.path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in answer.partition(b"\r\n")[0]:
                raise RuntimeError(f"{server.name}: {answer.decode()}")
            length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            latencies.append((time.perf_counter() - start) * 1000)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return len(latencies) / (time.perf_counter() - start), latencies


def processor_ms(pid: int) -> float:
    """Return the processor time of a process so far."""
    import psutil

    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system) * 1000


def embed(server: Server, texts: Sequence[str]) -> Any:
    """Return the vectors of ``texts``."""
    import numpy as np

    url, headers = f"http://127.0.0.1:{server.port}{server.path}", {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, server.body(texts), headers)) as answer:
        rows = json.load(answer)["data"]
    return np.stack([np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in rows])


@contextmanager
def started(name: str, command: Sequence[str], path: str, folder: str | None = None) -> Iterator[Server]:
    """Start a server with ``--port``, and wait until it responds."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # Neither server may report its use, or reach the network for another reason.
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"}
    with subprocess.Popen([*command, "--port", str(port)], stdout=sys.stderr, env=environment, cwd=folder) as process:
        try:
            deadline = time.monotonic() + _START_SECONDS
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit(f"{name} did not start: {' '.join(command)}") from None
                    time.sleep(0.2)
            yield Server(name, port, path, process.pid)
        finally:
            process.terminate()


def measure(servers: Sequence[Server], texts: Sequence[str], per_request: int, seconds: float, rounds: int) -> dict[str, list[Level]]:
    """Measure every number of clients, the servers by turns."""
    groups = [texts[start : start + per_request] for start in range(0, len(texts) - per_request + 1, per_request)]
    found: dict[str, list[Level]] = {server.name: [] for server in servers}
    for clients in CLIENTS:
        values: dict[str, list[tuple[float, float, float]]] = {server.name: [] for server in servers}
        for _ in range(rounds):
            for server in servers:
                bodies, before = [server.body(group) for group in groups], processor_ms(server.process)
                rate, latencies = asyncio.run(run_clients(server, bodies, clients, seconds))
                spent = (processor_ms(server.process) - before) / len(latencies)
                values[server.name].append((rate, statistics.quantiles([*latencies, latencies[-1]], n=20)[-1], spent))
        for server in servers:
            found[server.name].append(Level(clients, *(statistics.median(column) for column in zip(*values[server.name], strict=True))))
            print(f"{per_request} texts, {clients} clients, {server.name}: {found[server.name][-1]}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--infinity", required=True, help="executable of infinity-emb, such as PATH/bin/infinity_emb")
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="a model with a folder that both servers can load")
    parser.add_argument("--onnx", help="folder of the same model for the engine optimum")
    parser.add_argument("--seconds", type=float, default=5, help="per number of clients, server and round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    from sbert_studio.data.corpus import find_text_columns
    from sbert_studio.data.loading.table import read_table
    from sbert_studio.data.samples import list_samples
    from sbert_studio.models.similarity import unit
    from sbert_studio.services import Studio

    with Studio() as studio:
        folder = studio.catalog.resolve(options.model).path
    if folder is None:
        raise SystemExit(f"{options.model} is not on this machine")
    tables = [read_table(one.path) for one in list_samples()]
    cells = (text for table in tables for column in find_text_columns(table) for text in table.column(column) if text.strip())
    texts = list(dict.fromkeys(cells))
    own = [sys.executable, "-m", "sbert_studio", "serve", str(folder), "--name", _MODEL]
    peer = [options.infinity, "v2", "--served-model-name", _MODEL, "--device", "cpu", "--host", "127.0.0.1"]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(started("sbert-studio", own, "/v1/embeddings")),
            stack.enter_context(
                started("infinity-emb", [*peer, "--model-id", str(folder), "--engine", "torch", "--no-bettertransformer"], "/embeddings")
            ),
        ]
        if options.onnx:
            command = [*peer, "--model-id", ".", "--engine", "optimum", "--pooling-method", "mean"]
            servers.append(stack.enter_context(started("infinity-emb, optimum", command, "/embeddings", options.onnx)))
        vectors = [unit(embed(server, texts[:64])) for server in servers]
        least = min(float((vectors[0] * other).sum(axis=1).min()) for other in vectors[1:])
        if least < _LEAST_COSINE:
            raise SystemExit(f"the servers return other vectors: the least cosine is {least:.6f}")
        found = {count: measure(servers, texts, count, options.seconds, options.rounds) for count in TEXTS_PER_REQUEST}
    if options.json:
        levels = {count: {name: [vars(level) for level in each] for name, each in by.items()} for count, by in found.items()}
        print(json.dumps({"least_cosine": least, "levels": levels}))
    else:
        print_tables(found, least)


def print_tables(found: Mapping[int, Mapping[str, Sequence[Level]]], least: float) -> None:
    """Print both tables in Markdown."""
    print(
        f"Least cosine between the vectors of the servers: {least:.6f}. Requests per second, 95th percentile, processor time per request:\n"
    )
    ours, *peers = next(iter(found.values()))
    print(f"| texts per request | clients | {' | '.join((ours, *peers))} |\n|{'---|' * (3 + len(peers))}")
    for count, by in found.items():
        for levels in zip(*by.values(), strict=True):
            cells = (f"{level.requests_per_second:.1f}/s, {level.p95:.0f} ms, {level.processor:.1f} ms" for level in levels)
            print(f"| {count} | {levels[0].clients} | {' | '.join(cells)} |")
    print(f"\n| texts per request | p95 at most | {' | '.join((ours, *peers))} | ratio to the best |\n|{'---|' * (4 + len(peers))}")
    for count, by in found.items():
        for limit in LIMITS[count]:
            own, *others = (rate_below(levels, limit) for levels in by.values())
            ratio = f"{own / max(others):.2f} ×" if max(others) else "–"
            print(f"| {count} | {limit:,} ms | {' | '.join(f'{value:.1f}/s' for value in (own, *others))} | {ratio} |")


if __name__ == "__main__":
    main()
