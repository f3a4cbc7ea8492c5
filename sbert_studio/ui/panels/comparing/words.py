"""Which words made the score, as the page draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...pieces.views import Value, plain

if TYPE_CHECKING:
    from ....explore.explain import Span, WordAlignment


def drawn(a: str, b: str, found: WordAlignment) -> Value:
    """The value of a ``words`` view: both texts cut at their words, and how each word goes with those of the other text."""
    recall, precision, together = found.match
    facts = [
        f"Word by word, {recall:.2f} of the first text is found in the second and {precision:.2f} of the second in the first "
        f"(F₁ {together:.2f})."
    ]
    if found.cosine is not None and found.parts is not None:
        marks = f", marks around the sentence {found.rest:+.2f}" if abs(found.rest) >= 0.005 else ""
        facts.insert(0, f"The cosine of {found.cosine:.3f} is a sum: pairs of words made {found.parts.sum():+.2f} of it{marks}.")
        facts.append("A word is tinted by what it adds to the cosine.")
    else:
        facts.append("This model's score is no sum over words; a word is tinted by how well the other text matches it.")
    best = found.alike.max(axis=1), found.alike.max(axis=0)
    totals = best if found.parts is None else (found.parts.sum(axis=1), found.parts.sum(axis=0))
    value = {
        "texts": [_cut(a, found.words[0]), _cut(b, found.words[1])],
        "alike": [[round(float(cell), 3) for cell in row] for row in found.alike],
        "partners": [one.tolist() for one in found.partners],
        "totals": [[round(float(cell), 4) for cell in one] for one in totals],
        "sums": found.parts is not None,
        "facts": facts,
    }
    return plain(value)  # type: ignore[no-any-return]


def _cut(text: str, words: tuple[Span, ...]) -> dict[str, object]:
    """``words`` with what stands before each, and what stands behind the last."""
    ends = [0, *(end for _, end in words)]
    found = [[text[before:start], text[start:end]] for before, (start, end) in zip(ends, words, strict=False)]
    return {"words": found, "tail": text[ends[-1] :]}
