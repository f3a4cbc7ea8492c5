"""The model card of a poly-encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..storage.card import MADE_WITH, CardFacts, made_with, measured, plain_text, quoted, short_name, trained

if TYPE_CHECKING:
    from .poly import PolyEncoder


def poly_card(poly: PolyEncoder, facts: CardFacts | None = None) -> str:
    """The card of ``poly``: YAML front matter as the hub reads it, then what it answers, how to use it and what was measured."""
    facts = facts or CardFacts()
    title = facts.title or short_name(poly.name) or "poly-encoder"
    return "\n".join(
        [*_front_matter(poly, facts), "", f"# {plain_text(title)}", "", *_body(poly), *measured(facts), *trained(facts), *made_with(), ""]
    )


def _front_matter(poly: PolyEncoder, facts: CardFacts) -> list[str]:
    lines = [
        "---",
        "pipeline_tag: text-ranking",
        "tags:",
        *(f"- {quoted(tag)}" for tag in ("poly-encoder", "reranker", MADE_WITH, *facts.tags)),
    ]
    base = facts.base_model or poly.base
    lines += [f"base_model: {quoted(base)}"] if base else []
    lines += [f"license: {quoted(facts.license)}"] if facts.license else []
    lines += ["language:", *(f"- {quoted(code)}" for code in facts.language)] if facts.language else []
    return [*lines, "---"]


def _body(poly: PolyEncoder) -> list[str]:
    encoder = poly.encoder
    lines = [
        f"Reads a query as {len(poly.codes)} vectors and a candidate as one, and says by one number, -1 to 1, how well they go together;"
        f" larger is better. Candidates are read once and kept, so that a new query is all that a search has to read. It reads up to"
        f" {encoder.max_length} tokens of a text; vectors of {encoder.dim} components, {encoder.pooling.mode} pooling of candidates.",
        "",
        "Humeau et al. 2020, Poly-encoders, arXiv:1905.01969, with one encoder for both sides and unit vectors.",
        "",
        "It opens in SBERT Studio only: no other program knows its codes (poly.json, codes.safetensors).",
    ]
    if encoder.portable:
        lines[-1] += " sentence-transformers opens the encoder within from this folder; its cosines are not this model's scores."
    return [*lines, "", "```sh", 'sbert-studio search texts.csv "a query" --reranker path/to/this/folder', "```"]
