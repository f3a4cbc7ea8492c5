"""What word vectors can be made of, by which settings, and how it is begun."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import StudioError
from ....models.static import LEARNERS
from ....registry import Field, fields_of
from ....services.static_embeddings import STATIC
from ... import forms
from ...page import Page

if TYPE_CHECKING:
    from ....services import Studio
    from ....services.jobs import JobView

_STATIC = "Static distillation of the model above"
_STATIC_WORDS = (
    "Takes the vectors of single words from the model in the header: less exact, and far faster. A file is not needed; its words are added."
)
_TABLE_WORDS = "Was learned by others from billions of words; only the weights are fitted to your texts."
_VERBS = {"skip_gram": "skipgram"}
LONGEST = 80  # characters of a name
_DIM = Field("dim", int, 256, "Components of a vector.", min=1, max=4096)


def kinds(studio: Studio) -> list[tuple[str, str]]:
    """(title, name) of what can be made: every learner, the installed tables, and a distillation."""
    tables = [(f"{name}, as it is", name) for name in studio.catalog.tables()]
    return [*((LEARNERS[name].title, name) for name in LEARNERS), *tables, (_STATIC, STATIC)]


def summary(kind: str) -> str:
    """A sentence about one."""
    return _STATIC_WORDS if kind == STATIC else LEARNERS[kind].summary if kind in LEARNERS else _TABLE_WORDS


def own_settings(kind: str) -> list[Field]:
    """The settings of one."""
    return fields_of(LEARNERS[kind].Params) if kind in LEARNERS else [_DIM] if kind == STATIC else []


def is_weighted_by_choice(kind: str) -> bool:
    """Whether the weights of words are chosen beside it."""
    return kind != STATIC and not (kind in LEARNERS and LEARNERS[kind].weighted)


def start(
    page: Page,
    owner: Any,
    kind: str,
    file: str | None,
    model: str | None,
    *,
    settings: Mapping[str, Any] | None = None,
    weighting: str = "sif",
    common: int = 0,
    name: str = "",
) -> JobView:
    """Begin to make word vectors.

    Args:
        file: a file of texts; a distillation needs none.
        name: what the model is called; its first 80 characters are kept.
        model: the one that is distilled.
        settings: as the controls hold them, by name.

    Raises:
        StudioError: a setting is refused, there is no file, or one is made already.
    """
    studio = page.studio
    if kind not in {known for _, known in kinds(studio)}:
        raise StudioError("this is no kind of word vectors", "choose one from the list")
    if file is None and kind != STATIC:
        raise StudioError("there are no texts to learn from", "choose a file or a sample")
    raw = settings or {}
    fields = own_settings(kind)
    values = forms.read_values(fields, [raw.get(field.name, field.default) for field in fields])
    visitor, title = page.visitor(owner), (name or "").strip()[:LONGEST] or _name(studio, kind, file, model)
    if kind == STATIC:
        return studio.jobs.submit(
            visitor,
            title,
            lambda begin: studio.words.distil(model or None, dim=values["dim"], vocabulary=file, name=title, owner=visitor, begin=begin),
        )
    if kind not in LEARNERS:
        values = {}
    chosen = weighting if is_weighted_by_choice(kind) else None
    named = _VERBS.get(kind, kind)
    studio.words.learner(named, values)
    return studio.jobs.submit(
        visitor,
        title,
        lambda begin: studio.words.fit(
            str(file), named, weighting=chosen, common=int(common) if chosen else 0, settings=values, name=title, owner=visitor, begin=begin
        ),
    )


def _name(studio: Studio, kind: str, file: str | None, model: str | None) -> str:
    of = Path(file).stem if file else ""
    if kind == STATIC:
        cards = {card.name: card.title for card in studio.judge.models_at_hand()[0]}
        teacher = model or studio.settings.default_model
        return f"{cards.get(teacher, Path(teacher).name)}-static"
    return f"{of}-{kind}"
