from __future__ import annotations

from dataclasses import dataclass

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.registry import fields_of, setting
from sbert_studio.training.spec import TrainSpec
from sbert_studio.ui import forms


@dataclass(frozen=True)
class Params:
    rate: float = setting(2e-5, "A rate.", min=0, max=1, step=1e-6)
    share: float = setting(0.1, "A share.", min=0, max=1, step=0.01)
    steps: int = setting(5, "Steps.", min=1, max=100000, step=1)
    pooling: str = setting("mean", "How.", choices=("mean", "cls"))
    note: str = setting("", "Anything.")
    on: bool = setting(True, "Whether.")


def test_a_form_is_one_value_with_a_control_for_each_field() -> None:
    fields = fields_of(Params)
    items = {item["name"]: item for item in map(forms.describe_control, fields)}
    assert {name: item["kind"] for name, item in items.items()} == {
        "rate": "text", "share": "slider", "steps": "text", "pooling": "choice", "note": "text", "on": "checkbox",
    }  # fmt: skip
    assert (items["share"]["min"], items["share"]["max"], items["share"]["step"]) == (0, 1, 0.01)
    assert items["pooling"]["choices"] == [["mean", "mean"], ["cls", "cls"]]
    own = forms.describe_control(fields[1], name="loss.share", label="Part")
    values = {item.name: forms.to_control_value(item, item.default) for item in fields} | {"loss.share": 0.3}
    value = forms.form_view("x", [*items.values(), forms.group([own], name="loss", visible=False)], values)
    sent = forms.form_values({**value, "revision": 4})
    assert forms.parse_values(fields, sent) == {item.name: item.default for item in fields}
    assert forms.parse_values(fields[1:2], sent, "loss.") == {"share": 0.3}
    assert forms.answer_form({"revision": 4}, value)["revision"] == 4 and forms.answer_form(None, value) == value


@pytest.mark.parametrize("sent", [None, 3, {}, {"values": []}, {"values": {"rate": "fast"}}])
def test_a_form_that_a_browser_made_up_is_refused(sent: object) -> None:
    with pytest.raises(StudioError):
        forms.parse_values(fields_of(Params), forms.form_values(sent))


def test_an_empty_choice_is_named_by_its_effect() -> None:
    items = {field.name: forms.describe_control(field) for field in TrainSpec.settings()}
    assert items["accept_alarm"]["choices"][0] == ["none: stop and ask", ""]
    assert items["pooling"]["choices"][0] == ["the model's own", ""]
