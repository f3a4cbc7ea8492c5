"""The dialog that adds data, and what follows from choosing other data, without a browser."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import HubServer, Repository, hub_server

from sbert_studio.errors import StudioError
from sbert_studio.progress import StoppedError
from sbert_studio.ui import corpora, data_dialog
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.state import Header
from sbert_studio.ui.tabs.fine_tune import handlers as fine_tune
from sbert_studio.ui.tabs.map import handlers as map_handlers
from sbert_studio.ui.tabs.map.view_model import MapSettings
from sbert_studio.ui.views import UNCHANGED

ROWS = [
    {
        "id": f"T-{row:03d}",
        "title": f"Lamp {row} is broken",
        "body": f"The lamp number {row} in my kitchen does not work.",
        "stars": str(row % 5),
    }
    for row in range(40)
]


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    path = tmp_path / "tickets.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)
    return path


def add(page: Page, path: Path) -> data_dialog.ReviewView:
    found = data_dialog.add_file(page, str(path), Header())
    assert found is not None and found.review is not None
    return found


def change(page: Page, shown: data_dialog.ReviewView, action: str, **item: object) -> data_dialog.ReviewView:
    return data_dialog.change_data(page, shown.pending, Header(), Selection(action, item))


def test_a_file_is_shown_before_it_is_used(page: Page, tickets: Path) -> None:
    shown = add(page, tickets)
    assert shown.review is not None and page.corpora.choices(None)[0][0] != "tickets.csv"
    types = {column["name"]: column["type"] for column in shown.review["columns"]}
    assert types == {"id": "id", "title": "text", "body": "text", "stars": "number"}
    assert [column["order"] for column in shown.review["columns"]] == [-1, -1, 0, -1], "a title stands for a longer text beside it"
    assert [use["title"] for use in shown.review["uses"]] == ["Search and Map", "Fine-tune", "Evaluate"]
    used = data_dialog.use_data(page, shown.pending, Header())
    assert page.corpora.get(str(used.chosen.corpus)).corpus.texts == tuple(row["body"] for row in ROWS)
    assert page.corpora.choices(None)[0][0] == "tickets.csv"


def test_a_column_of_several_currencies_says_why_it_is_no_number(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(
        "text,price\n" + "".join(f"a lamp that broke on day {row},{'$' if row % 3 else '€'}{row}\n" for row in range(1, 40)),
        encoding="utf-8",
    )
    shown = add(page, path).review
    assert shown is not None and [column["currencies"] for column in shown["columns"]] == [[], ["$", "€"]]
    assert len([note for note in shown["notes"] if "price" in note and "$, €" in note]) == 1


def test_data_read_before_is_not_offered_for_a_file_that_cannot_be_read(page: Page, tickets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert add(page, tickets).pending is not None
    told: list[str] = []
    monkeypatch.setattr("gradio.Warning", lambda message, **_: told.append(message))
    monkeypatch.setattr("gradio.Info", lambda message, **_: told.append(message))
    empty = tickets.with_name("empty.csv")
    empty.touch()

    def cancelled(*_: object) -> None:
        raise StoppedError

    reads = ((data_dialog.add_file, str(empty)), (data_dialog.add_hub_set, None), (data_dialog.add_pasted, None), (cancelled, None))
    for read, given in reads:
        shown = data_dialog.or_cleared(read)(page, given, Header())
        assert shown is not None and (shown.pending, shown.review) == (None, None)
        assert isinstance(shown.use, dict) and isinstance(shown.remove, dict) and not shown.use["visible"] and not shown.remove["visible"]
    assert "empty.csv is empty" in told[0] and len(told) == 4


@pytest.mark.process
def test_documents_are_added_as_passages_and_several_files_as_one_archive(page: Page, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.md").write_text(f"# Note {name}\n\nA cat sat on the mat of {name}.\n", encoding="utf-8")
    (tmp_path / "broken.pdf").write_bytes(b"nothing")
    files = [str(tmp_path / name) for name in ("a/note.md", "b/note.md", "broken.pdf")]
    shown = data_dialog.add_file(page, files, Header())
    assert shown is not None and shown.review is not None
    assert [use["ok"] for use in shown.review["uses"]] == [True, True, True]
    assert any("broken.pdf" in note for note in shown.review["notes"]) and "2 passages of 2 documents" in shown.review["notes"][0]
    assert [list(fact) for fact in shown.review["facts"]] == [["Documents", "2"], ["Passages", "2"]], "they have no rows"
    used = data_dialog.use_data(page, shown.pending, Header())
    corpus = page.corpora.get(str(used.chosen.corpus)).corpus
    assert sorted(corpus.texts) == [f"Note {name}\nA cat sat on the mat of {name}." for name in "ab"] and len(corpus.places) == 2
    stored = page.corpora.open(None, page.corpora.choices(None)[0][1])
    assert page.corpora.get(stored).corpus.texts == corpus.texts
    training = fine_tune.show_data(page, None, str(used.chosen.corpus), None, None, None, "")
    assert training is not None and training.file.view.draft is None
    start = training.file.view.plan.start
    assert isinstance(start, dict) and start["variant"] == "secondary", "Make pairs is the button to press"


def edit_map(page: Page, corpus: str, label: str) -> str:
    """Label the first text on the map; return the key of the corpus."""
    key, there = map_handlers.draw(page, corpus, None, None, MapSettings())
    action = map_handlers.edit(page, there, key, None, {"do": "label", "rows": [0], "name": label, "key": there})
    return str(action.corpus)


@pytest.mark.process
def test_documents_can_be_whole_and_stay_so(page: Page, tmp_path: Path) -> None:
    for name in "abcdef":
        (tmp_path / f"{name}.md").write_text(f"# Note {name}\n\n" + f"A cat sat on the mat of {name}. " * 200)
    shown = data_dialog.add_file(page, [str(tmp_path / f"{name}.md") for name in "abcdef"], Header())
    assert shown is not None and shown.review is not None and shown.review["unit"] == "passages"
    passages = page.corpora.get(shown.pending)
    whole = change(page, shown, "unit", unit="documents")
    assert whole.review is not None and whole.review["unit"] == "documents"
    used = data_dialog.use_data(page, whole.pending, Header()).chosen.corpus
    corpus = page.corpora.get(str(used))
    assert len(corpus.corpus) == 6 < len(passages.corpus) and corpus.corpus.fields["passages"] == (str(len(passages.corpus) // 6),) * 6
    assert corpus.passages == passages.corpus and corpus.data_key != passages.data_key
    again = page.corpora.get(page.corpora.open(None, corpus.id))
    assert again.corpus.texts == corpus.corpus.texts and again.data_key == corpus.data_key
    labelled = edit_map(page, str(used), "whole")
    back = change(page, data_dialog.open_dialog(page, Header(labelled)), "unit", unit="passages")
    parts = data_dialog.use_data(page, back.pending, Header()).chosen.corpus
    assert len(page.corpora.get(str(parts)).corpus) == len(passages.corpus) and page.corpora.get(str(parts)).labels == ""
    edit_map(page, str(parts), "part")
    for unit, label in (("documents", "whole"), ("passages", "part")):
        again = change(page, data_dialog.open_dialog(page, Header(str(parts))), "unit", unit=unit)
        parts = data_dialog.use_data(page, again.pending, Header()).chosen.corpus
        found = page.corpora.get(str(parts))
        assert found.corpus.fields[found.labels][0] == label, "each has its own map"


def test_columns_are_combined_in_the_order_in_which_they_are_chosen(page: Page, tickets: Path) -> None:
    shown = change(page, add(page, tickets), "columns", columns=["title", "body"])
    assert shown.review is not None
    assert shown.review["previews"][0] == f"{ROWS[0]['title']}\n{ROWS[0]['body']}"
    used = data_dialog.use_data(page, shown.pending, Header())
    corpus = page.corpora.get(str(used.chosen.corpus))
    assert corpus.text_columns == ("title", "body") and corpus.column == "title + body"
    assert corpus.corpus.texts == tuple(f"{row['title']}\n{row['body']}" for row in ROWS)
    assert set(corpus.corpus.fields) == set(ROWS[0])
    again = page.corpora.get(page.corpora.open(None, corpus.id))
    assert again.corpus.texts == corpus.corpus.texts, "stored with the file"


def test_a_type_can_be_changed_and_is_stored(page: Page, tickets: Path) -> None:
    shown = change(page, add(page, tickets), "type", name="stars", type="category")
    assert shown.review is not None
    (stars,) = (column for column in shown.review["columns"] if column["name"] == "stars")
    assert (stars["type"], stars["detected"]) == ("category", False)
    corpus = page.corpora.get(str(data_dialog.use_data(page, shown.pending, Header()).chosen.corpus))
    assert page.corpora.get(page.corpora.open(None, corpus.id)).corpus.types == {"stars": "category"}
    for action, item in (
        ("type", {"name": "stars", "type": "colour"}),
        ("type", {"name": "no", "type": "text"}),
        ("columns", {"columns": []}),
    ):
        with pytest.raises(StudioError):
            change(page, shown, action, **item)


def test_data_changes_with_the_file_and_its_columns_but_not_with_the_same_key(page: Page, tickets: Path) -> None:
    key = corpora.open_file(page, str(tickets))
    first = data_dialog.follow_data(page, key, "")
    assert isinstance(first, str) and data_dialog.follow_data(page, key, first) is UNCHANGED
    assert data_dialog.follow_data(page, page.corpora.put(page.corpora.sample()), "") is UNCHANGED, "the page opens with this sample"
    other = data_dialog.follow_data(page, corpora.open_column(page, key, "title"), first)
    assert isinstance(other, str) and other != first


@pytest.mark.parametrize(
    ("text", "suffix"),
    [("one text\nanother, longer text", "txt"), ("a\tb\n1\t2\n", "tsv"), ("a,b\nx,y\n", "csv"), ("a;b\nx;y\n", "csv"), ("one, two", "txt")],
)
def test_pasted_text_is_a_table_where_all_lines_have_as_many_cells(text: str, suffix: str) -> None:
    assert data_dialog.pasted_format(text) == suffix


def test_pasted_lines_and_samples_are_data(page: Page) -> None:
    lines = ["My card was swallowed by the machine.", "The parcel has not arrived yet.", "How do I reset my password?"]
    shown = data_dialog.add_pasted(page, "\n".join(lines), Header())
    assert page.corpora.get(shown.pending).corpus.texts == tuple(lines)
    with pytest.raises(StudioError):
        data_dialog.add_pasted(page, "  \n", Header())
    shown = data_dialog.add_sample(page, Header(), Selection("sample", "scored_pairs"))
    assert shown.review is not None
    assert all(use["ok"] for use in shown.review["uses"]) and "pairs with a score" in str(shown.review["uses"][1]["text"])
    sentences = data_dialog.add_sample(page, Header(), Selection("sample", "questions")).review
    assert sentences is not None and [use["ok"] for use in sentences["uses"]] == [True, True, False]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A hub on this machine, with datasets of one file, of several, of none that can be read, and one behind a license."""
    table = pa.table({"title": [str(row["title"]) for row in ROWS], "body": [str(row["body"]) for row in ROWS]})
    for name, files in {"one": ["data/test.parquet", "data/train.parquet"], "several": ["de/test.parquet", "en/test.parquet"]}.items():
        for file in files:
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/README.md").write_text("Nothing that can be read.")
    monkeypatch.setenv("HF_TOKEN", "")
    with hub_server(monkeypatch) as server:
        server.datasets = {f"all/{name}": Repository(tmp_path / name) for name in ("one", "several", "plain")}
        server.datasets["all/licensed"] = Repository(tmp_path / "one", readers=("hf_of_somebody",), gated=True)
        server.datasets["all/huge"] = Repository(tmp_path / "plain", said={"data/test.parquet": 1 << 40})
        yield server


def test_a_dataset_of_the_hub_is_shown_and_used(page: Page, hub: HubServer) -> None:
    shown = data_dialog.add_hub_set(page, "https://huggingface.co/datasets/all/one/viewer", Header())
    assert shown.review is not None and "test.parquet" in shown.review["name"]
    assert [column["name"] for column in shown.review["columns"]] == ["title", "body"]
    used = data_dialog.use_data(page, shown.pending, Header())
    assert page.corpora.get(str(used.chosen.corpus)).corpus.texts == tuple(row["body"] for row in ROWS)
    named = data_dialog.add_hub_set(page, "all/several/en/test.parquet", Header())
    assert named.review is not None and "en test.parquet" in named.review["name"]


@pytest.mark.parametrize(
    ("address", "message", "hint"),
    [
        ("all/several", "de/test.parquet, en/test.parquet", "hf://datasets/all/several/de/test.parquet"),
        ("all/plain", "no Parquet file", "download it"), ("all/none", "no public dataset 'all/none'", "spelling"),
        ("all/one/other.parquet", "no file 'other.parquet'", "spelling"), ("all/licensed", "license", "huggingface.co"),
        ("all/huge", "exceeds the maximum", "smaller file"), ("a dataset about cats", "not the address", "OWNER/NAME"),
        ("  ", "no dataset", "OWNER/NAME"),
    ],
)  # fmt: skip
def test_a_dataset_that_cannot_be_read_says_what_to_do(page: Page, hub: HubServer, address: str, message: str, hint: str) -> None:
    with pytest.raises(StudioError, match=message) as caught:
        data_dialog.add_hub_set(page, address, Header())
    assert hint in str(caught.value.hint)


def test_without_the_internet_the_hub_is_named_as_the_reason(page: Page, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(StudioError, match="cannot be reached") as caught:
        data_dialog.add_hub_set(page, "all/one", Header())
    assert "go online" in str(caught.value.hint)
