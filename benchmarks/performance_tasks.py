"""Encoding, training and start compared with sentence-transformers and with an earlier version of this program."""

from __future__ import annotations

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from claims import Measured, Ratio, Setting
from synthetic import sentences
from timing import run_speed

PEER = "sentence-transformers"
EARLIER = "ebbc7a0"  # the commit before encoding and training were made faster
_ROOT = Path(__file__).resolve().parents[1]
_TEXTS, _SAMPLE_TEXTS, _SHORT_TEXTS, _LONG_TEXTS, _MAX_TOKENS = 10_000, 1_500, 4_000, 1_000, 256
_ENCODE_GOALS = {"float32": 1.65, "bfloat16": None, "int8": 4.5}
_TRAIN_GOALS = {("public", "float32"): 2.7, ("samples", "float32"): 2.2}
_EARLIER_GOALS = {("encode", "bfloat16"): 2.2, ("train", "bfloat16"): 1.6}
_EARLIER_TASKS = {
    "encode": ("encode 10,000 sentences of STSb", 10_000, "texts/s", ("float32", "bfloat16", "int8")),
    "train": ("train on 300 pairs of STSb, batch size 16", 300, "pairs/s", ("float32", "bfloat16")),
}


def encode(setting: Setting) -> Measured:
    """Encode distinct sentences of STSb, or the samples' texts, in each precision."""
    data = () if setting.data is None else ("--data", setting.data / "stsb" / "train.csv")
    precisions = ",".join(name for name in _ENCODE_GOALS if name in setting.rates)
    limit = _SAMPLE_TEXTS if setting.data is None else _TEXTS
    found = run_speed("encode", *data, "--limit", limit, "--precision", precisions, *_shared_options(setting))
    what = f"encode {found['texts']:,} {'texts of the samples' if setting.data is None else 'sentences of STSb'}"
    for name in precisions.split(","):
        rounds = found["rounds"]
        quality = f"least cosine {found['min_cosine'][name]:.6f}; the peer's batch size {found['peer_batch']}"
        floor = _product_floor(found, setting, name)
        goal = _ENCODE_GOALS[name] if setting.data else None
        yield Ratio(f"encode-{name}", f"{what}, {name}", PEER, "texts/s", rounds[name], rounds["peer"], quality, floor, goal)


def mixed(setting: Setting) -> Measured:
    """Encode short texts and paragraphs of up to 256 tokens, in random order."""
    path = setting.scratch / "mixed.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts_of_mixed_lengths(setting.data))])
    precision = "float32" if setting.peer_precision == "float32" else "bfloat16"
    found = run_speed("encode", "--data", path, "--precision", precision, *_shared_options(setting))
    mean = found["tokens"] / found["texts"]
    yield Ratio(
        f"encode-mixed-{precision}",
        f"encode {found['texts']:,} texts of 5 to {_MAX_TOKENS} tokens, {mean:.0f} on average, {precision}",
        PEER,
        "texts/s",
        found["rounds"][precision],
        found["rounds"]["peer"],
        f"least cosine {found['min_cosine'][precision]:.6f}; the peer's batch size {found['peer_batch']}",
        _product_floor(found, setting, precision),
        2.0 if setting.data else None,
    )


def texts_of_mixed_lengths(data: Path | None) -> list[str]:
    """Return short texts, and sentences joined to paragraphs of up to 256 tokens, in random order."""
    from sbert_studio.data.loading.table import read_table

    every = sentences(data)
    rng = np.random.default_rng(12)
    texts: Sequence[str] = every if data is None else read_table(data / "banking77" / "train.csv").column("text")
    short = [text for text in texts if len(text.split()) >= 3][: _SHORT_TEXTS if data else _SAMPLE_TEXTS // 2]
    long = []
    for words in rng.integers(20, int(_MAX_TOKENS * 0.8), size=_LONG_TEXTS if data else _SAMPLE_TEXTS // 6).tolist():
        parts: list[str] = []
        while sum(len(part.split()) for part in parts) < words:
            parts.append(every[int(rng.integers(len(every)))])
        long.append(" ".join(" ".join(parts).split()[:words]))
    both = [*short, *long]
    return [both[place] for place in rng.permutation(len(both)).tolist()]


def cached(setting: Setting) -> Measured:
    """Request the vectors of texts that were encoded before, compared with encoding them."""
    from sbert_studio.services.resources import Resources
    from sbert_studio.settings import Settings
    from sbert_studio.workspace import digest_texts

    every = sentences(setting.data)[:_TEXTS]
    ours, theirs, is_same, size = list[float](), list[float](), True, 0
    with Resources(replace(Settings.from_env(), home=setting.scratch / "home")) as services:
        encoder = services.catalog.load(services.settings.default_model)
        for turn in range(setting.rounds):
            texts = [f"{text} {turn}" for text in every]  # new to the cache
            vectors: list[np.ndarray] = []
            for times in (theirs, ours):
                began = time.perf_counter()
                vectors.append(services.vectors.get(texts, digest_texts(texts), encoder))
                times.append(time.perf_counter() - began)
            is_same, size = is_same and np.array_equal(*vectors), vectors[0].nbytes
    floor = f"{size / 1e6:.0f} MB: {size / setting.rates['memory'] / 1e9:.4f} s"
    what = f"the vectors of {len(every):,} texts that were encoded before"
    yield Ratio("encode-cached", what, "encoding them", "s", ours, theirs, "identical bits" if is_same else "other bits", floor, 100.0)


def train(setting: Setting) -> Measured:
    """Train one epoch on STSb, or on the samples' 400 scored pairs; both sides write the model."""
    data = () if setting.data is None else ("--data", setting.data / "stsb" / "train.csv", "--test", setting.data / "stsb" / "dev.csv")
    precisions, size = _training_precisions(setting), setting.batch_size
    found = run_speed("train", *data, "--precision", ",".join(precisions), "--batch-size", size, *_shared_options(setting))
    what = f"train on {found['pairs']:,} pairs of {'the samples' if setting.data is None else 'STSb'}, batch size {size}"
    scores, rounds = found.get("test_spearman", {}), found["rounds"]
    operations = 3 * found["operations"] * found["tokens"] / found["pairs"]  # forward, and twice as much backward
    for name in precisions:
        quality = f"STSb dev {scores[name]['mean']:.4f}, the peer's {scores['peer']['mean']:.4f}" if scores else ""
        speed = f"{setting.rates[name] * 1e9 / operations:,.0f} pairs/s at {setting.rates[name]:,.0f} GFLOP/s"
        floor, goal = f"{operations / 1e9:.2f} GFLOP a pair: {speed}", _TRAIN_GOALS.get((setting.source, name))
        key = f"train-{name}" + ("" if size == 16 else f"-{size}")
        yield Ratio(key, f"{what}, {name}", PEER, "pairs/s", rounds[name], rounds["peer"], quality, floor, goal)


def memory(setting: Setting) -> Measured:
    """Measure the peak memory of a process that trains on 1,000 pairs, batch size 16."""
    data = () if setting.data is None else ("--data", setting.data / "stsb" / "train.csv")
    precisions = _training_precisions(setting)
    found = run_speed("memory", *data, "--limit", 1_000, "--precision", ",".join(precisions), "--repeats", setting.rounds)
    what = f"peak memory of training on {'the samples' if setting.data is None else '1,000 pairs of STSb'}, batch size 16"
    for name in precisions:
        yield Ratio(f"memory-{name}", f"{what}, {name}", PEER, "MiB", found["rounds"][name], found["rounds"]["peer"], goal=1.0)


def start(setting: Setting) -> Measured:
    """Start a process that imports, loads and encodes two texts."""
    from sbert_studio.models.io.bundled import bundled_folder
    from sbert_studio.settings import Settings
    from sbert_studio.workspace import Workspace

    found = run_speed("startup", "--repeats", setting.rounds)
    size = (bundled_folder(found["model"], Workspace(Settings.from_env().home)) / "model.safetensors").stat().st_size
    rounds, floor = found["rounds"], f"{size / 1e6:.0f} MB of weights, read from the disk's cache"
    yield Ratio("start", "from a new process to the vectors of two texts", PEER, "s", rounds["ours"], rounds["peer"], "", floor)


def before(setting: Setting) -> Measured:
    """Compare each precision with an earlier version of this program in float32; needs the public sets and the git history."""
    if setting.data is None:
        return
    if subprocess.run(["git", "-C", _ROOT, "cat-file", "-e", f"{EARLIER}^{{commit}}"], capture_output=True, check=False).returncode:
        print(f"not compared with {EARLIER}: git has no such commit here (a shallow clone?)", file=sys.stderr)
        return
    data = (setting.data / "stsb" / "train.csv").resolve()
    for task, (what, limit, unit, precisions) in _EARLIER_TASKS.items():
        options = (task, "--data", data, "--limit", limit, "--repeats", 1)
        rounds: dict[str, list[float]] = {name: [] for name in (*precisions, "earlier")}
        with _checked_out(EARLIER) as earlier:
            for _ in range(setting.rounds):
                for name, values in run_speed(*options, "--precision", ",".join(precisions))["rounds"].items():
                    if name in precisions:
                        rounds[name] += values
                rounds["earlier"] += _run_earlier(earlier, *options)["rounds"]["float32"]
        peer = f"this program at {EARLIER}, float32"
        for name in precisions:
            goal = _EARLIER_GOALS.get((task, name))
            yield Ratio(f"before-{task}-{name}", f"{what}, {name}", peer, unit, rounds[name], rounds["earlier"], goal=goal)


@contextmanager
def _checked_out(revision: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "earlier"
        subprocess.run(["git", "-C", _ROOT, "worktree", "add", "--quiet", "--detach", target, revision], check=True)
        try:
            yield target
        finally:
            subprocess.run(["git", "-C", _ROOT, "worktree", "remove", "--force", target], check=True)


def _run_earlier(folder: Path, *options: object) -> dict[str, dict[str, list[float]]]:
    """Run the earlier version's ``bench`` command with today's libraries."""
    command = [sys.executable, "-m", "sbert_studio", "bench", *map(str, options), "--precision", "float32", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    written = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment).stdout
    answer: dict[str, dict[str, list[float]]] = json.loads(written)
    return answer


def _shared_options(setting: Setting) -> tuple[object, ...]:
    return "--repeats", setting.rounds, "--peer-precision", setting.peer_precision


def _training_precisions(setting: Setting) -> list[str]:
    return [name for name in ("float32", "bfloat16") if name in setting.rates]


def _product_floor(found: Mapping[str, Any], setting: Setting, precision: str) -> str:
    """Describe the time that the model's products take at this machine's rate, and its share of our time."""
    texts, tokens, operations, rounds = (found[name] for name in ("texts", "tokens", "operations", "rounds"))
    total, taken = operations * tokens, statistics.median(texts / rate for rate in rounds[precision])
    floor = total / setting.rates[precision] / 1e9
    return f"{total / 1e9:,.0f} GFLOP: {floor:.2f} s at {setting.rates[precision]:,.0f} GFLOP/s, {floor / taken:.0%} of ours"
