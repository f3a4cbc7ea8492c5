"""A finished run as one zip that another person can use, and check, without this program."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...data.tables import write_csv
from ...encoders.storage.digests import require_whole
from ...errors import StudioError
from ...training.artifacts import HELD_OUT, KNOWN
from ...workspace import atomic_file, file_name
from ..records.record import Run
from ..run_files import RunFiles
from .repeat import portable, section
from .verify import script_for

_EPOCH = (2020, 1, 1, 0, 0, 0)  # the same run gives the same bytes


def export_run(run: Run, folder: Path, target: Path) -> None:
    """Write the zip of a run that has a model, whole or not at all.

    It holds one folder: ``model/`` (LoRA merged), ``adapter/`` of a LoRA run, ``spec.json``, ``scores.json``,
    ``data.json`` (names, sizes and SHA-256 of the files, not the files), the held-out rows as ``held_out.jsonl`` and as a
    CSV without live formulas, the model card as ``README.md``, and ``verify.py``, but for
    a model that opens here only. No path of this machine is in it. A run that was judged in folds has neither held-out rows nor
    ``verify.py``: its model learned from every row, and those that gave the scores are gone.

    Raises:
        StudioError: the run has no model yet, or ``target`` cannot be written.
    """
    if not (folder / "model").is_dir():
        done = run.status == "finished"
        gone = "its folder was changed by hand; delete the run, and train it again" if done else "export it once it is finished"
        raise StudioError(f"the run {run.id} is {run.status} and has no model", gone)
    for stem in ("model", "adapter"):
        if (folder / stem).is_dir():
            require_whole(folder / stem, run.id)
    if target.is_dir():
        raise StudioError(f"{target.name} is a folder", "name a file that ends in .zip")
    top = file_name(run.name, "model").replace(" ", "-")
    try:
        with atomic_file(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name, content in _members(run, folder):
                entry = zipfile.ZipInfo(f"{top}/{name}", _EPOCH)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_STORED if name.endswith(".safetensors") else zipfile.ZIP_DEFLATED
                if isinstance(content, Path):
                    entry.file_size = content.stat().st_size
                    with content.open("rb") as source, archive.open(entry, "w") as sink:
                        while block := source.read(1 << 20):
                            sink.write(block)
                else:
                    archive.writestr(entry, content)
    except OSError as error:
        raise StudioError(f"{target.name} cannot be written: {error.strerror}", "choose another folder, or make room") from error


def _members(run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
    """Name within the zip and content of each file."""
    for stem in ("model", "adapter"):
        for path in sorted((folder / stem).rglob("*")):
            if path.is_file():
                yield path.relative_to(folder).as_posix(), path
    materials = RunFiles(folder)
    spec, model = materials.spec().to_json(), {"model": portable(str(run.model))}
    yield "spec.json", _json(spec | model | {"first": spec["first"] | model if spec["first"] else {}})
    accounts = {part: account.to_json() for part, account in materials.accounts().items()}
    read = {"roles": materials.roles().to_json(), "accounts": accounts, "plan": materials.plan()}
    yield "data.json", _json({"files": materials.source(), **read})
    yield "scores.json", _json({"before": dict(run.before), "after": dict(run.after), "steps": run.steps, "status": run.status})
    if (folder / "model" / "README.md").is_file():
        yield (
            "README.md",
            (folder / "model" / "README.md").read_text(encoding="utf-8") + section(materials, int(run.after.get("folds") or 0)),
        )
    if (folder / HELD_OUT).is_file():
        yield HELD_OUT, folder / HELD_OUT
        yield "held_out.csv", _held_out_csv(folder)
        if (folder / KNOWN).is_file():
            yield KNOWN, folder / KNOWN
        if "metric" in run.after and (script := script_for(materials.spec())) is not None:
            yield "verify.py", script


def _held_out_csv(folder: Path) -> Path:
    rows = [json.loads(line) for line in (folder / HELD_OUT).read_text(encoding="utf-8").splitlines()]
    names = RunFiles(folder).roles()
    columns: dict[str, list[Any]] = {"row": [row["line"] for row in rows]}
    for place, name in enumerate(names.texts[: len(rows[0]["texts"])] if rows else ()):
        columns[name if name not in columns else f"{name} (text)"] = [row["texts"][place] for row in rows]
    if rows and rows[0]["target"] is not None:
        columns["target"] = [row["target"] for row in rows]
    path = folder / "held_out.csv"
    write_csv(path, columns)
    return path


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
