"""The page's other languages: no text is left out, none is kept that nobody says, and what is filled in stays."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.ui.i18n import LANGUAGES_FOLDER, languages

ROOT = Path(__file__).parents[1]
FILES = sorted(LANGUAGES_FOLDER.glob("*.json"))
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
def test_what_is_filled_in_is_filled_in_there_too(path: Path) -> None:
    for key, said in held(path)["words"].items():
        assert set(re.findall(r"\{(\d+)\}", key)) == set(re.findall(r"\{=?(\d+)\}", said)), key


def test_chinese_is_chinese() -> None:
    """But for names, which are the same in both."""
    words = held(LANGUAGES_FOLDER / "zh.json")["words"]
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


NODE = """
const { readFileSync } = require("fs");
globalThis.window = { SB: {} };
(0, eval)(readFileSync(process.argv[1], "utf8"));
const translate = window.SB.translator(JSON.parse(readFileSync(process.argv[2], "utf8")).words);
const asked = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(asked.map(([text, names]) => translate(text, names) ?? text)));
"""
A, B = "second", "all-MiniLM-L6-v2"  # what a visitor called a model is a word of the page's own as well


@pytest.fixture(scope="module")
def chinese() -> Any:
    """A function: (text, names that a visitor gave) of each → what the page shows."""
    node = shutil.which("node")
    if node is None:
        driver = pytest.importorskip("playwright._impl._driver")
        node = driver.compute_driver_executable()[0]

    def shown(*asked: tuple[str, list[str]]) -> list[str]:
        files = [str(ROOT / "assets" / "page" / "language" / "translator.js"), str(LANGUAGES_FOLDER / "zh.json")]
        done = subprocess.run(
            [node, "-e", NODE, *files], input=json.dumps(asked), capture_output=True, text=True, check=True, encoding="utf-8"
        )
        return list(json.loads(done.stdout))

    return shown


@pytest.mark.process
def test_what_visitors_named_is_shown_as_they_named_it(chinese: Any) -> None:
    first, column, caption, both, said, own = chinese(
        ("second", [A]),
        ("category", ["category"]),
        ("second · Search", [A, "Search"]),
        ("second · 7481 is ahead of Search by 0.0033; the rows are too few to tell this from chance.", ["second · 7481", "Search"]),
        ("second encodes 2.0 times as many sentences per second.", [A, B]),
        ("second", []),
    )
    assert (first, column, caption) == ("second", "category", "second · Search") and own == "第二条"
    assert both == "second · 7481 领先 Search，差距 0.0033；行数太少，无法排除偶然。"
    assert said == "second 每秒编码的句子数是它的 2.0 倍。"


SAID = [
    f"{A} is better than {B} by 0.0258 (between +0.0101 and +0.0523); that is more than chance.",
    f"{A} is ahead of {B}: of 100 rows it gets 85 right instead of 80 (between −1 and +5); that could be chance.",
    "worse, −0.0367 to −0.0162",
    f"Where {A} and {B} differ most. The models predict the cosine similarity of the two texts.",
    f"From {A} to {B}, a text keeps 9.5 of its 10 nearest texts on average; 1 of 500 texts has mostly other neighbours.",
    "Of 500 texts, 491 → 490 lie nearest to one of their own category: that could be chance "
    "(95% interval of the gain: −0.002 to +0.016; 485 texts that no model was tuned on).",
    "Better: of 100 new texts it now puts 91 in the right category instead of 85 (gain +0.061, between +0.033 and +0.089).",
    "Nearest neighbour accuracy on 240 held-out rows",
    "Nearest neighbour accuracy on the held-out rows",
    "A blend of the untuned and the tuned model. Nothing is trained again, and you can come back.",
    f"{A}: 10 of 4,252 words of the texts are not in the model's vocabulary and are ignored.",
    "2 models on Scored pairs",
    "Evaluating model 2 of 2 · 30 of 300 pairs",
    "Method full: 23 million weights are few enough to tune all of them, which is at least as good as adapters.",
    "3 rows, 7 not converted",
    "the meaning of the labels.",
    "5 s",
]


@pytest.mark.process
def test_whole_sentences_have_nothing_left_in_english(chinese: Any) -> None:
    for text, shown in zip(SAID, chinese(*((text, [A, B]) for text in SAID)), strict=True):
        assert not re.search(r"[A-Za-z]{2}| s$|\.$", shown.replace(A, "").replace(B, "")), shown
        assert all(number in shown for number in re.findall(r"\d[\d.,]*\d", text) if "million" not in text), shown


@pytest.mark.process
def test_the_order_of_the_words_is_chinese(chinese: Any) -> None:
    said = {
        "Score on the held-out rows": "留出行上的得分",
        "23 million weights": "2300 万个权重",
        "Similarity threshold": "相似度阈值",
        "2 rows without text in 'Text', skipped (rows 42, 43).": "'Text' 中有 2 行没有文本，已跳过（第 42、43 行）。",
        "Text 1 and Query": "Text 1和Query",
    }
    assert chinese(*((text, ["Text 1", "Query"] if text.startswith("Text 1") else []) for text in said)) == list(said.values())
