"""Examples as a file, exactly as they were built, so that nobody builds them a second time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ..errors import StudioError
from ..workspace import atomic_file
from .examples import Examples

_META = b"sbert-studio"


def write_examples(examples: Examples, path: Path) -> None:
    """Write examples as Parquet, atomically: a column a text, ``target``, ``line`` and ``group``, with kind, classes and digest beside."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"text{place}": pa.array(texts, pa.large_string()) for place, texts in enumerate(examples.texts)}
    columns["line"] = pa.array(examples.lines)
    if examples.targets is not None:
        columns["target"] = pa.array(examples.targets)
    if examples.groups:
        columns["group"] = pa.array(examples.groups, pa.large_string())
    facts = {"kind": examples.kind, "labels": list(examples.labels), "ordered": examples.ordered, "digest": examples.digest}
    table = pa.table(columns).replace_schema_metadata({_META: json.dumps(facts).encode()})
    with atomic_file(path) as part:
        pq.write_table(table, part)


def read_examples(path: Path) -> Examples:
    """The examples that :func:`write_examples` wrote, with what is wrong with the file told from what is wrong with the program.

    Raises:
        StudioError: the file is damaged, or what it holds is not what was written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        facts = json.loads(table.schema.metadata[_META])
        names = [name for name in table.column_names if name.startswith("text")]
        targets = None
        if "target" in table.column_names:
            targets = table["target"].to_numpy().astype(np.float32 if facts["kind"] == "scored_pairs" else np.int64)
        found = Examples(
            facts["kind"],
            tuple(tuple(table[name].to_pylist()) for name in names),
            targets,
            table["line"].to_numpy().astype(np.int64),
            tuple(facts["labels"]),
            tuple(table["group"].to_pylist()) if "group" in table.column_names else (),
            bool(facts["ordered"]),
        )
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise _damaged(path) from error
    if found.digest != facts["digest"]:
        raise _damaged(path)
    return found


def _damaged(path: Path) -> StudioError:
    return StudioError(f"the run's rows ({path.name}) are damaged", "start a new run with the file")
