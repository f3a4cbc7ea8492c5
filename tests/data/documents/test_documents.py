"""Files of every format become documents; what cannot be read is skipped with its reason, and nothing outside is read."""

from __future__ import annotations

import json
import struct
import time
import zipfile
from pathlib import Path

import pytest
from data.documents.files import write_docx, write_pdf, write_zip

from sbert_studio.data.documents.document import Document, Section
from sbert_studio.data.documents.loading import DocumentLimits, is_document_source, load_documents
from sbert_studio.data.documents.reader import DocumentReader
from sbert_studio.data.documents.sections import ExtractionError
from sbert_studio.errors import StudioError

MARKDOWN = """---
title: "My page"
---
# Head

Intro *text* and `code`
on two lines, [a link](http://x.org).

## Sub

- one
- two

```py
x = 1
  y = 2
```

| a | b |
|---|---|
| 1 | 2 |

<!-- a comment -->
Sub 2
-----
end
"""
HTML = """<html><head><title>T - site</title><style>p{}</style></head><body><nav>menu <a href=x>menu</a></nav>
<h1>Guide</h1><p>Hello <b>bo</b>ld&nbsp;world.<script>x()</script><p hidden>no</p><h2>Part</h2><ul><li>one</li><li>two</li></ul>
<table><tr><th>a</th><td><p>b</p><p>c</p></td></tr></table><pre>x = 1
  y</pre><footer>(c)</footer></body></html>"""


LONG = " ".join(f"This is sentence number {n} of a long guide, which says something." for n in range(60))
PAGE = f"""<html><head><title>Site</title></head><body><div class="sidebar"><a href="1">Home</a> <a href="2">Contact us</a></div>
<div class="content"><h1>Guide</h1><p>{LONG}</p><h2>Steps</h2><ol><li>Open it.</li></ol><table><tr><td>a</td><td>b</td></tr></table></div>
<div id="comments"><p>Nice post!</p></div></body></html>"""


def sections(document: Document) -> list[tuple[tuple[str, ...], str]]:
    return [(section.heading_path, section.text) for section in document.sections]


def write_files(folder: Path) -> Path:
    (folder / "a.md").write_text(MARKDOWN, encoding="utf-8")
    (folder / "b.html").write_text(HTML, encoding="utf-8")
    (folder / "f.html").write_text(PAGE, encoding="utf-16")
    (folder / "sub").mkdir()
    (folder / "sub" / "c.txt").write_bytes("Größe und Übermut.\r\n\r\n\r\nÄrger über die Straße müssen wir überlegen.".encode("cp1252"))
    write_docx(folder / "d.docx")
    words = ("one", "two", "three", "four", "five", "six")
    lines = [
        ["Annual report", f"{word} is an exam-", f"ple of {word}.", "", f"{word} more", f"Page {page}"] for page, word in enumerate(words)
    ]
    write_pdf(folder / "e.pdf", lines, bookmarks={"Intro": 0, "Results": 4})
    return folder


@pytest.mark.process
def test_every_format_becomes_sections_below_headings(tmp_path: Path) -> None:
    found = load_documents(write_files(tmp_path))
    by_id = {document.id: document for document in found.documents}
    assert list(by_id) == ["a.md", "b.html", "d.docx", "e.pdf", "f.html", "sub/c.txt"] and found.notes() == []
    assert [document.title for document in found.documents] == ["My page", "Guide", "Staff handbook", "e", "Guide", "c"]
    assert sections(by_id["a.md"]) == [
        (("Head",), "Intro text and code on two lines, a link."),
        (("Head", "Sub"), "one\n\ntwo\n\nx = 1\n  y = 2\n\na | b\n\n1 | 2"),
        (("Head", "Sub 2"), "end"),
    ]
    assert sections(by_id["b.html"]) == [
        (("Guide",), "Hello bold world."),
        (("Guide", "Part"), "one\n\ntwo\n\na | b c\n\nx = 1\n  y"),
    ]
    assert sections(by_id["d.docx"])[1:] == [
        (("Staff handbook", "Leave"), "You have thirty days.\n\nDays | 30"),
        (("Staff handbook", "Leave", "Sick leave"), "Call your manager."),
    ]
    pdf = by_id["e.pdf"].sections
    assert pdf[4] == Section(("Results",), "five is an example of five. five more", 5) and pdf[3].heading_path == ("Intro",)
    assert sections(by_id["f.html"]) == [(("Guide",), LONG), (("Guide", "Steps"), "Open it.\n\na | b")]
    assert sections(by_id["sub/c.txt"]) == [((), "Größe und Übermut.\n\nÄrger über die Straße müssen wir überlegen.")]
    document = by_id["a.md"]
    assert [document.text[start:][:3] for start in document.starts] == ["Int", "one", "end"]


@pytest.mark.process
def test_files_that_cannot_be_read_are_skipped_with_their_reason(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("A secret.", encoding="utf-8")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "good.txt").write_text("A good text.", encoding="utf-8")
    (folder / "link.txt").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "empty.txt").touch()
    (folder / "blank.md").write_text("---\ntitle: x\n---\n", encoding="utf-8")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 7)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".hidden.txt").write_text("no", encoding="utf-8")
    (folder / "large.txt").write_text("x" * 2000, encoding="utf-8")
    (folder / "old.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    write_pdf(folder / "locked.pdf", [["secret"]], password="x")
    write_pdf(folder / "scanned.pdf", [[], []])
    write_pdf(folder / "partly.pdf", [["Read me."], []])
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.4 nonsense")
    write_zip(folder / "bomb.docx", {"word/document.xml": b"0" * (1 << 21)})
    (folder / "numbers.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    write_zip(folder / "inner.zip", {"a.txt": "no"})
    found = load_documents(folder, limits=DocumentLimits(file_bytes=1999))
    assert [document.id for document in found.documents] == ["good.txt", "partly.pdf"] and found.scanned_pages == {"partly.pdf": 1}
    reasons = {file.source: file.reason for file in found.skipped}
    assert reasons == {
        "link.txt": "link", "loop": "link", "empty.txt": "empty", "blank.md": "empty", "binary.txt": "binary", "picture.png": "unsupported",
        ".hidden.txt": "hidden", "large.txt": "too_large", "old.docx": "encrypted", "locked.pdf": "encrypted", "scanned.pdf": "scanned",
        "damaged.pdf": "damaged", "bomb.docx": "too_large", "numbers.csv": "table", "inner.zip": "archive",
    }  # fmt: skip
    assert "2 files skipped (a symbolic link or a special file): link.txt, loop. Add the file that it points to." in found.notes()
    assert "1 page without a text layer was skipped: partly.pdf" in "\n".join(found.notes())
    with pytest.raises(StudioError, match="no document") as failed:
        load_documents(folder / "scanned.pdf")
    assert "OCRmyPDF" in failed.value.hint


@pytest.mark.process
def test_archives_are_read_member_by_member_and_never_outside(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        for name in ("docs/b.md", "../up.txt", "/root.txt", "C:\\x.txt", "__MACOSX/._b.md", "a\\win.txt"):
            archive.writestr(name, f"Text of {name}.")
        archive.writestr("bomb.txt", b"0 " * (1 << 20))
        archive.writestr("gbk/文件.txt", "这是一个文件。".encode("gb18030") * 9)
    found = load_documents(path, limits=DocumentLimits(file_bytes=1 << 20))
    assert [document.id for document in found.documents] == ["a/win.txt", "docs/b.md", "gbk/文件.txt"]
    assert found.documents[2].text.startswith("这是一个文件。")
    assert {file.source: file.reason for file in found.skipped} == {
        "link.txt": "link", "../up.txt": "unsafe", "/root.txt": "unsafe", "C:/x.txt": "unsafe",
        "__MACOSX/._b.md": "hidden", "bomb.txt": "too_large",
    }  # fmt: skip
    lying = path.read_bytes().replace((1 << 21).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    path.write_bytes(lying)
    assert {file.source: file.reason for file in load_documents(path).skipped}["bomb.txt"] == "damaged"
    path.write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(StudioError, match="no document"):
        load_documents(path)
    path = tmp_path / "f.zip"
    path.write_bytes(b"PK\x03\x04" + b"x" * 100 + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 60, 10, 0))
    assert not is_document_source(path)


def test_tables_and_beir_folders_have_a_document_in_each_row(tmp_path: Path) -> None:
    rows = [{"_id": f"d{n}", "title": f"Title {n}", "text": f"Some text with number {n}."} for n in range(3)]
    lines = [json.dumps(row) for row in (*rows, {"_id": "d9", "title": "No text", "text": ""})]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "a query"}', encoding="utf-8")
    (tmp_path / "t.csv").write_text(
        "id,Title,body\n" + "".join(f"k{n},Name {n},A longer text {n} here\n" for n in range(3)), encoding="utf-8"
    )
    firsts = {".": ("d0", "Title 0", "Some text with number 0."), "t.csv": ("k0", "Name 0", "A longer text 0 here")}
    for name, first in firsts.items():
        found = load_documents(tmp_path / name)
        assert len(found) == 3 and (found.documents[0].id, found.documents[0].title, found.documents[0].text) == first
    found = load_documents(tmp_path)
    assert found.blank_rows == 1 and [(file.source, file.reason) for file in found.skipped] == [("t.csv", "beside_corpus")]
    assert len(load_documents([tmp_path / "t.csv", tmp_path / "corpus.jsonl"])) == 6
    damaged = [lines[0], "{damaged", "[" * 5_000, "3", *lines[1:]]
    (tmp_path / "corpus.jsonl").write_text("\n".join(damaged), encoding="utf-8")
    found = load_documents(tmp_path)
    assert found.notes()[-1] == "4 rows without text were skipped.", "a damaged row does not end the file"
    ids = [document.id for document in load_documents(str(tmp_path / "*.jsonl")).documents]
    assert ids == ["d0", "d1", "d2", "q"]
    paths = {tmp_path: True, tmp_path / "t.csv": False, "x.pdf": True, "x.txt": False, "y/*.md": True}
    assert {path: is_document_source(path) for path in paths} == paths


@pytest.mark.parametrize("first", ["", '{"_id": "a", "text": "some words"}\n'], ids=["first row", "later row"])
def test_a_row_that_is_nested_too_deeply_is_skipped_and_alone_an_unreadable_table(tmp_path: Path, first: str) -> None:
    (tmp_path / "deep.jsonl").write_text(f'{first}{{"text": {"[" * 60_000}\n')
    (tmp_path / "notes.csv").write_text("text\nsome other words\nand some more\n")
    found = load_documents(tmp_path)
    assert ([file.reason for file in found.skipped], found.blank_rows) == (([], 1) if first else (["table"], 0))


def test_equal_ids_are_numbered_in_linear_time(tmp_path: Path) -> None:
    rows = [{"_id": "x (3)", "text": "one"}, *({"_id": "x", "text": f"text {row}"} for row in range(20_000))]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    began = time.process_time()
    ids = [document.id for document in load_documents(tmp_path).documents]
    assert time.process_time() - began < 5
    assert ids[:5] == ["x (3)", "x", "x (2)", "x (4)", "x (5)"] and len(set(ids)) == len(rows)


@pytest.mark.process
def test_files_that_disappear_while_a_folder_is_read_are_listed(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.md").write_text(f"Text {number}.", encoding="utf-8")

    def delete_one(done: int, _total: int) -> None:
        if done == 2:
            (tmp_path / "4.md").unlink()

    found = load_documents(tmp_path, progress=delete_one)
    assert [document.source for document in found.documents] == ["0.md", "1.md", "2.md", "3.md", "5.md"]
    assert [(one.source, one.reason) for one in found.skipped] == [("4.md", "gone")]


@pytest.mark.process
def test_a_reader_survives_files_that_take_too_much(tmp_path: Path) -> None:
    good, slow, huge, deep = (tmp_path / name for name in ("good.txt", "slow.md", "huge.txt", "deep.html"))
    good.write_text("Good.", encoding="utf-8")
    slow.write_bytes(b"a *b* c\n\n" * 500_000)
    huge.write_bytes(b"text " * 12_000_000)
    deep.write_text("<div>" * 200_000 + "<p>deep", encoding="utf-8")
    for path, reason, seconds, mebibytes in ((slow, "too_slow", 3, 4096), (huge, "memory", 60, 200), (deep, "empty", 60, 200)):
        with DocumentReader(seconds, mebibytes << 20) as reader:
            with pytest.raises(ExtractionError, match=reason):
                reader.read(path, path.suffix)
            assert reader.read(good, ".txt").sections == [([], "Good.", 0)]
