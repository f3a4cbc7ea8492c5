"""What starting does to the garbage collector, and which kind of model is loaded."""

from __future__ import annotations

import gc
from pathlib import Path

from tiny_studio import studio_at

from sbert_studio.caches import paused_gc


def test_cycles_are_looked_for_again_once_it_has_started_or_failed() -> None:
    assert gc.isenabled()
    try:
        with paused_gc() as started:
            assert not gc.isenabled()
            started()
            assert gc.isenabled() and gc.get_freeze_count() > 1000
        assert gc.isenabled()
    finally:
        gc.unfreeze()
    try:
        with paused_gc():
            raise KeyError
    except KeyError:
        assert gc.isenabled()


def test_a_shared_model_is_lean_and_one_to_be_trained_is_not(tmp_path: Path, tiny_model: Path) -> None:
    from sbert_studio.models.inference.bert import InferenceBackbone

    with studio_at(tmp_path, tiny_model) as studio:
        name = studio.settings.default_model
        assert isinstance(studio.catalog.load(name).backbone, InferenceBackbone)  # type: ignore[attr-defined]
        assert not isinstance(studio.catalog.load_trainable(name).backbone, InferenceBackbone)
