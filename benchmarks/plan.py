"""Estimate hours, cost and disk for very many sentences from measured rates: ``python benchmarks/plan.py --rate 1370 --machines 16 …``.

Nothing is measured here and every rate is an argument; each line says what it was computed from.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

_ID_BYTES = 32  # of a row's id and checksums


def plan(
    *, rows: int, rate: float, machines: int, price: float, disk_price: float, dim: int, text: float, lists: float, index_rate: float,
    pairs_rate: float,
) -> Iterator[tuple[str, str, str]]:  # fmt: skip
    """Yield (quantity, amount, computed from) of each line.

    Args:
        rows: number of sentences; rate: sentences a second that one machine encodes; machines: number of machines.
        price: of one machine an hour; disk_price: of a gigabyte a month; in any currency.
        dim: components of a vector; text: mean bytes of a sentence; lists: bytes a row of the index.
        index_rate: rows a second that one machine adds to the index.
        pairs_rate: pairs of rows a second that one machine compares exactly.
    """
    machine_hours = rows / rate / 3600
    yield (
        "encoding",
        f"{machine_hours:,.0f} machine-hours, {machine_hours / machines:,.1f} h on {machines}",
        f"{rows:,} / {rate:,.0f} a second",
    )
    yield "encoding, cost", f"{machine_hours * price:,.2f}", f"{price:g} a machine-hour"
    texts, vectors, index = rows * text / 1e9, rows * (4 * dim + _ID_BYTES) / 1e9, rows * lists / 1e9
    yield "texts on disk", f"{texts:,.1f} GB", f"{text:g} bytes each, twice: the sources, and with the vectors"
    yield "vectors on disk", f"{vectors:,.1f} GB", f"{dim} × 4 + {_ID_BYTES} bytes a row"
    yield "index on disk", f"{index:,.1f} GB", f"{lists:g} bytes a row"
    total = 2 * texts + vectors + 2 * index
    yield (
        "disk, total",
        f"{total:,.1f} GB, {total * disk_price:,.2f} a month",
        f"the index twice during building; {disk_price:g} a GB-month",
    )
    yield "index, built by one machine", f"{rows / index_rate / 3600:,.1f} h", f"{index_rate:,.0f} rows a second"
    hours = rows * (rows - 1) / 2 / pairs_rate / 3600
    yield "all pairs, exactly", f"{hours:,.0f} machine-hours, {hours * price:,.2f}", f"{pairs_rate:,.0f} pairs a second"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--rate", type=float, required=True, help="sentences a second of one machine: benchmarks/speed.py encode")
    parser.add_argument("--machines", type=int, default=16)
    parser.add_argument("--price", type=float, required=True, help="of one such machine an hour")
    parser.add_argument("--disk-price", type=float, required=True, help="of a gigabyte a month")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--text", type=float, required=True, help="mean bytes of a sentence, as Parquet packs it")
    parser.add_argument("--lists", type=float, required=True, help="bytes a row of the index: benchmarks/scale.py --index")
    parser.add_argument("--index-rate", type=float, required=True, help="rows a second into the index: benchmarks/scale.py --index")
    parser.add_argument("--pairs-rate", type=float, required=True, help="pairs a second: rows²/2 over the seconds of sbert-studio mine")
    lines = list(plan(**vars(parser.parse_args())))
    for line in (("quantity", "amount", "computed from"), ("---", "---", "---"), *lines):
        print(f"| {' | '.join(line)} |")


if __name__ == "__main__":
    main()
