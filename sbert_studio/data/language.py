"""Language detection by script and, for Latin script, by common words: enough to warn that a model does not fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..i18n import _, join, to_sentence, uncapitalize
from ..settings import MULTILINGUAL_HUB_ID, MULTILINGUAL_MODEL
from .schema.names import word_lists, word_set

_SAMPLE_SIZE = 1_000
_FEW_TEXTS = 20
_MIN_WORDS = 3  # minimum number of words of a text that may be assigned the language of the others
_FOREIGN_SHARE = 0.2
_MOST_SHARE = 0.3
_MAX_NAMED_LANGUAGES = 4
_SCRIPT_SAMPLE = 200  # number of leading characters examined per text
LANGUAGE_NAMES = {
    "en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ru": "Russian or another Cyrillic language", "ar": "Arabic",
    "he": "Hebrew", "hi": "Hindi", "th": "Thai", "el": "Greek", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
    "pt": "Portuguese", "nl": "Dutch",
}  # fmt: skip
_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),  # before Chinese, because Japanese uses both kana and Han characters
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
)
_SCRIPT_NAMES = {
    "ja": "Chinese or Japanese", "zh": "Chinese or Japanese", "ko": "Korean", "ru": "Cyrillic", "ar": "Arabic", "he": "Hebrew",
    "hi": "Devanagari", "th": "Thai", "el": "Greek",
}  # fmt: skip
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_WORD = re.compile(r"[^\W\d_]+")
_COMMON_WORDS = {code: word_set(words) for code, words in word_lists("common").items()}


@dataclass(frozen=True)
class Language:
    """Most common language of some texts: its ISO 639-1 code, or ``""``, and its share of the texts with a detected language."""

    code: str
    share: float

    @property
    def name(self) -> str:
        return LANGUAGE_NAMES.get(self.code, "an unknown language")


def detect_language(text: str, min_words: int = 1) -> str:
    """Return the ISO 639-1 code of the language of a text, or ``""`` if it is unclear.

    A text in Latin script must contain at least ``min_words`` common words of the language.
    """
    if not text.isascii():
        latin = len(_LATIN.findall(text))
        for code, script in _SCRIPTS:
            # A Han or kana character counts as much as two letters.
            if 2 * len(script.findall(text)) > latin:
                return code
    words = _WORD.findall(text.casefold())
    votes = {code: sum(word in common for word in words) for code, common in _COMMON_WORDS.items()}
    best = max(votes, key=lambda code: votes[code])
    return best if votes[best] >= min_words and list(votes.values()).count(votes[best]) == 1 else ""


def detect_main_script(texts: Iterable[str]) -> str:
    """Return the English name of the script of more than half of the letters; ``""`` for Latin and unknown scripts."""
    letters = "".join(letter for text in texts for letter in text[:_SCRIPT_SAMPLE] if letter.isalpha())
    counts: Counter[str] = Counter()
    for code, script in _SCRIPTS:
        counts[_SCRIPT_NAMES[code]] += len(script.findall(letters))
    name, number = counts.most_common(1)[0]
    return name if 2 * number > len(letters) else ""


def detect_main_language(texts: Sequence[str]) -> Language:
    """Return the most common language of the texts, based on at most 2,000 of them."""
    counts = Counter(code for text in _sample(texts) if (code := detect_language(text)))
    if not counts:
        return Language("", 0.0)
    code, number = counts.most_common(1)[0]
    return Language(code, number / counts.total())


def count_languages(texts: Sequence[str]) -> Counter[str]:
    """Count the languages of at most 2,000 of the texts by ISO 639-1 code; ``""`` counts texts whose language is unclear.

    With fewer than 20 texts, a text in Latin script needs two common words: a name such as ``Los Angeles`` is not a Spanish sentence.
    In a text of three or more words, one common word is enough if it agrees with the language of all texts together.
    """
    if len(texts) >= _FEW_TEXTS:
        return Counter(detect_language(text) for text in _sample(texts))
    joint = detect_language(" ".join(texts), 2)
    counts: Counter[str] = Counter()
    for text in texts:
        agrees = len(_WORD.findall(text)) >= _MIN_WORDS and detect_language(text) == joint
        counts[detect_language(text, 2) or (joint if agrees else "")] += 1
    return counts


def _sample(texts: Sequence[str]) -> Sequence[str]:
    return texts[:: max(1, len(texts) // _SAMPLE_SIZE)]


def dominant_foreign_language(counts: Counter[str], model_languages: Sequence[str] = ("en",)) -> str:
    """Return the most common language outside ``model_languages`` if most texts are in such languages, else ``""``.

    "Most" means more than half of the texts with a detected language and at least 30 % of all texts, because the language of short texts
    in Latin script is often unclear.
    """
    foreign = _count_foreign(counts, model_languages)
    detected = counts.total() - counts[""]
    if not foreign or 2 * foreign.total() <= detected or foreign.total() < _MOST_SHARE * counts.total():
        return ""
    return foreign.most_common(1)[0][0]


def _count_foreign(counts: Counter[str], model_languages: Sequence[str]) -> Counter[str]:
    return Counter({code: number for code, number in counts.items() if code and code not in model_languages})


def multilingual_model_hint(available: str = "") -> str:
    """Return the advice to choose a multilingual model, starting in lower case.

    ``available`` names a model that needs no download; empty if there is none.
    """
    if available:
        return _("choose {available}, which supports many languages", available=available)
    install = _(
        "on Linux or a Mac with Apple silicon, make setup installs it as {multilingual_model}", multilingual_model=MULTILINGUAL_MODEL
    )
    return _("choose {multilingual_hub_id} from the Hugging Face Hub; {install}", multilingual_hub_id=MULTILINGUAL_HUB_ID, install=install)


def language_mismatch_note(
    counts: Counter[str], model_languages: Sequence[str] | None, what: str = "The texts", available: str = ""
) -> str:
    """Return a warning if at least a fifth of the texts are in languages that the model was not trained on, else ``""``.

    Args:
        counts: the result of :func:`count_languages`.
        model_languages: ISO 639-1 codes of the model's languages; None or empty: unknown.
        what: the subject of the sentence, in the plural.
        available: see :func:`multilingual_model_hint`.
    """
    foreign = _count_foreign(counts, model_languages or ())
    if not model_languages or not foreign or foreign.total() < _FOREIGN_SHARE * counts.total():
        return ""
    subject = what if 2 * foreign.total() > counts.total() - counts[""] else _("Some of {what}", what=uncapitalize(what))
    language = LANGUAGE_NAMES.get(foreign.most_common(1)[0][0], "another language")
    names = join(" and ", (LANGUAGE_NAMES.get(code, code) for code in model_languages))
    names = (
        names
        if len(model_languages) <= _MAX_NAMED_LANGUAGES
        else _("{model_languages} other languages", model_languages=len(model_languages))
    )
    hint = multilingual_model_hint(available)
    hint = to_sentence(hint)
    return _(
        "{subject} look like {language}, but the model was trained on {names}: its scores are unreliable for them. {hint}",
        subject=subject,
        language=language,
        names=names,
        hint=hint,
    )
