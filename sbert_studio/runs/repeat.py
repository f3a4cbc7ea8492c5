"""How to train an exported run once more: the command and the files that it needs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..data.asked import in_one_line, scale_in_words
from ..data.roles import Roles
from ..training.spec import TrainSpec
from .materials import Materials

# What the advisor chose by the rows is written out, so that another version cannot choose otherwise.
_ADVISED = ("objective", "method", "epochs", "batch_size", "learning_rate", "seed", "evaluations_per_epoch", "max_length")


def portable(model: str) -> str:
    """A model's name without the folders of this machine."""
    return Path(model).name if Path(model).is_absolute() or model.startswith((".", "~")) else model


def command(materials: Materials) -> str:
    """The whole run as one line for a shell, in the folder where its files lie."""
    spec, source = materials.spec(), materials.source()
    words = ["sbert-studio", "train", source["data"]["name"]]
    words += [word for part in ("dev", "first") if part in source for word in (f"--{part}", source[part]["name"])]
    words += [*_columns(materials.roles()), "--model", portable(spec.model)]
    chosen = {**_chosen(spec.to_json()), **{f"first.{name}": value for name, value in _chosen(spec.first).items()}}
    return shlex.join([*words, *(word for name, value in chosen.items() for word in ("--set", f"{name}={value}"))])


def section(materials: Materials) -> str:
    """The last section of the model card in a zip; a column's name cannot end its code block."""
    files = "".join(f"- {entry['name']}, SHA-256 `{entry['sha256']}`\n" for entry in materials.source().values())
    line = command(materials).replace("\n", " ").replace("`", "")
    measured = "`python verify.py` measures the model on the held-out rows again, with sentence-transformers alone."
    return f"\n## Again\n\n{measured} It was trained on\n\n{files}\nand with these files the same training is\n\n```sh\n{line}\n```\n"


def _columns(roles: Roles) -> list[str]:
    words = ["--kind", roles.kind, "--columns", in_one_line(roles.texts)]
    words += ["--target", roles.target] if roles.target is not None else []
    words += ["--group", roles.group or ""]
    return words + (["--scale", scale_in_words(roles.low, roles.high)] if roles.low is not None and roles.high is not None else [])


def _chosen(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a spec that are not what every run has, the objective's own among them; the model has an option of its own."""
    if not spec:
        return {}
    usual = {item.name: item.default for item in TrainSpec.settings() if item.name != "model"}
    found = {name: spec[name] for name, default in usual.items() if name in spec and (name in _ADVISED or spec[name] != default)}
    return {**found, **spec.get("objective_params", {})}
