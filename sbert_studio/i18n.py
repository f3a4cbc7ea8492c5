"""Translatable messages: English texts that keep their template and values, and gettext catalogs that translate them.

Code writes ``_("{rows} rows are left", rows=f"{count:,}")``. The result is an ordinary English ``str``, which logs, the command line and
the API use unchanged; before values are sent to the page, :func:`translate_value` replaces it with its translation.
"""

from __future__ import annotations

import ast
import gettext
import io
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

ENGLISH = "en"
LOCALE_FOLDER = Path(__file__).resolve().parent / "locale"
_PLACEHOLDER = re.compile(r"\{(=?)([A-Za-z_]\w*)\}")
_END_MARKS = ("?", "!", "…", "。", "？", "！")
_CJK = re.compile(r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]")
_CJK_STOP = re.compile(r"(?<=[\u3400-\u9fff）”])\.$")
_PUNCTUATION = re.compile(r"; |: |, | \(|\)")
_FINAL_STOP = re.compile(r"(?<!\.)\.$")
_TEMPLATES = "templates"
_PLAIN = {str, int, float, bool, type(None)}  # checked here for speed: a map has a hundred thousand numbers
_MO_MAGIC = 0x950412DE


class Message(str):
    """English text that keeps its template and values. Can be pickled, and is encoded as a JSON string.

    Attributes:
        template: the text with placeholders such as ``{rows}``; the key of its translation.
        values: the values by placeholder; they may be messages.
        plural: the plural template, or empty.
        number: selects between ``template`` and ``plural``.
        style: ``sentence`` if it starts with a capital letter and ends with a period, which the template may lack; ``capital`` or
            ``small`` if it starts with such a letter; ``stop`` if it ends with a period.
        is_joined: whether its values are translated one by one, with ``template`` as the separator.
        starts_with_name: whether it starts with a value that is not a message, such as the name of a file, whose first letter no style
            changes.
    """

    template: str
    values: dict[str, object]
    plural: str
    number: float
    style: str
    is_joined: bool
    starts_with_name: bool

    def __new__(
        cls,
        template: str,
        values: Mapping[str, object],
        *,
        plural: str = "",
        number: float = 1,
        style: str = "",
        is_joined: bool = False,
    ) -> Message:
        values = {name: value if isinstance(value, str | int | float) else str(value) for name, value in values.items()}
        shown = template if not plural or number == 1 else plural
        text = template.join(map(str, values.values())) if is_joined else _fill(shown, values, str)
        starts_with_name = _starts_with_name(shown, values, is_joined)
        message = super().__new__(cls, _apply_style(style, text, starts_with_name))
        message.template, message.values, message.plural, message.number = template, values, plural, number
        message.style, message.is_joined, message.starts_with_name = style, is_joined, starts_with_name
        return message

    def __reduce__(self) -> tuple[Callable[..., Message], tuple[object, ...]]:
        return _restore, (self.template, self.values, self.plural, self.number, self.style, self.is_joined)

    def __add__(self, other: str) -> str:
        return join("", [self, other])

    def __radd__(self, other: str) -> str:
        return join("", [other, self])

    def strip(self, chars: str | None = None, /) -> str:
        """Return the message itself if there is nothing to strip."""
        text = super().strip(chars)
        return self if len(text) == len(self) else text

    def map_values(self, function: Callable[[str], str]) -> Message:
        """Return the message with ``function`` applied to its texts, including those of nested messages."""

        def change(value: object) -> object:
            if isinstance(value, Message):
                return value.map_values(function)
            return function(value) if isinstance(value, str) else value

        return self._with({name: change(value) for name, value in self.values.items()}, self.style)

    def with_style(self, style: str) -> Message:
        """Return the message in another style."""
        return self._with(self.values, style)

    def to_record(self) -> dict[str, object]:
        """Return the message as JSON data for :func:`from_record`."""
        values = {name: value.to_record() if isinstance(value, Message) else value for name, value in self.values.items()}
        record: dict[str, object] = {"text": str(self), "template": self.template, "values": values}
        if self.plural:
            record |= {"plural": self.plural, "number": self.number}
        return record | {name: getattr(self, name) for name in ("style", "is_joined") if getattr(self, name)}

    def _with(self, values: Mapping[str, object], style: str) -> Message:
        return Message(self.template, values, plural=self.plural, number=self.number, style=style, is_joined=self.is_joined)


def _restore(*state: Any) -> Message:
    template, values, plural, number, style, is_joined = state
    return Message(template, values, plural=plural, number=number, style=style, is_joined=is_joined)


def _(template: str, /, **values: object) -> str:
    """Return a :class:`Message`. If ``template`` is already a message and has no values, it is returned unchanged."""
    return template if isinstance(template, Message) else Message(template, values)


def ngettext(singular: str, plural: str, number: float, /, **values: object) -> str:
    """Return the ``singular`` message if ``number`` is 1, else the ``plural``. ``{n}`` is the number, unless ``values`` contains ``n``."""
    return Message(singular, {"n": f"{number:,}", **values}, plural=plural, number=number)


def join(separator: str, texts: Iterable[str]) -> str:
    """Join texts with ``separator`` to a :class:`Message`; each text is translated separately."""
    parts = list(texts)
    return Message(separator, {f"part{number}": text for number, text in enumerate(parts)}, is_joined=True)


def verbatim(text: str) -> str:
    """Mark a name chosen by a visitor as not translatable, for use where the program's own texts would be translated."""
    return Message("{=text}", {"text": text})


def to_sentence(text: str) -> str:
    """Return ``text`` with an initial capital letter and a final period, unless it already ends with punctuation."""
    return text.with_style("sentence") if isinstance(text, Message) else _as_sentence(text)


def capitalize(text: str) -> str:
    """Return ``text`` with an initial capital letter."""
    return text.with_style("capital") if isinstance(text, Message) and not text.style else _as_capital(text)


def from_record(record: object, default: str = "") -> str:
    """Return the message stored by :meth:`Message.to_record`; ``default`` if ``record`` is None, as in files of earlier versions."""
    if not isinstance(record, Mapping) or not isinstance(record.get("template"), str) or not isinstance(record.get("values"), Mapping):
        return default
    number = record.get("number", 1)
    values = {str(name): from_record(value) if isinstance(value, Mapping) else value for name, value in record["values"].items()}
    return Message(
        record["template"],
        values,
        plural=str(record.get("plural", "")),
        number=number if isinstance(number, int | float) else 1,
        style=record["style"] if record.get("style") in _STYLES else "",
        is_joined=record.get("is_joined") is True,
    )


def store_messages(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``data`` for a JSON file, including the templates and values of its messages, so that they can be translated later."""
    records: dict[str, object] = {}

    def collect(value: object) -> None:
        if isinstance(value, Message):
            records[str(value)] = value.to_record()
        elif isinstance(value, Mapping | list | tuple):
            for item in value.values() if isinstance(value, Mapping) else value:
                collect(item)

    collect(data)
    return {**data, _TEMPLATES: records} if records else dict(data)


def restore_messages(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``data`` stored by :func:`store_messages`; files of earlier versions contain English texts only."""
    records = data.get(_TEMPLATES)
    rest = {name: value for name, value in data.items() if name != _TEMPLATES}
    messages = {text: from_record(record, text) for text, record in records.items()} if isinstance(records, Mapping) else {}

    def restore(value: Any) -> Any:
        if isinstance(value, str):
            found = messages.get(value)
            return found if found == value else value
        if isinstance(value, Mapping):
            return {name: restore(item) for name, item in value.items()}
        return [restore(item) for item in value] if isinstance(value, list) else value

    return restore(rest) if messages else rest  # type: ignore[no-any-return]


def with_full_stop(text: str) -> str:
    """Return ``text`` with a final period, unless it ends with other punctuation."""
    return text.with_style("stop") if isinstance(text, Message) and not text.style else _with_stop(text)


def uncapitalize(text: str) -> str:
    """Return ``text`` with an initial lowercase letter, for use within a sentence."""
    return text.with_style("small") if isinstance(text, Message) else _as_small(text)


def _as_small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _as_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _as_sentence(text: str) -> str:
    return _with_stop(_as_capital(text)) if text else ""


def _with_stop(text: str) -> str:
    text = text.rstrip(". ")
    return text if text.endswith(_END_MARKS) else f"{text}."


_STYLES: dict[str, Callable[[str], str]] = {
    "": str,
    "capital": _as_capital,
    "small": _as_small,
    "stop": _with_stop,
    "sentence": _as_sentence,
}


def _starts_with_name(template: str, values: Mapping[str, object], is_joined: bool = False) -> bool:
    if is_joined:
        first = next(iter(values.values()), "")
        return isinstance(first, Message) and first.starts_with_name
    found = _PLACEHOLDER.match(template)
    first = values.get(found[2]) if found else None
    return first.starts_with_name if isinstance(first, Message) else isinstance(first, str)


def _apply_style(style: str, text: str, starts_with_name: bool) -> str:
    if starts_with_name:
        style = {"sentence": "stop", "stop": "stop"}.get(style, "")
    return _STYLES[style](text)


def _fill(template: str, values: Mapping[str, object], show: Callable[[object], str]) -> str:
    """Fill in the placeholders; values of ``{=name}`` are not translated."""

    def value(match: re.Match[str]) -> str:
        if match[2] not in values:
            return match[0]
        return str(values[match[2]]) if match[1] else show(values[match[2]])

    return _PLACEHOLDER.sub(value, template)


def languages() -> list[str]:
    """Return the codes of all languages except English."""
    return sorted(path.parents[1].name for path in LOCALE_FOLDER.glob("*/LC_MESSAGES/messages.po"))


def translate(text: str, language: str) -> str:
    """Return a message, or a text that is a key of the catalog, in another language; in English if there is no translation."""
    catalog = load_catalog(language)
    return str(text) if catalog is None else catalog.translate(text)


def translate_value(data: Any, language: str, sent: Callable[[str, Message], object] | None = None) -> Any:
    """Return ``data`` with each :class:`Message` in lists, tuples, dictionaries and dataclasses translated; other texts are unchanged.

    Args:
        sent: called with each translated text and its message.
    """
    if isinstance(data, Message):
        text = translate(data, language)
        if sent is not None:
            sent(text, data)
        return text
    if isinstance(data, dict):
        return {name: value if type(value) in _PLAIN else translate_value(value, language, sent) for name, value in data.items()}
    if type(data) in (list, tuple):
        return type(data)(value if type(value) in _PLAIN else translate_value(value, language, sent) for value in data)
    if is_dataclass(data) and not isinstance(data, type):
        found = {item.name: getattr(data, item.name) for item in fields(data) if item.init}
        changed = {name: new for name, old in found.items() if (new := translate_value(old, language, sent)) is not old and new != old}
        return replace(data, **changed) if changed else data
    return data


class Catalog:
    """Translations of one language."""

    def __init__(self, path: Path) -> None:
        entries = read_po(path)
        self.texts = {key if isinstance(key, str) else key[0]: text if isinstance(text, str) else text[0] for key, text in entries.items()}
        self.headers = dict(line.split(": ", 1) for line in self.texts.pop("", "").splitlines() if ": " in line)
        self._gettext = gettext.GNUTranslations(io.BytesIO(_compile(entries)))

    @property
    def name(self) -> str:
        """Name of the language in the language itself, such as 中文."""
        return self.headers.get("X-Language-Name", self.headers["Language"])

    @property
    def tag(self) -> str:
        """BCP 47 tag, for ``<html lang>``."""
        return self.headers["Language"].replace("_", "-")

    def find(self, text: str) -> str | None:
        """Return the translation of a key of the catalog. ``text`` may have a capital letter or a final period that the key lacks."""
        forms = [text, text[:1].lower() + text[1:]]
        for form in forms:
            if form in self.texts:
                return self.texts[form]
        if text.endswith(".") and not text.endswith(".."):
            for form in forms:
                if form[:-1] in self.texts:
                    return _end_sentence(self.texts[form[:-1]])
        return None

    def translate(self, text: object) -> str:
        """Return the translation of a text, or the English text."""
        if not isinstance(text, Message):
            return (self.find(text) if isinstance(text, str) and text else None) or str(text)
        if text.is_joined:
            found, template = self._join(text.template, [self.translate(part) for part in text.values.values()]), text.template
        else:
            template = self._template(text)
            found = _CJK_STOP.sub("。", _fill(template, text.values, self.translate))
            if not _has_words(template) and _CJK.search(found):  # the stop of a template that is nothing but punctuation
                found = _FINAL_STOP.sub("。", found)
        ends = text.style in ("sentence", "stop")
        style = {"sentence": "capital", "stop": ""}.get(text.style, text.style)
        found = _apply_style(style, found, _starts_with_name(template, text.values, text.is_joined))
        return _end_sentence(found) if ends else found

    def _template(self, message: Message) -> str:
        if message.plural:
            return self._gettext.ngettext(
                message.template, message.plural, int(message.number) if message.number == int(message.number) else 2
            )
        found = self.find(message.template) if message.template else None
        if found is None and not _has_words(message.template):
            return _PUNCTUATION.sub(lambda mark: self.texts.get(mark[0], mark[0]), message.template)
        return message.template if found is None else found

    def _join(self, separator: str, parts: list[str]) -> str:
        if separator == " ":  # sentences: no space after a full-width mark
            return "".join(part if not at or _CJK.match(parts[at - 1][-1:]) else f" {part}" for at, part in enumerate(parts))
        return self.texts.get(separator, separator).join(parts)


def _has_words(template: str) -> bool:
    return re.search(r"[^\W\d_]", _PLACEHOLDER.sub("", template)) is not None


def _end_sentence(text: str) -> str:
    if not text or text.endswith(_END_MARKS):
        return text
    text = text.rstrip(". ")
    return f"{text}。" if _CJK.search(text) else f"{text}."


@cache
def load_catalog(language: str) -> Catalog | None:
    """Return the catalog of a language; ``None`` for English and unknown languages."""
    return Catalog(LOCALE_FOLDER / language / "LC_MESSAGES" / "messages.po") if language in languages() else None


def read_po(path: Path) -> dict[str | tuple[str, str], str | list[str]]:
    """Return the translations in a ``.po`` file: a string by msgid, a list by (msgid, msgid_plural); the header has the key ``""``.

    Fuzzy, obsolete and empty entries are skipped.
    """
    found: dict[str | tuple[str, str], str | list[str]] = {}
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        parts: dict[str, str] = {}
        keyword = ""
        for line in block.splitlines():
            if line.startswith("#"):
                if line.startswith("#,") and "fuzzy" in line:
                    break
                continue
            text = line
            if line and not line.startswith('"'):
                keyword, _space, text = line.partition(" ")
            parts[keyword] = parts.get(keyword, "") + (ast.literal_eval(text) if text else "")
        else:
            if "msgid_plural" in parts:
                forms = [text for name, text in parts.items() if name.startswith("msgstr[")]
                if all(forms):
                    found[parts["msgid"], parts["msgid_plural"]] = forms
            elif parts.get("msgstr"):
                found[parts["msgid"]] = parts["msgstr"]
    return found


def _compile(entries: Mapping[str | tuple[str, str], str | list[str]]) -> bytes:
    """Return entries in the binary format (``.mo``) read by :class:`gettext.GNUTranslations`."""
    pairs = sorted(
        (("\0".join(key) if isinstance(key, tuple) else key).encode(), ("\0".join(text) if isinstance(text, list) else text).encode())
        for key, text in entries.items()
    )
    texts = [key for key, _text in pairs] + [text for _key, text in pairs]
    table, at = b"", 28 + 8 * len(texts)
    for text in texts:
        table += struct.pack("<II", len(text), at)
        at += len(text) + 1
    header = struct.pack("<7I", _MO_MAGIC, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return header + table + b"".join(text + b"\0" for text in texts)
