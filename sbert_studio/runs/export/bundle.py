"""A finished run as one zip that another person can use, and check, without this program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...data.tables import write_csv
from ...encoders.storage.card import THIS_FOLDER
from ...training.artifacts import HELD_OUT, KNOWN
from ..files import RunFiles
from ..run import Run
from .base import EXPORTS, Export, below
from .card import portable, section
from .verify import script_for


@EXPORTS.register("all")
class BundleExport(Export):
    """``model/`` (LoRA merged), ``adapter/`` of a LoRA run, ``spec.json``, ``scores.json``,
    ``data.json`` (names, sizes and SHA-256 of the files, not the files), the held-out rows as ``held_out.jsonl`` and as a
    CSV without live formulas, the model card as ``README.md``, and ``verify.py``, but for
    a model that opens here only. A run that was judged in folds has neither held-out rows nor
    ``verify.py``: its model learned from every row, and those that gave the scores are gone.
    """

    help = "the model, the adapter, the settings, the scores, the held-out rows, the card, and verify.py"

    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
        """See :meth:`Export.members`."""
        yield from below(folder, "model")
        yield from below(folder, "adapter")
        materials = RunFiles(folder)
        spec, model = materials.spec().to_json(), {"model": portable(str(run.model))}
        yield "spec.json", _json(spec | model | {"first": spec["first"] | model if spec["first"] else {}})
        accounts = {part: account.to_json() for part, account in materials.accounts().items()}
        read = {"roles": materials.roles().to_json(), "accounts": accounts, "plan": materials.plan()}
        yield "data.json", _json({"files": materials.source(), **read})
        yield "scores.json", _json({"before": dict(run.before), "after": dict(run.after), "steps": run.steps, "status": run.status})
        if (folder / "model" / "README.md").is_file():
            kept = run.after.get("kept") or run.after
            by_hand = float(kept["strength"]) if "chosen" in kept else None
            card = (folder / "model" / "README.md").read_text(encoding="utf-8").replace(THIS_FOLDER, f"{THIS_FOLDER}/model")
            yield "README.md", card + section(materials, int(run.after.get("folds") or 0), by_hand)
        if (folder / HELD_OUT).is_file():
            yield HELD_OUT, folder / HELD_OUT
            yield "held_out.csv", _held_out_csv(folder)
            if (folder / KNOWN).is_file():
                yield KNOWN, folder / KNOWN
            if "metric" in run.after and (script := script_for(materials.spec(), folder / "model")) is not None:
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
