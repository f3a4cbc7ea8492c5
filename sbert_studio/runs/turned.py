"""The answers to an alarm that only the roles of the table's columns can spell out: its scores, or its columns, the other way round."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ..data.questions import Option
from ..data.schema.overrides import format_names, format_scale
from ..data.schema.roles import Roles
from ..training.alarms import OPPOSITE


def with_turns(question: Mapping[str, Any], roles: Roles, *, of_held_out_file: bool = False) -> dict[str, Any]:
    """``question``, as :class:`~sbert_studio.training.events.Asks` has it, with the answer that turns round what ``roles`` say.

    Args:
        question: an alarm's, or nothing.
        roles: of the training file; an order of labels that are not its own is no answer, since it cannot be given.
        of_held_out_file: the rows that are shown stand in a file of their own, and the question says so.
    """
    asked = dict(question)
    options = list(asked.get("options", ()))
    if not any(option["choice"].get("accept_alarm") == OPPOSITE for option in options):
        return asked
    if of_held_out_file:
        asked["question"] = f"In the held-out file: {asked['question']}"
    options = [option for option in options if sorted(option["choice"].get("order", roles.labels)) == sorted(roles.labels)]
    if roles.kind == "scored_pairs" and roles.low is not None and roles.high is not None:
        low, high = roles.high, roles.low
        answer = f"no, turn the scores round: {high:g} counts as most alike"
        options = [Option(answer, f"--scale {shlex.quote(format_scale(low, high))}", {"scale": [low, high]}).to_json(), *options]
    if roles.kind == "triplets" and len(roles.texts) == 3:
        anchor, positive, negative = roles.texts
        columns = (anchor, negative, positive)
        answer = f"no, {negative} holds what belongs to {anchor}"
        options[0] = Option(answer, f"--columns {shlex.quote(format_names(columns))}", {"columns": list(columns)}).to_json()
    return {**asked, "options": options}
