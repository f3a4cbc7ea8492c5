"""The model of a job: described in the manifest, so that every process loads the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import StudioError

if TYPE_CHECKING:
    from ..models.base import Encoder
    from ..models.catalog import Catalog
    from ..models.prompts import Role


def describe_model(catalog: Catalog, name: str, precision: str, role: Role = "plain") -> tuple[dict[str, Any], Encoder]:
    """Return a model's entry in a manifest, ``{source, fingerprint, precision, dim}``, and the model.

    ``source`` finds it on every machine: an id, or a folder path shared by all. ``role`` is added if its prompt is not the default one
    (the fingerprint then includes it), and ``similarity_fn_name`` if the model does not compare by the cosine.

    Raises:
        StudioError: the model cannot be loaded, or has no vectors.
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
        StudioError: this machine does not have it, or has a different one of that name.
    """
    from ..models.catalog import Catalog
    from ..settings import Settings
    from ..workspace import Workspace

    if catalog is None:
        settings = Settings.from_env()
        catalog = Catalog(Workspace(settings.home), device=settings.device)
    return load_unprompted_model(model, catalog).for_role(model.get("role", "plain"))


def load_unprompted_model(model: dict[str, Any], catalog: Catalog) -> Encoder:
    """Load the model of a job with its default prompt.

    Raises:
        StudioError: see :func:`load_job_model`.
    """
    encoder = catalog.load(model["source"], model["precision"], allow_folders=True)
    if encoder.for_role(model.get("role", "plain")).fingerprint != model["fingerprint"]:
        raise StudioError(
            f"the model {model['source']} is not the one that the vectors were made by", "put that one back, or encode into a new folder"
        )
    return encoder


def prompt_mismatch_notes(model: dict[str, Any], encoder: Encoder, wanted: Role) -> tuple[str, ...]:
    """Return a note if vectors were encoded with another prompt than their use requires.

    Args:
        model: entry of the manifest; ``encoder``: that model with its default prompt.
    """
    used, required = encoder.prompt_for_role(model.get("role", "plain")), encoder.prompt_for_role(wanted)
    if used == required:
        return ()
    before, after = (f"“{prompt}”" if prompt else "no prompt" for prompt in (used, required))
    return (f"The vectors were made with {before}; the model asks for {after} here: encode with --prompt {wanted}.",)
