"""Export of a finished run as one zip that another person can use, and verify, without this program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...data.cells import write_csv
from ...data.schema.roles import Roles
from ...models.card import FOLDER_PLACEHOLDER, escape_markdown, is_sentence_transformers_folder
from ...models.io.backbone import read_json
from ...training.artifacts import HELD_OUT, REFERENCE
from ...training.spec import TrainSpec
from ..files import RunFiles
from ..run import Run
from .base import EXPORTS, Export, folder_members, render
from .reproduce import portable_name, train_command

_PARTS = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}


@EXPORTS.register("all")
class BundleExport(Export):
    """``model/`` (LoRA merged), ``adapter/`` of a LoRA run, ``spec.json``, ``scores.json``, ``data.json`` (names, sizes and SHA-256 of
    the files, not the files), the held-out rows as ``held_out.jsonl`` and as a CSV without live formulas, the model card as
    ``README.md``, and ``verify.py`` unless the model opens here only. A run that was evaluated in folds has neither held-out rows nor
    ``verify.py``: its model was trained on every row, and the models that gave the scores are gone.
    """

    help = "the model, the adapter, the settings, the scores, the held-out rows, the card, and verify.py"

    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
        """See :meth:`Export.members`."""
        yield from folder_members(folder, "model")
        yield from folder_members(folder, "adapter")
        files = RunFiles(folder)
        spec, model = files.spec().to_json(), {"model": portable_name(str(run.model))}
        yield "spec.json", _dump(spec | model | {"first": spec["first"] | model if spec["first"] else {}})
        accounts = {part: account.to_json() for part, account in files.accounts().items()}
        yield "data.json", _dump({"files": files.source(), "roles": files.roles().to_json(), "accounts": accounts, "plan": files.plan()})
        yield "scores.json", _dump({"before": run.before, "after": run.after, "steps": run.steps, "status": run.status})
        script = verify_script(files.spec(), folder / "model")
        if (folder / "model" / "README.md").is_file():
            card = (folder / "model" / "README.md").read_text(encoding="utf-8").replace(FOLDER_PLACEHOLDER, f"{FOLDER_PLACEHOLDER}/model")
            yield "README.md", card + _card_section(files, run, script is not None)
        if (folder / HELD_OUT).is_file():
            yield HELD_OUT, folder / HELD_OUT
            yield "held_out.csv", _write_held_out_csv(folder, files.roles())
            if (folder / REFERENCE).is_file():
                yield REFERENCE, folder / REFERENCE
            if "metric" in run.after and script is not None:
                yield "verify.py", script


def verify_script(spec: TrainSpec, model: Path) -> str | None:
    """Return the script that recomputes the scores of a run with sentence-transformers alone.

    ``None`` if sentence-transformers cannot open the model, such as one with an MLP head or a GRU, or computes other token vectors than
    a poly-encoder attends over.

    Args:
        model: the folder of the run's model.
    """
    if spec.architecture == "siamese":
        return render("verify_siamese.py.j2") if is_sentence_transformers_folder(model) else None
    if spec.architecture == "cross":
        return render("verify_cross.py.j2") if spec.head == "linear" else None
    modules = read_json(model / "modules.json", list)
    return render("verify_poly.py.j2") if str(modules[0].get("type", "")).endswith(".Transformer") else None


def _card_section(files: RunFiles, run: Run, has_script: bool) -> str:
    """Return the last sections of the model card: how the files were read, and how to repeat the training.

    Names of files and columns, and cells, are text, and cannot end a block of code.
    """
    kept = run.after.get("kept") or run.after
    return render(
        "card_section.md.j2",
        rows=[escape_markdown(line) for line in _row_lines(files)],
        files=[(escape_markdown(entry["name"]), entry["sha256"]) for entry in files.source().values()],
        command=train_command(files).replace("\n", " ").replace("`", ""),
        has_script=has_script,
        has_rows=(files.folder / HELD_OUT).is_file(),
        has_folds=bool(run.after.get("folds")),
        strength=f"{float(kept['strength']):g}" if "chosen" in kept else "",
    )


def _row_lines(files: RunFiles) -> Sequence[str]:
    """Return what became of the rows, and what was asked and answered, a sentence each."""
    plan = files.plan()
    return [
        *(f"{_PARTS[part]}{account.describe('usable')}." for part, account in files.accounts().items()),
        *(f"Changed before: {change}." for change in plan.get("changes", ())),
        *(f"{one['question']} – {one['answer']}." for one in plan.get("answered", ())),
        *(f"Read as it stood, though uncertain: {one['question']}" for one in plan.get("as_read", ())),
    ]


def _write_held_out_csv(folder: Path, roles: Roles) -> Path:
    rows = [json.loads(line) for line in (folder / HELD_OUT).read_text(encoding="utf-8").splitlines()]
    columns: dict[str, list[Any]] = {"row": [row["line"] for row in rows]}
    for place, name in enumerate(roles.texts[: len(rows[0]["texts"])] if rows else ()):
        columns[name if name not in columns else f"{name} (text)"] = [row["texts"][place] for row in rows]
    if rows and rows[0]["target"] is not None:
        columns["target"] = [row["target"] for row in rows]
    path = folder / "held_out.csv"
    write_csv(path, columns)
    return path


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
