from __future__ import annotations

from dataclasses import dataclass

import gradio as gr
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


def test_each_kind_of_field_has_its_control() -> None:
    drawn = forms.controls(fields_of(Params), elem_id="x")
    kinds = {name: type(control) for name, control in drawn.items()}
    assert kinds == {
        "rate": gr.Textbox,
        "share": gr.Slider,
        "steps": gr.Textbox,
        "pooling": gr.Dropdown,
        "note": gr.Textbox,
        "on": gr.Checkbox,
    }
    assert drawn["rate"].value == "2e-05"
    assert drawn["share"].minimum == 0 and drawn["share"].maximum == 1


def test_values_are_read_back_as_their_types() -> None:
    fields = fields_of(Params)
    assert forms.read_values(fields, [" 3e-5 ", 0.2, "7", "cls", " x ", False]) == {
        "rate": 3e-5, "share": 0.2, "steps": 7, "pooling": "cls", "note": "x", "on": False,
    }  # fmt: skip
    with pytest.raises(StudioError, match="rate is 'fast'"):
        forms.read_values(fields, ["fast", 0.2, "7", "cls", "", False])


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


def test_an_empty_choice_that_is_nothing_of_the_models_says_what_it_does() -> None:
    drawn = forms.controls(TrainSpec.settings(), elem_id="x")
    assert drawn["accept_alarm"].choices[0] == ("none: stop and ask", "")
    assert drawn["pooling"].choices[0] == ("as the model has it", "")
