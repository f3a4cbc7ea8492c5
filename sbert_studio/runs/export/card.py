"""How to train an exported run once more: the command and the files that it needs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...data.choices.asking import NO_ORDER, in_one_line, scale_in_words
from ...data.columns.roles import Roles
from ...encoders.storage.card import plain_text
from ...training.artifacts import HELD_OUT
from ...training.spec import SHAPE, TrainSpec
from ..files import RunFiles
from .verify import script_for

# What the advisor chose by the rows is written out, so that another version cannot choose otherwise.
_ADVISED = ("objective", "method", "epochs", "batch_size", "learning_rate", "seed", "evaluations_per_epoch", "max_length")

_IN_FOLDS = (
    "There is no `verify.py` here, and there are no held-out rows: this model learned from all rows in the end. Its scores are those of "
    "the models of the folds, each on the rows that it had not seen, and the same training gives them again. "
)


def portable(model: str) -> str:
    """A model's name without the folders of this machine."""
    return Path(model).name if Path(model).is_absolute() or model.startswith((".", "~")) else model


def command(materials: RunFiles) -> str:
    """The whole run as one line for a shell, in the folder where its files lie."""
    spec, source = materials.spec(), materials.source()
    words = ["sbert-studio", "train", source["data"]["name"]]
    words += [word for part in ("dev", "first") if part in source for word in (f"--{part}", source[part]["name"])]
    words += [*_columns(materials.roles()), *_reading(source["data"])]
    words += [*(["--as-read"] if materials.plan().get("as_read") else []), "--model", portable(spec.model)]
    chosen = {**_chosen(spec.to_json()), **{f"first.{name}": value for name, value in _chosen_first(spec).items()}}
    chosen |= _columns_of_first(materials.first_roles(), source["first"]) if "first" in source else {}
    return shlex.join([*words, *(word for name, value in chosen.items() for word in ("--set", f"{name}={value}"))])


def section(materials: RunFiles, folds: int = 0, strength: float | None = None) -> str:
    """The last sections of the model card in a zip: what the files were read as, and how to train once more.

    What a file, its columns and its cells are called is text, and cannot end a block of code.

    Args:
        folds: in how many the run was judged, where this very model learned from all rows.
        strength: what somebody set by hand after the training.
    """
    files = "".join(f"- {plain_text(entry['name'])}, SHA-256 `{entry['sha256']}`\n" for entry in materials.source().values())
    line = command(materials).replace("\n", " ").replace("`", "")
    measured = "`python verify.py` measures the model on the held-out rows again, with sentence-transformers alone. "
    if script_for(materials.spec(), materials.folder / "model") is None:
        measured = "There is no `verify.py` here, for sentence-transformers gives other vectors or scores than this program, or none. "
    if not (materials.folder / HELD_OUT).is_file():
        measured = _IN_FOLDS if folds else ""
    again = f"{measured}It was trained on\n\n{files}\nand with these files the same training is\n\n```sh\n{line}\n```\n"
    if strength is not None:
        again += (
            f"\nIts strength was set by hand afterwards, which the training does not do: with the id of the new run it is\n\n"
            f"```sh\nsbert-studio strength RUN {strength:g}\n```\n"
        )
    return f"{_rows(materials)}\n## Again\n\n{again}"


def _rows(materials: RunFiles) -> str:
    """What became of every row, what was asked and what was answered."""
    plan = materials.plan()
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    lines = [f"{titles[part]}{account.in_words('usable')}." for part, account in materials.accounts().items()]
    lines += [f"Changed before: {change}." for change in plan.get("changes", ())]
    lines += [f"{one['question']} – {one['answer']}." for one in plan.get("answered", ())]
    lines += [f"Read as it stood, though uncertain: {one['question']}" for one in plan.get("as_read", ())]
    return "\n## The rows\n\n" + "".join(f"- {plain_text(line)}\n" for line in lines) if lines else ""


def _columns(roles: Roles) -> list[str]:
    words = ["--kind", roles.kind, "--columns", in_one_line(roles.texts)]
    words += ["--target", roles.target] if roles.target is not None else []
    words += ["--group", roles.group or ""]
    words += ["--order", order] if (order := _order(roles)) else []
    return words + (["--scale", scale_in_words(roles.low, roles.high)] if roles.low is not None and roles.high is not None else [])


def _chosen(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a spec that are not what every run has, the objective's own among them; the model has an option of its own."""
    if not spec:
        return {}
    usual = {item.name: item.default for item in TrainSpec.settings() if item.name != "model"}
    found = {name: spec[name] for name, default in usual.items() if name in spec and (name in _ADVISED or spec[name] != default)}
    return {**found, **spec.get("objective_params", {})}


def _chosen_first(spec: TrainSpec) -> dict[str, Any]:
    """The settings of the first stage, with those that it would else take from the run."""
    return _chosen(spec.first) | {name: spec.first[name] for name in SHAPE if spec.first and spec.first[name] != getattr(spec, name)}


def _reading(entry: Mapping[str, Any]) -> list[str]:
    """How a file is read, where a person said so."""
    read = entry.get("read", {})
    words = [word for name in ("encoding", "delimiter") if name in read for word in (f"--{name}", read[name])]
    return words + ([] if "header" not in read else ["--header" if read["header"] else "--no-header"])


def _columns_of_first(roles: Roles, entry: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of the first stage's file, as settings."""
    said: dict[str, Any] = {"kind": roles.kind, "columns": in_one_line(roles.texts)}
    said |= {"target": roles.target} if roles.target is not None else {}
    said |= {"order": order} if (order := _order(roles)) else {}
    said |= {"scale": scale_in_words(roles.low, roles.high)} if roles.low is not None and roles.high is not None else {}
    said |= {name: value if isinstance(value, str) else "yes" if value else "no" for name, value in entry.get("read", {}).items()}
    return {f"first.{name}": value for name, value in said.items()}


def _order(roles: Roles) -> str:
    """The order of the labels as it is typed; nothing where there are none."""
    if roles.kind != "labelled_pairs" or len(roles.labels) < 2:
        return ""
    return in_one_line(roles.labels) if roles.ordered else NO_ORDER
