"""Tables as office people, teachers, researchers, shops and agencies bring them: the sixth set nobody looked at before."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from datetime import date, timedelta

from layouts import Columns, Layout, Rows


def plain(texts: Sequence[str]) -> list[str]:
    """The texts in ASCII."""
    marks = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "£": "GBP ", "€": "EUR "})
    return [unicodedata.normalize("NFKD", text.translate(marks)).encode("ascii", "ignore").decode() for text in texts]


def ids(rows: Rows, form: str = "{}", first: int = 1) -> list[str]:
    return [form.format(first + at) for at in range(len(rows))]


def days(rows: Rows, form: str = "%Y-%m-%d") -> list[str]:
    return [(date(2023, 9, 4) + timedelta(days=at * 7 // 11)).strftime(form) for at in range(len(rows))]


def turn(rows: Rows, *values: str) -> list[str]:
    """Values that have nothing to do with the row."""
    return [values[(at * 7 + at // 5) % len(values)] for at in range(len(rows))]


def comma(places: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{places}f}".replace(".", ",")


def only(rows: Rows, *labels: str) -> Rows:
    return rows.take([at for at, label in enumerate(rows.label) if label in labels])


def alike(rows: Rows) -> Rows:
    return rows.take([at for at, score in enumerate(rows.score) if score >= 4])


def other(texts: Sequence[str], by: int = 17) -> list[str]:
    """The texts of other rows."""
    return [*texts[by:], *texts[:by]]


def yes(rows: Rows, no: str, yes_: str) -> list[str]:
    return [yes_ if score > 2.5 else no for score in rows.score]


def trec(rows: Rows, *names: str) -> list[str]:
    return [names[int(label)] for label in rows.label]


GROUPS = {
    "beneficiary_not_allowed": 2,
    "transfer_fee_charged": 1,
    "card_arrival": 0,
    "cash_withdrawal_charge": 1,
    "request_refund": 4,
    "card_payment_fee_charged": 1,
    "wrong_exchange_rate_for_cash_withdrawal": 5,
    "failed_transfer": 2,
    "Refund_not_showing_up": 4,
    "order_physical_card": 0,
    "declined_transfer": 2,
    "getting_spare_card": 0,
    "unable_to_verify_identity": 6,
    "pending_top_up": 3,
    "atm_support": 7,
    "top_up_by_bank_transfer_charge": 1,
    "exchange_charge": 5,
    "top_up_limits": 3,
    "virtual_card_not_working": 0,
    "contactless_not_working": 0,
}


def group(rows: Rows, *names: str) -> list[str]:
    """Cards, fees, transfers, top-ups, refunds, exchange, identity, cash machines."""
    return [names[GROUPS[label]] for label in rows.label]


def codes(rows: Rows, form: str) -> list[str]:
    known = sorted(set(rows.label))
    return [form.format(known.index(label) + 1) for label in rows.label]


# ---------------------------------------------------------------- pairs with a score


def german_ten(r: Rows) -> Columns:
    return {
        "Lfd. Nr.": ids(r),
        "Datum": days(r, "%d.%m.%Y"),
        "Satz A": plain(r.a),
        "Satz B": plain(r.b),
        "Ähnlichkeit (0–10)": r.scores(lambda s: comma(1)(s * 2)),
        "Bearbeiter": turn(r, "Meier", "Köhler", "Schäfer"),
    }


def french_twenty(r: Rows) -> Columns:
    return {
        "Élève": ids(r, "E{:03d}"),
        "Phrase du manuel": plain(r.a),
        "Reformulation de l'élève": plain(r.b),
        "Note de ressemblance /20": r.scores(lambda s: comma(1)(s * 4)),
        "Trimestre": turn(r, "T1", "T2", "T3"),
    }


def spanish_distance(r: Rows) -> Columns:
    return {
        "código": ids(r, "ES-{:05d}", 300),
        "oración_1": plain(r.a),
        "oración_2": plain(r.b),
        "long_1": [len(t) for t in r.a],
        "long_2": [len(t) for t in r.b],
        "distancia_semántica": r.scores(lambda s: f"{1 - s / 5:.3f}"),
    }


def japanese_seven(r: Rows) -> Columns:
    return {
        "番号": list(range(1, len(r) + 1)),
        "文1": r.a,
        "文2": r.b,
        "類似度(1=全く違う、7=同じ意味)": [round(1 + s * 6 / 5) for s in r.score],
        "評価者": turn(r, "佐藤", "鈴木", "高橋", "田中"),
    }


def chinese_hundred(r: Rows) -> Columns:
    return {
        "序号": ids(r),
        "句子甲": r.a,
        "句子乙": r.b,
        "相似度得分(满分100)": r.scores(lambda s: str(round(s * 20))),
        "审核日期": days(r, "%Y/%m/%d"),
        "备注": turn(r, "", "", "", "已复核", ""),
    }


def portuguese_percent(r: Rows) -> Columns:
    return {
        "Semelhança": r.scores(lambda s: f"{round(s * 20)}%"),
        "Descrição no catálogo": plain(r.a),
        "Descrição do fornecedor": plain(r.b),
        "Preço (R$)": [comma(2)(9.9 + at * 37 % 411) for at in range(len(r))],
    }


def fractions(r: Rows) -> Columns:
    return {
        "Pupil no.": ids(r, "{}", 1001),
        "Model sentence": r.a,
        "Pupil's sentence": r.b,
        "Mark for same meaning": r.scores(lambda s: f"{round(s)}/5"),
        "Date handed in": days(r, "%d/%m/%Y"),
    }


def bare_score(r: Rows) -> Columns:
    return {"x1": ids(r, "main-{:04d}"), "x2": r.a, "x3": r.b, "x4": r.scores(lambda s: f"{s:.2f}")}


def german_grades(r: Rows) -> Columns:
    return {
        "Vorgabe": plain(r.a),
        "Umschreibung": plain(r.b),
        "Schulnote Bedeutungsgleichheit (1 = sehr gut, 6 = ungenügend)": [6 - round(s) for s in r.score],
        "Klasse": turn(r, "8a", "8b", "9c"),
    }


def polish_mean(r: Rows) -> Columns:
    return {
        "id_pary": list(range(5000, 5000 + len(r))),
        "zdanie_1": r.a,
        "zdanie_2": r.b,
        "srednia_ocena_podobienstwa": list(r.score),
        "liczba_oceniajacych": [8 + at * 3 % 5 for at in range(len(r))],
    }


def numbered_fields(r: Rows) -> Columns:
    return {
        "F1": ids(r, "{}", 20871),
        "F2": days(r),
        "F3": r.a,
        "F4": r.b,
        "F5": r.scores(lambda s: f"{s / 5:.3f}"),
    }


def russian_gap(r: Rows) -> Columns:
    return {
        "№": ids(r),
        "Предложение 1": plain(r.a),
        "Предложение 2": plain(r.b),
        "Расхождение (0 = совпадают, 10 = ничего общего)": r.scores(lambda s: comma(1)(10 - s * 2)),
        "Эксперт": turn(r, "Иванова", "Петров", "Ким"),
    }


# ---------------------------------------------------------------- pairs with a label


def german_nli(r: Rows) -> Columns:
    return {
        "ID": ids(r, "P{:04d}"),
        "Prämisse": plain(r.a),
        "Hypothese": plain(r.b),
        "Urteil": r.named({"contradiction": "Widerspruch", "neutral": "weder noch", "entailment": "folgt daraus"}),
        "annotiert von": turn(r, "LK", "MW", "TB"),
    }


def french_codes(r: Rows) -> Columns:
    return {
        "prémisse": plain(r.a),
        "hypothèse": plain(r.b),
        "étiq. (I = implication, N = neutre, C = contradiction)": r.named({"contradiction": "C", "neutral": "N", "entailment": "I"}),
        "durée (s)": [4 + at * 13 % 41 for at in range(len(r))],
    }


def italian_yes(r: Rows) -> Columns:
    return {
        "n.": ids(r),
        "Frase originale": plain(r.a),
        "Frase riscritta": plain(r.b),
        "Stesso significato?": r.named({"0": "No", "1": "Sì"}),
        "Rivista il": days(r, "%d/%m/%Y"),
    }


def turkish_yes(r: Rows) -> Columns:
    return {"Sıra": ids(r), "Aynı anlamda mı?": r.named({"0": "Hayır", "1": "Evet"}), "Cümle 1": r.a, "Cümle 2": r.b}


def symbols(r: Rows) -> Columns:
    return {"nr": ids(r), "left": r.a, "right": r.b, "relation": r.cut("≠", "≈", "=")}


def dutch_words(r: Rows) -> Columns:
    return {
        "zin links": plain(r.a),
        "zin rechts": plain(r.b),
        "oordeel": r.cut("helemaal anders", "een beetje gelijk", "grotendeels gelijk", "precies gelijk"),
        "opmerking": turn(r, "", "", "", "", "twijfel", ""),
    }


def chinese_three(r: Rows) -> Columns:
    return {
        "编号": list(range(1, len(r) + 1)),
        "文本1": r.a,
        "文本2": r.b,
        "结论": r.cut("不同", "部分相同", "相同"),
        "标注员": turn(r, "王", "李", "赵"),
    }


def korean_nli(r: Rows) -> Columns:
    return {
        "전제": r.a,
        "가설": r.b,
        "관계": r.named({"contradiction": "모순", "neutral": "중립", "entailment": "함의"}),
        "작성일": days(r),
    }


def finnish_yes(r: Rows) -> Columns:
    r = r.clear()
    return {"Tunnus": ids(r, "FI{:04d}"), "Teksti A": plain(r.a), "Teksti B": plain(r.b), "Sama asia (kyllä/ei)": yes(r, "ei", "kyllä")}


def excel_truth(r: Rows) -> Columns:
    return {
        "Spalte1": ids(r, "{}", 77),
        "Spalte2": plain(r.a),
        "Spalte3": plain(r.b),
        "Dublette": r.named({"0": "FALSCH", "1": "WAHR"}),
    }


def bare_nli(r: Rows) -> Columns:
    return {"x1": r.label, "x2": r.a, "x3": r.b}


def duplicate_flag(r: Rows) -> Columns:
    r = r.clear()
    return {
        "post_id1": ids(r, "{}", 4400),
        "post_id2": ids(r, "{}", 9100),
        "title1": r.a,
        "title2": r.b,
        "is_dup (1 = yes, 0 = no)": yes(r, "0", "1"),
        "url": ids(r, "https://forum.example.org/t/{}", 4400),
    }


# ---------------------------------------------------------------- texts with a category


def german_tickets(r: Rows) -> Columns:
    return {
        "Ticket": ids(r, "#{}", 88120),
        "Eingang": days(r, "%d.%m.%y"),
        "Anfrage des Kunden": plain(r.a),
        "Sachgebiet": group(r, "Karten", "Gebühren", "Überweisung", "Aufladung", "Erstattung", "Wechselkurs", "Identität", "Geldautomat"),
    }


def swedish_codes(r: Rows) -> Columns:
    return {
        "Ärende-ID": ids(r, "{}", 60210),
        "Meddelande": plain(r.a),
        "Ärendekod": codes(r, "K{:02d}"),
        "Antal tecken": [len(t) for t in r.a],
    }


def paths(r: Rows) -> Columns:
    top = group(r, "Cards", "Fees", "Transfers", "Top-up", "Refunds", "Exchange", "Identity", "Cash")
    return {
        "path": [f"{head} > {label.replace('_', ' ').lower()}" for head, label in zip(top, r.label, strict=True)],
        "message": r.a,
        "received": days(r),
    }


def spanish_question(r: Rows) -> Columns:
    return {
        "N.º": ids(r),
        "Pregunta": plain(r.a),
        "Tipo de respuesta": trec(r, "descripción", "cosa", "abreviatura", "persona", "lugar", "número"),
        "Puntos": turn(r, "1", "2", "3"),
    }


def bare_category(r: Rows) -> Columns:
    return {"x1": r.label, "x2": r.a}


def greek_topic(r: Rows) -> Columns:
    return {
        "Α/Α": ids(r),
        "Κείμενο": plain(r.a),
        "Κατηγορία": group(r, "Κάρτες", "Χρεώσεις", "Μεταφορές", "Φόρτιση", "Επιστροφές", "Συνάλλαγμα", "Ταυτότητα", "ΑΤΜ"),
    }


def class_numbers(r: Rows) -> Columns:
    return {"row_id": list(range(len(r))), "question": r.a, "n_chars": [len(t) for t in r.a], "class_no": [int(label) for label in r.label]}


# ---------------------------------------------------------------- pairs that mean the same, triplets, sentences


def portuguese_rewrites(r: Rows) -> Columns:
    r = only(r, "1")
    return {"cód.": ids(r, "R{:03d}"), "frase original": plain(r.a), "frase reescrita": plain(r.b), "data": days(r, "%d/%m/%Y")}


def bare_pairs(r: Rows) -> Columns:
    r = only(r, "1")
    return {"x1": r.a, "x2": r.b}


def query_positive(r: Rows) -> Columns:
    r = only(r, "entailment")
    return {"uid": ids(r, "pair-{:05d}"), "query": r.a, "positive": r.b}


def czech_rewrites(r: Rows) -> Columns:
    r = alike(r)
    return {"Věta": plain(r.a), "Jinak řečeno": plain(r.b), "Délka věty (znaků)": [len(t) for t in r.a]}


def spanish_triplets(r: Rows) -> Columns:
    r = alike(r)
    return {"ejercicio": ids(r), "frase base": plain(r.a), "mismo significado": plain(r.b), "otro significado": plain(other(r.b))}


def query_triplets(r: Rows) -> Columns:
    r = only(r, "1")
    return {"id": list(range(len(r))), "neg": other(r.b), "pos": r.b, "query": r.a, "added": days(r)}


def german_triplets(r: Rows) -> Columns:
    r = only(r, "entailment")
    return {
        "Ausgangssatz": plain(r.a),
        "passender Satz": plain(r.b),
        "unpassender Satz": plain(other(r.b, 31)),
        "geprüft am": days(r, "%d.%m.%Y"),
    }


def danish_sentences(r: Rows) -> Columns:
    return {"Løbenr.": ids(r), "Sætning": plain(r.a), "Dato": days(r, "%d-%m-%Y"), "Antal tegn": [len(t) for t in r.a]}


def crawled(r: Rows) -> Columns:
    return {
        "url": ids(r, "https://news.example.com/article/{}", 31007),
        "fetched_at": [f"{day}T06:30:00Z" for day in days(r)],
        "sentence": r.a,
    }


def scored(
    name: str,
    source: str,
    columns: Callable[[Rows], Columns],
    texts: tuple[str, ...],
    target: str,
    scale: tuple[float, float] | None,
    write: str,
    **more: object,
) -> Layout:
    return Layout(f"sixth {name}", source, columns, "scored_pairs", texts, target, scale=scale, write=write, **more)  # type: ignore[arg-type]


def labelled(
    name: str,
    source: str,
    columns: Callable[[Rows], Columns],
    texts: tuple[str, ...],
    target: str,
    labels: tuple[str, ...],
    write: str,
    **more: object,
) -> Layout:
    return Layout(f"sixth {name}", source, columns, "labelled_pairs", texts, target, labels=labels, write=write, **more)  # type: ignore[arg-type]


def sorted_(name: str, source: str, columns: Callable[[Rows], Columns], text: str, target: str, write: str, **more: object) -> Layout:
    return Layout(f"sixth {name}", source, columns, "labelled_texts", (text,), target, write=write, **more)  # type: ignore[arg-type]


def free(
    name: str, source: str, columns: Callable[[Rows], Columns], kind: str, texts: tuple[str, ...], write: str, **more: object
) -> Layout:
    return Layout(f"sixth {name}", source, columns, kind, texts, write=write, **more)  # type: ignore[arg-type]


LAYOUTS = [
    scored("German 0-10, decimal comma", "stsb", german_ten, ("Satz A", "Satz B"), "Ähnlichkeit (0–10)", (0.0, 10.0), "semicolon cp1252"),
    scored(
        "French marks out of 20",
        "stsb",
        french_twenty,
        ("Phrase du manuel", "Reformulation de l'élève"),
        "Note de ressemblance /20",
        (0.0, 20.0),
        "semicolon utf-8-sig",
        above=("Collège Jean-Moulin;;;;", "Exercice de reformulation, classe de 4e;;;;"),
    ),
    scored("Spanish distance 1-0", "stsb", spanish_distance, ("oración_1", "oración_2"), "distancia_semántica", (1.0, 0.0), "csv latin-1"),
    scored("Japanese 1-7", "stsb", japanese_seven, ("文1", "文2"), "類似度(1=全く違う、7=同じ意味)", (1.0, 7.0), "jsonl"),
    scored("Chinese 0-100", "stsb-zh", chinese_hundred, ("句子甲", "句子乙"), "相似度得分(满分100)", (0.0, 100.0), "csv gb18030"),
    scored(
        "Portuguese percent",
        "stsb",
        portuguese_percent,
        ("Descrição no catálogo", "Descrição do fornecedor"),
        "Semelhança",
        None,
        "tsv utf-16",
    ),
    scored("English marks as fractions", "stsb", fractions, ("Model sentence", "Pupil's sentence"), "Mark for same meaning", None, "csv"),
    scored("no header, id first", "stsb", bare_score, ("column_2", "column_3"), "column_4", (0.0, 5.0), "tsv", header=False),
    scored(
        "German school grades",
        "stsb",
        german_grades,
        ("Vorgabe", "Umschreibung"),
        "Schulnote Bedeutungsgleichheit (1 = sehr gut, 6 = ungenügend)",
        (6.0, 1.0),
        "semicolon cp1252",
    ),
    scored("Polish mean 1-5", "sick", polish_mean, ("zdanie_1", "zdanie_2"), "srednia_ocena_podobienstwa", (1.0, 5.0), "parquet"),
    scored("fields F1 to F5", "stsb", numbered_fields, ("F3", "F4"), "F5", (0.0, 1.0), "csv"),
    scored(
        "Russian divergence 0-10",
        "stsb",
        russian_gap,
        ("Предложение 1", "Предложение 2"),
        "Расхождение (0 = совпадают, 10 = ничего общего)",
        (10.0, 0.0),
        "semicolon cp1251",
    ),
    labelled(
        "German NLI",
        "snli",
        german_nli,
        ("Prämisse", "Hypothese"),
        "Urteil",
        ("Widerspruch", "weder noch", "folgt daraus"),
        "semicolon cp1252",
    ),
    labelled(
        "French NLI letters",
        "snli",
        french_codes,
        ("prémisse", "hypothèse"),
        "étiq. (I = implication, N = neutre, C = contradiction)",
        ("C", "N", "I"),
        "tsv",
    ),
    labelled(
        "Italian yes or no",
        "mrpc",
        italian_yes,
        ("Frase originale", "Frase riscritta"),
        "Stesso significato?",
        ("No", "Sì"),
        "semicolon latin-1",
    ),
    labelled("Turkish yes or no", "mrpc", turkish_yes, ("Cümle 1", "Cümle 2"), "Aynı anlamda mı?", ("Hayır", "Evet"), "csv utf-8-sig"),
    labelled("signs for relations", "stsb", symbols, ("left", "right"), "relation", ("≠", "≈", "="), "csv"),
    labelled(
        "Dutch words",
        "stsb",
        dutch_words,
        ("zin links", "zin rechts"),
        "oordeel",
        ("helemaal anders", "een beetje gelijk", "grotendeels gelijk", "precies gelijk"),
        "semicolon cp1252",
        above=("Export enquête taalbureau 2023",),
    ),
    labelled("Chinese three words", "stsb-zh", chinese_three, ("文本1", "文本2"), "结论", ("不同", "部分相同", "相同"), "json"),
    labelled("Korean NLI", "sick", korean_nli, ("전제", "가설"), "관계", ("모순", "중립", "함의"), "jsonl"),
    labelled("Finnish yes or no", "stsb", finnish_yes, ("Teksti A", "Teksti B"), "Sama asia (kyllä/ei)", ("ei", "kyllä"), "tsv latin-1"),
    labelled("German Excel truth", "mrpc", excel_truth, ("Spalte2", "Spalte3"), "Dublette", ("FALSCH", "WAHR"), "semicolon utf-8-sig"),
    labelled(
        "no header, NLI label first",
        "snli",
        bare_nli,
        ("column_2", "column_3"),
        "column_1",
        ("contradiction", "neutral", "entailment"),
        "pipe",
        header=False,
    ),
    labelled("duplicate posts flag", "stsb", duplicate_flag, ("title1", "title2"), "is_dup (1 = yes, 0 = no)", ("0", "1"), "csv"),
    sorted_(
        "German tickets",
        "banking77",
        german_tickets,
        "Anfrage des Kunden",
        "Sachgebiet",
        "semicolon cp1252",
        above=("Auswertung Kundendienst", "Stand: 31.05.2024"),
    ),
    sorted_("Swedish case codes", "banking77", swedish_codes, "Meddelande", "Ärendekod", "tsv utf-16"),
    sorted_("paths of a help desk", "banking77", paths, "message", "path", "jsonl"),
    sorted_("Spanish question types", "trec", spanish_question, "Pregunta", "Tipo de respuesta", "csv latin-1"),
    sorted_("no header, category first", "banking77", bare_category, "column_2", "column_1", "csv", header=False),
    sorted_("Greek topics", "banking77", greek_topic, "Κείμενο", "Κατηγορία", "semicolon iso8859-7"),
    sorted_("class numbers", "trec", class_numbers, "question", "class_no", "parquet"),
    free("Portuguese rewrites", "mrpc", portuguese_rewrites, "positive_pairs", ("frase original", "frase reescrita"), "semicolon cp1252"),
    free("no header, two texts", "mrpc", bare_pairs, "positive_pairs", ("column_1", "column_2"), "tsv", header=False),
    free("query and positive", "snli", query_positive, "positive_pairs", ("query", "positive"), "parquet"),
    free("Czech rewrites", "stsb", czech_rewrites, "positive_pairs", ("Věta", "Jinak řečeno"), "semicolon cp1250"),
    free(
        "Spanish exercises of three",
        "stsb",
        spanish_triplets,
        "triplets",
        ("frase base", "mismo significado", "otro significado"),
        "csv utf-8-sig",
    ),
    free("neg, pos, query", "mrpc", query_triplets, "triplets", ("query", "pos", "neg"), "jsonl"),
    free("German triplets", "snli", german_triplets, "triplets", ("Ausgangssatz", "passender Satz", "unpassender Satz"), "pipe"),
    free("Danish sentences", "stsb", danish_sentences, "sentences", ("Sætning",), "semicolon cp1252"),
    free("crawled sentences", "mrpc", crawled, "sentences", ("sentence",), "json"),
]
