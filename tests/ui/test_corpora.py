from __future__ import annotations

from pathlib import Path

from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page


def test_the_corpus_tells_its_rows_its_repeats_and_a_language_that_the_model_does_not_know(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "zh.txt"
    path.write_text("我的银行卡什么时候到\n\n今天天气很好\n今天天气很好\n", encoding="utf-8")
    key = corpora.open_file(page, str(path))
    shown = corpora.describe_corpus(page, key, "all-MiniLM-L6-v2")[1]
    assert shown is not None
    assert shown["facts"][1:] == [["Rows read", "4"], ["Texts", "3"], ["Skipped", "1"]]
    notes = " ".join(shown["notes"])
    assert "(row 2)" in notes and "1 text repeats an earlier one" in notes and "look like Chinese" in notes
    assert not any("Chinese" in note for note in (corpora.describe_corpus(page, key, "no such model")[1] or {})["notes"])


def test_another_column_is_another_corpus_of_the_same_file(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("title,body\n" + "".join(f"moon star {n},cat dog mat park {n}\n" for n in range(5)), encoding="utf-8")
    key = corpora.open_file(page, str(path))
    chosen = page.corpora.get(key)
    other = next(name for name in chosen.columns if name != chosen.column)
    assert page.corpora.get(corpora.open_column(page, key, other)).column == other
    assert corpora.open_column(page, key, chosen.column) == key
