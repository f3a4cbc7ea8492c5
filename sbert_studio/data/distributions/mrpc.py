"""The Microsoft Research Paraphrase Corpus (Dolan & Brockett 2005): tab-separated below a header, quotation marks as they come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..loading.content import Content
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part, Split
from .lines import BLANK, Rows, codec_of, tabbed, wrong
from .unquoted import as_it_stands

_SPLIT_OF: dict[str, Split] = {"msr_paraphrase_train.txt": "train", "msr_paraphrase_test.txt": "test"}
_HEADER = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")


@DISTRIBUTIONS.register("mrpc")
class Paraphrases(Distribution):
    """``msr_paraphrase_train.txt`` and ``msr_paraphrase_test.txt``."""

    title = "MRPC"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """A file a split."""
        for name, split in _SPLIT_OF.items():
            if name in folder:
                yield Part("MRPC", split, (folder[name],))

    def read(self, part: Part) -> Content:
        """``sentence1, sentence2, label, id1, id2``; 1 says that the two mean the same."""
        (path,) = part.files
        rows = Rows("sentence1", "sentence2", "label", "id1", "id2")
        rows.begin(path)
        for number, cells in tabbed(path, codec_of(path), _HEADER):
            if not cells:
                rows.leave_out(number, BLANK)
                continue
            quality, one, two, first, second = (cell.strip() for cell in cells)
            if quality not in ("0", "1"):
                raise wrong(path, number, f"has the Quality {quality[:40]!r}, which is neither 0 nor 1")
            rows.add(number, first, second, quality, one, two)
        return rows.content()

    def roles(self, part: Part) -> Roles:
        """Pairs that are paraphrases or not."""
        return Roles("labelled_pairs", ("sentence1", "sentence2"), "label", labels=("0", "1"), note="labels 0, 1")

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """By its header."""
        return bool(start) and tuple(start[0].lstrip("\ufeff").rstrip("\r\n").split("\t")) == _HEADER

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content | None:
        """All columns."""
        return as_it_stands(path, encoding or codec_of(path))
