"""Row numbers, cells and unpacked workbooks beyond all measure are refused, quickly and in little memory."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from sbert_studio.data.loading.excel import scan_workbook
from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError

Measure = Callable[[Path], tuple[int, str]]

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_CELLS = '<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2" t="s"><v>1</v></c></row>'

_MANY = 100_000


def workbook(path: Path, rows: str = _CELLS, strings: Iterable[bytes] = (b"<si><t>text</t></si>", b"<si><t>some words</t></si>")) -> Path:
    """A workbook of one sheet, whose rows and shared texts are as given."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_SHEET_TYPE}.sharedStrings+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        f'<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        with archive.open("xl/sharedStrings.xml", "w", force_zip64=True) as target:
            target.write(f'<sst xmlns="{_MAIN}">'.encode())
            for part in strings:
                target.write(part)
            target.write(b"</sst>")
    return path


def test_a_sound_workbook_of_shared_texts_is_read(tmp_path: Path) -> None:
    assert len(read_table(workbook(tmp_path / "sound.xlsx"))) == 1


def test_a_row_number_of_two_billion_is_refused_at_once(tmp_path: Path) -> None:
    path = workbook(tmp_path / "far.xlsx", rows=_CELLS + '<row r="2000000000"><c r="A2000000000" t="s"><v>1</v></c></row>')
    assert path.stat().st_size < 2500
    with pytest.raises(StudioError, match="2,000,000,000"):
        read_table(path)


@pytest.mark.parametrize("number", ["+2000000000", " 2000000000 ", "2e9", "0002000000000", str(10**16), "1e300", "２０００００００００"])
def test_a_row_number_is_bounded_however_it_is_written(tmp_path: Path, number: str) -> None:
    path = workbook(tmp_path / "far.xlsx", rows=_CELLS + f'<row r="{number}"><c t="s"><v>1</v></c></row>')
    with pytest.raises(StudioError, match="at most 1,048,576 rows"):
        scan_workbook(path)


@pytest.mark.parametrize("reference", ["A2000000000", "A+2000000000", "A" + "9" * 5000, "A0", "A"])
def test_a_cells_reference_is_bounded_too(tmp_path: Path, reference: str) -> None:
    path = workbook(tmp_path / "far.xlsx", rows=_CELLS + f'<row r="3"><c r="{reference}" t="s"><v>1</v></c></row>')
    with pytest.raises(StudioError, match=r"at most 1,048,576 rows|not a workbook"):
        scan_workbook(path)


@pytest.mark.parametrize("number", ["many", "-5", "0", "1.5", "nan", "inf", "9" * 5000])
def test_what_is_no_row_number_is_refused(tmp_path: Path, number: str) -> None:
    with pytest.raises(StudioError, match="not a workbook"):
        scan_workbook(workbook(tmp_path / "odd.xlsx", rows=_CELLS + f'<row r="{number}"><c t="s"><v>1</v></c></row>'))


def recoded(path: Path, part: str, text: str, encoding: str = "utf-16") -> Path:
    """A workbook with one part more or another, in another encoding."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(path.with_stem("recoded"), "w") as target:
        for entry in source.infolist():
            if entry.filename != part:
                target.writestr(entry.filename, source.read(entry))
        target.writestr(part, f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
    return path.with_stem("recoded")


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "cp1252"])
def test_a_part_is_examined_in_its_own_encoding(tmp_path: Path, encoding: str) -> None:
    sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{_CELLS}%s</sheetData></worksheet>'
    part = "xl/worksheets/sheet1.xml"
    sound = workbook(tmp_path / "sound.xlsx")
    assert len(read_table(recoded(sound, part, sheet % "", encoding))) == 1
    with pytest.raises(StudioError, match="2,000,000,000"):
        scan_workbook(recoded(sound, part, sheet % '<row r="2000000000"/>', encoding))
    with pytest.raises(StudioError, match="not a workbook"):
        scan_workbook(recoded(sound, part, '<!DOCTYPE x [<!ENTITY a "aaaa">]>' + sheet % "", encoding))


def test_parts_that_are_no_sheet_do_not_count_as_one(tmp_path: Path) -> None:
    chain = f'<calcChain xmlns="{_MAIN}">' + '<c r="A2" i="1"/>' * 20_000 + "</calcChain>"
    path = recoded(workbook(tmp_path / "chain.xlsx"), "xl/calcChain.xml", chain, "utf-8")
    with zipfile.ZipFile(path, "a") as target:
        target.writestr("xl/printerSettings/printerSettings1.bin", bytes(range(256)))
        target.writestr("customXml/item1.xml", '<rows><row r="abc"/></rows>')
    assert len(read_table(path)) == 1


@pytest.mark.process
@pytest.mark.parametrize(
    "strings",
    [
        [b"<si><t>", *[b"a" * (1 << 20)] * 150, b"</t></si>"],
        [b"<si>", *[b"<r><rPr><b/></rPr><t>" + b"a" * 1000 + b"</t></r>"] * 20_000, b"</si>"],
        [b"<si><t>", *[b"&amp;" * (1 << 18)] * 20, b"</t></si>"],
    ],
    ids=["one text", "many runs", "entities"],
)
def test_a_shared_text_beyond_all_bounds_is_refused_without_loading_it(tmp_path: Path, strings: list[bytes], measure: Measure) -> None:
    mebibytes, found = measure(workbook(tmp_path / "long.xlsx", strings=strings))
    assert "characters" in found
    assert mebibytes < 40


def test_entities_of_a_workbooks_own_are_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "lol.xlsx")
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><sst><si><t>&b;</t></si></sst>'
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(tmp_path / "bomb.xlsx", "w") as target:
        for entry in source.infolist():
            target.writestr(entry.filename, bomb if entry.filename.endswith("Strings.xml") else source.read(entry))
    with pytest.raises(StudioError, match="not a workbook"):
        read_table(tmp_path / "bomb.xlsx")


@pytest.mark.process
@pytest.mark.parametrize("kind", ["csv", "quoted.csv", "tsv", "txt", "jsonl", "json", "parquet"])
def test_a_cell_of_ten_million_characters_is_refused_in_bounded_memory(tmp_path: Path, kind: str, measure: Measure) -> None:
    path = tmp_path / f"cell.{kind}"
    cell = "word " * 2_000_000
    texts = {
        "csv": f"text,label\nfine,a\n{cell},b\n",
        "quoted.csv": f'text,label\nfine,a\n"{cell}",b\n',
        "tsv": f"text\tlabel\nfine\ta\n{cell}\tb\n",
        "txt": f"fine\nfine too\n{cell}\n",
        "jsonl": '{"text": "fine"}\n{"text": "fine"}\n{"text": "' + cell + '"}\n',
        "json": '[{"text": "fine"}, {"text": "fine"}, {"text": "' + cell + '"}]',
    }
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": ["fine", cell]}), path)
    else:
        path.write_text(texts[kind], encoding="utf-8")
    mebibytes, found = measure(path)
    assert "characters" in found
    assert "row 3" in found
    assert mebibytes < 200


def test_a_quote_that_is_never_closed_does_not_make_a_large_file_slow_or_lose_rows(tmp_path: Path) -> None:
    path = tmp_path / "open.csv"
    path.write_text('text,label\n"never closed,a\n' + "some words of a sentence,b\n" * 20_000, encoding="utf-8")
    assert len(read_table(path)) == 20_001


@pytest.mark.process
def test_an_array_of_many_elements_is_read_one_at_a_time(tmp_path: Path, measure: Measure) -> None:
    path = tmp_path / "array.json"
    with path.open("w", encoding="utf-8") as target:
        target.write("[")
        target.write(
            ",".join(f'{{"text": "number {index}, one of many texts in one long line", "label": {index % 7}}}' for index in range(_MANY))
        )
        target.write("]")
    mebibytes, found = measure(path)
    assert found.startswith(f"{_MANY} rows")
    assert mebibytes < 60  # as Python objects the rows would take 33 MiB beyond the 40 that reading takes


@pytest.mark.process
def test_many_rows_take_little_more_memory_than_their_bytes(tmp_path: Path, measure: Measure) -> None:
    path, rows = tmp_path / "many.csv", 300_000
    with path.open("w", encoding="utf-8") as target:
        target.write("text,label\n")
        target.writelines(f'"number {row}, one of many",{row % 7}\n' for row in range(rows))
    mebibytes, found = measure(path)
    assert found == f"{rows} rows to line {rows + 1}: number {rows - 1}, one of many"
    # As Python strings the cells alone would take 24 MiB beyond the 63 that reading takes; rows kept as lists, twice as much.
    assert mebibytes < 82
