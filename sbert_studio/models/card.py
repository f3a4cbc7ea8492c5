"""Model cards: the README.md of a saved folder, rendered from ``templates``."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__

if TYPE_CHECKING:
    from .trainable import Trainable

# "language: en", or a list of codes on the lines below.
_LANGUAGE = re.compile(r"^language:[ \t]*(\S.*|(?:\n[ \t]*-[ \t]*\S+)+)", re.MULTILINE)
_LICENSE = re.compile(r"""^license:[ \t]*["']?([\w.+-]+)["']?[ \t]*$""", re.MULTILINE)
FOLDER_PLACEHOLDER = "path/to/this/folder"
"""Path of the model's own folder in its card."""


@dataclass(frozen=True)
class CardScore:
    """A measured score.

    Attributes:
        dataset: name of the data.
        metric: name such as ``spearman_cosine``.
        value: score after fine-tuning.
        before: score of the base model on the same rows.
        rows: number of rows.
        task: the Hub's name of the task.
        interval, before_interval: 95 % bootstrap intervals such as ``[0.81, 0.86]``, or empty.
        gain: description of the gain with its interval, or empty.
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
    """Contents of a card that are not derived from the model.

    Attributes:
        title: heading.
        base_model: Hub id.
        language: ISO 639-1 codes.
        license: SPDX id in lower case.
        scores: measured scores.
        training: (name, value) of training settings, shown as a table.
        tags: additional tags.
        caveats: limitations of the scores, one sentence each.
    """

    title: str = ""
    base_model: str | None = None
    language: tuple[str, ...] = ()
    license: str | None = None
    scores: tuple[CardScore, ...] = ()
    training: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()


def model_card(model: Trainable, facts: CardFacts | None = None) -> str:
    """Render the card of ``model``: YAML front matter for the Hub, usage instructions and scores."""
    return render_template(model.card_template, model=model, facts=facts or CardFacts(), model_name=short_name(model.name))


def render_template(name: str, **values: Any) -> str:
    """Return the text of a template in ``templates``."""
    return str(_templates().get_template(name).render(values))


@functools.cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the markdown filter escapes
    )
    environment.filters.update(yaml=to_yaml_string, markdown=escape_markdown, slug=_slug)
    environment.globals.update(version=__version__, folder=FOLDER_PLACEHOLDER)
    return environment


def read_languages(folder: Path | None) -> tuple[str, ...]:
    """Return the ISO 639-1 codes of the languages in a folder's model card; empty if there are none, or other codes."""
    match = _LANGUAGE.search(front_matter(folder))
    codes = re.findall(r"[A-Za-z]+(?:-[A-Za-z]+)*", match[1]) if match else []
    return () if any(len(code) != 2 for code in codes) else tuple(code.lower() for code in codes)


def read_license(folder: Path | None) -> str | None:
    """Return the license in a folder's model card."""
    match = _LICENSE.search(front_matter(folder))
    return match[1] if match else None


def is_sentence_transformers_folder(folder: Path) -> bool:
    """Return True if the folder's model card specifies sentence-transformers as its library."""
    return "library_name: sentence-transformers" in front_matter(folder).splitlines()


def front_matter(folder: Path | None) -> str:
    """Return the YAML front matter of a folder's model card; empty without a card."""
    card = None if folder is None else folder / "README.md"
    if card is None or not card.is_file():
        return ""
    text = card.read_text(encoding="utf-8", errors="replace")[:20_000]
    return text.split("\n---", 1)[0] if text.startswith("---") else ""


def short_name(model: str) -> str:
    """Return the last part of a model's name or path."""
    return re.split(r"[\\/]", model)[-1]


def to_yaml_string(value: str) -> str:
    """Quote ``value``: every JSON string is a YAML string."""
    return json.dumps(value, ensure_ascii=False)


def escape_markdown(text: str) -> str:
    """Return ``text`` on one line with the special characters of Markdown and HTML escaped."""
    escaped = "".join(f"\\{char}" if char in r"\`*_{}[]()#!|" else char for char in " ".join(text.split()))
    return escaped.replace("<", "&lt;").replace(">", "&gt;")


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60] or "custom"
