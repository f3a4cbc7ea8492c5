"""What the tabs share: the choosers in the header, the visitor's corpus, and where what visitors chose lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ..data.loading.formats import SUFFIXES
from ..errors import StudioError
from .panels.basket.baskets import Baskets
from .visitors import arranged
from .visitors.kept import CORPUS, ChangedElsewhereError, KeptFiles
from .visitors.session import Chosen, Downloads, Drawn, is_owner, new_owner
from .visitors.sessions import Sessions
from .visitors.shelves import Shelf, Shelves
from .visitors.visits import VISITS, address, session

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..progress import Progress
    from ..services import Studio
    from ..services.results import Changes, Duplicates, PairScores
    from .panels.basket.pairs import Basket
    from .panels.tuning.drafts import Draft

FILE_TYPES = list(SUFFIXES)
_EACH = 4  # visitors who may fill their part of the room at the same time
_A_DAY = 86_400.0
_BASKETS = 64  # the part of the disk, one in so many, that visitors' baskets may take together
_KEPT = 4  # the part of the disk, one in so many, that visitors' files may take together
_OURS = ("run-", "words-")
SAMPLE, FILE = "sample:", "file:"


@dataclass(frozen=True)
class Brought:
    """Texts outside the corpus that are mostly not English, such as a file to train on.

    Attributes:
        name: of the file; empty of texts that were typed.
        language: the ISO 639-1 code of the commonest one.
    """

    name: str
    language: str


@dataclass
class Page:
    """The parts that several tabs touch.

    Attributes:
        shared: whether strangers can reach the page.
        model: the chooser in the header; its value is a model's name.
        corpus: a ``gr.State`` with the key of the visitor's :class:`Chosen` corpus, or ``None``.
        corpus_name: the chooser of it in the header; its value is the corpus' id.
        tabs: the ``gr.Tabs``; arrived: a ``gr.State`` with the :class:`~sbert_studio.ui.places.Place` that a link or Back led to.
        compare: a ``gr.State`` with the two models of which is to be shown what changed (see :mod:`sbert_studio.ui.changing.handover`).
        language: a hidden ``gr.Textbox`` with the code of the language that the page speaks.
        examples: the boxes that begin with example texts, each with the name of its text (see :mod:`sbert_studio.ui.opening`).
        brought: a ``gr.State`` with the texts outside the corpus that the visitor has brought (:class:`Brought`), if they are mostly not
            English.
        kept_model: a ``gr.BrowserState`` with the model that was chosen, for a reload; kept_form: one with what stands in Fine-tune;
            kept_alike: one with what was decided on near-duplicates.
        owner: a ``gr.BrowserState`` with the visitor's name and the run they follow.
        pair: a ``gr.State`` with the :class:`~sbert_studio.ui.tuning.worst.Pair` that another tab wants compared.
        runs_changed: a ``gr.State`` counter that rises when a run is added, ends or is deleted.
        basket_changed: a ``gr.State`` counter that rises when a pair is put into the visitor's basket or taken out.
        on_map, within: ``gr.State`` with texts to show on the map, and with those that Search is restricted to (see
            :mod:`sbert_studio.ui.mapping.handover`).
        teach: a ``gr.State``; the :class:`~sbert_studio.ui.teaching.Lesson` that is put there opens Fine-tune with it.
        runs_timer: ticks always, for the runs that wait or train elsewhere.
        fits_timer: ticks while word vectors are made; evaluations_timer: while models are judged.
        timer: ticks while a run is followed; it stands at the root, where it is always mounted.
        on_load: told the page's load event, once all tabs are drawn.
        shelves: where what visitors chose lies; corpora, maps, pair_scores, drafts, alike, changes: what the keys to it stand for.
    """

    studio: Studio
    shared: bool = False
    model: Any = None
    kept_model: Any = None
    language: Any = None
    examples: list[tuple[str, Any]] = field(default_factory=list)
    brought: Any = None
    kept_form: Any = None
    kept_alike: Any = None
    corpus: Any = None
    corpus_name: Any = None
    tabs: Any = None
    arrived: Any = None
    compare: Any = None
    owner: Any = None
    runs_changed: Any = None
    pair: Any = None
    basket_changed: Any = None
    teach: Any = None
    on_map: Any = None
    within: Any = None
    timer: Any = None
    runs_timer: Any = None
    fits_timer: Any = None
    evaluations_timer: Any = None
    on_load: list[Callable[[Any], None]] = field(default_factory=list)
    downloads: Downloads = field(default_factory=Downloads)
    lessons: Downloads = field(default_factory=lambda: Downloads(_A_DAY))
    sessions: Sessions = field(default_factory=Sessions)
    shelves: Shelves = field(init=False)
    corpora: Shelf[Chosen] = field(init=False)
    maps: Shelf[Drawn] = field(init=False)
    pair_scores: Shelf[PairScores] = field(init=False)
    drafts: Shelf[Draft] = field(init=False)
    alike: Shelf[Duplicates] = field(init=False)
    changes: Shelf[Changes] = field(init=False)
    kept: KeptFiles = field(init=False)
    form_files: dict[tuple[Any, ...], str] = field(default_factory=dict)
    baskets: Baskets = field(init=False)
    _samples: dict[str, Chosen] = field(default_factory=dict)
    _not_kept: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        room = self.studio.room_of_visitors
        self.shelves = Shelves(room, room // _EACH if self.shared else room)
        self.corpora, self.maps = Shelf("corpus", self.shelves), Shelf("map", self.shelves)
        self.pair_scores, self.drafts = Shelf("table of pairs", self.shelves), Shelf("file of examples", self.shelves)
        self.alike, self.changes = Shelf("list of near-duplicates", self.shelves), Shelf("comparison of two models", self.shelves)
        disk, days = self.studio.settings.disk_mb << 20, self.studio.settings.limits.keep_days
        self.kept = KeptFiles(self.studio.workspace, disk // _KEPT // (_EACH if self.shared else 1), disk // _KEPT, days)
        shelf: Shelf[Basket] = Shelf("basket", self.shelves)
        self.baskets = Baskets(self.studio.workspace, shelf, disk // _BASKETS, days)

    def come(self) -> None:
        """The page that asks was opened."""
        self.sessions.opened(session())

    def leave(self) -> None:
        """The page that asks was closed: what it waits for ends, and its things may go. Its trainings go on."""
        VISITS.stop(session())
        self.shelves.close(session())
        self._not_kept = {place for place in self._not_kept if place[0] != session()}
        self.sessions.closed(session())

    def sweep(self) -> None:
        """Let go of what closed pages and single calls have left behind."""
        self.shelves.sweep()
        self.sessions.sweep()
        self.kept.sweep()
        self.baskets.sweep()

    def held(self) -> dict[str, int]:
        """The bytes of what visitors have here in memory."""
        return {"visitors": self.shelves.bytes}

    def visitor(self, owner: Any) -> str:
        """Whose runs these are: everybody's on a machine of one's own, the visitor's on a shared page."""
        if not self.shared:
            return "local"
        name = owner.get("owner") if isinstance(owner, dict) else None
        return str(name) if is_owner(name) else new_owner()

    def caller(self) -> str:
        """Whose runs those of a caller of the API are, who names no visitor: on a shared page those of its address."""
        from ..services.training_start import name_of_caller

        return name_of_caller(self.studio.workspace, address()) if self.shared else "local"

    def model_choices(self, owner: Any, *reads: str) -> list[tuple[str, str]]:
        """What a model chooser offers: (title, name) of each model at hand and each that the visitor has made.

        Args:
            reads: ``texts``, ``pairs`` (cross- and poly-encoders) or both; where nothing is said, ``texts``: what has vectors.
        """
        found, _ = self.studio.judge.models_at_hand(self.visitor(owner))
        cards = [card for card in found if card.reads in (reads or ("texts",)) and not card.damaged]
        titles = Counter(card.title for card in cards)
        # Two runs of one name are told apart by the end of their ids.
        return [(card.title if titles[card.title] == 1 else f"{card.title} · {card.name[-4:]}", card.name) for card in cards]

    def choose(self, path: Path, column: str | None = None, name: str | None = None, progress: Progress | None = None) -> Chosen:
        """Read a corpus from a file."""
        from ..data.corpus import find_text_columns

        read = self.studio.read.table(path, name, progress)
        columns = tuple(find_text_columns(read))
        corpus = self.studio.read.corpus(read, column)
        return Chosen(corpus, path, columns or read.columns, column or (columns or read.columns)[0])

    def sample_corpus(self, sample_id: str | None = None, *, language: str = "en") -> Chosen:
        """A sample corpus, where none is named the one that the page opens with in ``language``; read once."""
        from ..data.samples import default_sample, get_sample

        found = default_sample(language, CORPUS) if sample_id is None else get_sample(sample_id)
        if found is None:
            raise StudioError("there is no sample corpus", "install the program again")
        if found.id not in self._samples:
            self._samples[found.id] = replace(self.choose(found.path, name=found.title), id=f"{SAMPLE}{found.id}")
        return self._samples[found.id]

    def bring(self, key: str | None, model: str | None, kept: Any, brought: Brought | None) -> tuple[str | None, Any]:
        """Return the key of a corpus that was just chosen, and an update of the model's chooser to one that fits its language.

        Args:
            model: that in the chooser; kept: the one that the visitor chose, if any; brought: other texts of theirs.
        """
        if key is None or kept or model not in (None, *self._usual_models()):
            return key, gr.skip()
        fitting = self.usual_model(self.corpora.get(key).corpus, brought)
        return key, gr.skip() if fitting == model else gr.update(value=fitting)

    def usual_model(self, corpus: Corpus, brought: Brought | None = None) -> str:
        """Return the model that is selected for a visitor who has chosen none."""
        return self.studio.read.usual_model(Counter({brought.language: 1}) if brought else corpus.languages)

    def fit_model(self, model: str | None, kept: Any, name: str, found: Counter[str]) -> tuple[str, Any, Any]:
        """Return the model for texts outside the corpus, and what its chooser and ``brought`` become.

        Where they are mostly not English, a model that nobody chose makes way; where they are English, it stays: the corpus decides.

        Args:
            model, kept: as :meth:`bring`.
            name: of their file.
            found: how many texts are in each language.
        """
        from ..data.language import dominant_foreign_language

        model = model or self.studio.settings.default_model
        code = dominant_foreign_language(found)
        if not code:
            return model, gr.skip(), gr.skip()
        chosen = kept or model not in self._usual_models()
        fitting = model if chosen else self.studio.read.usual_model(found)
        return fitting, gr.skip() if fitting == model else gr.update(value=fitting), Brought(name, code)

    def _usual_models(self) -> tuple[str, str]:
        """Return the models that may be selected for a visitor who has chosen none."""
        return self.studio.settings.default_model, self.studio.settings.multilingual

    def corpus_choices(self, owner: Any) -> list[tuple[str, str]]:
        """What the corpus chooser offers: (title, id) of the visitor's files, those used last first, and of the samples."""
        from ..data.samples import list_samples

        mine = [(one.name, f"{FILE}{one.id}") for one in self.kept.of(self.visitor(owner)) if one.use == CORPUS]
        return [*mine, *((item.title, f"{SAMPLE}{item.id}") for item in list_samples() if item.kind == "corpus")]

    def open_corpus(self, owner: Any, corpus_id: object, progress: Progress | None = None) -> str:
        """The corpus that a chooser or a link names: its key.

        Raises:
            StudioError: there is no such sample, or no such file of this visitor's.
        """
        from ..data.samples import list_samples

        name = corpus_id if isinstance(corpus_id, str) else ""
        if name.startswith(FILE):
            kept = self.kept.get(self.visitor(owner), name.removeprefix(FILE))
            chosen = self.choose(kept.path, kept.column or None, kept.name, progress)
            self.kept.use(self.visitor(owner), kept.id, chosen.column)
            return self._put_as_left(owner, replace(chosen, id=name))
        if name.removeprefix(SAMPLE) not in {item.id for item in list_samples() if item.kind == "corpus"}:
            raise StudioError("there is no such sample", "choose one of the list")
        return self._put_as_left(owner, self.sample_corpus(name.removeprefix(SAMPLE)))

    def take_in(self, owner: Any, path: Path, column: str | None = None, name: str | None = None, progress: Progress | None = None) -> str:
        """A file as the visitor's corpus, kept for their next visit where there is room: its key."""
        chosen = self.choose(path, column, name, progress)
        kept = self.kept.keep(self.visitor(owner), path, chosen.corpus.name, chosen.column)
        if kept is None:
            gr.Info("There is no room to keep this file: after a reload you will have to choose it again.", duration=8)
        return self._put_as_left(owner, chosen if kept is None else replace(chosen, path=kept.path, id=f"{FILE}{kept.id}"))

    def other_column(self, owner: Any, chosen: Chosen, column: str) -> str:
        """The same file with another column as its texts: the key of the new corpus."""
        if chosen.id.startswith(FILE):
            return self.take_in(owner, chosen.path, column, chosen.corpus.name)
        return self._put_as_left(owner, replace(self.choose(chosen.path, column, chosen.corpus.name), id=chosen.id))

    def remember_map(self, owner: Any, drawn: Drawn) -> None:
        """Keep what was done to a map for the visitor's next visit; where that cannot be, it is said once."""
        why = "What you do on this map lasts until the page is closed: download what you want to keep."
        try:
            kept = arranged.remember(self.kept, self.visitor(owner), drawn)
        except ChangedElsewhereError:
            kept, why = False, "This map was changed in another tab. What is done here is not kept: reload the page to go on from there."
        place = (session(), drawn.chosen.id or drawn.corpus.name)
        if not kept and place not in self._not_kept:
            gr.Info(why, duration=8)
        (self._not_kept.discard if kept else self._not_kept.add)(place)

    def without_edits(self, owner: Any, key: str | None) -> str:
        """The corpus as its file has it, without what was done to its map, which is forgotten: its key.

        Raises:
            StudioError: it is in no file that is kept here.
        """
        _, chosen = self.corpus_of(key)
        if not chosen.id:
            raise StudioError("this corpus is not that of a file", "choose the file once more")
        arranged.forget(self.kept, self.visitor(owner), chosen)
        if chosen.id.startswith(FILE):
            return self.open_corpus(owner, chosen.id)
        return self.other_column(owner, chosen, chosen.column)

    def _put_as_left(self, owner: Any, chosen: Chosen) -> str:
        found, damaged = arranged.restored(self.kept, self.visitor(owner), chosen)
        if damaged:
            gr.Warning(damaged, duration=12, title="Not all is as you left it")
        return self.corpora.put(found)

    def made(self, model: str | None, chosen: Chosen | None = None, again: str = "") -> dict[str, Any]:
        """What a result was made with, for the page to say, and to mark it by once another model or corpus is chosen.

        Args:
            again: the id of the button that makes it anew.
        """
        name = model or self.studio.settings.default_model
        words = self.titled(name) + (f" · {chosen.corpus.name}" if chosen is not None else "")
        theirs = [self.titled(name), *self.corpus_names(chosen)]
        return {"model": name, "corpus": "" if chosen is None else chosen.corpus.digest, "words": words, "again": again, "theirs": theirs}

    def corpus_names(self, chosen: Chosen | None) -> list[str]:
        """What the visitor named of a corpus: nothing of a sample, whose title is the page's own."""
        return [] if chosen is None or chosen.id.startswith(SAMPLE) else [chosen.corpus.name]

    def titled(self, model: str) -> str:
        """What people call a model: a run by its name."""
        if not model.startswith("run-"):
            return model
        try:
            return self.studio.store.get(model).name or model
        except StudioError:
            return model

    def corpus_of(self, key: str | None, owner: Any = None) -> tuple[str, Chosen]:
        """The visitor's corpus and its key; the first sample where nothing was chosen yet, so that every button does something.

        Args:
            owner: where that is to be as the visitor left it.
        """
        if key is None and owner is not None:
            key = self.open_corpus(owner, self.sample_corpus().id)
        if key is None:
            chosen = self.sample_corpus()
            return self.corpora.put(chosen), chosen
        return key, self.corpora.get(key)


def is_ours(model: object) -> bool:
    """Whether a model's name is that of one that was made here, which may be deleted."""
    return isinstance(model, str) and model.startswith(_OURS)
