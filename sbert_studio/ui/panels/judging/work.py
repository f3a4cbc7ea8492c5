"""What models are judged on, what its owner has said of it, and how the judging is begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....data.loading.hub import parse_hub_address
from ....data.schema.overrides import SchemaOverrides
from ....errors import StudioError
from ....services.training_questions import Unanswered, answered
from ...forms import form_provenance
from ...handlers import progress_callback
from ...page import Page
from ...views import Value, questions_view
from .conclusion import cautions_of, conclusion, ranked
from .differences import counted, differences_table
from .form import Form
from .lines import reports_of
from .results import all_table, main_table, speeds

if TYPE_CHECKING:
    from ....data.questions import Question
    from ....services import Studio
    from ....services.jobs import JobView
    from ....services.results import Evaluation

MOST_MODELS = 6
AGAIN = "evaluate-again"
"""The id of the button that judges again on what a result was made of."""


@dataclass(frozen=True)
class Judged:
    """What was chosen to judge by.

    Attributes:
        path: the file, or the address of a public set; ``name`` is what the table calls it.
        asked: what its owner has said of it.
        questions: what only they can say, the first time that it came up.
        suite: the suite in its place.
        known: a file of other rows whose answers are known, for a task that has a use for them.
    """

    path: Path | str
    name: str
    asked: SchemaOverrides = field(default_factory=SchemaOverrides)
    questions: tuple[Question, ...] = ()
    suite: str = ""
    known: Path | None = None

    def answered(self, which: Any) -> Judged:
        """The file with an answer taken up; ``which`` comes from the browser: the question's place and the answer's.

        Raises:
            StudioError: there is no such answer.
        """
        known = isinstance(which, list) and len(which) == 2 and all(isinstance(place, int) and place >= 0 for place in which)
        if not known or which[0] >= len(self.questions) or which[1] >= len(self.questions[which[0]].options):
            raise StudioError("that question is no longer open", "press Evaluate again")
        choice = self.questions[which[0]].options[which[1]].choice
        return replace(self, asked=answered(self.asked, choice), questions=())


@dataclass(frozen=True)
class Asked:
    """An evaluation that somebody has begun: on what, of which models, by which task.

    Attributes:
        form, again: see :func:`start`.
    """

    judged: Judged
    models: tuple[str, ...]
    task: str
    form: Form = field(default_factory=Form)
    again: str = AGAIN


@dataclass(frozen=True)
class Done:
    """What an evaluation came to, as the page shows it."""

    words: Value
    scores: Value
    details: Value
    chart: Value | None
    differences: Value | None = None
    model: str = ""

    def in_words(self) -> str:
        """Which model is better."""
        return str(self.words["text"])


def public_set(address: str | None) -> Judged:
    """A public set by its address, as somebody has typed it.

    Raises:
        StudioError: it is no such address.
    """
    text = (address or "").strip()
    text = text if text.startswith("hf:/") else f"hf://datasets/{text.removeprefix('https://huggingface.co/').removeprefix('datasets/')}"
    repository, file = parse_hub_address(text)
    return Judged(text, f"{repository}/{file}".rstrip("/"))


def start(
    page: Page, owner: Any, models: Sequence[str], judged: Judged, task: str, *, form: Form | None = None, again: str = AGAIN
) -> JobView:
    """Begin to judge models, in the background.

    Args:
        form: as it stood then; again: the id of the button that judges on the same rows again.

    Raises:
        StudioError: no model is chosen, or too many are; or the visitor has an evaluation under way.
    """
    studio, visitor = page.studio, page.visitor(owner)
    asked = Asked(judged, chosen(models), task, form or Form(), again)
    titles = {name: title for title, name in page.model_choices(owner, "texts", "pairs")}
    on, first = judged.suite or judged.name, asked.models[0]
    title = f"{len(asked.models)} models on {on}" if len(asked.models) > 1 else f"{titles.get(first, first)} on {on}"

    def work(begin: Any) -> Done:
        data = () if judged.suite else (judged.path,)
        found = studio.judge.evaluate_all(
            asked.models, data, task, judged.suite, asked=judged.asked, known=judged.known, owner=visitor, begin=begin
        )
        name = judged.suite or judged.name
        called = [titles.get(model, model) for model in asked.models]
        words = f"{', '.join(called)} · {name}"
        return done(found, titles, name, form_provenance("evaluate", asked.form.key, words, again, theirs=called))

    return studio.evaluations.submit(visitor, title, work, about=asked)


def chosen(models: Sequence[str] | None) -> tuple[str, ...]:
    """The models, each once.

    Raises:
        StudioError: there is none, or there are too many.
    """
    names = tuple(dict.fromkeys(name for name in models or () if isinstance(name, str) and name))
    if not 1 <= len(names) <= MOST_MODELS:
        raise StudioError(f"{len(names)} models are chosen", f"choose 1 to {MOST_MODELS}")
    return names


def done(found: Evaluation, titles: Mapping[str, str], name: str, made: Mapping[str, Any] | None = None) -> Done:
    """An evaluation as the page shows it; ``name`` is what was judged on, ``made`` what :func:`.made_by_form` says of it."""
    lines = reports_of(found, titles)
    scores, details = main_table(lines, found, titles, name), all_table(found, titles)
    if len(lines) == 1:
        return Done(conclusion(lines, cautions=cautions_of(found)) | {"made": made}, scores, details, speeds(lines))
    one, two = ranked(lines)[:2]
    words = conclusion(lines, counted(found, one, two, titles), cautions_of(found))
    return Done(words | {"made": made}, scores, details, speeds(lines), differences_table(found, one, two, titles))


def judge_or_ask(
    studio: Studio, models: Sequence[str], file: Judged, task: str, progress: Any = None
) -> tuple[Judged, Value | None, tuple[Value, Value] | None]:
    """Each model on one file: (the file, no question, :func:`judge`'s tables), or (the file, the question to its owner, no tables)."""
    try:
        return file, None, judge(studio, models, file.path, task, file.name, progress, file.asked)
    except Unanswered as error:
        return replace(file, questions=error.questions), questions_view("Before it can judge", error.questions), None


def judge(
    studio: Studio,
    models: Sequence[str],
    path: Path | str,
    task: str,
    name: str,
    progress: Any = None,
    asked: SchemaOverrides | None = None,
) -> tuple[Value, Value]:
    """Each model on one file, at once.

    Args:
        name: what the table calls the file.
        asked: what its owner has said of it.

    Returns:
        the table of main scores and the table of all.

    Raises:
        Unanswered: the file can be read in more than one way.
        StudioError: no model is chosen, too many are, or the file does not hold what the task needs.
    """
    names = chosen(models)
    titles = {card.name: card.title for card in studio.judge.models_at_hand()[0]}
    show = progress_callback(progress, "Encoding") if progress is not None else None
    made = done(studio.judge.evaluate_all(names, [path], task, progress=show, asked=asked), titles, name)
    return made.scores, made.details
