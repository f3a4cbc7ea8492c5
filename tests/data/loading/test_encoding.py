"""Files are read in the encoding they were written in; if two are as likely, the owner is asked."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from data.loading.files import contents, read

from sbert_studio.errors import StudioError

_DATA = tomllib.loads(Path(__file__).with_name("encodings.toml").read_text(encoding="utf-8"))
LANGUAGES = _DATA["languages"]
NAMES = "sentence1,sentence2,score"
CATS = ["Кошка спит на диване.", "Собака бегает в парке."]


def _file(language: str, copies: int = 1) -> str:
    return "\n".join([NAMES, *LANGUAGES[language]["rows"] * copies]) + "\n"


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "gb18030"])
@pytest.mark.parametrize(("delimiter", "copies"), [(",", 1), ("\t", 1), (";", 2000)])
def test_text_reads_the_same_in_every_encoding_and_delimiter(tmp_path: Path, codec: str, delimiter: str, copies: int) -> None:
    rows = [tuple(row.split(",")) for row in LANGUAGES["fr" if codec == "cp1252" else "cn"]["rows"]] * copies
    text = "\r\n".join(delimiter.join(row) for row in [tuple(NAMES.split(",")), *rows])
    table = read(tmp_path, text.encode(codec))
    assert (table.columns, contents(table)) == (tuple(NAMES.split(",")), rows)
    assert table.lines[-1] == len(rows) + 1


@pytest.mark.parametrize("copies", [1, 60])
@pytest.mark.parametrize(("language", "codec"), [(language, codec) for language, one in LANGUAGES.items() for codec in one["codecs"]])
def test_a_file_reads_as_it_was_written(tmp_path: Path, language: str, codec: str, copies: int) -> None:
    table = read(tmp_path, _file(language, copies).encode(codec))
    assert [",".join(row) for row in table.head(2)] == LANGUAGES[language]["rows"]
    assert len(table) == 2 * copies
    assert any("not UTF-8" in note.message for note in table.notes)
    for doubt in table.doubts:
        assert doubt.name == "encoding"
        assert doubt.options[0].choice["encoding"] in (codec, codec.replace("euc_kr", "cp949"))


@pytest.mark.parametrize("language", ["de", "fr", "es", "ru", "ko", "ja", "tw", "cn"])
def test_common_files_are_read_without_a_question(tmp_path: Path, language: str) -> None:
    assert read(tmp_path, _file(language, 20).encode(LANGUAGES[language]["codecs"][0])).doubts == ()


def test_an_uncertain_encoding_is_asked_with_lines_that_differ_and_the_answer_settles_it(tmp_path: Path) -> None:
    data = _file("cs").encode("iso8859_2")
    (doubt,) = read(tmp_path, data).doubts
    assert {option.flag for option in doubt.options} == {"--encoding iso8859_2", "--encoding cp1250"}
    assert doubt.rows[0].row == 2
    assert doubt.rows[0].texts != doubt.rows[1].texts
    assert all(read(tmp_path, data, **option.choice).doubts == () for option in doubt.options)
    assert read(tmp_path, data, encoding="iso8859_2").head(1) == [LANGUAGES["cs"]["rows"][0].split(",")]
    rows = ["Das Café.,1", "Zu dir, René.,2", "Vprašanje je.,3", "To je različno.,4"]
    (doubt,) = read(tmp_path, "\n".join(["text,label", *rows]).encode("iso8859_2")).doubts
    assert {one.row for one in doubt.rows} == {4}
    assert len({one.texts for one in doubt.rows}) > 1


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".txt", "\n".join(CATS)),
        (".jsonl", f'{{"text": "{CATS[0]}"}}\n{{"text": "{CATS[1]}"}}\n'),
        (".json", f'[{{"text": "{CATS[0]}"}}, {{"text": "{CATS[1]}"}}]'),
        (".tsv", f"text\tlabel\n{CATS[0]}\ta\n{CATS[1]}\tb\n"),
    ],
)
def test_every_kind_of_text_file_is_detected(tmp_path: Path, suffix: str, text: str) -> None:
    assert read(tmp_path, text.encode("cp1251"), f"cats{suffix}").column("text") == CATS


@pytest.mark.parametrize("name", ["klingon", "base64", "cp99999"])
def test_an_unknown_encoding_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StudioError, match="encoding"):
        read(tmp_path, "text,label\na b,c\n", encoding=name)


def test_words_of_no_latin_code_page_and_words_far_below_the_head_are_read(tmp_path: Path) -> None:
    table = read(tmp_path, b"Ein Text. Noch\xb4einer.Noch\xb4ei\xc8er.", "f.txt")
    assert len(table) == 1 and table.column(table.columns[0])[0].startswith("Ein Text.")
    head = [f"He’s at café number {place}.;She isn’t there.;1" for place in range(4000)]
    tail = [f"A man walks on road {place}.;nothing;{word}" for place in range(20) for word in ("eltérő", "különböző", "megegyező", "első")]
    assert read(tmp_path, "\n".join(["a;b;c", *head, *tail]).encode("cp1250")).column("c")[-1] == "első"


def test_bytes_that_do_not_fit_and_nul_characters_are_named_with_their_rows(tmp_path: Path) -> None:
    table = read(tmp_path, "text,label\nschön,a\nplain,b\n".encode("cp1252"), encoding="utf-8")
    assert [note.rows for note in table.notes if "invalid in the file" in note.message] == [(2,)]
    broken = _file("cn", 20).encode().split(b"\n")
    broken[4] = broken[4][:-5] + b"\xe4\xb8" + broken[4][-4:]
    table = read(tmp_path, b"\n".join(broken))
    assert [",".join(row) for row in table.head(1)] == LANGUAGES["cn"]["rows"][:1]
    assert [note.rows for note in table.notes] == [(5,)]
    assert "\ufffd" in table.column("sentence2")[3]
    table = read(tmp_path, b"text,label\n" + b"a plain line of text,x\n" * 30 + b"with\0 a nul,y\n")
    assert contents(table)[-1] == ("with a nul", "y")
    assert [note.rows for note in table.notes] == [(32,)]


@pytest.mark.parametrize(("codec", "words"), [(codec, words) for codec, lists in _DATA["labels"].items() for words in lists])
def test_a_few_words_among_english_ones_are_enough_or_asked_for(tmp_path: Path, codec: str, words: list[str]) -> None:
    rows = [f"A man walks on road {place}.,She isn’t at home.,{words[1 + place % 2]}" for place in range(40)]
    table = read(tmp_path, "\n".join([f"a,b,{words[0]}", *rows]).encode(codec, "ignore"))
    offered = [option.choice["encoding"] for doubt in table.doubts for option in doubt.options]
    assert table.columns[2] == words[0] or codec in offered
    assert codec not in ("cp1251", "cp932", "gb18030", "cp949") or table.columns[2] == words[0]


@pytest.mark.parametrize(("codec", "words"), [(codec, words) for codec, lists in _DATA["short_words"].items() for words in lists])
def test_a_few_words_of_a_latin_alphabet_do_not_drown_in_english_texts(tmp_path: Path, codec: str, words: list[str]) -> None:
    rows = [f"A man walks on road {place}.;She isn’t at home.;{words[2 + place % 2]}" for place in range(300)]
    data = "\n".join([f"{words[0]};{words[1]};x", *rows]).encode(codec, "ignore")
    table = read(tmp_path, data)
    offered = [read(tmp_path, data, **option.choice).columns[:2] for doubt in table.doubts for option in doubt.options]
    assert table.columns[:2] == tuple(words[:2])
    assert not table.doubts or tuple(words[:2]) in offered
    assert codec.startswith("iso") or not table.doubts


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("He doesn’t know {0}.,It’s m² {0}.,{0}", 60),
        ("I got a €1 extra fee and a 500£ charge,My card number {0} is lost,{0}", 40),
        ("Someone took £1… and I don’t know €,My card number {0} is lost,{0}", 40),
        ("It was 20 £ – not 30 €,My card number {0} is lost,{0}", 40),
        ("für über Bäume,schöne Grüße aus Äpfelstadt {0},{0}", 50),
    ],
)
def test_signs_among_english_or_german_words_are_no_foreign_letters(tmp_path: Path, text: str, rows: int) -> None:
    table = read(tmp_path, "\n".join(["a,b,score", *(text.format(place) for place in range(rows))]).encode("cp1252"))
    assert contents(table)[0] == tuple(text.format(0).split(","))
    assert table.doubts == ()
