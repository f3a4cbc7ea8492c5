"""The model card of a cross-encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..storage.card import MADE_WITH, CardFacts, made_with, measured, plain_text, quoted, short_name, trained

if TYPE_CHECKING:
    from .cross import CrossEncoder


def cross_card(encoder: CrossEncoder, facts: CardFacts | None = None) -> str:
    """The card of ``encoder``: YAML front matter as the hub reads it, then what it answers, how to use it and what was measured."""
    facts = facts or CardFacts()
    title = facts.title or short_name(encoder.name) or "cross-encoder"
    body = [*_body(encoder), *measured(facts), *trained(facts), *made_with()]
    return "\n".join([*_front_matter(encoder, facts), "", f"# {plain_text(title)}", "", *body, ""])


def _front_matter(encoder: CrossEncoder, facts: CardFacts) -> list[str]:
    library = ["library_name: sentence-transformers"] if encoder.head == "linear" else []
    task = "text-ranking" if encoder.labels == 1 else "text-classification"
    lines = ["---", *library, f"pipeline_tag: {task}", "tags:"]
    lines += [f"- {quoted(tag)}" for tag in ("cross-encoder", *(("reranker",) if encoder.labels == 1 else ()), MADE_WITH, *facts.tags)]
    base = facts.base_model or encoder.base
    lines += [f"base_model: {quoted(base)}"] if base else []
    lines += [f"license: {quoted(facts.license)}"] if facts.license else []
    lines += ["language:", *(f"- {quoted(code)}" for code in facts.language)] if facts.language else []
    return [*lines, "---"]


def _body(encoder: CrossEncoder) -> list[str]:
    reads = f"It reads up to {encoder.max_length} tokens of both together, the first text first."
    if encoder.labels > 1:
        names = ", ".join(plain_text(name) for name in encoder.class_names)
        lines = [f"Reads two texts at once and sorts the pair into one of {encoder.labels} classes, in this order: {names}. {reads}"]
    else:
        squeezed = ", squeezed into 0 to 1 by a sigmoid" if encoder.sigmoid else ""
        lines = [f"Reads two texts at once and says by one number how alike they are{squeezed}; larger is more alike. {reads}"]
    if encoder.head == "mlp":
        opens = "Its head is an MLP (512 units, ReLU), which sentence-transformers does not know: this folder opens in SBERT Studio only."
        return [*lines, "", opens, "", "```", "sbert-studio evaluate path/to/this/folder --data pairs.csv", "```"]
    lines += ["", "```python", "from sentence_transformers import CrossEncoder", "", 'model = CrossEncoder("path/to/this/folder")']
    return [*lines, 'scores = model.predict([("A first sentence.", "A second one.")])', "```"]
