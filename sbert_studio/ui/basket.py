"""Pair basket: pairs of texts that a visitor has labelled in any tab, their store, and the drawer with the list and suggestions.

Handlers of any tab set ``basket_version`` to the result of :func:`add_pairs` or :func:`toggle_pair`; the header and the list follow.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ..data.cells import clean, write_spreadsheet
from ..data.findings import count
from ..errors import StudioError
from ..explore.vector_store import evict_files
from ..i18n import _
from ..serialization import to_plain
from ..workspace import validate_key, write_json
from .components import cancel_button, download_button, refresh_model_choices
from .handlers import progress_callback
from .panel import Panel
from .sessions.language import notify_info
from .state import TrainingTable, make_training_table
from .views import UNCHANGED, Unchanged, Value, view

if TYPE_CHECKING:
    from ..services.results import PairSuggestions
    from ..workspace import Workspace
    from .page import Page
    from .panel import Selection
    from .sessions.memory_store import TypedStore

MAX_PAIRS = 2_000
VERDICTS = {"together": True, "apart": False}
"""Action of a thumb → whether the texts are similar."""
NOT_SAVED = "The disk is full: these pairs will be lost when the app is closed. Download them."
DAMAGED = "The saved pairs can no longer be read. Their file was renamed, and this basket starts empty."
_MAX_CHARACTERS, _MAX_SOURCE = 4_000, 60  # maximum length of a text and of a source
_MAX_UNDO = 30
_MAX_LISTED = 300
_MAX_CHAIN = 200
_DAY = 86_400
_FILE_NAME = "my pairs.csv"
_NO_MODEL = ("None", "")
_DRAWER = "basket"
_VERSIONS = itertools.count(1)


@dataclass(frozen=True)
class LabelledPair:
    a: str
    b: str
    together: bool  # whether they are similar
    source: str = ""  # tab where they were labelled, such as "Search"

    @property
    def id(self) -> str:
        """Digest of the two texts in either order, 16 hex digits."""
        joined = "\0".join(sorted((_normalized(self.a), _normalized(self.b))))
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def is_informative(self) -> bool:
        return "" != _normalized(self.a) != _normalized(self.b) != ""


@dataclass(frozen=True)
class Basket:
    """Labelled pairs, oldest first, without duplicate pairs. Each change returns a new basket and can be undone."""

    pairs: tuple[LabelledPair, ...] = ()
    past: tuple[tuple[LabelledPair, ...], ...] = ()  # the pairs before each of the last changes, oldest first

    def __len__(self) -> int:
        return len(self.pairs)

    def find(self, pair_id: object) -> LabelledPair | None:
        return next((pair for pair in self.pairs if pair.id == pair_id), None)

    def add(self, pairs: Iterable[LabelledPair]) -> Basket:
        """Add pairs, replacing pairs of the same texts.

        Raises:
            StudioError: there would be more than :data:`MAX_PAIRS`.
        """
        new = {pair.id: _truncated(pair) for pair in pairs if pair.is_informative}
        merged = tuple({**{pair.id: pair for pair in self.pairs}, **new}.values())
        if len(merged) > MAX_PAIRS:
            raise StudioError(
                _("the basket contains {self} pairs; the maximum is {max_pairs}", self=f"{len(self):,}", max_pairs=f"{MAX_PAIRS:,}"),
                "download it, or remove some before you add more",
            )
        return self._changed(merged)

    def toggle(self, pair: LabelledPair) -> Basket:
        """Add a pair, or remove it if it already has this label, so that a second click undoes the first."""
        if not pair.is_informative:
            raise StudioError("both texts are the same", "choose two different texts")
        known = self.find(pair.id)
        return self.remove(pair.id) if known is not None and known.together == pair.together else self.add([pair])

    def flip(self, pair_id: object) -> Basket:
        return self._changed(tuple(replace(pair, together=not pair.together) if pair.id == pair_id else pair for pair in self.pairs))

    def edit(self, pair_id: object, a: str, b: str) -> Basket:
        """Change the texts of a pair; another pair of the same texts is removed."""
        known = self.find(pair_id)
        if known is None:
            return self
        edited = _truncated(replace(known, a=a, b=b))
        if not edited.is_informative:
            raise StudioError("a pair needs two different texts", "enter both, or remove the pair")
        others = (pair for pair in self.pairs if pair.id == pair_id or pair.id != edited.id)
        return self._changed(tuple(edited if pair.id == pair_id else pair for pair in others))

    def remove(self, pair_id: object) -> Basket:
        return self._changed(tuple(pair for pair in self.pairs if pair.id != pair_id))

    def clear(self) -> Basket:
        return self._changed(())

    def undo(self) -> Basket:
        return Basket(self.past[-1], self.past[:-1]) if self.past else self

    def columns(self) -> dict[str, list[str]]:
        cells = [(pair.a, pair.b, str(int(pair.together))) for pair in self.pairs]
        return {name: [row[place] for row in cells] for place, name in enumerate(("text_a", "text_b", "label"))}

    def _changed(self, pairs: tuple[LabelledPair, ...]) -> Basket:
        return self if pairs == self.pairs else Basket(pairs, (*self.past, self.pairs)[-_MAX_UNDO:])


def chain_pairs(texts: Sequence[str], source: str) -> list[LabelledPair]:
    """Return similar texts as pairs, each with the next one: the fewest pairs that connect them."""
    distinct = list(dict.fromkeys(texts))
    return [LabelledPair(a, b, True, source) for a, b in itertools.islice(itertools.pairwise(distinct), _MAX_CHAIN)]


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())


def _truncated(pair: LabelledPair) -> LabelledPair:
    a, b = (clean(text).strip()[:_MAX_CHARACTERS] for text in (pair.a, pair.b))
    return LabelledPair(a, b, pair.together, clean(pair.source)[:_MAX_SOURCE])


class BasketStore:
    """Baskets of all visitors, in memory and on disk for the next visit.

    Args:
        memory: baskets with their undo history.
        quota: bytes of all files; the least recently changed ones are deleted first.
        days: days after which an unchanged file is deleted; 0 for never.
    """

    def __init__(self, workspace: Workspace, memory: TypedStore[Basket], quota: int, days: int = 0) -> None:
        self._workspace, self._memory, self._quota, self._days = workspace, memory, quota, days
        self._lock = threading.RLock()
        self._warnings: dict[str, str] = {}

    def of(self, visitor: str) -> Basket:
        with self._lock:
            name = _memory_key(visitor)
            return self._memory.get(name) if name in self._memory else Basket(self._read(visitor))

    def warning(self, visitor: str) -> str:
        return self._warnings.get(visitor, "")

    def change(self, visitor: str, change: Callable[[Basket], Basket]) -> Basket:
        """Apply a change and save the basket. If the disk is full, it is kept in memory only; if ``change`` raises, it is unchanged."""
        with self._lock:
            before = self.of(visitor)
            after = change(before)
            if after is not before:
                self._memory.put(after, _memory_key(visitor))
                self._write(visitor, after)
            return after

    def sweep(self, now: float | None = None) -> None:
        if not self._days:
            return
        now = time.time() if now is None else now
        for path in self._workspace.baskets.glob("*.*"):
            with suppress(OSError):  # changed in the meantime, or locked by another program
                if now - path.stat().st_mtime > self._days * _DAY:
                    path.unlink()

    def _path(self, visitor: str) -> Path:
        return self._workspace.baskets / f"{validate_key(visitor)}.json"

    def _read(self, visitor: str) -> tuple[LabelledPair, ...]:
        path = self._path(visitor)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            pairs = [LabelledPair(str(a), str(b), bool(together), str(source)) for a, b, together, source in content[:MAX_PAIRS]]
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            aside = path.with_suffix(".damaged")
            with suppress(OSError):
                path.replace(aside)
            self._warnings[visitor] = _("{damaged} ({aside})", damaged=DAMAGED, aside=aside) if visitor == "local" else DAMAGED
            return ()
        return Basket().add(pairs).pairs

    def _write(self, visitor: str, basket: Basket) -> None:
        path = self._path(visitor)
        try:
            if basket.pairs:
                write_json(path, [[pair.a, pair.b, pair.together, pair.source] for pair in basket.pairs])
                evict_files(path.parent, self._quota, path, "*.json")
            else:
                path.unlink(missing_ok=True)
            self._warnings.pop(visitor, None)
        except (OSError, ValueError):  # lone surrogates, which a page may send, raise a ValueError
            self._warnings[visitor] = NOT_SAVED


def _memory_key(visitor: str) -> str:
    return _("basket of {visitor}", visitor=visitor)


@dataclass(frozen=True)
class BasketView:
    button: Value
    listed: Value


@dataclass(frozen=True)
class SuggestionsView:
    suggestions: PairSuggestions
    suggested: Value


def add_pairs(page: Page, owner: object, pairs: Sequence[LabelledPair]) -> int:
    """Add pairs to the visitor's basket and return a new value of ``page.basket_version``, so that each click counts as a change."""
    informative = [pair for pair in pairs if pair.is_informative]
    if not informative:
        raise StudioError("there is no pair of two different texts among them", "choose at least two different texts")
    basket = page.baskets.change(page.visitor(owner), lambda basket: basket.add(informative))
    message = _(
        "{pairs} added; the basket contains {basket}. Open it with “Pairs” at the top.",
        pairs=count(len(informative), "pair"),
        basket=f"{len(basket):,}",
    )
    notify_info(message, duration=5, title="Basket")
    return next(_VERSIONS)


def toggle_pair(page: Page, owner: object, pair: LabelledPair) -> int:
    """Add a pair, or remove it if it already has this label, and return a new value of ``page.basket_version``."""
    page.baskets.change(page.visitor(owner), lambda basket: basket.toggle(pair))
    return next(_VERSIONS)


def basket_view(basket: Basket, warning: str = "") -> Value:
    together = sum(pair.together for pair in basket.pairs)
    newest = basket.pairs[::-1][:_MAX_LISTED]
    return {
        "count": len(basket),
        "together": together,
        "apart": len(basket) - together,
        "trouble": warning,
        "undo": bool(basket.past),
        "rest": len(basket) - len(newest),
        "pairs": [{"id": one.id, "a": one.a, "b": one.b, "together": one.together, "source": one.source} for one in newest],
    }


def show_basket(page: Page, owner: object) -> BasketView:
    visitor = page.visitor(owner)
    value = basket_view(page.baskets.of(visitor), page.baskets.warning(visitor))
    return BasketView({"count": value["count"]}, value)


def change_basket(page: Page, owner: object, selection: Selection) -> int:
    """Change the basket after a click in the list and return a new value of ``page.basket_version``."""
    action, item = selection.action, selection.item

    def change(basket: Basket) -> Basket:
        if action in ("undo", "clear"):
            return basket.undo() if action == "undo" else basket.clear()
        if action in ("flip", "remove"):
            return basket.flip(item) if action == "flip" else basket.remove(item)
        if action == "edit" and isinstance(item, Mapping) and all(isinstance(item.get(name), str) for name in ("id", "a", "b")):
            return basket.edit(item["id"], item["a"], item["b"])
        return basket

    page.baskets.change(page.visitor(owner), change)
    return next(_VERSIONS)


def write_basket(page: Page, owner: object, suffix: str = ".csv") -> Path:
    """Write the pairs as .csv or .xlsx."""
    columns = _full_basket(page, owner).columns()
    path = page.downloads.path(Path(_FILE_NAME).with_suffix(suffix).name)
    write_spreadsheet(path, columns)
    return path


def train_on_basket(page: Page, owner: object) -> TrainingTable:
    """Pass the basket to Fine-tune. If all pairs are similar, the label column is omitted."""
    basket = _full_basket(page, owner)
    columns, labels = basket.columns(), {pair.together for pair in basket.pairs}
    if labels == {False}:
        raise StudioError(
            "the basket contains no similar pairs", "add some: from dissimilar pairs alone, a model only learns to push everything apart"
        )
    return make_training_table(page, _FILE_NAME, {name: cells for name, cells in columns.items() if name != "label" or len(labels) > 1})


def _full_basket(page: Page, owner: object) -> Basket:
    basket = page.baskets.of(page.visitor(owner))
    if not basket.pairs:
        raise StudioError("the basket is empty", "label two texts as similar or dissimilar in Search, Similarity or Near-duplicates")
    return basket


def suggest_pairs(
    page: Page, corpus: str | None, model: str | None, other_model: str, owner: object, progress: gr.Progress | None = None
) -> SuggestionsView:
    """Suggest pairs of the selected corpus that are worth labelling and not yet in the basket."""
    _unused, selected = page.corpora.current(corpus)
    labelled = [(pair.a, pair.b, pair.together) for pair in page.baskets.of(page.visitor(owner)).pairs]
    first = model or page.studio.settings.default_model
    second = other_model if other_model and other_model != first else None
    report = progress_callback(progress, "Finding pairs worth labelling")
    found = page.studio.similarity.suggest_pairs(selected.corpus, model, second, labelled=labelled, progress=report)
    if found.line is None:
        reason = _(
            "{model_title} and {model_title2} disagree on these.",
            model_title=page.model_title(first),
            model_title2=page.model_title(other_model),
        )
    else:
        reason = _(
            "{model_title} separates similar from dissimilar pairs at about {line}; these pairs are closest to that boundary.",
            model_title=page.model_title(first),
            line=f"{found.line:.2f}",
        )
    name = selected.corpus.name
    note = _("From {name}. {reason} Click a thumb to add a pair to the basket.", name=name, reason=reason)
    pairs = [{"a": a, "b": b, "cosine": cosine} for a, b, cosine in found.pairs]
    return SuggestionsView(
        found, to_plain({"pairs": pairs, "note": note if pairs else _("No more pairs to suggest from {name}.", name=name)})
    )


def label_suggestion(page: Page, suggestions: PairSuggestions | None, owner: object, selection: Selection) -> int | Unchanged:
    pairs = suggestions.pairs if suggestions is not None else ()
    index = selection.row(len(pairs))
    if index is None or selection.action not in VERDICTS:
        return UNCHANGED
    a, b, _ = pairs[index]
    return toggle_pair(page, owner, LabelledPair(a, b, VERDICTS[selection.action], "Suggested"))


def draw_button() -> gr.HTML:
    return view("basketbutton", {"count": 0}, elem_id="basket-open")


def build(page: Page, button: gr.HTML) -> None:
    with gr.Column(elem_id=_DRAWER, elem_classes=["sb-drawer"]):
        listed = view("basket", basket_view(Basket()), elem_id="basket-list")
        with gr.Row(elem_classes=["sb-buttons"]):
            train = gr.Button("Train on these", variant="primary", elem_id="basket-train")
            download_button("Download CSV", partial(write_basket, page), [page.owner], elem_id="basket-save")
            download_button("Download XLSX", partial(write_basket, page, suffix=".xlsx"), [page.owner], elem_id="basket-xlsx")
        _build_suggestions(page)
    panel = Panel(page, button=button, listed=listed)
    panel.on(listed.select, change_basket, output="basket_version", each=True, quiet=True, concurrency_limit=1)
    panel.on(page.basket_version.change, show_basket, quiet=True)
    page.on_load.append(lambda loaded: panel.on(loaded.then, show_basket, quiet=True))
    handed_over = panel.on(train.click, train_on_basket, output="training_table", ends_chain=True, quiet=True)
    handed_over.success(None, js=f"() => SB.drawer('{_DRAWER}', false)")


def _build_suggestions(page: Page) -> None:
    with gr.Accordion("Pairs worth labelling", open=False, elem_id="basket-suggest"):
        other_model = gr.Dropdown(
            [_NO_MODEL],
            value="",
            label="Compare with",
            info="Suggests pairs on which both models disagree; without a second model, pairs that the model is least sure of.",
            elem_id="basket-by",
            elem_classes=["sb-data"],
        )
        suggest = gr.Button("Suggest pairs", elem_id="basket-suggest-go")
        cancel_button("suggest")
        suggested = view("suggestions", elem_id="basket-suggestions")
    panel = Panel(page, other_model=other_model, suggestions=gr.State(None), suggested=suggested)
    panel.on(suggest.click, suggest_pairs, task="suggest", progress_on="suggested")
    panel.on(suggested.select, label_suggestion, output="basket_version", each=True, quiet=True)
    refresh_model_choices(page, other_model, lambda owner: [_NO_MODEL, *page.model_choices(owner)])
