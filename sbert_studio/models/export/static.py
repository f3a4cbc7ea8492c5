"""Export of static embeddings for model2vec: one vector per token, whose mean is the vector of a text."""

from __future__ import annotations

import copy
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ...errors import StudioError
from ...i18n import _
from ...workspace import write_json
from ..io.backbone import write_tensors
from ..io.settings import GeneralSettings, write_general_settings, write_module_list
from ..modules.embeddings import StaticEmbedding, WordEmbeddings
from ..modules.projection import Dense, Normalize
from ..word_encoder import WordEncoder
from .base import FORMATS, ExportFormat
from .verification import Floor

if TYPE_CHECKING:
    from ..sentence_encoder import SentenceEncoder

_UNKNOWN, _NORMALIZE = "[UNK]", f"1_{Normalize.name}"
_SIGNS = "".join(f"\\{sign}" for sign in string.punctuation)


@FORMATS.register("static")
class StaticFormat(ExportFormat):
    """A table of vectors with weights and projection multiplied into it."""

    title = "model2vec"
    readers = "model2vec and sentence-transformers (StaticEmbedding)"
    cost = "the same vectors; static embeddings only"
    extra = "static"
    packages = ("model2vec",)
    floor = Floor(cosine=0.9999, mean_cosine=0.99999, top10=0.99)
    script, usage = "export/static.py.j2", "export/usage_static.md.j2"
    tags = ("model2vec", "static-embeddings")

    def check(self, encoder: SentenceEncoder) -> None:
        """See :meth:`ExportFormat.check`."""
        if not isinstance(encoder, WordEncoder):
            raise StudioError(
                _("{name} has no static embeddings", name=encoder.name),
                _("run sbert-studio distill {name} --out FOLDER first, and export that", name=encoder.name),
            )
        layers_fit = all(isinstance(layer, Dense) and _is_linear(layer) for layer in encoder.layers)
        if encoder.backbone.recurrent is not None or encoder.pooling.mode != "mean" or not layers_fit:
            raise StudioError(
                _("{name} is not a mean of static embeddings: model2vec has no other layers", name=encoder.name),
                "choose sentence-transformers",
            )
        if _is_rescaled(encoder) and encoder.similarity_name != "cosine":
            raise StudioError(
                _("{name} compares the lengths of weighted or truncated means, which model2vec does not compute", name=encoder.name),
                "choose sentence-transformers",
            )

    def adapt(self, encoder: SentenceEncoder) -> SentenceEncoder:
        """Scale weighted and truncated means to unit length; the projection truncates.

        model2vec divides weighted means by the number of tokens, not by the sum of their weights, and scales vectors last.
        """
        if not _is_rescaled(encoder):
            return encoder
        unit = copy.copy(encoder)
        unit._modules = dict(unit._modules)  # so that the encoder keeps its own projection
        unit.normalizes, unit.truncate_dim = True, None
        if encoder.truncate_dim:
            width = unit.dim
            cut = Dense(width, encoder.dim, "identity", bias=False)
            with torch.no_grad():
                cut.linear.weight.copy_(torch.eye(encoder.dim, width))
            unit.projection = nn.Sequential(*encoder.layers, cut.to(encoder.device))
        return unit

    def write(self, encoder: SentenceEncoder, folder: Path) -> None:
        """See :meth:`ExportFormat.write`."""
        assert isinstance(encoder, WordEncoder)
        tokenizer, rows = token_table(encoder)
        write_tensors({"embeddings": rows.contiguous()}, folder / "model.safetensors")
        tokenizer.save(str(folder / "tokenizer.json"))
        length = None if encoder.max_length >= 1_000_000 else encoder.max_length
        config = {"model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": rows.shape[1], "max_length": length}
        write_json(folder / "config.json", {**config, "normalize": encoder.normalizes})
        modules = [("", "StaticEmbedding")]
        if encoder.normalizes:
            Normalize().write(folder / _NORMALIZE, rows.shape[1])
            modules.append((_NORMALIZE, Normalize.name))
        write_module_list(folder, modules)
        write_general_settings(folder, GeneralSettings({}, "", None, encoder.similarity_fn_name))


def token_table(encoder: WordEncoder) -> tuple[Any, Tensor]:
    """Return a tokenizer of the package tokenizers and the vectors of its tokens, (tokens, d) float32, weighted and projected."""
    network = encoder.backbone
    with torch.inference_mode():
        rows = network.embeddings.emb_layer.weight.float()
        if network.weights is not None:
            ids = torch.arange(len(rows), device=rows.device)
            rows = rows * network.weights(ids)[:, None]
        for layer in encoder.layers:
            assert isinstance(layer, Dense)
            rows = rows @ layer.linear.weight.float().T
        rows = rows.cpu().clone()
    if isinstance(network.embeddings, StaticEmbedding):
        return network.embeddings.tokenizer, rows[1:]
    return _word_tokenizer(network.embeddings), torch.cat([rows[1:], rows.new_zeros(1, rows.shape[1])])


def _word_tokenizer(table: WordEmbeddings) -> Any:
    """Return a tokenizer that splits at spaces and removes punctuation around words, as the word tokenizer does; others are unknown."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    words = table.words
    vocabulary = {word: row for row, word in enumerate(words.words[1:]) if word not in words.stop_words}
    tokenizer = Tokenizer(models.WordLevel({**vocabulary, _UNKNOWN: len(words) - 1}, unk_token=_UNKNOWN))
    if words.lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    # A piece of nothing but punctuation stays whole.
    edges = Regex(f"^[{_SIGNS}]+(?=[^{_SIGNS}])|(?<=[^{_SIGNS}])[{_SIGNS}]+$")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(edges, "removed")])
    return tokenizer


def _is_linear(layer: Dense) -> bool:
    return layer.activation_name == "identity" and layer.linear.bias is None and not layer.use_residual


def _is_rescaled(encoder: SentenceEncoder) -> bool:
    has_word_weights = isinstance(encoder, WordEncoder) and encoder.backbone.weights is not None
    return bool(encoder.truncate_dim) or (has_word_weights and not encoder.normalizes)
