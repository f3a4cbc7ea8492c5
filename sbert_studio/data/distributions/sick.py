"""SICK (Marelli et al. 2014): relatedness of 1–5 and entailment of sentence pairs, tab-separated below a header."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..loading.content import Content
from ..schema.numbers import parse_number
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part, Split
from .lines import BLANK, Rows, codec_of, tabbed, text_lines, wrong
from .unquoted import as_it_stands

_WHOLE = "SICK.txt"
_SPLIT_OF: dict[str, Split] = {"SICK_train.txt": "train", "SICK_trial.txt": "dev", "SICK_test_annotated.txt": "test"}
_SETS: dict[str, Split] = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}
_LABELS = ("entailment_judgment", "entailment_label")  # the older name, and that of SICK.txt
_SET = "SemEval_set"


@DISTRIBUTIONS.register("sick")
class Sick(Distribution):
    """``SICK.txt``, whose newer version says which split a pair is of, or a file a split as SemEval 2014 handed them out."""

    title = "SICK"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """The file of all where it tells the splits, else the files of the splits, else the file of all as one part."""
        whole = folder.get(_WHOLE)
        if whole is not None and _SET in _header(whole):
            yield from (Part("SICK", split, (whole,)) for split in _SETS.values())
            return
        splits = [Part("SICK", split, (folder[name],)) for name, split in _SPLIT_OF.items() if name in folder]
        yield from splits
        if whole is not None and not splits:
            yield Part("SICK", "all", (whole,))

    def read(self, part: Part) -> Content:
        """``sentence1, sentence2, score, label, pair_id``."""
        (path,) = part.files
        codec, header = codec_of(path), _header(path)
        label = next((name for name in _LABELS if name in header), _LABELS[0])
        needed = ["sentence_A", "sentence_B", "relatedness_score", label, "pair_ID"]
        splits = _SET in header
        rows = Rows("sentence1", "sentence2", "score", "label", "pair_id")
        rows.begin(path)
        for number, cells in tabbed(path, codec, [*needed, _SET] if splits else needed):
            if not cells:
                rows.leave_out(number, BLANK)
                continue
            if splits and part.split != "all":
                own = cells.pop().strip()
                if own not in _SETS:
                    raise wrong(path, number, f"has the {_SET} {own[:40]!r}", f"it should be one of {', '.join(_SETS)}")
                if _SETS[own] != part.split:
                    continue
            if not 1.0 <= parse_number(cells[2]) <= 5.0:
                raise wrong(path, number, f"holds {cells[2][:40]!r}, which is no score from 1 to 5")
            rows.add(number, *(cell.strip() for cell in cells[:5]))
        return rows.content()

    def roles(self, part: Part) -> Roles:
        """Scored pairs of 1–5; the entailment label stands beside."""
        note = "scores 1–5, rescaled so that 1 becomes 0 and 5 becomes 1"
        return Roles("scored_pairs", ("sentence1", "sentence2"), "score", 1.0, 5.0, note=note)

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """By its header."""
        return bool(start) and start[0].lstrip("\ufeff").startswith("pair_ID\tsentence_A\tsentence_B\t")

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content | None:
        """All columns."""
        return as_it_stands(path, encoding or codec_of(path))


def _header(path: Path) -> list[str]:
    return next(text_lines(path, codec_of(path)), (0, ""))[1].split("\t")
