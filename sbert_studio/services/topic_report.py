"""Topic report: the topics of a map, their frequency over time and by category, as tables."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import computed_field

from ..data.column_types import DateColumn, Period, choose_period, parse_column, parse_dates, split_in_periods
from ..data.corpus import Corpus
from ..data.row_report import RowReport
from ..explore.map_edits import NO_CLUSTER, MapState
from ..i18n import _, ngettext
from ..serialization import Internal, JsonResult, doc
from .results import MapView, TopicInfo

MAX_CATEGORIES = 30
EXAMPLES = 3
_MIN_TEXTS = 5  # observed or expected, for a cell to be interpreted
_SMALLEST_P = 1e-300

Counts = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TopicTimeline(JsonResult):
    """Number of texts of each topic in each period of a column of dates."""

    column: str
    period: Annotated[Period, doc("day, week (ISO 8601), month or year")]
    periods: tuple[str, ...]
    counts: Annotated[Counts, doc("a row for each topic of `order`, a column for each period")]
    blank: Annotated[int, doc("number of texts without a date")]
    unreadable: Annotated[int, doc("number of texts whose cell is no date")]

    @property
    def totals(self) -> tuple[int, ...]:
        """Number of texts in each period."""
        return tuple(map(sum, zip(*self.counts, strict=True)))

    def shares(self, counts: Sequence[int]) -> list[float]:
        """Return a topic's share of the texts of each period."""
        return [count / total if total else 0.0 for count, total in zip(counts, self.totals, strict=True)]

    def titles(self, counts: Sequence[int]) -> list[str]:
        """Return a description of each period's bar."""
        cells = zip(self.periods, counts, self.totals, strict=True)
        return [
            _("{period}: {count} of {total} texts", period=period, count=f"{count:,}", total=f"{total:,}") for period, count, total in cells
        ]


@dataclass(frozen=True)
class TopicCategories(JsonResult):
    """Counts of texts by topic and category, compared with the counts expected if the two were independent.

    Attributes:
        residuals: see :func:`exact_residuals`.
    """

    column: str
    categories: tuple[str, ...]
    counts: Annotated[Counts, doc("a row for each topic of `order`, a column for each category")]
    expected: Annotated[tuple[tuple[float, ...], ...], doc("number of texts if topic and category were independent")]
    residuals: Annotated[
        tuple[tuple[float | None, ...], ...],
        doc("standardized residuals: above 2, more texts than expected, below -2, fewer; null if fewer than 5 are observed and expected"),
    ]
    blank: Annotated[int, doc("number of texts without a category, which are not counted")]

    @property
    def small(self) -> int:
        """Number of cells that are not interpreted."""
        return sum(value is None for row in self.residuals for value in row)


@dataclass(frozen=True)
class TopicReport(JsonResult):
    """The topics of a corpus, over time and by category."""

    name: Internal[str]
    points: Annotated[int, doc("number of texts")]
    outliers: Annotated[int, doc("number of texts without a topic")]
    topics: Annotated[tuple[TopicInfo, ...], doc("largest first, broad topics last")]
    order: Annotated[tuple[int, ...], doc("topics in the order of the rows of all tables, by broad topic; -1 for texts without a topic")]
    timelines: Annotated[tuple[TopicTimeline, ...], doc("for each column of dates")]
    categories: Annotated[tuple[TopicCategories, ...], doc("for each other column of 2 to 30 values")]
    account: RowReport
    notes: tuple[str, ...] = ()
    model: Annotated[str | None, doc("the one that was used: as requested, or the default for the language of the texts")] = None

    @computed_field(description="share of the texts of each topic of `order`")  # type: ignore[prop-decorator]
    @property
    def shares(self) -> tuple[float, ...]:
        return tuple(self.size(topic) / max(self.points, 1) for topic in self.order)

    @property
    def by_id(self) -> dict[int, TopicInfo]:
        return {topic.id: topic for topic in self.topics}

    def size(self, topic: int) -> int:
        """Return the number of texts of a topic; for -1, of texts without one."""
        return self.outliers if topic < 0 else self.by_id[topic].size

    def label(self, topic: int) -> str:
        """Return the label of a topic."""
        return NO_CLUSTER if topic < 0 else self.by_id[topic].label

    def broad(self, topic: int) -> str:
        """Return the label of the broad topic of a topic, empty if there is none."""
        parent = None if topic < 0 else self.by_id[topic].parent
        return "" if parent is None else self.by_id[parent].label


def find_dates(corpus: Corpus) -> dict[str, DateColumn]:
    """Return the dates of each column of dates, without those to which the user gave another type."""
    others = {column for column, column_type in corpus.types.items() if column_type != "date"}
    found = {column: parse_dates(column, cells) for column, cells in corpus.fields.items() if column not in others}
    return {column: dates for column, dates in found.items() if dates is not None}


def make_topic_report(view: MapView, corpus: Corpus, dates: Mapping[str, DateColumn] | None = None) -> TopicReport:
    """Return the tables of a map's topics. Blank cells are counted; columns that are left out are named in the notes.

    Args:
        corpus: the texts of the map, in the same order.
        dates: the dates of its columns. By default they are found in ``corpus``; pass them for a part of a corpus, whose cells alone may
            not show whether the month or the day comes first.
    """
    known = find_dates(corpus) if dates is None else dates
    order = _display_order(view)
    rows = {topic: place for place, topic in enumerate(order)}
    places = np.array([rows[int(topic)] for topic in view.ids], np.int64)
    timelines, categories, notes = [], [], list(view.notes)
    for column, cells in corpus.fields.items():
        if column in known:
            if not np.isnat(known[column].days).all():
                timelines.append(_timeline(column, known[column], places, len(order)))
            notes += _date_notes(column, known[column])
            continue
        is_list = corpus.column_type(column) == "list"
        items = parse_column(column, cells, "list" if is_list else "category").items or ()
        values = {item for found in items for item in found}
        if 1 < len(values) <= MAX_CATEGORIES and len(values) < sum(map(len, items)):
            categories.append(_categories(column, items, places, len(order)))
            if is_list:
                notes.append(_("A text counts for each of its values in the column {column}.", column=repr(column)))
        elif len(values) > MAX_CATEGORIES and (is_list or column in corpus.category_columns()):
            template = "The column {column} is omitted: it has {values} values, and tables show at most {most}."
            notes.append(_(template, column=repr(column), values=f"{len(values):,}", most=MAX_CATEGORIES))
    return TopicReport(
        corpus.name,
        len(corpus),
        view.outliers,
        view.topics,
        order,
        tuple(timelines),
        tuple(categories),
        view.account,
        tuple(notes),
        view.model,
    )


def apply_map_state(view: MapView, corpus: Corpus, now: MapState, start: np.ndarray) -> tuple[MapView, Corpus]:
    """Apply edits to a map and its corpus: rename, merge and split topics, assign outliers, remove texts.

    A topic created by a split belongs to the broad topic of most of its texts.

    Args:
        start: (n,) topics before the edits.
    """
    from ..explore.clusters import distinct_texts
    from ..explore.topics import keywords, split_terms

    kept = np.flatnonzero(~now.removed)
    if len(kept) < len(corpus):
        corpus = corpus.subset(kept.tolist(), corpus.name, "removed on the map")
    ids, earlier = now.ids[kept], {topic.id: topic for topic in view.topics}
    used = [(topic, name) for topic, name, _size in now.clusters() if topic >= 0]
    dense = {topic: place for place, (topic, _name) in enumerate(used)}
    numbers = np.array([dense.get(int(topic), -1) for topic in ids], np.int64)
    typicality = None if view.typicality is None else view.typicality[kept]
    words = keywords(split_terms(corpus.texts), numbers, typicality=typicality)
    broad: dict[int, int] = {}
    topics = []
    for place, (_topic, name) in enumerate(used):
        rows = np.flatnonzero(numbers == place)
        parent = broad_topic(earlier, start[kept[rows]])
        typical = rows if typicality is None else rows[np.argsort(-typicality[rows], kind="stable")]
        examples = distinct_texts(corpus.texts, typical.tolist(), EXAMPLES)
        parent = None if parent is None else len(used) + broad.setdefault(parent, len(broad))
        topics.append(TopicInfo(place, name, len(rows), parent, tuple(words[place]), examples))
    sizes = Counter(dict.fromkeys(broad.values(), 0))
    for info in topics:
        if info.parent is not None:
            sizes[info.parent - len(used)] += info.size
    groups = [
        TopicInfo(len(used) + place, now.broad_names.get(parent, earlier[parent].label), sizes[place]) for parent, place in broad.items()
    ]
    return replace(
        view,
        points=view.points[kept],
        ids=numbers,
        topics=(*topics, *groups),
        account=corpus.account,
        typicality=typicality,
        nearest=None,
    ), corpus


def broad_topic(topics: Mapping[int, TopicInfo], ids: np.ndarray) -> int | None:
    """Return the broad topic to which most texts with (n,) topics ``ids`` belong; ``None`` if they have none.

    Args:
        topics: those of the map by id.
    """
    sizes = Counter[int | None]()
    for topic, size in zip(*np.unique(ids, return_counts=True), strict=True):
        if int(topic) in topics:
            sizes[topics[int(topic)].parent] += int(size)
    return max(sizes, key=sizes.__getitem__) if sizes else None


def _display_order(view: MapView) -> tuple[int, ...]:
    """Return the topics that have texts, ordered by the size of their broad topic, then by their own, largest first; -1 last."""
    sizes = {topic.id: topic.size for topic in view.topics}
    used = set(view.ids.tolist())
    topics = [topic for topic in view.topics if topic.id in used]
    ordered = sorted(
        topics,
        key=lambda topic: (
            -sizes.get(topic.parent, topic.size) if topic.parent is not None else -topic.size,
            topic.parent or -1,
            -topic.size,
        ),
    )
    return (*(topic.id for topic in ordered), *((-1,) if -1 in used else ()))


def _timeline(column: str, dates: DateColumn, topics: np.ndarray, count: int) -> TopicTimeline:
    period = choose_period(dates.days)
    found, names = split_in_periods(dates.days, period)
    return TopicTimeline(column, period, names, _cross_table(topics, found, count, len(names)), dates.blank, dates.unreadable)


def _date_notes(column: str, dates: DateColumn) -> Iterator[str]:
    if dates.order:
        yield _(
            "Dates in the column {column} are read as {order}/year; no cell shows which order is correct.",
            column=repr(column),
            order=dates.order,
        )
    if dates.unreadable:
        yield ngettext(
            "In the column {column}, {n} cell is not a date and is not counted.",
            "In the column {column}, {n} cells are not dates and are not counted.",
            dates.unreadable,
            column=repr(column),
        )


def _categories(column: str, items: Sequence[Sequence[str]], topics: np.ndarray, count: int) -> TopicCategories:
    numbers = Counter(item for found in items for item in found)
    names = sorted(numbers, key=lambda name: (-numbers[name], name))
    numbers_by_name = {name: float(name) for name in names if re.fullmatch(r"-?\d+(\.\d+)?", name)}
    if 2 * len(numbers_by_name) > len(names):
        names.sort(key=lambda name: numbers_by_name.get(name, math.inf))  # "n/a" follows the marks
    index = {name: place for place, name in enumerate(names)}
    filled = np.array([len(found) for found in items], np.int64)
    values = np.array([index[item] for found in items for item in found], np.int64)
    counts = _cross_table(np.repeat(topics, filled), values, count, len(names))
    # Of lists, a text counts in several columns: the texts of a topic are not the sum of its row.
    expected, residuals = exact_residuals(np.array(counts), np.bincount(topics[filled > 0], minlength=count))
    is_small = (np.maximum(expected, counts) < _MIN_TEXTS).tolist()
    shown = [[None if few else value for value, few in zip(*row, strict=True)] for row in zip(residuals.tolist(), is_small, strict=True)]
    blank = int((filled == 0).sum())
    return TopicCategories(column, tuple(names), counts, tuple(map(tuple, expected.tolist())), tuple(map(tuple, shown)), blank)


def _cross_table(rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> Counts:
    known = columns >= 0
    table = np.bincount(rows[known] * width + columns[known], minlength=height * width).reshape(height, width)
    return tuple(map(tuple, table.tolist()))


def exact_residuals(counts: np.ndarray, sizes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected counts under independence, and residuals, of an (r, c) table of counts.

    A residual is the normal deviate of the mid-p value of Fisher's exact test of the cell against all others. In large cells it equals the
    adjusted standardized residual (Haberman 1973); it holds in small cells too.

    Args:
        sizes: (r,) the number of texts of each row; by default the sums of the rows.
    """
    from scipy.stats import hypergeom, norm

    rows, columns = (counts.sum(axis=1) if sizes is None else sizes)[:, None], counts.sum(axis=0, keepdims=True)
    total = int(rows.sum())
    same = hypergeom.pmf(counts, total, rows, columns) / 2
    above = hypergeom.sf(counts, total, rows, columns) + same
    below = hypergeom.cdf(counts - 1, total, rows, columns) + same
    residuals = np.where(above < below, 1, -1) * norm.isf(np.clip(np.minimum(above, below), _SMALLEST_P, 0.5))
    return rows * columns / max(total, 1), residuals
