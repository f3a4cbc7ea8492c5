"""The data of all tabs: its chooser in the header, and the dialog that adds a file, a sample, a Hub dataset or pasted texts.

The dialog shows what was read before it is used: the first rows, the type of each column, the columns of the texts, and what the data is
good for. Whatever was derived from other data is cleared when :attr:`.state.Session.data` changes.
"""

from __future__ import annotations

import functools
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

import gradio as gr

from ..data.column_types import COLUMN_TYPES, ColumnType, check_type
from ..errors import StudioError
from ..i18n import _
from ..progress import StoppedError
from ..serialization import to_plain
from .components import CORPUS_TYPES, cancel_button, sample_picker, upload
from .corpora import FILE, SAMPLE, delete_file, describe_corpus
from .handlers import progress_callback, warn
from .panel import Panel
from .sessions.language import notify_info
from .state import UNITS, Header, OpenedCorpus, SelectedCorpus
from .views import UNCHANGED, Unchanged, Update, Value, props, view

if TYPE_CHECKING:
    from ..services.data_overview import DataOverview, DataUse
    from .page import Page
    from .panel import Selection

P = ParamSpec("P")

DIALOG = "add-data"
_TASK = "data"
_FORMATS = "A table (CSV, TSV, TXT, JSONL, XLSX, Parquet), or documents (PDF, DOCX, HTML, MD, TXT, or a ZIP of them)"
_CLOSE = f"() => SB.drawer('{DIALOG}', false)"
_PURPOSES = {"explore": "Search and Map", "train": "Fine-tune", "evaluate": "Evaluate"}
_MAX_PASTED = 20_000_000  # characters
_MAX_CELL = 160
_DELIMITERS = {"\t": "tsv", ",": "csv", ";": "csv"}


@dataclass(frozen=True)
class ReviewView:
    """Data that was read but is not used yet."""

    pending: str | None  # key in ``page.corpora``
    review: Value | None
    use: Update
    remove: Update
    file: Unchanged | None = UNCHANGED


@dataclass(frozen=True)
class UsedData:
    chosen: OpenedCorpus
    pending: None = None


def review(page: Page, corpus: SelectedCorpus, model: str | None, *, is_current: bool = False, file: Unchanged | None = None) -> ReviewView:
    """Return the view of data to add; of the selected data with ``is_current``."""
    from ..services.data_overview import describe_data

    table = page.corpora.table(corpus.path, corpus.corpus.name)
    columns = corpus.text_columns or ((corpus.column,) if corpus.column in table.columns else table.columns[:1])
    overview = describe_data(table, columns, corpus.corpus.types, corpus.path)
    numbers, notes = describe_corpus(page, corpus, model)
    unit = "" if corpus.passages is None else corpus.unit
    value = _overview_value(overview, numbers, notes, is_sample=corpus.id.startswith(SAMPLE)) | {"unit": unit}
    use = props(visible=True, value="Apply" if is_current else "Use this data")
    return ReviewView(page.corpora.put(corpus), value, use, props(visible=is_current and corpus.id.startswith(FILE)), file)


def _overview_value(overview: DataOverview, numbers: list[tuple[str, str]], notes: list[str], *, is_sample: bool) -> Value:
    order = {name: place for place, name in enumerate(overview.text_columns)}
    columns = [
        {
            "name": column.name,
            "type": column.type,
            "detected": column.is_detected,
            "blank": column.blank,
            "distinct": column.distinct,
            "order": order.get(column.name, -1),
            "currencies": column.currencies,
        }
        for column in overview.columns
    ]
    notes = notes + [
        _(
            "The column {name} has amounts in several currencies ({currencies}), so they are not read as numbers. "
            "To compare them, convert them to one currency.",
            name=repr(column.name),
            currencies=", ".join(column.currencies),
        )
        for column in overview.columns
        if column.currencies
    ]
    value = {
        "name": overview.name,
        "ours": is_sample,
        "facts": numbers,
        "notes": notes,
        "types": list(COLUMN_TYPES),
        "columns": columns,
        "rows": [[cell if len(cell) <= _MAX_CELL else cell[: _MAX_CELL - 1] + "…" for cell in row] for row in overview.head],
        "previews": list(overview.previews),
        "uses": [_use_value(use) for use in overview.uses],
    }
    return to_plain(value)  # type: ignore[no-any-return]


def _use_value(use: DataUse) -> Value:
    return {"title": _PURPOSES[use.purpose], "ok": use.is_possible, "text": use.text}


def open_dialog(page: Page, header: Header) -> ReviewView:
    """Show the selected data."""
    key, selected = page.corpora.current(header.corpus, header.owner)
    shown = review(page, selected, header.model, is_current=True)
    return replace(shown, pending=key)


def add_file(page: Page, file: str | list[str] | None, header: Header, progress: gr.Progress | None = None) -> ReviewView | None:
    """Read a table or documents; several files are documents and are stored as one archive."""
    paths = [Path(one) for one in ([file] if isinstance(file, str) else file or [])]
    if not paths:
        return None
    path = paths[0] if len(paths) == 1 else page.downloads.path(f"{paths[0].stem} and {len(paths) - 1} more.zip")
    if len(paths) > 1:
        with zipfile.ZipFile(path, "w") as archive:
            for number, one in enumerate(paths):  # names may occur twice
                archive.write(one, one.name if one.name not in archive.namelist() else f"{one.stem} {number}{one.suffix}")
    read = page.corpora.read(path, progress=progress_callback(progress, "Reading"))
    return review(page, read, header.model, file=UNCHANGED)


def add_sample(page: Page, header: Header, selection: Selection) -> ReviewView:
    key = page.corpora.open(header.owner, f"{SAMPLE}{selection.item}")
    return review(page, page.corpora.get(key), header.model)


def add_hub_set(page: Page, address: str | None, header: Header, progress: gr.Progress | None = None) -> ReviewView:
    """Read a dataset of the Hugging Face Hub by its id or address, with the visitor's rights."""
    from ..data.loading.hub import hub_address

    if not (address or "").strip():
        raise StudioError("there is no dataset to read", "enter its name, OWNER/NAME, or the address of its page on huggingface.co")
    table = page.studio.data.read_table(hub_address(str(address)), progress=progress_callback(progress, "Downloading"))
    path = page.downloads.path(f"{re.sub(r'[^A-Za-z0-9.-]+', ' ', table.name).strip()}.parquet".replace(".parquet.parquet", ".parquet"))
    table.to_parquet(path)
    return review(page, page.corpora.read(path), header.model)


def add_pasted(page: Page, pasted: str | None, header: Header) -> ReviewView:
    """Read pasted texts, one per line, or cells copied from a spreadsheet."""
    text = (pasted or "").strip()
    if not text:
        raise StudioError("there is nothing to add", "paste texts, one per line, or cells of a spreadsheet")
    if len(text) > _MAX_PASTED:
        raise StudioError("this is too much text to paste", "upload it as a file")
    path = page.downloads.path(f"pasted.{pasted_format(text)}")
    path.write_text(text + "\n", encoding="utf-8", errors="replace")
    return review(page, page.corpora.read(path), header.model)


def pasted_format(text: str) -> str:
    """Return the suffix of the format of pasted text: a table if each of its first lines has as many delimiters, otherwise plain text."""
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    for delimiter, suffix in _DELIMITERS.items():
        numbers = {line.count(delimiter) for line in lines}
        if len(lines) > 1 and len(numbers) == 1 and numbers != {0}:
            return suffix
    return "txt"


def change_data(page: Page, pending: str | None, header: Header, selection: Selection) -> ReviewView:
    """Change the type of a column, the columns of the texts or their unit, as clicked in the dialog."""
    corpus = page.corpora.get(pending)
    table = page.corpora.table(corpus.path, corpus.corpus.name)
    columns, types = corpus.text_columns or (corpus.column,), dict(corpus.corpus.types)
    item = selection.item if isinstance(selection.item, Mapping) else {}
    unit = None
    if selection.action == "unit" and item.get("unit") in UNITS:
        unit = str(item["unit"])
    elif selection.action == "type":
        name, kind = str(item.get("name")), check_type(item.get("type"))
        table.require(name)
        types[name] = kind
        columns = _with_type(columns, name, kind)
    elif selection.action == "columns":
        sent = item.get("columns")
        columns = tuple(dict.fromkeys(name for name in sent if isinstance(name, str))) if isinstance(sent, list) else ()
        types = {name: kind for name, kind in types.items() if name not in columns or kind == "text"}
    if not columns:
        raise StudioError("no column of texts is selected", "choose at least one")
    table.require(*columns)
    is_current = header.corpus is not None and header.corpus in page.corpora and page.corpora.get(header.corpus).id == corpus.id != ""
    return review(page, page.corpora.read_again(corpus, columns, types, unit), header.model, is_current=is_current)


def _with_type(columns: tuple[str, ...], name: str, kind: ColumnType) -> tuple[str, ...]:
    """Return the text columns once a column has another type: only texts are searched, unless it is the only one."""
    left = tuple(column for column in columns if column != name)
    return columns if kind == "text" or not left else left


def use_data(page: Page, pending: str | None, header: Header) -> UsedData:
    """Select the data of the dialog in all tabs."""
    corpus = page.corpora.get(pending)
    if pending == header.corpus:
        return UsedData(OpenedCorpus())
    return UsedData(page.fit_corpus(page.corpora.keep(header.owner, corpus), header))


def remove_data(page: Page, header: Header, language: str) -> UsedData:
    key, _ = page.corpora.current(header.corpus, header.owner)
    return UsedData(page.fit_corpus(delete_file(page, key, header.owner, language), header))


def follow_data(page: Page, corpus: str | None, data: str) -> str | Unchanged:
    """Return the key of the selected data if it is other data than before, and not only the same with edits of its map."""
    now = page.corpora.selected(corpus).data_key
    return UNCHANGED if now == (data or page.corpora.sample().data_key) else now


def or_cleared(add: Callable[P, ReviewView | None]) -> Callable[P, ReviewView | None]:
    """Clear the dialog where ``add`` fails or is cancelled: other data, read before, would look like that of the new file."""

    @functools.wraps(add)
    def call(*args: P.args, **named: P.kwargs) -> ReviewView | None:
        try:
            return add(*args, **named)
        except StoppedError:
            notify_info("Cancelled; nothing was changed.", duration=4, title="Stopped")
        except StudioError as error:
            warn(error)
        return ReviewView(None, None, props(visible=False), props(visible=False))

    return call


def draw_button() -> gr.Button:
    return gr.Button("Add data", size="sm", elem_id="data-open", elem_classes=["sb-add-data"], scale=0, min_width=90)


def build(page: Page, button: gr.Button) -> None:
    """Draw the dialog and connect its events."""
    from ..data.samples import list_samples

    with gr.Column(elem_id=DIALOG, elem_classes=["sb-drawer", "sb-data-dialog"]):
        view("dialoghead", {"title": "Your data", "dialog": DIALOG})
        with gr.Tabs(elem_classes=["sb-subtabs"], overflow_behavior="wrap"):
            with gr.Tab("Upload", id="upload"):
                file = upload(_FORMATS, "data-file", CORPUS_TYPES, many=True)
            with gr.Tab("Samples", id="sample"):
                samples = sample_picker(list_samples(), "data", "Samples")
            with gr.Tab("Hub dataset", id="hub"):
                address = gr.Textbox(
                    label="Hugging Face dataset",
                    placeholder="OWNER/NAME",
                    info="A public dataset with Parquet files; add a file after its name to choose one.",
                    max_lines=1,
                    elem_id="data-hub",
                )
                fetch = gr.Button("Read", elem_id="data-hub-go")
            with gr.Tab("Paste", id="paste"):
                pasted = gr.Textbox(label="Texts, one per line, or cells of a spreadsheet", lines=5, max_lines=12, elem_id="data-pasted")
                paste = gr.Button("Read", elem_id="data-paste-go")
        cancel_button(_TASK)
        shown = view("dataset", elem_id="data-review")
        with gr.Row(elem_classes=["sb-buttons"]):
            use = gr.Button("Use this data", variant="primary", visible=False, elem_id="data-use")
            remove = gr.Button("Remove this file", variant="stop", visible=False, elem_id="data-remove")
    panel = Panel(
        page, pending=gr.State(None), review=shown, use=use, remove=remove, file=file, address=address, pasted=pasted, samples=samples
    )
    button.click(None, js=f"() => SB.drawer('{DIALOG}', true)")
    panel.on(button.click, open_dialog, progress_on="review")
    panel.on(file.upload, or_cleared(add_file), task=_TASK, progress_on="review")
    panel.on(samples.select, or_cleared(add_sample), each=True, progress_on="review")
    panel.on([fetch.click, address.submit], or_cleared(add_hub_set), task=_TASK, progress_on="review")
    panel.on(paste.click, or_cleared(add_pasted), progress_on="review")
    panel.on(shown.select, change_data, each=True, progress_on="review", concurrency_limit=1, concurrency_id="data-review")
    panel.on(use.click, use_data, ends_chain=True, quiet=True).success(None, js=_CLOSE)
    panel.on(remove.click, remove_data, ends_chain=True, quiet=True).success(None, js=_CLOSE)
    panel.on(page.corpus.change, follow_data, output="data", quiet=True)
