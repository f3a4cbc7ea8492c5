"""Training pairs made from documents alone: a heading, question, first sentence or crop as the query, and the rest of its passage.

All pairs of a passage have the same second text. Training therefore never contrasts two pairs of one passage, and never splits them between
training and held-out rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..progress import Progress, checkpoint
from ..registry import setting
from ..serialization import JsonResult, doc
from .documents.document import Document
from .documents.passages import Passage, split_sentences
from .schema.names import CJK
from .schema.roles import PAIR_COLUMNS
from .split import normalize_text

if TYPE_CHECKING:
    from .loading.table import Table

Origin = Literal["title", "heading", "question", "summary", "cloze", "crop", "written"]
"""What the query of a pair was."""
SOURCES: dict[str, tuple[Origin, ...]] = {
    "structure": ("title", "heading", "question", "summary"),
    "crop": ("cloze", "crop"),
    "llm": ("written",),
}
"""Sources of pairs, with the origins that each includes."""
DEFAULT_SOURCES = ("structure", "crop")
ORIGIN, DOCUMENT_ID = PAIR_COLUMNS[2:]
TOO_SHORT, IDENTICAL, DUPLICATE, AMBIGUOUS = _("too short"), _("identical sides"), _("duplicate"), _("with a query of several documents")
NO_QUERY = _("without a query")
_HEADING_SHARE = 0.5  # share of the headings that become queries; the others stay in their passages, where search needs them
_MIN_UNITS = {"title": 2, "heading": 2, "question": 3, "summary": 3, "cloze": 4, "crop": 4, "written": 2}
_MIN_PASSAGE_UNITS = 8
_CROP_SHARE, _MAX_CROP_UNITS = (0.1, 0.5), 48
_MAX_QUESTIONS = 3  # per passage, without its heading
_QUESTION_MARKS = ("?", "？", "؟")
_BETWEEN_HEADINGS = " › "
_UNIT = re.compile(rf"{CJK.pattern}|(?:(?!{CJK.pattern})\S)+")


@dataclass(frozen=True)
class PairOptions:
    """Options of pairs from documents."""

    cloze: int = setting(
        1, "Sentences per passage that become a query and are removed from it (inverse cloze, Lee et al. 2019).", min=0, max=20
    )
    crops: int = setting(
        1, "Random spans per passage that become a query and stay in it (independent crops, Izacard et al. 2022).", min=0, max=20
    )
    keep: float = setting(0.1, "Probability that a query is not removed from its passage.", min=0.0, max=1.0)
    seed: int = setting(12, "Random seed.", min=0)
    fill: bool = setting(True, "Make crops only from passages that give no other pair.")


@dataclass(frozen=True)
class PassageText:
    """A passage to make pairs from.

    Attributes:
        document: id of its document.
        headings: the title of the document and the headings above the passage; empty strings are ignored.
        sentences: its sentences, each with the white space that follows it.
        is_first: no other passage has the same headings and precedes it.
        written: queries written for it.
    """

    document: str
    headings: tuple[str, ...]
    sentences: tuple[str, ...]
    is_first: bool = True
    written: tuple[str, ...] = ()


@dataclass(frozen=True)
class DocumentPair(JsonResult):
    """A query and the passage that it should find."""

    query: str
    document: Annotated[str, doc("the passage")]
    origin: Annotated[Origin, doc("what the query was: title, heading, question, summary (first sentence), cloze, crop or written")]
    document_id: str


@dataclass
class PairCollection:
    """Pairs that passed the checks, and the number of others by source and reason.

    Attributes:
        repeated: number of passages whose sentences are all in other documents, too, so that they give no queries.
    """

    pairs: list[DocumentPair] = field(default_factory=list)
    repeated: int = 0
    dropped: dict[str, Counter[str]] = field(default_factory=dict)
    _reasons: dict[tuple[str, str], str] = field(default_factory=dict)  # of the passages of dropped pairs

    def add(self, candidates: Iterable[DocumentPair]) -> None:
        """Add the candidates that can be used: neither too short, equal on both sides, repeated, nor ambiguous."""
        candidates = list(candidates)
        documents_of: dict[str, set[str]] = {}
        for pair in (*self.pairs, *candidates):
            documents_of.setdefault(normalize_text(pair.query), set()).add(pair.document_id)
        seen = {(normalize_text(pair.query), normalize_text(pair.document)) for pair in self.pairs}
        for pair in candidates:
            query, passage = key = normalize_text(pair.query), normalize_text(pair.document)
            if len(_UNIT.findall(query)) < _MIN_UNITS[pair.origin] or len(_UNIT.findall(passage)) < _MIN_PASSAGE_UNITS:
                self.drop(pair, TOO_SHORT)
            elif query == passage:
                self.drop(pair, IDENTICAL)
            elif key in seen:
                self.drop(pair, DUPLICATE)
            elif len(documents_of[query]) > 1:
                self.drop(pair, AMBIGUOUS)
            else:
                seen.add(key)
                self.pairs.append(pair)

    def drop(self, pair: DocumentPair, reason: str) -> None:
        self.dropped.setdefault(pair.origin, Counter())[reason] += 1
        self._reasons[pair.document_id, pair.document] = reason

    def unused_passages(self, documents: Sequence[str]) -> dict[str, int]:
        """Return the number of passages without a pair by reason, of those whose documents are given."""
        used = {(pair.document_id, pair.document) for pair in self.pairs}
        known = set(documents)
        found = Counter(reason for one, reason in self._reasons.items() if one not in used and one[0] in known)
        found[NO_QUERY] = max(0, len(documents) - len(used) - found.total())
        return dict(+found)

    @property
    def kept(self) -> Counter[str]:
        """The number of pairs by source."""
        return Counter(pair.origin for pair in self.pairs)


def count_origins(table: Table) -> dict[str, int]:
    """Return the number of rows by origin, most common first; empty unless the table is a file of pairs made from documents."""
    return dict(Counter(table.column(ORIGIN)).most_common()) if {*PAIR_COLUMNS} <= {*table.columns} else {}


def parse_sources(names: Collection[str]) -> tuple[Origin, ...]:
    """Return the origins of the sources with these names.

    Raises:
        StudioError: a name is unknown, or there is none.
    """
    if not names or (unknown := [name for name in names if name not in SOURCES]):
        which = repr(unknown[0]) if names else _("none")
        raise StudioError(_("there is no source of pairs {name}", name=which), _("choose from {names}", names=", ".join(SOURCES)))
    return tuple(origin for name in SOURCES if name in names for origin in SOURCES[name])


def passages_for_pairs(documents: Sequence[Document], passages: Iterable[Passage]) -> list[PassageText]:
    """Split passages of documents into sentences."""
    found: list[PassageText] = []
    previous: tuple[int, tuple[str, ...]] | None = None
    for passage in passages:
        document = documents[passage.document]
        headings = tuple(heading for heading, _group in groupby((document.title, *passage.heading_path)))
        starts = [0, *(start for start, _end in split_sentences(passage.text)[1:]), len(passage.text)]
        sentences = tuple(passage.text[start:end] for start, end in pairwise(starts))
        key = (passage.document, passage.heading_path)
        found.append(PassageText(document.id, headings, sentences, key != previous))
        previous = key
    return found


def make_document_pairs(
    passages: Sequence[PassageText], origins: Collection[Origin], options: PairOptions | None = None, progress: Progress | None = None
) -> PairCollection:
    """Make pairs of the given origins from passages; the same seed gives the same pairs."""
    options = options or PairOptions()
    repeated = _repeated_texts(passages)

    def candidates() -> Iterator[DocumentPair]:
        for number, passage in enumerate(passages):
            checkpoint()
            yield from _pairs_of_passage(passage, origins, options, np.random.default_rng((options.seed, number)), repeated)
            if progress is not None:
                progress(number + 1, len(passages))

    found = PairCollection(repeated=sum(all(normalize_text(one) in repeated for one in passage.sentences) for passage in passages))
    found.add(candidates())
    return found


def _repeated_texts(passages: Sequence[PassageText]) -> set[str]:
    """Return the headings and sentences of more than one document, normalized: they do not tell documents apart."""
    first: dict[str, str] = {}
    repeated: set[str] = set()
    for passage in passages:
        for text in map(normalize_text, (*passage.headings, *passage.sentences)):
            if first.setdefault(text, passage.document) != passage.document:
                repeated.add(text)
    return repeated


def _pairs_of_passage(
    passage: PassageText, origins: Collection[Origin], options: PairOptions, rng: np.random.Generator, repeated: Collection[str]
) -> Iterator[DocumentPair]:
    headings = [heading.strip() for heading in passage.headings if heading.strip()]
    sentences, hidden = passage.sentences, set[int]()
    own = [place for place, sentence in enumerate(sentences) if normalize_text(sentence) not in repeated]
    queries: list[tuple[Origin, str]] = []

    def ask(source: Origin, place: int) -> None:
        queries.append((source, sentences[place].strip()))
        if rng.random() >= options.keep:
            hidden.add(place)

    source: Origin = "question" if headings and _is_question(headings[-1]) else "heading" if len(headings) > 1 else "title"
    if headings and passage.is_first and source in origins and (source == "question" or rng.random() < _HEADING_SHARE):
        heading = headings.pop()
        # A heading such as "Installation" says too little without the title.
        is_unclear = headings and (normalize_text(heading) in repeated or _units(heading) < _MIN_UNITS["heading"])
        queries.append((source, f"{headings[0]}: {heading}" if is_unclear else heading))
        if is_unclear:
            headings.pop(0)
    if "question" in origins:
        # A passage with many pairs would need as many batches, because its pairs are never in one batch.
        asked = [place for place in own if place < len(sentences) - 1 and _is_question(sentences[place])]
        for place in asked[: min(_MAX_QUESTIONS, len(own) - 1)]:
            ask("question", place)
    if "summary" in origins and passage.is_first and len(own) > 1 and own[0] == 0 and not _is_question(sentences[0]):
        ask("summary", 0)
    # A search that is trained on crops as well as on headings and first sentences improves half as much (benchmarks/documents.py).
    is_cropped = not (options.fill and (queries or passage.written))
    if "cloze" in origins and is_cropped:
        left = [place for place in own if place not in hidden and _units(sentences[place]) >= _MIN_UNITS["cloze"]]
        room = min(options.cloze, len(left), len(own) // 2 - len(hidden))
        for place in sorted(rng.choice(len(left), room, replace=False).tolist()) if room > 0 else ():
            ask("cloze", left[place])
    content = "".join(sentences[place] for place in own if place not in hidden).strip()
    if "crop" in origins and is_cropped:
        queries += [("crop", crop) for crop in _random_crops(content, options.crops, rng)]
    queries += [("written", query) for query in passage.written]
    text = "".join(sentence for place, sentence in enumerate(sentences) if place not in hidden).strip()
    document = "\n".join(filter(None, (_BETWEEN_HEADINGS.join(headings), text)))
    if _units(content) < _MIN_PASSAGE_UNITS:
        document = content  # too short to be used: what other documents contain as well does not count
    for source, query in queries:
        yield DocumentPair(query, document, source, passage.document)


def _random_crops(text: str, count: int, rng: np.random.Generator) -> Iterator[str]:
    units = [match.span() for match in _UNIT.finditer(text)]
    if len(units) < 2 * _MIN_UNITS["crop"]:
        return
    for _number in range(count):
        length = round(len(units) * rng.uniform(*_CROP_SHARE))
        length = min(max(length, _MIN_UNITS["crop"]), _MAX_CROP_UNITS)
        start = int(rng.integers(0, len(units) - length + 1))
        yield text[units[start][0] : units[start + length - 1][1]]


def _units(text: str) -> int:
    """Return the number of words, counting each Chinese, Japanese or Korean character."""
    return len(_UNIT.findall(text))


def _is_question(text: str) -> bool:
    return text.rstrip().rstrip("\"'”’»」)）").endswith(_QUESTION_MARKS)
