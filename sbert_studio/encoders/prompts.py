"""Which of a model's prompts is put before a text, by what the text is: a query, a document, or one of two that are compared.

The names are those that sentence-transformers looks for (``encode_query``, ``encode_document``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Role = Literal["plain", "query", "document", "symmetric"]
ROLES: tuple[Role, ...] = ("plain", "query", "document", "symmetric")
_NAMES: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus"), "symmetric": ("STS", "sts")}


def prompt_for(prompts: Mapping[str, str], default: str, role: Role) -> str:
    """The prompt of a text.

    Two texts that are compared have the prompt for that, where there is one. Without it, and without a default, a model with the prompts
    ``query`` and ``passage`` has that of a query on both sides, as the E5 models ask for (Wang et al. 2022, arXiv:2212.03533); any other
    has none.

    Args:
        prompts: of the model, by name.
        default: what it puts before a text of which nothing is said.
    """
    for name in _NAMES.get(role, ()):
        if name in prompts:
            return prompts[name]
    if role == "symmetric" and not default and prompts.get("passage"):
        return prompts.get("query", "")
    return default
