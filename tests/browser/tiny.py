"""The small models of the browser tests: fast, with the real tokenizer, so that texts that share words are similar."""

from __future__ import annotations

from pathlib import Path

MODEL_NAME = "tiny-minilm"
MULTILINGUAL_NAME = "tiny-multilingual"
PACKAGE = "small_model_of_the_browser_tests"


def write_package(packages: Path) -> Path:
    """Write a Python package with the models into a folder, as bundled models come, and return the folder."""
    folder = packages / PACKAGE
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    write_model(folder / MODEL_NAME)
    write_model(folder / MULTILINGUAL_NAME, seed=1)
    return packages


def write_model(folder: Path, seed: int = 0) -> None:
    """Write a random three-layer BERT of 48 dimensions with the vocabulary of all-MiniLM-L6-v2."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    from sbert_studio.models.card import model_card
    from sbert_studio.models.catalog import Catalog
    from sbert_studio.models.io.settings import EncoderConfig
    from sbert_studio.models.transformer import TransformerEncoder
    from sbert_studio.workspace import Workspace

    bundled = Catalog(Workspace(folder.parent.parent / "catalog"), device="cpu").resolve("all-MiniLM-L6-v2").path
    tokenizer = AutoTokenizer.from_pretrained(bundled)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=256,
    )
    encoder = TransformerEncoder(BertModel(config), tokenizer, EncoderConfig(max_length=256), name=folder.name, base="tiny/minilm")
    encoder.save(folder, card=model_card(encoder))
