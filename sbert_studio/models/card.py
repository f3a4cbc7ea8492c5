"""The model card that stands in a saved folder as README.md."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from .modules.dense import Dense
from .prompts import Role, prompt_for

if TYPE_CHECKING:
    from .sentence_encoder import SentenceEncoder

_SERVED_POOLING = ("mean", "cls", "last")
_SERVED_ACTIVATIONS = ("tanh", "identity")
_NO_LIMIT = 1_000_000  # tokens: a mean of words has none
# "language: en", or a list of codes on the lines below.
_LANGUAGE = re.compile(r"^language:[ \t]*(\S.*|(?:\n[ \t]*-[ \t]*\S+)+)", re.MULTILINE)
_LICENSE = re.compile(r"""^license:[ \t]*["']?([\w.+-]+)["']?[ \t]*$""", re.MULTILINE)
MADE_WITH = "sbert-studio"
_LIBRARY = "library_name: sentence-transformers"
THIS_FOLDER = "path/to/this/folder"
"""What the card calls the folder that it lies in."""
_USE = (
    "```python",
    "from sentence_transformers import SentenceTransformer",
    "",
    f'model = SentenceTransformer("{THIS_FOLDER}")',
    'vectors = model.encode(["A first sentence.", "A second one."])',
    "```",
)
_USE_WITH_PROMPTS = (
    "```python",
    "from sentence_transformers import SentenceTransformer",
    "",
    f'model = SentenceTransformer("{THIS_FOLDER}")',
    'queries = model.encode_query(["a question"])',
    'documents = model.encode_document(["a text that may answer it"])',
    "```",
)
_USE_HERE = (
    "This model holds a module that sentence-transformers does not have: it opens in SBERT Studio only.",
    "",
    "```sh",
    f"sbert-studio encode texts.csv --model {THIS_FOLDER} --out vectors.npy",
    "```",
)


@dataclass(frozen=True)
class Score:
    """One measured number.

    Attributes:
        dataset: what it was measured on.
        metric: such as ``spearman_cosine``.
        value: after tuning.
        before: of the untuned model on the same rows.
        rows: how many.
        interval, before_interval: 95% bootstrap intervals, as words such as ``[0.81, 0.86]``, or nothing.
        gain: the gain and its interval in words, or nothing.
        task: the hub's name of the task.
    """

    dataset: str
    metric: str
    value: float
    before: float | None = None
    rows: int | None = None
    task: str = "semantic-similarity"
    interval: str = ""
    before_interval: str = ""
    gain: str = ""


@dataclass(frozen=True)
class CardFacts:
    """What a card can say that the weights do not.

    Attributes:
        title: the heading.
        base_model: a hub id.
        language: ISO 639-1 codes.
        license: an SPDX id in lower case.
        scores: measured numbers.
        training: name → value, shown as a table.
        tags: added to the usual ones.
        caveats: what to know before the scores are believed, a sentence each.
    """

    title: str = ""
    base_model: str | None = None
    language: tuple[str, ...] = ()
    license: str | None = None
    scores: tuple[Score, ...] = ()
    training: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()


def languages_in(folder: Path | None) -> tuple[str, ...]:
    """The ISO 639-1 codes of the languages that the card in a model's folder names; none where it names none, or others."""
    found = _LANGUAGE.search(_head_in(folder))
    words = re.findall(r"[A-Za-z]+(?:-[A-Za-z]+)*", found[1]) if found else []
    return () if any(len(word) != 2 for word in words) else tuple(word.lower() for word in words)


def license_in(folder: Path | None) -> str | None:
    """The licence that the card in a model's folder names."""
    found = _LICENSE.search(_head_in(folder))
    return found[1] if found else None


def _head_in(folder: Path | None) -> str:
    card = None if folder is None else folder / "README.md"
    if card is None or not card.is_file():
        return ""
    text = card.read_text(encoding="utf-8", errors="replace")[:20_000]
    return text.split("\n---", 1)[0] if text.startswith("---") else ""


def serving_warnings(encoder: SentenceEncoder) -> list[str]:
    """What text-embeddings-inference would not serve of this model, in sentences; empty where it serves all."""
    if encoder.kind != "transformer":
        return ["text-embeddings-inference does not serve models of word vectors, and transformers.js does not run them."]
    found = []
    if encoder.pooling.mode not in _SERVED_POOLING:
        found.append(f"text-embeddings-inference does not serve {encoder.pooling.mode} pooling (mean, cls and last token only).")
    for layer in encoder.layers:
        if not isinstance(layer, Dense):
            found.append(f"text-embeddings-inference does not know the module {layer.name}.")
        elif layer.activation_name not in _SERVED_ACTIVATIONS:
            found.append(f"text-embeddings-inference does not serve a {layer.activation_name} projection (Tanh and Identity only).")
    if encoder.layers:
        found.append("transformers.js runs the transformer part only: apply the projection in 2_Dense yourself.")
    return found


def model_card(encoder: SentenceEncoder, facts: CardFacts | None = None) -> str:
    """The card of ``encoder``: YAML front matter as the hub reads it, then how to use the model and what was measured."""
    facts = facts or CardFacts()
    title = facts.title or short_name(encoder.name) or "sentence encoder"
    return "\n".join([*_front_matter(encoder, facts, title), "", *_body(encoder, facts, title), ""])


def short_name(model: str) -> str:
    """The last part of a model's name, which is never a path of this machine."""
    return re.split(r"[\\/]", model)[-1]


def opens_elsewhere(folder: Path) -> bool:
    """Whether the card in a model's folder says that sentence-transformers opens it."""
    card = folder / "README.md"
    return card.is_file() and _LIBRARY in card.read_text(encoding="utf-8").partition("\n---\n")[0].splitlines()


def quoted(value: str) -> str:
    """A JSON string is a YAML string too, whatever it holds."""
    return json.dumps(value, ensure_ascii=False)


def _front_matter(encoder: SentenceEncoder, facts: CardFacts, title: str) -> list[str]:
    library = [_LIBRARY] if encoder.portable else []
    lines = ["---", *library, "pipeline_tag: sentence-similarity"]
    lines += [
        "tags:",
        *(f"- {quoted(tag)}" for tag in ("sentence-transformers", "sentence-similarity", "feature-extraction", MADE_WITH, *facts.tags)),
    ]
    base = facts.base_model or encoder.base
    if base:
        lines.append(f"base_model: {quoted(base)}")
    if facts.license:
        lines.append(f"license: {quoted(facts.license)}")
    if facts.language:
        lines += ["language:", *(f"- {quoted(code)}" for code in facts.language)]
    if facts.scores:
        lines += ["model-index:", f"- name: {quoted(title)}", "  results:"]
    for score in facts.scores:
        lines += ["  - task:", f"      type: {quoted(score.task)}", "    dataset:", f"      name: {quoted(score.dataset)}"]
        # The Hub takes results of one type for one set, whatever their names are.
        lines += [
            f"      type: {quoted(_slug(score.dataset))}",
            "    metrics:",
            f"    - type: {quoted(score.metric)}",
            f"      value: {score.value:.6f}",
        ]
    return [*lines, "---"]


def _body(encoder: SentenceEncoder, facts: CardFacts, title: str) -> list[str]:
    unit = "unit-length " if encoder.normalizes else ""
    lines = [f"# {plain_text(title)}", ""]
    most = f"up to {encoder.max_length} tokens" if encoder.max_length < _NO_LIMIT else "texts of any length"
    reads = f"reads {most}, {encoder.pooling.mode} pooling"
    lines += [f"Maps a text to a {unit}vector of {encoder.dim} components; {reads}."]
    if encoder.note:
        lines += ["", encoder.note]
    lines += ["", *(_USE_HERE if not encoder.portable else _USE_WITH_PROMPTS if any(encoder.prompts.values()) else _USE)]
    lines += _prompts(encoder)
    lines += [*measured(facts), *trained(facts), *made_with()]
    warnings = serving_warnings(encoder)
    if warnings:
        lines += ["", "## Where it does not run", "", *(f"- {warning}" for warning in warnings)]
    return lines


def _prompts(encoder: SentenceEncoder) -> list[str]:
    """Say what has to stand before a text; nothing of a model without prompts."""
    if not any(encoder.prompts.values()):
        return []

    def shown(role: Role) -> str:
        return plain_text(quoted(prompt_for(encoder.prompts, encoder.default_prompt, role)))

    words = [f"{shown('query')} before a query", f"{shown('document')} before a document"]
    if prompt_for(encoder.prompts, encoder.default_prompt, "symmetric"):
        words.append(f"{shown('symmetric')} before both of two texts that are compared")
    return ["", f"Prompts: {', '.join(words)}."]


def measured(facts: CardFacts) -> list[str]:
    """The lines of the table of scores; none where nothing was measured."""
    if not facts.scores:
        return []
    lines = ["", "## Measured", "", "| data | rows | score | before tuning | after |", "| --- | --- | --- | --- | --- |"]
    for score in facts.scores:
        before = "" if score.before is None else plain_text(f"{score.before:.4f}{score.before_interval}")
        after = plain_text(f"{score.value:.4f}{score.interval}")
        lines.append(f"| {plain_text(score.dataset)} | {score.rows or ''} | {plain_text(score.metric)} | {before} | {after} |")
    if any(score.interval for score in facts.scores):
        lines += ["", "In brackets: the 95% bootstrap interval over resampled rows."]
    lines += [f"{score.gain[:1].upper()}{plain_text(score.gain[1:])}." for score in facts.scores if score.gain]
    if facts.caveats:
        lines += ["", "What to know of these figures:", "", *(f"- {plain_text(one)}" for one in facts.caveats)]
    return lines


def trained(facts: CardFacts) -> list[str]:
    """The lines of the table of training settings; none where there are none."""
    if not facts.training:
        return []
    lines = ["", "## Training", "", "| setting | value |", "| --- | --- |"]
    return [*lines, *(f"| {plain_text(name)} | {plain_text(value)} |" for name, value in facts.training)]


def made_with() -> list[str]:
    """The lines that say by which program, and version of it, the model was written."""
    return ["", f"Written by SBERT Studio {__version__}."]


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60] or "custom"


def plain_text(text: str) -> str:
    """``text`` on one line, with no character that Markdown or HTML would act on."""
    escaped = "".join(f"\\{char}" if char in r"\`*_{}[]()#!|" else char for char in " ".join(text.split()))
    return escaped.replace("<", "&lt;").replace(">", "&gt;")
