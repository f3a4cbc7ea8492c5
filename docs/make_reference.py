"""Write docs/cli.md, docs/losses.md and docs/settings.md from the code: ``python docs/make_reference.py``; a test compares them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import typer

from sbert_studio.cli.main import app
from sbert_studio.explore.clusters import ClusterParams
from sbert_studio.explore.projection import ProjectionParams
from sbert_studio.losses import LOSSES
from sbert_studio.registry import Field, fields_of
from sbert_studio.settings import variables
from sbert_studio.training.spec import TrainSpec

DOCS = Path(__file__).resolve().parent
_GENERATED = "Generated from the code by `python docs/make_reference.py`."
_ROLE = re.compile(r":(?:class|func|mod|data|meth|attr):`[~.]*([^`]+)`")


def render_commands() -> str:
    """Return the reference of the command line as Markdown."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lines = ["# Command line", "", f"{_GENERATED} `sbert-studio COMMAND --help` prints the same.", ""]
    for name, command in sorted(commands.items()):
        if command.hidden:
            continue
        lines += [
            f"## {name}",
            "",
            _plain(inspect.cleandoc(command.help or "")),
            "",
            "| argument | meaning | default |",
            "| --- | --- | --- |",
        ]
        for parameter in command.params:
            shown = parameter.metavar or ""
            if parameter.param_type_name == "option":
                shown = ", ".join(parameter.opts + parameter.secondary_opts) + (f" {shown}" if shown else _choices(parameter))
            text = parameter.help or ""
            lines.append(f"| `{_cell(shown or parameter.name)}` | {_cell(_plain(text))} | {_cell(_default(parameter))} |")
        lines.append("")
    return "\n".join(lines)


def render_losses() -> str:
    """Return the losses with their equations as Markdown."""
    lines = [
        "# Losses",
        "",
        f"{_GENERATED} `train --loss NAME` selects one; [training](training.md#losses) says which fits which data.",
        "",
    ]
    for name in sorted(LOSSES):
        loss = LOSSES[name]
        lines += [f"## {name}", "", loss.summary, "", _plain(inspect.cleandoc(loss.__doc__ or "")), "", f"*{loss.source}*", ""]
        if settings := fields_of(loss.Params):
            lines += [*_HEADER, *map(_setting, settings), ""]
    return "\n".join(lines)


def render_settings() -> str:
    """Return all settings as Markdown: environment variables, and those of trainings, maps and topics."""
    lines = ["# Settings", "", _GENERATED, "", "## Environment", "", "The program reads these variables when it starts.", ""]
    lines += ["| variable | default | meaning |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {default} | {_cell(meaning)} |" for name, default, meaning in variables()]
    where = "On the command line: `train --set NAME=VALUE`; in Fine-tune, under *Advanced*. [Losses](losses.md) have settings of their own."
    lines += ["", "## Training", "", where, "", *_HEADER]
    lines += [_setting(item) for item in TrainSpec.settings()]
    for title, params in (("Map", ProjectionParams), ("Topics", ClusterParams)):
        lines += ["", f"## {title}", "", *_HEADER, *map(_setting, fields_of(params))]
    return "\n".join(lines) + "\n"


_HEADER = ("| setting | default | values | meaning |", "| --- | --- | --- | --- |")
PAGES = {"cli.md": render_commands, "losses.md": render_losses, "settings.md": render_settings}


def _setting(item: Field) -> str:
    """Return a setting's row of the table."""
    default = {True: "yes", False: "no"}[item.default] if isinstance(item.default, bool) else item.default
    values = ", ".join(f"`{choice}`" for choice in item.choices if choice)
    if not values and item.min is not None:
        values = f"{item.min:,.10g} or more" if item.max is None else f"{item.min:,.10g} to {item.max:,.10g}"
    return f"| `{item.name}` | {'' if default == '' else f'`{default}`'} | {values} | {_cell(_plain(item.help))} |"


def _choices(parameter: object) -> str:
    choices = getattr(getattr(parameter, "type", None), "choices", ())
    return f" {'|'.join(choices)}" if choices else ""


def _default(parameter: object) -> str:
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    value = getattr(parameter, "default", None)
    return "" if value is None or value is False or callable(value) or value == "" else str(value)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return a docstring as Markdown: code in single backquotes, references by their last name."""
    return _ROLE.sub(lambda found: f"`{found[1].rsplit('.', 1)[-1]}`", text).replace("``", "`").replace("<", "&lt;")


def main() -> None:
    """Write the pages."""
    for name, render in PAGES.items():
        (DOCS / name).write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
