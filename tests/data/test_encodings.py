"""Files of before UTF-8 are read in the encoding they were written in; where two are as likely, the owner is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError

ROWS = {
    "ko": ["한 남자가 기타를 치고 있다.,남자가 악기를 연주한다.,4.2", "고양이가 소파에서 잠을 자고 있다.,개가 공원에서 뛰어다닌다.,0.8"],
    "ja": ["男の人がギターを弾いている。,男性が楽器を演奏しています。,4.2", "猫がソファーで寝ている。,犬が公園を走っている。,0.8"],
    "ru": ["Мужчина играет на гитаре.,Человек играет на музыкальном инструменте.,4.2", "Кошка спит на диване.,Собака бегает в парке.,0.8"],
    "uk": ["Чоловік грає на гітарі.,Людина грає на музичному інструменті.,4.2", "Кішка спить на дивані.,Собака бігає в парку.,0.8"],
    "tw": ["一個男人在彈吉他。,男子正在演奏樂器。,4.2", "貓在沙發上睡覺。,狗在公園裡跑步。,0.8"],
    "cn": ["一个男人在弹吉他。,男子正在演奏乐器。,4.2", "猫在沙发上睡觉。,狗在公园里跑步。,0.8"],
    "pl": ["Mężczyzna gra na gitarze.,Człowiek gra na instrumencie.,4.2", "Kot śpi na kanapie.,Pies biegnie przez łąkę.,0.8"],
    "cs": ["Muž hraje na kytaru.,Člověk hraje na hudební nástroj.,4.2", "Kočka spí na gauči.,Pes běží přes louku.,0.8"],
    "hu": ["Egy férfi gitározik.,Az ember hangszeren játszik.,4.2", "Le szeretném mondani a rendelést.,Mikor érkezik meg a küldemény?,1"],
    "el": ["Ένας άντρας παίζει κιθάρα.,Ο άνθρωπος παίζει μουσικό όργανο.,4.2", "Η γάτα κοιμάται.,Ο σκύλος τρέχει στο πάρκο.,0.8"],
    "tr": ["Bir adam gitar çalıyor.,Adam müzik aleti çalıyor.,4.2", "Bugün hava çok soğuk.,Dışarısı buz gibi.,4.6"],
    "he": ["גבר מנגן בגיטרה.,אדם מנגן בכלי נגינה.,4.2", "החתול ישן על הספה.,הכלב רץ בפארק.,0.8"],
    "ar": ["رجل يعزف على الغيتار.,شخص يعزف على آلة موسيقية.,4.2", "القطة تنام على الأريكة.,الكلب يركض في الحديقة.,0.8"],
    "th": ["ผู้ชายกำลังเล่นกีตาร์,ชายคนหนึ่งเล่นดนตรี,4.2", "แมวนอนหลับบนโซฟา,สุนัขวิ่งในสวน,0.8"],
    "de": ["Die Katze schläft.,Der Hund läuft über die Straße.,0.8", "Ich möchte die Bestellung ändern.,Wann kommt Frau Müllers Paket?,1"],
    "fr": ["L’homme joue de la guitare.,Le chien court à travers la forêt.,0.8", "Il a gelé hier.,Où est mon colis reçu ?,1.0"],
    "es": ["El gato duerme en el sofá.,El perro corre por el jardín.,0.8", "¿Cómo puedo cancelar el pedido?,¿Cuándo llegará el envío?,1"],
}  # fmt: skip
CODECS = {
    "ko": ["cp949", "euc_kr"], "ja": ["cp932", "euc_jp", "iso2022_jp"], "ru": ["cp1251", "koi8_r"], "uk": ["cp1251"], "tw": ["big5"],
    "cn": ["gb18030", "gb2312"], "pl": ["cp1250", "iso8859_2"], "cs": ["cp1250", "iso8859_2"], "hu": ["cp1250"],
    "el": ["cp1253", "iso8859_7"],
    "tr": ["cp1254"], "he": ["cp1255"], "ar": ["cp1256"], "th": ["cp874"], "de": ["cp1252"], "fr": ["cp1252"], "es": ["cp1252"],
}  # fmt: skip


@pytest.mark.parametrize("copies", [1, 60])
@pytest.mark.parametrize(("language", "codec"), [(language, codec) for language, codecs in CODECS.items() for codec in codecs])
def test_a_file_reads_as_it_was_written(tmp_path: Path, language: str, codec: str, copies: int) -> None:
    text = "sentence1,sentence2,score\n" + "\n".join(ROWS[language] * copies) + "\n"
    path = tmp_path / "pairs.csv"
    path.write_bytes(text.encode(codec))
    table = read_table(path)
    assert [",".join(row) for row in table.head(2)] == ROWS[language]
    assert len(table) == 2 * copies
    assert any("not UTF-8" in note.message for note in table.notes)
    for doubt in table.doubts:
        assert doubt.name == "encoding"
        assert doubt.options[0].choice["encoding"] in (codec, codec.replace("euc_kr", "cp949"))


@pytest.mark.parametrize("language", ["de", "fr", "es", "ru", "ko", "ja", "tw", "cn"])
def test_common_files_are_read_without_a_question(tmp_path: Path, language: str) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(("sentence1,sentence2,score\n" + "\n".join(ROWS[language] * 20) + "\n").encode(CODECS[language][0]))
    assert read_table(path).doubts == ()


def test_a_doubtful_encoding_is_asked_with_lines_under_each_and_the_answer_settles_it(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(("sentence1,sentence2,score\n" + ROWS["cs"][0] + "\n" + ROWS["cs"][1] + "\n").encode("iso8859_2"))
    (doubt,) = read_table(path).doubts
    assert {option.flag for option in doubt.options} == {"--encoding iso8859_2", "--encoding cp1250"}
    assert doubt.rows[0].row == 2
    assert doubt.rows[0].texts != doubt.rows[1].texts
    for option in doubt.options:
        chosen = read_table(path, **option.choice)
        assert chosen.doubts == ()
    assert read_table(path, encoding="iso8859_2").head(1) == [ROWS["cs"][0].split(",")]


@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".json", ".tsv"])
def test_every_kind_of_text_file_is_detected(tmp_path: Path, suffix: str) -> None:
    text = {
        ".txt": "Кошка спит на диване.\nСобака бегает в парке.\n",
        ".jsonl": '{"text": "Кошка спит на диване."}\n{"text": "Собака бегает в парке."}\n',
        ".json": '[{"text": "Кошка спит на диване."}, {"text": "Собака бегает в парке."}]',
        ".tsv": "text\tlabel\nКошка спит на диване.\ta\nСобака бегает в парке.\tb\n",
    }[suffix]
    path = tmp_path / f"cats{suffix}"
    path.write_bytes(text.encode("cp1251"))
    assert read_table(path).column("text") == ["Кошка спит на диване.", "Собака бегает в парке."]


def test_an_unknown_encoding_is_refused_with_examples(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na b,c\n", encoding="utf-8")
    for name in ("klingon", "base64", "cp99999"):
        with pytest.raises(StudioError, match="encoding"):
            read_table(path, encoding=name)


def test_bytes_that_do_not_fit_the_chosen_encoding_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nschön,a\nplain,b\n".encode("cp1252"))
    table = read_table(path, encoding="utf-8")
    assert [note.rows for note in table.notes if "do not fit" in note.message] == [(2,)]


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        ("cp1251", ("Метка", "верно", "неверно")),
        ("cp1251", ("Итог", "мимо", "годится")),
        ("koi8_r", ("Вопрос", "да", "нет")),
        ("cp932", ("文1", "違う", "同じ")),
        ("cp932", ("判定", "○", "×")),
        ("gb18030", ("句子1", "相似", "不同")),
        ("big5hkscs", ("句子1", "相似", "不同")),
        ("cp949", ("문장1", "같음", "다름")),
        ("cp1250", ("zdanie", "podobieństwo", "różne")),
        ("cp1255", ("שאלה", "דומה", "תשובה")),
    ],
)
def test_a_few_words_among_english_ones_are_enough_or_asked_for(tmp_path: Path, codec: str, words: tuple[str, ...]) -> None:
    path = tmp_path / "pairs.csv"
    rows = [f"A man walks on road {place}.,She isn’t at home.,{words[1 + place % 2]}" for place in range(40)]
    path.write_bytes("\n".join([f"a,b,{words[0]}", *rows]).encode(codec, "ignore"))
    table = read_table(path)
    offered = [option.choice["encoding"] for doubt in table.doubts for option in doubt.options]
    assert table.columns[2] == words[0] or codec in offered
    assert codec not in ("cp1251", "cp932", "gb18030", "cp949") or table.columns[2] == words[0]


def test_curly_apostrophes_alone_are_no_ideographs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = "".join(f"He doesn’t know {place}.,It’s m² {place}.,{place % 6}\n" for place in range(60))
    path.write_bytes(f"a,b,score\n{rows}".encode("cp1252"))
    table = read_table(path)
    assert table.column("a")[0] == "He doesn’t know 0."
    assert table.doubts == ()


SHORT_WORDS = [
    ("cp1250", ["sorszám", "első mondat", "döntés", "eltérő"]),
    ("cp1250", ["řešitel", "věta", "výsledek", "různé"]),
    ("iso8859_2", ["podobnosť", "rôzne", "rovnaké", "číslo"]),
    ("cp1250", ["propoziţie", "asemănător", "diferenţă", "întrebare"]),
    ("cp1254", ["sıra", "yakınlık", "şehir", "değişik"]),
    ("iso8859_9", ["sıra", "cümle", "ilişkisiz", "özdeş"]),
    ("cp1257", ["līdzība", "atšķirīgs", "vienāds", "vērtējums"]),
    ("cp1257", ["küsimus", "väide", "sõna", "võrdlus"]),
    ("cp1252", ["påstående", "jämförelse", "bedömning", "skiljer sig åt"]),
    ("cp1252", ["sætning", "spørgsmål", "ændret", "både"]),
    ("cp1252", ["avaliação", "comparação", "não", "posição"]),
    ("cp1252", ["père", "évaluation", "très", "même"]),
    ("cp1252", ["perché", "affinità", "più", "verità"]),
]


@pytest.mark.parametrize(("codec", "words"), SHORT_WORDS)
def test_a_few_words_of_a_latin_alphabet_do_not_drown_in_english_texts(tmp_path: Path, codec: str, words: list[str]) -> None:
    path = tmp_path / "pairs.csv"
    rows = [f"A man walks on road {place}.;She isn’t at home.;{words[2 + place % 2]}" for place in range(300)]
    path.write_bytes("\n".join([f"{words[0]};{words[1]};x", *rows]).encode(codec, "ignore"))
    table = read_table(path)
    offered = [read_table(path, **option.choice).columns[:2] for doubt in table.doubts for option in doubt.options]
    assert table.columns[:2] == tuple(words[:2])
    assert not table.doubts or tuple(words[:2]) in offered
    assert codec.startswith("iso") or not table.doubts


def test_words_far_below_the_head_of_a_file_count_too(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    head = [f"He’s at café number {place}.;She isn’t there.;1" for place in range(4000)]
    tail = [f"A man walks on road {place}.;nothing;{word}" for place in range(20) for word in ("eltérő", "különböző", "megegyező", "első")]
    path.write_bytes("\n".join(["a;b;c", *head, *tail]).encode("cp1250"))
    assert read_table(path).column("c")[-1] == "első"


def test_the_lines_beside_a_doubtful_encoding_are_those_that_differ(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = ["Das Café.,1", "Zu dir, René.,2", "Vprašanje je.,3", "To je različno.,4"]
    path.write_bytes("\n".join(["text,label", *rows]).encode("iso8859_2"))
    (doubt,) = read_table(path).doubts
    assert {one.row for one in doubt.rows} == {4}
    assert len({one.texts for one in doubt.rows if one.row == 4}) > 1


@pytest.mark.parametrize(
    "mark", ["I got a €1 extra fee and a 500£ charge", "Someone took £1… and I don’t know €", "It was 20 £ – not 30 €"]
)
def test_money_beside_figures_is_no_letter_of_a_code_page_of_dos(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "money.csv"
    rows = [f"{mark} in my {day} statement;fees" if day % 2 else f"My card number {day} is lost;cards" for day in range(40)]
    path.write_bytes("\n".join(["Text;Topic", *rows]).encode("cp1252"))
    table = read_table(path)
    assert mark in table.column("Text")[1] and not table.doubts
