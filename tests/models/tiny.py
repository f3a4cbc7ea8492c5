"""Tiny random models, one a kind of backbone, with tokenizers of a few dozen words."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    AlbertConfig,
    AutoModel,
    BertConfig,
    BertTokenizer,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    GPT2Config,
    LlamaConfig,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2Tokenizer,
    RobertaConfig,
    T5Config,
    T5EncoderModel,
    XLMRobertaConfig,
    XLNetConfig,
)

from sbert_studio.models.cross_encoder import STUDIO_KEY, CrossEncoder, with_mlp_head
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.transformer import TransformerEncoder

_VOCABULARY = "a the cat dog sat ran on mat in park and it was red blue fast slow hello world how are you today bank card lost my"
WORDS = _VOCABULARY.split()
TEXTS = [
    "the cat sat on the mat",
    "a dog ran in the park and it was fast",
    "hello world",
    "",
    "my card was lost",
    "the cat sat on the mat",
    "how are you today",
    "red",
    "the " * 60,
]


def bert_tokenizer() -> Any:
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocab = dict.fromkeys([*["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], *WORDS, *letters, *(f"##{letter}" for letter in letters)])
    return BertTokenizer(vocab={word: place for place, word in enumerate(vocab)}, do_lower_case=True, model_max_length=512)


def decoder_tokenizer() -> Any:
    """Word-level, no padding token, nothing put around a text but one ``<bos>`` before it."""
    vocab = {word: place for place, word in enumerate(["<unk>", "<bos>", "<eos>", *WORDS])}
    backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", bos_token="<bos>", eos_token="<eos>", model_max_length=64)


def qwen_tokenizer() -> Any:
    """One token a byte; nothing put around a text, so that an empty one has no token."""
    letters = [*pre_tokenizers.ByteLevel.alphabet(), "<|endoftext|>"]
    return Qwen2Tokenizer(vocab={letter: place for place, letter in enumerate(sorted(letters))}, merges=[], model_max_length=64)


def xlnet_tokenizer() -> Any:
    """Padding on the left, ``<sep> <cls>`` at the end, which is where a head reads."""
    words = {word: place for place, word in enumerate(["<unk>", "<pad>", "<sep>", "<cls>", *WORDS])}
    backend = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="$A:0 <sep>:0 <cls>:2", pair="$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2", special_tokens=[("<sep>", 2), ("<cls>", 3)]
    )
    names = {"unk_token": "<unk>", "pad_token": "<pad>", "sep_token": "<sep>", "cls_token": "<cls>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, padding_side="left", model_max_length=64, **names)


_SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_CONFIGS: dict[str, Any] = {
    "bert": lambda n: BertConfig(vocab_size=n, max_position_embeddings=64, **_SIZE),
    "roberta": lambda n: RobertaConfig(vocab_size=n, max_position_embeddings=66, pad_token_id=1, **_SIZE),
    "xlm-roberta": lambda n: XLMRobertaConfig(vocab_size=n, max_position_embeddings=66, pad_token_id=1, **_SIZE),
    "albert": lambda n: AlbertConfig(vocab_size=n, embedding_size=16, max_position_embeddings=64, **_SIZE),
    "electra": lambda n: ElectraConfig(vocab_size=n, embedding_size=16, max_position_embeddings=64, **_SIZE),
    "mpnet": lambda n: MPNetConfig(vocab_size=n, max_position_embeddings=66, pad_token_id=1, **_SIZE),
    "deberta-v2": lambda n: DebertaV2Config(
        vocab_size=n, max_position_embeddings=64, relative_attention=True, position_buckets=16, pos_att_type=["p2c", "c2p"], **_SIZE
    ),
    "xlnet": lambda n: XLNetConfig(vocab_size=n, d_model=32, n_layer=2, n_head=4, d_inner=64, pad_token_id=1),
    "distilbert": lambda n: DistilBertConfig(vocab_size=n, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64),
    "modernbert": lambda n: ModernBertConfig(vocab_size=n, max_position_embeddings=64, pad_token_id=0, **_SIZE),
    "t5": lambda n: T5Config(vocab_size=n, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
    "llama": lambda n: LlamaConfig(vocab_size=n, num_key_value_heads=2, max_position_embeddings=64, **_SIZE),
    "qwen2": lambda n: Qwen2Config(vocab_size=n, num_key_value_heads=2, max_position_embeddings=64, **_SIZE),
    "gpt2": lambda n: GPT2Config(vocab_size=n, n_embd=32, n_layer=2, n_head=4, n_positions=64),
}
DECODERS = ("llama", "qwen2", "gpt2")
BACKBONES = tuple(_CONFIGS)
# Their padding id is 1, where BERT's vocabulary has [UNK], and their positions are counted from there.
_PADDED_BY_ONE = ("roberta", "xlm-roberta", "mpnet")


def tokenizer_of(kind: str) -> Any:
    if kind == "qwen2":
        return qwen_tokenizer()
    if kind == "xlnet":
        return xlnet_tokenizer()
    tokenizer = decoder_tokenizer() if kind in DECODERS else bert_tokenizer()
    if kind in _PADDED_BY_ONE:
        tokenizer.pad_token = "[UNK]"
    return tokenizer


def backbone_of(kind: str, size: int) -> Any:
    torch.manual_seed(7)
    config = _CONFIGS[kind](size)
    return _apart(T5EncoderModel(config) if kind == "t5" else AutoModel.from_config(config, dtype=torch.float32))


def _apart(model: Any) -> Any:
    """Fresh weights are so small that every text's vector is nearly the same; these differ."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def tiny_encoder(kind: str = "bert", config: EncoderConfig | None = None) -> TransformerEncoder:
    tokenizer = tokenizer_of(kind)
    return TransformerEncoder(backbone_of(kind, len(tokenizer)), tokenizer, config or EncoderConfig(), name=f"tiny-{kind}")


def tiny_cross(kind: str = "bert", *, head: str = "linear", labels: int = 1) -> CrossEncoder:
    from transformers import AutoModelForSequenceClassification

    tokenizer = tokenizer_of(kind)
    config = backbone_of(kind, len(tokenizer)).config
    config.num_labels = labels
    setattr(config, STUDIO_KEY, {"head": head})
    model_class = AutoModelForSequenceClassification._model_mapping[type(config)]
    torch.manual_seed(7)
    return CrossEncoder(
        _apart((with_mlp_head(model_class) if head == "mlp" else model_class)(config)), tokenizer, name=f"tiny-{kind}-pairs"
    )
