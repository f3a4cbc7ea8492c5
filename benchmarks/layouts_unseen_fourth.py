"""A fourth set of tables as people bring them, written by someone who had seen neither how tables are read nor the other layouts."""

from __future__ import annotations

import random
import struct
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from layouts import Columns, Layout, Rows

QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‚": ","})
PERSIAN = str.maketrans("0123456789.", "۰۱۲۳۴۵۶۷۸۹٫")
STARS = tuple("★" * count + "☆" * (5 - count) for count in range(1, 6))
GRADED_FR = ("aucun rapport", "vaguement lié", "proche", "identique")
AGREEMENT = ("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree")
TOPICS = dict(zip("012345", ("Explanation", "Thing", "Abbreviation", "Person", "Place", "Number"), strict=True))
TOPICS_VI = dict(zip("012345", ("mô tả", "sự vật", "viết tắt", "con người", "địa điểm", "con số"), strict=True))
TOPICS_IT = dict(zip("012345", ("descrizione", "entità", "sigla", "persona", "luogo", "quantità"), strict=True))
AREAS = {
    "top_up": "Top-up",
    "atm": "Cash",
    "cash": "Cash",
    "transfer": "Transfers",
    "beneficiary": "Transfers",
    "refund": "Refunds",
    "fee": "Charges",
    "charge": "Charges",
    "card": "Cards",
    "contactless": "Cards",
    "identity": "Account",
}


def ascii_of(texts: Sequence[str]) -> list[str]:
    """The texts in letters that every legacy encoding has."""
    return [unicodedata.normalize("NFKD", text.translate(QUOTES)).encode("ascii", "ignore").decode() for text in texts]


def any_of(rows: Rows, *words: str, seed: int = 1) -> list[str]:
    """A word for each row, drawn by chance."""
    return random.Random(seed).choices(words, k=len(rows))


def some(rows: Rows, *words: str, every: int = 17) -> list[str]:
    """A word here and there, and nothing in between."""
    return [words[at // every % len(words)] if at % every == 5 else "" for at in range(len(rows))]


def numbered(rows: Rows, pattern: str = "{}", first: int = 1, step: int = 1) -> list[str]:
    """A number for each row."""
    return [pattern.format(first + step * at) for at in range(len(rows))]


def dates(rows: Rows, pattern: str = "%Y-%m-%d", minutes: int = 397) -> list[str]:
    """A time for each row."""
    return [(datetime(2024, 2, 5, 8, 12, 40) + timedelta(minutes=minutes * at)).strftime(pattern) for at in range(len(rows))]


def chances(rows: Rows, low: float, high: float, pattern: str = "{:.2f}", seed: int = 3) -> list[str]:
    """A number for each row, drawn by chance."""
    draw = random.Random(seed)
    return [pattern.format(draw.uniform(low, high)) for _ in range(len(rows))]


def whole(rows: Rows, low: int, high: int) -> list[str]:
    """The scores 0–5 as whole numbers of another scale."""
    return rows.scores(lambda score: str(round(low + score * (high - low) / 5)))


def missing(values: Sequence[str], code: str, every: int = 37) -> list[str]:
    """The values, with a code for those that are missing."""
    return [code if at % every == 20 else value for at, value in enumerate(values)]


def overlap(rows: Rows) -> list[str]:
    """The share of words that two texts have in common."""
    words = [(set(first.lower().split()), set(second.lower().split())) for first, second in zip(rows.a, rows.b, strict=True)]
    return [f"{len(first & second) / max(1, len(first | second)):.4f}" for first, second in words]


def raters(rows: Rows, count: int) -> list[list[int]]:
    """What several people gave: around the score."""
    draw = random.Random(5)
    return [[min(5, max(0, round(score + draw.gauss(0, 0.35)))) for score in rows.score] for _ in range(count)]


def where(rows: Rows, label: str) -> Rows:
    """The rows of one label."""
    return rows.take([at for at, found in enumerate(rows.label) if found == label])


def siblings(rows: Rows) -> tuple[list[str], list[str]]:
    """Pairs of texts of one category."""
    groups: dict[str, list[str]] = defaultdict(list)
    for text, label in zip(rows.a, rows.label, strict=True):
        groups[label].append(text)
    pairs = [(first, second) for texts in groups.values() for first, second in zip(texts[::2], texts[1::2], strict=False)]
    random.Random(7).shuffle(pairs)
    return [first for first, _ in pairs], [second for _, second in pairs]


def triples(rows: Rows) -> tuple[list[str], list[str], list[str], list[str]]:
    """Anchor, positive and two negatives, from scored pairs."""
    kept = rows.take([at for at, score in enumerate(rows.score) if score >= 3.4])
    return kept.a, kept.b, kept.b[11:] + kept.b[:11], kept.a[29:] + kept.a[:29]


def path_of(label: str) -> str:
    """A category as a path of two steps."""
    area = next((area for part, area in AREAS.items() if part in label), "Other")
    return f"{area} > {label.replace('_', ' ').capitalize()}"


def intents(rows: Rows) -> Columns:
    draw = random.Random(9)
    return {"utterance": rows.a, "intent": rows.label, "confidence": [round(draw.uniform(0.55, 0.999), 4) for _ in rows.a]}


def hub(rows: Rows) -> Columns:
    scores = [struct.unpack("f", struct.pack("f", score / 5))[0] for score in rows.score]
    return {"idx": list(range(len(rows))), "sentence1": rows.a, "sentence2": rows.b, "score": scores}


def faq(rows: Rows) -> Columns:
    first, second = siblings(rows)
    return {"Question": first, "Another way to ask it": second}


def turkish(rows: Rows) -> Columns:
    first, second = siblings(rows)
    cities = random.Random(2).choices(("İstanbul", "İzmir", "Muğla", "Eskişehir"), k=len(first))
    return {"Şehir": cities, "Müşterinin sorusu": first, "Aynı soru, başka sözcüklerle": second}


def passages(rows: Rows) -> Columns:
    rows = where(rows, "1")
    return {"query_id": numbered(rows, "q{}", 1000), "query": rows.a, "passage_id": numbered(rows, "p{}", 88012, 13), "passage": rows.b}


def dutch(rows: Rows) -> Columns:
    rows = where(rows, "1")
    return {"Zoekvraag": rows.a, "Gevonden tekst": rows.b, "Link": numbered(rows, "https://www.voorbeeld.nl/artikel/{}", 20417, 3)}


def mean_of_three(rows: Rows) -> Columns:
    one, two, three = raters(rows, 3)
    mean = [f"{sum(given) / 3:.2f}" for given in zip(one, two, three, strict=True)]
    return {"Sentence 1": rows.a, "Sentence 2": rows.b, "Anna": one, "Ben": two, "Chloe": three, "Mean": mean}


def more_specific(rows: Rows) -> Columns:
    sizes = [len(first) / len(second) for first, second in zip(rows.a, rows.b, strict=True)]
    said = ["first" if size > 1.12 else "second" if size < 0.88 else "both" for size in sizes]
    return {"first text": rows.a, "second text": rows.b, "which one is more specific": said}


def ranked(rows: Rows) -> Columns:
    places = {at: place for place, at in enumerate(sorted(range(len(rows)), key=lambda at: -rows.score[at]), 1)}
    return {"similarity_rank": [places[at] for at in range(len(rows))], "text_1": rows.a, "text_2": rows.b}


def model_and_people(rows: Rows) -> Columns:
    draw = random.Random(4)
    model = [f"{min(1, max(0, 0.35 + 0.6 * float(share) + draw.gauss(0, 0.06))):.6f}" for share in overlap(rows)]
    human = rows.scores(lambda score: f"{score:.2f}")
    return {"sent_a": rows.a, "sent_b": rows.b, "jaccard": overlap(rows), "model_score": model, "human_score": human}


def anchors(rows: Rows) -> Columns:
    anchor, positive, negative, _ = triples(rows)
    return {"anchor": anchor, "positive": positive, "negative": negative}


def negative_first(rows: Rows) -> Columns:
    anchor, positive, negative, _ = triples(rows)
    sources = random.Random(6).choices(("bm25", "random", "manual"), k=len(anchor))
    return {"neg": negative, "query": anchor, "neg_source": sources, "pos": positive}


def two_negatives(rows: Rows) -> Columns:
    anchor, positive, negative, other = triples(rows)
    return {"question": anchor, "good_match": positive, "bad_match_1": negative, "bad_match_2": other}


def czech(rows: Rows) -> Columns:
    anchor, positive, negative, _ = (ascii_of(texts) for texts in triples(rows))
    return {"dotaz": anchor, "správná odpověď": positive, "špatná odpověď": negative}


PLAIN: list[Layout] = [
    Layout(
        "fourth similarity of two sentences",
        "stsb",
        lambda r: {"Sentence A": r.a, "Sentence B": r.b, "Similarity": r.scores(lambda s: f"{s:.1f}")},
        "scored_pairs",
        ("Sentence A", "Sentence B"),
        "Similarity",
        scale=(0.0, 5.0),
    ),
    Layout(
        "fourth ticket match percent",
        "stsb",
        lambda r: {"Ticket no.": numbered(r, "INC{:07}", 48213, 7), "Ticket": r.a, "Earlier ticket": r.b, "Match %": whole(r, 0, 100)},
        "scored_pairs",
        ("Ticket", "Earlier ticket"),
        "Match %",
        scale=(0.0, 100.0),
    ),
    Layout(
        "fourth recruiter fit",
        "stsb",
        lambda r: {"Requirement": r.a, "Line in CV": r.b, "Fit (1-10)": whole(r, 1, 10), "Recruiter": any_of(r, "Maya", "Tom", "Priya")},
        "scored_pairs",
        ("Requirement", "Line in CV"),
        "Fit (1-10)",
        scale=(1.0, 10.0),
    ),
    Layout(
        "fourth exam points",
        "stsb",
        lambda r: {
            "Student": numbered(r, "S-{:03}"),
            "Model answer": r.a,
            "Student answer": r.b,
            "Points (max. 10)": r.scores(lambda s: f"{round(s * 4) / 2:g}"),
        },
        "scored_pairs",
        ("Model answer", "Student answer"),
        "Points (max. 10)",
        scale=(0.0, 10.0),
    ),
    Layout(
        "fourth survey same meaning",
        "mrpc",
        lambda r: {"Statement 1": r.a, "Statement 2": r.b, "Same meaning?": r.named({"0": "No", "1": "Yes"})},
        "labelled_pairs",
        ("Statement 1", "Statement 2"),
        "Same meaning?",
        labels=("No", "Yes"),
    ),
    Layout(
        "fourth product match",
        "mrpc",
        lambda r: {
            "id_left": numbered(r, "{}", 100233, 3),
            "title_left": r.a,
            "id_right": numbered(r, "{}", 904417, 11),
            "title_right": r.b,
            "is_match": r.label,
        },
        "labelled_pairs",
        ("title_left", "title_right"),
        "is_match",
        labels=("0", "1"),
    ),
    Layout(
        "fourth question duplicates",
        "stsb",
        lambda r: {
            "id": numbered(r, "{}", 0),
            "qid1": numbered(r, "{}", 1, 2),
            "qid2": numbered(r, "{}", 2, 2),
            "question1": r.a,
            "question2": r.b,
            "is_duplicate": r.cut("0", "1", edges=[3.3]),
        },
        "labelled_pairs",
        ("question1", "question2"),
        "is_duplicate",
        labels=("0", "1"),
        write="tsv",
    ),
    Layout(
        "fourth gold label",
        "snli",
        lambda r: {"pairID": numbered(r, "{}.jpg#2r1e", 34160, 41), "premise": r.a, "hypothesis": r.b, "gold_label": r.label},
        "labelled_pairs",
        ("premise", "hypothesis"),
        "gold_label",
        labels=("contradiction", "neutral", "entailment"),
        write="tsv",
    ),
    Layout("fourth faq pairs", "banking77", faq, "positive_pairs", ("Question", "Another way to ask it")),
    Layout("fourth query and passage", "mrpc", passages, "positive_pairs", ("query", "passage"), write="jsonl"),
    Layout("fourth anchor positive negative", "stsb", anchors, "triplets", ("anchor", "positive", "negative"), write="jsonl"),
    Layout("fourth text and label", "banking77", lambda r: {"text": r.a, "label": r.label}, "labelled_texts", ("text",), "label"),
    Layout(
        "fourth messages by topic",
        "trec",
        lambda r: {
            "Received": dates(r, "%d/%m/%Y %H:%M"),
            "From": any_of(r, "web form", "e-mail", "chat"),
            "Message": r.a,
            "Topic": r.named(TOPICS),
        },
        "labelled_texts",
        ("Message",),
        "Topic",
    ),
    Layout("fourth intents with confidence", "banking77", intents, "labelled_texts", ("utterance",), "intent", write="json"),
    Layout(
        "fourth ticket subjects",
        "banking77",
        lambda r: {"Ticket ID": numbered(r, "#{}", 20871, 3), "Created": dates(r, "%Y-%m-%d %H:%M:%S"), "Subject": r.a},
        "sentences",
        ("Subject",),
    ),
    Layout("fourth one column of questions", "trec", lambda r: {"text": r.a}, "sentences", ("text",)),
    Layout(
        "fourth spreadsheet true false",
        "mrpc",
        lambda r: {"Text A": r.a, "Text B": r.b, "Duplicate": r.named({"0": "FALSE", "1": "TRUE"})},
        "labelled_pairs",
        ("Text A", "Text B"),
        "Duplicate",
        labels=("FALSE", "TRUE"),
        write="csv utf-8-sig",
    ),
    Layout(
        "fourth hub parquet",
        "stsb",
        hub,
        "scored_pairs",
        ("sentence1", "sentence2"),
        "score",
        scale=(0.0, 1.0),
        write="parquet",
    ),
    Layout(
        "fourth pandas index",
        "mrpc",
        lambda r: {"": numbered(r, "{}", 0), "text_a": r.a, "text_b": r.b, "label": r.label},
        "labelled_pairs",
        ("text_a", "text_b"),
        "label",
        labels=("0", "1"),
    ),
    Layout(
        "fourth low medium high",
        "stsb",
        lambda r: {"Phrase 1": r.a, "Phrase 2": r.b, "Closeness": r.cut("low", "medium", "high")},
        "labelled_pairs",
        ("Phrase 1", "Phrase 2"),
        "Closeness",
        labels=("low", "medium", "high"),
        ordered=True,
    ),
    Layout(
        "fourth mean of three people",
        "stsb",
        mean_of_three,
        "scored_pairs",
        ("Sentence 1", "Sentence 2"),
        "Mean",
        scale=(0.0, 5.0),
    ),
    Layout(
        "fourth distance",
        "stsb",
        lambda r: {"text1": r.a, "text2": r.b, "distance": r.scores(lambda s: f"{1 - s / 5:.3f}")},
        "scored_pairs",
        ("text1", "text2"),
        "distance",
        scale=(1.0, 0.0),
    ),
    Layout(
        "fourth adequacy of translations",
        "sick",
        lambda r: {
            "Segment": numbered(r),
            "Reference translation": r.a,
            "Machine translation": r.b,
            "Adequacy (1-5)": r.scores(lambda s: str(round(s))),
        },
        "scored_pairs",
        ("Reference translation", "Machine translation"),
        "Adequacy (1-5)",
        scale=(1.0, 5.0),
    ),
    Layout(
        "fourth agreement in words",
        "stsb",
        lambda r: {"Text 1": r.a, "Text 2": r.b, "Both texts say the same": r.cut(*AGREEMENT)},
        "labelled_pairs",
        ("Text 1", "Text 2"),
        "Both texts say the same",
        labels=AGREEMENT,
        ordered=True,
    ),
]

TWISTED: list[Layout] = [
    Layout(
        "fourth relatedness and entailment",
        "sick",
        lambda r: {
            "pair_ID": numbered(r, "{}", 1, 24),
            "sentence_A": r.a,
            "sentence_B": r.b,
            "relatedness_score": r.scores(lambda s: f"{s:g}"),
            "entailment_judgment": [label.upper() for label in r.label],
        },
        "scored_pairs",
        ("sentence_A", "sentence_B"),
        "relatedness_score",
        scale=(1.0, 5.0),
        write="tsv",
    ),
    Layout("fourth rank of each pair", "stsb", ranked, "scored_pairs", ("text_1", "text_2"), "similarity_rank", scale=(400.0, 1.0)),
    Layout(
        "fourth letter grades",
        "stsb",
        lambda r: {"Pupil": numbered(r, "pupil {}"), "Expected": r.a, "Written": r.b, "Grade": r.cut("F", "D", "C", "B", "A")},
        "labelled_pairs",
        ("Expected", "Written"),
        "Grade",
        labels=("F", "D", "C", "B", "A"),
        ordered=True,
    ),
    Layout(
        "fourth difference in percent",
        "stsb",
        lambda r: {"old wording": r.a, "new wording": r.b, "difference": r.scores(lambda s: f"{100 - 20 * s:.0f}%")},
        "scored_pairs",
        ("old wording", "new wording"),
        "difference",
        scale=(100.0, 0.0),
    ),
    Layout(
        "fourth code for missing",
        "stsb",
        lambda r: {"case": numbered(r), "item_a": r.a, "item_b": r.b, "sim": missing(r.scores(lambda s: f"{s:.2f}"), "-99")},
        "scored_pairs",
        ("item_a", "item_b"),
        "sim",
        scale=(0.0, 5.0),
    ),
    Layout(
        "fourth thousand points",
        "stsb",
        lambda r: {"query": r.a, "product": r.b, "relevance (0-1,000)": r.scores(lambda s: f"{round(200 * s):,}")},
        "scored_pairs",
        ("query", "product"),
        "relevance (0-1,000)",
        scale=(0.0, 1000.0),
    ),
    Layout(
        "fourth points out of five",
        "stsb",
        lambda r: {"Text 1": r.a, "Text 2": r.b, "Result": r.scores(lambda s: f"{round(s)}/5"), "Checked": any_of(r, "LK", "MB")},
        "scored_pairs",
        ("Text 1", "Text 2"),
        "Result",
    ),
    Layout(
        "fourth marks lost",
        "stsb",
        lambda r: {
            "Key": r.a,
            "Answer": r.b,
            "Marks lost (of 10)": r.scores(lambda s: f"{10 - 2 * s:.0f}"),
            "Class": any_of(r, "9a", "9b", "9c"),
        },
        "scored_pairs",
        ("Key", "Answer"),
        "Marks lost (of 10)",
        scale=(10.0, 0.0),
    ),
    Layout(
        "fourth thumbs",
        "stsb",
        lambda r: {"asked": r.a, "suggested": r.b, "feedback": r.cut("👎", "👍", edges=[3.1])},
        "labelled_pairs",
        ("asked", "suggested"),
        "feedback",
        labels=("👎", "👍"),
        write="jsonl",
    ),
    Layout(
        "fourth minus two to plus two",
        "stsb",
        lambda r: {
            "Item": r.a,
            "Compared with": r.b,
            "Closer or farther (−2 … +2)": r.scores(lambda s: f"{round(s * 0.8 - 2):+d}".replace("-", "−").replace("+0", "0")),
        },
        "scored_pairs",
        ("Item", "Compared with"),
        "Closer or farther (−2 … +2)",
        scale=(-2.0, 2.0),
    ),
    Layout(
        "fourth database dump",
        "mrpc",
        lambda r: {
            "id": numbered(r, "{}", 7714),
            "created_at": dates(r, "%Y-%m-%d %H:%M:%S.%f+00", 3),
            "text_a": r.a,
            "text_b": r.b,
            "dup": r.named({"0": "f", "1": "t"}),
            "checked_by": some(r, "17", "4", every=6),
            "deleted_at": ["\\N"] * len(r),
        },
        "labelled_pairs",
        ("text_a", "text_b"),
        "dup",
        labels=("f", "t"),
        write="pipe",
    ),
    Layout(
        "fourth model score beside the human one",
        "stsb",
        model_and_people,
        "scored_pairs",
        ("sent_a", "sent_b"),
        "human_score",
        scale=(0.0, 5.0),
    ),
    Layout(
        "fourth annotation tool export",
        "stsb",
        lambda r: {
            "annotation_id": numbered(r, "{}", 311),
            "annotator": any_of(r, "1", "2", "5"),
            "choice": r.cut("Different", "Same", edges=[3.1]),
            "created_at": dates(r, "%Y-%m-%dT%H:%M:%S.000000Z", 2),
            "id": numbered(r, "{}", 90021),
            "lead_time": chances(r, 2.1, 48, "{:.3f}"),
            "sentence1": r.a,
            "sentence2": r.b,
            "updated_at": dates(r, "%Y-%m-%dT%H:%M:%S.000000Z", 3),
        },
        "labelled_pairs",
        ("sentence1", "sentence2"),
        "choice",
        labels=("Different", "Same"),
    ),
    Layout(
        "fourth accept and reject",
        "stsb",
        lambda r: {
            "text1": r.a,
            "text2": r.b,
            "_input_hash": [int(number) for number in chances(r, -2e9, 2e9, "{:.0f}")],
            "answer": r.cut("reject", "accept", edges=[2.9]),
            "_timestamp": [1700000000 + 9 * at for at in range(len(r))],
        },
        "labelled_pairs",
        ("text1", "text2"),
        "answer",
        labels=("reject", "accept"),
        write="jsonl",
    ),
    Layout(
        "fourth score first and no header",
        "stsb",
        lambda r: {"s": r.scores(lambda s: f"{s:.3f}"), "a": r.a, "b": r.b},
        "scored_pairs",
        ("column_2", "column_3"),
        "column_1",
        scale=(0.0, 5.0),
        write="tsv",
        header=False,
    ),
    Layout(
        "fourth corpus with lines above",
        "snli",
        lambda r: {
            "url": numbered(r, "https://example.org/photos/{}", 5501, 7),
            "lang": ["en"] * len(r),
            "caption": r.a,
            "characters": [len(text) for text in r.a],
        },
        "sentences",
        ("caption",),
        above=("Export of picture captions", "Date: 2024-03-11", ""),
    ),
    Layout("fourth negative first", "stsb", negative_first, "triplets", ("query", "pos", "neg")),
    Layout("fourth triplets and no header", "stsb", anchors, "triplets", ("column_1", "column_2", "column_3"), write="tsv", header=False),
    Layout(
        "fourth two bad matches",
        "stsb",
        two_negatives,
        "triplets",
        ("question", "good_match", "bad_match_1", "bad_match_2"),
        write="parquet",
    ),
    Layout(
        "fourth numbered class",
        "trec",
        lambda r: {"id": numbered(r, "{}", 1), "question": r.a, "class": r.label},
        "labelled_texts",
        ("question",),
        "class",
    ),
    Layout(
        "fourth category path",
        "banking77",
        lambda r: {
            "Date": dates(r, "%m/%d/%y"),
            "Customer wrote": r.a,
            "Words": [len(text.split()) for text in r.a],
            "Category": [path_of(label) for label in r.label],
        },
        "labelled_texts",
        ("Customer wrote",),
        "Category",
    ),
    Layout(
        "fourth hypothesis before premise",
        "snli",
        lambda r: {"hypothesis": r.b, "premise": r.a, "label": r.named({"entailment": "0", "neutral": "1", "contradiction": "2"})},
        "labelled_pairs",
        ("premise", "hypothesis"),
        "label",
        labels=("2", "1", "0"),
    ),
    Layout(
        "fourth which one is more specific",
        "mrpc",
        more_specific,
        "labelled_pairs",
        ("first text", "second text"),
        "which one is more specific",
        ordered=False,
    ),
    Layout(
        "fourth split weight and lengths",
        "stsb",
        lambda r: {
            "split": any_of(r, *["train"] * 8, "dev", "test"),
            "weight": any_of(r, "1.0", "1.0", "0.5"),
            "len_1": [len(text) for text in r.a],
            "len_2": [len(text) for text in r.b],
            "text_1": r.a,
            "text_2": r.b,
            "gold": whole(r, 0, 4),
        },
        "scored_pairs",
        ("text_1", "text_2"),
        "gold",
        scale=(0.0, 4.0),
    ),
]

FOREIGN: list[Layout] = [
    Layout(
        "fourth russian yes no",
        "mrpc",
        lambda r: {
            "Фраза 1": ascii_of(r.a),
            "Фраза 2": ascii_of(r.b),
            "Одно и то же?": r.named({"0": "нет", "1": "да"}),
            "Комментарий": some(r, "спорный случай", "проверить ещё раз"),
        },
        "labelled_pairs",
        ("Фраза 1", "Фраза 2"),
        "Одно и то же?",
        labels=("нет", "да"),
        write="semicolon cp1251",
    ),
    Layout(
        "fourth japanese similarity",
        "stsb",
        lambda r: {
            "番号": numbered(r),
            "文A": ascii_of(r.a),
            "文B": ascii_of(r.b),
            "類似度（0～5）": whole(r, 0, 5),
            "備考": some(r, "要確認", "判断が難しい", "固有名詞が違う"),
        },
        "scored_pairs",
        ("文A", "文B"),
        "類似度（0～5）",
        scale=(0.0, 5.0),
        write="csv cp932",
    ),
    Layout(
        "fourth korean agreement",
        "stsb",
        lambda r: {
            "문장1": ascii_of(r.a),
            "문장2": ascii_of(r.b),
            "판정": r.cut("불일치", "일치", edges=[3.1]),
            "작업자": any_of(r, "김민수", "이지은", "박서준"),
        },
        "labelled_pairs",
        ("문장1", "문장2"),
        "판정",
        labels=("불일치", "일치"),
        write="csv cp949",
    ),
    Layout(
        "fourth traditional chinese same meaning",
        "mrpc",
        lambda r: {
            "編號": numbered(r),
            "句子一": ascii_of(r.a),
            "句子二": ascii_of(r.b),
            "是否同義": r.named({"0": "不同義", "1": "同義"}),
            "備註": some(r, "語意不清", "請再確認", every=9),
        },
        "labelled_pairs",
        ("句子一", "句子二"),
        "是否同義",
        labels=("不同義", "同義"),
        write="csv big5",
    ),
    Layout(
        "fourth chinese similarity",
        "stsb-zh",
        lambda r: {"句子1": r.a, "句子2": r.b, "相似度": whole(r, 0, 5), "标注员": any_of(r, "王芳", "李强")},
        "scored_pairs",
        ("句子1", "句子2"),
        "相似度",
        scale=(0.0, 5.0),
        write="csv gb18030",
    ),
    Layout(
        "fourth chinese inference",
        "snli",
        lambda r: {"前提": r.a, "假设": r.b, "关系": r.named({"entailment": "蕴含", "neutral": "中立", "contradiction": "矛盾"})},
        "labelled_pairs",
        ("前提", "假设"),
        "关系",
        labels=("矛盾", "中立", "蕴含"),
        write="csv utf-8-sig",
    ),
    Layout(
        "fourth polish comma",
        "stsb",
        lambda r: {
            "Zdanie 1": ascii_of(r.a),
            "Zdanie 2": ascii_of(r.b),
            "Podobieństwo": missing(r.scores(lambda s: f"{s:.1f}".replace(".", ",")), "brak"),
            "Uwagi": some(r, "wątpliwe", "sprawdzić później", "inna treść"),
        },
        "scored_pairs",
        ("Zdanie 1", "Zdanie 2"),
        "Podobieństwo",
        scale=(0.0, 5.0),
        write="semicolon cp1250",
    ),
    Layout(
        "fourth german comma",
        "stsb",
        lambda r: {
            "lfd. Nr.": numbered(r),
            "Text A": r.a,
            "Text B": r.b,
            "Ähnlichkeit": missing(r.scores(lambda s: f"{s / 5:.2f}".replace(".", ",")), "k. A."),
            "Prüfer": any_of(r, "Jäger", "Schulz"),
        },
        "scored_pairs",
        ("Text A", "Text B"),
        "Ähnlichkeit",
        scale=(0.0, 1.0),
        write="semicolon utf-8-sig",
    ),
    Layout(
        "fourth french in four words",
        "stsb",
        lambda r: {"Phrase 1": ascii_of(r.a), "Phrase 2": ascii_of(r.b), "Proximité": r.cut(*GRADED_FR)},
        "labelled_pairs",
        ("Phrase 1", "Phrase 2"),
        "Proximité",
        labels=GRADED_FR,
        ordered=True,
        write="semicolon cp1252",
    ),
    Layout(
        "fourth brazilian percent",
        "stsb",
        lambda r: {
            "Código": numbered(r, "BR-{:04}"),
            "Frase 1": r.a,
            "Frase 2": r.b,
            "Semelhança": r.scores(lambda s: f"{20 * s:.1f}%".replace(".", ",")),
        },
        "scored_pairs",
        ("Frase 1", "Frase 2"),
        "Semelhança",
        scale=(0.0, 100.0),
        write="semicolon",
    ),
    Layout(
        "fourth turkish question pairs",
        "banking77",
        turkish,
        "positive_pairs",
        ("Müşterinin sorusu", "Aynı soru, başka sözcüklerle"),
        write="csv cp1254",
    ),
    Layout(
        "fourth arabic match",
        "stsb",
        lambda r: {"النص الأول": ascii_of(r.a), "النص الثاني": ascii_of(r.b), "النتيجة": r.cut("غير متطابق", "متطابق", edges=[3.1])},
        "labelled_pairs",
        ("النص الأول", "النص الثاني"),
        "النتيجة",
        labels=("غير متطابق", "متطابق"),
        write="csv cp1256",
    ),
    Layout(
        "fourth thai match",
        "stsb",
        lambda r: {
            "ลำดับ": numbered(r),
            "ข้อความที่ 1": ascii_of(r.a),
            "ข้อความที่ 2": ascii_of(r.b),
            "ความหมาย": r.cut("ไม่ตรงกัน", "ตรงกัน", edges=[3.1]),
        },
        "labelled_pairs",
        ("ข้อความที่ 1", "ข้อความที่ 2"),
        "ความหมาย",
        labels=("ไม่ตรงกัน", "ตรงกัน"),
        write="csv cp874",
    ),
    Layout(
        "fourth vietnamese topics",
        "trec",
        lambda r: {"STT": numbered(r), "Câu hỏi": r.a, "Chủ đề": r.named(TOPICS_VI)},
        "labelled_texts",
        ("Câu hỏi",),
        "Chủ đề",
    ),
    Layout(
        "fourth italian categories",
        "trec",
        lambda r: {"Domanda": r.a, "Categoria": r.named(TOPICS_IT), "Priorità": any_of(r, "alta", "media", "bassa")},
        "labelled_texts",
        ("Domanda",),
        "Categoria",
        write="semicolon mac_roman",
    ),
    Layout("fourth dutch search hits", "mrpc", dutch, "positive_pairs", ("Zoekvraag", "Gevonden tekst"), write="semicolon"),
    Layout(
        "fourth ukrainian requests",
        "banking77",
        lambda r: {"№": numbered(r), "Дата": dates(r, "%d.%m.%Y"), "Текст звернення": r.a, "Місто": any_of(r, "Київ", "Львів", "Чернігів")},
        "sentences",
        ("Текст звернення",),
        write="semicolon cp1251",
    ),
    Layout(
        "fourth hungarian reversed",
        "stsb",
        lambda r: {
            "1. mondat": ascii_of(r.a),
            "2. mondat": ascii_of(r.b),
            "Eltérés (1 = ugyanaz, 5 = teljesen más)": whole(r, 5, 1),
            "Megjegyzés": some(r, "később megnézni", "kétséges", "nem egyértelmű"),
        },
        "scored_pairs",
        ("1. mondat", "2. mondat"),
        "Eltérés (1 = ugyanaz, 5 = teljesen más)",
        scale=(5.0, 1.0),
        write="semicolon cp1250",
    ),
    Layout(
        "fourth persian digits",
        "stsb",
        lambda r: {"متن ۱": r.a, "متن ۲": r.b, "شباهت (۰ تا ۵)": r.scores(lambda s: f"{s:.1f}".translate(PERSIAN))},
        "scored_pairs",
        ("متن ۱", "متن ۲"),
        "شباهت (۰ تا ۵)",
        scale=(0.0, 5.0),
    ),
    Layout(
        "fourth indonesian unicode text",
        "stsb",
        lambda r: {"Kalimat 1": r.a, "Kalimat 2": r.b, "Penilaian": r.cut("tidak mirip", "mirip", edges=[2.9])},
        "labelled_pairs",
        ("Kalimat 1", "Kalimat 2"),
        "Penilaian",
        labels=("tidak mirip", "mirip"),
        write="tsv utf-16",
    ),
    Layout(
        "fourth czech triplets",
        "stsb",
        czech,
        "triplets",
        ("dotaz", "správná odpověď", "špatná odpověď"),
        write="semicolon cp1250",
    ),
    Layout(
        "fourth swedish stars",
        "stsb",
        lambda r: {"Mening 1": r.a, "Mening 2": r.b, "Betyg": r.cut(*STARS)},
        "labelled_pairs",
        ("Mening 1", "Mening 2"),
        "Betyg",
        labels=STARS,
        ordered=True,
    ),
]

LAYOUTS: list[Layout] = [*PLAIN, *TWISTED, *FOREIGN]
