"""The page's other languages: ``python docs/make_languages.py`` writes into each file of ``assets/languages`` what it lacks, and takes
out what nobody says any more.

The keys are read from the code: every text and template that can reach the page. ``tests/test_languages.py`` holds the files against it.
What only the command line, the log, a model's card or an exported file says stays in English, as do the page's messages to programs.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from wording import javascript, python
from wording.elsewhere import GRADIO, MEASURES, MONTHS, NAMES, PARTS
from wording.templates import is_prose

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES, PAGE, PACKAGE, SAMPLES = (
    ROOT / "assets" / "languages",
    ROOT / "assets" / "page",
    ROOT / "sbert_studio",
    ROOT / "assets" / "samples",
)
# Rooms and files whose words never reach the page, or are data themselves.
SILENT = (
    *(
        "__main__.py",
        "cli/",
        "runs/export/",
        "runs/tensorboard.py",
        "ui/api/",
        "ui/desktop.py",
        "ui/gradio_patches.py",
        "ui/panel.py",
        "ui/theme.py",
        "settings.py",
    ),
    *("data/columns/targets.py", "data/loading/codepages.py"),
    *("data/values/forms.py", "data/values/no_answer.py", "data/values/written.py"),
    "explore/bm25.py",
    *("services/results/__init__.py", "ui/sessions/middleware.py", "ui/sessions/blocks.py"),
)


@cache
def needed() -> dict[str, str]:
    """Every template that a language has to have, and where it is said."""
    found = {template: where for template, where in _said() if is_prose(template) and template not in NAMES}
    return {
        **dict.fromkeys([*GRADIO, *MONTHS, *MEASURES, *PARTS], "docs/wording/elsewhere.py"),
        **dict.fromkeys(_of_samples(), "assets/samples"),
        **dict.fromkeys(_of_suites(), "sbert_studio/datasets/suites.toml"),
        **found,
    }


def known() -> set[str]:
    """What a language may have: single words too, which the code may fill in elsewhere."""
    return {template for template, _ in _said()} | set(needed())


def missing(words: dict[str, str]) -> dict[str, str]:
    """What has no words, and where it is said."""
    return {template: where for template, where in needed().items() if not words.get(template)}


def stale(words: dict[str, str]) -> list[str]:
    """What nobody says any more."""
    everything = known()
    return [template for template in words if template not in everything]


@cache
def _said() -> tuple[tuple[str, str], ...]:
    return tuple(_templates())


def _templates() -> Iterator[tuple[str, str]]:
    for path in sorted(PAGE.rglob("*.js")):
        if path.parent.name != "language":
            yield from ((template, path.relative_to(ROOT).as_posix()) for template in javascript.templates(path))
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.relative_to(PACKAGE).as_posix().startswith(SILENT):
            yield from ((template, path.relative_to(ROOT).as_posix()) for template in python.templates(path))


def _of_samples() -> list[str]:
    held = json.loads((SAMPLES / "index.json").read_text(encoding="utf-8"))
    return [one[name] for one in held for name in ("title", "description")]


def _of_suites() -> list[str]:
    return [suite["title"] for suite in tomllib.loads((PACKAGE / "datasets" / "suites.toml").read_text(encoding="utf-8")).values()]


def main() -> int:
    """Update the files and return 1 if translations are missing; with ``--check`` only warn about them."""
    check = "--check" in sys.argv[1:]
    lacking = 0
    for path in sorted(LANGUAGES.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        lacks, gone = missing(held["words"]), stale(held["words"])
        if check:
            print(f"warning: {path.name}: {len(lacks)} translations missing, {len(gone)} unused; see python docs/make_languages.py")
            continue
        lacking += len(lacks)
        held["words"] = {
            **{template: words for template, words in held["words"].items() if template not in gone},
            **dict.fromkeys(lacks, ""),
        }
        path.write_text(json.dumps(held, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(f"{path.name}: {len(lacks)} to write, {len(gone)} taken out")
        for template, where in lacks.items():
            print(f"  {where}: {template}")
    return int(lacking > 0)


if __name__ == "__main__":
    sys.exit(main())
