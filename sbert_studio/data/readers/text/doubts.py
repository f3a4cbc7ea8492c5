"""What a text file leaves open: its encoding and its delimiter, asked with rows of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...questions import Option, Question, Shown
from .codepages import LABELS
from .dialects import NONE, WORDS, Survey, records
from .encoding import Encoding

_SHOWN_LINES = 2
_LONGEST = 120
_FLAGS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", "  ": "blanks", NONE: "none"}


def encoding_doubts(path: Path, encoding: Encoding) -> tuple[Question, ...]:
    """Which of the encodings that the bytes could be in it is, if there are several: lines of the file under each."""
    if not encoding.rivals:
        return ()
    codecs = (encoding.codec, *encoding.rivals)
    lines = _telling(path, codecs)
    shown = tuple(Shown(number, (_decoded(line, codec),), read_as=LABELS[codec]) for number, line in lines for codec in codecs)
    options = tuple(Option(LABELS[codec], f"--encoding {codec}", {"encoding": codec}) for codec in codecs)
    why = "the file is not in UTF-8, and its letters read well in more than one encoding"
    return (Question("encoding", "In which of these encodings do the lines read right?", options, why, shown),)


def delimiter_doubts(start: Sequence[str], found: Sequence[Survey]) -> tuple[Question, ...]:
    """Which of several separators the cells have, if more than one cuts every line into as many."""
    if len(found) < 2:
        return ()
    shown: list[Shown] = []
    options = []
    for one in found:
        words = WORDS.get(one.dialect.delimiter, one.dialect.delimiter)
        flag = _FLAGS.get(one.dialect.delimiter, one.dialect.delimiter)
        options.append(Option(f"by {words}", f"--delimiter {flag}", {"delimiter": flag}))
        rows = records(start[:50], one.dialect)
        for place, row in enumerate(rows[:2], start=1):
            shown.append(Shown(place, tuple(cell[:_LONGEST] for cell in row), read_as=f"by {words}"))
    why = "more than one sign cuts every line into the same number of cells"
    return (Question("delimiter", "By which sign are the columns separated?", tuple(options), why, tuple(shown)),)


def one_column_doubt(start: Sequence[str], found: Survey) -> tuple[Question, ...]:
    """Whether the sign that stands once in every line separates two columns, or belongs to the texts."""
    words = WORDS.get(found.dialect.delimiter, found.dialect.delimiter)
    flag = _FLAGS.get(found.dialect.delimiter, found.dialect.delimiter)
    options = (
        Option("one text a line", "--delimiter none", {"delimiter": "none"}),
        Option(f"{found.width} columns", f"--delimiter {flag}", {"delimiter": flag}),
    )
    shown = tuple(Shown(place + 1, tuple(row)) for place, row in enumerate(records(start[:50], found.dialect)[:2]))
    why = f"every line has as many {words}, but sentences have them too"
    return (Question("delimiter", f"Do the {words} separate columns?", options, why, shown),)


def _telling(path: Path, codecs: Sequence[str]) -> list[tuple[int, bytes]]:
    """The first lines that read differently under the codecs, with their numbers."""
    found: list[tuple[int, bytes]] = []
    with path.open("rb") as source:
        number = 0
        while len(found) < _SHOWN_LINES and (line := source.readline(1 << 16)):
            number += 1
            if not line.isascii() and len({_decoded(line, codec) for codec in codecs}) > 1:
                found.append((number, line))
    return found


def _decoded(line: bytes, codec: str) -> str:
    return line.decode(codec, "replace").strip()[:_LONGEST]
