"""A Router of sentence-transformers, which has a network for each kind of text, is refused by name, and what is said to do works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Router

from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.load import load_folder
from sbert_studio.workspace import Workspace

from .tiny import TEXTS, tiny_encoder


@pytest.fixture
def routed(tmp_path: Path) -> Any:
    """A Router with a network for queries and one for documents, saved as ``router``."""
    networks = {}
    for route, kind in (("query", "bert"), ("document", "distilbert")):
        tiny_encoder(kind).save(tmp_path / route)
        networks[route] = list(SentenceTransformer(str(tmp_path / route), device="cpu", local_files_only=True))
    model = SentenceTransformer(modules=[Router.for_query_document(networks["query"], networks["document"])], device="cpu")
    model.save_pretrained(str(tmp_path / "router"))
    return model


def test_a_router_is_refused_with_its_routes_and_one_of_them_can_be_saved_as_said(routed: Any, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match=r"a Router has .*\(query: Transformer, Pooling, Normalize; document: ") as refused:
        Catalog(Workspace(tmp_path / "home"), device="cpu").load(str(tmp_path / "router"))
    found = re.search(r"SentenceTransformer\(modules=.*\)\.save_pretrained\(FOLDER\)", str(refused.value.hint))
    assert found is not None
    exec(found.group(), {"SentenceTransformer": SentenceTransformer, "model": routed, "FOLDER": str(tmp_path / "one")})
    np.testing.assert_allclose(load_folder(tmp_path / "one").encode(TEXTS), routed.encode_query(TEXTS), atol=1e-5)


@pytest.mark.parametrize("said", ["{", "[]", '{"structure": [1]}', '{"structure": {"query": 5}}', "{}"])
def test_a_router_whose_settings_are_damaged_is_refused_too(routed: Any, said: str, tmp_path: Path) -> None:
    (config,) = (tmp_path / "router").rglob("router_config.json")
    config.write_text(said)
    with pytest.raises(StudioError):
        load_folder(tmp_path / "router")
    config.unlink()
    with pytest.raises(StudioError, match="a Router has"):
        load_folder(tmp_path / "router")


def test_the_older_name_is_refused_too(tmp_path: Path) -> None:
    tiny_encoder().save(tmp_path / "model")
    modules = json.loads((tmp_path / "model" / "modules.json").read_text())
    modules.append({"idx": 9, "name": "9", "path": "9_Asym", "type": "sentence_transformers.models.Asym"})
    (tmp_path / "model" / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(StudioError, match="a Router has"):
        load_folder(tmp_path / "model")
