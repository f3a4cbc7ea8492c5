"""A second set of tables as people bring them, written by someone who had seen neither how tables are read nor the other layouts."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from layouts import Columns, Layout, Rows

_MANNER = [
    "Open the app and go to",
    "You will find this under",
    "Please have a look at",
    "This is handled in",
    "We explain it step by step in",
]
_ENDING = [
    "If it still does not work, write to us.",
    "It normally takes one or two working days.",
    "There is no charge for this.",
    "Our team can also do it for you over the phone.",
    "You need to be signed in.",
    "The limits depend on your plan.",
    "",
]
_WHY = [
    "Both mention the same people but not the same action.",
    "Nearly the same wording, one detail is missing.",
    "Different topics altogether.",
    "The number differs, everything else agrees.",
    "Same scene, other point of view.",
    "One is more general than the other.",
]
_QUESTION_KINDS = ("Description", "Thing", "Abbreviation", "Person", "Place", "Number")


def _of(build: Callable[[Rows], Columns], keep: Callable[[Rows], Sequence[int]] | None = None) -> Callable[[Rows], Columns]:
    """The columns of some of the rows."""
    return lambda rows: build(rows.take(keep(rows)) if keep else rows)


def _first(count: int) -> Callable[[Rows], Sequence[int]]:
    return lambda rows: range(min(count, len(rows)))


def _alike(rows: Rows) -> list[int]:
    """The rows whose two texts belong together."""
    if rows.score:
        return [at for at, score in enumerate(rows.score) if score >= 3.6]
    return [at for at, label in enumerate(rows.label) if label in ("1", "entailment")]


def _turn(values: Sequence[object], rows: Rows, step: int = 1) -> list[object]:
    return [values[(at * step + at // 7) % len(values)] for at in range(len(rows))]


def _noise(rows: Rows, low: int, high: int, seed: int = 1) -> list[int]:
    """Whole numbers that have nothing to do with the rows."""
    return [low + ((at + seed) * 48271 % 2147483647 * 16807 >> 5) % (high - low + 1) for at in range(len(rows))]


def _number(rows: Rows, start: int = 1, step: int = 1) -> list[int]:
    return [start + at * step for at in range(len(rows))]


def _time(rows: Rows, form: str = "{y}-{m:02d}-{d:02d} {h:02d}:{n:02d}") -> list[str]:
    return [form.format(y=2025, m=1 + at // 45, d=1 + at * 5 % 28, h=8 + at % 10, n=at * 13 % 60) for at in range(len(rows))]


def _on(rows: Rows, low: float, high: float, floor: float = 0.0) -> list[float]:
    """The scores on another scale; floor is the least score of the set."""
    return [low + (high - low) * (score - floor) / (5 - floor) for score in rows.score]


def _whole(rows: Rows, low: float, high: float, floor: float = 0.0) -> list[int]:
    return [round(value) for value in _on(rows, low, high, floor)]


def _comma(values: Sequence[float], digits: int = 1) -> list[str]:
    return [f"{value:.{digits}f}".replace(".", ",") for value in values]


def _single(value: float) -> float:
    """A number as single precision keeps it."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _rater(rows: Rows, low: int, high: int, floor: float, seed: int) -> list[int]:
    """What one of several people marked."""
    shift = [(-1, 0, 0, 0, 1)[at] for at in _noise(rows, 0, 4, seed)]
    return [min(high, max(low, mark + by)) for mark, by in zip(_whole(rows, low, high, floor), shift, strict=True)]


def _two(rows: Rows, no: str, yes: str) -> list[str]:
    """Two words: by the label 0/1 where there is one, else by the score."""
    if rows.score:
        return [yes if score > 2.5 else no for score in rows.score]
    return [yes if label == "1" else no for label in rows.label]


def _clear(rows: Rows) -> list[int]:
    return [at for at, score in enumerate(rows.score) if score <= 1.4 or score >= 3.6]


def _sick_clear(rows: Rows) -> list[int]:
    return [at for at, score in enumerate(rows.score) if score <= 2.6 or score >= 4.4]


def _nli(rows: Rows, contradiction: str, neutral: str, entailment: str) -> list[str]:
    return rows.named({"contradiction": contradiction, "neutral": neutral, "entailment": entailment})


def _reply(rows: Rows) -> list[str]:
    """Answers to the questions of customers."""
    said = zip(_turn(_MANNER, rows, 3), rows.label, _noise(rows, 1, 240), _turn(_ENDING, rows, 5), strict=True)
    return [f'{manner} "{label.replace("_", " ")}" (help page {page}). {ending}'.strip() for manner, label, page, ending in said]


def _kinds(rows: Rows, names: Sequence[str] = _QUESTION_KINDS) -> list[str]:
    """The question types of trec by name: description, thing, abbreviation, person, place, number."""
    return [names[int(label)] for label in rows.label]


def _away(rows: Rows, by: int) -> list[str]:
    """Texts that belong to other rows."""
    return [*rows.b[by:], *rows.b[:by]]


def _spaced(rows: Rows) -> list[str]:
    return [label.replace("_", " ").strip("?").capitalize() for label in rows.label]


def _blank(values: Sequence[object], every: int, by: object = "") -> list[object]:
    return [by if at % every == every - 2 else value for at, value in enumerate(values)]


SCORED = [
    Layout(
        "second form of a survey, 1-7",
        "stsb",
        _of(
            lambda rows: {
                "Timestamp": _time(rows, "{m}/{d}/{y} {h}:{n:02d}:07"),
                "Username": _turn(["rater07@uni.example", "rater11@uni.example", "rater12@uni.example"], rows),
                "Text A": rows.a,
                "Text B": rows.b,
                "How close in meaning are these two texts? (1 = not at all, 7 = the same)": _whole(rows, 1, 7),
                "How sure are you? (1-5)": _noise(rows, 2, 5),
                "Anything to add?": _turn(["", "", "", "A is odd", "", "not a native speaker, sorry", ""], rows),
            }
        ),
        "scored_pairs",
        ("Text A", "Text B"),
        "How close in meaning are these two texts? (1 = not at all, 7 = the same)",
        scale=(1, 7),
    ),
    Layout(
        "second german raters and mean",
        "sick",
        lambda rows: {
            "lfd. Nr.": _number(rows),
            "Satz links": rows.a,
            "Satz rechts": rows.b,
            "Bewerter A": _rater(rows, 0, 10, 1, 3),
            "Bewerter B": _rater(rows, 0, 10, 1, 8),
            "Mittelwert": _comma([(x + y) / 2 for x, y in zip(_rater(rows, 0, 10, 1, 3), _rater(rows, 0, 10, 1, 8), strict=True)]),
            "Bemerkung": _turn(["", "", "geprüft", "", "unklar", ""], rows),
        },
        "scored_pairs",
        ("Satz links", "Satz rechts"),
        "Mittelwert",
        scale=(0, 10),
        write="semicolon cp1252",
    ),
    Layout(
        "second french marks out of 20",
        "stsb",
        lambda rows: {
            "N°": _number(rows, 101),
            "Note (sur 20)": _comma([round(value * 2) / 2 for value in _on(rows, 0, 20)]),
            "Énoncé de départ": rows.a,
            "Reformulation de l'élève": rows.b,
        },
        "scored_pairs",
        ("Énoncé de départ", "Reformulation de l'élève"),
        "Note (sur 20)",
        scale=(0, 20),
        write="tsv utf-16",
    ),
    Layout(
        "second spanish percent between the texts",
        "stsb",
        _of(
            lambda rows: {
                "oración de origen": rows.a,
                "parecido": [f"{value} %" for value in _whole(rows, 0, 100)],
                "oración candidata": rows.b,
                "revisado por": _turn(["Lucía", "Iván", "Begoña"], rows),
            },
            _first(220),
        ),
        "scored_pairs",
        ("oración de origen", "oración candidata"),
        "parecido",
        write="csv utf-8-sig",
    ),
    Layout(
        "second italian marks with gaps",
        "stsb",
        lambda rows: {
            "Voto": _blank(_whole(rows, 1, 10), 23),
            "Data": _time(rows, "{d:02d}/{m:02d}/{y}"),
            "Testo originale": rows.a,
            "Traduzione inversa": rows.b,
            "": [""] * len(rows),
        },
        "scored_pairs",
        ("Testo originale", "Traduzione inversa"),
        "Voto",
        scale=(1, 10),
        write="semicolon",
        above=("sep=;",),
    ),
    Layout(
        "second portuguese differences",
        "stsb",
        lambda rows: {
            "id_par": [f"P-{at:04d}" for at in _number(rows)],
            "trecho_a": rows.a,
            "trecho_b": rows.b,
            "diferença": _whole(rows, 4, 0),
            "turno": _turn(["manhã", "tarde"], rows),
        },
        "scored_pairs",
        ("trecho_a", "trecho_b"),
        "diferença",
        scale=(4, 0),
    ),
    Layout(
        "second dutch json 1-4",
        "stsb",
        _of(
            lambda rows: {
                "uuid": [f"{at * 2654435761 % 2**32:08x}-4c1d" for at in _number(rows)],
                "zin_een": rows.a,
                "zin_twee": rows.b,
                "lengteverschil": [abs(len(a) - len(b)) for a, b in zip(rows.a, rows.b, strict=True)],
                "overeenkomst": _whole(rows, 1, 4),
                "seconden": _noise(rows, 4, 95),
            },
            _first(300),
        ),
        "scored_pairs",
        ("zin_een", "zin_twee"),
        "overeenkomst",
        scale=(1, 4),
        write="json",
    ),
    Layout(
        "second russian with a title",
        "sick",
        lambda rows: {
            "№": _number(rows),
            "Исходный текст": rows.a,
            "Сравниваемый текст": rows.b,
            "Близость": _comma(_on(rows, 0, 1, 1), 2),
            "Эксперт": _turn(["Иванова", "Петров", "Сидоренко"], rows),
        },
        "scored_pairs",
        ("Исходный текст", "Сравниваемый текст"),
        "Близость",
        scale=(0, 1),
        write="semicolon cp1251",
        above=("Экспертная оценка, отдел лингвистики", "Выгрузка от 14.03.2025", ""),
    ),
    Layout(
        "second japanese 0-5",
        "sick",
        lambda rows: {
            "番号": _number(rows),
            "文１": rows.a,
            "文２": rows.b,
            "作業者": _turn(["佐藤", "鈴木"], rows),
            "近さ": _whole(rows, 0, 5, 1),
            "メモ": _turn(["", "", "要確認", "", ""], rows),
        },
        "scored_pairs",
        ("文１", "文２"),
        "近さ",
        scale=(0, 5),
        write="csv shift_jis",
    ),
    Layout(
        "second chinese marks of annotators",
        "stsb-zh",
        lambda rows: {
            "打分": [f"{score:g}" for score in rows.score],
            "标注员": _turn(["小李", "小王", "小陈"], rows),
            "句子甲": rows.a,
            "句子乙": rows.b,
            "用时（秒）": _noise(rows, 3, 60),
            "备注": _turn(["", "", "", "有歧义", ""], rows),
        },
        "scored_pairs",
        ("句子甲", "句子乙"),
        "打分",
        scale=(0, 5),
        write="csv gb18030",
    ),
    Layout(
        "second korean from -2 to +2",
        "sick",
        lambda rows: {
            "응답일": _time(rows, "{y}.{m:02d}.{d:02d}"),
            "문장 가": rows.a,
            "문장 나": rows.b,
            "의미가 비슷합니까? (-2 ~ +2)": [f"{value:+d}" if value else "0" for value in _whole(rows, -2, 2, 1)],
            "연령대": _turn(["20대", "30대", "40대"], rows),
        },
        "scored_pairs",
        ("문장 가", "문장 나"),
        "의미가 비슷합니까? (-2 ~ +2)",
        scale=(-2, 2),
        write="csv euc-kr",
    ),
    Layout(
        "second made by a language model, with reasons",
        "stsb",
        lambda rows: {
            "id": [f"gen_{at:05d}" for at in _number(rows)],
            "s1": rows.a,
            "s2": rows.b,
            "reasoning": _turn(_WHY, rows),
            "rating": [_single(round(value, 2)) for value in _on(rows, 0, 1)],
            "temperature": _turn([0.7, 0.9, 1.0], rows),
            "model": ["big-model-4"] * len(rows),
        },
        "scored_pairs",
        ("s1", "s2"),
        "rating",
        scale=(0, 1),
        write="jsonl",
    ),
    Layout(
        "second hub parquet of a benchmark",
        "stsb",
        lambda rows: {
            "split": ["train"] * len(rows),
            "genre": _turn(["main-captions", "main-news", "main-forums"], rows),
            "dataset": _turn(["MSRvid", "images", "headlines", "deft-forum"], rows),
            "year": _turn(["2012test", "2014", "2015", "2016"], rows),
            "sid": [f"{at:04d}" for at in _noise(rows, 1, 1800)],
            "score": list(rows.score),
            "sentence1": rows.a,
            "sentence2": rows.b,
        },
        "scored_pairs",
        ("sentence1", "sentence2"),
        "score",
        scale=(0, 5),
        write="parquet",
    ),
    Layout(
        "second older measure beside the people",
        "stsb",
        lambda rows: {
            "": _number(rows, 0),
            "text_1": rows.a,
            "text_2": rows.b,
            "n_chars_1": [len(text) for text in rows.a],
            "n_chars_2": [len(text) for text in rows.b],
            "tfidf_baseline": [
                f"{min(1.0, max(0.0, value * 0.6 + by / 250)):.4f}" for value, by in zip(_on(rows, 0, 1), _noise(rows, 0, 100), strict=True)
            ],
            "human": [f"{score:.1f}" for score in rows.score],
        },
        "scored_pairs",
        ("text_1", "text_2"),
        "human",
        scale=(0, 5),
    ),
    Layout(
        "second stars out of five",
        "stsb",
        _of(
            lambda rows: {
                "Pair": [f"#{at}" for at in _number(rows)],
                "Candidate answer": rows.a,
                "Model answer": rows.b,
                "Marks": [f"{value}/5" for value in _whole(rows, 0, 5)],
                "Marked by": _turn(["JK", "MB", "SO"], rows),
            },
            _first(180),
        ),
        "scored_pairs",
        ("Candidate answer", "Model answer"),
        "Marks",
    ),
    Layout(
        "second turkish 0-100",
        "sick",
        lambda rows: {
            "sıra": _number(rows),
            "birinci ifade": rows.a,
            "ikinci ifade": rows.b,
            "yakınlık": _whole(rows, 0, 100, 1),
            "şehir": _turn(["İzmir", "Ankara", "Muğla"], rows),
        },
        "scored_pairs",
        ("birinci ifade", "ikinci ifade"),
        "yakınlık",
        scale=(0, 100),
        write="pipe cp1254",
    ),
    Layout(
        "second lines of a benchmark without a header",
        "stsb",
        lambda rows: {
            "genre": _turn(["main-captions", "main-news"], rows),
            "file": _turn(["MSRvid", "headlines", "images"], rows),
            "year": _turn(["2012test", "2013", "2015"], rows),
            "id": _noise(rows, 1, 1500),
            "score": [f"{score:.3f}" for score in rows.score],
            "one": rows.a,
            "two": rows.b,
        },
        "scored_pairs",
        ("column_6", "column_7"),
        "column_5",
        scale=(0, 5),
        write="tsv",
        header=False,
    ),
]

TWO_LABELS = [
    Layout(
        "second finnish, label last",
        "mrpc",
        lambda rows: {"lause": rows.a, "vertailulause": rows.b, "tulos": _two(rows, "poikkeaa", "vastaa")},
        "labelled_pairs",
        ("lause", "vertailulause"),
        "tulos",
        ("poikkeaa", "vastaa"),
    ),
    Layout(
        "second finnish, label first",
        "stsb",
        _of(
            lambda rows: {
                "luokka": _two(rows, "vieras", "sukua"),
                "tarkastaja": _turn(["Aino", "Eero"], rows),
                "lause A": rows.a,
                "lause B": rows.b,
            },
            _clear,
        ),
        "labelled_pairs",
        ("lause A", "lause B"),
        "luokka",
        ("vieras", "sukua"),
        write="semicolon utf-8-sig",
    ),
    Layout(
        "second hungarian, label last",
        "sick",
        _of(
            lambda rows: {
                "sorszám": _number(rows),
                "első mondat": rows.a,
                "második mondat": rows.b,
                "döntés": ["megegyezik" if score > 3.5 else "eltérő" for score in rows.score],
            },
            _sick_clear,
        ),
        "labelled_pairs",
        ("első mondat", "második mondat"),
        "döntés",
        ("eltérő", "megegyezik"),
        write="semicolon cp1250",
    ),
    Layout(
        "second hungarian, label first",
        "mrpc",
        lambda rows: {"ítélet": _two(rows, "idegen", "rokon"), "szöveg1": rows.a, "szöveg2": rows.b, "perc": _noise(rows, 1, 9)},
        "labelled_pairs",
        ("szöveg1", "szöveg2"),
        "ítélet",
        ("idegen", "rokon"),
        write="tsv",
    ),
    Layout(
        "second swedish from an annotation tool",
        "stsb",
        _of(
            lambda rows: {
                "annotation_id": _number(rows, 5012),
                "annotator": _turn([1, 1, 4], rows),
                "choice": _two(rows, "går isär", "hör ihop"),
                "created_at": _time(rows, "{y}-{m:02d}-{d:02d}T{h:02d}:{n:02d}:11.204518Z"),
                "id": _number(rows, 880),
                "lead_time": [at / 10 for at in _noise(rows, 21, 900)],
                "text1": rows.a,
                "text2": rows.b,
            },
            _clear,
        ),
        "labelled_pairs",
        ("text1", "text2"),
        "choice",
        ("går isär", "hör ihop"),
    ),
    Layout(
        "second swedish, label last",
        "mrpc",
        _of(
            lambda rows: {"artikel": rows.a, "notis": rows.b, "omdöme": _two(rows, "bom", "träff")},
            _first(250),
        ),
        "labelled_pairs",
        ("artikel", "notis"),
        "omdöme",
        ("bom", "träff"),
        write="pipe",
    ),
    Layout(
        "second czech, label last",
        "sick",
        _of(
            lambda rows: {
                "věta 1": rows.a,
                "věta 2": rows.b,
                "řešitel": _turn(["Šárka", "Jiří", "Žaneta"], rows),
                "výsledek": ["shoda" if score > 3.5 else "rozpor" for score in rows.score],
            },
            _sick_clear,
        ),
        "labelled_pairs",
        ("věta 1", "věta 2"),
        "výsledek",
        ("rozpor", "shoda"),
        write="csv cp1250",
        above=("Kontrola dvojic; jaro 2025",),
    ),
    Layout(
        "second czech, label first",
        "stsb",
        _of(
            lambda rows: {"k sobě": _two(rows, "nepatří", "patří"), "levý text": rows.a, "pravý text": rows.b},
            _clear,
        ),
        "labelled_pairs",
        ("levý text", "pravý text"),
        "k sobě",
        ("nepatří", "patří"),
        write="jsonl",
    ),
    Layout(
        "second indonesian, label last",
        "stsb",
        _of(
            lambda rows: {
                "no": _number(rows),
                "kalimat_1": rows.a,
                "kalimat_2": rows.b,
                "kota": _turn(["Bandung", "Medan", "Solo"], rows),
                "hasil": _two(rows, "beda", "cocok"),
            },
            _clear,
        ),
        "labelled_pairs",
        ("kalimat_1", "kalimat_2"),
        "hasil",
        ("beda", "cocok"),
    ),
    Layout(
        "second indonesian, label first",
        "mrpc",
        lambda rows: {"penilaian": _two(rows, "lain", "serupa"), "berita": rows.a, "pembanding": rows.b},
        "labelled_pairs",
        ("berita", "pembanding"),
        "penilaian",
        ("lain", "serupa"),
        write="json",
    ),
    Layout(
        "second greek, label in the middle",
        "stsb",
        _of(
            lambda rows: {
                "πρόταση α": rows.a,
                "κρίση": _two(rows, "άσχετο", "ταιριάζει"),
                "πρόταση β": rows.b,
                "ημερομηνία": _time(rows, "{d}/{m}/{y}"),
            },
            _clear,
        ),
        "labelled_pairs",
        ("πρόταση α", "πρόταση β"),
        "κρίση",
        ("άσχετο", "ταιριάζει"),
        write="semicolon",
    ),
    Layout(
        "second accept and reject of an annotation tool",
        "mrpc",
        lambda rows: {
            "text_a": rows.a,
            "text_b": rows.b,
            "_input_hash": _noise(rows, -2000000000, 2000000000, 3),
            "_task_hash": _noise(rows, -2000000000, 2000000000, 9),
            "_view_id": ["html"] * len(rows),
            "answer": _two(rows, "reject", "accept"),
            "_timestamp": _number(rows, 1741000000, 37),
        },
        "labelled_pairs",
        ("text_a", "text_b"),
        "answer",
        ("reject", "accept"),
        write="jsonl",
    ),
    Layout(
        "second questions asked twice",
        "mrpc",
        lambda rows: {
            "id": _number(rows, 0),
            "qid1": _number(rows, 1, 2),
            "qid2": _number(rows, 2, 2),
            "question1": rows.a,
            "question2": rows.b,
            "is_duplicate": [int(label) for label in rows.label],
        },
        "labelled_pairs",
        ("question1", "question2"),
        "is_duplicate",
        ("0", "1"),
    ),
    Layout(
        "second one stands for different",
        "stsb",
        _of(
            lambda rows: {
                "Old wording": rows.a,
                "New wording": rows.b,
                "Meaning changed": _two(rows, "1", "0"),
                "Version": _turn(["v2", "v3"], rows),
            },
            _clear,
        ),
        "labelled_pairs",
        ("Old wording", "New wording"),
        "Meaning changed",
        ("1", "0"),
    ),
    Layout(
        "second dupe and fresh",
        "stsb",
        _of(
            lambda rows: {
                "ticket": [f"SUP-{at}" for at in _number(rows, 2201, 3)],
                "verdict": _two(rows, "fresh", "dupe"),
                "new_report": rows.a,
                "earlier_report": rows.b,
                "minutes_apart": _noise(rows, 2, 5000),
            },
            _clear,
        ),
        "labelled_pairs",
        ("new_report", "earlier_report"),
        "verdict",
        ("fresh", "dupe"),
        above=("Duplicate review,,,,", "exported 2025-04-02,,,,"),
    ),
]

GRADED = [
    Layout(
        "second english four grades",
        "stsb",
        lambda rows: {
            "Item": _number(rows),
            "Claim in press release": rows.a,
            "Claim in article": rows.b,
            "Overlap": rows.cut("none", "a little", "mostly", "complete"),
            "Coder": _turn(["C1", "C2"], rows),
        },
        "labelled_pairs",
        ("Claim in press release", "Claim in article"),
        "Overlap",
        ("none", "a little", "mostly", "complete"),
        True,
    ),
    Layout(
        "second german grades",
        "sick",
        lambda rows: {
            "Übereinstimmung": rows.cut("gar nicht", "teilweise", "weitgehend", edges=(2.8, 4.2)),
            "Aussage": rows.a,
            "Gegenstück": rows.b,
        },
        "labelled_pairs",
        ("Aussage", "Gegenstück"),
        "Übereinstimmung",
        ("gar nicht", "teilweise", "weitgehend"),
        True,
        write="semicolon cp1252",
    ),
    Layout(
        "second polish grades",
        "stsb",
        lambda rows: {
            "zdanie pierwsze": rows.a,
            "zdanie drugie": rows.b,
            "podobieństwo": rows.cut("żadne", "słabe", "średnie", "mocne"),
            "data": _time(rows, "{d:02d}.{m:02d}.{y}"),
        },
        "labelled_pairs",
        ("zdanie pierwsze", "zdanie drugie"),
        "podobieństwo",
        ("żadne", "słabe", "średnie", "mocne"),
        True,
        write="semicolon",
    ),
    Layout(
        "second chinese grades",
        "stsb-zh",
        lambda rows: {
            "编号": _number(rows, 3001),
            "问法一": rows.a,
            "问法二": rows.b,
            "相关程度": rows.cut("不沾边", "沾点边", "很接近", edges=(1.5, 3.5)),
        },
        "labelled_pairs",
        ("问法一", "问法二"),
        "相关程度",
        ("不沾边", "沾点边", "很接近"),
        True,
        write="tsv",
    ),
]

INFERENCE = [
    Layout(
        "second hub inference by number",
        "snli",
        lambda rows: {"premise": rows.a, "hypothesis": rows.b, "label": [int(label) for label in _nli(rows, "2", "1", "0")]},
        "labelled_pairs",
        ("premise", "hypothesis"),
        "label",
        ("2", "1", "0"),
        True,
        write="parquet",
    ),
    Layout(
        "second claims and evidence",
        "snli",
        lambda rows: {
            "claim_id": _noise(rows, 1000, 230000),
            "evidence": rows.a,
            "claim": rows.b,
            "verdict": _nli(rows, "REFUTES", "NOT ENOUGH INFO", "SUPPORTS"),
            "annotator_confidence": [at / 100 for at in _noise(rows, 60, 100)],
        },
        "labelled_pairs",
        ("evidence", "claim"),
        "verdict",
        ("REFUTES", "NOT ENOUGH INFO", "SUPPORTS"),
        True,
        write="jsonl",
    ),
    Layout(
        "second french inference",
        "snli",
        lambda rows: {
            "étiquette": _nli(rows, "contredit", "indécis", "découle"),
            "énoncé": rows.a,
            "conclusion": rows.b,
        },
        "labelled_pairs",
        ("énoncé", "conclusion"),
        "étiquette",
        ("contredit", "indécis", "découle"),
        True,
        write="csv cp1252",
    ),
    Layout(
        "second russian inference",
        "snli",
        lambda rows: {
            "посылка": rows.a,
            "гипотеза": rows.b,
            "метка": _nli(rows, "противоречие", "нейтрально", "следование"),
            "разметчик": _turn(["А1", "Б2"], rows),
        },
        "labelled_pairs",
        ("посылка", "гипотеза"),
        "метка",
        ("противоречие", "нейтрально", "следование"),
        True,
    ),
    Layout(
        "second spanish inference",
        "snli",
        lambda rows: {
            "fila": _number(rows),
            "texto": rows.a,
            "afirmación": rows.b,
            "relación": _nli(rows, "contradice", "no se sabe", "se deduce"),
        },
        "labelled_pairs",
        ("texto", "afirmación"),
        "relación",
        ("contradice", "no se sabe", "se deduce"),
        True,
        write="semicolon utf-8-sig",
    ),
]

POSITIVE = [
    Layout(
        "second help pages",
        "banking77",
        lambda rows: {
            "faq_id": [f"FAQ-{at:03d}" for at in _number(rows)],
            "question": rows.a,
            "answer": _reply(rows),
            "lang": ["en"] * len(rows),
            "last_updated": _time(rows, "{y}-{m:02d}-{d:02d}"),
            "views": _noise(rows, 3, 9000),
        },
        "positive_pairs",
        ("question", "answer"),
    ),
    Layout(
        "second german questions and answers",
        "banking77",
        _of(
            lambda rows: {
                "Nr": _number(rows),
                "Kundenfrage": rows.a,
                "Unsere Antwort": _reply(rows),
                "Bearbeitet von": _turn(["Müller", "Groß", "Jäger"], rows),
            },
            _first(260),
        ),
        "positive_pairs",
        ("Kundenfrage", "Unsere Antwort"),
        write="semicolon utf-8-sig",
        above=("Antwortsammlung Kundendienst", ""),
    ),
    Layout(
        "second forum threads with votes",
        "banking77",
        lambda rows: {
            "votes": _noise(rows, 0, 48),
            "thread_title": rows.a,
            "accepted_answer": _reply(rows),
            "answer_id": _noise(rows, 100000, 990000, 4),
            "tags": _turn(["cards|fees", "transfers", "cash", "cards"], rows),
        },
        "positive_pairs",
        ("thread_title", "accepted_answer"),
        write="json",
    ),
    Layout(
        "second spanish headlines and summaries",
        "mrpc",
        _of(
            lambda rows: {"titular": rows.a, "entradilla": rows.b, "fecha": _time(rows, "{d:02d}-{m:02d}-{y}")},
            _alike,
        ),
        "positive_pairs",
        ("titular", "entradilla"),
        write="tsv utf-16",
    ),
    Layout(
        "second chinese questions asked otherwise",
        "stsb-zh",
        _of(
            lambda rows: {"标准问": rows.a, "相似问": rows.b, "来源": _turn(["客服日志", "人工改写"], rows)},
            _alike,
        ),
        "positive_pairs",
        ("标准问", "相似问"),
        write="jsonl",
    ),
]

TRIPLETS = [
    Layout(
        "second good and two bad ones",
        "stsb",
        _of(lambda rows: {"q": rows.a, "good": rows.b, "bad_1": _away(rows, 9), "bad_2": _away(rows, 31)}, _alike),
        "triplets",
        ("q", "good", "bad_1", "bad_2"),
        write="jsonl",
    ),
    Layout(
        "second german fits and does not fit",
        "stsb",
        _of(
            lambda rows: {
                "Nr.": _number(rows),
                "Ausgangssatz": rows.a,
                "passt": rows.b,
                "passt nicht": _away(rows, 12),
            },
            _alike,
        ),
        "triplets",
        ("Ausgangssatz", "passt", "passt nicht"),
        write="semicolon",
    ),
    Layout(
        "second spanish near and far",
        "mrpc",
        _of(
            lambda rows: {
                "referencia": rows.a,
                "cercano": rows.b,
                "lejano": _away(rows, 17),
                "revisora": _turn(["Inés", "Paula"], rows),
            },
            _alike,
        ),
        "triplets",
        ("referencia", "cercano", "lejano"),
    ),
    Layout(
        "second chinese triplets",
        "stsb-zh",
        _of(lambda rows: {"原句": rows.a, "同义改写": rows.b, "干扰句": _away(rows, 8)}, _alike),
        "triplets",
        ("原句", "同义改写", "干扰句"),
        write="csv utf-8-sig",
    ),
    Layout(
        "second wrong answer first",
        "banking77",
        lambda rows: {
            "wrong_reply": [*_reply(rows)[57:], *_reply(rows)[:57]],
            "user_says": rows.a,
            "right_reply": _reply(rows),
            "bot_version": _turn(["1.4.0", "1.4.2"], rows),
        },
        "triplets",
        ("user_says", "right_reply", "wrong_reply"),
        write="parquet",
    ),
]

CATEGORIES = [
    Layout(
        "second tickets of a help desk",
        "banking77",
        lambda rows: {
            "Ticket ID": _number(rows, 48211, 4),
            "Created": _time(rows),
            "Channel": _turn(["email", "chat", "phone"], rows, 2),
            "Message": rows.a,
            "Contact reason": _spaced(rows),
            "Status": _turn(["solved", "open", "solved", "pending"], rows),
            "CSAT": _turn(["", 5, 4, "", 2, ""], rows),
        },
        "labelled_texts",
        ("Message",),
        "Contact reason",
    ),
    Layout(
        "second german departments",
        "trec",
        lambda rows: {
            "Frage": rows.a,
            "Zuständig": _kinds(rows, ("Erklärungen", "Dinge", "Kürzel", "Personen", "Orte", "Zahlen")),
        },
        "labelled_texts",
        ("Frage",),
        "Zuständig",
        write="semicolon utf-8-sig",
    ),
    Layout(
        "second portuguese intents of a model",
        "banking77",
        lambda rows: {
            "mensagem": rows.a,
            "intenção": rows.label,
            "confiança": [at / 1000 for at in _noise(rows, 410, 999)],
            "gerado_por": ["assistente-2"] * len(rows),
        },
        "labelled_texts",
        ("mensagem",),
        "intenção",
        write="jsonl",
    ),
    Layout(
        "second hub text and number",
        "banking77",
        lambda rows: {"text": rows.a, "label": [sorted(set(rows.label)).index(label) for label in rows.label]},
        "labelled_texts",
        ("text",),
        "label",
        write="parquet",
    ),
    Layout(
        "second japanese kinds of questions",
        "trec",
        lambda rows: {
            "受付番号": _number(rows, 7001),
            "分類": _kinds(rows, ("説明", "物事", "略語", "人物", "場所", "数量")),
            "質問文": rows.a,
        },
        "labelled_texts",
        ("質問文",),
        "分類",
        write="tsv",
    ),
    Layout(
        "second russian topics",
        "trec",
        lambda rows: {
            "дата": _time(rows, "{d:02d}.{m:02d}.{y}"),
            "вопрос": rows.a,
            "тема": _kinds(rows, ("описание", "предмет", "сокращение", "человек", "место", "число")),
            "оператор": _turn(["Ольга", "Кирилл"], rows),
        },
        "labelled_texts",
        ("вопрос",),
        "тема",
        write="semicolon cp1251",
    ),
    Layout(
        "second category and text without a header",
        "banking77",
        lambda rows: {"category": rows.label, "text": rows.a},
        "labelled_texts",
        ("column_2",),
        "column_1",
        write="tsv",
        header=False,
    ),
]

SENTENCES = [
    Layout(
        "second open answers of a survey",
        "banking77",
        lambda rows: {
            "Response ID": [f"R_{at * 2654435761 % 2**40:010x}" for at in _number(rows)],
            "Submitted": _time(rows, "{d:02d}/{m:02d}/{y} {h:02d}:{n:02d}"),
            "What would you like to ask us?": rows.a,
        },
        "sentences",
        ("What would you like to ask us?",),
    ),
    Layout(
        "second french sentences",
        "stsb",
        lambda rows: {"n°": _number(rows), "phrase": rows.a},
        "sentences",
        ("phrase",),
        write="tsv",
    ),
    Layout(
        "second plain lines",
        "trec",
        lambda rows: {"line": rows.a},
        "sentences",
        ("column_1",),
        header=False,
    ),
    Layout(
        "second chinese sentences of the web",
        "stsb-zh",
        lambda rows: {
            "url": [f"https://news.example.cn/{at}.html" for at in _noise(rows, 10000, 99999)],
            "正文": rows.a,
            "语言": ["zh"] * len(rows),
        },
        "sentences",
        ("正文",),
        write="jsonl",
    ),
]

LAYOUTS = [*SCORED, *TWO_LABELS, *GRADED, *INFERENCE, *POSITIVE, *TRIPLETS, *CATEGORIES, *SENTENCES]
