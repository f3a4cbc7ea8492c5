"""Export as a sentence-transformers folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import StudioError
from ...i18n import _
from .base import FORMATS, ExportFormat
from .verification import Floor

if TYPE_CHECKING:
    from ..sentence_encoder import SentenceEncoder


@FORMATS.register("sentence-transformers")
class SentenceTransformersFormat(ExportFormat):
    """A folder of Safetensors weights, as the Hub has them."""

    title = "sentence-transformers"
    readers = "sentence-transformers, text-embeddings-inference, LangChain, LlamaIndex and most vector databases"
    extra = "peers"
    packages = ("sentence_transformers",)
    floor = Floor(cosine=0.9999, mean_cosine=0.99999, top10=0.99)
    script, usage = "export/sentence_transformers.py.j2", "export/usage_folder.md.j2"
    has_original_layout = True

    def check(self, encoder: SentenceEncoder) -> None:
        """See :meth:`ExportFormat.check`."""
        if not encoder.portable:
            raise StudioError(
                _("{name} contains a module that sentence-transformers does not have", name=encoder.name), "it opens in SBERT Studio only"
            )

    def write(self, encoder: SentenceEncoder, folder: Path) -> None:
        """See :meth:`ExportFormat.write`."""
        encoder.write_files(folder)
