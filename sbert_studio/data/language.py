"""The language of texts, by their script and, for Latin script, by their commonest words. Enough to warn; no more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..settings import MULTILINGUAL_HUB_ID, MULTILINGUAL_MODEL

_SAMPLE = 1_000
_MANY = 20
_SENTENCE = 3  # words
_FOREIGN = 0.2
_NAMED = 4
_MOSTLY = 0.3
NAMES = {
    "en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ru": "Russian or another Cyrillic language", "ar": "Arabic",
    "he": "Hebrew", "hi": "Hindi", "th": "Thai", "el": "Greek", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
    "pt": "Portuguese", "nl": "Dutch",
}  # fmt: skip
_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),  # before Chinese, for Japanese writes both kana and Han
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_WORD = re.compile(r"[^\W\d_]+")
# Only words that tell these seven apart: "in", "a", "de" and the like stand in several and are left out.
_COMMON = {
    "en": "the of and to is that it was for are with this have from not you what how my can do when why does i your which there were",
    "de": "der das und ist nicht ein eine mit für auf den von zu im ich sich wie dem auch wird sind bei oder aus wenn kann",
    "fr": "le les des et est une dans pour qui pas sur du au je vous il elle ce sont avec mon par plus cette",
    "es": "el los las y una es por para se del lo como pero su más está muy mi qué cuando hay puedo",
    "it": "il di che è per sono gli della non con nel anche più mio questo alla ho dei come perché",
    "pt": "os do da em um com não uma ao são mas você eu meu isso mais foi pelo está por quando",
    "nl": "het een van dat niet op te zijn voor ik er aan ook maar mijn wordt heeft naar hoe deze",
}
_VOTE = {code: frozenset(words.split()) for code, words in _COMMON.items()}


_SCRIPT_NAMES = {
    "ja": "Chinese or Japanese", "zh": "Chinese or Japanese", "ko": "Korean", "ru": "Cyrillic", "ar": "Arabic", "he": "Hebrew",
    "hi": "Devanagari", "th": "Thai", "el": "Greek",
}  # fmt: skip
_BEGINNING = 200  # characters of a text, which tell its script


@dataclass(frozen=True)
class Language:
    """The commonest language of some texts.

    Attributes:
        code: its ISO 639-1 code; ``""`` where nothing told.
        share: the part of the texts that told their language which it makes up, in [0, 1].
    """

    code: str
    share: float

    @property
    def name(self) -> str:
        """The language in English words."""
        return NAMES.get(self.code, "an unknown language")


def guess_language(text: str, least: int = 1) -> str:
    """The ISO 639-1 code of one text, or ``""`` where it does not tell; Latin script tells by ``least`` common words."""
    if not text.isascii():
        latin = len(_LATIN.findall(text))
        for code, script in _SCRIPTS:
            # One character of Han or kana says about as much as two letters.
            if 2 * len(script.findall(text)) > latin:
                return code
    words = _WORD.findall(text.casefold())
    votes = {code: sum(word in common for word in words) for code, common in _VOTE.items()}
    best = max(votes, key=lambda code: votes[code])
    return best if votes[best] >= least and list(votes.values()).count(votes[best]) == 1 else ""


def main_script(texts: Iterable[str]) -> str:
    """The script of more than half of the letters with which ``texts`` begin, in English words; ``""`` of Latin and of any other."""
    letters = "".join(letter for text in texts for letter in text[:_BEGINNING] if letter.isalpha())
    times: Counter[str] = Counter()
    for code, script in _SCRIPTS:
        times[_SCRIPT_NAMES[code]] += len(script.findall(letters))
    name, most = times.most_common(1)[0]
    return name if 2 * most > len(letters) else ""


def main_language(texts: Sequence[str]) -> Language:
    """The commonest language of at most 2,000 of the texts."""
    step = max(1, len(texts) // _SAMPLE)
    counts = Counter(code for text in texts[::step] if (code := guess_language(text)))
    if not counts:
        return Language("", 0.0)
    code, times = counts.most_common(1)[0]
    return Language(code, times / sum(counts.values()))


def languages_in(texts: Sequence[str]) -> Counter[str]:
    """How many of at most 2,000 of the texts are in each language; ``""`` counts those that do not tell.

    Of a few texts a Latin one tells by two common words: a name such as ``Los Angeles`` makes no Spanish sentence. One common word is
    enough in a text of three words and more whose language is that of all texts together.
    """
    step = max(1, len(texts) // _SAMPLE)
    if len(texts) >= _MANY:
        return Counter(guess_language(text) for text in texts[::step])
    together = guess_language(" ".join(texts), 2)
    return Counter(guess_language(text, 2) or _with_others(text, together) for text in texts)


def _with_others(text: str, together: str) -> str:
    """Return the language of all texts ``together`` where this one says the same by a single word; else ``""``."""
    return together if len(_WORD.findall(text)) >= _SENTENCE and guess_language(text) == together else ""


def mostly_foreign(found: Counter[str], known: Sequence[str] = ("en",)) -> str:
    """Return the ISO 639-1 code of the commonest language where most texts are in other languages than ``known``; else ``""``.

    Most are more than half of the texts whose language is told, and at least three in ten of all: of short texts in Latin script
    many do not tell.

    Args:
        found: what :func:`languages_in` counted.
    """
    foreign = Counter({code: times for code, times in found.items() if code and code not in known})
    told = found.total() - found[""]
    if not foreign or 2 * foreign.total() <= told or foreign.total() < _MOSTLY * found.total():
        return ""
    return foreign.most_common(1)[0][0]


def multilingual_advice(at_hand: str = "") -> str:
    """Return what to do about texts that a model does not read, as a hint without a full stop.

    Args:
        at_hand: a multilingual model that needs no download; empty where there is none.
    """
    if at_hand:
        return f"choose {at_hand}, which reads many languages"
    here = f"on Linux, or a Mac with Apple silicon, make setup installs it as {MULTILINGUAL_MODEL}"
    return f"choose {MULTILINGUAL_HUB_ID} from the Hugging Face Hub; {here}"


def foreign_note(found: Counter[str], known: Sequence[str] | None, what: str = "The texts", at_hand: str = "") -> str:
    """A sentence where a fifth or more of the texts are in languages that the model was not trained on; else ``""``.

    Args:
        found: what :func:`languages_in` counted.
        known: ISO 639-1 codes of the model's languages; None or none: unknown, nothing is said.
        what: what the sentence is about, in the plural.
        at_hand: see :func:`multilingual_advice`.
    """
    foreign = Counter({code: times for code, times in found.items() if code and code not in (known or ())})
    if not known or foreign.total() < _FOREIGN * found.total() or not foreign:
        return ""
    looks = what if 2 * foreign.total() > found.total() - found[""] else f"Some of {what[0].lower()}{what[1:]}"
    language = NAMES.get(foreign.most_common(1)[0][0], "another language")
    names = " and ".join(NAMES.get(code, code) for code in known) if len(known) <= _NAMED else f"{len(known)} other languages"
    advice = multilingual_advice(at_hand)
    advice = f"{advice[0].upper()}{advice[1:]}."
    return f"{looks} look like {language}, but the model was trained on {names}: its scores say little about them. {advice}"
