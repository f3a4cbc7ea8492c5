"""Sixty tables as people of different trades and countries make them, written without a look at the reader (seventh set)."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from datetime import date, timedelta

from layouts import Columns, Layout, Rows


def plain(texts: Sequence[str]) -> list[str]:
    """Texts of ASCII only, so that any encoding can hold them."""
    return [unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() for text in texts]


def comma(number: float, digits: int = 1) -> str:
    """A number with a decimal comma."""
    return f"{number:.{digits}f}".replace(".", ",")


def near(rows: Rows, spread: float, seed: int, low: float = 0.0, high: float = 5.0) -> list[float]:
    """The scores with some noise, kept inside the scale."""
    chance = random.Random(seed)
    return [min(high, max(low, score + chance.gauss(0, spread))) for score in rows.score]


def ids(count: int, first: int = 1, step: int = 1, before: str = "") -> list[str]:
    """Numbers of rows."""
    return [f"{before}{first + step * at}" for at in range(count)]


def days(count: int, form: str = "%Y-%m-%d", seed: int = 5) -> list[str]:
    """Days of some years, in order."""
    chance = random.Random(seed)
    return sorted_days([date(2021, 2, 1) + timedelta(days=chance.randrange(900)) for _ in range(count)], form)


def sorted_days(found: list[date], form: str) -> list[str]:
    """Days as they are written."""
    return [day.strftime(form) for day in sorted(found)]


def some(count: int, *names: str, seed: int = 7) -> list[str]:
    """Names by chance, such as of annotators."""
    chance = random.Random(seed)
    return [chance.choice(names) for _ in range(count)]


def numbers(count: int, low: int, high: int, seed: int = 9) -> list[int]:
    """Whole numbers by chance."""
    chance = random.Random(seed)
    return [chance.randint(low, high) for _ in range(count)]


def holes(values: Sequence[str], every: int) -> list[str]:
    """Values of which a few are missing."""
    return ["" if at % every == every - 1 else value for at, value in enumerate(values)]


def alike(rows: Rows) -> Rows:
    """The pairs that belong together."""
    return rows.take([at for at, score in enumerate(rows.score) if score >= 4])


def turned(texts: Sequence[str], by: int) -> list[str]:
    """Texts of other rows."""
    by %= len(texts)
    return [*texts[by:], *texts[:by]]


# Two texts and a score.


def forms_spanish(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "Marca temporal": days(count, "%d/%m/%Y 10:%M:00"),
        "Dirección de correo electrónico": [f"alumno{at % 31:02d}@ies-cervantes.es" for at in range(count)],
        "Frase original": rows.a,
        "Paráfrasis del alumno": rows.b,
        "Nota (0-10)": [comma(round(score * 4) / 2) for score in near(rows, 0.2, 1)],
        "Observaciones": some(count, "", "", "", "", "revisar", "ok"),
    }


def grades_german(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "lfd. Nr.": ids(count),
        "Mustersatz": plain(rows.a),
        "Schülersatz": plain(rows.b),
        "Note": [comma(round((6 - score) * 2) / 2) for score in near(rows, 0.15, 2)],
        "Prüfer": some(count, "Hr. Böhm", "Fr. Jäger", "Fr. Özdemir"),
    }


def grades_swiss(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "Élève": [f"{name}-{at:03d}" for at, name in enumerate(some(count, "VD", "GE", "NE"))],
        "Phrase du texte": rows.a,
        "Reformulation": rows.b,
        "Note (6 = parfait)": [f"{round((1 + score) * 4) / 4:g}" for score in rows.score],
        "Durée\n(min)": numbers(count, 2, 19),
    }


def fuzzy_match(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "Segment ID": ids(count, 10231, 3),
        "Project": ["ACME_Manuals_2022"] * count,
        "TM segment": rows.a,
        "New segment": rows.b,
        "Match": [f"{round(score * 20)}%" for score in near(rows, 0.2, 3)],
        "Words": [len(text.split()) for text in rows.b],
        "Translator": some(count, "ivanaK", "mpereira", "t.olsen"),
    }


def edit_rate(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "doc": some(count, "leaflet_03", "leaflet_11", "web_home"),
        "seg": ids(count),
        "mt_output": rows.a,
        "post_edited": rows.b,
        "edit_rate": [f"{(5 - score) / 5:.4f}" for score in near(rows, 0.25, 4)],
        "seconds": numbers(count, 4, 260),
    }


def mturk(rows: Rows) -> Columns:
    count = len(rows)
    chance = random.Random(31)
    return {
        "HITId": [f"3{chance.getrandbits(100):026X}" for _ in range(count)],
        "AssignmentId": [f"3{chance.getrandbits(100):026X}" for _ in range(count)],
        "WorkerId": [f"A{number:012X}" for number in numbers(count, 1, 40)],
        "WorkTimeInSeconds": numbers(count, 6, 180),
        "LifetimeApprovalRate": ["100% (12/12)"] * count,
        "Input.text_1": rows.a,
        "Input.text_2": rows.b,
        "Answer.similarity": [round(score) for score in near(rows, 0.2, 5, 1.0)],
        "Approve": [""] * count,
        "Reject": [""] * count,
    }


def raters_mean(rows: Rows) -> Columns:
    raters = [[round(score) for score in near(rows, 0.5, seed)] for seed in (11, 12, 13)]
    return {
        "item": ids(len(rows), before="P"),
        "Text 1": rows.a,
        "Text 2": rows.b,
        "rater_1": raters[0],
        "rater_2": raters[1],
        "rater_3": raters[2],
        "mean": [f"{sum(given) / 3:.2f}" for given in zip(*raters, strict=True)],
    }


def of_five(rows: Rows) -> Columns:
    return {
        "código": ids(len(rows), before="Q-"),
        "frase_a": plain(rows.a),
        "frase_b": plain(rows.b),
        "avaliação": [f"{round(score)}/5" for score in near(rows, 0.2, 6)],
        "avaliador": some(len(rows), "João", "Conceição", "Luís"),
    }


def stars(rows: Rows) -> Columns:
    given = [1 + round(score * 0.8) for score in rows.score]
    return {
        "番号": ids(len(rows)),
        "文A": plain(rows.a),
        "文B": plain(rows.b),
        "評価": ["★" * star + "☆" * (5 - star) for star in given],
        "担当者": some(len(rows), "佐藤", "鈴木", "高橋"),
    }


def skills(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "Requisition": some(count, "REQ-2210", "REQ-2214", "REQ-2301"),
        "Recruiter": some(count, "Amanda", "Pradeep", "Siobhan", seed=8),
        "Phrase in CV": rows.a,
        "Phrase in job ad": rows.b,
        "Match (0-100)": holes([str(round(score * 20)) for score in near(rows, 0.2, 7)], 57),
        "Reviewed on": days(count, "%m/%d/%Y"),
    }


def deviation(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "Contract": some(count, "MSA 14-002", "NDA 15-119", "SOW 16-007"),
        "§": [f"{at % 17 + 1}.{at % 4 + 1}" for at in range(count)],
        "Our wording": rows.a,
        "Counterparty wording": rows.b,
        "Deviation (%)": [round((5 - score) * 20) for score in near(rows, 0.15, 8)],
        "Escalate to": [""] * count,
    }


def polish(rows: Rows) -> Columns:
    return {
        "Lp.": ids(len(rows)),
        "Zdanie 1": rows.a,
        "Zdanie 2": rows.b,
        "Podobieństwo": [comma(score / 5, 2) for score in near(rows, 0.1, 9)],
        "Źródło": some(len(rows), "prasa", "forum", "podpisy"),
    }


def russian(rows: Rows) -> Columns:
    return {
        "№": ids(len(rows)),
        "Предложение 1": plain(rows.a),
        "Предложение 2": plain(rows.b),
        "Оценка близости": rows.scores(lambda score: comma(score, 2)),
        "Эксперт": some(len(rows), "Иванова", "Петров", "Сидоренко"),
    }


def chinese(rows: Rows) -> Columns:
    return {
        "序号": ids(len(rows)),
        "句子一": rows.a,
        "句子二": rows.b,
        "相似度": rows.scores(lambda score: f"{score:.0f}"),
        "标注员": some(len(rows), "张伟", "王芳", "李娜"),
        "备注": [""] * len(rows),
    }


def greek(rows: Rows) -> Columns:
    return {
        "Α/Α": ids(len(rows)),
        "Πρόταση Α": plain(rows.a),
        "Πρόταση Β": plain(rows.b),
        "Απόσταση (0-10)": [comma((5 - score) * 2) for score in near(rows, 0.15, 10)],
    }


def bare_benchmark(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "column_1": some(count, "main-captions", "main-news", "main-forums"),
        "column_2": some(count, "MSRvid", "headlines", "images", "deft-forum"),
        "column_3": some(count, "2012test", "2013", "2014", "2015", seed=3),
        "column_4": [f"{at * 3 + 1:04d}" for at in range(count)],
        "column_5": rows.scores(lambda score: f"{score:.3f}"),
        "column_6": rows.a,
        "column_7": rows.b,
    }


def excel_sep(rows: Rows) -> Columns:
    return {
        "Artikeltext alt": rows.a,
        "Artikeltext neu": rows.b,
        "Ähnlichkeit": [comma(score / 5, 3) for score in near(rows, 0.1, 14)],
        "": [""] * len(rows),
        "Warengruppe": some(len(rows), "Werkzeug", "Garten", "Haushalt"),
    }


def titled_points(rows: Rows) -> Columns:
    points = [round(score * 200) for score in near(rows, 0.1, 15)]
    return {
        "Pair": [*ids(len(rows)), "AVERAGE"],
        "Reference answer": [*rows.a, ""],
        "Candidate's answer": [*rows.b, ""],
        "Points": [*(f"{point:,}" for point in points), f"{sum(points) / len(points):,.1f}"],
    }


def float_noise(rows: Rows) -> Columns:
    chance = random.Random(16)
    return {
        "idx": list(range(len(rows))),
        "split": ["train"] * len(rows),
        "sentence1": rows.a,
        "sentence2": rows.b,
        "score": [min(1.0, max(0.0, score / 5 + chance.choice((-1, 0, 1)) * 2e-16)) for score in rows.score],
        "lang": ["en"] * len(rows),
    }


def cross_encoder(rows: Rows) -> Columns:
    chance = random.Random(17)
    logits = [(score - 2.5) * 4.1 + chance.gauss(0, 0.6) for score in rows.score]
    return {
        "query_id": numbers(len(rows), 100000, 999999),
        "query": rows.a,
        "passage": rows.b,
        "ce_logit": [None if at % 97 == 50 else logit for at, logit in enumerate(logits)],
        "passage_tokens": [len(text.split()) + 3 for text in rows.b],
    }


def ranked(rows: Rows) -> Columns:
    noisy = near(rows, 0.05, 18, -1.0, 6.0)
    order = sorted(range(len(rows)), key=lambda at: -noisy[at])
    rank = {at: place + 1 for place, at in enumerate(order)}
    return {
        "listing_a": rows.a,
        "listing_b": rows.b,
        "rank (1 = most alike)": [rank[at] for at in range(len(rows))],
        "seller": some(len(rows), "bikes4u", "old_town_shop", "kram24"),
    }


def slider(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "participant": [f"pp{number:02d}" for number in numbers(count, 1, 36)],
        "age": numbers(count, 18, 71, seed=2),
        "trial": [at % 40 + 1 for at in range(count)],
        "stimulus_left": rows.a,
        "stimulus_right": rows.b,
        "slider_similarity": [round(score * 20 - 50) for score in near(rows, 0.2, 19)],
        "rt_ms": numbers(count, 812, 9450, seed=4),
    }


def difference(rows: Rows) -> Columns:
    return {
        "pair_id": ids(len(rows), 5000),
        "semantic_difference": [round(6 - score) for score in near(rows, 0.2, 20, 1.0)],
        "utterance_1": rows.a,
        "utterance_2": rows.b,
        "coder": some(len(rows), "AK", "LM", "RT"),
    }


def arabic_digits(rows: Rows) -> Columns:
    digits = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    return {
        "الرقم": ids(len(rows)),
        "الجملة الأولى": rows.a,
        "الجملة الثانية": rows.b,
        "درجة التشابه من ١٠": [str(round(score * 2)).translate(digits) for score in near(rows, 0.2, 21)],
    }


SCORED = [
    Layout(
        "seventh: Google Forms, Spanish",
        "stsb",
        forms_spanish,
        "scored_pairs",
        ("Frase original", "Paráfrasis del alumno"),
        "Nota (0-10)",
        scale=(0.0, 10.0),
        write="csv",
    ),
    Layout(
        "seventh: German school grades",
        "stsb",
        grades_german,
        "scored_pairs",
        ("Mustersatz", "Schülersatz"),
        "Note",
        scale=(6.0, 1.0),
        write="semicolon cp1252",
    ),
    Layout(
        "seventh: Swiss school grades",
        "stsb",
        grades_swiss,
        "scored_pairs",
        ("Phrase du texte", "Reformulation"),
        "Note (6 = parfait)",
        scale=(1.0, 6.0),
        write="semicolon utf-8-sig",
    ),
    Layout("seventh: fuzzy match", "stsb", fuzzy_match, "scored_pairs", ("TM segment", "New segment"), "Match", write="tsv"),
    Layout(
        "seventh: edit rate",
        "stsb",
        edit_rate,
        "scored_pairs",
        ("mt_output", "post_edited"),
        "edit_rate",
        scale=(1.0, 0.0),
        write="tsv",
    ),
    Layout(
        "seventh: MTurk batch",
        "sick",
        mturk,
        "scored_pairs",
        ("Input.text_1", "Input.text_2"),
        "Answer.similarity",
        scale=(1.0, 5.0),
    ),
    Layout("seventh: three raters, mean", "stsb", raters_mean, "scored_pairs", ("Text 1", "Text 2"), "mean", scale=(0.0, 5.0)),
    Layout("seventh: n/5, Portuguese", "stsb", of_five, "scored_pairs", ("frase_a", "frase_b"), "avaliação", write="semicolon cp1252"),
    # Meant as scores when it was written; five ordered labels are the same.
    Layout(
        "seventh: stars, Japanese",
        "stsb",
        stars,
        "labelled_pairs",
        ("文A", "文B"),
        "評価",
        ("★☆☆☆☆", "★★☆☆☆", "★★★☆☆", "★★★★☆", "★★★★★"),
        True,
        write="csv shift_jis",
    ),
    Layout(
        "seventh: HR skills",
        "stsb",
        skills,
        "scored_pairs",
        ("Phrase in CV", "Phrase in job ad"),
        "Match (0-100)",
        scale=(0.0, 100.0),
    ),
    Layout(
        "seventh: clause deviation",
        "stsb",
        deviation,
        "scored_pairs",
        ("Our wording", "Counterparty wording"),
        "Deviation (%)",
        scale=(100.0, 0.0),
        write="pipe",
    ),
    Layout(
        "seventh: Polish Unicode text",
        "stsb",
        polish,
        "scored_pairs",
        ("Zdanie 1", "Zdanie 2"),
        "Podobieństwo",
        scale=(0.0, 1.0),
        write="tsv utf-16",
    ),
    Layout(
        "seventh: Russian experts",
        "stsb",
        russian,
        "scored_pairs",
        ("Предложение 1", "Предложение 2"),
        "Оценка близости",
        scale=(0.0, 5.0),
        write="semicolon cp1251",
    ),
    Layout(
        "seventh: Chinese",
        "stsb-zh",
        chinese,
        "scored_pairs",
        ("句子一", "句子二"),
        "相似度",
        scale=(0.0, 5.0),
        write="csv gb18030",
    ),
    Layout(
        "seventh: Greek distance",
        "stsb",
        greek,
        "scored_pairs",
        ("Πρόταση Α", "Πρόταση Β"),
        "Απόσταση (0-10)",
        scale=(10.0, 0.0),
        write="semicolon cp1253",
    ),
    Layout(
        "seventh: benchmark without header",
        "stsb",
        bare_benchmark,
        "scored_pairs",
        ("column_6", "column_7"),
        "column_5",
        scale=(0.0, 5.0),
        write="tsv",
        header=False,
    ),
    Layout(
        "seventh: Excel sep line",
        "stsb",
        excel_sep,
        "scored_pairs",
        ("Artikeltext alt", "Artikeltext neu"),
        "Ähnlichkeit",
        scale=(0.0, 1.0),
        write="semicolon utf-8-sig",
        above=("sep=;",),
    ),
    Layout(
        "seventh: title, points, average",
        "stsb",
        titled_points,
        "scored_pairs",
        ("Reference answer", "Candidate's answer"),
        "Points",
        scale=(0.0, 1000.0),
        above=("Short answer grading - spring term,,,", "Max. 1000 points for the same meaning,,,", ",,,"),
    ),
    Layout(
        "seventh: float noise",
        "stsb",
        float_noise,
        "scored_pairs",
        ("sentence1", "sentence2"),
        "score",
        scale=(0.0, 1.0),
        write="jsonl",
    ),
    Layout("seventh: cross-encoder logits", "stsb", cross_encoder, "scored_pairs", ("query", "passage"), "ce_logit", write="parquet"),
    Layout(
        "seventh: ranked listings",
        "stsb",
        ranked,
        "scored_pairs",
        ("listing_a", "listing_b"),
        "rank (1 = most alike)",
        scale=(400.0, 1.0),
    ),
    Layout(
        "seventh: slider from -50 to 50",
        "stsb",
        slider,
        "scored_pairs",
        ("stimulus_left", "stimulus_right"),
        "slider_similarity",
        scale=(-50.0, 50.0),
    ),
    Layout(
        "seventh: semantic difference",
        "sick",
        difference,
        "scored_pairs",
        ("utterance_1", "utterance_2"),
        "semantic_difference",
        scale=(5.0, 1.0),
        write="json",
    ),
    Layout(
        "seventh: Arabic digits",
        "stsb",
        arabic_digits,
        "scored_pairs",
        ("الجملة الأولى", "الجملة الثانية"),
        "درجة التشابه من ١٠",
        scale=(0.0, 10.0),
    ),
]


# Two texts and a label.

FINNISH = ("täysin eri", "melko eri", "osittain sama", "melko sama", "täysin sama")
KOREAN = ("전혀 다름", "다소 다름", "보통", "다소 비슷", "매우 비슷")
VIETNAMESE = ("khác nhau", "gần giống nhau", "giống nhau")


def finnish(rows: Rows) -> Columns:
    return {
        "Aikaleima": days(len(rows), "%d.%m.%Y 12.%M"),
        "Lause A": rows.a,
        "Lause B": rows.b,
        "Kuinka samaa lauseet tarkoittavat?": rows.cut(*FINNISH),
        "Kommentti": [""] * len(rows),
    }


def korean(rows: Rows) -> Columns:
    return {
        "문장 1": rows.a,
        "문장 2": rows.b,
        "의미 유사성": holes(rows.cut(*KOREAN), 71),
        "평가자": some(len(rows), "김민수", "이서연", "박지훈"),
        "평가일": days(len(rows), "%Y.%m.%d"),
    }


def turkish(rows: Rows) -> Columns:
    return {
        "Sıra": ids(len(rows)),
        "Cümle 1": plain(rows.a),
        "Cümle 2": plain(rows.b),
        "Aynı anlama mı geliyor?": rows.named({"0": "hayır", "1": "evet"}),
    }


def listings(rows: Rows) -> Columns:
    rows = rows.clear()
    count = len(rows)
    return {
        "sku_l": ids(count, 40021, 7, "B0"),
        "sku_r": ids(count, 71003, 11, "B0"),
        "title_l": rows.a,
        "title_r": rows.b,
        "price_l": [f"{number / 100:.2f}" for number in numbers(count, 199, 19999)],
        "price_r": [f"{number / 100:.2f}" for number in numbers(count, 199, 19999, seed=10)],
        "verdict": rows.cut("nodup", "dup"),
    }


def one_two(rows: Rows) -> Columns:
    return {
        "CASEID": ids(len(rows), 100001),
        "WEIGHT": [f"{number / 1000:.3f}" for number in numbers(len(rows), 400, 1900)],
        "Q7A_TEXT": rows.a,
        "Q7B_TEXT": rows.b,
        "SAME_MEANING (1=yes, 2=no)": rows.named({"1": "1", "0": "2"}),
    }


def minus_one(rows: Rows) -> Columns:
    return {
        "premise": rows.a,
        "hypothesis": rows.b,
        "gold": [{"contradiction": -1, "neutral": 0, "entailment": 1}[label] for label in rows.label],
        "annotator_count": [5] * len(rows),
    }


def hub_nli(rows: Rows) -> Columns:
    return {
        "premise": rows.a,
        "hypothesis": rows.b,
        "label": [{"entailment": 0, "neutral": 1, "contradiction": 2}[label] for label in rows.label],
    }


def arabic_nli(rows: Rows) -> Columns:
    return {
        "معرف": ids(len(rows)),
        "المقدمة": rows.a,
        "الفرضية": rows.b,
        "العلاقة": rows.named({"contradiction": "تناقض", "neutral": "محايد", "entailment": "استلزام"}),
    }


def letters(rows: Rows) -> Columns:
    return {
        "Student no.": ids(len(rows), 220401),
        "Model sentence": rows.a,
        "Student's sentence": rows.b,
        "Grade": rows.cut("E", "D", "C", "B", "A"),
        "Marked by": some(len(rows), "Ms Okafor", "Mr Lindqvist"),
    }


def prodigy(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "text1": rows.a,
        "text2": rows.b,
        "_input_hash": numbers(count, -2147483647, 2147483647),
        "_task_hash": numbers(count, -2147483647, 2147483647, seed=1),
        "_view_id": ["blocks"] * count,
        "label": ["PARAPHRASE"] * count,
        "answer": rows.named({"0": "reject", "1": "accept"}),
        "_timestamp": [1655800000 + 13 * at for at in range(count)],
        "_annotator_id": some(count, "2022-06-21_lea", "2022-06-21_tom"),
    }


def vietnamese(rows: Rows) -> Columns:
    return {
        "STT": ids(len(rows)),
        "Câu 1": rows.a,
        "Câu 2": rows.b,
        "Kết luận": rows.cut(*VIETNAMESE),
        "Người gán nhãn": some(len(rows), "Hương", "Tuấn", "Đức"),
    }


def excel_truth(rows: Rows) -> Columns:
    return {
        "Meldung 1": rows.a,
        "Meldung 2": rows.b,
        "Quelle": some(len(rows), "dpa", "Reuters", "AFP"),
        "Dublette": rows.named({"0": "FALSCH", "1": "WAHR"}),
        "geprüft am": days(len(rows), "%d.%m.%Y"),
    }


LABELLED = [
    Layout(
        "seventh: Finnish Likert words",
        "stsb",
        finnish,
        "labelled_pairs",
        ("Lause A", "Lause B"),
        "Kuinka samaa lauseet tarkoittavat?",
        FINNISH,
        True,
        write="semicolon utf-8-sig",
    ),
    Layout("seventh: Korean Likert words", "stsb", korean, "labelled_pairs", ("문장 1", "문장 2"), "의미 유사성", KOREAN, True),
    Layout(
        "seventh: Turkish yes and no",
        "mrpc",
        turkish,
        "labelled_pairs",
        ("Cümle 1", "Cümle 2"),
        "Aynı anlama mı geliyor?",
        ("hayır", "evet"),
        write="semicolon cp1254",
    ),
    Layout("seventh: duplicate listings", "stsb", listings, "labelled_pairs", ("title_l", "title_r"), "verdict", ("nodup", "dup")),
    Layout(
        "seventh: survey code 1 and 2",
        "mrpc",
        one_two,
        "labelled_pairs",
        ("Q7A_TEXT", "Q7B_TEXT"),
        "SAME_MEANING (1=yes, 2=no)",
        ("2", "1"),
    ),
    Layout(
        "seventh: NLI as -1, 0, 1",
        "snli",
        minus_one,
        "labelled_pairs",
        ("premise", "hypothesis"),
        "gold",
        ("-1", "0", "1"),
        True,
        write="tsv",
    ),
    Layout(
        "seventh: NLI as on the Hub",
        "snli",
        hub_nli,
        "labelled_pairs",
        ("premise", "hypothesis"),
        "label",
        ("2", "1", "0"),
        True,
        write="parquet",
    ),
    Layout(
        "seventh: Arabic NLI",
        "snli",
        arabic_nli,
        "labelled_pairs",
        ("المقدمة", "الفرضية"),
        "العلاقة",
        ("تناقض", "محايد", "استلزام"),
        True,
        write="csv utf-16",
    ),
    Layout(
        "seventh: letters A to E",
        "stsb",
        letters,
        "labelled_pairs",
        ("Model sentence", "Student's sentence"),
        "Grade",
        ("E", "D", "C", "B", "A"),
        True,
    ),
    Layout(
        "seventh: Prodigy answers",
        "mrpc",
        prodigy,
        "labelled_pairs",
        ("text1", "text2"),
        "answer",
        ("reject", "accept"),
        write="jsonl",
    ),
    Layout("seventh: Vietnamese", "stsb", vietnamese, "labelled_pairs", ("Câu 1", "Câu 2"), "Kết luận", VIETNAMESE, True, write="json"),
    Layout(
        "seventh: WAHR and FALSCH",
        "mrpc",
        excel_truth,
        "labelled_pairs",
        ("Meldung 1", "Meldung 2"),
        "Dublette",
        ("FALSCH", "WAHR"),
        write="semicolon utf-8-sig",
    ),
]


# Two texts that belong together.


def plain_language(rows: Rows) -> Columns:
    rows = alike(rows)
    return {
        "Brochure": some(len(rows), "housing", "benefits", "school"),
        "Official wording": rows.a,
        "Plain-language wording": rows.b,
        "Last edited": days(len(rows), "%d %b %Y"),
        "Editor": some(len(rows), "JM", "SK"),
    }


def anchor_positive(rows: Rows) -> Columns:
    rows = alike(rows)
    return {"_id": [f"{at:024x}" for at in numbers(len(rows), 1, 2**40)], "anchor": rows.a, "positive": rows.b}


def title_body(rows: Rows) -> Columns:
    rows = alike(rows)
    return {
        "post_id": ids(len(rows), 880100, 13),
        "created_utc": [1600000000 + 7919 * at for at in range(len(rows))],
        "title": rows.a,
        "body": [f"{text} {more}" for text, more in zip(rows.b, rows.a, strict=True)],
        "num_comments": numbers(len(rows), 0, 54),
    }


def query_pos(rows: Rows) -> Columns:
    rows = alike(rows)
    return {"query": rows.a, "pos": [[text] for text in rows.b]}


def bare_pairs(rows: Rows) -> Columns:
    rows = alike(rows)
    return {"column_1": rows.a, "column_2": rows.b}


def constant_label(rows: Rows) -> Columns:
    rows = alike(rows)
    return {"text_a": rows.a, "text_b": rows.b, "label": [1] * len(rows), "source": ["captions_v2"] * len(rows)}


POSITIVE = [
    Layout("seventh: plain language", "stsb", plain_language, "positive_pairs", ("Official wording", "Plain-language wording")),
    Layout("seventh: anchor and positive", "stsb", anchor_positive, "positive_pairs", ("anchor", "positive"), write="jsonl"),
    Layout("seventh: title and body", "stsb", title_body, "positive_pairs", ("title", "body")),
    Layout("seventh: query and list", "stsb", query_pos, "positive_pairs", ("query", "pos"), write="jsonl"),
    Layout(
        "seventh: pairs without header",
        "stsb",
        bare_pairs,
        "positive_pairs",
        ("column_1", "column_2"),
        write="tsv",
        header=False,
    ),
    Layout("seventh: constant label", "stsb", constant_label, "positive_pairs", ("text_a", "text_b"), write="pipe"),
]


# An anchor, a positive, and negatives.


def nli_triplets(rows: Rows) -> Columns:
    by_premise: dict[str, dict[str, str]] = {}
    for premise, hypothesis, label in zip(rows.a, rows.b, rows.label, strict=True):
        by_premise.setdefault(premise, {})[label] = hypothesis
    whole = {premise: found for premise, found in by_premise.items() if {"entailment", "contradiction"} <= found.keys()}
    return {
        "sent0": list(whole),
        "sent1": [found["entailment"] for found in whole.values()],
        "hard_neg": [found["contradiction"] for found in whole.values()],
    }


def bare_triplets(rows: Rows) -> Columns:
    rows = alike(rows)
    return {"column_1": rows.a, "column_2": rows.b, "column_3": turned(rows.b, 17)}


def flag_lists(rows: Rows) -> Columns:
    rows = alike(rows)
    others = zip(turned(rows.b, 9), turned(rows.b, 31), turned(rows.a, 52), strict=True)
    return {"query": rows.a, "pos": [[text] for text in rows.b], "neg": [list(found) for found in others]}


def many_negatives(rows: Rows) -> Columns:
    rows = alike(rows)
    return {
        "qid": ids(len(rows), 3001),
        "anchor": rows.a,
        "positive": rows.b,
        "negative_1": turned(rows.b, 5),
        "negative_2": turned(rows.b, 23),
        "negative_3": turned(rows.b, 41),
    }


def answers(rows: Rows) -> Columns:
    rows = alike(rows)
    return {
        "wrong_answer": turned(rows.b, 13),
        "question": rows.a,
        "correct_answer": rows.b,
        "topic": ["general"] * len(rows),
    }


def clicks(rows: Rows) -> Columns:
    rows = alike(rows)
    return {
        "Sitzung": [f"{number:08x}" for number in numbers(len(rows), 1, 2**32 - 1)],
        "Datum": days(len(rows), "%d.%m.%Y"),
        "Suchanfrage": [text.rstrip(" .").lower() for text in rows.a],
        "geklickter Titel": rows.b,
        "Position": numbers(len(rows), 1, 10),
        "nicht geklickter Titel": turned(rows.b, 29),
    }


TRIPLETS = [
    Layout("seventh: SimCSE triplets", "snli", nli_triplets, "triplets", ("sent0", "sent1", "hard_neg")),
    Layout(
        "seventh: triplets without header",
        "stsb",
        bare_triplets,
        "triplets",
        ("column_1", "column_2", "column_3"),
        write="tsv",
        header=False,
    ),
    # A list of three negatives is spread into three columns.
    Layout(
        "seventh: FlagEmbedding lists",
        "stsb",
        flag_lists,
        "triplets",
        ("query", "pos", "neg", "neg_2", "neg_3"),
        write="parquet",
    ),
    Layout(
        "seventh: three negatives",
        "stsb",
        many_negatives,
        "triplets",
        ("anchor", "positive", "negative_1", "negative_2", "negative_3"),
        write="jsonl",
    ),
    Layout("seventh: right and wrong answer", "stsb", answers, "triplets", ("question", "correct_answer", "wrong_answer")),
    Layout(
        "seventh: German click log",
        "stsb",
        clicks,
        "triplets",
        ("Suchanfrage", "geklickter Titel", "nicht geklickter Titel"),
        write="semicolon utf-8-sig",
    ),
]


# One text and a category.

TREC_HINDI = {"0": "विवरण", "1": "वस्तु", "2": "संक्षेप", "3": "व्यक्ति", "4": "संख्या", "5": "स्थान"}
TREC_EMOJI = {"0": "💬", "1": "📦", "2": "🔤", "3": "🧑", "4": "🔢", "5": "🌍"}
TREC_ITALIAN = {
    "0": "Descrizione, definizione",
    "1": "Cosa / entità",
    "2": "Abbreviazione",
    "3": "Persona, gruppo",
    "4": "Numero, data",
    "5": "Luogo",
}


def tickets(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "Ticket#": ids(count, 20220400001, 3),
        "Eröffnet": days(count, "%d.%m.%Y %H:%M"),
        "Priorität": some(count, "3 normal", "3 normal", "4 hoch", "2 niedrig"),
        "Anliegen": rows.a,
        "Queue": [f"Bank::{label.split('_')[0].title()}::{label.replace('_', ' ')}" for label in rows.label],
        "Bearbeitungs-\nzeit (min)": numbers(count, 1, 340),
    }


def medical_codes(rows: Rows) -> Columns:
    names = sorted(set(rows.label))
    codes = {name: f"{'EGJKM'[at % 5]}{11 + 4 * at}.{at % 10}" for at, name in enumerate(names)}
    return {
        "record": ids(len(rows), 70012, 9),
        "complaint as written": rows.a,
        "code": rows.named(codes),
        "coder": some(len(rows), "hn", "pw", "dz"),
        "coded_on": days(len(rows)),
    }


def emojis(rows: Rows) -> Columns:
    return {"msg": rows.a, "reaction": rows.named(TREC_EMOJI), "chars": [len(text) for text in rows.a]}


def number_names(rows: Rows) -> Columns:
    return {"class": [int(label) + 1 for label in rows.label], "question": rows.a}


def survey_codes(rows: Rows) -> Columns:
    names = sorted(set(rows.label))
    return {
        "resp_id": ids(len(rows), 1001),
        "gewicht": [comma(number / 1000, 3) for number in numbers(len(rows), 350, 2400)],
        "F12 offene Antwort": plain(rows.a),
        "F12 Code": [str(101 + names.index(label)) for label in rows.label],
        "Alter": numbers(len(rows), 18, 84, seed=6),
    }


def hindi(rows: Rows) -> Columns:
    return {
        "क्रमांक": ids(len(rows)),
        "प्रश्न": rows.a,
        "श्रेणी": holes(rows.named(TREC_HINDI), 83),
        "टिप्पणी": [""] * len(rows),
    }


def intents(rows: Rows) -> Columns:
    chance = random.Random(44)
    return {
        "utterance": rows.a,
        "intent": rows.label,
        "asr_confidence": [round(chance.uniform(0.71, 1), 6) for _ in rows.a],
        "channel": some(len(rows), "ivr", "app", "web"),
        "is_test": [False] * len(rows),
    }


def bare_categories(rows: Rows) -> Columns:
    return {"column_1": [f"__label__{label}" for label in rows.label], "column_2": rows.a}


def italian(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "id": list(range(1, count + 1)),
        "domanda": rows.a,
        "scelta": rows.named(TREC_ITALIAN),
        "annotator": [3] * count,
        "annotation_id": list(range(901, 901 + count)),
        "created_at": [f"{day}T08:15:00.123456Z" for day in days(count)],
        "lead_time": [round(number / 97, 3) for number in numbers(count, 100, 9000)],
    }


CATEGORIES = [
    Layout("seventh: tickets and queues", "banking77", tickets, "labelled_texts", ("Anliegen",), "Queue", None, False, write="semicolon"),
    Layout("seventh: medical codes", "banking77", medical_codes, "labelled_texts", ("complaint as written",), "code", None, False),
    Layout("seventh: emojis", "trec", emojis, "labelled_texts", ("msg",), "reaction", None, False, write="tsv"),
    Layout("seventh: numbers as names", "trec", number_names, "labelled_texts", ("question",), "class", None, False),
    Layout(
        "seventh: survey codes",
        "banking77",
        survey_codes,
        "labelled_texts",
        ("F12 offene Antwort",),
        "F12 Code",
        None,
        False,
        write="semicolon cp1252",
    ),
    Layout("seventh: Hindi categories", "trec", hindi, "labelled_texts", ("प्रश्न",), "श्रेणी", None, False),
    Layout("seventh: intents", "banking77", intents, "labelled_texts", ("utterance",), "intent", None, False, write="parquet"),
    Layout(
        "seventh: categories without header",
        "banking77",
        bare_categories,
        "labelled_texts",
        ("column_2",),
        "column_1",
        None,
        False,
        write="tsv",
        header=False,
    ),
    Layout("seventh: Label Studio, Italian", "trec", italian, "labelled_texts", ("domanda",), "scelta", None, False, write="json"),
]


# Bare texts.


def one_column(rows: Rows) -> Columns:
    return {"column_1": rows.a}


def crawl(rows: Rows) -> Columns:
    count = len(rows)
    return {
        "url": [f"https://news.example.org/{2015 + at % 8}/{at * 37:06d}.html" for at in range(count)],
        "fetched": days(count, "%Y-%m-%dT03:00:00Z"),
        "n_chars": [len(text) for text in rows.a],
        "content": rows.a,
        "lang": ["en"] * count,
        "lang_conf": [round(0.9 + number / 1000, 3) for number in numbers(count, 0, 99)],
    }


def open_answers(rows: Rows) -> Columns:
    return {
        "": ids(len(rows), 0),
        "Lopnummer": ids(len(rows), 5500),
        "Fritextsvar": rows.a,
        "Inkom": days(len(rows)),
    }


SENTENCES = [
    Layout("seventh: one column without header", "stsb", one_column, "sentences", ("column_1",), header=False),
    Layout("seventh: crawl", "mrpc", crawl, "sentences", ("content",), write="jsonl"),
    Layout("seventh: open answers, Swedish", "banking77", open_answers, "sentences", ("Fritextsvar",), write="csv utf-16"),
]

LAYOUTS: list[Layout] = [*SCORED, *LABELLED, *POSITIVE, *TRIPLETS, *CATEGORIES, *SENTENCES]
