"""Texts with a label: MR, CR, SUBJ, MPQA, SST and TREC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ..data.findings import Finding
from ..data.loading.content import Content
from ..data.schema.roles import Roles
from ..i18n import _
from .base import DatasetLayout, DatasetPart, FolderFiles, LineLayout, Split
from .text_files import BLANK, RowBuilder, detect_codec, encoding_note, malformed, missing_file, text_lines

# The files of the two classes of each dataset, under all common names.
_POLARITY_FILES: dict[str, tuple[dict[str, str], ...]] = {
    "MR": ({"rt-polarity.neg": "negative", "rt-polarity.pos": "positive"},),
    "CR": ({"custrev.neg": "negative", "custrev.pos": "positive"},),
    "SUBJ": (
        {"subj.subjective": "subjective", "subj.objective": "objective"},
        {"quote.tok.gt9.5000": "subjective", "plot.tok.gt9.5000": "objective"},
    ),
    "MPQA": ({"mpqa.neg": "negative", "mpqa.pos": "positive"},),
}
_LABEL_OF_FILE = {name: label for variants in _POLARITY_FILES.values() for files in variants for name, label in files.items()}


class BinaryClassification(DatasetLayout):
    """MR (Pang & Lee 2005), CR (Hu & Liu 2004), SUBJ (Pang & Lee 2004) and MPQA (Wiebe et al. 2005), as in SentEval.

    One file per class, one text per line.
    """

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        for dataset, variants in _POLARITY_FILES.items():
            for files in variants:
                present = [folder[name] for name in files if name in folder]
                if present:
                    yield DatasetPart(dataset, "all", tuple(present[0].with_name(name) for name in files))

    def read(self, part: DatasetPart) -> Content:
        """Return ``text, label``; rows are numbered consecutively across both files."""
        for path, other in (part.files, part.files[::-1]):
            if not path.is_file():
                raise missing_file(path, other)
        rows = RowBuilder("text", "label")
        notes: list[Finding] = []
        for path in part.files:
            codec = detect_codec(path)
            notes += [note for note in encoding_note(codec) if note not in notes]
            _add_lines(rows, path, codec, _LABEL_OF_FILE[path.name])
        return rows.build(notes)

    def roles(self, part: DatasetPart) -> Roles:
        return Roles("labelled_texts", ("text",), "label", labels=tuple(_LABEL_OF_FILE[path.name] for path in part.files))

    def recognizes(self, name: str, first_lines: Sequence[str]) -> bool:
        return name in _LABEL_OF_FILE

    def read_file(self, path: Path, name: str, encoding: str | None) -> Content:
        """Read one text per line; commas do not separate columns."""
        codec = encoding or detect_codec(path)
        rows = RowBuilder("text")
        _add_lines(rows, path, codec)
        return rows.build(encoding_note(codec))


def _add_lines(rows: RowBuilder, path: Path, codec: str, *labels: str) -> None:
    rows.start_file(path)
    for number, line in text_lines(path, codec):
        if line.strip():
            rows.add(number, line.strip(), *labels)
        else:
            rows.skip(number, BLANK)


_SST_CLASSES = {"SST2": ("0", "1"), "SST5": ("0", "1", "2", "3", "4")}


class StanfordSentiment(LineLayout):
    """Stanford Sentiment Treebank (Socher et al. 2013) as in SentEval: ``sentiment-train``, ``-dev`` and ``-test``.

    A line is a sentence, a tab and its class, 0 being the most negative. Files in a folder called ``fine`` have five classes, others two.
    """

    split_files: ClassVar[Mapping[str, Split]] = {"sentiment-train": "train", "sentiment-dev": "dev", "sentiment-test": "test"}
    names = ("text", "label")

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        for part in super().parts(folder):
            is_fine = part.files[0].resolve().parent.name.casefold() in ("fine", "sst5", "sst-5")
            yield DatasetPart("SST5" if is_fine else "SST2", part.split, part.files)

    def roles(self, part: DatasetPart) -> Roles:
        return Roles("labelled_texts", ("text",), "label", labels=_SST_CLASSES[part.name])

    def recognizes(self, name: str, first_lines: Sequence[str]) -> bool:
        return name in self.split_files

    def parse_line(self, path: Path, number: int, line: str, part: DatasetPart | None) -> Sequence[str]:
        classes = _SST_CLASSES[part.name if part else "SST5"]
        text, _unused, label = line.rpartition("\t")
        if label.strip() not in classes or not text.strip():
            raise malformed(path, number, _("does not end with a tab and one of {classes}", classes=", ".join(classes)))
        return text.strip(), label.strip()


_TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_TREC_LINE = re.compile(rf"(?P<fine>(?P<coarse>{'|'.join(_TREC_CLASSES)}):\w+)\s+(?P<text>\S.*)")


class TREC(LineLayout):
    """TREC question types (Li & Roth 2002), one question per line: ``DESC:manner How did serfdom develop …``."""

    dataset = "TREC"
    split_files: ClassVar[Mapping[str, Split]] = {"train_5500.label": "train", "TREC_10.label": "test"}
    names = ("text", "label", "fine_label")
    columns = Roles("labelled_texts", ("text",), "label", labels=_TREC_CLASSES)

    def recognizes(self, name: str, first_lines: Sequence[str]) -> bool:
        lines = [line.strip() for line in first_lines if line.strip()]
        return bool(lines) and all(map(_TREC_LINE.fullmatch, lines))

    def parse_line(self, path: Path, number: int, line: str, part: DatasetPart | None) -> Sequence[str]:
        match = _TREC_LINE.fullmatch(line.strip())
        if match is None:
            raise malformed(
                path,
                number,
                _("does not start with a question type ({trec_classes}) and a colon", trec_classes=", ".join(_TREC_CLASSES)),
            )
        return match["text"], match["coarse"], match["fine"]
