"""Write small documents of every format."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_pdf(path: Path, pages: Sequence[Sequence[str]], *, bookmarks: Mapping[str, int] | None = None, password: str = "") -> Path:
    """Write a PDF file with the lines of each page; a page without lines is like a scanned one."""
    from pypdf import PdfReader, PdfWriter

    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for lines in pages:
        escaped = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines]
        stream = " ".join(["BT /F1 12 Tf 14 TL 50 800 Td", *(f"({line}) Tj T*" for line in escaped), "ET"]).encode("latin-1")
        number = len(objects) + 1
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>"
            % (number + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    kids = b" ".join(b"%d 0 R" % (4 + 2 * page) for page in range(len(pages)))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages))
    content, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(content))
    content += b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (len(objects) + 1, table, trailer)
    path.write_bytes(content)
    if bookmarks or password:
        writer = PdfWriter(clone_from=PdfReader(path))
        for title, page in (bookmarks or {}).items():
            writer.add_outline_item(title, page)
        if password:
            writer.encrypt(password)
        writer.write(path)
    return path


def write_docx(path: Path) -> Path:
    from docx import Document

    document = Document()
    document.add_heading("Staff handbook", 0)
    document.add_paragraph("Read this first.")
    document.add_heading("Leave", 1)
    document.add_paragraph("You have thirty days.")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Days", "30"
    document.add_heading("Sick leave", 2)
    document.add_paragraph("Call your manager.")
    document.save(str(path))
    return path


def write_zip(path: Path, members: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path
