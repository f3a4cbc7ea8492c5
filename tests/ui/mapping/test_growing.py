"""A file that comes back with some more texts: they are placed on the map that is shown, and the others stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.ui import corpus_picker
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.mapping.drawing import cluster_params, draw, projection_params
from sbert_studio.ui.panels.mapping.panel import noted

FLAT, GROUPS = projection_params("2-D", 5, 0.1), cluster_params("kmeans", 3, 0.5)
TEXTS = [
    f"the {thing} is {how}" for thing in ("cat", "dog", "card", "rain", "bread") for how in ("old", "new", "red", "late", "lost", "mine")
]


@pytest.fixture
def drawn_of(page: Page, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Texts, the key of the map that is shown → the key of their map."""

    def made(texts: list[str], standing: str | None = None, projection: object = FLAT) -> str:
        path = tmp_path / "texts.txt"
        path.write_text("\n".join(texts))
        return draw(page, corpus_picker.open_file(page, str(path)), None, projection, GROUPS, standing=standing)[1]  # type: ignore[arg-type]

    return made


def test_new_texts_are_placed_and_the_others_stay(page: Page, drawn_of) -> None:  # type: ignore[no-untyped-def]
    first = drawn_of(TEXTS)
    more = ["the cat is old and late", *TEXTS, TEXTS[7]]
    second = drawn_of(more, first)
    before, after = (page.maps.get(key).view for key in (first, second))
    assert np.array_equal(after.points[1:31], before.points) and np.array_equal(after.ids[1:31], before.ids)
    assert (after.points[31] == before.points).all(axis=1).any()  # on what the model cannot tell from it
    assert [info.label for info in after.clusters] == [info.label for info in before.clusters]
    assert sum(info.size for info in after.clusters) == 32
    said = noted(page, second)
    assert said is not None and "2 new texts were placed" in said["text"] and "Draw the map" in said["text"]
    # Drawn once more, all are laid out together; so are those of other settings, and a file that lost a text.
    for texts, standing, projection in ((more, second, FLAT), (more, first, projection_params("2-D", 6, 0.1)), (more[1:-3], first, FLAT)):
        again = page.maps.get(drawn_of(texts, standing, projection)).view
        assert not any("placed" in note for note in again.notes)
    third = page.maps.get(drawn_of([*more, "one more card"], second)).view  # it grows on
    assert np.array_equal(third.points[:32], after.points) and any("1 new text was placed" in note for note in third.notes)
