"""Two models judged by clicking: the sentence, the sorted table, the chart, the leaderboard and its files, and a reload."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sbert_studio.wordvectors.pretrained import is_installed

from .conftest import Visitor

_TEXT = "cat dog bread river stone milk moon bank card train garden window teacher music winter paper coffee bridge apple ticket"
_WORDS = _TEXT.split()


def pairs_csv() -> str:
    """Sixty pairs, of which the score is the share of words that both sides hold."""
    rows = []
    for number in range(60):
        left = [_WORDS[(number + step * 3) % 20] for step in range(4)]
        right = [*left[: number % 5], *(_WORDS[(number * 7 + step + 1) % 20] for step in range(4 - number % 5))]
        rows.append(f"the {' and the '.join(left)},a {' or a '.join(right)},{5 * len({*left} & {*right}) / 4:.2f}")
    return "sentence1,sentence2,score\n" + "\n".join(rows) + "\n"


def it_comes_back_and_is_done_again(visitor: Visitor) -> None:
    """The result after a reload, with the form that it was asked for by; never a sample in the place of its file."""
    page = visitor.page
    visitor.reload()
    visitor.tab("Evaluate")
    page.wait_for_function("document.querySelectorAll('#evaluate-scores tbody tr').length === 2")
    page.wait_for_function("document.querySelector('#evaluate-file')?.innerText.includes('small')")
    page.wait_for_function("document.querySelector('#evaluate-models')?.innerText.includes('glove-6B-50d')")
    # Its parts come back one after the other; once they are there, the form says again what the result was made of.
    page.wait_for_function("!document.querySelector('#evaluate-said .sb-made-stale')")
    page.wait_for_timeout(1500)  # what changes by itself has changed
    page.wait_for_function("!document.querySelector('#evaluate-said .sb-made-stale')", timeout=5000)
    page.locator("#evaluate-file").get_by_role("button", name="Clear").first.click()
    visitor.see("#evaluate-said .sb-made-stale")
    page.locator("#evaluate-said").get_by_role("button", name="Do it again").click()
    visitor.see("#evaluate-stop")
    page.wait_for_function("document.querySelectorAll('#evaluate-scores tbody tr').length === 2")
    assert "glove-6B-50d · small pairs.csv" in visitor.text("#evaluate-said .sb-made"), "never a sample in its place"


@pytest.mark.skipif(not is_installed("glove-6B-50d"), reason="the package of glove-6B-50d is not installed")
def test_two_models_are_judged_compared_sorted_and_downloaded(visit: Callable[..., Visitor]) -> None:
    visitor = visit(accept_downloads=True)
    page = visitor.page
    visitor.tab("Evaluate")
    visitor.judge("all-MiniLM-L6-v2", "glove-6B-50d")
    visitor.upload("evaluate-file", "small pairs.csv", pairs_csv())
    page.wait_for_function("document.querySelector('#evaluate-file')?.innerText.includes('small')")
    page.click("#evaluate-go")
    page.wait_for_function("document.querySelector('#evaluate-scores')?.innerText.includes('glove-6B-50d')")  # not an earlier result
    page.wait_for_function("document.querySelectorAll('#evaluate-scores tbody tr').length === 2")
    assert "glove-6B-50d" in visitor.text("#evaluate-said") and "all-MiniLM-L6-v2" in visitor.text("#evaluate-said")
    visitor.see("#evaluate-chart .main-svg .scatterlayer .point")
    assert page.locator("#evaluate-chart .scatterlayer .point").count() == 2
    assert page.locator("#evaluate-differences tbody tr").count() == 20, "the pairs on which they differ most"
    assert page.locator("#evaluate-differences tbody tr").first.locator(".sb-texts p").count() == 2
    made = "document.querySelector('#evaluate-said .sb-made').innerText"
    page.wait_for_function(f"{made}.includes('glove-6B-50d') && {made}.includes('small pairs.csv')")
    for _ in range(2):
        page.get_by_role("columnheader", name="Sentences/s").first.locator("button").click()
    speeds = [float(text.replace(",", "")) for text in page.locator("#evaluate-scores td[data-name='Sentences/s']").all_inner_texts()]
    assert speeds == sorted(speeds) and len(speeds) == 2
    spans = page.locator("#evaluate-scores td[data-name='95% interval']").all_inner_texts()
    assert len(spans) == 2 and all(re.fullmatch(r"\s*0\.\d{3} – 0\.\d{3}\s*", span) for span in spans), spans
    with page.expect_download() as coming:
        page.locator("#evaluate-scores .sb-takeaway button", has_text="CSV").click()
    told = Path(coming.value.path()).read_text(encoding="utf-8")
    assert all(span.strip() in told for span in spans)
    page.set_viewport_size({"width": 390, "height": 844})  # no room for headers: a list sorts in their place
    page.select_option("#evaluate-scores select", label="Cosine Spearman")
    scores = page.locator("#evaluate-scores td[data-name='Cosine Spearman']").all_inner_texts()
    assert scores == sorted(scores, reverse=True) and len(scores) == 2
    page.click("#evaluate-scores .sb-sorter button")
    assert page.locator("#evaluate-scores td[data-name='Cosine Spearman']").all_inner_texts() == scores[::-1]
    page.set_viewport_size({"width": 1280, "height": 900})
    visitor.choose("#evaluate-task", "SentEval")
    visitor.see("#evaluate-known")
    visitor.see("#evaluate-said .sb-made-stale")
    assert "something else is chosen now" in visitor.text("#evaluate-said .sb-made")
    page.wait_for_function("document.querySelector('#board-table')?.innerText.includes('small pairs.csv')")
    visitor.choose("#board-set", "small pairs.csv")
    page.wait_for_function("document.querySelectorAll('#board-table tbody tr').length === 2")
    visitor.see("#board-chart .main-svg .scatterlayer .point")
    with page.expect_download() as coming:
        page.click("#board-csv")
    lines = Path(coming.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3 and lines[0].startswith("set,rows_digest,task") and "glove-6B-50d" in "".join(lines[1:])
    it_comes_back_and_is_done_again(visitor)
    visitor.choose("#board-set", "small pairs.csv")
    page.wait_for_function(  # the table of that one set, not the earlier one of all sets
        "document.querySelectorAll('#board-table tbody tr').length === 2 && !document.querySelector('#board-table [data-name=Set]')"
    )
    page.locator("#board-table tbody tr").first.click()
    page.click("#board-remove")
    page.wait_for_function("document.querySelectorAll('#board-table tbody tr').length === 1")


_POINTS = [
    ("all-MiniLM-L6-v2", 113, 0.9257),
    ("glove-6B-50d", 119_548, 0.5567),
    ("words", 120_434, 0.3554),
    ("sentence-encoder", 215, 0.8975),
]
_CLOSE = [("all-MiniLM-L6-v2", 113, 0.9257), ("bank_messages", 149, 0.9250)]


@pytest.mark.parametrize("given", [_POINTS, _CLOSE], ids=["apart", "close"])
def test_no_name_in_the_chart_lies_on_another_models_point(visit: Callable[..., Visitor], given: list[tuple[str, int, float]]) -> None:
    visitor = visit()
    page = visitor.page
    points = [{"name": name, "rate": rate, "score": score, "low": score - 0.03, "high": score + 0.03} for name, rate, score in given]
    page.evaluate(
        """(points) => {
            const place = document.createElement("div");
            place.id = "chart-alone"; place.style.width = "760px";
            document.body.prepend(place);
            window.SB.views.speeds(place)({points, metric: "Cosine Spearman"});
        }""",
        points,
    )
    page.wait_for_selector(f"#chart-alone .textpoint >> nth={len(given) - 1}", state="attached")
    names = [box for one in page.locator("#chart-alone .textpoint text").all() if (box := one.bounding_box())]
    dots = [box for one in page.locator("#chart-alone .scatterlayer .point").all() if (box := one.bounding_box())]
    assert len(names) == len(dots) == len(given)
    for own, name in enumerate(names):
        for box in [*(dot for other, dot in enumerate(dots) if other != own), *names[:own]]:
            apart = name["x"] + name["width"] <= box["x"] or box["x"] + box["width"] <= name["x"]
            assert apart or name["y"] + name["height"] <= box["y"] + 1 or box["y"] + box["height"] <= name["y"] + 1, (name, box)
