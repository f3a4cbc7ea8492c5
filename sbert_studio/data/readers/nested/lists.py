"""What the lists of a file are whose names do not tell: texts that belong together, or texts with a value each beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ...schema.content import count_words
from ...schema.names import NEGATIVE, POSITIVE, rate_target_name
from ...schema.numbers import parse_number
from ...schema.words import normalize

Part = Literal["together", "each", "abreast", "turns"]
"""What a list is for.

``together``: its texts belong together; ``each``: each of its texts belongs to the text beside the list; ``abreast``: each of its
elements belongs to that at the same place of the lists beside it; ``turns``: a conversation.
"""
POSITIVES = POSITIVE | {"positivepassages", "positivectxs", "poslist", "positivetexts"}
NEGATIVES = frozenset({"negativepassages", "negativectxs", "hardnegativectxs", "negativetexts", "neglist"})
PAIRS = frozenset({"texts", "set", "pair", "sentences", "sentencepair", "pairs"})
DOCUMENT = frozenset({"texts", "sentences"})
IGNORED = frozenset({"posscores", "negscores", "posid", "negid", "posids", "negids", "idxs", "type"})
TEXT_KEYS = ("text", "content", "sentence", "passage", "body", "title")
_SAME_WORDS = """
paraphrases paraphrase questions utterances variants variations variantes varianten duplicates duplicatequestions similarquestions
alternatives alternativequestions rephrasings rephrases reformulations rewrites rewordings phrasings synonyms synsets waystoask
waystosay equivalents samemeaning fragen umschreibungen umformulierungen synonyme duplikate questionssimilaires paraphrasen
reformulaciones paráfrasis sinónimos preguntas domande parafrasi sinonimi perguntas paráfrases вопросы перефразировки синонимы
дубликаты парафразы 相似问 相似问题 同义句 问法 问题列表 類似質問 言い換え 유사질문
"""
_SAME = frozenset(_SAME_WORDS.split())
_ROLES = ("role", "from", "speaker", "author")
_WORDS = 2.0
_DIFFERENT = 0.5
_SIDE_BY_SIDE = 3


def parts_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Part]:
    """What the lists of some rows are for, by key; those are absent whose names tell, and those of which nothing is known.

    Args:
        rows: the first rows of a file, of plain values and lists.
    """
    lists = list(dict.fromkeys(key for row in rows for key, cell in row.items() if isinstance(cell, list | tuple) and cell))
    found: dict[str, Part] = {key: "turns" for key in lists if any(is_conversation(row.get(key)) for row in rows)}
    texts = [key for key in lists if key not in found and _holds_texts(key, rows)]
    plain = [key for key in lists if key not in texts and key not in found and _holds_values(key, rows)]
    beside = _has_text(rows, lists)
    for key in texts:
        others = [other for other in (*texts, *plain) if other != key and _abreast(key, other, rows)]
        told = [other for other in others if other in texts or rate_target_name(other) != "never"]
        if told and (len(_lengths(key, rows)) > 1 or max(_lengths(key, rows)) > 2 or beside):
            found.update(dict.fromkeys((key, *others), "abreast"))
            return found
    if len(texts) == 1:
        (key,) = texts
        alone = len({other for row in rows for other in row}) == 1
        if beside:
            if normalize(key) in _SAME:
                found[key] = "each"
        elif normalize(key) not in DOCUMENT and (not alone or normalize(key) in _SAME or not _side_by_side(key, rows)):
            found[key] = "together"
    return found


def labelled_objects(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The lists of unknown names that hold objects of a text and a label or score, each with the name of the latter."""
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for row in rows for key, cell in row.items() if isinstance(cell, list | tuple)):
        parts = [part for row in rows if isinstance(cell := row.get(key), list | tuple) for part in cell]
        if not parts or not all(isinstance(part, Mapping) and text_of(part) is not None for part in parts) or not _is_unknown(key):
            continue
        names = [name for name, value in parts[0].items() if name not in TEXT_KEYS and not isinstance(value, Mapping | list | tuple)]
        told = [name for name in names if rate_target_name(name) in ("certain", "likely") and all(name in part for part in parts)]
        if len(told) == 1 and not any(told[0] in row for row in rows):
            found[key] = told[0]
    return found


def unpacked(row: Mapping[str, Any], labelled: Mapping[str, str]) -> dict[str, Any]:
    """The row with its lists of labelled objects as two lists of one length: the texts, and their labels or scores."""
    whole = dict(row)
    for key, name in labelled.items():
        cell = row.get(key)
        if isinstance(cell, list | tuple) and all(isinstance(part, Mapping) for part in cell):
            whole[key] = [text_of(part) or "" for part in cell]
            whole[name] = [part.get(name, "") for part in cell]
    return whole


def is_conversation(cell: Any) -> bool:
    """Whether a list holds the turns of a conversation: what was said, and by whom."""
    return (
        isinstance(cell, list | tuple)
        and bool(cell)
        and all(isinstance(part, Mapping) and any(role in part for role in _ROLES) and len(part) > 1 for part in cell)
    )


def are_texts(cell: Any) -> bool:
    """Whether a list holds texts, or objects that wrap one."""
    return isinstance(cell, list | tuple) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and text_of(part) is not None) for part in cell
    )


def text_of(cell: Mapping[str, Any]) -> str | None:
    """The text of an object that wraps one, such as a passage with its title and id; None if it is no such object."""
    for key in TEXT_KEYS:
        if isinstance(text := cell.get(key), str):
            return text
    return None


def _holds_texts(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a list of an unknown name holds texts: of words enough, and mostly different ones."""
    if not _is_unknown(key):
        return False
    cells = [cell for row in rows if (cell := row.get(key)) not in (None, "", [], ())]
    if not cells or not all(map(are_texts, cells)) or max(map(len, cells)) < 2:
        return False
    said = [text.strip() for cell in cells for part in cell if (text := part if isinstance(part, str) else text_of(part) or "").strip()]
    if not said or sum(parse_number(text) == parse_number(text) for text in said) > 0.5 * len(said):
        return False
    words = sum(map(count_words, said)) / len(said)
    return len(set(said)) >= _DIFFERENT * len(said) and (words >= _WORDS or normalize(key) in _SAME)


def _is_unknown(key: str) -> bool:
    """Whether the name of a list does not tell what it is for."""
    name = normalize(key)
    return name not in POSITIVES | NEGATIVES | IGNORED | (PAIRS - DOCUMENT) and not NEGATIVE.fullmatch(name)


def _holds_values(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a list holds plain values, such as a label or a score an element."""
    cells = [cell for row in rows if isinstance(cell := row.get(key), list | tuple)]
    return normalize(key) not in IGNORED | POSITIVES | NEGATIVES | PAIRS and not any(
        isinstance(part, Mapping | list | tuple) for cell in cells for part in cell
    )


def _has_text(rows: Sequence[Mapping[str, Any]], lists: Sequence[str]) -> bool:
    """Whether a text stands beside the lists in most rows."""
    with_text = sum(
        any(isinstance(cell, str) and count_words(cell) >= _WORDS for key, cell in row.items() if key not in lists) for row in rows
    )
    return with_text > 0.5 * len(rows)


def _lengths(key: str, rows: Sequence[Mapping[str, Any]]) -> set[int]:
    return {len(cell) for row in rows if isinstance(cell := row.get(key), list | tuple)}


def _abreast(key: str, other: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two lists have as many elements in each row."""
    both = [(row.get(key), row.get(other)) for row in rows]
    return all(isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b) for a, b in both)


def _side_by_side(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every row has the same number of texts, two or three: columns without names."""
    return len(found := _lengths(key, rows)) == 1 and max(found) <= _SIDE_BY_SIDE
