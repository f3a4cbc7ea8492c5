"""Export service: verified exports of models and runs for other runtimes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..data.corpus import Corpus, find_text_columns
from ..data.loading.table import read_table
from ..data.samples import default_sample
from ..errors import StudioError
from ..i18n import _
from ..serialization import JsonResult, doc
from .data import DataService
from .jobs import BeginPhase
from .resources import Resources, Service
from .static_embeddings import list_static_models

if TYPE_CHECKING:
    from ..models.export import ExportedModel


@dataclass(frozen=True)
class FormatInfo(JsonResult):
    """A format that models can be exported to."""

    name: str
    title: str
    readers: Annotated[str, doc("programs that read it")]
    cost: Annotated[str, doc("what it costs compared with the original")]
    bytes: Annotated[int, doc("estimated size; 0 if unknown")]
    extra: Annotated[str, doc("optional dependency of sbert-studio that writes and verifies it")]
    missing: Annotated[tuple[str, ...], doc("packages that are not installed")]
    install: Annotated[str, doc("how to install them")]


class ExportService(Service):
    """Exports that are opened by their own runtime and compared with the original before they are kept."""

    def __init__(self, resources: Resources, data: DataService) -> None:
        super().__init__(resources)
        self._data = data

    def list_formats(self, model: str | None = None, path: Path | None = None) -> list[FormatInfo]:
        """Return the formats, with the estimated size of an export of ``model`` to ``path``; no model is loaded."""
        from ..models.export import FORMATS
        from ..models.export.base import install_hint
        from ..models.io.sources import describe_source

        weights = 0 if model is None else describe_source(self.catalog.resolve(model)).parameters
        forms = [FORMATS[name]() for name in FORMATS]
        return [
            FormatInfo(
                form.name,
                form.title,
                form.readers,
                form.cost,
                int(weights * form.size),
                form.extra,
                tuple(form.missing(path)),
                install_hint(form),
            )
            for form in forms
        ]

    def require_ready(self, format_name: str, path: str | Path) -> None:
        """Raise a StudioError if a package is missing, or ``path`` holds other files; takes no time."""
        from ..models.export import FORMATS
        from ..models.export.base import require_free, require_packages

        target = Path(path).expanduser()
        require_packages(FORMATS[format_name](), target)
        require_free(target)

    def export(
        self,
        model: str,
        format_name: str,
        path: str | Path,
        *,
        data: str | Path | Corpus | None = None,
        column: str | None = None,
        truncate_dim: int = 0,
        begin_phase: BeginPhase | None = None,
    ) -> ExportedModel:
        """Export a model or the model of a finished run into a folder, or into a zip if ``path`` ends in ``.zip``.

        The export is compared with the original on 200 texts: those of ``data``, else a run's held-out rows, else a sample corpus.

        Args:
            format_name: one of :data:`~sbert_studio.models.export.FORMATS`.
            data, column: texts, or a file with texts and its text column.
            truncate_dim: number of components that the exported vectors keep; 0 for the model's own.
            begin_phase: called at the beginning of each phase.

        Raises:
            StudioError: the model has no more components, a package is missing, the format cannot represent the model, or the export
                differs from it.
        """
        from ..models.export import FORMATS, export_encoder
        from ..models.sentence_encoder import SentenceEncoder

        self.require_ready(format_name, path)
        form, target = FORMATS[format_name](), Path(path).expanduser()
        source = self.catalog.resolve(model)
        if source.kind == "foreign" or self.catalog.is_cross_encoder(model) or self.catalog.is_poly_encoder(model):
            raise StudioError(_("{model} is not a sentence encoder and cannot be exported", model=model), "choose a sentence encoder")
        texts, where = self._texts(model, data, column)
        encoder = self.catalog.load_trainable(model)
        assert isinstance(encoder, SentenceEncoder)
        if source.kind == "run":
            encoder.name = self.store.get(model).name
        elif source.kind == "fitted":
            encoder.name = next(one.name for one in list_static_models(self.workspace) if one.id == model)
        if truncate_dim >= encoder.dim:
            message = _(
                "the vectors of {name} have {dim} components, which cannot be truncated to {count}",
                name=encoder.name,
                dim=encoder.dim,
                count=truncate_dim,
            )
            raise StudioError(message, "choose a smaller number, or omit it")
        encoder = encoder.with_settings(truncate_dim=truncate_dim)
        card = None if source.path is None else source.path / "README.md"
        text = card.read_text(encoding="utf-8") if card is not None and card.is_file() else encoder.card()
        return export_encoder(encoder, form, target, texts, where, card=text, begin_phase=begin_phase)

    def _texts(self, model: str, data: str | Path | Corpus | None, column: str | None) -> tuple[Sequence[str], str]:
        """Return the texts to verify an export with, and where they are from."""
        from ..runs.files import RunFiles
        from ..training.artifacts import HELD_OUT

        if isinstance(data, Corpus):
            return spread(data.texts), _("from {file}", file=data.name)
        if data is not None:
            found, table = self._data.read_texts(data, column, model=model)
            return spread(list(found.texts)), _("from {file}", file=table.name)
        folder = self.workspace.home / "runs" / model
        if (folder / HELD_OUT).is_file():
            rows = [json.loads(line)["texts"] for line in (folder / HELD_OUT).read_text(encoding="utf-8").splitlines()]
            return spread([text for row in rows for text in row]), "the held-out rows of the run"
        if (folder / "learned.parquet").is_file():
            columns = RunFiles(folder).examples()[0].texts
            return spread([text for row in zip(*columns, strict=True) for text in row]), "the training rows of the run"
        sample = default_sample("en", "corpus")
        if sample is None:
            raise StudioError("there are no texts to verify the export with", "choose a file with texts")
        table = read_table(sample.path)
        return spread(table.column(find_text_columns(table)[0])), _("the sample file {file}", file=sample.path.name)


def spread(texts: Sequence[str]) -> list[str]:
    """Return as many distinct texts as are compared, or fewer, evenly spread over all."""
    from ..models.export.verification import MOST_TEXTS

    distinct = list(dict.fromkeys(text for text in texts if text and text.strip()))
    count = min(len(distinct), MOST_TEXTS)
    return [distinct[row * len(distinct) // count] for row in range(count)]
