"""The texts of a corpus as the page's JavaScript fetches them: in parts, and shortened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...data.corpus import Corpus

_LONGEST = 240
_MOST_AT_ONCE = 8000


def part_of(corpus: Corpus, request: Mapping[str, Any], most: int = _MOST_AT_ONCE) -> list[str]:
    """``count`` texts from ``start`` on, as ``request`` says, which the browser may have made up; ``most`` at once."""
    start, count = (max(0, value) if isinstance(value := request.get(name), int) else 0 for name in ("start", "count"))
    part = corpus.texts[start : start + min(count, most)]
    return [text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…" for text in part]
