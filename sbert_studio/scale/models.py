"""The model of a job: found once, and the same one in every process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import StudioError

if TYPE_CHECKING:
    from ..encoders.base import Encoder
    from ..encoders.catalog import Catalog


def described(catalog: Catalog, name: str, precision: str) -> tuple[dict[str, Any], Encoder]:
    """A model as a job names it, ``{source, fingerprint, precision, dim}``; and the model.

    ``source`` leads to it on every machine: an id, or the path of a folder that all of them see.

    Raises:
        StudioError: it cannot be loaded, or has no vectors.
    """
    from ..encoders.runtime import resolve_precision

    precision = resolve_precision(precision, catalog.device)
    encoder, source = catalog.load(name, precision), catalog.resolve(name)
    where = source.name if source.kind in ("bundled", "table", "foreign", "hub") or source.path is None else str(source.path.resolve())
    return {"source": where, "fingerprint": encoder.fingerprint, "precision": precision, "dim": encoder.dim}, encoder


def load_described(model: dict[str, Any], catalog: Catalog | None = None) -> Encoder:
    """The model that a job names, as this machine has it.

    Raises:
        StudioError: it has none of that name, or another one.
    """
    from ..encoders.catalog import Catalog
    from ..settings import Settings
    from ..workspace import Workspace

    if catalog is None:
        settings = Settings.from_env()
        catalog = Catalog(Workspace(settings.home), device=settings.device)
    encoder = catalog.load(model["source"], model["precision"], allow_folders=True)
    if encoder.fingerprint != model["fingerprint"]:
        raise StudioError(
            f"the model {model['source']} is not the one that the vectors were made by", "put that one back, or encode into a new folder"
        )
    return encoder
