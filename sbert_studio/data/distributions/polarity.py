"""Sets of two classes in a file each: MR, CR, SUBJ and MPQA, as their authors and SentEval (Conneau & Kiela 2018) hand them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..loading.content import Content
from ..schema.roles import Roles
from .base import DISTRIBUTIONS, Distribution, Folder, Part
from .lines import BLANK, Rows, codec_of, encoding_note, missing, text_lines

# Of each set the files of its two classes, under each of the names that they have.
_FILES: dict[str, tuple[dict[str, str], ...]] = {
    "MR": ({"rt-polarity.neg": "negative", "rt-polarity.pos": "positive"},),
    "CR": ({"custrev.neg": "negative", "custrev.pos": "positive"},),
    "SUBJ": (
        {"subj.subjective": "subjective", "subj.objective": "objective"},
        {"quote.tok.gt9.5000": "subjective", "plot.tok.gt9.5000": "objective"},
    ),
    "MPQA": ({"mpqa.neg": "negative", "mpqa.pos": "positive"},),
}
_LABEL_OF = {name: label for layouts in _FILES.values() for layout in layouts for name, label in layout.items()}


@DISTRIBUTIONS.register("polarity")
class Polarity(Distribution):
    """MR (Pang & Lee 2005), CR (Hu & Liu 2004), SUBJ (Pang & Lee 2004) and MPQA (Wiebe et al. 2005): one text a line, a file a class."""

    title = "MR, CR, SUBJ and MPQA"

    def parts(self, folder: Folder) -> Iterable[Part]:
        """Both files of a set are one part, judged by cross-validation."""
        for name, layouts in _FILES.items():
            for layout in layouts:
                there = [folder[file] for file in layout if file in folder]
                if there:
                    yield Part(name, "all", tuple(there[0].with_name(file) for file in layout))

    def read(self, part: Part) -> Content:
        """``text, label``; rows are numbered through both files."""
        for path, other in (part.files, part.files[::-1]):
            if not path.is_file():
                raise missing(path, other)
        rows = Rows("text", "label")
        notes = []
        for path in part.files:
            codec = codec_of(path)
            notes += [note for note in encoding_note(codec) if note not in notes]
            rows.begin(path)
            for number, line in text_lines(path, codec):
                if line.strip():
                    rows.add(number, line.strip(), _LABEL_OF[path.name])
                else:
                    rows.leave_out(number, BLANK)
        return rows.content(notes)

    def roles(self, part: Part) -> Roles:
        """Texts with one of two labels."""
        return Roles("labelled_texts", ("text",), "label", labels=tuple(_LABEL_OF[path.name] for path in part.files))

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """By its name."""
        return name in _LABEL_OF

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content:
        """One text a line; no comma parts columns."""
        codec = encoding or codec_of(path)
        rows = Rows("text")
        rows.begin(path)
        for number, line in text_lines(path, codec):
            if line.strip():
                rows.add(number, line.strip())
            else:
                rows.leave_out(number, BLANK)
        return rows.content(encoding_note(codec))
