"""What strangers send is shown as text and stays theirs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from .conftest import Visitor
from .test_page import corpus_csv

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "${alert(1)}",
    "`${alert(1)}`",
    "=cmd|' /C calc'!A1",
    "../../etc/passwd",
    "{{constructor}}",
    "</script><script>alert(1)</script>",
]
NAME = "<img src=x onerror=alert(1)> ${alert(1)}.csv"


def hostile_csv(columns: list[str], *, target: bool = False) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns + (["score"] if target else []))
    for number in range(4):
        for place, text in enumerate(HOSTILE):
            cells = [f"{text} number {number} {side}" for side in range(len(columns))]
            writer.writerow(cells + ([f"{place / 2:.1f}"] if target else []))
    return out.getvalue()


def none_ran(visitor: Visitor) -> None:
    visitor.page.wait_for_timeout(300)
    assert visitor.dialogs == []
    assert visitor.page.locator("img[src='x']").count() == 0


def test_hostile_cells_columns_and_names_are_text_in_search_and_map(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Search")
    visitor.upload("search-file", NAME, hostile_csv(["text", "<img src=x onerror=alert(2)>", "${alert(3)}"]))
    visitor.see("#search-summary dl")
    visitor.fill("#search-query", HOSTILE[0])
    page.click("#search-go")
    page.wait_for_function("document.querySelector('#search-hits')?.innerText.includes('<img src=x onerror=alert(1)> number')")
    shown = visitor.text("#search-hits")
    assert "${alert(3)}" in shown
    assert "<img src=x onerror=alert(2)>" in shown
    none_ran(visitor)
    visitor.tab("Map")
    page.click("#map-draw")
    visitor.see("#map-view [data-drawn]")
    page.select_option("#map-view .sb-map-colour", index=1)
    page.wait_for_function("document.querySelector('#map-view .sb-legend')?.innerText.includes('number')")
    none_ran(visitor)


def test_hostile_training_files_and_texts_are_text_in_fine_tune_and_similarity(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Fine-tune")
    visitor.upload("tune-file", NAME, hostile_csv(["sentence1", "sentence2", "${alert(4)}", "<img src=x onerror=alert(5)>"], target=True))
    visitor.see("#tune-findings .sb-verdict")
    shown = visitor.text("#tune-preview")
    assert "${alert(4)}" in shown
    assert "<img src=x onerror=alert(1)> number 0" in shown
    assert "=cmd|' /C calc'!A1" in shown
    none_ran(visitor)

    visitor.tab("Similarity")
    page.get_by_role("tab", name="Several sentences").click()
    visitor.fill("#matrix-lines", "\n".join(HOSTILE))
    page.click("#matrix-compare")
    page.wait_for_function("document.querySelector('#matrix-view')?.innerText.includes('${alert(1)}')")
    page.get_by_role("tab", name="A file of pairs").click()
    visitor.upload("pairs-file", NAME, "only <img src=x onerror=alert(6)>\nx\n${alert(7)}\n")
    visitor.see(".toast-body")
    none_ran(visitor)


def test_two_visitors_do_not_see_each_others_corpus(visit: Callable[..., Visitor]) -> None:
    first, second = visit(), visit()
    for visitor, word in ((first, "apricot"), (second, "zeppelin")):
        visitor.tab("Search")
        visitor.upload("search-file", f"{word}.csv", corpus_csv().replace("card", word))
        visitor.see("#search-summary dl")
    for visitor, own, other in ((first, "apricot", "zeppelin"), (second, "zeppelin", "apricot")):
        visitor.page.click("#search-go")
        visitor.see("#search-hits tbody tr")
        visitor.fill("#search-query", f"{own} {other}")
        visitor.page.click("#search-go")
        visitor.page.wait_for_function(f"document.querySelector('#search-hits')?.innerText.includes('{own}')")
        page_text = visitor.text("body")
        assert other not in page_text.replace(f"{own} {other}", "")
