"""Write examples/tour.ipynb: docs/python.md with its outputs. Run pip install nbclient ipykernel first."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "python.md"
NOTEBOOK = ROOT / "examples" / "tour.ipynb"
_PROGRESS = {"stderr"}  # its bars would be kept at an arbitrary moment


def main() -> None:
    """Run each block of the page in a new home folder, and write the notebook."""
    text = PAGE.read_text(encoding="utf-8").split("\n## Reference")[0]
    cells = []
    for place, part in enumerate(re.split(r"```python\n(.*?)```", text, flags=re.DOTALL)):
        make = nbformat.v4.new_code_cell if place % 2 else nbformat.v4.new_markdown_cell
        # A notebook shows the last line of each cell.
        cells += [make(piece.strip()) for piece in (part.split("\n\n") if place % 2 else [part]) if piece.strip()]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    book = nbformat.v4.new_notebook(cells=cells)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "assets").symlink_to(ROOT / "assets")
        os.environ |= {"SBERT_STUDIO_HOME": f"{folder}/home", "PYTHONPATH": str(ROOT)}
        NotebookClient(book, timeout=1800, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    for cell in book.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") not in _PROGRESS]
    NOTEBOOK.parent.mkdir(exist_ok=True)
    nbformat.write(book, NOTEBOOK)


if __name__ == "__main__":
    main()
