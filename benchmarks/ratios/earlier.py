"""Beside the studio's own version before encoding and training were made faster."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from before import BEFORE, LIMITS, compare, known

from .base import Ratio, Setting

_GOALS = {("encode", "bfloat16"): 2.2, ("train", "bfloat16"): 1.6}
_WHAT = {"encode": "encode {} sentences of STSb", "train": "tune on {} pairs of STSb, batch 16"}
_UNITS = {"encode": "texts/s", "train": "pairs/s"}


def before(setting: Setting) -> Iterator[Ratio]:
    """Each precision beside the earlier version's float32; nothing where git does not know that version, or without the public sets."""
    if setting.data is None:
        return
    if not known():
        print(f"not measured beside {BEFORE}, which git does not know here", file=sys.stderr)
        return
    for work, what in _WHAT.items():
        now, then = compare(work, setting.data, setting.rounds)
        for name, found in now.items():
            title = f"{what.format(f'{LIMITS[work]:,}')}, {name}"
            peer = f"the studio at {BEFORE}, float32"
            yield Ratio(f"before-{work}-{name}", title, peer, _UNITS[work], found, then, goal=_GOALS.get((work, name)))
