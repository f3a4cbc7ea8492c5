"""How many tokens of a text are read, and how many of them are the prompt's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import StudioError

if TYPE_CHECKING:
    from .tokens import Tokens

# A tokenizer without a limit says so with a number of thirty digits.
_FEWEST = 3
_UNLIMITED = 1_000_000
_DEFAULT_LENGTH = 512


def capped(asked: int | None, backbone: Any, tokenizer: Any) -> int:
    """``asked`` tokens, or the tokenizer's own limit, but never more than the backbone's table of positions holds.

    Raises:
        StudioError: the tokenizer's own limit leaves no room for a word between the special tokens.
    """
    if asked is None and int(tokenizer.model_max_length) < _FEWEST:
        raise StudioError(f"the model's tokenizer reads {tokenizer.model_max_length} tokens of a text", "copy the folder again")
    limits = [int(tokenizer.model_max_length) if asked is None else asked]
    positions = getattr(backbone.config.get_text_config(), "max_position_embeddings", None)
    if positions is not None and positions > 0:
        # RoBERTa's positions begin after the padding id: a table of 514 holds 512 tokens.
        first = getattr(getattr(backbone, "embeddings", None), "padding_idx", None)
        limits.append(int(positions) - (0 if first is None else int(first) + 1))
    limit = min(limits)
    return limit if limit < _UNLIMITED else _DEFAULT_LENGTH


def length_of_prompt(tokens: Tokens) -> int:
    """How many tokens stand before a text: the prompt's and the special ones before it, but not the one that ends a text."""
    return length_before_text(tokens) if tokens.prompt else 0


def length_before_text(tokens: Tokens) -> int:
    """Return how many tokens stand before a text, with a prompt or without one."""
    (ids,) = tokens.ids([""])
    return len(ids) - (bool(ids) and ids[-1] in tokens.tokenizer.all_special_ids)
