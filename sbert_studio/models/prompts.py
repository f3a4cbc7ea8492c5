"""Prompts of a model by the role of a text: a query, a document, or one of two texts to compare.

The names are those that sentence-transformers looks for (``encode_query``, ``encode_document``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..errors import StudioError
from ..i18n import _

if TYPE_CHECKING:
    from .base import Encoder
    from .sentence_encoder import SentenceEncoder

Role = Literal["plain", "query", "document", "symmetric"]
ROLES: tuple[Role, ...] = ("plain", "query", "document", "symmetric")
ASYMMETRIC_KINDS = ("positive_pairs", "triplets")
"""Kinds of examples whose first text is a query for the others."""
_NONE, _DEFAULT = "none", "default"
_NAMES: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus"), "symmetric": ("STS", "sts")}


@dataclass(frozen=True)
class SearchSettings:
    """Search settings that override the model's own.

    Attributes:
        query_prompt, document_prompt: prepended to the query and to each text; empty for the model's own, ``none`` for no prompt.
        truncate_dim: number of components compared; 0 for the model's own.
    """

    query_prompt: str = ""
    document_prompt: str = ""
    truncate_dim: int = 0

    def __post_init__(self) -> None:
        if self.truncate_dim < 0:
            raise StudioError(
                _("truncate_dim is {truncate_dim}", truncate_dim=self.truncate_dim),
                "choose an integer, or 0 for all components",
            )

    def apply(self, encoder: Encoder, role: Role) -> Encoder:
        """Return ``encoder`` for texts of ``role`` with these settings."""
        chosen = self.query_prompt if role == "query" else self.document_prompt
        prompt = None if not chosen else "" if chosen.strip() == _NONE else chosen
        return encoder.for_role(role).with_settings(prompt, self.truncate_dim)


def prompt_for(prompts: Mapping[str, str], default: str, role: Role) -> str:
    """Return the prompt of a text, given the model's prompts by name and its default prompt.

    Texts to compare get the STS prompt, if any. Otherwise, without a default prompt, a model with the prompts ``query`` and
    ``passage`` uses the query prompt on both sides, as recommended for the E5 models (Wang et al. 2022, arXiv:2212.03533); other models use
    none.
    """
    for name in _NAMES.get(role, ()):
        if name in prompts:
            return prompts[name]
    if role == "symmetric" and not default and prompts.get("passage"):
        return prompts.get("query", "")
    return default


def column_roles(kind: str, columns: int) -> tuple[Role, ...]:
    """Return the role of each text column for a kind of examples.

    The first text of positive pairs and triplets is the query and the others are documents; texts of any other kind are compared.
    """
    first: Role = "query" if kind in ASYMMETRIC_KINDS else "symmetric"
    rest: Role = "document" if kind in ASYMMETRIC_KINDS else "symmetric"
    return (first, *[rest] * (columns - 1))


def parse_prompts(setting: str) -> tuple[dict[str, str], str]:
    """Return the prompts by name, and the default prompt, from a run's setting.

    Args:
        setting: ``none``: no prompt; a JSON object: prompts by name, such as ``{"query": "query: ", "document": "passage: "}``
            (``default`` for other texts); any other text: prepended to every text.
    """
    if setting.strip() == _NONE:
        return {}, ""
    if not setting.lstrip().startswith("{"):
        return {_DEFAULT: setting}, setting
    try:
        found = json.loads(setting)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        example = '{"query": "query: ", "document": "passage: "}'
        raise StudioError(
            _("the prompts {setting} are not a JSON object with string values", setting=repr(setting[:60])),
            _("write them as {example}", example=example),
        )
    return found, found.get(_DEFAULT, "")


def override_prompts(encoder: SentenceEncoder, setting: str) -> None:
    """Replace the prompts of ``encoder``, in use and when saved, with those of a run's setting; an empty setting keeps the model's own."""
    if setting:
        require_prompts(encoder)
        encoder.prompts, default = parse_prompts(setting)
        encoder.set_prompt(default)


def require_prompts(encoder: Encoder) -> None:
    """Reject a model that takes no prompts."""
    if not encoder.takes_prompts:
        raise StudioError(_("{name} does not support prompts", name=encoder.name), "omit the prompt, or choose a transformer")


def describe_prompts(prompts: Mapping[str, str], default: str, names: Sequence[str], roles: Sequence[Role]) -> str:
    """Return a sentence with the prompt of each column, by name and role; empty without prompts."""
    used = [prompt_for(prompts, default, role) for role in roles]
    if not any(used):
        return ""
    if len(set(used)) == 1:
        return _("Prompt “{used}” before every text.", used=used[0])
    first, second = used[0] or "none", used[1] or "none"
    return _(
        "Prompts: “{first}” before “{names}”, “{second}” before “{names2}”.",
        first=first,
        names=names[0],
        second=second,
        names2=", ".join(names[1:]),
    )
