"""Document service: read documents, and cut them into passages that fit a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..data.documents.loading import DocumentLimits, is_document_source, load_documents
from ..data.documents.passages import OVERLAP, PASSAGE_TOKENS, TokenBudget, passage_table
from ..data.language import count_languages
from ..data.loading.table import Table
from ..datasets.search import find_datasets
from ..errors import StudioError
from ..models.base import Encoder
from ..models.prompts import Role
from ..progress import Progress
from ..shards import MANIFEST
from ..workspace import existing_path
from .languages import LanguageService
from .resources import Resources, Service

if TYPE_CHECKING:
    from ..data.documents.document import Documents

Unit = Literal["document", "passage"]
_TOTAL_FACTOR = 4  # an upload may be this many times as large when it is unpacked
_ROLES: tuple[Role, ...] = ("document", "symmetric", "plain")
_LANGUAGE_SAMPLE = 500
_LANGUAGE_CHARACTERS = 4_000


class DocumentService(Service):
    """Documents of any supported format, and their passages."""

    def __init__(self, resources: Resources, languages: LanguageService) -> None:
        super().__init__(resources)
        self._languages = languages

    def is_source(self, path: object) -> bool:
        """Return True for what is read as documents: see :func:`~sbert_studio.data.documents.loading.is_document_source`.

        A folder of shards or of a public benchmark is not; other folders are only on this machine's own command line.
        """
        if not isinstance(path, str | Path):
            return False
        folder = existing_path(path) or Path(path)
        if folder.is_dir():
            return self._resources.allow_folders and not (folder / MANIFEST).is_file() and not _is_benchmark(folder)
        return is_document_source(folder)

    def load(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        name: str | None = None,
        column: str | None = None,
        progress: Progress | None = None,
    ) -> Documents:
        """Read documents; see :func:`~sbert_studio.data.documents.loading.load_documents`.

        Args:
            column: of tables, the column of the texts.
        """
        most = self.settings.max_upload_mb << 20
        limits = DocumentLimits(file_bytes=most, total_bytes=_TOTAL_FACTOR * most)
        return load_documents(paths, name=name, text_column=column, limits=limits, progress=progress)

    def read_passages(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        name: str | None = None,
        column: str | None = None,
        model: str | None = None,
        progress: Progress | None = None,
    ) -> Table:
        """Read documents and cut them into passages: one row each (:func:`~sbert_studio.data.documents.passages.passage_table`).

        Args:
            model: the model whose token limit applies; by default the one for the language of the documents.
            progress: called with (files read, files), then with (documents cut, documents).
        """
        documents = self.load(paths, name=name, column=column, progress=progress)
        return passage_table(documents, self.budget(documents, model), OVERLAP, progress)

    def budget(self, documents: Documents, model: str | None = None) -> TokenBudget:
        """Return the number of tokens that a passage may have: that of the model with its longest prompt, at most 256."""
        if model is None or self.catalog.is_cross_encoder(model):
            sample = [document.text[:_LANGUAGE_CHARACTERS] for document in documents.documents[:_LANGUAGE_SAMPLE]]
            model = self._languages.default_model(count_languages(sample))
        return passage_budget(self.catalog.load_vector_encoder(model))


def passage_budget(encoder: Encoder) -> TokenBudget:
    """Return the number of tokens that a passage may have for an encoder with any of its prompts."""
    limit = min(encoder.max_length, PASSAGE_TOKENS)
    views = [tokens for role in _ROLES if (tokens := encoder.for_role(role).tokens) is not None]
    if not views:
        return TokenBudget(lambda texts: [len(text.encode("utf-8")) // 3 for text in texts], limit)
    return TokenBudget(max(views, key=lambda tokens: tokens.count_tokens([""])[0]).count_tokens, limit)


def _is_benchmark(folder: Path) -> bool:
    try:
        return bool(find_datasets(folder))
    except StudioError:
        return False
