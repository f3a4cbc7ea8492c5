"""Exports of a run: its model, its LoRA adapter, or a bundle with everything needed to use and verify it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...data.cells import write_csv
from ...data.schema.roles import NO_ORDER, Roles, format_names, format_scale
from ...errors import StudioError
from ...models.card import FOLDER_PLACEHOLDER, escape_markdown, is_sentence_transformers_folder
from ...models.io.backbone import read_json
from ...training.artifacts import HELD_OUT, REFERENCE
from ...training.spec import SHAPE, TrainSpec
from ..files import RunFiles
from ..run import Run
from .base import EXPORTS, Export, folder_members, render

_PARTS = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
# Chosen automatically from the rows: written explicitly, because another version might choose differently.
_ADVISED = ("loss", "method", "epochs", "batch_size", "learning_rate", "seed", "evaluations_per_epoch", "max_length")


@EXPORTS.register("all")
class BundleExport(Export):
    """Bundle with everything needed to use and verify the model of a run.

    Contents: ``model/`` (LoRA merged), ``adapter/`` for LoRA, ``spec.json``, ``scores.json``, ``data.json`` (names, sizes and SHA-256 of
    the data files, not the files themselves), the held-out rows as ``held_out.jsonl`` and as a CSV without live formulas, the model card as
    ``README.md``, and ``verify.py`` unless only SBERT Studio can load the model. A cross-validated run has neither held-out rows nor
    ``verify.py``: its model was trained on every row, and the models of the folds are not kept.
    """

    help = "the model, the adapter, the settings, the scores, the held-out rows, the card, and verify.py"

    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
        yield from folder_members(folder, "model")
        yield from folder_members(folder, "adapter")
        files = RunFiles(folder)
        spec, model = files.spec().to_json(), {"model": _portable_name(str(run.model))}
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


@EXPORTS.register("model")
class ModelExport(Export):
    """The model as a sentence-transformers folder with its card; LoRA is merged."""

    help = "the model's folder alone, as sentence-transformers opens it"

    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
        yield from folder_members(folder, "model")


@EXPORTS.register("adapter")
class AdapterExport(Export):
    """The adapter of a LoRA run, as a peft folder."""

    help = "the LoRA adapter alone, a few megabytes"

    def members(self, run: Run, folder: Path) -> Iterator[tuple[str, Path | str]]:
        if not (folder / "adapter").is_dir():
            raise StudioError(f"{run.name} was tuned whole and has no adapter", "choose model")
        yield from folder_members(folder, "adapter")


def verify_script(spec: TrainSpec, model: Path) -> str | None:
    """Return a script that recomputes the scores of a run, whose model is in the folder ``model``, with sentence-transformers only.

    ``None`` if sentence-transformers cannot load the model, such as one with an MLP head or a GRU, or if its token vectors
    differ from those that a poly-encoder attends over.
    """
    if spec.architecture == "siamese":
        return render("verify_siamese.py.j2") if is_sentence_transformers_folder(model) else None
    if spec.architecture == "cross":
        return render("verify_cross.py.j2") if spec.head == "linear" else None
    modules = read_json(model / "modules.json", list)
    return render("verify_poly.py.j2") if str(modules[0].get("type", "")).endswith(".Transformer") else None


def _card_section(files: RunFiles, run: Run, has_script: bool) -> str:
    kept = run.after.get("kept") or run.after
    return render(
        "card_section.md.j2",
        rows=[escape_markdown(line) for line in _row_lines(files)],
        files=[(escape_markdown(entry["name"]), entry["sha256"]) for entry in files.source().values()],
        command=_train_command(files).replace("\n", " ").replace("`", ""),  # must not end the code block
        has_script=has_script,
        has_rows=(files.folder / HELD_OUT).is_file(),
        has_folds=bool(run.after.get("folds")),
        strength=f"{float(kept['strength']):g}" if "chosen" in kept else "",
    )


def _row_lines(files: RunFiles) -> Sequence[str]:
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


def _portable_name(model: str) -> str:
    """Return the name of a model without folders of this machine."""
    return Path(model).name if Path(model).is_absolute() or model.startswith((".", "~")) else model


def _train_command(files: RunFiles) -> str:
    """Return the ``sbert-studio train`` command that repeats a run, as one shell line for the folder of its files."""
    spec, source = files.spec(), files.source()
    words = ["sbert-studio", "train", source["data"]["name"]]
    words += [word for part in ("dev", "first") if part in source for word in (f"--{part}", source[part]["name"])]
    columns = _column_settings(files.roles()) | {"group": files.roles().group or "", "split": files.roles().split or ""}
    words += [word for name, value in columns.items() for word in (f"--{name}", value)]
    read = source["data"].get("read", {})
    words += [word for name in ("encoding", "delimiter") if name in read for word in (f"--{name}", read[name])]
    words += [] if "header" not in read else ["--header" if read["header"] else "--no-header"]
    words += [*(["--as-read"] if files.plan().get("as_read") else []), "--model", _portable_name(spec.model)]
    settings = _settings(spec.to_json())
    if spec.first:  # including the settings that it would otherwise inherit from the run
        inherited = {name: spec.first[name] for name in SHAPE if spec.first[name] != getattr(spec, name)}
        own = {"split": files.first_roles().split or ""}
        settings |= {f"first.{name}": value for name, value in (_settings(spec.first) | inherited).items()}
    if "first" in source:
        read = {key: one if isinstance(one, str) else "yes" if one else "no" for key, one in source["first"].get("read", {}).items()}
        own = {"split": files.first_roles().split or ""}
        settings |= {f"first.{name}": value for name, value in (_column_settings(files.first_roles()) | own | read).items()}
    return shlex.join([*words, *(word for name, value in settings.items() for word in ("--set", f"{name}={value}"))])


def _column_settings(roles: Roles) -> dict[str, str]:
    """Return the options for reading the columns, by name."""
    found = {"kind": roles.kind, "columns": format_names(roles.texts)}
    if roles.target is not None:
        found["target"] = roles.target
    if roles.kind == "labelled_pairs" and len(roles.labels) >= 2:
        found["order"] = format_names(roles.labels) if roles.ordered else NO_ORDER
    if roles.low is not None and roles.high is not None:
        found["scale"] = format_scale(roles.low, roles.high)
    return found


def _settings(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that differ from the defaults, including those of the loss; the model has a separate option."""
    defaults = {item.name: item.default for item in TrainSpec.settings() if item.name != "model"}
    found = {name: spec[name] for name, default in defaults.items() if name in spec and (name in _ADVISED or spec[name] != default)}
    return {**found, **spec.get("loss_params", {})}
