"""The page searches a folder of shards for this machine's owner, and for nobody else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tiny_studio import studio_at

from sbert_studio.errors import StudioError
from sbert_studio.ui.panels.searching.shards import find

from .shards import encoded, write_texts


def test_a_folder_is_searched_where_folders_are_allowed(home: Path, tmp_path: Path) -> None:
    encoded(home, write_texts(tmp_path / "texts", 1, 100), tmp_path / "out")
    with studio_at(home, home / "model") as studio:
        page = cast("Any", SimpleNamespace(studio=studio))
        found = find(page, f" {tmp_path / 'out'} ", "cat dog", 4)
        assert len(found["rows"]) == 4 and "4 of 98 texts" in found["caption"]
        for folder in ("", str(tmp_path / "texts")):
            with pytest.raises(StudioError, match=r"no folder|no shards"):
                find(page, folder, "cat dog", 4)
        studio.catalog.allow_folders = False
        with pytest.raises(StudioError, match="not open to visitors"):
            find(page, str(tmp_path / "out"), "cat dog", 4)
