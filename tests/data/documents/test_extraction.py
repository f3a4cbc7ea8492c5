"""No text of a file is lost silently, in any format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from data.documents.files import write_pdf, write_zip

from sbert_studio.data.documents.document import Documents
from sbert_studio.data.documents.extraction import extract
from sbert_studio.data.documents.loading import load_documents
from sbert_studio.data.documents.pdf import remove_running_lines
from sbert_studio.data.documents.sections import Extracted, ExtractionError

LONG = " ".join(f"word{n}" for n in range(80))


def read(tmp_path: Path, name: str, content: str) -> Extracted:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    return extract(path, path.suffix)


def pairs(found: Extracted) -> list[tuple[list[str], str]]:
    return [(headings, text) for headings, text, _ in found.sections]


def body_text(found: Extracted) -> str:
    return "\n".join(text for _, text, _ in found.sections)


@pytest.mark.parametrize(
    ("above", "is_yaml"),
    [
        ("The first paragraph.\n", False),
        ("See: https://x.org\nand more of it.\n", False),
        ("# A comment\n- an item\n", False),
        ("title: X\ntags:\n- one\n  more\n\n# comment\n'last-mod': 2020\n", True),
        ("title: X\r\ndescription: All of it\r\n", True),
        ("summary: |\n  title: X\ntitle: X\n", True),
    ],
)
def test_only_yaml_is_front_matter(tmp_path: Path, above: str, is_yaml: bool) -> None:
    found = read(tmp_path, "a.md", f"---\n{above}\n---\n\nSecond part.\n")
    assert found.title == ("X" if is_yaml else found.title)
    text = str(found.sections)
    assert "Second part." in text and all((word in text) != is_yaml for word in above.replace("#", "").split()[:1])


def test_a_title_over_several_lines_is_not_read(tmp_path: Path) -> None:
    assert read(tmp_path, "a.md", "---\ntitle: >-\n  A long title\n---\n\n# Heading\n\ntext\n").title == "Heading"


def test_a_long_heading_is_a_paragraph(tmp_path: Path) -> None:
    assert pairs(read(tmp_path, "a.md", f"# T\n\n{LONG} end.\n---\n\nAnother.\n")) == [(["T"], f"{LONG} end.\n\nAnother.")]
    assert pairs(read(tmp_path, "a.html", f"<h1>T</h1><h2>{LONG}</h2><p>Another.</p>")) == [(["T"], f"{LONG}\n\nAnother.")]
    assert read(tmp_path, "b.html", f"<title>{LONG}</title><p>x</p>").title.endswith("…")


def test_headings_without_text_below_are_text(tmp_path: Path) -> None:
    found = read(tmp_path, "a.md", "# T\n\n## Refunds take 14 days\n\n## Contact\n\ncall us\n\n# End\n\n## Deep\n")
    assert pairs(found) == [(["T"], "Refunds take 14 days"), (["T", "Contact"], "call us"), (["End"], "Deep")]
    assert pairs(read(tmp_path, "b.md", "# One\n\n# Two\n")) == [([], "One"), ([], "Two")]
    assert pairs(read(tmp_path, "c.html", "<h1>T</h1><h2><div>Inner</div></h2><h2></h2><p>x</p>")) == [(["T", "Inner"], "x")]
    path = write_pdf(tmp_path / "d.pdf", [["Text."], ["More."], ["End."]], bookmarks={"First": 0, "Second": 1, "Third": 1})
    assert pairs(extract(path, ".pdf")) == [(["First"], "Text."), (["Second"], "More."), (["Third"], "End.")]


def test_footnotes_and_placeholders_of_markdown_are_text(tmp_path: Path) -> None:
    text = "Seen[^1] and[^b].\n\nUse <name> with <your-key><br>or <b>not</b> <Badge>new</Badge>.\n\n"
    text += "[^1]: Smith (2019)\n[^b]: https://x.org/a%20b\n[link]: https://y.org\n"
    assert body_text(read(tmp_path, "a.md", text)) == (
        "Seen^1 and^b.\n\nUse <name> with <your-key> or not new .\n\nSmith 2019\n\nhttps://x.org/a b"
    )


def test_separators_and_entities_keep_words_apart(tmp_path: Path) -> None:
    table = "| a |\n|---|\n| three<br/>four |"
    markdown = f"one<br>two <b>bo</b>ld\n\n{table}\n\n一<br>二\n\n<div>\nMore &amp; more\nif x < 3 and y > 4 then\n</div>\n"
    assert body_text(read(tmp_path, "a.md", markdown)) == (
        "one two bold\n\na\n\nthree four\n\n一 二\n\nMore & more if x < 3 and y > 4 then"
    )
    assert body_text(read(tmp_path, "a.txt", "page one\fpage two\vline\x1ffield")) == "page one\npage two\nline\nfield"
    assert body_text(read(tmp_path, "b.md", "page one\fpage two")) == "page one page two"
    assert body_text(read(tmp_path, "c.html", "<p>一<br>二</p><pre>a<br>b</pre>")) == "一 二\n\na\nb"


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
NAMESPACES = f'{W} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml"'
BOX = "<w:txbxContent><w:p><w:r><w:t>A text box</w:t></w:r></w:p></w:txbxContent>"
BODY = f"""
<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Policy</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Plain </w:t></w:r>
  <w:ins><w:r><w:t>inserted</w:t><w:tab/><w:t>tab</w:t><w:br/><w:t>line</w:t></w:r></w:ins>
  <w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved away</w:t></w:r></w:moveFrom>
  <w:sdt><w:sdtContent><w:r><w:t xml:space="preserve"> inline control</w:t></w:r></w:sdtContent></w:sdt>
  <w:smartTag><w:r><w:t xml:space="preserve"> smart tag</w:t></w:r></w:smartTag>
  <w:r><mc:AlternateContent><mc:Choice Requires="wps">{BOX}</mc:Choice>
  <mc:Fallback><w:pict><v:textbox>{BOX}</v:textbox></w:pict></mc:Fallback>
  </mc:AlternateContent></w:r></w:p>
<w:sdt><w:sdtContent><w:p><w:r><w:t>Block control</w:t></w:r></w:p></w:sdtContent></w:sdt>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc>
  <w:sdt><w:sdtContent><w:tc><w:p/><w:tbl><w:tr><w:tc><w:p><w:r><w:t>nested</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>two</w:t></w:r></w:p></w:tc></w:tr>
  </w:tbl></w:tc></w:sdtContent></w:sdt></w:tr>
  <w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:r><w:t>deleted row</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>{LONG}</w:t></w:r></w:p>"""
NOTES = f"""<w:footnotes {W}><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:t>separator</w:t></w:r></w:p></w:footnote>
<w:footnote w:id="1"><w:p><w:r><w:t>A footnote.</w:t></w:r></w:p></w:footnote></w:footnotes>"""


def write_word(path: Path, body: str, notes: str) -> Path:
    """Write a Word file with a body and footnotes of XML."""
    from docx import Document
    from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part
    from docx.oxml import parse_xml

    document = Document()
    for element in reversed(parse_xml(f"<w:body {NAMESPACES}>{body}</w:body>")):
        document.element.body.insert(0, element)
    name, content_type = PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES
    document.part.relate_to(Part(name, content_type, notes.encode(), document.part.package), RELATIONSHIP_TYPE.FOOTNOTES)
    document.save(str(path))
    return path


def test_all_text_of_word_files_is_read_once(tmp_path: Path) -> None:
    found = extract(write_word(tmp_path / "a.docx", BODY, NOTES), ".docx")
    assert pairs(found) == [
        (["Policy"], f"Plain inserted tab line inline control smart tag\n\nA text box\n\nBlock control\n\ncell | nested | two\n\n{LONG}"),
        ([], "A footnote."),
    ]


def sentences(name: str, count: int) -> str:
    return " ".join(f"Sentence {number} about {name} says something." for number in range(count))


@pytest.mark.parametrize("after", ["<div>{}</div>", "<span>{}</span>", "{}<br>"])
def test_text_that_trafilatura_misses_is_kept(tmp_path: Path, after: str) -> None:
    parts = (
        f"<h2>Section {n}</h2><p>{sentences('prose', 3)}</p><ul><li>item</li></ul>"
        + after.format(f"caption{n} with a few more words of it")
        for n in range(20)
    )
    found = read(tmp_path, "a.html", f"<body><div><h1>API</h1>{''.join(parts)}</div></body>")
    assert all(f"caption{n} " in body_text(found) for n in range(20)) and not found.trimmed


@pytest.mark.parametrize("words", [5, 90])
def test_an_article_is_used_if_it_has_most_of_the_text(tmp_path: Path, words: int) -> None:
    page = f"<body><article><p>{'teaser ' * words}</p></article><a>{'menu ' * 99}</a><div>{'main ' * 40}</div></body>"
    found = read(tmp_path, "a.html", page)
    assert ("main" in body_text(found), found.trimmed) == ((True, False) if words == 5 else (False, True))


def test_main_forms_and_asides(tmp_path: Path) -> None:
    main = read(tmp_path, "a.html", f"<body><main><p>{sentences('x', 9)}</p></main><nav>menu</nav><p>{sentences('y', 1)}</p></body>")
    assert body_text(main) == sentences("x", 9) and main.trimmed
    script = read(tmp_path, "b.html", f"<body><main><script>{'x = 1; ' * 40}</script></main><p>Text.</p></body>")
    assert body_text(script) == "Text."
    chinese = "<p>退款在十四天之内支付给客户。</p>" * 15
    page = "".join(f"<div>菜单{number}</div>" for number in range(20)) + f"<main><h1>退款</h1>{chinese}</main>"
    assert "菜单" not in body_text(read(tmp_path, "e.html", f"<body>{page}</body>"))
    answers = "".join(f"<h2><button>Question {n}?</button></h2><div>Answer {n}.</div><button>Close</button>" for n in range(2))
    assert pairs(read(tmp_path, "f.html", f"<body>{answers}</body>")) == [([f"Question {n}?"], f"Answer {n}.") for n in range(2)]
    form = "<form id=aspnetForm><h1>T</h1><p>In the form.</p><input value=no><textarea>no</textarea><select><option>no</select></form>"
    assert pairs(read(tmp_path, "c.html", f"<body>{form}</body>")) == [(["T"], "In the form.")]
    aside = "<p>a</p><aside>A <a>warning</a> in an aside.</aside><aside>See <a>another page</a></aside><td>cell</td>"
    assert body_text(read(tmp_path, "d.html", f"<body>{aside}</body>")) == "a\n\nA warning in an aside.\n\ncell"


@pytest.mark.process
def test_trimmed_pages_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(f"<main>{sentences('x', 9)}</main><p>{sentences('y', 1)}</p>")
    assert any("1 web page" in note and "a.html" in note for note in load_documents(path).notes())
    assert Documents("x", ()).notes() == []


def test_files_beside_a_beir_corpus_are_listed(tmp_path: Path) -> None:
    corpus = json.dumps({"_id": "d1", "text": "one text"})
    files = {"corpus.jsonl": corpus, "queries.jsonl": "", "qrels/test.tsv": "", "guide.md": "# G", "sub/more.html": "<p>x", ".x": ""}
    folder = tmp_path / "folder"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    found = load_documents(folder)
    skipped = {"guide.md": "beside_corpus", "sub/more.html": "beside_corpus", ".x": "hidden"}
    assert [document.id for document in found.documents] == ["d1"] and {file.source: file.reason for file in found.skipped} == skipped
    assert sum("2 files" in note and "guide.md, sub/more.html" in note for note in found.notes()) == 1
    archive = write_zip(tmp_path / "a.zip", {f"{name}/{path}": text for name in ("a", "b") for path, text in files.items()})
    found = load_documents(archive)
    assert [document.id for document in found.documents] == ["d1"]
    assert {file.source for file in found.skipped if file.reason == "beside_corpus"} == {
        *("a/guide.md", "a/sub/more.html"),
        *(f"b/{name}" for name in files if name != ".x"),
    }


@pytest.mark.process
def test_a_corpus_far_below_is_one_file_of_many(tmp_path: Path) -> None:
    corpus = json.dumps({"_id": "d1", "text": "one text"})
    nested = write_zip(tmp_path / "b.zip", {"docs/guide.md": "# G", "docs/tests/corpus.jsonl": corpus, ".": "x"})
    assert {document.id for document in load_documents(nested).documents} == {"docs/guide.md", "d1"}


def body_lines(page: int) -> list[str]:
    return [f"text {word} of {'abcdef'[page]}" for word in ("one", "two", "three", "four")]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("Page {n}", []), ("- {n} -", []), ("Seite {n} von 6", []), ("{n} / 6", []), ("第 {n} 页，共 6 页", []), ("pg. {m}", []),
        ("Annual report", [0]), ("Name  Price", [0]), ("Annual report of Example 2024, page {n}", [0]), ("公司年度报告书 {n}", [0]),
        ("Article {n}", range(6)), ("Annual results of the year {square}", range(6)), ("{square}.50", range(6)),
        ("Invoice {square} of the customer, page {n}", range(6)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("at_end", [False, True])
def test_of_running_lines_only_page_numbers_are_removed_everywhere(line: str, kept: list[int], at_end: bool) -> None:
    lines = [line.format(n=page + 1, m=page + 41, square=7 * page**2) for page in range(6)]
    found = remove_running_lines([[*body_lines(n), edge] if at_end else [edge, *body_lines(n)] for n, edge in enumerate(lines)])
    assert [page for page, (edge, rest) in enumerate(zip(lines, found, strict=True)) if edge in rest] == list(kept)
    assert all(sum("text" in one for one in rest) == 4 for rest in found)


def test_a_number_sign_is_no_number() -> None:
    pages = [[f"Issue {'#' if page == 4 else page}", *body_lines(page)] for page in range(6)]
    assert remove_running_lines(pages) == pages


def test_page_numbers_behind_a_kept_header_are_removed() -> None:
    pages = [["Annual report", f"Page {page}", "", *body_lines(page)] for page in range(6)]
    found = remove_running_lines(pages)
    assert found[0][0] == "Annual report" and not any("Page" in line for page in found for line in page)
    assert sum("Annual report" in page for page in found) == 1


def test_an_empty_file_is_still_empty(tmp_path: Path) -> None:
    with pytest.raises(ExtractionError, match="empty"):
        read(tmp_path, "a.md", "---\ntitle: x\n---\n")
