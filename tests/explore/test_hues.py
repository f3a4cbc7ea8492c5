"""Colours for many categories: near on the map, near in hue."""

from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.explore.topics import MAX_HUES, assign_hues


@pytest.mark.parametrize("dims", [2, 3])
def test_categories_that_lie_together_share_a_hue_and_differ_in_lightness(dims: int) -> None:
    rng = np.random.default_rng(0)
    # Eight islands with ten categories each, five points a category.
    islands = rng.normal(size=(8, dims)) * 100
    groups = np.repeat(np.arange(80), 5)
    points = (islands[groups // 10] + rng.normal(size=(400, dims))).astype(np.float32)
    hues, shades = assign_hues(points, groups, 80)
    assert len(set(hues.tolist())) <= MAX_HUES
    for hue in set(hues.tolist()):
        members = np.flatnonzero(hues == hue)
        assert len({int(one) // 10 for one in members}) == 1, "no hue on two islands"
        assert len(set(shades[members].tolist())) == len(members)
    assert shades.min() >= 0 and shades.max() <= 1


def test_few_categories_have_a_hue_each_and_a_group_of_none_is_left_out() -> None:
    points = np.array([[0, 0], [0, 1], [5, 5], [9, 0]], np.float32)
    hues, shades = assign_hues(points, np.array([0, 0, 1, -1]), 2)
    assert sorted(hues.tolist()) == [0, 1] and shades.tolist() == [0.5, 0.5]
