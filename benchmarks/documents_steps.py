"""Measure the steps from documents to an evaluated search: their time and memory, and what is lost when they are killed.

    python benchmarks/documents_steps.py SET scale [--passages 2500 10000] [--steps 50]
    python benchmarks/documents_steps.py SET kills [--times 10]

scale  minutes and peak memory of `pairs`, `negatives`, `train` (so many steps) and `evaluate --retrieval` on so many passages, which
       are recombined from the documents of SET; memory that does not grow with the passages is flat
kills  kills `pairs`, `negatives` and `train` with SIGKILL at random moments, starts them again (`train --resume` where a run was begun),
       and compares what they write, byte by byte, with what they write undisturbed

SET is a folder in the BEIR layout. Each measurement has a new home, so that nothing is in the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from figures import row
from synthetic import recombined
from timing import run_studio

from sbert_studio.workspace import digest_file, write_json_lines

_BATCH = 32
_MIB = 1 << 20
_QUERIES = 1_000  # of the scaled set
_QUICK = ("--epochs", "1", "--batch-size", "16", "--set", "checkpoint_every=2", "--set", "blend=false")


def corpus_texts(folder: Path) -> list[str]:
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        return [" ".join(json.loads(line)["text"].split()) for line in lines]


def write_scaled(source: Path, target: Path, passages: int) -> None:
    """Write a set of documents of one passage each, with known items as queries: the first words of some documents."""
    texts = recombined([text for text in corpus_texts(source) if 30 <= len(text.split()) <= 120], passages)
    # Numbered titles: sentences that several documents share make no pairs.
    write_json_lines(target / "corpus.jsonl", ({"_id": f"d{n}", "title": f"Entry {n}", "text": text} for n, text in enumerate(texts)))
    asked = range(0, passages, max(1, passages // _QUERIES))
    write_json_lines(target / "queries.jsonl", ({"_id": f"q{n}", "text": " ".join(texts[n].split()[:8])} for n in asked))
    (target / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in asked)]
    (target / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def scale(source: Path, counts: list[int], steps: int) -> Iterator[str]:
    yield row("passages", "step", "minutes", "peak memory, MiB", "result")
    yield row(*["---"] * 5)
    for count in counts:
        with tempfile.TemporaryDirectory() as home:
            folder, pairs, mined, model = (Path(home) / name for name in ("set", "pairs.jsonl", "triplets.jsonl", "model"))
            folder.mkdir()
            write_scaled(source, folder, count)
            os.environ["SBERT_STUDIO_HOME"] = str(Path(home) / "studio")

            def measured(name: str, *arguments: object, count: int = count) -> tuple[dict[str, object], tuple[object, ...]]:
                start = time.perf_counter()
                found = run_studio(name, *arguments)
                return found, (f"{count:,}", name, f"{(time.perf_counter() - start) / 60:.1f}", round(found["peak_bytes"] / _MIB))

            made, cells = measured("pairs", folder / "corpus.jsonl", "--out", pairs)
            yield row(*cells, f"{made['passages']:,} passages, {sum(made['kept'].values()):,} pairs")  # type: ignore[attr-defined]
            negatives, cells = measured("negatives", pairs, "--corpus", folder / "corpus.jsonl", "--out", mined)
            yield row(*cells, f"{negatives['negatives']:,} negatives")
            with mined.open(encoding="utf-8") as lines:
                epochs = steps * _BATCH / sum(1 for _line in lines) / 0.9
            run, cells = measured("train", mined, "--epochs", f"{epochs:.4f}", "--batch-size", _BATCH, "--out", model)
            yield row(*cells, f"{run['steps']} steps in {run['seconds'] / 60:.1f} minutes")  # type: ignore[operator]
            found, cells = measured("evaluate", model, "--retrieval", folder)
            yield row(*cells, f"nDCG@10 {found['ndcg@10']:.3f}")


def start(home: Path, *arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sbert_studio", *map(str, arguments)]
    environment = os.environ | {"SBERT_STUDIO_HOME": str(home)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def complete(home: Path, *arguments: object) -> float:
    """Run a command to its end; return its seconds."""
    began = time.perf_counter()
    if status := start(home, *arguments).wait():
        raise subprocess.CalledProcessError(status, [str(one) for one in arguments])
    return time.perf_counter() - began


def begun_run(home: Path) -> str:
    """Return the id of the run of a home; empty if none was begun."""
    return next((path.name for path in sorted((home / "runs").glob("run-*"))), "")


def kill_and_restart(home: Path, command: tuple[object, ...], seconds: float) -> str:
    """Kill a command after so many seconds and start it again; return how it was continued."""
    process = start(home, *command)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.kill()
    process.wait()
    run = begun_run(home) if command[0] == "train" else ""
    again = ("train", "--resume", run, *command[command.index("--out") :]) if run else command
    try:
        complete(home, *again)
    except subprocess.CalledProcessError:
        if not run:
            raise
        complete(home, *command)  # a run that was killed before its data were copied
        return "started again"
    return "resumed" if run else "started again"


def kills(source: Path, times: int, seed: int = 12) -> Iterator[str]:
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pairs, mined = work / "pairs.jsonl", work / "mined.jsonl"
        documents = source / "corpus.jsonl"
        steps: Mapping[str, Callable[[Path], tuple[object, ...]]] = {
            "pairs": lambda out: ("pairs", documents, "--out", out),
            "negatives": lambda out: ("negatives", pairs, "--corpus", documents, "--out", out),
            "train": lambda out: ("train", mined, *_QUICK, "--out", out),
        }
        whole = {"pairs": pairs, "negatives": mined, "train": work / "model"}
        seconds = {name: complete(work / f"home-{name}", *command(whole[name])) for name, command in steps.items()}
        yield row("step", "killed after", "of", "continued", "result")
        yield row(*["---"] * 5)
        for number in range(times):
            name = list(steps)[number % len(steps)]
            moment = seconds[name] * drawn.uniform(0.2, 1)
            out = work / f"{name}-{number}{'' if name == 'train' else '.jsonl'}"
            how = kill_and_restart(work / f"home-{number}", steps[name](out), moment)
            is_equal = result_digest(out) == result_digest(whole[name])
            yield row(name, f"{moment:.1f} s", f"{seconds[name]:.1f} s", how, "equal" if is_equal else "DIFFERENT")


def result_digest(path: Path) -> str:
    return digest_file(path / "model.safetensors" if path.is_dir() else path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path, metavar="SET")
    parser.add_argument("what", choices=("scale", "kills"))
    parser.add_argument("--passages", type=int, nargs="+", default=[2_500, 10_000])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    lines = scale(options.set, options.passages, options.steps) if options.what == "scale" else kills(options.set, options.times)
    for line in lines:
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
