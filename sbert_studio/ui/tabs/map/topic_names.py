"""Names of the topics of a map by a language model, on request: controls in the map's settings, and their handler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gradio as gr

from ....errors import StudioError
from ....explore.map_edits import NameEdit
from ....services.topic_names import MAX_HINT_LENGTH, name_topics
from ....services.topic_report import broad_topic
from ...components import endpoint_boxes
from ...handlers import progress_callback, warn
from ...panel import Panel
from . import handlers
from .view_model import MapAction

if TYPE_CHECKING:
    from ....services import Studio
    from ....services.results import TopicInfo
    from ...page import Page
    from ...state import DrawnMap

_ABOUT = (
    "A language model behind an OpenAI-compatible endpoint writes the names. It receives the keywords and three typical texts of each "
    "topic. Without it, names consist of keywords."
)


@dataclass(frozen=True)
class NameSettings:
    """Endpoint and hint; parts that are empty come from the settings of the program."""

    llm_url: str = ""
    llm_model: str = ""
    llm_key: str = ""
    llm_hint: str = ""


@dataclass(frozen=True)
class NamingControls:
    """Controls by the names of :class:`NameSettings`, and the button."""

    button: gr.Button
    settings: dict[str, gr.Textbox]


def draw_controls(studio: Studio) -> NamingControls:
    """Draw the controls. On a shared page, visitors cannot choose the endpoint: they see at most the hint and the button."""
    with gr.Accordion("Names of topics", open=False, visible=studio.language_models.is_offered, elem_id="map-names"):
        gr.Markdown(_ABOUT)
        drawn = endpoint_boxes(studio, "map")
        drawn["llm_hint"] = gr.Textbox(
            label="Hint", placeholder="Requests to a bank; write short names.", max_length=MAX_HINT_LENGTH, elem_id="map-llm-hint"
        )
        return NamingControls(gr.Button("Name the topics", size="sm", elem_id="map-llm"), drawn)


def connect(panel: Panel, controls: NamingControls) -> None:
    """Connect the button to its handler."""
    naming = Panel(panel.page, **{**panel.components, **controls.settings})
    naming.on(controls.button.click, name_map_topics, task="map", progress_on="map", concurrency_limit=2, concurrency_id="map-names")


def name_map_topics(
    page: Page, map_key: str | None, corpus: str | None, owner: object, names: NameSettings, progress: gr.Progress | None = None
) -> MapAction:
    """Name the topics of the map as edited, in one edit that can be undone; say for how many the model gave no name."""
    drawn = page.maps.get(map_key)
    model = page.studio.language_models.open(names.llm_url or "", names.llm_model or "", names.llm_key or "")
    view, _corpus = handlers.exported(drawn)
    found = name_topics(view.topics, model, names.llm_hint or "", progress_callback(progress, "Naming topics"))
    if not found.names:
        raise StudioError(found.describe(), "check the endpoint, the model and the key")
    if found.failures:
        warn(StudioError(found.describe()))
    edit = to_edit(drawn, view.topics, found.names)
    return handlers.save_edits(page, map_key, corpus, owner, page.maps.get(map_key).edits.then(edit))


def to_edit(drawn: DrawnMap, topics: Sequence[TopicInfo], names: Mapping[int, str]) -> NameEdit:
    """Return the edit that gives these names.

    Args:
        topics: those of :func:`.handlers.exported`, which numbers the topics of an edited map anew.
        names: names by the ids of ``topics``.
    """
    now, start = drawn.edits.now, drawn.edits.start
    ids: dict[int, int | None] = {topic.id: topic.id for topic in topics}
    if drawn.edits.steps:
        clusters = [cluster for cluster, _name, _size in now.clusters() if cluster >= 0]
        ids |= enumerate(clusters)
        known = {topic.id: topic for topic in drawn.view.topics}
        parents = {topic.id: topic.parent for topic in topics if topic.parent is not None}
        for number, parent in parents.items():
            ids[parent] = broad_topic(known, start.ids[(now.ids == clusters[number]) & ~now.removed])
    # By kind: a cluster created by a split may have the id of a broad topic.
    broad = {topic.parent for topic in topics}
    named, groups = (
        {own: name for topic, name in names.items() if (topic in broad) is is_broad and (own := ids[topic]) is not None}
        for is_broad in (False, True)
    )
    return NameEdit(tuple(named), tuple(named.values()), tuple(groups), tuple(groups.values()))
