"""Words of any script: for languages that write no spaces, pairs of neighbouring characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, Japanese kana, Chinese characters (with their extensions).
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)

# The commonest words of English, which say nothing about a topic.
_STOP_WORDS = """
a about after again all also am an and any are aren't as at be because been before being but by can can't cannot could couldn't
did didn't do does doesn't doing don't down each else even ever few for from further get gets getting give go goes going got had
has hasn't have haven't having he her here hers him his how how's i i'd i'll i'm i've if in into is isn't it its itself just know
let like make many may me might mine more most much must my myself need no nor not now of off on once one only or other our ours
out over own please same she should shouldn't so some such than that the their theirs them then there these they they're this
those through to too under until up us very want wants was wasn't we we're were weren't what when where which while who whom why
will with won't would wouldn't yes yet you you'd you're you've your yours
"""


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """About 170 English words that are left out of labels."""
    return frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=1)
def _token() -> re.Pattern[str]:
    # Python's \w leaves out the vowel signs and accents that combine with a letter (Hindi, Thai, Arabic).
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)).startswith("M"))
    letter = f"[^\\W_{_UNSPACED}]"
    return re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|{letter}(?:{letter}|[{marks}])*(?:'{letter}(?:{letter}|[{marks}])*)*")


def words(text: str, *, singles: bool = False) -> list[str]:
    """The words of a text in lower case, in order; full-width letters become plain ones.

    A run of characters of a script without spaces gives its pairs of neighbours (its one character, where it is one).

    Args:
        singles: give such a run's single characters too, so that a search for one character finds it.
    """
    found: list[str] = []
    for match in _token().finditer(unicodedata.normalize("NFKC", text).replace("’", "'").casefold()):
        run = match.group()
        if match.lastgroup != "unspaced":
            found.append(run.removesuffix("'s"))
            continue
        run = "".join(character for character in run if character.isalnum() or unicodedata.category(character).startswith("M"))
        if singles or len(run) == 1:
            found += list(run)
        found += [run[place : place + 2] for place in range(len(run) - 1)]
    return found


def marked(text: str, query: str) -> list[str]:
    """A text in parts of which every second one is a word of the query, as a search by words reads both; joined they are the text.

    The first part is no word of the query, and may be empty. In a script without spaces single characters count.
    """
    wanted, parts, at = set(words(query, singles=True)), [""], 0
    for match in _token().finditer(text):
        whole = [match.span()]
        spans = whole if match.lastgroup != "unspaced" else [(place, place + 1) for place in range(*match.span())]
        for start, end in spans:
            if wanted.isdisjoint(words(text[start:end], singles=True)):
                continue
            if start == at and len(parts) > 2:  # the next character of the same run
                parts[-2] += text[start:end]
            else:
                parts[-1] = text[at:start]
                parts += [text[start:end], ""]
            at = end
    parts[-1] = text[at:]
    return parts
