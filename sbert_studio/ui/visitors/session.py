"""What a visitor's page works on, the files made for it, and the visitor's name."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...workspace import file_name

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...explore.map_edits import EditHistory, MapEdit
    from ...services.results import MapView

_AN_HOUR = 3600.0
_OWNER = re.compile(r"visitor-[0-9a-f]{16}")


@dataclass(frozen=True)
class Chosen:
    """A visitor's corpus, the file it came from and the columns it could have been.

    Attributes:
        id: by which a link brings it back, ``sample:…`` or ``file:…``; empty of what is not kept.
        labels: the column that the visitor filled on the map; empty where there is none.
        removed: the lines of texts that were removed on the map before ``earlier``.
        earlier: what was done on the map, of which labels and removed texts are in ``corpus`` already.
    """

    corpus: Corpus
    path: Path
    columns: tuple[str, ...]
    column: str
    id: str = ""
    labels: str = ""
    removed: tuple[int, ...] = ()
    earlier: Earlier | None = None


@dataclass(frozen=True)
class Earlier:
    """What a visitor did on a map, so that it is there again when the map is drawn anew, and can be undone.

    Attributes:
        start: the corpus that the map was drawn of.
        steps: what was done to it since.
        clusters: a digest of the clusters that it was done to.
    """

    start: Chosen
    steps: tuple[MapEdit, ...]
    clusters: str


@dataclass(frozen=True)
class Drawn:
    """A map on a visitor's page, what it was drawn from, and what was done to it.

    Attributes:
        corpus: the texts that are drawn; of very large ones a part.
        edits: labels, other clusters, removed texts.
        chosen: the visitor's corpus as it was before the edits; rows: where the drawn texts stand in it, all where ``None``.
        colour: the column that the points are coloured by; empty for clusters.
        notes: what to tell of what was done earlier.
    """

    corpus: Corpus
    view: MapView
    model: str | None
    edits: EditHistory
    chosen: Chosen
    rows: tuple[int, ...] | None = None
    colour: str = ""
    made: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Downloads:
    """Files made for one visitor, in the system's temporary folder; those of an hour ago go when another is made, all at the end.

    Args:
        seconds: how long, where not an hour.
    """

    def __init__(self, seconds: float = _AN_HOUR) -> None:
        self._folder: Path | None = None
        self._seconds = seconds

    def path(self, name: str) -> Path:
        """A path for a new file of that name, in a folder of its own."""
        folder = self._folder
        if folder is None or not folder.is_dir():  # the system may have tidied it away
            self._folder = folder = Path(tempfile.mkdtemp(prefix="sbert-studio-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for old in folder.iterdir():
            with suppress(FileNotFoundError):  # gone, for another visitor's file
                if time.time() - old.stat().st_mtime > self._seconds:
                    shutil.rmtree(old, ignore_errors=True)
        return Path(tempfile.mkdtemp(dir=folder)) / file_name(name)


def new_owner() -> str:
    """A name for a visitor on a shared page: it tells their runs from others', and protects nothing by itself."""
    return f"visitor-{secrets.token_hex(8)}"


def is_owner(name: object) -> bool:
    """Whether ``name`` could be one of :func:`new_owner`; the browser sends it, and may send any other ("local", "api")."""
    return isinstance(name, str) and _OWNER.fullmatch(name) is not None
