"""Several sentences, each compared with each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import StudioError
from ....explore.duplicates import similarity_order
from ....models.similarity import score_note
from ...pieces.views import Value

if TYPE_CHECKING:
    from ....services import Studio

MOST_TEXTS = 200


def matrix(studio: Studio, lines: str, model: str | None) -> Value:
    """Several texts, one a line, each compared with each, and an order in which alike ones stand side by side.

    Raises:
        StudioError: fewer than two, or more than fit a page.
    """
    texts = [line.strip() for line in (lines or "").splitlines() if line.strip()]
    if not 2 <= len(texts) <= MOST_TEXTS:
        raise StudioError(
            f"there {'is one sentence' if len(texts) == 1 else f'are {len(texts)} sentences'} here", f"write 2 to {MOST_TEXTS}, one a line"
        )
    encoder = studio.catalog.load(model or studio.settings.default_model)
    note = " ".join((*score_note(encoder.name, encoder.similarity_name), *studio.explore.reading_notes(texts, model)))
    values = studio.explore.similarity_matrix(texts, model)
    shown = [[round(float(cell), 4) for cell in row] for row in values]
    # A dot product or a distance has no scale of its own: the shades go from the least to the most similar.
    low, high = (0.0, 1.0) if encoder.similarity_name == "cosine" else (float(values.min()), float(values.max()))
    order = similarity_order((values - low) / ((high - low) or 1))
    return {"labels": texts, "values": shown, "order": order, "low": low, "high": high, "note": note}
