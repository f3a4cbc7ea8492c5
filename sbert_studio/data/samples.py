"""The bundled sample files and example texts, which let every tab work without an upload."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..errors import StudioError
from ..i18n import _
from ..workspace import assets

ASSETS = assets()
_FIELDS = ("id", "title", "kind", "description", "language")


@dataclass(frozen=True)
class Sample:
    """A sample file: its stable id, display name, kind (``corpus``, or the kind of its examples), description and ISO 639-1 language."""

    id: str
    title: str
    kind: str
    path: Path
    description: str
    language: str


def list_samples() -> list[Sample]:
    """Return all samples in index order; empty if the assets are not installed."""
    index = ASSETS / "samples" / "index.json"
    if not index.is_file():
        return []
    return [
        # Only the base name is used, so that the index cannot refer to files outside its folder.
        Sample(path=index.parent / Path(entry["file"]).name, **{name: entry[name] for name in _FIELDS})
        for entry in json.loads(index.read_text(encoding="utf-8"))
    ]


def get_sample(sample_id: str) -> Sample:
    """Return the sample with the given id; raise a ``StudioError`` if it does not exist."""
    samples = {sample.id: sample for sample in list_samples()}
    if sample_id not in samples:
        raise StudioError(
            _("there is no sample called {sample_id}", sample_id=repr(sample_id)),
            _("the samples are: {samples}", samples=", ".join(samples) or "none"),
        )
    return samples[sample_id]


def default_sample(language: str, *kinds: str) -> Sample | None:
    """Return the first sample of these kinds in ``language``, else in any language; ``None`` if there is none."""
    matching = [sample for sample in list_samples() if sample.kind in kinds]
    return min(matching, key=lambda sample: sample.language != language, default=None)


@dataclass(frozen=True)
class SampleTexts:
    """Default texts of the page: two to compare, a list to compare with each other, and a query for the first sample corpus."""

    first: str
    second: str
    several: tuple[str, ...]
    query: str


def sample_texts(language: str) -> SampleTexts:
    """Return the example texts in a language, or in English if there are none."""
    path = ASSETS / "samples" / "examples.json"
    if not path.is_file():
        raise StudioError("the example texts of the page are not installed", "reinstall the program")
    by_language = json.loads(path.read_text(encoding="utf-8"))
    texts = by_language.get(language, by_language["en"])
    return SampleTexts(texts["first"], texts["second"], tuple(texts["several"]), texts["query"])


def sample_lines(each: int = 16, joined: int = 12) -> list[str]:
    """Return ``each`` lines of every sample file in two languages, and a long text of ``joined`` lines per file, shortest first."""
    found: list[str] = []
    for sample in list_samples():
        lines = [line for line in sample.path.read_text(encoding="utf-8").splitlines() if line.strip()]
        found += lines[:: max(1, len(lines) // each)][:each]
        found.append(" ".join(lines[1 : joined + 1]))
    return sorted(found, key=len)
