"""Components that several tabs use, and forms: settings that a dataclass declares, drawn as one component, and their values read back.

A form is *one* component, a ``fields`` view, so that an event sends and fills one value however many settings there are. The value is
JSON: ``items`` (controls and groups of them) and ``values`` (name → value). The browser sends it with each edit (event ``input``) and as
an input of other events. An answer that :func:`answer_form` made from the value leaves alone what the user has edited since it was sent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gradio as gr

from ..data.documents.loading import DOCUMENT_SUFFIXES
from ..data.loading.table import SUFFIXES
from ..errors import StudioError
from ..i18n import _, capitalize
from ..registry import Field
from ..serialization import to_plain
from .handlers import handle_errors
from .panel import Panel
from .sessions.tasks import TASKS, session_id
from .state import is_own_model
from .views import Update, Value, props, view

if TYPE_CHECKING:
    import gradio as gr

    from ..data.corpus import Corpus
    from ..data.samples import Sample
    from ..services import Studio
    from .page import Page

FILE_TYPES = list(SUFFIXES)
"""Extensions of tables."""
CORPUS_TYPES = [*dict.fromkeys((*SUFFIXES, *DOCUMENT_SUFFIXES)), ".zip"]
"""Extensions of tables and documents."""


def upload(label: str, elem_id: str, types: Sequence[str] = FILE_TYPES, *, many: bool = False) -> gr.File:
    count: Literal["single", "multiple"] = "multiple" if many else "single"
    with gr.Column(elem_classes=["sb-tight"]):
        caption(label)
        look = {"height": 96, "elem_id": elem_id, "elem_classes": ["sb-upload"]}
        return gr.File(label=label, show_label=False, file_types=list(types), file_count=count, **look)


def first_sight(result: str, by: str = "data") -> gr.HTML:
    """Draw an invisible part whose ``select`` event asks for the first result of a tab, once it is seen and the result is empty.

    Args:
        result: id of the view of the result.
        by: ``data`` to ask again for other data or another model, ``model`` only for another model.
    """
    return view("sight", {"result": result, "by": by})


def shown_state(elem_id: str) -> gr.JSON:
    """Draw an invisible part for the state that a timer's handler compares with the present one.

    The page holds it, together with what is drawn. A ``gr.State``, which the server holds, also changes by an answer that reaches the page
    too late, or never.
    """
    return gr.JSON(None, visible="hidden", elem_id=elem_id)


def caption(text: str) -> None:
    gr.HTML(f'<span class="sb-label">{text}</span>', padding=False)


def samples_of(*kinds: str) -> list[Sample]:
    from ..data.samples import list_samples

    return [item for item in list_samples() if item.kind in kinds]


def find_sample(sample_id: object, *kinds: str) -> Sample | None:
    """Return the sample of the given kinds with this id, which comes from the browser."""
    return next((sample for sample in samples_of(*kinds) if sample.id == sample_id), None)


def sample_picker(samples: Sequence[Sample], elem_id: str, label: str = "Or try a sample") -> gr.HTML:
    """Draw a small button for each sample, those in the page's language first. A click is a ``select`` event with the sample's id."""
    with gr.Column(elem_classes=["sb-tight"]):
        caption(label)
        shown = [{"id": item.id, "title": item.title, "language": item.language} for item in samples]
        return view("samples", to_plain({"samples": shown, "prefix": elem_id}), elem_id=f"{elem_id}-samples")


def cancel_button(task: str) -> gr.Button:
    """Draw a button that stops the page's ``task``; it appears once the task has run for a second."""
    button = gr.Button("Cancel", elem_id=f"{task}-cancel", elem_classes=["sb-cancel"], size="sm")

    def cancel() -> None:
        TASKS.stop(session_id(), task)

    idle = f"() => SB.idle('{task}-cancel')"
    button.click(cancel, None, None, js=idle, queue=False, api_visibility="private", show_progress="hidden")
    return button


def download_button(
    label: str,
    write: Callable[..., Path | None],
    inputs: list[gr.components.Component],
    *,
    elem_id: str,
    visible: bool = True,
    js: str | None = None,
) -> gr.Button:
    """Draw a button that writes a file and downloads it with the same click; ``write`` returns the file's path.

    Args:
        js: JavaScript function that takes the values of the inputs and returns those that are sent.
    """
    button = gr.Button(label, elem_id=elem_id, visible=visible)
    # Gradio shows a "hidden" component when the enclosing row is shown a second time; the class keeps it hidden.
    link = gr.DownloadButton(visible="hidden", elem_id=f"{elem_id}-file", elem_classes=["sb-file"])
    written = button.click(handle_errors(write, stop=True), inputs, link, api_visibility="private", js=js)
    written.success(None, js=f"() => setTimeout(() => document.querySelector('#{elem_id}-file').click(), 250)")
    return button


def endpoint_boxes(studio: Studio, prefix: str) -> dict[str, gr.Textbox]:
    """Draw the boxes of a language model's endpoint, by names that handlers take; hidden on a shared page, whose operator chooses it."""
    known, own = studio.settings, studio.language_models.takes_addresses

    def box(name: str, value: str, label: str, **look: Any) -> gr.Textbox:
        return gr.Textbox(value if own else "", label=label, visible=own, elem_id=f"{prefix}-llm-{name}", **look)

    with gr.Row():
        return {
            "llm_url": box("url", known.llm_url, "Endpoint", placeholder="http://localhost:11434/v1"),
            "llm_model": box("model", known.llm_model, "Language model", placeholder="llama3.2"),
            "llm_key": box("key", "", "Key", placeholder="for hosted models; not stored", type="password"),
        }


def refresh_model_choices(page: Page, chooser: gr.Dropdown, offered_models: Callable[[object], list[tuple[str, str]]]) -> None:
    """Update a selector's (title, name) choices when runs change, when it is opened, and once the visitor has an id."""

    def update_choices(owner: object, selected: object) -> Update:
        return select_offered(chooser, offered_models(owner), selected)

    def connect(trigger: gr.events.Trigger) -> None:
        trigger(handle_errors(update_choices), [page.owner, chooser], chooser, api_visibility="private", show_progress="hidden")

    connect(page.runs_version.change)
    connect(chooser.focus)
    page.on_load.append(lambda loaded: connect(loaded.then))


def select_offered(chooser: gr.Dropdown, offered: list[tuple[str, str]], selected: object) -> Update:
    """Return an update of a model selector with other choices: deleted models are deselected, names from the Hub may be typed."""
    names = {name for _, name in offered}
    value: object
    if chooser.multiselect:
        value = [name for name in selected if name in names] if isinstance(selected, list) else []
    elif chooser.allow_custom_value:
        value = "" if is_own_model(selected) and selected not in names else selected or ""
    else:
        value = selected if selected in names else ""
    # The user may have changed the choice after the event was sent; sending the earlier one back would undo that.
    return props(choices=offered) if value == selected else props(choices=offered, value=value)


def hub_token(page: Page, signed_in: str | None) -> str:
    """Return the token to push with: the visitor's, or on the user's own machine that of ``hf auth login``."""
    if signed_in:
        return signed_in
    if page.shared and not page.studio.settings.sign_in:
        raise StudioError("signing in with Hugging Face is not available here", "download the zip, and upload its content yourself")
    if page.shared:
        raise StudioError("you are not signed in", "sign in with Hugging Face first, using the button next to this one")
    from huggingface_hub import get_token

    token = get_token()
    if not token:
        raise StudioError("this machine is not signed in to the Hugging Face Hub", "run hf auth login in a terminal, with a write token")
    return token


def push_model(
    page: Page,
    owner: object,
    pushed_model: str,
    repository: str,
    private: bool,
    token: gr.OAuthToken | None = None,
    progress: gr.Progress | None = None,
) -> Value:
    visitor = page.visitor(owner)
    own = {run.id for run in page.studio.fine_tune.list_runs(visitor)} | {
        model.id for model in page.studio.static_embeddings.list_models(visitor)
    }
    if pushed_model not in own:
        raise StudioError("this model is not yours, or no longer exists", "choose one of your models")

    def begin(phase: str) -> None:
        if progress is not None:
            progress(None, desc=capitalize(phase))

    signed_in = hub_token(page, token.token if token is not None else None)
    done = page.studio.models.push_to_hub(pushed_model, repository, signed_in, private=private, begin_phase=begin)
    return {"text": _("Pushed, {bytes} MB:", bytes=f"{done.bytes / 1e6:,.1f}"), "link": done.url}


class PushPanel:
    """Panel for pushing a model to the Hugging Face Hub, with the visitor's sign-in on a Space or the machine's token elsewhere.

    Hidden until a model is selected that can be pushed.
    """

    def __init__(self, page: Page, prefix: str) -> None:
        self.page, self._task = page, f"{prefix}-push"
        with gr.Accordion("Push to the Hugging Face Hub", open=False, visible=False, elem_id=f"{prefix}-push") as self.whole:
            self.repository = gr.Textbox(
                label="Repository", placeholder="my-name/my-model", info="Created if it does not exist.", elem_id=f"{prefix}-repository"
            )
            self.private = gr.Checkbox(True, label="Private: only visible to you", elem_id=f"{prefix}-private")
            with gr.Row(elem_classes=["sb-buttons"]):
                if page.studio.settings.sign_in:
                    gr.LoginButton(size="sm", elem_id=f"{prefix}-sign-in")
                self.button = gr.Button("Push", elem_id=f"{prefix}-push-go")
            cancel_button(self._task)
            self.note = view("note", elem_id=f"{prefix}-pushed")

    def listen(self, pushed_model: gr.State) -> None:
        """Connect the events. ``pushed_model``: state with the model's name."""
        panel = Panel(self.page, pushed_model=pushed_model, repository=self.repository, private=self.private, note=self.note)
        panel.on(self.button.click, push_model, output="note", task=self._task, progress_on="note")
        pushed_model.change(lambda: None, None, self.note, api_visibility="private", show_progress="hidden")


# Labels of the empty choice, if it does not mean the model's own value.
_BLANK = {"accept_alarm": "none: stop and ask"}
_MAX_STOPS = 200  # of a slider; a wider range is typed


NO_RERANKER = ("Off", "")
"""Choice of a re-ranker."""


def reranker_chooser(elem_id: str, min_width: int = 160) -> gr.Dropdown:
    """Draw the selector of a model that re-ranks hits."""
    return gr.Dropdown(
        [NO_RERANKER],
        value="",
        label="Re-rank top 100",
        info="With a cross-encoder (slower, more accurate) or poly-encoder: your own, or a Hugging Face id.",
        allow_custom_value=True,
        elem_id=elem_id,
        elem_classes=["sb-data"],
        min_width=min_width,
    )


def form_key(*values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def form_provenance(form: str, key: str, words: str, button: str, corpus: Corpus | None = None, theirs: Sequence[str] = ()) -> Value:
    """Describe how a result was computed, if its models are chosen in a separate form instead of the header.

    Args:
        form: name of a ``form`` view, whose value has ``key`` as long as the form is unchanged.
        words: description.
        theirs: names in the description that are not translated.
        button: id of the button that computes the result again.
        corpus: the selected corpus, if the result depends on it.
    """
    digest = "" if corpus is None else corpus.digest
    return {"model": "", "corpus": digest, "form": form, "key": key, "words": words, "again": button, "theirs": list(theirs)}


def format_number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def to_control_value(field: Field, value: object) -> object:
    """Convert a value to that of a field's control. Typed numbers are text until they are parsed."""
    return value if field.type in (bool, str) or _has_slider(field) else format_number(value)


def _has_slider(field: Field) -> bool:
    return bool(field.min is not None and field.max is not None and field.step and (field.max - field.min) / field.step <= _MAX_STOPS)


def describe_control(field: Field, *, name: str = "", **properties: object) -> Value:
    """Return an item of a form that edits a field; ``name`` and ``properties`` override the field's own."""
    blank = _BLANK.get(field.name, "the model's own")
    choices = [[choice or blank, choice] for choice in field.choices]
    label = field.label or capitalize(field.name.replace("_", " "))
    item = {"name": name or field.name, "label": label, "info": field.help, "choices": choices, **properties}
    if field.type is bool:
        return {**item, "kind": "checkbox"}
    if item["choices"]:
        return {**item, "kind": "choice"}
    if _has_slider(field):
        return {**item, "kind": "slider", "min": field.min, "max": field.max, "step": field.step}
    return {**item, "kind": "text"}


def radio(item: Value) -> Value:
    return {**item, "kind": "radio"}


def group(items: Sequence[Value], *, name: str = "", title: str = "", row: bool = False, visible: bool = True) -> Value:
    """Group items of a form, in an accordion if they have a title, or side by side in a row."""
    return {"kind": "group", "name": name, "title": title, "row": row, "visible": visible, "items": list(items)}


def form_view(prefix: str, items: Sequence[Value], values: Mapping[str, object]) -> Value:
    """Return the value of a ``fields`` view; the ids of its controls are ``prefix``, ``-`` and the name."""
    return to_plain({"prefix": prefix, "items": list(items), "values": dict(values)})  # type: ignore[no-any-return]


def form(value: Value, *, elem_id: str) -> gr.HTML:
    return view("fields", value, elem_id=elem_id)


def form_values(form: object) -> dict[str, Any]:
    """Return the values of a form sent by the browser, by name; :func:`parse_values` validates them."""
    values = form.get("values") if isinstance(form, Mapping) else None
    return dict(values) if isinstance(values, Mapping) else {}


def answer_form(sent: object, new: Value) -> Value:
    """Return ``new`` as the response to an edit of the form ``sent``, without overwriting what the user has edited in the meantime."""
    return {**new, "revision": sent.get("revision")} if isinstance(sent, Mapping) else new


def parse_values(fields: Iterable[Field], values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Parse and validate the values of some fields, named with a prefix in ``values``.

    Raises:
        StudioError: a field rejects its value.
    """
    found = {}
    for field in fields:
        name = f"{prefix}{field.name}"
        if name not in values:
            raise StudioError(_("{name} is missing", name=field.name), "reload the page")
        value = values[name]
        found[field.name] = field.parse(value.strip() if isinstance(value, str) else value)
    return found
