"""The sample sets that come with the studio, so that every tab does something on the first click."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..assets import assets
from ..errors import StudioError

ASSETS = assets()


@dataclass(frozen=True)
class Sample:
    """One sample set.

    Attributes:
        id: its stable name.
        title: what people see.
        kind: ``corpus``, or the kind of its examples.
        path: the file.
        description: a sentence about it.
        language: an ISO 639-1 code.
    """

    id: str
    title: str
    kind: str
    path: Path
    description: str
    language: str


def samples() -> list[Sample]:
    """All sample sets, in the order of their list; empty where the assets were not installed."""
    index = ASSETS / "samples" / "index.json"
    if not index.is_file():
        return []
    return [
        Sample(
            id=entry["id"],
            title=entry["title"],
            kind=entry["kind"],
            # The bare name: a list of samples never points out of its own folder.
            path=index.parent / Path(entry["file"]).name,
            description=entry["description"],
            language=entry["language"],
        )
        for entry in json.loads(index.read_text(encoding="utf-8"))
    ]


def sample(sample_id: str) -> Sample:
    """The sample set of that id.

    Raises:
        StudioError: there is none.
    """
    known = samples()
    for found in known:
        if found.id == sample_id:
            return found
    raise StudioError(f"there is no sample called {sample_id!r}", f"the samples are: {', '.join(found.id for found in known) or 'none'}")


def first_sample(language: str, *kinds: str) -> Sample | None:
    """Return the sample with which a page in ``language`` begins: the first of these kinds in it, else the first of any language."""
    fitting = [found for found in samples() if found.kind in kinds]
    return min(fitting, key=lambda found: found.language != language, default=None)


@dataclass(frozen=True)
class Examples:
    """The texts in the boxes of a page that was just opened.

    Attributes:
        first, second: two texts to compare.
        several: texts to compare all with all.
        query: what is looked for in the first sample corpus.
    """

    first: str
    second: str
    several: tuple[str, ...]
    query: str


def examples(language: str) -> Examples:
    """Return the example texts in a language; in English where there are none in it.

    Raises:
        StudioError: the assets were not installed.
    """
    path = ASSETS / "samples" / "examples.json"
    if not path.is_file():
        raise StudioError("the example texts of the page are not installed", "install the program again")
    held = json.loads(path.read_text(encoding="utf-8"))
    found = held.get(language, held["en"])
    return Examples(found["first"], found["second"], tuple(found["several"]), found["query"])


def sample_lines(each: int = 16, whole: int = 12) -> list[str]:
    """Lines of the files of all sample sets, as they stand there: texts of many kinds in two languages, and a long one of each set.

    Args:
        each: lines of a file. whole: lines that make up the long one.
    """
    found: list[str] = []
    for known in samples():
        lines = [line for line in known.path.read_text(encoding="utf-8").splitlines() if line.strip()]
        found += lines[:: max(1, len(lines) // each)][:each]
        found.append(" ".join(lines[1 : whole + 1]))
    return sorted(found, key=len)
