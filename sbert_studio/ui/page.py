"""Shared parts of all tabs: the selectors in the header, the session state, and the stores of what visitors opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ..i18n import _, join, verbatim
from .basket import BasketStore
from .corpora import CorpusStore
from .sessions.blocks import SessionHolder
from .sessions.file_store import FileStore, TempFiles
from .sessions.language import LANGUAGES
from .sessions.memory_store import MemoryStore, TypedStore
from .sessions.tasks import TASKS, client_address, session_id
from .state import Header, ModelUpdate, OpenedCorpus, OtherTexts, SelectedCorpus, Session, is_visitor_id, new_visitor_id
from .views import UNCHANGED, Update, Value, props

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..services import Studio
    from ..services.results import Duplicates, ModelDiff, PairScores
    from .basket import Basket
    from .state import DrawnMap
    from .tabs.fine_tune.draft import Draft

_VISITORS_AT_ONCE = 4  # visitors of a shared page who can use their full quota at the same time
_A_DAY = 86_400.0
_BASKET_SHARE, _FILE_SHARE = 64, 4  # baskets take at most 1/64 of the disk quota, files a quarter
_BROWSER_KEY = "sbert-studio-visitor"  # also the encryption key, so that values survive a restart; they are not secret


@dataclass(eq=False, repr=False)
class Page:
    """Components and stores used by several tabs. Handlers of any tab can use the components as inputs or outputs (see :mod:`.panel`).

    Attributes:
        saved_model, saved_form, saved_duplicates: selected model, Fine-tune form and decisions on near-duplicates, stored in the browser.
        timer, runs_timer, fits_timer, evaluations_timer, documents_timer, guide_timer: timers that tick while a run is followed, all the
            time, while a job that trains static embeddings, evaluates, or makes training data from documents is running, and while
            documents are selected. They are at the root of the page, where they are always mounted.
        on_load: called with the event after which the visitor has an id, once all tabs are drawn.
        corpora, maps, pair_scores, drafts, duplicates, model_diffs: values in memory, by the keys stored in states.
        files, downloads, training_tables: files on disk.
    """

    studio: Studio
    shared: bool = False  # whether other people can reach the page; each visitor then sees only their own runs
    model: gr.Dropdown = field(init=False)  # selector in the header; its value is the name of a model
    corpus_name: gr.Dropdown = field(init=False)  # corpus selector in the header; its value is the id of the corpus
    tabs: gr.Tabs = field(init=False)  # the top-level ``gr.Tabs``
    language: gr.Textbox = field(init=False)  # hidden textbox with the code of the page's language
    examples: dict[str, gr.Textbox] = field(default_factory=dict)  # boxes with an example text, by its name (:mod:`.language_switch`)
    owner: gr.BrowserState = field(init=False)  # visitor id and the run they follow, stored in the browser
    saved_model: gr.BrowserState = field(init=False)
    saved_form: gr.BrowserState = field(init=False)
    saved_duplicates: gr.BrowserState = field(init=False)
    timer: gr.Timer = field(init=False)
    runs_timer: gr.Timer = field(init=False)
    fits_timer: gr.Timer = field(init=False)
    evaluations_timer: gr.Timer = field(init=False)
    documents_timer: gr.Timer = field(init=False)
    guide_timer: gr.Timer = field(init=False)
    # One gr.State for each field of Session.
    corpus: gr.State = field(init=False)
    data: gr.State = field(init=False)
    other_texts: gr.State = field(init=False)
    location: gr.State = field(init=False)
    pair_to_compare: gr.State = field(init=False)
    models_to_compare: gr.State = field(init=False)
    training_table: gr.State = field(init=False)
    rows_on_map: gr.State = field(init=False)
    rows_to_search: gr.State = field(init=False)
    runs_version: gr.State = field(init=False)
    basket_version: gr.State = field(init=False)
    on_load: list[Callable[[gr.events.Dependency], object]] = field(default_factory=list)
    downloads: TempFiles = field(default_factory=TempFiles)
    training_tables: TempFiles = field(default_factory=lambda: TempFiles(_A_DAY))
    sessions: SessionHolder = field(default_factory=SessionHolder)
    form_files: dict[tuple[str, Path, tuple[str, ...]], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        quota = self.studio.session_memory
        visitors = _VISITORS_AT_ONCE if self.shared else 1
        self.memory = MemoryStore(quota, quota // visitors)
        disk, days = self.studio.settings.disk_mb << 20, self.studio.settings.limits.keep_days
        self.files = FileStore(self.studio.workspace, disk // _FILE_SHARE // visitors, disk // _FILE_SHARE, days)
        self.corpora = CorpusStore(self.studio, self.memory, self.files, self.visitor)
        self.maps: TypedStore[DrawnMap] = TypedStore("map", self.memory)
        self.pair_scores: TypedStore[PairScores] = TypedStore("table of pairs", self.memory)
        self.drafts: TypedStore[Draft] = TypedStore("file of examples", self.memory)
        self.duplicates: TypedStore[Duplicates] = TypedStore("list of near-duplicates", self.memory)
        self.model_diffs: TypedStore[ModelDiff] = TypedStore("comparison of two models", self.memory)
        baskets: TypedStore[Basket] = TypedStore("basket", self.memory)
        self.baskets = BasketStore(self.studio.workspace, baskets, disk // _BASKET_SHARE, days)

    def draw_states(self) -> None:
        """Create the invisible components: session state, browser storage and timers."""
        for state in fields(Session):
            setattr(self, state.name, gr.State(state.default))
        poll = self.studio.settings.poll_seconds
        self.timer, self.runs_timer = gr.Timer(poll, active=False), gr.Timer(4 * poll)
        self.fits_timer, self.evaluations_timer = gr.Timer(poll, active=False), gr.Timer(poll / 2, active=False)
        self.documents_timer, self.guide_timer = gr.Timer(poll, active=False), gr.Timer(4 * poll, active=False)
        self.owner = _browser_state({"owner": "", "job": ""})
        self.saved_form = _browser_state({"file": ""}, "-form")
        self.saved_duplicates = _browser_state({"corpus": ""}, "-alike")
        self.saved_model = _browser_state("", "-model")

    def component(self, name: str) -> gr.components.Component | None:
        found = getattr(self, name, None) if name in _COMPONENTS else None
        return found if isinstance(found, gr.blocks.Block) else None

    def open_session(self) -> None:
        self.sessions.opened(session_id())

    def close_session(self) -> None:
        """Stop the tasks that the calling page waits for and release its memory later. Its training runs continue."""
        TASKS.stop(session_id())
        self.memory.close(session_id())
        self.corpora.close_session(session_id())
        self.sessions.closed(session_id())
        LANGUAGES.close(session_id())

    def sweep(self) -> None:
        self.memory.sweep()
        self.sessions.sweep()
        self.files.sweep()
        self.baskets.sweep()

    def delete_temporary_files(self) -> None:
        self.downloads.delete()
        self.training_tables.delete()

    def memory_usage(self) -> dict[str, int]:
        return {"visitors": self.memory.bytes}

    def visitor(self, owner: object) -> str:
        """Return the visitor's id for a value of ``owner``: "local" unless the page is shared."""
        if not self.shared:
            return "local"
        name = owner.get("owner") if isinstance(owner, dict) else None
        return str(name) if is_visitor_id(name) else new_visitor_id()

    def caller(self) -> str:
        """Return the owner of runs started by API calls; on a shared page it is derived from the caller's address."""
        from ..services.run_setup import api_owner

        return api_owner(self.studio.workspace, client_address()) if self.shared else "local"

    def model_choices(self, owner: object, *reads: str) -> list[tuple[str, str]]:
        """Return (title, name) of all models for ``texts`` (the default), ``pairs`` (cross- and poly-encoders), or both."""
        found, _unused = self.studio.models.list_available(self.visitor(owner))
        cards = [card for card in found if card.reads in (reads or ("texts",)) and not card.damaged]
        titles = Counter(card.title for card in cards)
        # The end of the id distinguishes runs with the same name.
        return [
            (card.title if titles[card.title] == 1 else _("{=title} · {=name}", title=card.title, name=card.name[-4:]), card.name)
            for card in cards
        ]

    def model_titles(self, owner: object, *reads: str) -> dict[str, str]:
        return {name: title for title, name in self.model_choices(owner, *reads)}

    def model_title(self, model: str) -> str:
        return self.studio.store.title(model)

    def usual_model(self, corpus: Corpus, other_texts: OtherTexts | None = None) -> str:
        return self.studio.languages.default_model(Counter({other_texts.language: 1}) if other_texts else corpus.languages)

    def select_fitting_model(self, key: str, header: Header) -> Update:
        """Return an update that selects a model for the language of a newly opened corpus, unless the visitor selected one."""
        if header.saved_model or header.model not in (None, *self._usual_models()):
            return gr.skip()  # type: ignore[no-any-return]
        fitting = self.usual_model(self.corpora.get(key).corpus, header.other_texts)
        return props() if fitting == header.model else props(value=fitting)

    def fit_corpus(self, key: str, header: Header) -> OpenedCorpus:
        other = header.other_texts
        if other is not None and other.name:  # texts of the file that was selected before
            header = replace(header, other_texts=None)
        return OpenedCorpus(key, self.select_fitting_model(key, header))

    def fit_model(self, model: str | None, saved_model: object, file: str, languages: Counter[str]) -> tuple[str, ModelUpdate]:
        """Return the model for texts outside the corpus, and the updates that select it.

        If most texts are not English, a model that the visitor did not select is replaced. Otherwise the model is kept, because it was
        chosen for the corpus.

        Args:
            file: name of the file; empty for typed texts.
            languages: number of texts by language.
        """
        from ..data.language import dominant_foreign_language

        model = model or self.studio.settings.default_model
        language = dominant_foreign_language(languages)
        if not language:
            return model, ModelUpdate()
        is_chosen = saved_model or model not in self._usual_models()
        fitting = model if is_chosen else self.studio.languages.default_model(languages)
        return fitting, ModelUpdate(UNCHANGED if fitting == model else props(value=fitting), OtherTexts(file, language))

    def _usual_models(self) -> tuple[str, str]:
        return self.studio.settings.default_model, self.studio.settings.multilingual

    def provenance(self, model: str | None, corpus: SelectedCorpus | None = None, button: str = "") -> Value:
        """Describe how a result was computed, with the button that computes it again. The page marks it when a selection changes."""
        name = model or self.studio.settings.default_model
        theirs = [self.model_title(name), *self.corpora.user_names(corpus)]
        names = [self.model_title(name), *([corpus.corpus.name] if corpus is not None else [])]
        words = join(" · ", [verbatim(one) if one in theirs else one for one in names])
        return {"model": name, "corpus": "" if corpus is None else corpus.corpus.digest, "words": words, "again": button, "theirs": theirs}


_COMPONENTS = frozenset(item.name for item in fields(Page) if str(item.type).startswith("gr."))


def _browser_state(value: dict[str, str] | str, suffix: str = "") -> gr.BrowserState:
    return gr.BrowserState(value, storage_key=f"{_BROWSER_KEY}{suffix}", secret=_BROWSER_KEY)
