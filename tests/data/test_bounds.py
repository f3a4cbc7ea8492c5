"""Row numbers, cells and unpacked workbooks beyond all measure are refused, quickly and in little memory."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from sbert_studio.data.readers.archive import examine
from sbert_studio.errors import StudioError

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_CELLS = '<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2" t="s"><v>1</v></c></row>'

_READ = """
import resource, sys, time
import numpy, pyarrow, openpyxl
from pathlib import Path
from sbert_studio.data.tables import read_table
from sbert_studio.errors import StudioError
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
try:
    said = len(read_table(Path(sys.argv[1])))
except StudioError as error:
    said = error
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
print(f"{time.monotonic() - start:.1f}", grown, said)
"""


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


def read(path: Path) -> tuple[float, int, str]:
    """(seconds, MiB, what came of it) of reading a file in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True)
    seconds, mebibytes, said = done.stdout.strip().split(" ", 2)
    return float(seconds), int(mebibytes), said


def test_a_sound_workbook_of_shared_texts_is_read(tmp_path: Path) -> None:
    assert read(workbook(tmp_path / "sound.xlsx"))[2] == "1"


def test_a_row_number_of_two_billion_is_refused_at_once(tmp_path: Path) -> None:
    path = workbook(tmp_path / "far.xlsx", rows=_CELLS + '<row r="2000000000"><c r="A2000000000" t="s"><v>1</v></c></row>')
    assert path.stat().st_size < 2500
    seconds, _, said = read(path)
    assert "2,000,000,000" in said
    assert seconds < 5


@pytest.mark.parametrize("number", ["+2000000000", " 2000000000 ", "2e9", "0002000000000", str(10**16), "1e300", "２０００００００００"])
def test_a_row_number_is_bounded_however_it_is_written(tmp_path: Path, number: str) -> None:
    path = workbook(tmp_path / "far.xlsx", rows=_CELLS + f'<row r="{number}"><c t="s"><v>1</v></c></row>')
    with pytest.raises(StudioError, match="at most 1,048,576 rows"):
        examine(path)


@pytest.mark.parametrize("reference", ["A2000000000", "A+2000000000", "A" + "9" * 5000, "A0", "A"])
def test_a_cells_reference_is_bounded_too(tmp_path: Path, reference: str) -> None:
    path = workbook(tmp_path / "far.xlsx", rows=_CELLS + f'<row r="3"><c r="{reference}" t="s"><v>1</v></c></row>')
    with pytest.raises(StudioError, match=r"at most 1,048,576 rows|not a workbook"):
        examine(path)


@pytest.mark.parametrize("number", ["many", "-5", "0", "1.5", "nan", "inf", "9" * 5000])
def test_what_is_no_row_number_is_refused(tmp_path: Path, number: str) -> None:
    with pytest.raises(StudioError, match="not a workbook"):
        examine(workbook(tmp_path / "odd.xlsx", rows=_CELLS + f'<row r="{number}"><c t="s"><v>1</v></c></row>'))


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
    assert read(recoded(sound, part, sheet % "", encoding))[2] == "1"
    with pytest.raises(StudioError, match="2,000,000,000"):
        examine(recoded(sound, part, sheet % '<row r="2000000000"/>', encoding))
    with pytest.raises(StudioError, match="not a workbook"):
        examine(recoded(sound, part, '<!DOCTYPE x [<!ENTITY a "aaaa">]>' + sheet % "", encoding))


def test_parts_that_are_no_sheet_do_not_count_as_one(tmp_path: Path) -> None:
    chain = f'<calcChain xmlns="{_MAIN}">' + '<c r="A2" i="1"/>' * 20_000 + "</calcChain>"
    path = recoded(workbook(tmp_path / "chain.xlsx"), "xl/calcChain.xml", chain, "utf-8")
    with zipfile.ZipFile(path, "a") as target:
        target.writestr("xl/printerSettings/printerSettings1.bin", bytes(range(256)))
        target.writestr("customXml/item1.xml", '<rows><row r="abc"/></rows>')
    assert read(path)[2] == "1"


@pytest.mark.parametrize(
    "strings",
    [
        [b"<si><t>", *[b"a" * (1 << 20)] * 700, b"</t></si>"],
        [b"<si>", *[b"<r><rPr><b/></rPr><t>" + b"a" * 1000 + b"</t></r>"] * 20_000, b"</si>"],
        [b"<si><t>", *[b"&amp;" * (1 << 18)] * 20, b"</t></si>"],
    ],
    ids=["one text", "many runs", "entities"],
)
def test_a_shared_text_beyond_all_bounds_is_refused_without_loading_it(tmp_path: Path, strings: list[bytes]) -> None:
    _, mebibytes, said = read(workbook(tmp_path / "long.xlsx", strings=strings))
    assert "characters" in said
    assert mebibytes < 40


def test_entities_of_a_workbooks_own_are_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "lol.xlsx")
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><sst><si><t>&b;</t></si></sst>'
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(tmp_path / "bomb.xlsx", "w") as target:
        for entry in source.infolist():
            target.writestr(entry.filename, bomb if entry.filename.endswith("Strings.xml") else source.read(entry))
    assert "not a workbook" in read(tmp_path / "bomb.xlsx")[2]


@pytest.mark.parametrize("kind", ["csv", "quoted.csv", "tsv", "txt", "jsonl", "json", "parquet"])
def test_a_cell_of_thirty_million_characters_is_refused_in_bounded_memory(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"cell.{kind}"
    cell = "word " * 6_000_000
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
    _, mebibytes, said = read(path)
    assert "characters" in said
    assert "row 3" in said
    assert mebibytes < 600


def test_a_quote_that_is_never_closed_does_not_make_a_large_file_slow_or_lose_rows(tmp_path: Path) -> None:
    path = tmp_path / "open.csv"
    path.write_text('text,label\n"never closed,a\n' + "some words of a sentence,b\n" * 60_000, encoding="utf-8")
    assert read(path)[2] == "60001"


def test_an_array_of_many_elements_is_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "array.json"
    with path.open("w", encoding="utf-8") as target:
        target.write("[")
        target.write(
            ",".join(f'{{"text": "number {index}, one of many texts in one long line", "label": {index % 7}}}' for index in range(300_000))
        )
        target.write("]")
    _, mebibytes, said = read(path)
    assert said == "300000"
    assert mebibytes < 120
