"""The page's other languages: what the tool reads from the code, and sentences of the page in Chinese."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

from docs import make_languages as tool
from sbert_studio import i18n
from sbert_studio.data.findings import Question
from sbert_studio.data.row_report import RowReport, SkippedRows
from sbert_studio.errors import describe_rows
from sbert_studio.evaluation.report import (
    describe_accuracy,
    describe_confusions,
    describe_gain,
    describe_kept_model,
    describe_metric,
    describe_outcome,
)
from sbert_studio.evaluation.tasks import all_tasks
from sbert_studio.i18n import LOCALE_FOLDER, _, capitalize, join, load_catalog, ngettext, to_sentence, translate
from sbert_studio.services.questions import for_first_stage
from sbert_studio.ui.language_switch import PageCatalogs

ROOT = Path(__file__).parents[1]
HAN = re.compile(r"[一-鿿]")


# Terms that the field has other words for, or that another word of the catalog stands for.
OTHER_TERMS = re.compile("簇|评判|评测|内积|静态向量|平均精确率|多向量编码器|重新排序|样本")
HALF_WIDTH = re.compile(r"[一-鿿）”][,;:!?(]|[,;:!?)][一-鿿]|[一-鿿] [一-鿿]|……")


def test_chinese_is_chinese_punctuated_and_consistent() -> None:
    catalog = load_catalog("zh")
    assert catalog is not None
    # Names are the same in both.
    same = [key for key, text in catalog.texts.items() if not HAN.search(text) and re.search("[A-Za-z]", key)]
    assert all(len(re.sub(r"\{\w+\}", "", key).split()) <= 3 for key in same), same
    assert len(same) < len(catalog.texts) / 50
    texts = {key: text for key, text in catalog.texts.items() if HAN.search(text)}
    assert not {key: text for key, text in texts.items() if HALF_WIDTH.search(text)}
    assert not {key: text for key, text in texts.items() if OTHER_TERMS.search(text)}
    sentences = {key for key in texts if re.search(r"\w[.]$|[?!]$", key)}
    assert not {key: texts[key] for key in sentences if not texts[key].endswith(("。", "？", "！"))}
    assert not {key: text for key, text in texts.items() if text.endswith("。") and not key.endswith((".", "?", "!"))}


def test_the_tool_reads_messages_and_literals(tmp_path: Path) -> None:
    source = tmp_path / "messages.py"
    source.write_text(
        '"""A docstring."""\nlog.info("A line of the log")\n'
        'found = _("{rows} of {n}", rows=1, n=_("a few rows")) if ready == "not read" else f"no message {n}"\n'
        'words = ngettext("{n} row is left", "{n} rows are left", n)\nrows = count(n, "held-out row"), count(n, "entry", "entries")\n'
        "rate: float = setting(1.0, 'How far each step goes.')\nrate: float = setting(1.0, 'η: how far each step goes.')\n"
    )
    messages = ["{rows} of {n}", "a few rows", ("{n} row is left", "{n} rows are left")]
    counted = [("{n} held-out row", "{n} held-out rows"), ("{n} entry", "{n} entries")]
    assert list(tool.python.texts(source)) == [*messages, *counted, "Rate", "How far each step goes.", "Rate", "η: how far each step goes."]
    assert list(tool.python.texts(source, literals="none")) == [*messages, *counted]
    script = tmp_path / "script.js"
    script.write_text(
        '// A comment\nconst found = /a "b/.exec(x) ? t`${grouped(value.n)} texts of ${t`a few ${n}`} and ${number(a[0], 3)}` '
        ': rest ? "None left" : `a class of ${n}`;\n'
    )
    assert list(tool.javascript.texts(script)) == ["{n} texts of {t} and {a}", "a few {n}", "None left"]
    assert "not read" not in tool.python.texts(source, literals="all")


def test_every_text_is_in_the_template(tmp_path: Path) -> None:
    """A text that is missing or unused is only a warning of the tool; here the tool has to find both."""
    path = tmp_path / "zh" / "LC_MESSAGES" / "messages.po"
    path.parent.mkdir(parents=True)
    text = (LOCALE_FOLDER / "zh" / "LC_MESSAGES" / "messages.po").read_text(encoding="utf-8")
    entry = '#: sbert_studio/ui/handlers.py\nmsgid "Cancelled."\nmsgstr "'
    assert entry in text
    path.write_text(text.replace(entry, entry.replace("Cancelled.", "Abandoned.")), encoding="utf-8")
    before, after = tool.load(LOCALE_FOLDER / "zh" / "LC_MESSAGES" / "messages.po"), tool.load(path)
    assert set(tool.missing(after)) - set(tool.missing(before)) == {"sbert_studio/ui/handlers.py: Cancelled."}
    assert set(tool.unused(after)) - set(tool.unused(before)) == {"Abandoned."}


def test_the_check_is_silent_unless_a_text_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["make_languages.py", "--check"])
    monkeypatch.setattr(tool, "LOCALE", tmp_path)
    path = tmp_path / "xx" / "LC_MESSAGES" / "messages.po"
    path.parent.mkdir(parents=True)
    whole = deepcopy(tool.template())
    monkeypatch.setattr(tool, "template", lambda: whole)
    for text in whole:
        text.string = ("x", "x") if isinstance(text.id, tuple) else "x"
    tool.write(path, whole)
    tool.main()
    assert capsys.readouterr().out == ""
    path.write_text(path.read_text(encoding="utf-8").replace('msgid "Cancelled."', 'msgid "Abandoned."'), encoding="utf-8")
    tool.main()
    assert capsys.readouterr().out.startswith("warning: xx/LC_MESSAGES/messages.po: 1 translations missing, 1 unused")


A, B = "second", "all-MiniLM-L6-v2"  # a visitor's name of a model that is a word of the page as well
SENTENCES = [
    describe_accuracy({"task": "categories", "score": 0.91}, {"score": 0.85}),
    capitalize(describe_accuracy({"task": "triplets", "score": 0.85})),
    describe_metric("cosine_spearman"),
    to_sentence(
        _("{message} ({rows})", message=_("the column {name} contains the same text in every row", name=repr(A)), rows=describe_rows([3]))
    ),
    ngettext(
        "only {n} of the {held} held-out rows is labelled “{rarer}”: too few to tell a gain from chance",
        "only {n} of the {held} held-out rows are labelled “{rarer}”: too few to tell a gain from chance",
        2,
        held=9,
        rarer=A,
    ),
    join("; ", [_("the wording of the labels suggests this order{confirmation}", confirmation=""), _("seed {seed}", seed=3)]),
    describe_outcome({"score": 0.5}, {"score": 0.6, "gain_interval": [0.02, 0.16]}),
    describe_outcome({"score": 0.5}, {"score": 0.6, "sd": 0.01, "each": [0.59, 0.61]}),
    describe_outcome({"score": 0.5}, {"score": 0.6, "task": "categories", "gain_interval": [0.02, 0.16]}),
    describe_gain({"score": 0.5}, {"score": 0.6, "gain_interval": [0.02, 0.16]}),
    describe_kept_model({"score": 0.6, "strength": 0.5, "strengths": [{"strength": 1.0, "score": 0.55}, {"strength": 0.5, "score": 0.6}]}),
    *describe_confusions({"confused": [{"categories": ["卡", "退款"], "count": 3, "texts": [{"text": "钱呢？", "category": "卡"}]}]}),
    for_first_stage(
        Question("kind", _("Is {positive} similar to {anchor}, and {negatives} not?", positive="1", anchor="2", negatives="3"), ())
    ).text,
    "The disk is full.",
]


def test_sentences_have_nothing_left_in_english() -> None:
    for sentence in SENTENCES:
        shown = translate(sentence, "zh")
        left = re.sub(f"{A}|{B}|Spearman|GB", "", shown)
        assert HAN.search(shown) and not re.search(r"[A-Za-z]{2}|\.$", left), (sentence, shown)
        assert all(number in shown for number in re.findall(r"\d[\d.,]*\d", sentence)), shown


def test_the_main_measure_of_every_task_is_translated() -> None:
    names = {describe_metric("_".join(task.main)) for task in all_tasks()}
    assert {name for name in names if not HAN.search(translate(name, "zh"))} <= {"MRR@10", "V measure"}


@pytest.mark.parametrize(
    ("message", "chinese"),
    [
        (ngettext("{n} row", "{n} rows", 1200), "1,200 行"),
        ("Similarity threshold", "相似度阈值"),
        (join(" and ", ["Text 1", "Titel"]), "Text 1和Titel"),
        (_("{outcome} ({gain})", outcome=_("seed {seed}", seed=3), gain=_("gain {gain}", gain="+0.02")), "种子 3（提升 +0.02）"),
        (_("{titles}{account}.", titles="", account=RowReport(2, 2).summarize("evaluated")), "读取 2 行，评估 2，跳过 0。"),
        (_("{=name}: {note}", name="second", note="the disk is full"), "second：磁盘已满"),
        (RowReport(60, 58, reasons=(SkippedRows("no text", (4, 9)),)).summarize("evaluated"), "读取 60 行，评估 58，跳过 2"),
        (
            join(" · ", ["Search.csv", _("Pairs with scores (STS)"), RowReport(60, 60).summarize("evaluated")]),
            "Search.csv · 带分数的相似度（STS） · 读取 60 行，评估 60，跳过 0",
        ),
        (
            RowReport(120, 66, 8, (SkippedRows("the score is not a number", tuple(range(46))),)).summarize("used for training"),
            "读取 120 行，用于训练 66，留出 8，跳过 46",
        ),
    ],
)
def test_the_order_of_the_words_is_chinese(message: str, chinese: str) -> None:
    assert translate(message, "zh") == chinese


def test_the_examples_of_contributing_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Add a text, or a language")[2].partition("\n## ")[0]
    python, catalog = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)[0] for kind in ("python", "po"))
    names: dict[str, str] = {}
    exec(python, names)
    assert names["message"] == python.rpartition("# ")[2].strip()
    (tmp_path / "de" / "LC_MESSAGES").mkdir(parents=True)
    (tmp_path / "de" / "LC_MESSAGES" / "messages.po").write_text(catalog, encoding="utf-8")
    load_catalog.cache_clear()
    monkeypatch.setattr(i18n, "LOCALE_FOLDER", tmp_path)
    assert translate(names["message"], "de") == "1,204 Zeilen wiederholen frühere, in der Spalte Query."
    german = load_catalog("de")
    assert german is not None and (german.name, german.tag) == ("Deutsch", "de-DE")
    load_catalog.cache_clear()


NODE = """
const { readFileSync } = require("fs");
globalThis.window = { SB: {} };
(0, eval)(readFileSync(process.argv[1], "utf8"));
const { words, texts, filled } = JSON.parse(readFileSync(0, "utf8"));
const look = window.SB.translator(words);
const found = [texts.map(([text, names]) => look(text, names)), filled.map(([parts, values]) => look.fill(parts, values))];
process.stdout.write(JSON.stringify(found));
"""


@pytest.fixture(scope="module")
def browser() -> Callable[..., tuple[list[str | None], list[str]]]:
    """Translate (text, names of visitors) and (parts, values) of template literals, as the page's JavaScript does."""
    node = shutil.which("node")
    if node is None:
        driver = pytest.importorskip("playwright._impl._driver")
        node = driver.compute_driver_executable()[0]
    words = json.loads(PageCatalogs()._json["zh"])["words"]

    def run(texts: list[tuple[str, list[str]]], filled: list[tuple[list[str], list[object]]]) -> tuple[list[str | None], list[str]]:
        script = str(ROOT / "assets" / "page" / "language" / "translator.js")
        sent = json.dumps({"words": words, "texts": texts, "filled": filled})
        done = subprocess.run([node, "-e", NODE, script], input=sent, capture_output=True, text=True, check=True, encoding="utf-8")
        found: tuple[list[str | None], list[str]] = tuple(json.loads(done.stdout))  # type: ignore[assignment]
        return found

    return run


@pytest.mark.process
def test_the_browser_looks_up_whole_texts(browser: Callable[..., tuple[list[str | None], list[str]]]) -> None:
    texts, filled = browser(
        [
            ("second", []), ("second", ["second"]), ("  Similarity threshold ", []), ("the disk is full", []), ("The disk is full.", []),
            ("second · Search", []), ("number input for Batch size", []), ("Invalid file type: second.bin. Only .csv, .tsv allowed.", []),
            ("Remove 0", []),
        ],
        [(["", " found"], ["12"]), (["row ", ""], [7]), (["a", "b"], [1])],
    )  # fmt: skip
    assert texts[:3] == ["第二条", None, "  相似度阈值 "] and texts[5] is None
    assert texts[4] == f"{texts[3]}。" and HAN.search(str(texts[6])) and not re.search("number|for|Batch", str(texts[6]))
    assert texts[7] == "不支持的文件类型：second.bin。只允许 .csv, .tsv。" and texts[8] == "移除 0"
    assert HAN.search(filled[0]) and "12" in filled[0] and HAN.search(filled[1]) and "7" in filled[1] and filled[2] == "a1b"


def test_a_catalog_is_served_to_the_page() -> None:
    catalogs = PageCatalogs()
    chinese = catalogs.languages["zh"]
    assert (chinese["name"], chinese["tag"]) == ("中文", "zh-CN") and re.fullmatch(r"languages/zh\.json\?\w{12}", chinese["url"])
    (route,) = catalogs.routes()
    assert route.path == "/languages/zh.json"
    assert json.loads(catalogs._json["zh"])["words"]["In queue: {0} of {1}"].count("{") == 2
