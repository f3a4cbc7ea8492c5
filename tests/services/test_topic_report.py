"""The topic report: its tables against loops over the texts, and its files read back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from html.parser import HTMLParser
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from openpyxl import load_workbook
from scipy.stats.contingency import expected_freq
from tiny_studio import sentences, studio_at

from sbert_studio.data.corpus import Corpus
from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.explore.clusters import ClusterParams
from sbert_studio.explore.map_edits import EditHistory, MergeEdit, RemoveEdit, RenameEdit, SplitEdit
from sbert_studio.services import Studio
from sbert_studio.services.map import count_notes, repetition_notes
from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.services.topic_report import TopicReport, apply_map_state, exact_residuals, make_topic_report
from sbert_studio.services.topic_report_files import write_topic_report

N = 240
FORMULA = "=HYPERLINK(1)"
MARKUP = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Studio]:
    with studio_at(tmp_path_factory.mktemp("home"), tiny_model) as made:
        yield made


@pytest.fixture(scope="module")
def corpus(studio: Studio) -> Corpus:
    """Texts whose channel depends on the topic, whose team does not, and dates of half a year."""
    rng = np.random.default_rng(3)
    columns = {
        "text": [f"{FORMULA if row == 0 else MARKUP if row == 3 else 'text'} number {row} of kind {row % 3}" for row in range(N)],
        "channel": [["mail", "phone", "chat"][row % 3 if rng.random() < 0.7 else int(rng.integers(3))] for row in range(N)],
        "team": [["=a", "b", ""][int(rng.integers(3))] for row in range(N)],
        "rare": ["rare" if row < 2 else "usual" for row in range(N)],
        "sent": ["" if row % 10 == 9 else (date(2024, 1, 1) + timedelta(days=int(row * 0.75))).isoformat() for row in range(N)],
        "name": [f"name {row % 40}" for row in range(N)],
    }
    return studio.data.read_corpus(table_from_columns("requests.csv", columns), "text")


@pytest.fixture(scope="module")
def view() -> MapView:
    ids = np.arange(N) % 3
    ids[::24] = -1
    sizes = [int((ids == topic).sum()) for topic in range(3)]
    topics = (
        TopicInfo(0, "zero", sizes[0], 4, ("none", "nil"), (FORMULA, MARKUP)),
        TopicInfo(1, "one", sizes[1], 3, ("single",), ("text number 1",)),
        TopicInfo(2, "two", sizes[2], 4, ("pair",), ("text number 2",)),
        TopicInfo(3, "odd", sizes[1]),
        TopicInfo(4, "even", sizes[0] + sizes[2]),
    )
    typicality = np.linspace(1, 0, N).astype(np.float32)
    return MapView(np.zeros((N, 2), np.float32), ids, topics, "key", notes=("Chosen so.",), model="tiny", typicality=typicality)


@pytest.fixture(scope="module")
def report(view: MapView, corpus: Corpus) -> TopicReport:
    return make_topic_report(view, corpus)


def test_counts_and_dependence_are_those_of_the_texts(report: TopicReport, view: MapView, corpus: Corpus) -> None:
    (timeline,) = report.timelines
    assert (timeline.column, timeline.period, timeline.blank, timeline.unreadable) == ("sent", "week", 24, 0)
    weeks = ["" if not cell else "{}-W{:02d}".format(*date.fromisoformat(cell).isocalendar()[:2]) for cell in corpus.fields["sent"]]
    for place, topic in enumerate(report.order):
        for period, found in zip(timeline.periods, timeline.counts[place], strict=True):
            assert found == sum(view.ids[row] == topic and weeks[row] == period for row in range(N))
    assert sum(timeline.totals) == N - 24
    channel, team, _rare = report.categories
    for table in (channel, team):
        for place, topic in enumerate(report.order):
            for name, found in zip(table.categories, table.counts[place], strict=True):
                assert found == sum(view.ids[row] == topic and corpus.fields[table.column][row] == name for row in range(N))
    assert team.blank == corpus.fields["team"].count("") and "" not in team.categories
    channel, team, rare = report.categories
    assert np.allclose(channel.expected, expected_freq(np.array(channel.counts)))
    kinds = dict(zip(report.order, channel.residuals, strict=True))
    for topic, name in enumerate(("mail", "phone", "chat")):
        own = kinds[topic][channel.categories.index(name)]
        assert own is not None and own > 4, "topic and channel belong together"
    assert max(abs(value) for row in team.residuals for value in row if value is not None) < 3
    assert [row[rare.categories.index("rare")] for row in rare.residuals] == [None] * 4, "two texts are too few"


def test_residuals_are_exact_and_standard_normal() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _trial in range(400):
        rows, columns = rng.integers(0, 3, 600), rng.choice(4, 600, p=[0.4, 0.3, 0.2, 0.1])
        found.append(exact_residuals(np.bincount(rows * 4 + columns, minlength=12).reshape(3, 4))[1])
    values = np.array(found)
    assert abs(values.mean()) < 0.05 and abs(values.std() - 1) < 0.05
    assert 0.035 < (np.abs(values) > 1.96).mean() < 0.065
    assert np.allclose(exact_residuals(np.array([[3, 0], [2, 0]]))[1], 0), "a column without texts"
    assert np.isfinite(exact_residuals(np.array([[50_000, 0], [0, 50_000]]))[1]).all()
    counts = np.array([[9, 1, 0], [2, 30, 4], [0, 3, 6]])
    total, (_, residuals) = int(counts.sum()), exact_residuals(counts)
    for place, observed in np.ndenumerate(counts):
        row, column = int(counts[place[0]].sum()), int(counts[:, place[1]].sum())

        def chance(number: int, row: int = row, column: int = column) -> float:
            return math.comb(row, number) * math.comb(total - row, column - number) / math.comb(total, column)

        above = sum(chance(number) for number in range(observed + 1, min(row, column) + 1)) + chance(observed) / 2
        assert residuals[place] == pytest.approx(NormalDist().inv_cdf(1 - above), abs=1e-6)
    large = counts * 100
    expected = expected_freq(large)
    rows, columns = (large.sum(axis=axis, keepdims=True) / large.sum() for axis in (1, 0))
    adjusted = (large - expected) / np.sqrt(expected * (1 - rows) * (1 - columns))
    even = np.abs(adjusted) < 3
    assert np.allclose(exact_residuals(large)[1][even], adjusted[even], atol=0.05)


def test_topics_come_by_broad_topic_and_skipped_columns_are_named(report: TopicReport, view: MapView) -> None:
    assert report.order == (2, 0, 1, -1), "the largest topic of the largest broad topic first"
    assert [report.broad(topic) for topic in report.order] == ["even", "even", "odd", ""]
    assert sum(report.size(topic) for topic in report.order) == N and sum(report.shares) == pytest.approx(1)
    assert report.to_json()["topics"] == view.to_json()["topics"]
    assert [table.column for table in report.categories] == ["channel", "team", "rare"]
    assert any("'name'" in note and "40" in note for note in report.notes) and "Chosen so." in report.notes


def test_a_text_counts_for_each_item_of_its_list(view: MapView, corpus: Corpus) -> None:
    rng = np.random.default_rng(5)
    names = ["late", "lost", "rude", "vip", "new", "old"]
    items = [[name for name in names if rng.random() < (0.8 if name == "vip" and view.ids[row] == 1 else 0.3)] for row in range(N)]
    tagged = replace(corpus, fields={"tags": tuple("; ".join(found) for found in items)})
    report = make_topic_report(view, tagged)
    (table,) = report.categories
    assert sorted(table.categories) == sorted(names) and table.blank == items.count([])
    assert any("'tags'" in note for note in report.notes)
    filled = [row for row in range(N) if items[row]]
    for place, topic in enumerate(report.order):
        own = [row for row in filled if view.ids[row] == topic]
        for at, name in enumerate(table.categories):
            both, all_of = sum(name in items[row] for row in own), sum(name in items[row] for row in filled)
            assert table.counts[place][at] == both and table.expected[place][at] == pytest.approx(len(own) * all_of / len(filled))
            with_name = np.array([[both, len(own) - both], [all_of - both, len(filled) - len(own) - all_of + both]])
            found = table.residuals[place][at]
            assert found is None or found == pytest.approx(exact_residuals(with_name)[1][0, 0])
    vip = table.residuals[report.order.index(1)][table.categories.index("vip")]
    assert vip is not None and vip > 4


def test_a_report_reads_columns_as_the_user_has_set(view: MapView, corpus: Corpus) -> None:
    months = replace(corpus, fields={"month": tuple(f"2024-{1 + row % 5:02}-01" for row in range(N))})
    assert make_topic_report(view, months).timelines and not make_topic_report(view, months).categories
    (table,) = make_topic_report(view, replace(months, types={"month": "category"})).categories
    assert len(table.categories) == 5


def test_marks_are_in_order_and_only_columns_of_too_many_values_are_named(view: MapView, corpus: Corpus) -> None:
    marks = tuple("n/a" if row % 9 == 0 else str(1 + row % 5) for row in range(N))
    sizes = tuple(f"{row}.5" if row < 14 else "" for row in range(N))
    report = make_topic_report(view, replace(corpus, fields={"mark": marks, "size": sizes}))
    assert [table.categories for table in report.categories] == [("1", "2", "3", "4", "5", "n/a")]
    assert not any("'size'" in note for note in report.notes), "its 14 values are few enough, but each occurs once"


class Elements(HTMLParser):
    """The names, texts and addresses of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.loaded: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [str(value) for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def test_files_have_no_formulas_markup_or_requests(report: TopicReport, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match=r"report\.pdf"):
        write_topic_report(report, tmp_path / "report.pdf")
    assert not list(tmp_path.iterdir())
    book = load_workbook(write_topic_report(report, tmp_path / "report.xlsx"))
    assert book.sheetnames == ["Topics", "Over time by sent", "By channel", "By team", "By rare", "Notes"]
    assert all(cell.data_type != "f" for sheet in book for row in sheet.iter_rows() for cell in row)
    rows = [[cell.value for cell in row] for row in book["Topics"].iter_rows()]
    assert [row[:3] for row in rows[1:]] == [
        [report.label(topic), report.broad(topic) or None, report.size(topic)] for topic in report.order
    ]
    formula = next(cell for row in book["Topics"].iter_rows() for cell in row if cell.value == FORMULA)
    assert formula.quotePrefix and not book["Topics"]["A2"].quotePrefix
    counts = [[cell.value for cell in row[1:4]] for row in book["By channel"].iter_rows(min_row=2, max_row=5)]
    assert counts == [list(row) for row in report.categories[0].counts]
    page = write_topic_report(report, tmp_path / "report.html").read_text(encoding="utf-8")
    elements = Elements(page)
    assert "script" not in elements.tags and not elements.loaded and MARKUP in elements.words
    assert not re.search(r"url\(|@import", page) and "prefers-color-scheme: dark" in page
    assert elements.tags.count("rect") == (len(report.order) + 1) * len(report.timelines[0].periods)
    assert page.count('<td class="when">') == len(report.order) + 1 and "td.when { white-space: nowrap; }" in page
    strong = [cell for cell in page.split("<td")[1:] if "color-mix" in cell]
    assert len(strong) == sum(abs(value or 0) >= 2 for table in report.categories for row in table.residuals for value in row)


def own_words(report: TopicReport) -> set[str]:
    """The visitor's words and numbers, which are the same in every language."""
    found = {report.name, *(topic.label for topic in report.topics), *(", ".join(topic.keywords) for topic in report.topics)}
    found |= {text for topic in report.topics for text in topic.examples}
    found |= {name for table in report.categories for name in table.categories} | {"Chosen so.", "tiny"}
    return found | {name for timeline in report.timelines for name in timeline.periods}


def test_a_chinese_report_has_no_english_words_but_the_visitors(report: TopicReport, tmp_path: Path) -> None:
    pages = [write_topic_report(report, tmp_path / f"{code}.html", code).read_text(encoding="utf-8") for code in ("en", "zh")]
    pages = [re.sub("<style>.*</style>", "", page, flags=re.DOTALL) for page in pages]
    english, chinese = (set(Elements(page).words) | set(re.findall(r' title="([^"]+)"', page)) for page in pages)
    own = own_words(report)
    assert '<html lang="zh-CN">' in pages[1] and '<html lang="en">' in pages[0]
    assert not {text for text in english & chinese - own if re.search("[A-Za-z]{2}", text) and not re.match(r"\d{4}-W\d", text)}
    assert all(text in chinese for text in (MARKUP, "none, nil", "mail")) and "离群" in "".join(chinese)
    books = [load_workbook(write_topic_report(report, tmp_path / f"{code}.xlsx", code)) for code in ("en", "zh")]
    cells = [{str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row} | set(book.sheetnames) for book in books]
    assert not {text for text in cells[0] & cells[1] - own - {"None"} if re.search("[A-Za-z]{2}", text) and not re.match(r"\d{4}-W", text)}
    assert FORMULA in cells[1] and [sheet.max_row for sheet in books[0]] == [sheet.max_row for sheet in books[1]]


def test_edits_of_the_map_are_in_the_report(view: MapView, corpus: Corpus) -> None:
    history = EditHistory.create(view.ids, view.names)
    zero = np.flatnonzero(view.ids == 0)
    parts = (tuple(zero[:50].tolist()), tuple(zero[50:].tolist()))
    for step in (RenameEdit(1, "renamed"), SplitEdit(0, parts, ("first", "second")), RemoveEdit((1, 2))):
        history = history.then(step)
    edited, left = apply_map_state(view, corpus, history.now, history.start.ids)
    report = make_topic_report(edited, left)
    assert report.points == N - 2 and {report.label(topic) for topic in report.order} == {"renamed", "first", "second", "two", "outliers"}
    assert {report.label(topic): report.broad(topic) for topic in report.order if topic >= 0} == {
        "renamed": "odd",
        "first": "even",
        "second": "even",
        "two": "even",
    }
    assert [topic.size for topic in report.topics if topic.label == "even"] == [len(zero) + int((view.ids == 2).sum()) - 1]
    for topic in report.topics[:4]:
        assert topic.examples == tuple(left.texts[row] for row in np.flatnonzero(edited.ids == topic.id)[:3]), "the most typical come first"
    merged = history.then(MergeEdit((1, 2)))
    edited, left = apply_map_state(view, corpus, merged.now, merged.start.ids)
    assert [topic.label for topic in edited.topics[:3]] == ["renamed", "first", "second"]


@pytest.mark.parametrize(
    ("sizes", "texts", "told"),
    [
        ([20, 15, 10], 50, "highest mean silhouette)."),
        ([300] * 10, 3_100, "from 10 on at which no topic has more than 30%"),
        ([1_900, *[20] * 10], 2_100, "no number from 10 on gives topics that all have at most 30%"),
        ([91_000, *[21_000] * 10], 301_000, "highest mean silhouette)."),  # the shares in the sample decided
        ([900] * 3, 2_700, "no number from 10 on gives topics that all have at most 30%"),
    ],
)
def test_the_reason_for_the_number_of_topics_names_the_limits_that_were_applied(sizes: list[int], texts: int, told: str) -> None:
    (note,) = count_notes(ClusterParams(), sizes, texts)
    assert f"at {len(sizes)}, they are most distinct" in note and told in note
    assert count_notes(ClusterParams(count=12), sizes, texts) == (f"The number of topics was set to {len(sizes)}.",)


def test_repetitions_are_told_and_name_their_topic(tmp_path: Path, static: str) -> None:
    distinct = list(dict.fromkeys(sentences(120)))
    texts = [*distinct, *["river moon"] * 200]
    with studio_at(tmp_path / "home", static) as studio:
        found = studio.map.draw(studio.data.read_corpus(table_from_columns("repeated", {"text": texts})))
    place = int(found.ids[-1])
    largest = next(topic for topic in found.topics if topic.id == place)
    others = {text for text, topic in zip(texts, found.ids.tolist(), strict=True) if topic == place}
    assert largest.size >= 200 and texts[-1] in largest.examples and len(largest.examples) == min(3, len(others))
    assert set(largest.keywords[0].split()) <= {"river", "moon"}
    assert any(f"the largest topic has {largest.size / len(texts):.0%} of all texts" in note for note in found.notes)
    assert repetition_notes(ClusterParams(count=3), [200, 10], 210) == () == repetition_notes(ClusterParams(), [210], 210)
