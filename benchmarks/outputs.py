"""Record what every command answers, and compare two recordings: ``python benchmarks/outputs.py record DIR``, then ``compare DIR OTHER``.

A safety net for changes that must not change results. A recording holds the ``--json`` answer of each command on the bundled samples,
vectors, a seeded training, the files of an export and, with ``--screens``, pictures of every tab. Ids, paths and times are replaced by
fixed words, since they differ from run to run. ``compare`` prints each difference and exits with 1 where there is one; numbers may differ
by 1e-6, pictures are compared by the share of their pixels that changed, which is printed and never fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "assets/samples"
TOLERANCE = 1e-6
_VOLATILE = {
    "seconds",
    "milliseconds",
    "created",
    "started",
    "ended",
    "updated",
    "bytes",
    "pairs_per_second",
    "sentences_per_second",
    "time",
}
_ID = re.compile(r"\b(run|words)-[0-9a-f]{10}\b")
_QUICK = ("--epochs", "1", "--seed", "12")

Step = tuple[str, Sequence[str]]


def commands(folder: Path) -> Iterator[Step]:
    """Yield (name, arguments) of each command; files that they write go to ``folder``. ``RUN`` is replaced by the run trained last."""
    scored, requests = str(SAMPLES / "scored_pairs.csv"), str(SAMPLES / "support_requests.csv")
    yield "similarity", ("similarity", "A kitten sleeps.", "A cat is resting.")
    yield "similarity-pairs", ("similarity", "--pairs", scored)
    yield "encode", ("encode", requests, "--out", str(folder / "encode.npy"))
    yield "encode-bfloat16", ("encode", requests, "--out", str(folder / "encode-bfloat16.npy"), "--precision", "bfloat16")
    for mode in ("semantic", "lexical", "hybrid"):
        yield f"search-{mode}", ("search", requests, "my payment failed", "--mode", mode)
    yield "mine", ("mine", requests, "-k", "10")
    yield "map", ("map", requests, "--out", str(folder / "map.html"), "--seed", "1")
    for sample in sorted(SAMPLES.glob("*.csv")):
        yield f"check-{sample.stem}", ("check", str(sample))
        yield f"plan-{sample.stem}", ("train", str(sample), "--plan")
    for method in ("full", "lora"):
        yield f"train-{method}", ("train", scored, "--method", method, *_QUICK, "--name", method)
        yield f"encode-{method}", ("encode", requests, "--model", "RUN", "--out", str(folder / f"encode-{method}.npy"))
    yield "train-triplets", ("train", str(SAMPLES / "triplets.csv"), *_QUICK, "--name", "triplets")
    yield "evaluate-sts", ("evaluate", "all-MiniLM-L6-v2", "RUN", "--data", scored)
    yield "evaluate-categories", ("evaluate", "all-MiniLM-L6-v2", "--data", str(SAMPLES / "labelled_texts.csv"))
    yield "fit", ("fit", requests, "--kind", "glove", "--out", str(folder / "glove"))
    yield "distill", ("distill", "all-MiniLM-L6-v2", "--dim", "16", "--out", str(folder / "static"))
    yield "encode-static", ("encode", requests, "--model", str(folder / "static"), "--out", str(folder / "encode-static.npy"))
    yield "export", ("export", "RUN", "--out", str(folder / "export.zip"))
    yield "models", ("models",)
    yield "runs", ("runs",)
    yield "leaderboard", ("leaderboard",)


def record(folder: Path, *, screens: bool) -> None:
    """Run all commands with a new home folder and write their answers to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "SBERT_STUDIO_HOME": home, "PYTHONPATH": str(ROOT)}
        run = ""
        for name, arguments in commands(folder):
            given = [run if argument == "RUN" else argument for argument in arguments]
            print(f"{name}: {' '.join(given)}", file=sys.stderr, flush=True)
            done = subprocess.run(
                [sys.executable, "-m", "sbert_studio", *given, "--json"], env=environment, capture_output=True, text=True, check=False
            )
            answer = json.loads(done.stdout) if done.stdout.strip() else {"stderr": done.stderr}
            run = str(answer.get("run", run)) if name.startswith("train-") else run
            found = {"code": done.returncode, "answer": _steady(answer, {home: "HOME", str(folder): "OUT", str(ROOT): "ROOT"})}
            (folder / f"{name}.json").write_text(json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True), encoding="utf-8")
        _record_archive(folder / "export.zip")
        if screens:
            _record_screens(folder / "screens", environment)


def _steady(value: Any, places: Mapping[str, str]) -> Any:
    """Return ``value`` without what differs from run to run."""
    if isinstance(value, Mapping):
        return {key: "…" if key in _VOLATILE else _steady(item, places) for key, item in value.items()}
    if isinstance(value, list):
        return [_steady(item, places) for item in value]
    if isinstance(value, str):
        for place, word in places.items():
            value = value.replace(place, word)
        return _ID.sub(r"\1-ID", value)
    return value


def _record_archive(path: Path) -> None:
    """Write the names of an archive's files, and of those that no time or id is in a digest."""
    if not path.is_file():
        return
    with zipfile.ZipFile(path) as archive:
        listed = {
            name: hashlib.sha256(archive.read(name)).hexdigest() if name.endswith((".safetensors", "tokenizer.json", ".jsonl")) else ""
            for name in sorted(archive.namelist())
        }
    path.with_suffix(".files.json").write_text(json.dumps(listed, indent=1), encoding="utf-8")


def _record_screens(folder: Path, environment: Mapping[str, str]) -> None:
    port = "7979"
    app = subprocess.Popen([sys.executable, "-m", "sbert_studio", "app", "--port", port], env=dict(environment), stdout=subprocess.DEVNULL)
    try:
        script = ROOT / "docs/make_screenshots.py"
        subprocess.run([sys.executable, str(script), f"http://127.0.0.1:{port}", str(folder)], env=dict(environment), check=True)
    finally:
        app.terminate()
        app.wait(60)


def compare(before: Path, after: Path) -> int:
    """Print every difference between two recordings; return how many there are."""
    found = 0
    for path in sorted({*before.glob("*.json"), *(before / other.name for other in after.glob("*.json"))}):
        pair = [folder / path.name for folder in (before, after)]
        if not all(one.is_file() for one in pair):
            print(f"{path.name}: only in {'the second' if pair[1].is_file() else 'the first'} recording")
            found += 1
            continue
        for place, first, second in _differences("", *(json.loads(one.read_text(encoding="utf-8")) for one in pair)):
            print(f"{path.stem}{place}: {_brief(first)} → {_brief(second)}")
            found += 1
    for path in sorted(before.glob("*.npy")):
        if (after / path.name).is_file():
            first, second = np.load(path), np.load(after / path.name)
            largest = float(np.abs(first - second).max()) if first.shape == second.shape else float("inf")
            print(f"{path.name}: largest difference {largest:.1e}")
            found += largest > TOLERANCE
    for path in sorted((before / "screens").glob("*.png")):
        _compare_pictures(path, after / "screens" / path.name)
    return found


def _differences(place: str, first: Any, second: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in sorted({*first, *second}):
            yield from _differences(f"{place}.{key}", first.get(key, "(absent)"), second.get(key, "(absent)"))
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from _differences(f"{place}[{number}]", one, other)
    elif isinstance(first, float) and isinstance(second, float | int):
        if abs(first - second) > TOLERANCE * max(1.0, abs(first)):
            yield place, first, second
    elif first != second:
        yield place, first, second


def _brief(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:160]


def _compare_pictures(first: Path, second: Path) -> None:
    if not second.is_file():
        print(f"{first.name}: not there any more")
        return
    from PIL import Image, ImageChops

    one, other = (Image.open(path).convert("RGB") for path in (first, second))
    if one.size != other.size:
        print(f"{first.name}: {one.size} → {other.size}")
        return
    changed = np.asarray(ImageChops.difference(one, other)).any(axis=2).mean()
    print(f"{first.name}: {changed:.1%} of its pixels changed")


def main() -> int:
    """Record or compare; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=["record", "compare"])
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--screens", action="store_true", help="take pictures of every tab too")
    given = parser.parse_args()
    if given.verb == "record":
        record(given.folders[0].resolve(), screens=given.screens)
        return 0
    return 1 if compare(*given.folders[:2]) else 0


if __name__ == "__main__":
    sys.exit(main())
