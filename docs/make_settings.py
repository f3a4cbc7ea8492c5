"""Write the table of environment variables of README.md from the settings: ``python docs/make_settings.py``; a test compares it."""

from __future__ import annotations

import re
from pathlib import Path

from sbert_studio.settings import variables

README = Path(__file__).resolve().parents[1] / "README.md"
_TABLE = re.compile(r"(?<=\n)\| variable \| default \| \|\n(\|.*\n)+")


def with_table(text: str) -> str:
    """Return the README's text with the current table."""
    rows = "".join(f"| `{name}` | {default} | {help} |\n" for name, default, help in variables())
    return _TABLE.sub(lambda _: f"| variable | default | |\n| --- | --- | --- |\n{rows}", text)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
