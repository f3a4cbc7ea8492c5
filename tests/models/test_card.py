from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sbert_studio import __version__
from sbert_studio.models.card import CardFacts, CardScore, model_card, read_languages, read_license
from sbert_studio.models.io.settings import EncoderConfig

from .tiny import tiny_encoder

FACTS = CardFacts(
    title="support-requests",
    base_model="sentence-transformers/all-MiniLM-L6-v2",
    language=("en", "zh"),
    license="apache-2.0",
    scores=(CardScore("test.csv", "spearman_cosine", 0.8516, before=0.8203, rows=1379), CardScore("dev.csv", "pearson_cosine", 0.9)),
    training=(("objective", "cosent"), ("learning rate", "2e-05")),
)


def front_matter(card: str) -> dict[str, Any]:
    assert card.startswith("---\n")
    loaded = yaml.safe_load(card.split("---\n")[1])
    assert isinstance(loaded, dict)
    return loaded


def test_the_front_matter_says_what_the_hub_reads() -> None:
    from huggingface_hub import ModelCard

    card = model_card(tiny_encoder(), FACTS)
    said = front_matter(card)
    assert said["library_name"] == "sentence-transformers" and said["pipeline_tag"] == "sentence-similarity"
    assert said["base_model"] == FACTS.base_model and said["language"] == ["en", "zh"] and said["license"] == "apache-2.0"
    results = ModelCard(card).data.eval_results
    assert results is not None
    assert [(one.dataset_name, one.metric_type, one.metric_value) for one in results] == [
        ("test.csv", "spearman_cosine", 0.8516),
        ("dev.csv", "pearson_cosine", 0.9),
    ]
    assert "| test.csv | 1379 | spearman\\_cosine | 0.8203 | 0.8516 |" in card


def test_a_card_without_facts_is_valid() -> None:
    assert front_matter(model_card(tiny_encoder()))["tags"][0] == "sentence-transformers"


def test_hostile_names_stay_text() -> None:
    name = 'x"\n---\nlicense: evil\n<img src=x onerror=alert(1)> | `${alert(1)}` [a](javascript:b)'
    card = model_card(tiny_encoder(), CardFacts(title=name, scores=(CardScore(name, name, 0.5),), license=name))
    said = front_matter(card)
    assert said["license"] == name and said["model-index"][0]["name"] == name
    body = card.split("---\n", 2)[2]
    assert "<img" not in body and "](javascript" not in body
    assert all(line.count(" | ") == 4 for line in body.splitlines() if line.startswith("| x"))


@pytest.mark.parametrize(
    ("config", "warned"),
    [
        (EncoderConfig("mean"), 0),
        (EncoderConfig("last"), 0),
        (EncoderConfig("max"), 1),
        (EncoderConfig("weighted_mean"), 1),
        (EncoderConfig("mean", True, 8, "tanh"), 1),
        (EncoderConfig("mean", True, 8, "gelu"), 2),
        (EncoderConfig("max", True, 8, "gelu"), 3),
    ],
)
def test_what_will_not_be_served_is_said(config: EncoderConfig, warned: int) -> None:
    _, _, warnings = model_card(tiny_encoder("bert", config)).partition("## Serving limitations")
    assert warnings.count("\n- ") == warned


def test_a_card_keeps_its_meaning_on_the_hub_and_says_what_to_know(tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    facts = replace(FACTS, caveats=("12 held-out rows share a text with rows that are learned from",))
    card = model_card(tiny_encoder(), facts)
    assert "- 12 held-out rows share a text" in card and f"SBERT Studio {__version__}" in card
    ModelCard(card).save(tmp_path / "README.md")
    again = ModelCard.load(tmp_path / "README.md")
    results = again.data.eval_results
    assert results is not None and len({one.dataset_type for one in results}) == len(FACTS.scores)
    assert (again.data.license, again.data.language) == ("apache-2.0", ["en", "zh"])
    assert "sbert-studio" in (again.data.tags or [])
    assert (read_license(tmp_path), read_languages(tmp_path)) == ("apache-2.0", ("en", "zh"))
