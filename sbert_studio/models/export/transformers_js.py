"""Export for transformers.js: the ONNX graph, opened by Node.js."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ...i18n import _
from ..inference.batching import count_special_tokens
from .base import FORMATS
from .onnx import OnnxFormat

if TYPE_CHECKING:
    from ..sentence_encoder import SentenceEncoder

_PACKAGE = "@huggingface/transformers"


@FORMATS.register("transformers-js")
class TransformersJsFormat(OnnxFormat):
    """The layout that transformers.js reads, with a snippet for it and a script for Node.js."""

    title = "transformers.js"
    readers = "transformers.js in browsers and Node.js"
    packages = ("onnx",)
    script, usage = "export/transformers_js.mjs.j2", "export/usage_transformers_js.md.j2"
    script_file = "verify.mjs"
    tags = ("onnx", "transformers.js")
    install = "install Node.js, and run npm install @huggingface/transformers in the folder that contains the export"

    def missing(self, target: Path | None = None) -> list[str]:
        """Return the packages that are not installed; Node.js looks for its own in the folders above the export."""
        above = (target or Path("export")).absolute().parents
        has_package = any((folder / "node_modules" / _PACKAGE).is_dir() for folder in above)
        return [*super().missing(target), *([] if shutil.which("node") else ["node"]), *([] if has_package else [_PACKAGE])]

    def check(self, encoder: SentenceEncoder) -> None:
        """See :meth:`ExportFormat.check`."""
        super().check(encoder)
        if encoder.kind != "transformer":
            raise StudioError(_("{name} is not a transformer", name=encoder.name), "choose onnx or static")

    def script_values(self, encoder: SentenceEncoder) -> Mapping[str, Any]:
        """Return the largest number of tokens of a text, and the number of special tokens after it."""
        counts = count_special_tokens(getattr(encoder, "tokenizer").backend_tokenizer)  # noqa: B009
        return {"length": encoder.max_length, "after": counts[1] if counts else 0}

    def command(self) -> list[str]:
        """See :meth:`ExportFormat.command`."""
        return [shutil.which("node") or "node", self.script_file]
