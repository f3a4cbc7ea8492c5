"""Pairs with a label (SNLI, MultiNLI, MRPC), and texts with one (MR, CR, SUBJ, MPQA, SST, TREC)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ..data.findings import Finding
from ..data.loading.content import Content
from ..data.schema.roles import Roles
from ..i18n import _
from .base import (
    DatasetLayout,
    DatasetPart,
    FolderFiles,
    LineLayout,
    RowBuilder,
    Split,
    detect_codec,
    encoding_note,
    malformed,
    missing_file,
    missing_texts,
    tab_separated,
    text_lines,
)

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
        for number, cells in rows.each(path, _read_nli_file(path, (*_NLI_COLUMNS, *genre))):
            if cells[2] in ("-", ""):
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
        for number, cells in rows.each(path, tab_separated(path, detect_codec(path), _MRPC_COLUMNS)):
            label, id1, id2, first, second = (cell.strip() for cell in cells)
            if label not in ("0", "1"):
                raise malformed(path, number, _("has the Quality {label}, which is neither 0 nor 1", label=repr(label[:40])))
            rows.add(number, first, second, label, id1, id2)
        return rows.build()

    def recognizes(self, name: str, first_lines: Sequence[str]) -> bool:
        return bool(first_lines) and tuple(first_lines[0].lstrip("\ufeff").rstrip("\r\n").split("\t")) == _MRPC_COLUMNS


# The files of the two classes of each dataset, under each of the names in use.
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
    for number, line in rows.each(path, text_lines(path, codec)):
        rows.add(number, line.strip(), *labels)


_SST_CLASSES = {"SST2": ("0", "1"), "SST5": ("0", "1", "2", "3", "4")}


class StanfordSentiment(LineLayout):
    """Stanford Sentiment Treebank (Socher et al. 2013) as in SentEval: ``sentiment-train``, ``-dev`` and ``-test``.

    A line is a sentence, a tab and its class, 0 being the most negative. Files in a folder ``fine`` have five classes; others have two.
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
