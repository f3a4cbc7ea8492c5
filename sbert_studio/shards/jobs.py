"""Jobs over shards: the manifest of a job, its model, and the receipts of finished shards.

Not to be confused with training runs (:mod:`sbert_studio.runs`) and background jobs of the page (:mod:`sbert_studio.services.jobs`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..i18n import _
from ..models.base import Encoder
from ..models.prompts import Role
from ..settings import Settings
from ..workspace import Workspace, atomic_file, digest_file, write_json
from . import MANIFEST, SHARD_ROWS
from .sources import SourceFile

if TYPE_CHECKING:
    from ..models.catalog import Catalog


FORMAT = 1
_SHARDS, _RECEIPTS = "shards", "receipts"
_STALE_SECONDS = 600  # seconds after which an incomplete file was left by a dead process; writing a shard takes less than one
_ROW_GROUP = 128  # small row groups, because looking up a row decompresses its whole group
_SHOWN_FIRST = ("source", "precision")  # settings named first in a difference
_NAMES = {"source": "model"}


@dataclass(frozen=True)
class Shard:
    """A range of rows of one source file, processed as a whole.

    Attributes:
        number: from 0, in row order.
        path: the source file.
        start: first row in that file.
        first: first row among all files.
    """

    number: int
    path: str
    start: int
    rows: int
    first: int


@dataclass(frozen=True)
class Job:
    """An operation over many rows.

    Attributes:
        work: one of :data:`~sbert_studio.shards.operations.OPERATIONS`.
        sources: the files, in order.
        settings: plain data that the operation needs and that its result depends on.
        shard_rows: maximum rows of a shard.
    """

    work: str
    sources: tuple[SourceFile, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    shard_rows: int = SHARD_ROWS

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """Shards in order; each belongs to a single file."""
        shards: list[Shard] = []
        first = 0
        for source in self.sources:
            for start in range(0, source.rows, self.shard_rows):
                shards.append(Shard(len(shards), source.path, start, min(self.shard_rows, source.rows - start), first + start))
            first += source.rows
        return tuple(shards)

    def source(self, shard: Shard) -> SourceFile:
        """Return the source file of a shard."""
        return next(source for source in self.sources if source.path == shard.path)

    @property
    def rows(self) -> int:
        """Number of rows of all sources."""
        return sum(source.rows for source in self.sources)

    @cached_property
    def key(self) -> str:
        """Digest of the manifest, 16 hex digits."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Return the manifest."""
        return {"format": FORMAT, **json.loads(json.dumps(dataclasses.asdict(self)))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Job:
        """Inverse of :meth:`to_json`.

        Raises:
            KeyError, TypeError, ValueError: the data has another format.
        """
        if data["format"] != FORMAT:
            raise ValueError(data["format"])
        sources = tuple(SourceFile(**source) for source in data["sources"])
        return cls(str(data["work"]), sources, dict(data["settings"]), int(data["shard_rows"]))

    def difference(self, other: Job) -> str:
        """Describe the first difference from another job; ``""`` if there is none."""
        if self.work != other.work:
            return _("it was started as {work}", work=other.work)
        for name in {**self.settings, **other.settings}:
            ours, theirs = self.settings.get(name), other.settings.get(name)
            if ours != theirs:
                return _describe_difference(name, ours, theirs)
        if self.shard_rows != other.shard_rows:
            return _(
                "its shards have {shard_rows} rows, not {shard_rows2}",
                shard_rows=f"{other.shard_rows:,}",
                shard_rows2=f"{self.shard_rows:,}",
            )
        return "" if self.sources == other.sources else "its input files are different or have changed"


def _describe_difference(name: str, ours: Any, theirs: Any) -> str:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        first = next(key for key in (*_SHOWN_FIRST, *ours, *theirs) if ours.get(key) != theirs.get(key))
        return _describe_difference(first, ours.get(first), theirs.get(first))
    values = ["not set" if value is None else str(value)[:80] for value in (theirs, ours)]
    return _("its {names} is {values}, not {values2}", names=_NAMES.get(name, name), values=values[0], values2=values[1])


@dataclass(frozen=True)
class Receipt:
    """Receipt of a finished shard.

    Attributes:
        rows: number of rows written.
        left_out: number of unusable source rows.
        sha256: digest of the shard's file.
        facts: data of the operation, such as the digest of the texts.
    """

    number: int
    rows: int
    left_out: int
    sha256: str
    bytes: int
    facts: Mapping[str, Any] = field(default_factory=dict)


class JobFolder:
    """Output folder of a job: manifest, shards and receipts. All participating machines write to it."""

    def __init__(self, path: Path) -> None:
        try:
            self.path = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # an unknown home folder, or a NUL character
            raise StudioError(_("{path} cannot be a folder", path=path), "check the path") from None

    def job(self) -> Job:
        """Return the job started in this folder.

        Raises:
            StudioError: there is none.
        """
        found = self._read_manifest()
        if found is None and not self.path.is_dir():
            raise StudioError(_("there is no folder {path}", path=self.path), "check the path")
        if found is None:
            raise StudioError(
                _("{name} contains no shards written by this program", name=self.path.name),
                "create them: sbert-studio encode FOLDER --out FOLDER",
            )
        return found

    def _read_manifest(self) -> Job | None:
        try:
            data = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
            found = Job.from_json(data)
            if data.get("key", found.key) != found.key:
                raise ValueError("the manifest was changed")
            return found
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise StudioError(_("the manifest of {name} cannot be read", name=self.path.name), "encode into another folder") from error

    def begin(self, job: Job) -> None:
        """Write the manifest, unless the same job was already started here.

        Raises:
            StudioError: the folder contains something else.
        """
        known = self._read_manifest()
        if known is not None and known.key != job.key:
            raise StudioError(
                _("{name} belongs to a different job: {difference}", name=self.path.name, difference=job.difference(known)),
                "specify another folder, or delete this one to start over",
            )
        if known is None:
            if self.path.exists() and (not self.path.is_dir() or any(not one.name.startswith(".") for one in self.path.iterdir())):
                raise StudioError(_("{name} already exists and contains something else", name=self.path.name), "specify a new folder")
            write_json(self.path / MANIFEST, {**job.to_json(), "key": job.key})
        for folder in (_SHARDS, _RECEIPTS):
            (self.path / folder).mkdir(exist_ok=True)
            for part in (self.path / folder).glob(".part-*"):
                with suppress(OSError):
                    if time.time() - part.stat().st_mtime > _STALE_SECONDS:
                        part.unlink()

    def shard(self, number: int) -> Path:
        """Return the path of a shard's Parquet file."""
        return self.path / _SHARDS / f"part-{number:06d}.parquet"

    def _receipt(self, number: int) -> Path:
        return self.path / _RECEIPTS / f"{number:06d}.json"

    def write_shard(self, job: Job, shard: Shard, table: Any, left_out: int, facts: Mapping[str, Any]) -> Receipt:
        """Write a shard's rows, then its receipt, each atomically.

        Writing a shard twice, for example if a worker was presumed dead, leaves the same file.
        """
        import pyarrow.parquet as pq

        table = table.replace_schema_metadata({"sbert_studio": json.dumps({"job": job.key, "shard": shard.number})})
        packed = {field.name: "zstd" for field in table.schema if field.name != "vector"}
        with atomic_file(self.shard(shard.number)) as part:
            pq.write_table(
                table, part, row_group_size=_ROW_GROUP, compression=packed | {"vector.list.element": "none"}, use_dictionary=False,
                write_statistics=list(packed), write_page_checksum=True,
            )  # fmt: skip
            digest, size = digest_file(part), part.stat().st_size
        receipt = Receipt(shard.number, table.num_rows, left_out, digest, size, dict(facts))
        data = {"job": job.key, **vars(receipt)}
        write_json(self._receipt(shard.number), {**data, "seal": _seal(data)})
        return receipt

    def receipts(self, job: Job, *, verify: bool = False) -> dict[int, Receipt]:
        """Return the receipts of finished shards by number, in order.

        Args:
            verify: check every shard's digest and omit damaged ones.
        """
        found = {}
        for shard in job.shards:
            try:
                data = json.loads(self._receipt(shard.number).read_text(encoding="utf-8"))
                is_sealed = data.pop("seal", None) == _seal(data)
                is_valid = is_sealed and data.pop("job") == job.key and self.shard(shard.number).stat().st_size == data["bytes"]
                receipt = Receipt(**data)
                if is_valid and (not verify or digest_file(self.shard(shard.number)) == receipt.sha256):
                    found[shard.number] = receipt
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
        return found

    def finished(self, job: Job) -> list[Receipt]:
        """Return the receipts of all shards.

        Raises:
            StudioError: some shards are not finished.
        """
        found = self.receipts(job)
        if len(found) < len(job.shards):
            raise StudioError(
                _(
                    "{name} is not finished: {found} of {shards} shards are done",
                    name=self.path.name,
                    found=f"{len(found):,}",
                    shards=f"{len(job.shards):,}",
                ),
                "run the same command again: it processes the missing shards",
            )
        return list(found.values())


def _seal(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def describe_model(catalog: Catalog, name: str, precision: str, role: Role = "plain") -> tuple[dict[str, Any], Encoder]:
    """Return a model's entry in a manifest, ``{source, fingerprint, precision, dim}``, and the model.

    ``source`` locates it on every machine: an id, or a folder path shared by all. ``role`` is added if its prompt is not the default one
    (the fingerprint then includes it), and ``similarity_fn_name`` if the model does not use cosine.
    """
    from ..models.inference.machine import resolve_precision

    precision = resolve_precision(precision, catalog.device)
    plain, source = catalog.load(name, precision), catalog.resolve(name)
    encoder = plain.for_role(role)
    where = source.name if source.kind in ("bundled", "table", "foreign", "hub") or source.path is None else str(source.path.resolve())
    named = {"source": where, "fingerprint": encoder.fingerprint, "precision": precision, "dim": encoder.dim}
    more: dict[str, str] = {} if encoder is plain else {"role": role}
    more |= {} if encoder.similarity_name == "cosine" else {"similarity_fn_name": encoder.similarity_name}
    return {**named, **more}, encoder


def load_job_model(model: dict[str, Any], catalog: Catalog | None = None) -> Encoder:
    """Load the model of a job with the prompt of the job's role.

    Raises:
        StudioError: this machine does not have the model, or has a different one.
    """
    from ..models.catalog import Catalog

    if catalog is None:
        settings = Settings.from_env()
        catalog = Catalog(Workspace(settings.home), device=settings.device)
    return load_unprompted_model(model, catalog).for_role(model.get("role", "plain"))


def load_unprompted_model(model: dict[str, Any], catalog: Catalog) -> Encoder:
    """Load the model of a job with its default prompt."""
    encoder = catalog.load(model["source"], model["precision"], allow_folders=True)
    if encoder.for_role(model.get("role", "plain")).fingerprint != model["fingerprint"]:
        raise StudioError(
            _("the model {source} differs from the one that encoded the vectors", source=model["source"]),
            "restore that model, or encode into a new folder",
        )
    return encoder


def prompt_mismatch_notes(model: dict[str, Any], encoder: Encoder, wanted: Role) -> tuple[str, ...]:
    """Return a note if vectors were encoded with a prompt other than the one that their use requires.

    Args:
        model: entry of the manifest.
        encoder: that model with its default prompt.
    """
    used, required = encoder.prompt_for_role(model.get("role", "plain")), encoder.prompt_for_role(wanted)
    if used == required:
        return ()
    before, after = (f"“{prompt}”" if prompt else "no prompt" for prompt in (used, required))
    return (
        _(
            "The vectors were encoded with {before}, but the model expects {after} here: encode with --role {wanted}.",
            before=before,
            after=after,
            wanted=wanted,
        ),
    )
