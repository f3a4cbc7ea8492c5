"""The command that repeats the training of an exported run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...data.schema.overrides import NO_ORDER, format_names, format_scale
from ...data.schema.roles import Roles
from ...training.spec import SHAPE, TrainSpec
from ..files import RunFiles

# Chosen by the advisor from the rows: written out, so that another version cannot choose otherwise.
_ADVISED = ("objective", "method", "epochs", "batch_size", "learning_rate", "seed", "evaluations_per_epoch", "max_length")


def portable_name(model: str) -> str:
    """Return a model's name without the folders of this machine."""
    return Path(model).name if Path(model).is_absolute() or model.startswith((".", "~")) else model


def train_command(files: RunFiles) -> str:
    """Return the ``sbert-studio train`` command of a run, as one line for a shell in the folder of its files."""
    spec, source = files.spec(), files.source()
    words = ["sbert-studio", "train", source["data"]["name"]]
    words += [word for part in ("dev", "first") if part in source for word in (f"--{part}", source[part]["name"])]
    words += [*_column_options(files.roles()), *_reading_options(source["data"])]
    words += [*(["--as-read"] if files.plan().get("as_read") else []), "--model", portable_name(spec.model)]
    settings = {**_settings(spec.to_json()), **{f"first.{name}": value for name, value in _first_settings(spec).items()}}
    settings |= _first_columns(files.first_roles(), source["first"]) if "first" in source else {}
    return shlex.join([*words, *(word for name, value in settings.items() for word in ("--set", f"{name}={value}"))])


def _column_options(roles: Roles) -> list[str]:
    words = ["--kind", roles.kind, "--columns", format_names(roles.texts)]
    words += ["--target", roles.target] if roles.target is not None else []
    words += ["--group", roles.group or ""]
    words += ["--order", order] if (order := _order(roles)) else []
    return words + (["--scale", format_scale(roles.low, roles.high)] if roles.low is not None and roles.high is not None else [])


def _reading_options(entry: Mapping[str, Any]) -> list[str]:
    read = entry.get("read", {})
    words = [word for name in ("encoding", "delimiter") if name in read for word in (f"--{name}", read[name])]
    return words + ([] if "header" not in read else ["--header" if read["header"] else "--no-header"])


def _settings(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that differ from the defaults, those of the objective included; the model has an option of its own."""
    if not spec:
        return {}
    defaults = {item.name: item.default for item in TrainSpec.settings() if item.name != "model"}
    found = {name: spec[name] for name, default in defaults.items() if name in spec and (name in _ADVISED or spec[name] != default)}
    return {**found, **spec.get("objective_params", {})}


def _first_settings(spec: TrainSpec) -> dict[str, Any]:
    """Return the settings of the first stage, with those that it would otherwise inherit from the run."""
    return _settings(spec.first) | {name: spec.first[name] for name in SHAPE if spec.first and spec.first[name] != getattr(spec, name)}


def _first_columns(roles: Roles, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the first stage's file is read, as settings."""
    found: dict[str, Any] = {"kind": roles.kind, "columns": format_names(roles.texts)}
    found |= {"target": roles.target} if roles.target is not None else {}
    found |= {"order": order} if (order := _order(roles)) else {}
    found |= {"scale": format_scale(roles.low, roles.high)} if roles.low is not None and roles.high is not None else {}
    found |= {name: value if isinstance(value, str) else "yes" if value else "no" for name, value in entry.get("read", {}).items()}
    return {f"first.{name}": value for name, value in found.items()}


def _order(roles: Roles) -> str:
    """Return the order of the labels as it is typed; empty if there are none."""
    if roles.kind != "labelled_pairs" or len(roles.labels) < 2:
        return ""
    return format_names(roles.labels) if roles.ordered else NO_ORDER
