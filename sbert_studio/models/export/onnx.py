"""Exports to ONNX, in float32 and int8; pooling, projection and normalization are part of the graph."""

from __future__ import annotations

import copy
import logging
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from ...errors import StudioError
from ...i18n import _
from ..io.settings import GeneralSettings, write_general_settings
from ..quantized import dense_embeddings
from .base import FORMATS, ExportFormat
from .verification import Floor

if TYPE_CHECKING:
    from ..sentence_encoder import SentenceEncoder

ONNX_FILE = "onnx/model.onnx"
_OPSET = 17
_AXES = {0: "texts", 1: "tokens"}
# Second linear layer of each feed-forward block, whose inputs have the largest outliers, in the names of all supported networks.
_DOWN_PROJECTION = re.compile(r"(?<!/attention)/output/dense/|/ffn/lin2/|/mlp/(?:Wo|down_proj)/")


@FORMATS.register("onnx")
class OnnxFormat(ExportFormat):
    """An ONNX graph from token ids to vectors, with the tokenizer beside it."""

    title = "ONNX"
    readers = "ONNX Runtime in Python, C++, C#, Java, Rust and JavaScript"
    extra = "onnx"
    packages: ClassVar[tuple[str, ...]] = ("onnx", "onnxruntime")
    floor = Floor(cosine=0.9999, mean_cosine=0.99999, top10=0.99)
    script, usage = "export/onnx.py.j2", "export/usage_verify.md.j2"
    tags: ClassVar[tuple[str, ...]] = ("onnx",)
    file = ONNX_FILE

    def check(self, encoder: SentenceEncoder) -> None:
        """See :meth:`ExportFormat.check`."""
        require_graph(encoder, self.title)

    def write(self, encoder: SentenceEncoder, folder: Path) -> None:
        """See :meth:`ExportFormat.write`."""
        write_without_weights(encoder, folder)
        write_graph(encoder, folder / self.file)

    def script_values(self, encoder: SentenceEncoder) -> Mapping[str, Any]:
        """Return the file of the graph, and whether the tokenizer adds special tokens."""
        return {"file": self.file, "special": encoder.kind == "transformer"}


@FORMATS.register("onnx-int8")
class OnnxInt8Format(OnnxFormat):
    """The ONNX graph with weights of 8 bits; activations are quantized while it runs."""

    title = "ONNX int8"
    cost = "a quarter of the size; slightly different vectors"
    size = 1.0
    floor = Floor(cosine=0.95, mean_cosine=0.98, top10=0.85, length_error=0.01)
    file = "onnx/model_quantized.onnx"
    keeps_down_projections = False

    def variants(self, encoder: SentenceEncoder) -> Sequence[ExportFormat]:
        """Return this format and, for transformers, one that keeps the layers most sensitive to quantization in float32."""
        larger = copy.copy(self)
        larger.keeps_down_projections = True
        larger.note = (
            "The second linear layer of each feed-forward block is in float32: with all layers in int8, the vectors differed too much."
        )
        return (self, larger) if encoder.kind == "transformer" else (self,)

    def write(self, encoder: SentenceEncoder, folder: Path) -> None:
        """See :meth:`ExportFormat.write`."""
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic

        write_without_weights(encoder, folder)
        whole = folder / ONNX_FILE
        write_graph(encoder, whole)
        names = [node.name for node in onnx.load(whole).graph.node] if self.keeps_down_projections else []
        kept = [name for name in names if _DOWN_PROJECTION.search(name)]
        before = logging.root.manager.disable
        logging.disable(logging.WARNING)  # advice on a step before it, which gains nothing here
        try:
            quantize_dynamic(whole, folder / self.file, weight_type=QuantType.QInt8, per_channel=True, nodes_to_exclude=kept)
        finally:
            logging.disable(before)
        whole.unlink()


class _Graph(nn.Module):
    """An encoder as a function of two tensors."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.has_table = encoder.kind == "words"

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        if self.has_table:  # row 0 of the table is padding, and token i is row i + 1
            input_ids = (input_ids + 1) * attention_mask
        hidden, weights = self.encoder.token_vectors({"input_ids": input_ids, "attention_mask": attention_mask})
        return hidden, self.encoder.postprocess(self.encoder.pooling(hidden, attention_mask if weights is None else weights))


def require_graph(encoder: SentenceEncoder, title: str) -> None:
    """Raise a StudioError if a graph of token ids and mask cannot represent the encoder, or its tokenizer is not a Rust tokenizer."""
    if encoder.pooling.skips_prompt:
        raise StudioError(
            _("{title} cannot represent {name}: the tokens of its prompt are not pooled", title=title, name=encoder.name),
            "choose sentence-transformers",
        )
    tokenizer = getattr(encoder, "tokenizer", None)
    if not (getattr(getattr(encoder.backbone, "embeddings", None), "tokenizer", None) or getattr(tokenizer, "is_fast", False)):
        raise StudioError(
            _("{title} cannot represent {name}: its tokenizer has no tokenizer.json", title=title, name=encoder.name),
            "choose sentence-transformers",
        )


def write_without_weights(encoder: SentenceEncoder, folder: Path) -> None:
    """Write the encoder's folder without the weights of its backbone, which the graph contains."""
    encoder.write_files(folder)
    for path in folder.glob("*.safetensors*"):
        path.unlink()
    if not encoder.takes_prompts:
        write_general_settings(folder, GeneralSettings({}, "", encoder.truncate_dim, encoder.similarity_fn_name))


def write_graph(encoder: SentenceEncoder, path: Path) -> None:
    """Write the graph ``input_ids, attention_mask`` (texts, tokens) → ``last_hidden_state``, ``sentence_embedding``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # One row is padded: a trace of full rows would not contain the mask.
    ids = torch.tensor([[2, 3, 2, 3], [2, 3, 0, 0]], device=encoder.device)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], device=encoder.device)
    names = ("input_ids", "attention_mask")
    outputs = {"last_hidden_state": _AXES, "sentence_embedding": {0: "texts"}}
    with dense_embeddings(encoder.backbone), encoder.inference(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Graph(encoder).eval(),  # a graph in training mode would leave the encoder in it
            (ids, mask),
            str(path),
            input_names=list(names),
            output_names=list(outputs),
            dynamic_axes={**dict.fromkeys(names, _AXES), **outputs},
            opset_version=_OPSET,
            dynamo=False,  # the other exporter needs onnxscript, and fixes some sizes of these graphs
        )
