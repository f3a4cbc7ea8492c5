"""The page's other languages: no text is left out, none is kept that nobody says, and what is filled in stays."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.ui.languages import FOLDER, languages

ROOT = Path(__file__).parents[1]
FILES = sorted(FOLDER.glob("*.json"))
HAN = re.compile(r"[一-鿿]")


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("make_languages", ROOT / "docs" / "make_languages.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def held(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_that_the_page_says_is_left_out(tool: Any, path: Path) -> None:
    words = held(path)["words"]
    assert tool.missing(words) == {}, "run python docs/make_languages.py, and write what it asks for"
    assert tool.stale(words) == [], "run python docs/make_languages.py"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_filled_in_is_filled_in_there_too(path: Path) -> None:
    for key, said in held(path)["words"].items():
        assert set(re.findall(r"\{(\d+)\}", key)) == set(re.findall(r"\{=?(\d+)\}", said)), key


def test_chinese_is_chinese() -> None:
    """But for names, which are the same in both."""
    words = held(FOLDER / "zh.json")["words"]
    same = [key for key, said in words.items() if not HAN.search(said)]
    assert all(len(re.sub(r"\{\d+\}", "", key).split()) <= 3 for key in same), same
    assert len(same) < len(words) / 50


def test_each_is_told_to_the_page() -> None:
    told = languages()["zh"]
    assert (told["name"], told["tag"]) == ("中文", "zh-CN") and told["url"].endswith("/languages/zh.json")


def test_the_tool_reads_what_the_code_says(tool: Any, tmp_path: Path) -> None:
    source = tmp_path / "said.py"
    source.write_text(
        '"""Not said."""\nlog.info("Not said either")\n'
        "words = f\"{n:,} {'row is' if n == 1 else 'rows are'} left\" + (f' of {all} there' if all else '')\n"
        "said = count(n, 'held-out row')\nrate: float = setting(1.0, 'How far each step goes.')\n"
    )
    assert set(tool.python.templates(source)) >= {
        *("{0} row is left", "{0} rows are left", "{0} row is left of {1} there", "{0} rows are left of {1} there"),
        *("{0} held-out row", "{0} held-out rows", "Rate", "How far each step goes."),
    }
    assert not any("Not said" in template for template in tool.python.templates(source))
    script = tmp_path / "said.js"
    script.write_text(
        '// Not said\nconst found = /a "b/.exec(x) ? '
        '`${n} ${n === 1 ? "text goes" : "texts go"} as ${say(`of ${m} there`)}` : "None left";\n'
    )
    said = set(tool.javascript.templates(script))
    assert said >= {"{0} text goes as {1}", "{0} texts go as {1}", "of {0} there", "None left"} and "Not said" not in said
