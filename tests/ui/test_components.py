from __future__ import annotations

from typing import Any

import gradio as gr
import pytest

from sbert_studio.ui.components import select_offered

OFFERED = [("None", ""), ("Mine", "run-0123456789")]


@pytest.mark.parametrize(
    ("options", "selected", "value"),
    [
        ({}, "run-deleted", ""),
        ({}, None, ""),
        ({"allow_custom_value": True}, "run-deleted", ""),
        ({"allow_custom_value": True}, None, ""),
        ({"multiselect": True}, ["run-0123456789", "run-deleted"], ["run-0123456789"]),
        ({"multiselect": True}, None, []),
    ],
)
def test_deleted_models_are_no_longer_selected(options: dict[str, Any], selected: Any, value: Any) -> None:
    update = select_offered(gr.Dropdown([], **options), OFFERED, selected)
    assert update["choices"] == OFFERED and update["value"] == value


@pytest.mark.parametrize(
    ("options", "selected"),
    [({}, "run-0123456789"), ({}, ""), ({"allow_custom_value": True}, "owner/model"), ({"multiselect": True}, ["run-0123456789"])],
)
def test_available_and_typed_models_are_left_alone(options: dict[str, Any], selected: Any) -> None:
    assert "value" not in select_offered(gr.Dropdown([], **options), OFFERED, selected)
