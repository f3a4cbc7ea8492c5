"""Messages keep their template and values, and catalogs translate them."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass
from pathlib import Path

import pytest

from sbert_studio import i18n
from sbert_studio.errors import StudioError
from sbert_studio.i18n import (
    Catalog,
    Message,
    _,
    capitalize,
    from_record,
    join,
    ngettext,
    read_po,
    restore_messages,
    store_messages,
    to_sentence,
    translate,
    translate_value,
    uncapitalize,
    verbatim,
)
from sbert_studio.runs.event_log import dump_event, load_event
from sbert_studio.runs.run import Run, dump_run, load_run

PO = r"""
msgid ""
msgstr ""
"Language: xx_YY\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 ? 0 : n%10<5 ? 1 : 2);\n"
"X-Language-Name: Exish\n"

# A comment.
#: file.py:3
msgid "row {row}: {problem}"
msgstr "{problem} @ {row}"

msgid "too "
"long"
msgstr "zu \"lang\"\n"

msgid "{n} text"
msgid_plural "{n} texts"
msgstr[0] "{n} A"
msgstr[1] "{n} B"
msgstr[2] "{n} C"

msgid "{model} is read from {file}"
msgstr "{file}: {=model}"

msgid "Search"
msgstr "找"

msgid "the disk is full"
msgstr "满"

msgid ", "
msgstr "、"

#, fuzzy
msgid "unsure"
msgstr "?"

msgid "untranslated"
msgstr ""

#~ msgid "obsolete"
#~ msgstr "x"
"""


@pytest.fixture(autouse=True)
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    folder = tmp_path / "xx" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "messages.po").write_text(PO, encoding="utf-8")
    monkeypatch.setattr(i18n, "LOCALE_FOLDER", tmp_path)
    i18n.load_catalog.cache_clear()
    found = i18n.load_catalog("xx")
    assert found is not None
    return found


@pytest.fixture(autouse=True, scope="module")
def real_catalogs_afterwards() -> object:
    yield
    i18n.load_catalog.cache_clear()


PROBLEM = _("too long")
MESSAGE = _("row {row}: {problem}", row=3, problem=PROBLEM)


@pytest.mark.parametrize(
    ("message", "english", "other"),
    [
        (MESSAGE, "row 3: too long", 'zu "lang"\n @ 3'), (_("no {thing} is known", thing="such"), "no such is known", "no such is known"),
        (_("{model} is read from {file}", model="Search", file="Search"), "Search is read from Search", "找: Search"),
        (ngettext("{n} text", "{n} texts", 1), "1 text", "1 A"), (ngettext("{n} text", "{n} texts", 1002), "1,002 texts", "1,002 B"),
        (ngettext("{n} text", "{n} texts", 6, n="six"), "six texts", "six C"),
        (join(", ", [_("Search"), "Search me"]), "Search, Search me", "找、Search me"),
        (join(" ", [to_sentence(_("the disk is full")), "So."]), "The disk is full. So.", "满。So."),
        ("x " + MESSAGE + " y", "x row 3: too long y", 'x zu "lang"\n @ 3 y'),
        (to_sentence(_("the disk is full")), "The disk is full.", "满。"), (to_sentence("why?"), "Why?", "Why?"),
        (capitalize(MESSAGE), "Row 3: too long", 'Zu "lang"\n @ 3'), (capitalize("a"), "A", "A"),
        (_("but {it}", it=uncapitalize(_("The disk is full"))), "but the disk is full", "but 满"), ("Search", "Search", "找"),
        ("The disk is full.", "The disk is full.", "满。"), ("unsure", "unsure", "unsure"),
        ("untranslated", "untranslated", "untranslated"),
        ("obsolete", "obsolete", "obsolete"), (_("{unknown} and {row}", row="{row}"), "{unknown} and {row}", "{unknown} and {row}"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_messages_are_english_and_are_translated(message: str, english: str, other: str) -> None:
    assert message == english and translate(message, "en") == english and translate(message, "nowhere") == english
    assert translate(message, "xx") == other
    assert type(translate(message, "xx")) is str


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda message: pickle.loads(pickle.dumps(message))])  # noqa: S301
@pytest.mark.parametrize("message", [MESSAGE, ngettext("{n} text", "{n} texts", 5), to_sentence(MESSAGE), join(", ", [MESSAGE, "b"])])
def test_copies_and_stored_records_can_be_translated(message: Message, copied: object) -> None:
    for again in (copied(message), from_record(json.loads(json.dumps(message.to_record())))):  # type: ignore[operator]
        assert again == message and translate(again, "xx") == translate(message, "xx") != message
    assert json.loads(json.dumps(message)) == str(message)


def test_stored_data_keeps_its_messages() -> None:
    data = {"message": MESSAGE, "parts": [{"title": _("seed {seed}", seed=3), "name": "x"}], "n": 1}
    stored = json.loads(json.dumps(store_messages(data)))
    assert stored["message"] == "row 3: too long" and stored["parts"][0] == {"title": "seed 3", "name": "x"}
    again = restore_messages(stored)
    assert again == data and translate(again["message"], "xx") == translate(MESSAGE, "xx")
    plain = {"message": "as it was", "n": 1}
    assert store_messages(plain) == restore_messages(plain) == plain
    edited = {**stored, "message": "edited by hand", "templates": {**stored["templates"], "row 3: too long": {"text": "x"}}}
    assert restore_messages(edited)["message"] == "edited by hand" and restore_messages({**edited, "templates": 3})["n"] == 1


def test_events_and_runs_keep_their_messages_on_disk(tmp_path: Path) -> None:
    event = load_event(dump_event({"type": "notice", "message": MESSAGE, "passing": False}))
    assert event is not None and event["message"] == "row 3: too long" and "templates" not in event
    assert translate(event["message"], "xx") == translate(MESSAGE, "xx")
    run = Run(id="run-0123456789", owner="local", name="a", status="failed", created="2026-01-01T00:00:00", model="m", message=MESSAGE)
    again = load_run(dump_run(run.updated(hint=_("too long"), step=3), tmp_path), run.id, tmp_path)
    assert again.message == MESSAGE and [translate(text, "xx") for text in (again.message, again.hint)] == [
        translate(MESSAGE, "xx"),
        translate(PROBLEM, "xx"),
    ]
    assert type(again.to_json()["message"]) in (str, Message) and json.dumps(again.to_json())


@dataclass(frozen=True)
class View:
    title: str
    rows: list[tuple[str, object]]


def test_only_messages_are_translated_in_values() -> None:
    view = View(_("Search"), [("Search", {"why": MESSAGE, "n": 3})])
    sent: dict[str, Message] = {}
    found = translate_value(view, "xx", sent.__setitem__)
    assert found == View("找", [("Search", {"why": 'zu "lang"\n @ 3', "n": 3})])
    assert sent == {"找": view.title, 'zu "lang"\n @ 3': MESSAGE}
    same = View("Search", [])
    assert translate_value(same, "xx") is same


@pytest.mark.parametrize(
    "message",
    [
        _("{name} is read", name="mine.csv"),
        _("{message} ({rows})", message=_("{name} is read", name="mine.csv"), rows="row 3"),
        join(" ", [_("{name} is read", name="mine.csv"), "It is empty."]),
        ngettext("{name} has {n} text", "{name} has {n} texts", 2, name="mine.csv"),
        verbatim("mine.csv"),
    ],
)
def test_a_name_at_the_start_of_a_sentence_stays_as_it_is(message: Message) -> None:
    sentence = to_sentence(message)
    assert sentence.startswith("mine.csv") and capitalize(message).startswith("mine.csv")
    assert sentence == str(message).rstrip(".") + "." and translate(sentence, "xx").startswith("mine.csv")
    assert uncapitalize(_("{name} is read", name="STSb")).startswith("STSb")  # type: ignore[arg-type]


def test_sentences_nested_values_old_records_and_the_language_of_a_catalog(catalog: Catalog) -> None:
    assert from_record(None, "as it was") == from_record({"template": 3}, "as it was") == "as it was"
    assert _("{a}", a=MESSAGE).map_values(str.upper) == "row 3: too long"
    assert _("{a}", a=_("row {row}: {problem}", row="x", problem="y")).map_values(str.upper) == "row X: Y"
    assert to_sentence(_("{message} ({rows})", message=_("it is empty"), rows="row 3")) == "It is empty (row 3)."
    assert to_sentence(join("; ", ["it is empty", "mine.csv"])) == "It is empty; mine.csv."
    assert to_sentence(StudioError("there is no text", "add rows").message) == "There is no text."
    assert (catalog.name, catalog.tag, i18n.languages()) == ("Exish", "xx-YY", ["xx"])


def test_every_catalog_of_the_package_keeps_the_placeholders() -> None:
    for path in sorted((Path(i18n.__file__).parent / "locale").glob("*/LC_MESSAGES/messages.po")):
        for key, text in read_po(path).items():
            templates, texts = ([one] if isinstance(one, str) else one for one in (key, text))
            if key:
                names = {found[2] for template in templates for found in i18n._PLACEHOLDER.finditer(template)}
                assert all({found[2] for found in i18n._PLACEHOLDER.finditer(one)} == names for one in texts), key
