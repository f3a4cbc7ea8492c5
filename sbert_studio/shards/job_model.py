"""The model of a job: found once, and the same one in every process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import StudioError

if TYPE_CHECKING:
    from ..models.base import Encoder
    from ..models.catalog import Catalog
    from ..models.prompts import Role


def describe_model(catalog: Catalog, name: str, precision: str, role: Role = "plain") -> tuple[dict[str, Any], Encoder]:
    """A model as a job names it, ``{source, fingerprint, precision, dim}``; and the model.

    ``source`` leads to it on every machine: an id, or the path of a folder that all of them see. Where the prompt of ``role`` is not
    the default one, ``role`` is named too, and the fingerprint is that of the model with this prompt; and ``similarity_fn_name`` where
    the model does not compare by the cosine.

    Raises:
        StudioError: it cannot be loaded, or has no vectors.
    """
    from ..models.runtime import resolve_precision

    precision = resolve_precision(precision, catalog.device)
    plain, source = catalog.load(name, precision), catalog.resolve(name)
    encoder = plain.for_role(role)
    where = source.name if source.kind in ("bundled", "table", "foreign", "hub") or source.path is None else str(source.path.resolve())
    named = {"source": where, "fingerprint": encoder.fingerprint, "precision": precision, "dim": encoder.dim}
    more: dict[str, str] = {} if encoder is plain else {"role": role}
    more |= {} if encoder.similarity_name == "cosine" else {"similarity_fn_name": encoder.similarity_name}
    return {**named, **more}, encoder


def load_job_model(model: dict[str, Any], catalog: Catalog | None = None) -> Encoder:
    """The model that a job names, with the prompt of the job's role, as this machine has it.

    Raises:
        StudioError: it has none of that name, or another one.
    """
    from ..models.catalog import Catalog
    from ..settings import Settings
    from ..workspace import Workspace

    if catalog is None:
        settings = Settings.from_env()
        catalog = Catalog(Workspace(settings.home), device=settings.device)
    return load_unprompted_model(model, catalog).for_role(model.get("role", "plain"))


def load_unprompted_model(model: dict[str, Any], catalog: Catalog) -> Encoder:
    """The model that a job names, with its default prompt.

    Raises:
        StudioError: see :func:`load_described`.
    """
    encoder = catalog.load(model["source"], model["precision"], allow_folders=True)
    if encoder.for_role(model.get("role", "plain")).fingerprint != model["fingerprint"]:
        raise StudioError(
            f"the model {model['source']} is not the one that the vectors were made by", "put that one back, or encode into a new folder"
        )
    return encoder


def prompt_mismatch_notes(model: dict[str, Any], encoder: Encoder, wanted: Role) -> tuple[str, ...]:
    """Say that vectors were made with another prompt than a use of them wants, where they were.

    Args:
        model: as the job names it; encoder: that model with its default prompt.
    """
    made, wants = encoder.prompt_for_role(model.get("role", "plain")), encoder.prompt_for_role(wanted)
    if made == wants:
        return ()
    prompt = f"“{wants}”" if wants else "no prompt"
    was = f"“{made}”" if made else "no prompt"
    return (f"The vectors were made with {was}; the model asks for {prompt} here: encode with --prompt {wanted}.",)
