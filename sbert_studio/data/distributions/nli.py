"""SNLI (Bowman et al. 2015) and MultiNLI (Williams et al. 2018): premise, hypothesis and the label that most annotators gave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..loading.content import Content
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part, Split
from .lines import BLANK, Rows, codec_of, tabbed, text_lines, wrong
from .unquoted import as_it_stands

_FILE = re.compile(r"(?P<set>snli|multinli)_\d\.\d_(?P<split>train|dev|test)(?:_(?P<section>matched|mismatched))?(?P<ending>\.jsonl|\.txt)")
_SETS = {"snli": "SNLI", "multinli": "MultiNLI"}
_LABELS = ("contradiction", "neutral", "entailment")
_NEEDED = ("sentence1", "sentence2", "gold_label")
_START = "gold_label\tsentence1_binary_parse\t"


@DISTRIBUTIONS.register("nli")
class NaturalLanguageInference(Distribution):
    """``snli_1.0_train.jsonl``, ``multinli_1.0_dev_matched.txt`` and the like; of both endings the ``.jsonl`` is read."""

    title = "SNLI and MultiNLI"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """A file a split, and a section of MultiNLI."""
        for name, path in folder.items():
            if (known := _FILE.fullmatch(name)) and not (known["ending"] == ".txt" and name.replace(".txt", ".jsonl") in folder):
                split: Split = "train" if known["split"] == "train" else "dev" if known["split"] == "dev" else "test"
                yield Part(_SETS[known["set"]], split, (path,), known["section"] or "")

    def read(self, part: Part) -> Content:
        """``premise, hypothesis, label``, and ``genre`` of MultiNLI; a pair without a label of most annotators is left out."""
        (path,) = part.files
        genre = part.name == "MultiNLI"
        rows = Rows("premise", "hypothesis", "label", *(["genre"] if genre else []))
        rows.begin(path)
        for number, cells in _pairs(path, (*_NEEDED, "genre") if genre else _NEEDED):
            if not cells:
                rows.leave_out(number, BLANK)
            elif cells[2] in ("-", ""):
                rows.leave_out(number, "no label that most annotators gave")
            elif cells[2] not in _LABELS:
                raise wrong(path, number, f"has the label {cells[2][:40]!r}", f"it should be one of {', '.join(_LABELS)}")
            elif not cells[0] or not cells[1]:
                rows.leave_out(number, "text on one side only" if cells[0] or cells[1] else "no text")
            else:
                rows.add(number, *cells)
        return rows.content()

    def roles(self, part: Part) -> Roles:
        """Labelled pairs, from contradiction to entailment."""
        note = "labels contradiction, neutral, entailment"
        group = "genre" if part.name == "MultiNLI" else None
        return Roles("labelled_pairs", ("premise", "hypothesis"), "label", labels=_LABELS, group=group, note=note)

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """The tab-separated kind by its header."""
        return bool(start) and start[0].startswith(_START)

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content | None:
        """All columns."""
        return as_it_stands(path, encoding or codec_of(path))


def _pairs(path: Path, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """(line number, the values under ``names``); no values of a blank line."""
    if path.suffix == ".txt":
        for number, cells in tabbed(path, codec_of(path), names):
            yield number, [cell.strip() for cell in cells]
        return
    for number, line in text_lines(path):
        if not line.strip():
            yield number, []
            continue
        try:
            value = json.loads(line)
            cells = [value[name] for name in names]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise wrong(path, number, f"is no JSON object with {', '.join(names)}", "fetch the file again; it may be cut off") from error
        yield number, [str(cell).strip() for cell in cells]
