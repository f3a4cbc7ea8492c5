"""Tables of words that were learned or distilled here: each in a folder of its own, ``fitted/<id>``, beside a file that tells of it."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ...workspace import Workspace, atomic_file, write_json

if TYPE_CHECKING:
    from ...settings import Limits

_FILE = "fitted.json"
_LEFT = 24 * 3600  # seconds


@dataclass(frozen=True)
class FittedModel:
    """What is known of one.

    Attributes:
        id: by which every verb takes it.
        name: what people call it.
        owner: whose it is.
        kind: how it was made, such as ``glove`` or ``static``.
        created: in UTC, ISO 8601.
        notes: what should be told of it.
    """

    id: str
    name: str
    owner: str
    kind: str
    created: str
    notes: tuple[str, ...] = ()

    @classmethod
    def new(cls, name: str, owner: str, kind: str, notes: tuple[str, ...] = ()) -> FittedModel:
        """One that is made now."""
        created = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(f"words-{secrets.token_hex(5)}", name, owner, kind, created, notes)

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return {**self.__dict__, "notes": list(self.notes)}


def folder_of(workspace: Workspace, model_id: str) -> Path:
    """Where the model of that id lies; it need not be there."""
    return workspace.fitted / model_id / "model"


@contextmanager
def entered(workspace: Workspace, record: FittedModel) -> Iterator[Path]:
    """Enter a model into the list once its folder, which is given, was written; nothing is left of one that could not be written."""
    _sweep(workspace)
    try:
        yield folder_of(workspace, record.id)
        write_json(workspace.fitted / record.id / _FILE, record.to_json())
    except BaseException:
        shutil.rmtree(workspace.fitted / record.id, ignore_errors=True)
        raise


def _sweep(workspace: Workspace) -> None:
    """Remove what programs that were killed have left: folders that nothing tells of, a day after."""
    for folder in workspace.fitted.glob("words-*"):
        with suppress(OSError):
            if not (folder / _FILE).exists() and time.time() - folder.stat().st_mtime > _LEFT:
                shutil.rmtree(folder, ignore_errors=True)


def fitted_models(workspace: Workspace, owner: str | None = None) -> list[FittedModel]:
    """Those (of one owner) that are there, newest first; what cannot be read is passed over."""
    found = []
    for path in workspace.fitted.glob(f"words-*/{_FILE}"):
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            record = FittedModel(**{**values, "notes": tuple(map(str, values["notes"]))})
        except (OSError, ValueError, TypeError, KeyError):
            continue
        if record.id == path.parent.name and owner in (None, record.owner):
            found.append(record)
    return sorted(found, key=lambda record: record.created, reverse=True)


def delete(workspace: Workspace, model_id: str, owner: str | None = None) -> None:
    """Remove one.

    Raises:
        StudioError: the owner has none of that id.
    """
    if model_id not in {record.id for record in fitted_models(workspace, owner)}:
        raise StudioError(f"there are no word vectors {model_id[:80]!r}", "reload the list")
    shutil.rmtree(workspace.fitted / model_id, ignore_errors=True)


def write_zip(workspace: Workspace, model_id: str, target: Path) -> Path:
    """The model's folder as a zip.

    Raises:
        StudioError: it is gone.
    """
    folder = folder_of(workspace, model_id)
    if not folder.is_dir():
        raise StudioError(f"the word vectors {model_id} are not there any more", "choose another model")
    with atomic_file(target.with_suffix(".zip")) as part:
        made = shutil.make_archive(str(part.with_suffix("")), "zip", folder)
        if Path(made) != part:
            Path(made).replace(part)
    return target.with_suffix(".zip")


def remove_old_fitted(workspace: Workspace, limits: Limits, now: datetime) -> list[str]:
    """Remove those whose days are over, where a shared page sets how long things are kept; their ids."""
    gone = []
    for record in fitted_models(workspace) if limits.keep_days else ():
        if now >= datetime.fromisoformat(record.created) + timedelta(days=limits.keep_days):
            delete(workspace, record.id)
            gone.append(record.id)
    return gone
