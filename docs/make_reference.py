"""Write docs/cli.md and docs/losses.md from the code: ``python docs/make_reference.py``; a test compares them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import typer

from sbert_studio.cli.main import app
from sbert_studio.losses import LOSSES

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
    return "\n".join(lines)


PAGES = {"cli.md": render_commands, "losses.md": render_losses}


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
