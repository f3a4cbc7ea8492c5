"""A name → where it leads: a model of a package, a table of words, a run of ours, a folder, or an id of the Hugging Face Hub."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...errors import StudioError
from ...identity import Identity
from ...wordvectors.pretrained import PACKAGED, load_pretrained
from ...workspace import Workspace, existing
from ..averages import averaged
from ..foreign import FOREIGN, require_installed
from .bundled import BUNDLED, bundled_folder, require_published, require_unpacked
from .digests import damage, require_whole
from .hub import HUB_ID, Hub

SourceKind = Literal["bundled", "table", "foreign", "run", "fitted", "folder", "hub"]
_RUN_ID = re.compile(r"run-[0-9a-f]{10}")
_FITTED_ID = re.compile(r"words-[0-9a-f]{10}")
_BASE_LINE = re.compile(r"^base_model:\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """Where a name leads.

    Attributes:
        kind: bundled, table (of word vectors that a package brings), foreign (computed by a package), run, fitted (a table
            of words of ours), folder or hub.
        name: as it should be shown.
        path: the folder that holds the model; None while a hub id has not been fetched, and of what has none.
        base: the portable id to note in what is tuned from it, or None.
    """

    kind: SourceKind
    name: str
    path: Path | None
    base: str | None = None


def find_source(name: str, workspace: Workspace, allow_folders: bool) -> Source:
    """Where ``name`` leads; nothing is loaded or fetched.

    Args:
        workspace: where our runs lie.
        allow_folders: whether the name may be a path.

    Raises:
        StudioError: it can be none of these, is a run without a model, or is a folder where none is allowed.
    """
    name = name.strip()
    for known, bundled in BUNDLED.items():
        if name == known or (bundled.exact and name == bundled.hub_id):
            return Source("bundled", known, bundled_folder(known, workspace), bundled.hub_id)
    if name in PACKAGED:
        return Source("table", name, workspace.tables / name, None)
    if name in FOREIGN:
        require_installed(name)
        return Source("foreign", name, None)
    if (ours := _made_here(name, workspace)) is not None:
        return ours
    if allow_folders and (path := existing(name)) is not None and path.is_dir():
        path = _model_within(path)
        return Source("folder", name, path, noted_base(path))
    if HUB_ID.fullmatch(name) and ".." not in name:
        return Source("hub", name, None, name)
    if not allow_folders:
        raise StudioError(f"there is no model {name[:100]!r}", "choose one from the list, or give a Hugging Face id")
    raise StudioError(
        f"there is no model or model folder {name[:200]!r}", f"choose {', '.join(BUNDLED)}, a run, a folder or a Hugging Face id"
    )


def _model_within(folder: Path) -> Path:
    """``folder``, or ``model/`` in it where the model lies there, as in the zip of a run."""

    def holds(place: Path) -> bool:
        return any((place / name).is_file() for name in ("config.json", "modules.json"))

    return folder / "model" if not holds(folder) and holds(folder / "model") else folder


def _made_here(name: str, workspace: Workspace) -> Source | None:
    """A run of ours, or a table of words that was learned or distilled here; ``None`` where the name is of neither."""
    if _RUN_ID.fullmatch(name):
        model = workspace.runs / name / "model"
        if not model.parent.is_dir():
            raise StudioError(
                f"the run {name} cannot be used: its folder is gone", "choose another model; `sbert-studio runs` lists the runs"
            )
        if not model.is_dir():
            raise StudioError(f"the run {name} has no finished model", "choose another model, or wait until the run is done")
        return Source("run", name, model, noted_base(model))
    if _FITTED_ID.fullmatch(name):
        model = workspace.fitted / name / "model"
        if not model.is_dir():
            raise StudioError(f"the word vectors {name} are not there any more", "choose another model, or fit them again")
        return Source("fitted", name, model, noted_base(model))
    return None


def fetched(source: Source, hub: Hub, identity: Identity) -> Path:
    """The model's folder, fetched where it is the hub's, made where it is that of a packaged table.

    Args:
        identity: on whose behalf the hub is asked.

    Raises:
        StudioError: it has none; or it cannot be fetched; or it is a run's and not what was written. A folder of the user's own may
            be changed by whoever likes.
    """
    if source.kind == "foreign":
        raise StudioError(
            f"{source.name} is frozen: it is used as it is, and cannot be tuned", f"choose {', '.join(BUNDLED)}, or a table of words"
        )
    if source.path is None:
        return hub.fetch(source.name, identity)
    if source.kind == "bundled":
        require_unpacked(source.name, source.path)
    if source.kind == "table" and (not source.path.is_dir() or damage(source.path)):
        averaged(load_pretrained(source.name)).save(source.path)
    if source.kind in ("run", "fitted"):
        require_whole(source.path, source.name)
    return source.path


def require_unaltered(source: Source, folder: Path) -> None:
    """Refuse the weights of a bundled model in ``folder`` where they are not the published ones.

    Raises:
        StudioError: they are not.
    """
    if source.kind == "bundled":
        require_published(source.name, folder)


def noted_base(folder: Path) -> str | None:
    """The base model that a folder's card names, where it is an id that another machine can resolve."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    text = card.read_text(encoding="utf-8", errors="replace")[:20_000]
    found = _BASE_LINE.search(text.split("\n---", 1)[0]) if text.startswith("---") else None
    if found is None:
        return None
    raw = found[1]
    try:
        base = json.loads(raw) if raw.startswith('"') else raw.strip("'")
    except ValueError:
        return None
    return base if isinstance(base, str) and HUB_ID.fullmatch(base) else None
