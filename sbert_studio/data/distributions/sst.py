"""The Stanford Sentiment Treebank (Socher et al. 2013) as SentEval hands it out: a sentence, a tab, its class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..loading.content import Content
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part, Split
from .lines import BLANK, Rows, codec_of, encoding_note, text_lines, wrong

_SPLIT_OF: dict[str, Split] = {"sentiment-train": "train", "sentiment-dev": "dev", "sentiment-test": "test"}
_CLASSES = {"SST2": ("0", "1"), "SST5": ("0", "1", "2", "3", "4")}


@DISTRIBUTIONS.register("sst")
class StanfordSentiment(Distribution):
    """``sentiment-train``, ``-dev`` and ``-test``: of five classes in a folder called ``fine``, else of two."""

    title = "SST-2 and SST-5"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """A file a split."""
        for name, split in _SPLIT_OF.items():
            if name in folder:
                fine = folder[name].resolve().parent.name.casefold() in ("fine", "sst5", "sst-5")
                yield Part("SST5" if fine else "SST2", split, (folder[name],))

    def read(self, part: Part) -> Content:
        """``text, label``, where 0 is the most negative."""
        return _read(part.files[0], codec_of(part.files[0]), _CLASSES[part.name])

    def roles(self, part: Part) -> Roles:
        """Texts with one of the classes."""
        return Roles("labelled_texts", ("text",), "label", labels=_CLASSES[part.name])

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """By its name."""
        return name in _SPLIT_OF

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content:
        """As a part of either set."""
        return _read(path, encoding or codec_of(path), _CLASSES["SST5"])


def _read(path: Path, codec: str, classes: Sequence[str]) -> Content:
    rows = Rows("text", "label")
    rows.begin(path)
    for number, line in text_lines(path, codec):
        text, _, label = line.rpartition("\t")
        if not line.strip():
            rows.leave_out(number, BLANK)
        elif label.strip() not in classes or not text.strip():
            raise wrong(path, number, f"does not end in a tab and one of {', '.join(classes)}")
        else:
            rows.add(number, text.strip(), label.strip())
    return rows.content(encoding_note(codec))
