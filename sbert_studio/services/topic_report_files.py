"""Files of a topic report: an XLSX workbook, and one HTML page that works offline, in a language of the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.cells import clean, set_xlsx_value
from ..i18n import ENGLISH, Message, _, join, load_catalog, ngettext, translate
from ..workspace import atomic_file, require_suffix
from .topic_report import EXAMPLES, TopicCategories, TopicReport, TopicTimeline

if TYPE_CHECKING:
    from openpyxl import Workbook

SUFFIXES = (".xlsx", ".html")
_MAX_TEXT = 1_000
_NOTABLE = 2.0  # residual that chance exceeds in about 5 % of the cells
_STRONG = 8.0  # residual with the strongest color
_OVER, _UNDER = "#1f978d", "#c8641b"
_TITLE_CHARACTERS = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_PERIODS = {"day": _("day"), "week": _("week"), "month": _("month"), "year": _("year")}
_TEMPLATES = Path(__file__).parent / "templates"


def write_topic_report(report: TopicReport, path: Path, language: str = ENGLISH) -> Path:
    """Write a report as .xlsx or .html, depending on the suffix of ``path``.

    Args:
        language: code of the language of everything but the visitor's own texts and names.

    Raises:
        StudioError: the suffix is not supported.
    """
    require_suffix(path, SUFFIXES)
    with atomic_file(path) as part:
        if path.suffix.lower() == ".xlsx":
            _Workbook(report, language).book.save(part)
        else:
            part.write_text(_html(report, language), encoding="utf-8")
    return path


def residual_note(table: TopicCategories) -> str:
    """Explain the residuals of a table."""
    cells = sum(map(len, table.residuals)) - table.small
    text = _(
        "Colored cells have more (or fewer) texts than if topic and category were independent: their standardized residual (by Fisher's "
        "exact test) is above 2 (or below -2). Chance alone would color about {chance} of the {cells} interpreted cells, so look for "
        "strong colors.",
        chance=f"{0.05 * cells:.0f}",
        cells=f"{cells:,}",
    )
    if not table.small:
        return text
    small = ngettext(
        "{n} cell with fewer than 5 texts, and fewer than 5 expected, is not interpreted.",
        "{n} cells with fewer than 5 texts, and fewer than 5 expected, are not interpreted.",
        table.small,
    )
    return join(" ", [text, small])


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def _strength(residual: float | None) -> float:
    """Return the strength of a cell's color: from -1, far fewer texts than expected, to 1."""
    return 0.0 if residual is None or abs(residual) < _NOTABLE else max(-1.0, min(1.0, residual / _STRONG))


def _label(report: TopicReport, topic: int, language: str) -> str:
    """Return the label of a topic. Only the program's own words are translated, not those of the visitor's texts."""
    label = _("outliers") if topic < 0 else report.label(topic)
    return translate(label, language) if isinstance(label, Message) else label


def _html(report: TopicReport, language: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    def single(template: str, **values: object) -> str:
        return translate(_(template, **values), language)

    def plural(one: str, several: str, number: int, **values: object) -> str:
        return translate(ngettext(one, several, number, **values), language)

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters.update(shorten=_shorten, strength=_strength, translate=lambda text: translate(text, language))
    environment.globals.update(
        _=single, ngettext=plural, label=lambda topic: _label(report, topic, language), periods=_PERIODS, residual_note=residual_note
    )
    template = environment.get_template("topic_report.html.j2")
    catalog = load_catalog(language)
    return str(template.render(report=report, tag=catalog.tag if catalog else ENGLISH, over=_OVER, under=_UNDER))


class _Workbook:
    """The workbook of a report."""

    def __init__(self, report: TopicReport, language: str) -> None:
        from openpyxl import Workbook

        self.book = Workbook()
        del self.book["Sheet"]
        self._sheet(language, _("Topics")).topics(report)
        for timeline in report.timelines:
            self._sheet(language, _("Over time by {=column}", column=timeline.column)).timeline(report, timeline)
        for table in report.categories:
            self._sheet(language, _("By {=column}", column=table.column)).categories(report, table)
        notes = self._sheet(language, _("Notes"))
        notes.append([_("Corpus"), report.name])
        notes.append([_("Texts"), report.points])
        notes.append([_("Model"), report.model or ""])
        for note in (report.account.describe("used"), *report.notes):
            notes.append([_("Note"), note])

    def _sheet(self, language: str, title: str) -> _Sheet:
        return _Sheet(self.book, title, language)


class _Sheet:
    """A worksheet whose texts are never formulas; messages are translated."""

    def __init__(self, book: Workbook, title: str, language: str) -> None:
        used = {sheet.title.casefold() for sheet in book.worksheets}
        short = _TITLE_CHARACTERS.sub(" ", clean(translate(title, language))).strip("' ")[:31] or "Sheet"
        number, name = 2, short
        while name.casefold() in used:
            name, number = f"{short[:27]} {number}", number + 1
        self._sheet = book.create_sheet(name)
        self._language = language
        self._row = 0

    def append(self, values: Sequence[object], *, is_header: bool = False, fills: Sequence[float] = ()) -> None:
        """Write a row; ``fills`` are the color strengths of its last cells."""
        from openpyxl.styles import Font, PatternFill

        self._row += 1
        for column, value in enumerate(values, 1):
            cell = self._sheet.cell(self._row, column)
            set_xlsx_value(cell, translate(value, self._language) if isinstance(value, Message) else value)
            if isinstance(value, float):
                cell.number_format = "0.0"
            if is_header:
                cell.font = Font(bold=True)
        for column, strength in enumerate(fills, len(values) - len(fills) + 1):
            if strength:
                color = _mix(_OVER if strength > 0 else _UNDER, 0.25 + 0.6 * abs(strength))
                self._sheet.cell(self._row, column).fill = PatternFill("solid", fgColor=color)

    def topics(self, report: TopicReport) -> None:
        """Write the table of topics."""
        examples = [_("Typical text {number}", number=number + 1) for number in range(EXAMPLES)]
        self.append([_("Topic"), _("Broad topic"), _("Texts"), _("Share"), _("Keywords"), *examples], is_header=True)
        for topic, share in zip(report.order, report.shares, strict=True):
            info = report.by_id.get(topic)
            words, texts = (", ".join(info.keywords), info.examples) if info else ("", ())
            shown = [_shorten(text) for text in texts[:EXAMPLES]]
            self.append([self._label(report, topic), report.broad(topic), report.size(topic), share, words, *shown])
            self._sheet.cell(self._row, 4).number_format = "0.0%"
        self._format([34, 30, 8, 8, 44, 60, 60, 60])

    def timeline(self, report: TopicReport, timeline: TopicTimeline) -> None:
        """Write the topics over time."""
        self.append([_("Topic"), *timeline.periods], is_header=True)
        for topic, counts in zip(report.order, timeline.counts, strict=True):
            self.append([self._label(report, topic), *counts])
        self.append([_("All texts"), *timeline.totals], is_header=True)
        blank, unreadable = f"{timeline.blank:,}", f"{timeline.unreadable:,}"
        self.append([_("Texts without a date: {blank}; cells that are no date: {unreadable}", blank=blank, unreadable=unreadable)])
        self._format([34, *[11] * len(timeline.periods)])

    def categories(self, report: TopicReport, table: TopicCategories) -> None:
        """Write the counts, the ratios of observed to expected counts and the residuals."""
        strengths = [[_strength(value) for value in row] for row in table.residuals]
        self.append([_("Number of texts"), *table.categories], is_header=True)
        for topic, counts, fills in zip(report.order, table.counts, strengths, strict=True):
            self.append([self._label(report, topic), *counts], fills=fills)
        self.append([residual_note(table)])
        self.append([_("Texts without a value in the column: {blank}", blank=f"{table.blank:,}")])
        self.append([])
        self.append([_("Observed / expected"), *table.categories], is_header=True)
        for place, topic in enumerate(report.order):
            cells = zip(table.counts[place], table.expected[place], table.residuals[place], strict=True)
            ratios = [None if residual is None else count / expected for count, expected, residual in cells]
            self.append([self._label(report, topic), *ratios], fills=strengths[place])
        self.append([])
        self.append([_("Standardized residual"), *table.categories], is_header=True)
        for topic, residuals, fills in zip(report.order, table.residuals, strengths, strict=True):
            self.append([self._label(report, topic), *residuals], fills=fills)
        self._format([34, *[13] * len(table.categories)])

    def _label(self, report: TopicReport, topic: int) -> str:
        return _label(report, topic, self._language)

    def _format(self, widths: Sequence[int]) -> None:
        from openpyxl.utils import get_column_letter

        self._sheet.freeze_panes = "B2"
        for column, width in enumerate(widths, 1):
            self._sheet.column_dimensions[get_column_letter(column)].width = width


def _mix(color: str, share: float) -> str:
    """Return a color mixed with white, as RRGGBB."""
    parts = [int(color[place : place + 2], 16) for place in (1, 3, 5)]
    return "".join(f"{round(255 - share * (255 - part)):02X}" for part in parts)
