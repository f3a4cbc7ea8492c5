"""TREC's question types (Li & Roth 2002): ``DESC:manner How did serfdom develop …``, a question a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..loading.content import Content
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part, Split
from .lines import BLANK, Rows, codec_of, encoding_note, text_lines, wrong

_SPLIT_OF: dict[str, Split] = {"train_5500.label": "train", "TREC_10.label": "test"}
_COARSE = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_LINE = re.compile(rf"(?P<fine>(?P<coarse>{'|'.join(_COARSE)}):\w+)\s+(?P<text>\S.*)")


@DISTRIBUTIONS.register("trec")
class Trec(Distribution):
    """``train_5500.label`` and ``TREC_10.label``, judged by the six coarse types."""

    title = "TREC question types"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """A file a split."""
        for name, split in _SPLIT_OF.items():
            if name in folder:
                yield Part("TREC", split, (folder[name],))

    def read(self, part: Part) -> Content:
        """``text, label, fine_label``."""
        return _read(part.files[0], codec_of(part.files[0]))

    def roles(self, part: Part) -> Roles:
        """Texts with one of six types."""
        return Roles("labelled_texts", ("text",), "label", labels=_COARSE)

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """By its lines, whatever it is called now."""
        lines = [line.strip() for line in start if line.strip()]
        return bool(lines) and all(map(_LINE.fullmatch, lines))

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content:
        """As a part."""
        return _read(path, encoding or codec_of(path))


def _read(path: Path, codec: str) -> Content:
    rows = Rows("text", "label", "fine_label")
    rows.begin(path)
    for number, line in text_lines(path, codec):
        if not line.strip():
            rows.leave_out(number, BLANK)
        elif known := _LINE.fullmatch(line.strip()):
            rows.add(number, known["text"], known["coarse"], known["fine"])
        else:
            raise wrong(path, number, f"does not begin with a type of question ({', '.join(_COARSE)}) and a colon")
    return rows.content(encoding_note(codec))
