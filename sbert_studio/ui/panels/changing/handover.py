"""How any part of the page has it shown what changed: it hands over two models.

A button does it by one line; the page then goes to "What changed" and begins::

    button.click(guarded(partial(compare, page)), run_id, page.compare, api_visibility="private", show_progress="hidden")

where ``run_id`` is a component or ``gr.State`` whose value is the id of a run: it is compared with the model that it began from. Another
model to compare with is a second input.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....errors import StudioError

if TYPE_CHECKING:
    from ...page import Page


@dataclass(frozen=True)
class Compared:
    """Two models, by name. ``visit`` differs each time, so that the same two can be asked for again."""

    before: str
    after: str
    visit: str = field(default_factory=lambda: secrets.token_hex(4))


def base_of(page: Page, model: str | None) -> str:
    """The model that a run began from; of any other model the one that is chosen where nothing is."""
    default = page.studio.settings.default_model
    if not model or not model.startswith("run-"):
        return default
    try:
        return page.studio.store.get(model).model or default
    except StudioError:
        return default


def compare(page: Page, after: str | None, before: str | None = None) -> Compared:
    """What ``page.compare`` is to hold: a model, and the one that it is compared with (where none is named, the one that it began from).

    Raises:
        StudioError: no model is named.
    """
    if not after:
        raise StudioError("there is no model to compare yet", "wait until the training has ended")
    return Compared(before or base_of(page, after), after)
