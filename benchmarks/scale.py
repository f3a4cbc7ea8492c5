"""Measure sharded encoding and the index on this machine: ``python benchmarks/scale.py [--texts FILE] [--rows 4000] [--index]``.

Encodes the same sentences in one process and on a Ray cluster of two workers on this machine, with so many rows and with twice as many;
prints the seconds, their ratio (2 where twice the rows take twice the time), and checks that both write the same bytes. The start of the
cluster is reported separately. ``--index`` builds and queries an index of synthetic vectors instead.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

WORDS = ["plane", "bank", "card", "river", "guitar", "child", "dog", "market", "paper", "train", "window", "coffee", "old", "new"]


def sentences(rows: int, file: Path | None) -> list[str]:
    """Return distinct texts of a file's first column, or random words; numbered where there are too few."""
    if file is None:
        random = np.random.default_rng(12)
        return [" ".join(random.choice(WORDS, random.integers(5, 20))) for _ in range(rows)]
    with file.open(encoding="utf-8", newline="") as source:
        found = [row[0] for row in csv.reader(source) if row and row[0].strip()]
    return [f"{found[row % len(found)]} {row // len(found) or ''}".strip() for row in range(rows)]


def write(folder: Path, texts: list[str]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, len(texts), 10_000)):
        pq.write_table(pa.table({"text": texts[start : start + 10_000]}), folder / f"{number:04d}.parquet", row_group_size=2_000)
    return folder


def digest(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted((folder / "shards").glob("part-*")))).hexdigest()[:12]


def encode(home: Path, rows: int, file: Path | None, times: int) -> None:
    from sbert_studio.services import Studio
    from sbert_studio.services.shards import EncodingOptions, ShardingOptions
    from sbert_studio.settings import Settings, configure_ray
    from sbert_studio.shards.executor import ExecutionOptions

    configure_ray(alone=True)
    import ray

    from sbert_studio.shards.executor import _start_ray

    many = {rows * twice: write(home / f"texts-{twice}", sentences(rows * twice, file)) for twice in (1, 2)}
    began = time.perf_counter()
    _start_ray(ray, "", 2, 100)
    print(f"a cluster of two workers starts in {time.perf_counter() - began:.1f} s")
    taken: dict[tuple[str, int], list[float]] = {}
    with Studio(Settings(home=home / "home", device="cpu")) as studio:
        for turn in range(times):
            for count, texts in many.items():
                found = []
                for engine in ("local", "ray"):
                    out = home / f"{engine}-{count}-{turn}"
                    done = studio.shards.encode(texts, out, ExecutionOptions(engine, workers=2), ShardingOptions(1, 500), EncodingOptions())
                    taken.setdefault((engine, count), []).append(done.seconds)
                    found.append(digest(out))
                    print(f"{engine:6} {count:8,} rows {done.seconds:7.1f} s {done.sentences_per_second:7,.0f}/s  {found[-1]}", flush=True)
                assert found[0] == found[1], "the two engines differ"
    ray.shutdown()
    for engine in ("local", "ray"):
        one, two = (median(taken[engine, count]) for count in many)
        print(f"{engine}: twice the rows cost {two / one:.2f} times the time")
    for count in many:
        ratio = median(taken["local", count]) / median(taken["ray", count])
        print(f"{count:,} rows: two workers are {ratio:.2f} times as fast as one process of one thread")


def index(home: Path, rows: int, dim: int = 384) -> None:
    """Build and query an index of vectors around 2,000 centres, in shards as ``encode`` writes them; no text is encoded."""
    import pyarrow as pa

    from sbert_studio.shards.jobs import Job, JobFolder
    from sbert_studio.shards.serving import ShardIndex
    from sbert_studio.shards.sources import find_sources

    source = write(home / "texts", ["a text"] * rows)
    job = Job("encode", find_sources(source), {"model": {"dim": dim}, "text": "text", "id": None, "threads": 1})
    folder, random = JobFolder(home / "vectors"), np.random.default_rng(12)
    folder.begin(job)
    centres = random.standard_normal((2_000, dim), np.float32)
    for shard in job.shards:
        drawn = centres[random.integers(0, len(centres), shard.rows)] + 0.6 * random.standard_normal((shard.rows, dim), np.float32)
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        columns = {"id": np.arange(shard.rows) + shard.first, "text": ["a text"] * shard.rows}
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(drawn.reshape(-1)), dim)
        folder.keep(job, shard, pa.table({**columns, "vector": vectors}), 0, {})
    size = sum(path.stat().st_size for path in (folder.path / "shards").iterdir())
    print(f"{rows:,} rows: shards of {size / 1e6:,.0f} MB ({size / rows:,.0f} bytes a row)")
    began = time.perf_counter()
    served = ShardIndex(folder.path)
    print(f"index built in {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    served = ShardIndex(folder.path)
    print(f"opened in {time.perf_counter() - began:.2f} s")
    lists = sum(path.stat().st_size for path in next(folder.path.glob("index-*")).iterdir())
    print(f"index of {lists / 1e6:,.0f} MB ({lists / rows:,.0f} bytes a row, {lists / (rows * dim * 4):.0%} of the vectors)")
    drawn = random.choice(rows, 100, replace=False)
    queries = served.rows.vectors(drawn) + 0.02 * random.standard_normal((100, dim), np.float32)
    scores = np.concatenate([block @ queries.T for block in served.rows.blocks()])
    right, spent = 0, []
    for place, query in enumerate(queries):
        began = time.perf_counter()
        found, _ = served.search(query, 10)
        spent.append(1000 * (time.perf_counter() - began))
        right += len(set(found.tolist()) & set(np.argpartition(-scores[:, place], 10)[:10].tolist()))
    print(f"recall@10 {right / 1000:.3f}; median {np.median(spent):.1f} ms, p95 {np.percentile(spent, 95):.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, help="CSV with sentences in the first column")
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--index", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.index:
            index(Path(folder), options.rows)
        else:
            encode(Path(folder), options.rows, options.texts, options.times)


if __name__ == "__main__":
    main()
