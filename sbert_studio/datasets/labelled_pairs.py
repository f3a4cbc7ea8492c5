"""Pairs with a label: SNLI, MultiNLI and MRPC."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ..data.loading.content import Content
from ..data.schema.roles import Roles
from ..i18n import _
from .base import DatasetLayout, DatasetPart, FolderFiles, Split
from .text_files import BLANK, RowBuilder, detect_codec, malformed, missing_texts, tab_separated, text_lines

_NLI_FILE = re.compile(
    r"(?P<set>snli|multinli)_\d\.\d_(?P<split>train|dev|test)(?:_(?P<section>matched|mismatched))?(?P<suffix>\.jsonl|\.txt)"
)
_NLI_NAMES = {"snli": "SNLI", "multinli": "MultiNLI"}
_NLI_SPLITS: dict[str, Split] = {"train": "train", "dev": "dev", "test": "test"}
_NLI_LABELS = ("contradiction", "neutral", "entailment")
_NLI_COLUMNS = ("sentence1", "sentence2", "gold_label")


class NaturalLanguageInference(DatasetLayout):
    """SNLI (Bowman et al. 2015) and MultiNLI (Williams et al. 2018): premise, hypothesis and the annotators' majority label.

    ``snli_1.0_train.jsonl``, ``multinli_1.0_dev_matched.txt`` and so on; if a file exists in both formats, ``.jsonl`` is read.
    """

    header_start = "gold_label\tsentence1_binary_parse\t"

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        for name, path in folder.items():
            match = _NLI_FILE.fullmatch(name)
            if match and not (match["suffix"] == ".txt" and name.replace(".txt", ".jsonl") in folder):
                yield DatasetPart(_NLI_NAMES[match["set"]], _NLI_SPLITS[match["split"]], (path,), match["section"] or "")

    def read(self, part: DatasetPart) -> Content:
        """Return ``premise, hypothesis, label``, and ``genre`` for MultiNLI; pairs without a majority label are skipped."""
        (path,) = part.files
        genre = ["genre"] if part.name == "MultiNLI" else []
        rows = RowBuilder("premise", "hypothesis", "label", *genre)
        rows.start_file(path)
        for number, cells in _read_nli_file(path, (*_NLI_COLUMNS, *genre)):
            if not cells:
                rows.skip(number, BLANK)
            elif cells[2] in ("-", ""):
                rows.skip(number, "no majority label")
            elif cells[2] not in _NLI_LABELS:
                raise malformed(
                    path,
                    number,
                    _("has the label {cells}", cells=repr(cells[2][:40])),
                    _("it should be one of {nli_labels}", nli_labels=", ".join(_NLI_LABELS)),
                )
            elif reason := missing_texts(*cells[:2]):
                rows.skip(number, reason)
            else:
                rows.add(number, *cells)
        return rows.build()

    def roles(self, part: DatasetPart) -> Roles:
        note = _("labels {nli_labels}", nli_labels=", ".join(_NLI_LABELS))
        group = "genre" if part.name == "MultiNLI" else None
        return Roles("labelled_pairs", ("premise", "hypothesis"), "label", labels=_NLI_LABELS, group=group, note=note)


def _read_nli_file(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells); no cells for a blank line."""
    if path.suffix == ".txt":
        for number, cells in tab_separated(path, detect_codec(path), columns):
            yield number, [cell.strip() for cell in cells]
        return
    for number, line in text_lines(path):
        if not line.strip():
            yield number, []
            continue
        try:
            record = json.loads(line)
            cells = [record[name] for name in columns]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            problem = _("is not a JSON object with {columns}", columns=", ".join(columns))
            raise malformed(path, number, problem, "download the file again; it may be truncated") from error
        yield number, [str(cell).strip() for cell in cells]


_MRPC_COLUMNS = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")


class MRPC(DatasetLayout):
    """Microsoft Research Paraphrase Corpus (Dolan & Brockett 2005): tab-separated with a header."""

    dataset = "MRPC"
    split_files: ClassVar[Mapping[str, Split]] = {"msr_paraphrase_train.txt": "train", "msr_paraphrase_test.txt": "test"}
    columns = Roles("labelled_pairs", ("sentence1", "sentence2"), "label", labels=("0", "1"), note="labels 0, 1")

    def read(self, part: DatasetPart) -> Content:
        """Return ``sentence1, sentence2, label, id1, id2``; label 1 marks paraphrases."""
        (path,) = part.files
        rows = RowBuilder("sentence1", "sentence2", "label", "id1", "id2")
        rows.start_file(path)
        for number, cells in tab_separated(path, detect_codec(path), _MRPC_COLUMNS):
            if not cells:
                rows.skip(number, BLANK)
                continue
            label, id1, id2, first, second = (cell.strip() for cell in cells)
            if label not in ("0", "1"):
                raise malformed(path, number, _("has the Quality {label}, which is neither 0 nor 1", label=repr(label[:40])))
            rows.add(number, first, second, label, id1, id2)
        return rows.build()

    def recognizes(self, name: str, first_lines: Sequence[str]) -> bool:
        return bool(first_lines) and tuple(first_lines[0].lstrip("\ufeff").rstrip("\r\n").split("\t")) == _MRPC_COLUMNS
