"""Export to GGUF, for llama.cpp and Ollama: BERT networks with WordPiece or unigram tokenizers."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ..io.settings import GeneralSettings, write_general_settings
from ..lora import merged_copy
from ..quantized import dense_embeddings
from .base import FORMATS, ExportFormat
from .verification import Floor

if TYPE_CHECKING:
    from ..sentence_encoder import SentenceEncoder

_FILE = "model.gguf"
_NETWORKS = ("bert", "roberta", "xlm-roberta")
_POOLING = {"mean": 1, "cls": 2, "last": 3}  # llama.cpp's numbers
# llama.cpp's name of each weight of a layer.
_LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3  # types of tokens


@FORMATS.register("gguf")
class GgufFormat(ExportFormat):
    """One file with weights, tokenizer and pooling, and a Modelfile for Ollama."""

    title = "GGUF"
    readers = "llama.cpp and Ollama"
    cost = "the same vectors, scaled to unit length"
    extra = "gguf"
    packages = ("gguf", "xllamacpp")
    floor = Floor(cosine=0.9995, mean_cosine=0.9999, top10=0.97)
    script, usage = "export/gguf.py.j2", "export/usage_gguf.md.j2"
    tags = ("gguf", "llama.cpp")
    truncates = False

    def check(self, encoder: SentenceEncoder) -> None:
        """See :meth:`ExportFormat.check`."""
        reason = _obstacle(encoder)
        if reason:
            message = _("GGUF cannot represent {name}: {reason}", name=encoder.name, reason=reason)
            raise StudioError(message, "choose sentence-transformers or onnx")

    def adapt(self, encoder: SentenceEncoder) -> SentenceEncoder:
        """Scale vectors to unit length, as llama.cpp and Ollama do."""
        unit = copy.copy(encoder)
        unit.normalizes = True
        return unit

    def write(self, encoder: SentenceEncoder, folder: Path) -> None:
        """See :meth:`ExportFormat.write`."""
        import gguf

        backbone: Any = merged_copy(encoder.backbone)
        config: Any = backbone.config
        writer = gguf.GGUFWriter(folder / _FILE, "bert")
        writer.add_name(encoder.name.rpartition("/")[2])
        writer.add_context_length(encoder.max_length)
        writer.add_embedding_length(config.hidden_size)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_block_count(config.num_hidden_layers)
        writer.add_head_count(config.num_attention_heads)
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType(_POOLING[encoder.pooling.mode]))
        writer.add_file_type(0)  # all weights in float32
        _write_tokenizer(writer, getattr(encoder, "tokenizer"), config.vocab_size)  # noqa: B009
        writer.add_token_type_count(config.type_vocab_size)
        with dense_embeddings(backbone):
            for name, values in _tensors(backbone, encoder.max_length):
                writer.add_tensor(name, values)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
        writer.close()
        write_general_settings(folder, GeneralSettings(encoder.prompts, encoder.default_prompt, None, encoder.similarity_fn_name))
        lines = [
            f"# Pooling ({encoder.pooling.mode}) is stored in the model.",
            f"FROM ./{_FILE}",
            f"PARAMETER num_ctx {encoder.max_length}",
        ]
        (folder / "Modelfile").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def script_values(self, encoder: SentenceEncoder) -> Mapping[str, Any]:
        """Return the file, and the largest number of tokens of a text."""
        return {"file": _FILE, "length": encoder.max_length}


def _obstacle(encoder: SentenceEncoder) -> str:
    """Return what llama.cpp lacks to compute the encoder's vectors; empty if nothing."""
    pooling = encoder.pooling.mode
    if encoder.architecture not in _NETWORKS or encoder.backbone.config.hidden_act != "gelu":
        return _("llama.cpp reads BERT networks here, and it is {architecture}", architecture=encoder.architecture)
    tokenizer: Any = getattr(encoder, "tokenizer", None)
    kind = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["type"] if getattr(tokenizer, "is_fast", False) else ""
    obstacles = (
        (encoder.truncate_dim, "llama.cpp does not truncate vectors"),
        (encoder.layers, "llama.cpp has no projection after the pooling"),
        (pooling not in _POOLING, _("llama.cpp has no {pooling} pooling", pooling=pooling)),
        (encoder.pooling.skips_prompt, "the tokens of its prompt are not pooled"),
        (
            not encoder.normalizes and encoder.similarity_name != "cosine",
            "llama.cpp scales vectors to unit length, and it compares lengths",
        ),
        (kind not in ("WordPiece", "Unigram"), "llama.cpp does not have its tokenizer"),
    )
    return next((reason for applies, reason in obstacles if applies), "")


def _tensors(backbone: Any, length: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the weights by llama.cpp's names, in float32; llama.cpp expects ``length`` positions, its context."""
    weights = backbone.state_dict()

    def values(name: str) -> np.ndarray:
        return np.ascontiguousarray(weights[name].float().cpu().numpy())

    yield "token_embd.weight", values("embeddings.word_embeddings.weight")
    # RoBERTa counts positions from the padding id plus one.
    offset = (getattr(backbone.embeddings, "padding_idx", None) or -1) + 1
    yield "position_embd.weight", values("embeddings.position_embeddings.weight")[offset : offset + length]
    yield "token_types.weight", values("embeddings.token_type_embeddings.weight")
    for part in ("weight", "bias"):
        yield f"token_embd_norm.{part}", values(f"embeddings.LayerNorm.{part}")
        for layer in range(backbone.config.num_hidden_layers):
            for theirs, name in _LAYER.items():
                yield f"blk.{layer}.{name}.{part}", values(f"encoder.layer.{layer}.{theirs}.{part}")


def _write_tokenizer(writer: Any, tokenizer: Any, rows: int) -> None:
    settings = json.loads(tokenizer.backend_tokenizer.to_str())
    special = set(tokenizer.all_special_ids)
    is_unigram = settings["model"]["type"] == "Unigram"
    texts = tokenizer.convert_ids_to_tokens(list(range(min(rows, len(tokenizer)))))
    texts += [f"[UNUSED{row}]" for row in range(len(texts), rows)]
    types = [_UNKNOWN if row == tokenizer.unk_token_id else _CONTROL if row in special else _NORMAL for row in range(rows)]
    if is_unigram:
        scores = [float(score) for _piece, score in settings["model"]["vocab"]][:rows]
        writer.add_tokenizer_model("t5")
        writer.add_tokenizer_pre("default")
        writer.add_token_scores(scores + [-10000.0] * (rows - len(scores)))
        writer.add_add_space_prefix(True)
        writer.add_remove_extra_whitespaces(True)
        for charsmap in _charsmaps(settings.get("normalizer")):
            writer.add_precompiled_charsmap(charsmap)
    else:
        # llama.cpp marks the beginning of a word, WordPiece its continuation.
        texts = [text if row in special else text[2:] if text.startswith("##") else f"\u2581{text}" for row, text in enumerate(texts)]
        writer.add_tokenizer_model("bert")
        writer.add_tokenizer_pre("default")
    writer.add_token_list(texts)
    writer.add_token_types(types)
    first = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
    last = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
    for add, token in (
        (writer.add_bos_token_id, first), (writer.add_eos_token_id, last), (writer.add_sep_token_id, last),
        (writer.add_unk_token_id, tokenizer.unk_token_id), (writer.add_pad_token_id, tokenizer.pad_token_id),
    ):  # fmt: skip
        if token is not None:
            add(token)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)


def _charsmaps(normalizer: Any) -> Iterator[bytes]:
    """Yield the character map of a unigram tokenizer, if it has one."""
    import base64

    for part in (normalizer or {}).get("normalizers", [normalizer] if normalizer else []):
        if part.get("type") == "Precompiled":
            yield base64.b64decode(part["precompiled_charsmap"])
