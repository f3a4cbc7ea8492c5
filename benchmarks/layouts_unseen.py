"""More tables as people make them, written by someone who had not seen how tables are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layouts import Columns, Layout, Rows

_NOTES = ["", "", "second look needed", "", "annotators disagreed here, kept the majority", "", "ok", ""]
_REASONS = [
    "Both sentences describe the same event with other words.",
    "The subject is the same, the action is not.",
    "The second text leaves out the place.",
    "One mentions a number that the other does not have.",
    "They share a topic but make different claims.",
]


def _cycle(values: Sequence[object], rows: Rows) -> list[object]:
    return [values[at % len(values)] for at in range(len(rows))]


def _odd(rows: Rows, low: int, high: int) -> list[int]:
    """Numbers that have nothing to do with the rows."""
    return [low + (at * 7919 + at * at * 31) % (high - low + 1) for at in range(len(rows))]


def _stamps(rows: Rows) -> list[str]:
    return [f"2024-{1 + at // 40:02d}-{1 + at % 28:02d} {8 + at % 11:02d}:{at * 17 % 60:02d}:{at * 29 % 60:02d}" for at in range(len(rows))]


def _days(rows: Rows) -> list[str]:
    return [f"{1 + at % 28:02d}.{1 + at // 40:02d}.2024" for at in range(len(rows))]


def _hex(rows: Rows) -> list[str]:
    return [f"3{at * 2654435761 % 2**40:010X}K" for at in range(len(rows))]


def _plain(score: float) -> str:
    return f"{score:g}"


def _comma(score: float) -> str:
    return f"{score:.2f}".replace(".", ",")


def _whole(low: int, high: int) -> Callable[[float], str]:
    """Scores 0–5 as whole numbers from low (least alike) to high; low may be the greater."""
    return lambda score: str(round(low + (high - low) * score / 5))


def _minus(score: float) -> str:
    return f"{score / 2.5 - 1:.2f}".replace("-", "−")


def _noisy(rows: Rows, by: int) -> list[int]:
    """One of several raters: the score, now and then a point off."""
    return [min(5, max(0, round(score) + (at * by % 5 == 0) - (at * by % 7 == 0))) for at, score in enumerate(rows.score)]


def _questions(rows: Rows, tenths: int, stride: int = 17) -> tuple[list[str], list[str], list[bool]]:
    """Pairs of customers' questions, and whether they ask the same; of ten pairs so many do."""
    second, same = [], []
    for at, label in enumerate(rows.label):
        wanted = at * 7 % 10 < tenths
        places = [(at + step * stride) % len(rows) for step in range(1, len(rows))]
        second.append(next(rows.a[place] for place in places if (rows.label[place] == label) is wanted))
        same.append(wanted)
    return rows.a, second, same


def _triples(rows: Rows) -> tuple[list[str], list[str], list[str]]:
    """A customer's question, one that asks the same, and one that does not."""
    return rows.a, _questions(rows, 10)[1], _questions(rows, 0)[1]


def _alike(rows: Rows) -> Rows:
    """The rows whose two texts mean the same, or nearly."""
    return rows.take([at for at, score in enumerate(rows.score) if score >= 3.6])


def _others(rows: Rows, step: int) -> list[str]:
    return [rows.b[(at + step) % len(rows)] for at in range(len(rows))]


def _within(encoding: str, columns: Callable[[Rows], Columns]) -> Callable[[Rows], Columns]:
    """The rows whose texts can be written in an old encoding."""

    def writable(rows: Rows) -> Columns:
        places = [at for at in range(len(rows)) if (text := rows.a[at] + rows.b[at]).encode(encoding, "ignore").decode(encoding) == text]
        return columns(rows.take(places))

    return writable


def _duplicates(first: str, second: str, target: str, no: str, yes: str, tenths: int) -> Callable[[Rows], Columns]:
    def columns(rows: Rows) -> Columns:
        a, b, same = _questions(rows, tenths)
        return {first: a, second: b, target: [yes if is_same else no for is_same in same]}

    return columns


def _binary(
    name: str, columns: Callable[[Rows], Columns], texts: tuple[str, str], target: str, labels: tuple[str, ...], **more: str
) -> Layout:
    return Layout(name, more.pop("source", "stsb"), columns, "labelled_pairs", texts, target, labels, True, **more)  # type: ignore[arg-type]


def _scored(
    name: str, columns: Callable[[Rows], Columns], texts: tuple[str, str], target: str, low: float, high: float, **more: str
) -> Layout:
    return Layout(name, more.pop("source", "stsb"), columns, "scored_pairs", texts, target, scale=(low, high), **more)  # type: ignore[arg-type]


def _turk(rows: Rows) -> Columns:
    return {
        "HITId": _hex(rows),
        "AssignmentId": _hex(rows)[::-1],
        "WorkerId": _cycle(["A1VX7B3K", "A2LLQ90Z", "AK3PT11M"], rows),
        "WorkTimeInSeconds": _odd(rows, 6, 240),
        "Input.text_a": rows.a,
        "Input.text_b": rows.b,
        "Answer.similarity": rows.scores(_whole(1, 5)),
    }


def _form(rows: Rows) -> Columns:
    return {
        "Timestamp": _stamps(rows),
        "Email Address": _cycle(["ann@example.org", "li@example.org", "joao@example.org"], rows),
        "First statement": rows.a,
        "Second statement": rows.b,
        "How close in meaning are they? (1 = not at all, 5 = the same)": rows.scores(_whole(1, 5)),
        "Any comments?": _cycle(_NOTES, rows),
    }


def _studio(rows: Rows) -> Columns:
    return {
        "annotation_id": [1200 + at for at in range(len(rows))],
        "annotator": _cycle([3, 5, 8], rows),
        "created_at": _stamps(rows),
        "id": [40_000 + at for at in range(len(rows))],
        "lead_time": [3 + at * 37 % 911 / 10 for at in range(len(rows))],
        "rating": rows.scores(_whole(1, 5)),
        "text1": rows.a,
        "text2": rows.b,
        "updated_at": _stamps(rows),
    }


def _pipeline(rows: Rows) -> Columns:
    return {
        "custom_id": [f"req-{at:05d}" for at in range(len(rows))],
        "passage_a": rows.a,
        "passage_b": rows.b,
        "explanation": _cycle(_REASONS, rows),
        "verdict": [round(score * 20) for score in rows.score],
        "confidence": [round(0.5 + at * 13 % 50 / 100, 2) for at in range(len(rows))],
        "tokens": _odd(rows, 60, 400),
        "model": _cycle(["judge-large"], rows),
    }


def _benchmark(rows: Rows) -> Columns:
    return {
        "genre": _cycle(["main-captions", "main-news", "main-forums"], rows),
        "file": _cycle(["MSRvid", "headlines", "answers-forums"], rows),
        "year": _cycle(["2012test", "2014", "2015"], rows),
        "number": [f"{at * 3 % 1500:04d}" for at in range(len(rows))],
        "score": rows.scores(lambda score: f"{score:.3f}"),
        "a": rows.a,
        "b": rows.b,
    }


def _raters(rows: Rows) -> Columns:
    raters = [_noisy(rows, by) for by in (3, 11, 19)]
    mean = [f"{sum(values) / 3:.2f}" for values in zip(*raters, strict=True)]
    return {
        "item": _odd(rows, 1, 9999),
        "s_left": rows.a,
        "s_right": rows.b,
        "R1": raters[0],
        "R2": raters[1],
        "R3": raters[2],
        "avg": mean,
    }


def _prodigy(rows: Rows) -> Columns:
    return {
        "text_1": rows.a,
        "text_2": rows.b,
        "_input_hash": [at * 48271 % 2_147_483_647 - 1_000_000_000 for at in range(len(rows))],
        "_task_hash": [at * 69621 % 2_147_483_647 - 1_000_000_000 for at in range(len(rows))],
        "_view_id": _cycle(["html"], rows),
        "answer": rows.cut("reject", "accept", edges=[2.5]),
        "_timestamp": [1_700_000_000 + at * 37 for at in range(len(rows))],
        "_annotator_id": _cycle(["pairs-anna", "pairs-tom"], rows),
    }


def _quora(rows: Rows) -> Columns:
    a, b, same = _questions(rows, 4)
    number = range(len(rows))
    return {
        "id": [str(at) for at in number],
        "qid1": [str(2 * at + 1) for at in number],
        "qid2": [str(2 * at + 2) for at in number],
        "question1": a,
        "question2": b,
        "is_duplicate": [str(int(is_same)) for is_same in same],
    }


def _paws(rows: Rows) -> Columns:
    noisy = [str(1 - int(label)) if at % 5 == 0 else label for at, label in enumerate(rows.label)]
    return {"id": range(1, len(rows) + 1), "sentence1": rows.a, "sentence2": rows.b, "noisy_label": noisy, "label": rows.label}


def _massive(rows: Rows) -> Columns:
    return {
        "id": [str(at) for at in range(len(rows))],
        "locale": _cycle(["en-US"], rows),
        "partition": _cycle(["train", "train", "dev"], rows),
        "scenario": [label.split("_")[0] for label in rows.label],
        "intent": rows.label,
        "utt": rows.a,
        "worker_id": _cycle(["22", "8", "17", "4"], rows),
    }


def _triplets(*names: str, order: Sequence[int] = (0, 1, 2)) -> Callable[[Rows], Columns]:
    """Questions, with names in the order of the file; ``order`` says which of the three each is."""
    return lambda rows: {name: _triples(rows)[place] for name, place in zip(names, order, strict=True)}


_SCORED = [
    _scored(
        "german excel, decimal comma",
        _within(
            "cp1252", lambda rows: {"Nr.": range(1, len(rows) + 1), "Satz A": rows.a, "Satz B": rows.b, "Ähnlichkeit": rows.scores(_comma)}
        ),
        ("Satz A", "Satz B"),
        "Ähnlichkeit",
        0,
        5,
        write="semicolon cp1252",
    ),
    _scored(
        "french mean and deviation",
        lambda rows: {
            "phrase_1": rows.a,
            "phrase_2": rows.b,
            "ecart_type": [f"{at * 13 % 17 / 10:.1f}" for at in range(len(rows))],
            "moyenne": rows.scores(_plain),
        },
        ("phrase_1", "phrase_2"),
        "moyenne",
        0,
        5,
    ),
    _scored(
        "spanish percent",
        lambda rows: {"frase": rows.a, "otra frase": rows.b, "parecido": rows.scores(lambda score: f"{score * 20:.0f} %")},
        ("frase", "otra frase"),
        "parecido",
        0,
        100,
    ),
    _scored(
        "italian seven points, first",
        lambda rows: {"punteggio (1-7)": rows.scores(_whole(1, 7)), "testo A": rows.a, "testo B": rows.b},
        ("testo A", "testo B"),
        "punteggio (1-7)",
        1,
        7,
    ),
    _scored(
        "portuguese in the middle",
        lambda rows: {
            "texto_1": rows.a,
            "semelhança": rows.scores(_whole(0, 10)),
            "texto_2": rows.b,
            "tradutor": _cycle(["Rui", "Inês"], rows),
        },
        ("texto_1", "texto_2"),
        "semelhança",
        0,
        10,
    ),
    _scored(
        "dutch with a typographic minus",
        lambda rows: {"zin1": rows.a, "zin2": rows.b, "gelijkenis": rows.scores(_minus)},
        ("zin1", "zin2"),
        "gelijkenis",
        -1,
        1,
    ),
    _scored(
        "polish distance",
        lambda rows: {"zdanie1": rows.a, "zdanie2": rows.b, "odległość": rows.scores(lambda score: f"{1 - score / 5:.3f}")},
        ("zdanie1", "zdanie2"),
        "odległość",
        1,
        0,
    ),
    _scored(
        "turkish, one is identical",
        lambda rows: {"cümle_1": rows.a, "cümle_2": rows.b, "derece": rows.scores(_whole(5, 1))},
        ("cümle_1", "cümle_2"),
        "derece",
        5,
        1,
    ),
    _scored(
        "russian cp1251",
        _within(
            "cp1251",
            lambda rows: {
                "Текст 1": rows.a,
                "Текст 2": rows.b,
                "Оценка": rows.scores(_comma),
                "Комментарий": _cycle(["", "проверить", ""], rows),
            },
        ),
        ("Текст 1", "Текст 2"),
        "Оценка",
        0,
        5,
        write="semicolon cp1251",
    ),
    _scored(
        "chinese gb18030",
        lambda rows: {"序号": range(1, len(rows) + 1), "句子一": rows.a, "句子二": rows.b, "打分": rows.scores(_whole(0, 5))},
        ("句子一", "句子二"),
        "打分",
        0,
        5,
        source="stsb-zh",
        write="csv gb18030",
    ),
    _scored(
        "japanese shift-jis with raters",
        _within(
            "cp932",
            lambda rows: {"評価者": _cycle(["田中", "佐藤", "鈴木"], rows), "文1": rows.a, "文2": rows.b, "点数": rows.scores(_plain)},
        ),
        ("文1", "文2"),
        "点数",
        0,
        5,
        write="csv cp932",
    ),
    _scored(
        "korean euc-kr with worker numbers",
        _within(
            "euc-kr", lambda rows: {"문장1": rows.a, "문장2": rows.b, "작업자 번호": _odd(rows, 100, 140), "유사도": rows.scores(_plain)}
        ),
        ("문장1", "문장2"),
        "유사도",
        0,
        5,
        write="csv euc-kr",
    ),
    _scored(
        "arabic headers",
        lambda rows: {
            "الجملة الأولى": rows.a,
            "الجملة الثانية": rows.b,
            "الدرجة": rows.scores(_plain),
            "المصدر": _cycle(["أخبار", "صور"], rows),
        },
        ("الجملة الأولى", "الجملة الثانية"),
        "الدرجة",
        0,
        5,
    ),
    _scored("mechanical turk", _turk, ("Input.text_a", "Input.text_b"), "Answer.similarity", 1, 5),
    _scored(
        "google form",
        _form,
        ("First statement", "Second statement"),
        "How close in meaning are they? (1 = not at all, 5 = the same)",
        1,
        5,
    ),
    _scored("label studio", _studio, ("text1", "text2"), "rating", 1, 5),
    _scored(
        "sql dump",
        lambda rows: {
            "pair_id": _odd(rows, 10_000, 99_999),
            "txt_l": rows.a,
            "txt_r": rows.b,
            "val": rows.scores(_plain),
            "created_at": _stamps(rows),
            "is_active": _cycle([1, 1, 1, 0], rows),
        },
        ("txt_l", "txt_r"),
        "val",
        0,
        5,
        write="tsv",
    ),
    _scored("language model as judge", _pipeline, ("passage_a", "passage_b"), "verdict", 0, 100, write="jsonl"),
    _scored(
        "hub stsb parquet",
        lambda rows: {
            "sentence1": rows.a,
            "sentence2": rows.b,
            "label": [score / 5 for score in rows.score],
            "idx": list(range(len(rows))),
        },
        ("sentence1", "sentence2"),
        "label",
        0,
        1,
        write="parquet",
    ),
    Layout(
        "sts benchmark as it was published",
        "stsb",
        _benchmark,
        "scored_pairs",
        ("column_6", "column_7"),
        "column_5",
        scale=(0, 5),
        write="tsv",
        header=False,
    ),
    _scored("three raters and their mean", _raters, ("s_left", "s_right"), "avg", 0, 5),
    _scored(
        "sick as it was published",
        lambda rows: {
            "pair_ID": range(1, len(rows) + 1),
            "sentence_A": rows.a,
            "sentence_B": rows.b,
            "relatedness_score": rows.scores(_plain),
            "entailment_judgment": [label.upper() for label in rows.label],
        },
        ("sentence_A", "sentence_B"),
        "relatedness_score",
        1,
        5,
        source="sick",
        write="tsv",
    ),
    _scored(
        "spanish marks out of ten",
        lambda rows: {"nota": rows.scores(lambda score: f"{score * 2:.0f}/10"), "alumno": rows.a, "solución": rows.b},
        ("alumno", "solución"),
        "nota",
        0,
        1,  # "8/10" is eight tenths
    ),
    _scored(
        "cosines in float32",
        lambda rows: {"utt_a": rows.a, "utt_b": rows.b, "cos": [f"{score / 5 * 1.00000012:.10f}" for score in rows.score]},
        ("utt_a", "utt_b"),
        "cos",
        0,
        1,
    ),
    _scored(
        "percent first, lengths behind",
        lambda rows: {
            "pct": rows.scores(_whole(0, 100)),
            "left": rows.a,
            "right": rows.b,
            "n_left": [len(text) for text in rows.a],
            "n_right": [len(text) for text in rows.b],
        },
        ("left", "right"),
        "pct",
        0,
        100,
    ),
    _scored(
        "dissimilarity to a hundred",
        lambda rows: {
            "stimulus_1": rows.a,
            "stimulus_2": rows.b,
            "dissimilarity": rows.scores(_whole(100, 0)),
            "rt_ms": _odd(rows, 400, 6000),
        },
        ("stimulus_1", "stimulus_2"),
        "dissimilarity",
        100,
        0,
    ),
    Layout(
        "german export with a title",
        "stsb",
        lambda rows: {"Text links": rows.a, "Text rechts": rows.b, "Bewertung": rows.scores(_comma), "geprüft am": _days(rows)},
        "scored_pairs",
        ("Text links", "Text rechts"),
        "Bewertung",
        scale=(0, 5),
        write="semicolon",
        above=("Auswertung Textpaare;;;", "Stand: 12.03.2024;;;", ";;;"),
    ),
    _scored(
        "bars between the cells",
        lambda rows: {"key": _hex(rows), "src": rows.a, "tgt": rows.b, "grade": rows.scores(_plain)},
        ("src", "tgt"),
        "grade",
        0,
        5,
        write="pipe",
    ),
    Layout(
        "number first and no header",
        "stsb",
        lambda rows: {"1": rows.scores(_plain), "2": rows.a, "3": rows.b},
        "scored_pairs",
        ("column_2", "column_3"),
        "column_1",
        scale=(0, 5),
        header=False,
    ),
    _scored(
        "german school marks",
        lambda rows: {
            "Musterlösung": rows.a,
            "Antwort": rows.b,
            "Note": rows.scores(_whole(6, 1)),
            "Klasse": _cycle(["7a", "7b", "8c"], rows),
        },
        ("Musterlösung", "Antwort"),
        "Note",
        6,
        1,
    ),
    _scored(
        "utf-16 from excel, publication years",
        lambda rows: {"Title": rows.a, "Year": _odd(rows, 1987, 2023), "Candidate title": rows.b, "Closeness": rows.scores(_plain)},
        ("Title", "Candidate title"),
        "Closeness",
        0,
        5,
        write="tsv utf-16",
    ),
]

_BINARY = [
    _binary(
        "genau, gar nicht",
        lambda rows: {"Aussage": rows.a, "Gegenstück": rows.b, "trifft zu": rows.cut("gar nicht", "genau", edges=[1.5])},
        ("Aussage", "Gegenstück"),
        "trifft zu",
        ("gar nicht", "genau"),
        write="semicolon",
    ),
    _binary(
        "passend, first and rare",
        lambda rows: {"Urteil": rows.cut("unpassend", "passend", edges=[4.1]), "Anfrage": rows.a, "Vorschlag": rows.b},
        ("Anfrage", "Vorschlag"),
        "Urteil",
        ("unpassend", "passend"),
    ),
    _binary(
        "hit, miss",
        lambda rows: {"probe": rows.clear().a, "candidate": rows.clear().b, "outcome": rows.clear().cut("miss", "hit")},
        ("probe", "candidate"),
        "outcome",
        ("miss", "hit"),
    ),
    _binary(
        "keep, reject, mostly kept",
        lambda rows: {
            "src": rows.a,
            "paraphrase": rows.b,
            "decision": rows.cut("reject", "keep", edges=[1.2]),
            "comment": _cycle(_NOTES, rows),
        },
        ("src", "paraphrase"),
        "decision",
        ("reject", "keep"),
    ),
    _binary("prodigy", _prodigy, ("text_1", "text_2"), "answer", ("reject", "accept"), write="jsonl"),
    _binary(  # nothing but the texts tells which letter is which
        "letters a and b",
        lambda rows: {"t1": rows.a, "t2": rows.b, "code": rows.cut("B", "A", edges=[3])},
        ("t1", "t2"),
        "code",
        ("B", "A"),
    ),
    _binary(  # as statisticians code yes and no
        "one is yes, two is no",
        lambda rows: {"fall": range(1, len(rows) + 1), "v1": rows.a, "v2": rows.b, "v3": rows.cut("2", "1", edges=[3])},
        ("v1", "v2"),
        "v3",
        ("2", "1"),
    ),
    _binary(
        "dup, uniq",
        _duplicates("ticket", "candidate", "triage", "uniq", "dup", 3),
        ("ticket", "candidate"),
        "triage",
        ("uniq", "dup"),
        source="banking77",
    ),
    _binary(
        "a cross or nothing",
        lambda rows: {"Text 1": rows.a, "Text 2": rows.b, "gleich": rows.cut("", "x", edges=[3])},
        ("Text 1", "Text 2"),
        "gleich",
        ("", "x"),
    ),
    _binary("glue qqp", _quora, ("question1", "question2"), "is_duplicate", ("0", "1"), source="banking77", write="tsv"),
    _binary(
        "mrpc as it was published",
        lambda rows: {
            "Quality": rows.label,
            "#1 ID": _odd(rows, 100_000, 3_000_000),
            "#2 ID": _odd(rows, 100_001, 3_100_000),
            "#1 String": rows.a,
            "#2 String": rows.b,
        },
        ("#1 String", "#2 String"),
        "Quality",
        ("0", "1"),
        source="mrpc",
        write="tsv",
    ),
    _binary("paws with its noisy label", _paws, ("sentence1", "sentence2"), "label", ("0", "1"), source="mrpc"),
    _binary(
        "mrpc words",
        lambda rows: {"s1": rows.a, "s2": rows.b, "judgement": rows.named({"0": "nope", "1": "yep"})},
        ("s1", "s2"),
        "judgement",
        ("nope", "yep"),
        source="mrpc",
    ),
    _binary(
        "french yes and no",
        lambda rows: {
            "énoncé": rows.a,
            "reformulation": rows.b,
            "valide ?": rows.cut("non", "oui", edges=[2.5]),
            "remarque": _cycle(_NOTES, rows),
        },
        ("énoncé", "reformulation"),
        "valide ?",
        ("non", "oui"),
    ),
    _binary(
        "spanish, seldom yes",
        _duplicates("pregunta", "pregunta similar", "¿es la misma?", "no", "sí", 2),
        ("pregunta", "pregunta similar"),
        "¿es la misma?",
        ("no", "sí"),
        source="banking77",
    ),
    _binary(
        "italian, label first",
        lambda rows: {"esito": rows.cut("diverso", "uguale", edges=[3.4]), "frase originale": rows.a, "frase riscritta": rows.b},
        ("frase originale", "frase riscritta"),
        "esito",
        ("diverso", "uguale"),
    ),
    _binary(
        "portuguese true and false",
        lambda rows: {"par": _odd(rows, 1, 5000), "a": rows.a, "b": rows.b, "resposta": rows.cut("falso", "verdadeiro", edges=[3])},
        ("a", "b"),
        "resposta",
        ("falso", "verdadeiro"),
    ),
    _binary(
        "dutch wel and niet",
        _duplicates("vraag", "bestaande vraag", "hoort erbij", "niet", "wel", 6),
        ("vraag", "bestaande vraag"),
        "hoort erbij",
        ("niet", "wel"),
        source="banking77",
    ),
    _binary(
        "polish with remarks",
        _within(
            "cp1250",
            lambda rows: {
                "tekst 1": rows.a,
                "tekst 2": rows.b,
                "zgodne": rows.cut("nie", "tak", edges=[2.2]),
                "uwagi": _cycle(["", "do sprawdzenia", ""], rows),
            },
        ),
        ("tekst 1", "tekst 2"),
        "zgodne",
        ("nie", "tak"),
        write="csv cp1250",
    ),
    _binary(
        "turkish in the middle",
        lambda rows: {"ilk": rows.a, "sonuç": rows.cut("farklı", "aynı", edges=[3.2]), "ikinci": rows.b},
        ("ilk", "ikinci"),
        "sonuç",
        ("farklı", "aynı"),
    ),
    _binary(
        "russian words",
        _within("cp1251", lambda rows: {"Фраза": rows.a, "Вариант": rows.b, "Итог": rows.cut("мимо", "годится", edges=[2.8])}),
        ("Фраза", "Вариант"),
        "Итог",
        ("мимо", "годится"),
        write="csv cp1251",
    ),
    _binary(
        "chinese words",
        lambda rows: {"问题": rows.a, "候选": rows.b, "结论": rows.cut("无关", "同义", edges=[2.5])},
        ("问题", "候选"),
        "结论",
        ("无关", "同义"),
        source="stsb-zh",
    ),
    _binary(
        "japanese circle and cross",
        _within("cp932", lambda rows: {"文A": rows.a, "文B": rows.b, "判定": rows.cut("×", "○", edges=[3])}),
        ("文A", "文B"),
        "判定",
        ("×", "○"),
        write="csv cp932",
    ),
    _binary(
        "korean words",
        lambda rows: {"판정": rows.cut("다름", "같음", edges=[3.8]), "문장 가": rows.a, "문장 나": rows.b},
        ("문장 가", "문장 나"),
        "판정",
        ("다름", "같음"),
    ),
    _binary(
        "arabic words",
        lambda rows: {"نص ١": rows.a, "نص ٢": rows.b, "الحكم": rows.cut("مختلف", "متطابق", edges=[2.6])},
        ("نص ١", "نص ٢"),
        "الحكم",
        ("مختلف", "متطابق"),
    ),
    _binary(
        "truth values of a german excel",
        lambda rows: {"Vorlage": rows.a, "Kopie": rows.b, "Treffer": rows.cut("FALSCH", "WAHR", edges=[3])},
        ("Vorlage", "Kopie"),
        "Treffer",
        ("FALSCH", "WAHR"),
        write="semicolon",
    ),
    _binary(
        "thumbs",
        lambda rows: {
            "message": rows.a,
            "suggestion": rows.b,
            "reaction": rows.cut("👎", "👍", edges=[2]),
            "user": _cycle(["u_17", "u_4", "u_9"], rows),
        },
        ("message", "suggestion"),
        "reaction",
        ("👎", "👍"),
        write="jsonl",
    ),
    _binary(
        "plus and minus",
        lambda rows: {"stem": rows.a, "option": rows.b, "key": rows.cut("-", "+", edges=[3])},
        ("stem", "option"),
        "key",
        ("-", "+"),
        write="tsv",
    ),
    _binary(
        "doccano",
        lambda rows: {
            "id": range(1, len(rows) + 1),
            "text": rows.a,
            "text_pair": rows.b,
            "label": [[label] for label in rows.cut("unlike", "alike", edges=[3])],
            "Comments": [[] for _ in rows.a],
        },
        ("text", "text_pair"),
        "label",
        ("unlike", "alike"),
        write="jsonl",
    ),
]

_GRADED = [
    _binary(
        "three grades in spanish",
        lambda rows: {"a": rows.a, "b": rows.b, "nivel": rows.cut("bajo", "medio", "alto")},
        ("a", "b"),
        "nivel",
        ("bajo", "medio", "alto"),
    ),
    _binary(
        "agreement in five words",
        lambda rows: {
            "RespondentID": _odd(rows, 118_000_000, 118_999_999),
            "Statement A": rows.a,
            "Statement B": rows.b,
            "Both say the same": rows.cut("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"),
        },
        ("Statement A", "Statement B"),
        "Both say the same",
        ("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"),
    ),
    _binary(
        "four grades in german",
        lambda rows: {"verwandt?": rows.cut("gar nicht", "wenig", "ziemlich", "völlig"), "Text1": rows.a, "Text2": rows.b},
        ("Text1", "Text2"),
        "verwandt?",
        ("gar nicht", "wenig", "ziemlich", "völlig"),
        write="semicolon",
    ),
    _binary(
        "five grades in chinese",
        lambda rows: {"甲": rows.a, "乙": rows.b, "程度": rows.cut("毫不相干", "略有关系", "部分相同", "大致相同", "完全一样")},
        ("甲", "乙"),
        "程度",
        ("毫不相干", "略有关系", "部分相同", "大致相同", "完全一样"),
        source="stsb-zh",
    ),
    _binary(
        "three grades in french",
        _within("cp1252", lambda rows: {"texte": rows.a, "comparé à": rows.b, "avis": rows.cut("rien à voir", "proche", "identique")}),
        ("texte", "comparé à"),
        "avis",
        ("rien à voir", "proche", "identique"),
        write="csv cp1252",
    ),
    _binary(
        "letter grades",
        lambda rows: {
            "reference": rows.a,
            "student answer": rows.b,
            "grade": rows.cut("F", "D", "C", "B", "A"),
            "course": _cycle(["BIO1", "BIO2"], rows),
        },
        ("reference", "student answer"),
        "grade",
        ("F", "D", "C", "B", "A"),
    ),
    _binary(
        "faces",
        lambda rows: {"q": rows.a, "reply": rows.b, "mood": rows.cut("😡", "😐", "😀")},
        ("q", "reply"),
        "mood",
        ("😡", "😐", "😀"),
    ),
    _binary(
        "stars",
        lambda rows: {"one": rows.a, "other": rows.b, "stars": rows.cut("★☆☆☆", "★★☆☆", "★★★☆", "★★★★")},
        ("one", "other"),
        "stars",
        ("★☆☆☆", "★★☆☆", "★★★☆", "★★★★"),
    ),
    _binary(
        "search relevance",
        lambda rows: {
            "query": rows.a,
            "product_title": rows.b,
            "esci": rows.cut("Irrelevant", "Complement", "Substitute", "Exact"),
            "locale": _cycle(["us"], rows),
        },
        ("query", "product_title"),
        "esci",
        ("Irrelevant", "Complement", "Substitute", "Exact"),
        write="parquet",
    ),
    _binary(
        "snli as it was published",
        lambda rows: {
            "gold_label": rows.label,
            "sentence1": rows.a,
            "sentence2": rows.b,
            "captionID": [f"{4_000_000_000 + at // 3}.jpg#{at % 5}" for at in range(len(rows))],
            "pairID": [f"{4_000_000_000 + at // 3}.jpg#{at % 5}r1{'nec'[at % 3]}" for at in range(len(rows))],
        },
        ("sentence1", "sentence2"),
        "gold_label",
        ("contradiction", "neutral", "entailment"),
        source="snli",
        write="tsv",
    ),
    _binary(
        "all-nli by number",
        lambda rows: {"premise": rows.a, "hypothesis": rows.b, "label": [{"e": 0, "n": 1, "c": 2}[label[0]] for label in rows.label]},
        ("premise", "hypothesis"),
        "label",
        ("2", "1", "0"),
        source="snli",
        write="parquet",
    ),
    _binary(
        "inference in spanish",
        lambda rows: {
            "premisa": rows.a,
            "hipótesis": rows.b,
            "relación": rows.named({"entailment": "implicación", "neutral": "neutral", "contradiction": "contradicción"}),
        },
        ("premisa", "hipótesis"),
        "relación",
        ("contradicción", "neutral", "implicación"),
        source="snli",
    ),
    _binary(
        "inference in korean, swapped",
        lambda rows: {
            "hypothesis": rows.b,
            "gold": rows.named({"entailment": "함의", "neutral": "중립", "contradiction": "모순"}),
            "premise": rows.a,
        },
        ("premise", "hypothesis"),
        "gold",
        ("모순", "중립", "함의"),
        source="snli",
    ),
    _binary(
        "fact checking",
        lambda rows: {
            "claim": rows.b,
            "evidence": rows.a,
            "label": rows.named({"entailment": "SUPPORTS", "neutral": "NOT ENOUGH INFO", "contradiction": "REFUTES"}),
        },
        ("claim", "evidence"),
        "label",
        ("REFUTES", "NOT ENOUGH INFO", "SUPPORTS"),
        source="snli",
        write="jsonl",
    ),
]

_POSITIVE = [
    Layout(
        "natural questions",
        "stsb",
        lambda rows: {"query": _alike(rows).a, "answer": _alike(rows).b},
        "positive_pairs",
        ("query", "answer"),
        write="parquet",
    ),
    Layout(
        "faq with its source and year",
        "stsb",
        lambda rows: {
            "Frage": _alike(rows).a,
            "Antwort": _alike(rows).b,
            "Quelle": [f"https://example.org/hilfe/{at * 37 % 499}" for at in range(len(_alike(rows)))],
            "Jahr": _odd(_alike(rows), 2009, 2024),
        },
        "positive_pairs",
        ("Frage", "Antwort"),
    ),
    Layout(
        "simplified texts with their editor",
        "stsb",
        lambda rows: {
            "complexe": _alike(rows).a,
            "simple": _alike(rows).b,
            "relecteur": _cycle(["Chloé", "Marc", "Yann"], _alike(rows)),
            "durée (s)": _odd(_alike(rows), 12, 300),
        },
        "positive_pairs",
        ("complexe", "simple"),
        write="semicolon",
    ),
    Layout(
        "queries with several positives",
        "banking77",
        lambda rows: {
            "query": rows.a,
            "pos": [list(two) for two in zip(_questions(rows, 10)[1], _questions(rows, 10, 23)[1], strict=True)],
        },
        "positive_pairs",
        ("query", "pos"),
        write="jsonl",
    ),
    Layout(
        "sets of two",
        "stsb",
        lambda rows: {"texts": [list(pair) for pair in zip(_alike(rows).a, _alike(rows).b, strict=True)]},
        "positive_pairs",
        ("text1", "text2"),
        write="json",
    ),
    Layout(
        "two columns in chinese",
        "stsb-zh",
        lambda rows: {"原句": _alike(rows).a, "改写": _alike(rows).b},
        "positive_pairs",
        ("原句", "改写"),
        write="tsv",
    ),
]

_TRIPLETS = [
    Layout(
        "hub triplet",
        "banking77",
        _triplets("anchor", "positive", "negative"),
        "triplets",
        ("anchor", "positive", "negative"),
        write="parquet",
    ),
    Layout("german triplets", "banking77", _triplets("Anker", "gut", "schlecht"), "triplets", ("Anker", "gut", "schlecht")),
    Layout("spanish triplets", "banking77", _triplets("consulta", "acierto", "fallo"), "triplets", ("consulta", "acierto", "fallo")),
    Layout(
        "triplets, the wrong one first",
        "banking77",
        _triplets("wrong", "question", "right", order=(2, 0, 1)),
        "triplets",
        ("question", "right", "wrong"),
    ),
    Layout(
        "triplets in chinese",
        "stsb-zh",
        lambda rows: {"查询": _alike(rows).a, "正例": _alike(rows).b, "负例": _others(_alike(rows), 7)},
        "triplets",
        ("查询", "正例", "负例"),
        write="jsonl",
    ),
    Layout(
        "msmarco triples without a header",
        "banking77",
        _triplets("a", "b", "c"),
        "triplets",
        ("column_1", "column_2", "column_3"),
        write="tsv",
        header=False,
    ),
    Layout(
        "mined negatives with numbers",
        "banking77",
        lambda rows: {
            "qid": _odd(rows, 1000, 90_000),
            "query": rows.a,
            "pos_passage": _triples(rows)[1],
            "neg_passage": _triples(rows)[2],
            "bm25": [f"{4 + at * 37 % 190 / 10:.2f}" for at in range(len(rows))],
        },
        "triplets",
        ("query", "pos_passage", "neg_passage"),
    ),
]

_CATEGORIES = [
    Layout(
        "trec by number",
        "trec",
        lambda rows: {"coarse_label": rows.label, "text": rows.a},
        "labelled_texts",
        ("text",),
        "coarse_label",
        write="jsonl",
    ),
    Layout(
        "tickets of a help desk",
        "banking77",
        lambda rows: {"Ticket": _odd(rows, 70_000, 99_999), "Eingang": _days(rows), "Anliegen": rows.a, "Warteschlange": rows.label},
        "labelled_texts",
        ("Anliegen",),
        "Warteschlange",
        write="semicolon",
    ),
    Layout(
        "clinc", "banking77", lambda rows: {"text": rows.a, "intent": rows.label}, "labelled_texts", ("text",), "intent", write="parquet"
    ),
    Layout("massive", "banking77", _massive, "labelled_texts", ("utt",), "intent", write="jsonl"),
    Layout(
        "codes in polish",
        "banking77",
        lambda rows: {"treść": rows.a, "kod": [f"K-{sorted(set(rows.label)).index(label) + 11}" for label in rows.label]},
        "labelled_texts",
        ("treść",),
        "kod",
    ),
    Layout(
        "question types without a header",
        "trec",
        lambda rows: {"a": [("DESC", "ENTY", "ABBR", "HUM", "NUM", "LOC")[int(label)] for label in rows.label], "b": rows.a},
        "labelled_texts",
        ("column_2",),
        "column_1",
        write="tsv",
        header=False,
    ),
    Layout(
        "emotions in portuguese",
        "trec",
        lambda rows: {
            "frase": rows.a,
            "emoção": [("alegria", "tristeza", "medo", "raiva", "amor", "surpresa")[int(label)] for label in rows.label],
            "anotador": _cycle(["Rui", "Inês", "Davi"], rows),
        },
        "labelled_texts",
        ("frase",),
        "emoção",
        write="csv cp1252",
    ),
]

_SENTENCES = [
    Layout(
        "letters with date and author",
        "stsb",
        lambda rows: {
            "date": _days(rows),
            "author": [f"{name} {at * 7 % 211}" for at, name in enumerate(_cycle(["A. Roy", "B. Lind"], rows))],
            "body": rows.a,
        },
        "sentences",
        ("body",),
    ),
    Layout(
        "posts with likes",
        "stsb",
        lambda rows: {"id": _hex(rows), "created_at": _stamps(rows), "likes": _odd(rows, 0, 3000), "tweet": rows.a},
        "sentences",
        ("tweet",),
        write="jsonl",
    ),
    Layout(
        "remarks in french",
        "trec",
        lambda rows: {"n°": range(1, len(rows) + 1), "remarque": rows.a},
        "sentences",
        ("remarque",),
        write="semicolon",
    ),
]

LAYOUTS = [*_SCORED, *_BINARY, *_GRADED, *_POSITIVE, *_TRIPLETS, *_CATEGORIES, *_SENTENCES]
