"""Work that a signed-in visitor keeps in a private data set of their own account, and gets back when they sign in again.

The data set may have been changed by its owner, so that what is restored from it is checked like an upload: only finished runs, static
models, uploads and the basket are restored, as the visitor's own, and files refer to no other folder.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..runs.run import RUN_FILE, load_run, utc_now
from ..workspace import write_json
from .mirror import Mirror
from .mirror_storage import HubStorage
from .resources import Resources, Service
from .static_embeddings import list_static_models

REPOSITORY = "sbert-studio-work"
_ME = "me"  # the visitor's id in the data set: it differs between browsers and hosts
_OWNED = ("runs/", "fitted/")


@dataclass(frozen=True)
class KeptWork:
    """URL of the data set, and the number of runs, models and files written or restored."""

    url: str
    units: int


class KeptWorkService(Service):
    """Saves a visitor's work to a private data set of the Hugging Face Hub, and restores it."""

    def __init__(self, resources: Resources) -> None:
        super().__init__(resources)
        self._restored: set[str] = set()

    def keep(self, visitor: str, token: str, endpoint: str | None = None) -> KeptWork:
        """Save finished runs, static models, uploads and the basket of a visitor in the account of ``token``.

        Raises:
            StudioError: the token lacks permission, the data set is public, or the Hub cannot be reached.
        """
        storage = HubStorage(REPOSITORY, token, endpoint)
        names = _Names(self, visitor)
        mirror = self._mirror(storage, names)
        names.units = mirror.compare()
        return KeptWork(storage.url, mirror.sync())

    def restore(self, visitor: str, token: str, endpoint: str | None = None) -> KeptWork | None:
        """Restore what the account of ``token`` keeps and the visitor lacks; ``None`` if it keeps nothing.

        Raises:
            StudioError: see :meth:`keep`.
        """
        try:
            storage = HubStorage(REPOSITORY, token, endpoint, create=False)
        except LookupError:
            return None
        return KeptWork(storage.url, self._mirror(storage, _Names(self, visitor)).restore())

    def restore_once(self, visitor: str, token: str, endpoint: str | None = None) -> KeptWork | None:
        """Restore like :meth:`restore`; ``None`` if that was done for this visitor and token before."""
        key = hashlib.sha256(f"{visitor} {token}".encode()).hexdigest()
        if key in self._restored:
            return None
        found = self.restore(visitor, token, endpoint)
        self._restored.add(key)
        return found

    def _mirror(self, storage: HubStorage, names: _Names) -> Mirror:
        return Mirror(
            self.workspace.home,
            lambda: storage,
            wanted=names.is_own,
            to_home=names.to_home,
            to_storage=names.to_storage,
            adapt=names.adopt,
            max_bytes=self.settings.limits.uploads_mb << 20,
        )

    def owned(self, visitor: str) -> set[str]:
        """Return the finished runs and static models of a visitor, as units."""
        runs = {f"runs/{run.id}" for run in self.store.runs(visitor, "finished")}
        return runs | {f"fitted/{record.id}" for record in list_static_models(self.workspace, visitor)}


class _Names:
    """Names of a visitor's units in the data set and in the home folder.

    A run whose id another visitor of this machine has already, such as the same person in another browser, gets an id that is derived from
    both: nothing of another visitor is overwritten or handed over.
    """

    def __init__(self, service: KeptWorkService, visitor: str) -> None:
        self._service, self._visitor = service, visitor
        self._home = service.workspace.home
        self._owned = service.owned(visitor)
        self.units: set[str] = set()  # in the data set

    def is_own(self, unit: str) -> bool:
        if unit.startswith(_OWNED):
            return unit in self._owned or not (self._home / unit).exists()
        return unit.startswith(f"uploads/{self._visitor}/") or unit == f"baskets/{self._visitor}.json"

    def to_home(self, unit: str) -> str:
        if unit.startswith(_OWNED):
            return unit if unit in self._owned or not (self._home / unit).exists() else self._derived(unit)
        for stored, own in self._pairs():
            if unit.startswith(stored):
                return own + unit.removeprefix(stored)
        return ""  # another visitor's, or a file of the host

    def to_storage(self, unit: str) -> str:
        if unit.startswith(_OWNED):
            return next((stored for stored in self.units if stored.startswith(_OWNED) and self._derived(stored) == unit), unit)
        return next(stored + unit.removeprefix(own) for stored, own in self._pairs() if unit.startswith(own))

    def adopt(self, unit: str, part: Path) -> None:
        """Make a restored unit the visitor's own. Its retention time begins again.

        Raises:
            ValueError: it is not finished, or refers to files of others.
        """
        unit_id = unit.rpartition("/")[2]
        if unit.startswith("runs/"):
            self._adopt_run(unit_id, part)
        elif unit.startswith("fitted/"):
            record = _read(part / "fitted.json")
            write_json(part / "fitted.json", {**record, "id": unit_id, "owner": self._visitor, "created": utc_now()})
        elif unit.startswith("uploads/"):
            write_json(part / "about.json", {**_read(part / "about.json"), "used": time.time()})

    def _adopt_run(self, run_id: str, part: Path) -> None:
        values = _read(part / RUN_FILE)
        if values.get("status") != "finished" or not (part / "model").is_dir():
            raise ValueError("not a finished run")
        for source in _read(part / "source.json").values():
            name = source.get("file") if isinstance(source, Mapping) else None
            if not isinstance(name, str) or Path(name).name != name or not (part / name).is_file():
                raise ValueError("its data are not in its folder")
        values |= {"id": run_id, "owner": self._visitor, "model_path": f"runs/{run_id}/model", "created": utc_now()}
        text = json.dumps(values, ensure_ascii=False, indent=1).encode("utf-8", "replace")
        load_run(text, run_id, self._home)
        (part / RUN_FILE).write_bytes(text)

    def _derived(self, unit: str) -> str:
        kind, _slash, name = unit.partition("/")
        digest = hashlib.sha256(f"{self._visitor} {name}".encode()).hexdigest()[:10]
        return f"{kind}/{name.partition('-')[0]}-{digest}"

    def _pairs(self) -> tuple[tuple[str, str], ...]:
        return (f"uploads/{_ME}/", f"uploads/{self._visitor}/"), (f"baskets/{_ME}.json", f"baskets/{self._visitor}.json")


def _read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError("damaged")
    return found
