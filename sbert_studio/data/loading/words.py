"""Word lists of the readers, from ``words.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

WORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
"""Each list by its name."""
