"""A third set of tables as people bring them, written by someone who had seen neither how tables are read nor the other layouts."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from layouts import Columns, Layout, Rows

PEOPLE = ("Anna", "Tom", "Mehmet", "Julia", "Priya", "Sam", "Olu", "Kathrin")
REMARKS = ("", "", "", "not sure", "", "", "typo in second", "", "", "", "please check again", "")
AREAS = {"0": "definition", "1": "thing", "2": "abbreviation", "3": "person", "4": "place", "5": "number"}


def unnamed(at: int) -> str:
    """How the column at a place (from 1) of a table without header is called."""
    return f"column_{at}"


def cycle(words: Sequence[Any], rows: Rows) -> list[Any]:
    """The words over and over, one a row."""
    return [words[(at * 7 + at // 5) % len(words)] for at in range(len(rows))]


def drawn(rows: Rows, low: float, high: float, digits: int = 0, seed: int = 5) -> list[Any]:
    """Numbers that have nothing to do with the texts."""
    chance = random.Random(seed)
    values = [round(chance.uniform(low, high), digits) for _ in range(len(rows))]
    return values if digits else [int(value) for value in values]


def dates(rows: Rows, form: str = "%Y-%m-%d", hours: int = 7) -> list[str]:
    """Points in time, one after the other."""
    start = datetime(2023, 2, 6, 8, 12)
    return [(start + timedelta(hours=hours * at, minutes=at * 13 % 60)).strftime(form) for at in range(len(rows))]


def ids(rows: Rows, form: str = "{}", start: int = 1, step: int = 1) -> list[str]:
    """Running numbers, written somehow."""
    return [form.format(start + step * at) for at in range(len(rows))]


def comma(value: float, digits: int = 1) -> str:
    """A number with a decimal comma."""
    return f"{value:.{digits}f}".replace(".", ",")


def single(value: float) -> float:
    """What is left of a number in 32 bits."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def fits(rows: Rows, encoding: str) -> Rows:
    """The rows that can be written in an encoding."""
    kept = []
    for at in range(len(rows)):
        try:
            (rows.a[at] + (rows.b[at] if rows.b else "")).encode(encoding)
        except UnicodeEncodeError:
            continue
        kept.append(at)
    return rows.take(kept)


def among(rows: Rows, *labels: str) -> Rows:
    """The rows that have one of the labels."""
    return rows.take([at for at, label in enumerate(rows.label) if label in labels])


def alike(rows: Rows, least: float = 3.5) -> Rows:
    """The rows whose texts say much the same."""
    return rows.take([at for at, score in enumerate(rows.score) if score >= least])


def same(rows: Rows, yes: str, no: str) -> list[str]:
    """Two words for paraphrase and no paraphrase."""
    return rows.named({"1": yes, "0": no})


def nli(rows: Rows, contradiction: str, neutral: str, entailment: str) -> list[str]:
    """Three words for the relation of premise and hypothesis."""
    return rows.named({"contradiction": contradiction, "neutral": neutral, "entailment": entailment})


def others(rows: Rows, shift: int) -> list[str]:
    """Second texts of other rows."""
    return [rows.b[(at + shift) % len(rows)] for at in range(len(rows))]


def overlap(rows: Rows) -> list[float]:
    """The share of words that both texts have."""
    found = []
    for a, b in zip(rows.a, rows.b, strict=True):
        first, second = set(a.lower().split()), set(b.lower().split())
        found.append(round(len(first & second) / max(1, len(first | second)), 4))
    return found


def raters(rows: Rows, seed: int) -> list[int]:
    """Whole scores 0–5 of one annotator."""
    chance = random.Random(seed)
    return [min(5, max(0, round(score + chance.gauss(0, 0.7)))) for score in rows.score]


def spoken(rows: Rows) -> list[str]:
    """Categories in words: ``card_arrival`` becomes ``Card arrival``."""
    return [label.replace("_", " ").capitalize() for label in rows.label]


def ranked(rows: Rows) -> list[int]:
    """Places by score: 1 for the pair most alike."""
    order = sorted(range(len(rows)), key=lambda at: -rows.score[at])
    places = [0] * len(rows)
    for place, at in enumerate(order):
        places[at] = place + 1
    return places


def gaps(values: Sequence[Any], *words: str, every: int = 23) -> list[Any]:
    """The values with a word for nothing here and there."""
    return [words[at // every % len(words)] if at % every == every - 4 else value for at, value in enumerate(values)]


def coded(values: Sequence[int], code: int, every: int = 19) -> list[int]:
    """The values with a number for no answer here and there."""
    return [code if at % every == 11 else value for at, value in enumerate(values)]


def changed(rows: Rows) -> list[str]:
    """What a linguist would call the change from the first text to the second."""

    def name(a: str, b: str) -> str:
        first, second = a.lower().split(), b.lower().split()
        denied = [bool({"not", "no", "nobody", "isn't"} & set(words)) for words in (first, second)]
        if denied[0] != denied[1]:
            return "negation"
        if len(second) - len(first) >= 2:
            return "expansion"
        if len(first) - len(second) >= 2:
            return "reduction"
        return "substitution"

    return [name(a, b) for a, b in zip(rows.a, rows.b, strict=True)]


def qualtrics(rows: Rows) -> Columns:
    """An export of Qualtrics: under the names stand the questions and the import ids."""
    answers = [1 + round(score * 6 / 5) for score in rows.score]
    return {
        "StartDate": ["Start Date", '{"ImportId":"startDate"}', *dates(rows, "%Y-%m-%d %H:%M:%S")],
        "Duration (in seconds)": ["Duration (in seconds)", '{"ImportId":"duration"}', *drawn(rows, 8, 95)],
        "ResponseId": ["Response ID", '{"ImportId":"_recordId"}', *ids(rows, "R_3pX{}q", 41207, 31)],
        "text_a": ["text_a", '{"ImportId":"text_a"}', *rows.a],
        "text_b": ["text_b", '{"ImportId":"text_b"}', *rows.b],
        "Q4": ["How close in meaning are the two texts? (1 = not at all, 7 = identical)", '{"ImportId":"QID4"}', *answers],
    }


PLAIN: list[Layout] = [
    Layout(
        "third teacher points",
        "stsb",
        lambda r: {
            "Student no.": ids(r, "S{:03d}"),
            "Class": cycle(("10a", "10b", "10c"), r),
            "Model answer": r.a,
            "Student answer": r.b,
            "Points": [round(score * 2) / 2 for score in r.score],
        },
        "scored_pairs",
        ("Model answer", "Student answer"),
        "Points",
        scale=(0.0, 5.0),
    ),
    Layout(
        "third duplicate tickets",
        "mrpc",
        lambda r: {
            "Ticket A": r.a,
            "Ticket B": r.b,
            "Duplicate?": same(r, "Yes", "No"),
            "Checked by": cycle(PEOPLE, r),
            "Checked on": dates(r, "%m/%d/%Y"),
        },
        "labelled_pairs",
        ("Ticket A", "Ticket B"),
        "Duplicate?",
        labels=("No", "Yes"),
    ),
    Layout(
        "third job duties",
        "stsb",
        lambda r: {
            "Position ID": ids(r, "HR-{}", 2210, 3),
            "Duty in job ad": r.a,
            "Duty in CV": r.b,
            "Fit": r.cut("No fit", "Partial fit", "Full fit"),
        },
        "labelled_pairs",
        ("Duty in job ad", "Duty in CV"),
        "Fit",
        labels=("No fit", "Partial fit", "Full fit"),
        ordered=True,
    ),
    Layout(
        "third Google Forms",
        "stsb",
        lambda r: {
            "Timestamp": dates(r, "%m/%d/%Y %H:%M:%S"),
            "First sentence": r.a,
            "Second sentence": r.b,
            "How similar are these two sentences? (1 = completely different, 5 = same meaning)": [1 + round(s * 0.8) for s in r.score],
            "Any comments?": cycle(REMARKS, r),
        },
        "scored_pairs",
        ("First sentence", "Second sentence"),
        "How similar are these two sentences? (1 = completely different, 5 = same meaning)",
        scale=(1.0, 5.0),
    ),
    Layout(
        "third customer feedback topics",
        "banking77",
        lambda r: {
            "Date": dates(r, "%d %b %Y"),
            "Channel": cycle(("App", "Phone", "E-mail", "Chat"), r),
            "Comment": r.a,
            "Topic": spoken(r),
        },
        "labelled_texts",
        ("Comment",),
        "Topic",
        ordered=False,
    ),
    Layout(
        "third chatbot intents",
        "banking77",
        lambda r: {"utterance": r.a, "intent": r.label},
        "labelled_texts",
        ("utterance",),
        "intent",
        ordered=False,
        write="jsonl",
    ),
    Layout(
        "third STS benchmark as published",
        "stsb",
        lambda r: {
            "genre": cycle(("main-news", "main-captions", "main-forums"), r),
            "filename": cycle(("MSRvid", "headlines", "images", "deft-forum"), r),
            "year": cycle(("2012test", "2013", "2014", "2015"), r),
            "old_index": drawn(r, 1, 1500),
            "score": r.scores("{:.3f}".format),
            "sentence1": r.a,
            "sentence2": r.b,
        },
        "scored_pairs",
        ("sentence1", "sentence2"),
        "score",
        scale=(0.0, 5.0),
        write="tsv",
    ),
    Layout(
        "third SICK as published",
        "sick",
        lambda r: {
            "pair_ID": ids(r),
            "sentence_A": r.a,
            "sentence_B": r.b,
            "relatedness_score": r.score,
            "entailment_judgment": [label.upper() for label in r.label],
        },
        "scored_pairs",
        ("sentence_A", "sentence_B"),
        "relatedness_score",
        scale=(1.0, 5.0),
        write="tsv",
    ),
    Layout(
        "third SNLI as published",
        "snli",
        lambda r: {
            "captionID": ids(r, "{}.jpg#0", 3416050480, 977),
            "gold_label": r.label,
            "pairID": ids(r, "{}.jpg#0r1n", 3416050480, 977),
            "sentence1": r.a,
            "sentence2": r.b,
        },
        "labelled_pairs",
        ("sentence1", "sentence2"),
        "gold_label",
        labels=("contradiction", "neutral", "entailment"),
        ordered=True,
        write="jsonl",
    ),
    Layout(
        "third question pairs of a forum",
        "mrpc",
        lambda r: {
            "id": ids(r, start=0),
            "qid1": ids(r, start=1, step=2),
            "qid2": ids(r, start=2, step=2),
            "question1": r.a,
            "question2": r.b,
            "is_duplicate": r.label,
        },
        "labelled_pairs",
        ("question1", "question2"),
        "is_duplicate",
        labels=("0", "1"),
    ),
    Layout(
        "third query and passage",
        "mrpc",
        lambda r: (k := among(r, "1")) and {"query": k.a, "passage": k.b},
        "positive_pairs",
        ("query", "passage"),
        write="jsonl",
    ),
    Layout(
        "third anchor positive negative",
        "mrpc",
        lambda r: (k := among(r, "1")) and {"anchor": k.a, "positive": k.b, "negative": others(k, 17)},
        "triplets",
        ("anchor", "positive", "negative"),
    ),
    Layout(
        "third corpus with sources",
        "stsb",
        lambda r: {
            "doc_id": ids(r, "D{:05d}", 12),
            "source": cycle(("intranet", "wiki", "mail archive"), r),
            "published": dates(r, hours=31),
            "text": r.a,
        },
        "sentences",
        ("text",),
    ),
    Layout("third one column", "trec", lambda r: {"Question": r.a}, "sentences", ("Question",)),
    Layout(
        "third float32 scores",
        "stsb",
        lambda r: {
            "sentence1": r.a,
            "sentence2": r.b,
            "score": [single(s / 5) for s in r.score],
        },
        "scored_pairs",
        ("sentence1", "sentence2"),
        "score",
        scale=(0.0, 1.0),
        write="parquet",
    ),
    Layout(
        "third gold whole numbers",
        "stsb",
        lambda r: {"pid": ids(r, "p{}"), "s1": r.a, "s2": r.b, "gold": [round(s) for s in r.score]},
        "scored_pairs",
        ("s1", "s2"),
        "gold",
        scale=(0.0, 5.0),
        write="json",
    ),
    Layout(
        "third Likert words",
        "stsb",
        lambda r: {
            "Statement 1": r.a,
            "Statement 2": r.b,
            "They mean the same": r.cut("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
        },
        "labelled_pairs",
        ("Statement 1", "Statement 2"),
        "They mean the same",
        labels=("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
        ordered=True,
    ),
    Layout(
        "third FAQ rephrased",
        "stsb",
        lambda r: (k := alike(r)) and {"No.": ids(k), "FAQ": k.a, "How customers put it": k.b, "Language": ["en"] * len(k)},
        "positive_pairs",
        ("FAQ", "How customers put it"),
    ),
    Layout(
        "third question types by number",
        "trec",
        lambda r: {"question": r.a, "class_id": [int(label) for label in r.label]},
        "labelled_texts",
        ("question",),
        "class_id",
        ordered=False,
    ),
    Layout(
        "third 0 to 100",
        "stsb",
        lambda r: {"Item": ids(r), "Old wording": r.a, "New wording": r.b, "Similarity 0-100": [round(s * 20) for s in r.score]},
        "scored_pairs",
        ("Old wording", "New wording"),
        "Similarity 0-100",
        scale=(0.0, 100.0),
    ),
    Layout(
        "third 1 to 10",
        "sick",
        lambda r: {"rating": [round(1 + (s - 1) * 9 / 4) for s in r.score], "caption_left": r.a, "caption_right": r.b},
        "scored_pairs",
        ("caption_left", "caption_right"),
        "rating",
        scale=(1.0, 10.0),
    ),
    Layout(
        "third paraphrase or not",
        "mrpc",
        lambda r: {"original": r.a, "rewrite": r.b, "verdict": same(r, "paraphrase", "not a paraphrase")},
        "labelled_pairs",
        ("original", "rewrite"),
        "verdict",
        labels=("not a paraphrase", "paraphrase"),
        write="tsv",
    ),
    Layout(
        "third unrelated related same",
        "stsb",
        lambda r: {"text_1": r.a, "text_2": r.b, "relation": r.cut("unrelated", "related", "same meaning"), "rater": cycle(PEOPLE, r)},
        "labelled_pairs",
        ("text_1", "text_2"),
        "relation",
        labels=("unrelated", "related", "same meaning"),
        ordered=True,
        write="semicolon",
    ),
    Layout(
        "third relevance of hits",
        "stsb",
        lambda r: {"query_id": ids(r, "q{}"), "query": r.a, "doc": r.b, "relevance": [min(3, int(s / 1.3)) for s in r.score]},
        "scored_pairs",
        ("query", "doc"),
        "relevance",
        scale=(0.0, 3.0),
        write="tsv",
    ),
    Layout(
        "third helpdesk",
        "banking77",
        lambda r: {
            "Ticket #": ids(r, "#{}", 88120, 4),
            "Agent": cycle(PEOPLE, r),
            "Priority": cycle(("Normal", "High", "Normal", "Low"), r),
            "Customer message": r.a,
            "Category": spoken(r),
        },
        "labelled_texts",
        ("Customer message",),
        "Category",
        ordered=False,
    ),
    Layout(
        "third query with three bad answers",
        "mrpc",
        lambda r: (
            (k := among(r, "1"))
            and {"query": k.a, "answer": k.b, "negative_1": others(k, 11), "negative_2": others(k, 52), "negative_3": others(k, 97)}
        ),
        "triplets",
        ("query", "answer", "negative_1", "negative_2", "negative_3"),
        write="jsonl",
    ),
]

TWIST: list[Layout] = [
    Layout(
        "third distance 0 to 1",
        "stsb",
        lambda r: {"phrase_a": r.a, "phrase_b": r.b, "distance": [round(1 - s / 5, 3) for s in r.score]},
        "scored_pairs",
        ("phrase_a", "phrase_b"),
        "distance",
        scale=(1.0, 0.0),
    ),
    Layout(
        "third dissimilarity in points",
        "sick",
        lambda r: {"id": ids(r), "scene_a": r.a, "scene_b": r.b, "dissim": [round((5 - s) * 25) for s in r.score]},
        "scored_pairs",
        ("scene_a", "scene_b"),
        "dissim",
        scale=(100.0, 0.0),
        write="tsv",
    ),
    Layout(
        "third place in a ranking",
        "stsb",
        lambda r: {"Text A": r.a, "Text B": r.b, "Rank (1 = most similar)": ranked(r)},
        "scored_pairs",
        ("Text A", "Text B"),
        "Rank (1 = most similar)",
        scale=(400.0, 1.0),
    ),
    Layout(
        "third do they differ",
        "mrpc",
        lambda r: {"version 1": r.a, "version 2": r.b, "differs": same(r, "no", "yes")},
        "labelled_pairs",
        ("version 1", "version 2"),
        "differs",
        labels=("yes", "no"),
    ),
    Layout(
        "third contradicts",
        "sick",
        lambda r: (
            (k := among(r, "contradiction", "entailment"))
            and {"claim": k.a, "evidence": k.b, "contradicts?": k.named({"contradiction": "Y", "entailment": "N"})}
        ),
        "labelled_pairs",
        ("claim", "evidence"),
        "contradicts?",
        labels=("Y", "N"),
    ),
    Layout(
        "third changed 1 or 0",
        "stsb",
        lambda r: (k := r.clear()) and {"before": k.a, "after": k.b, "meaning_changed": [int(s < 2) for s in k.score]},
        "labelled_pairs",
        ("before", "after"),
        "meaning_changed",
        labels=("1", "0"),
    ),
    Layout(
        "third score first, texts last",
        "stsb",
        lambda r: {
            "weight": drawn(r, 0.5, 2, 2),
            "sim": r.scores("{:.2f}".format),
            "reviewer remark": cycle(("ok", "I was in doubt here", "clear case", "both fine", "second one is odd English"), r),
            "b": r.b,
            "a": r.a,
        },
        "scored_pairs",
        ("a", "b"),
        "sim",
        scale=(0.0, 5.0),
    ),
    Layout(
        "third three raters and their mean",
        "stsb",
        lambda r: {
            "sent_a": r.a,
            "sent_b": r.b,
            "rater_1": (one := raters(r, 1)),
            "rater_2": (two := raters(r, 2)),
            "rater_3": (three := raters(r, 3)),
            "mean": [round(sum(row) / 3, 2) for row in zip(one, two, three, strict=True)],
        },
        "scored_pairs",
        ("sent_a", "sent_b"),
        "mean",
        scale=(0.0, 5.0),
    ),
    Layout(
        "third human beside machine scores",
        "stsb",
        lambda r: {
            "hyp": r.a,
            "ref": r.b,
            "jaccard": (shared := overlap(r)),
            "chrF": [round(100 * min(1, 0.2 + value), 1) for value in shared],
            "human": [round(s * 20) for s in r.score],
        },
        "scored_pairs",
        ("hyp", "ref"),
        "human",
        scale=(0.0, 100.0),
    ),
    Layout(
        "third score of a teacher model",
        "stsb",
        lambda r: {
            "text": r.a,
            "text_pair": r.b,
            "ce_logit": [round((s - 2.5) * 4.1 + d, 4) for s, d in zip(r.score, drawn(r, -1, 1, 3), strict=True)],
        },
        "scored_pairs",
        ("text", "text_pair"),
        "ce_logit",
        write="jsonl",
    ),
    Layout(
        "third None is a grade",
        "stsb",
        lambda r: {"Requirement": r.a, "Test case": r.b, "Overlap": r.cut("None", "Low", "Medium", "High")},
        "labelled_pairs",
        ("Requirement", "Test case"),
        "Overlap",
        labels=("None", "Low", "Medium", "High"),
        ordered=True,
    ),
    Layout(
        "third missing scores",
        "stsb",
        lambda r: {"left": r.a, "right": r.b, "score (0-5)": gaps(r.scores("{:.1f}".format), "n/a", "-", "", "tbd")},
        "scored_pairs",
        ("left", "right"),
        "score (0-5)",
        scale=(0.0, 5.0),
    ),
    Layout(
        "third missing verdicts",
        "mrpc",
        lambda r: {"sentence_x": r.a, "sentence_y": r.b, "equivalent": gaps(same(r, "Y", "N"), "?", "", "n/a", every=31)},
        "labelled_pairs",
        ("sentence_x", "sentence_y"),
        "equivalent",
        labels=("N", "Y"),
    ),
    Layout(
        "third title lines above",
        "stsb",
        lambda r: {"#": ids(r), "Statement": r.a, "Counterpart": r.b, "Agreement": r.scores("{:.1f}".format)},
        "scored_pairs",
        ("Statement", "Counterpart"),
        "Agreement",
        scale=(0.0, 5.0),
        above=("Wording study 2023, second wave", "Exported 14 March 2023 by J. Weaver", ""),
    ),
    Layout(
        "third Excel sep line",
        "mrpc",
        lambda r: {"Clause A": r.a, "Clause B": r.b, "Result": same(r, "match", "mismatch")},
        "labelled_pairs",
        ("Clause A", "Clause B"),
        "Result",
        labels=("mismatch", "match"),
        write="semicolon",
        above=("sep=;",),
    ),
    Layout(
        "third thousands separator",
        "stsb",
        lambda r: {"segment": r.a, "proposal": r.b, "score of 10,000": [f"{round(s * 2000):,}" for s in r.score], "words": drawn(r, 4, 30)},
        "scored_pairs",
        ("segment", "proposal"),
        "score of 10,000",
        scale=(0.0, 10000.0),
    ),
    Layout(
        "third percent of a match",
        "stsb",
        lambda r: {"Source segment": r.a, "Memory segment": r.b, "Fuzzy match": [f"{round(s * 20)}%" for s in r.score]},
        "scored_pairs",
        ("Source segment", "Memory segment"),
        "Fuzzy match",
        scale=(0.0, 100.0),
    ),
    Layout(
        "third points out of five",
        "stsb",
        lambda r: {"Key": r.a, "Answer": r.b, "Mark": [f"{round(s)}/5" for s in r.score]},
        "scored_pairs",
        ("Key", "Answer"),
        "Mark",
        scale=(0.0, 1.0),
    ),
    Layout(
        "third letter grades",
        "stsb",
        lambda r: {"Pupil": cycle(PEOPLE, r), "Expected": r.a, "Written": r.b, "Grade": r.cut("F", "D", "C", "B", "A")},
        "labelled_pairs",
        ("Expected", "Written"),
        "Grade",
        labels=("F", "D", "C", "B", "A"),
        ordered=True,
    ),
    Layout(
        "third thumbs",
        "stsb",
        lambda r: (k := r.clear()) and {"asked": k.a, "found": k.b, "vote": ["👍" if s > 2 else "👎" for s in k.score]},
        "labelled_pairs",
        ("asked", "found"),
        "vote",
        labels=("👎", "👍"),
        write="jsonl",
    ),
    Layout(
        "third stars",
        "stsb",
        lambda r: {"product a": r.a, "product b": r.b, "alike": r.cut("★", "★★", "★★★", "★★★★", "★★★★★")},
        "labelled_pairs",
        ("product a", "product b"),
        "alike",
        labels=("★", "★★", "★★★", "★★★★", "★★★★★"),
        ordered=True,
    ),
    Layout(
        "third tick and cross",
        "mrpc",
        lambda r: {"Nr": ids(r), "Paragraph old": r.a, "Paragraph new": r.b, "Same content": same(r, "✓", "✗")},
        "labelled_pairs",
        ("Paragraph old", "Paragraph new"),
        "Same content",
        labels=("✗", "✓"),
    ),
    Layout(
        "third an x where it is the same",
        "mrpc",
        lambda r: {"Entry 1": r.a, "Entry 2": r.b, "same (mark with x)": same(r, "x", "")},
        "labelled_pairs",
        ("Entry 1", "Entry 2"),
        "same (mark with x)",
    ),
    Layout(
        "third split and language columns",
        "stsb",
        lambda r: {
            "split": cycle(("train", "train", "train", "dev", "test"), r),
            "lang1": ["eng"] * len(r),
            "lang2": ["eng"] * len(r),
            "text1": r.a,
            "text2": r.b,
            "similarity": [round(s / 5, 2) for s in r.score],
            "len1": [len(text) for text in r.a],
            "len2": [len(text) for text in r.b],
        },
        "scored_pairs",
        ("text1", "text2"),
        "similarity",
        scale=(0.0, 1.0),
    ),
    Layout(
        "third pandas index",
        "mrpc",
        lambda r: {"": ids(r, start=0), "Unnamed: 0": ids(r, start=1200), "s_1": r.a, "s_2": r.b, "y": same(r, "dup", "nodup")},
        "labelled_pairs",
        ("s_1", "s_2"),
        "y",
        labels=("nodup", "dup"),
    ),
    Layout(
        "third similarity beside confidence",
        "stsb",
        lambda r: {
            "news_a": r.a,
            "news_b": r.b,
            "confidence": cycle((5, 4, 3, 5, 4, 2, 1), r),
            "similarity": [1 + round(s * 0.8) for s in r.score],
            "seconds": drawn(r, 3, 80, 1),
        },
        "scored_pairs",
        ("news_a", "news_b"),
        "similarity",
        scale=(1.0, 5.0),
    ),
    Layout(
        "third label beside a model's probability",
        "mrpc",
        lambda r: {
            "text_a": r.a,
            "text_b": r.b,
            "label": same(r, "equivalent", "not_equivalent"),
            "p_baseline": [round(min(0.99, 0.25 + 0.3 * int(v) + d), 3) for v, d in zip(r.label, drawn(r, 0, 0.45, 3), strict=True)],
        },
        "labelled_pairs",
        ("text_a", "text_b"),
        "label",
        labels=("not_equivalent", "equivalent"),
    ),
    Layout(
        "third prompt chosen rejected",
        "mrpc",
        lambda r: (k := among(r, "1")) and {"prompt": k.a, "chosen": k.b, "rejected": others(k, 31)},
        "triplets",
        ("prompt", "chosen", "rejected"),
        write="jsonl",
    ),
    Layout(
        "third triplet with ids between",
        "stsb",
        lambda r: (
            (k := alike(r))
            and {
                "qid": ids(k, "{}", 1048585, 13),
                "query": k.a,
                "pos_id": ids(k, "{}", 7187155, 7),
                "pos_text": k.b,
                "neg_id": ids(k, "{}", 1218855, 11),
                "neg_text": others(k, 29),
            }
        ),
        "triplets",
        ("query", "pos_text", "neg_text"),
        write="tsv",
    ),
    Layout(
        "third instruction beside each pair",
        "stsb",
        lambda r: (
            (k := alike(r))
            and {"instruction": ["Represent this sentence for searching similar sentences:"] * len(k), "query": k.a, "positive": k.b}
        ),
        "positive_pairs",
        ("query", "positive"),
        write="jsonl",
    ),
    Layout(
        "third category number beside length",
        "trec",
        lambda r: {
            "id": ids(r, start=500),
            "n_words": [len(text.split()) for text in r.a],
            "body": r.a,
            "category_id": [int(label) * 10 + 100 for label in r.label],
        },
        "labelled_texts",
        ("body",),
        "category_id",
        ordered=False,
    ),
    Layout(
        "third category paths",
        "trec",
        lambda r: {
            "Question text": r.a,
            "Path": r.named(
                {
                    "0": "Knowledge > Definition",
                    "1": "Knowledge > Thing",
                    "2": "Language > Abbreviation",
                    "3": "World > Person",
                    "4": "World > Place",
                    "5": "World > Number",
                }
            ),
            "ColumnChoices": dates(r, "%Y/%m/%d"),
        },
        "labelled_texts",
        ("Question text",),
        "Path",
        ordered=False,
        write="semicolon",
    ),
    Layout(
        "third two coders and the final code",
        "trec",
        lambda r: {
            "answer": r.a,
            "coder_A": gaps(r.named(AREAS), "thing", "number", every=9),
            "coder_B": gaps(r.named(AREAS), "person", "definition", every=7),
            "final": r.named(AREAS),
        },
        "labelled_texts",
        ("answer",),
        "final",
        ordered=False,
    ),
    Layout(
        "third Prodigy",
        "banking77",
        lambda r: {
            "text": r.a,
            "_input_hash": drawn(r, -2e9, 2e9, 0, 8),
            "_task_hash": drawn(r, -2e9, 2e9, 0, 9),
            "label": [label.upper() for label in r.label],
            "_view_id": ["classification"] * len(r),
            "answer": ["accept"] * len(r),
            "_timestamp": ids(r, "{}", 1678265412, 9),
        },
        "labelled_texts",
        ("text",),
        "label",
        ordered=False,
        write="jsonl",
    ),
    Layout(
        "third Label Studio",
        "stsb",
        lambda r: (
            (k := r.clear())
            and {
                "annotation_id": ids(k, start=311),
                "annotator": cycle((1, 2, 4), k),
                "choice": ["Similar" if s > 2 else "Not similar" for s in k.score],
                "created_at": dates(k, "%Y-%m-%dT%H:%M:%S.000000Z"),
                "id": ids(k, start=9001),
                "lead_time": drawn(k, 1.8, 40, 3),
                "text1": k.a,
                "text2": k.b,
                "updated_at": dates(k, "%Y-%m-%dT%H:%M:%S.120000Z"),
            }
        ),
        "labelled_pairs",
        ("text1", "text2"),
        "choice",
        labels=("Not similar", "Similar"),
    ),
    Layout(
        "third Mechanical Turk",
        "sick",
        lambda r: {
            "HITId": ids(r, "3YT88D1N0{}", 51400, 17),
            "WorkerId": cycle(("A1QX9", "AK3LM", "A2ZZP", "AR77T"), r),
            "AssignmentStatus": ["Approved"] * len(r),
            "WorkTimeInSeconds": drawn(r, 6, 240),
            "Input.sentence1": r.a,
            "Input.sentence2": r.b,
            "Answer.similarity": [round(s) for s in r.score],
        },
        "scored_pairs",
        ("Input.sentence1", "Input.sentence2"),
        "Answer.similarity",
        scale=(1.0, 5.0),
    ),
    Layout("third Qualtrics", "stsb", qualtrics, "scored_pairs", ("text_a", "text_b"), "Q4", scale=(1.0, 7.0)),
    Layout(
        "third 99 is no answer",
        "stsb",
        lambda r: {"CASE": ids(r), "ITEM_A": r.a, "ITEM_B": r.b, "V12": coded([1 + round(s * 6 / 5) for s in r.score], 99)},
        "scored_pairs",
        ("ITEM_A", "ITEM_B"),
        "V12",
        scale=(1.0, 7.0),
        above=("V12: closeness of meaning, 1 = none to 7 = identical, 99 = no answer",),
    ),
    Layout(
        "third database dump with t and f",
        "mrpc",
        lambda r: {"id": ids(r, start=40), "phrase_a": r.a, "phrase_b": r.b, "is_same": same(r, "t", "f"), "note": ["\\N"] * len(r)},
        "labelled_pairs",
        ("phrase_a", "phrase_b"),
        "is_same",
        labels=("f", "t"),
        write="pipe",
    ),
    Layout(
        "third Excel truth values",
        "stsb",
        lambda r: (k := r.clear()) and {"Name in CRM": k.a, "Name in ERP": k.b, "Match": ["TRUE" if s > 2 else "FALSE" for s in k.score]},
        "labelled_pairs",
        ("Name in CRM", "Name in ERP"),
        "Match",
        labels=("FALSE", "TRUE"),
    ),
    Layout(
        "third NLI numbers",
        "snli",
        lambda r: {"premise": r.a, "hypothesis": r.b, "label": [int(v) for v in nli(r, "2", "1", "0")]},
        "labelled_pairs",
        ("premise", "hypothesis"),
        "label",
        labels=("2", "1", "0"),
        write="parquet",
    ),
    Layout(
        "third NLI as fact check",
        "snli",
        lambda r: {"Evidence": r.a, "Claim": r.b, "Verdict": nli(r, "REFUTES", "NOT ENOUGH INFO", "SUPPORTS")},
        "labelled_pairs",
        ("Evidence", "Claim"),
        "Verdict",
        labels=("REFUTES", "NOT ENOUGH INFO", "SUPPORTS"),
        ordered=True,
        write="jsonl",
    ),
    Layout(
        "third kinds of change",
        "sick",
        lambda r: (k := alike(r, 3)) and {"base": k.a, "variant": k.b, "change": changed(k)},
        "labelled_pairs",
        ("base", "variant"),
        "change",
        ordered=False,
    ),
    Layout(
        "third cosine from -1 to 1",
        "stsb",
        lambda r: {"u": r.a, "v": r.b, "target": [round(s * 0.4 - 1, 3) for s in r.score]},
        "scored_pairs",
        ("u", "v"),
        "target",
        scale=(-1.0, 1.0),
        write="json",
    ),
    Layout(
        "third MTEB classification",
        "trec",
        lambda r: {"text": r.a, "label": [int(label) for label in r.label], "label_text": r.named(AREAS)},
        "labelled_texts",
        ("text",),
        "label_text",
        ordered=False,
        write="jsonl",
    ),
    Layout(
        "third scores as strings",
        "stsb",
        lambda r: {
            "url": ids(r, "https://example.org/pair/{}", 77),
            "a_text": r.a,
            "b_text": r.b,
            "meta": [{"batch": at // 50, "annotators": 5} for at in range(len(r))],
            "sts": r.scores("{:.2f}".format),
        },
        "scored_pairs",
        ("a_text", "b_text"),
        "sts",
        scale=(0.0, 5.0),
        write="jsonl",
    ),
    Layout(
        "third no header: pair and score",
        "stsb",
        lambda r: {"a": r.a, "b": r.b, "s": r.scores("{:.1f}".format)},
        "scored_pairs",
        (unnamed(1), unnamed(2)),
        unnamed(3),
        scale=(0.0, 5.0),
        write="tsv",
        header=False,
    ),
    Layout(
        "third no header: query, good, bad",
        "mrpc",
        lambda r: (k := among(r, "1")) and {"q": k.a, "p": k.b, "n": others(k, 43)},
        "triplets",
        (unnamed(1), unnamed(2), unnamed(3)),
        write="tsv",
        header=False,
    ),
    Layout(
        "third no header: category first",
        "banking77",
        lambda r: {"c": r.label, "t": r.a},
        "labelled_texts",
        (unnamed(2),),
        unnamed(1),
        ordered=False,
        header=False,
    ),
]

FOREIGN: list[Layout] = [
    Layout(
        "third German school grades",
        "stsb",
        lambda r: {
            "Musterlösung": r.a,
            "Schülerantwort": r.b,
            "Note (1-6)": [6 - round(s) for s in r.score],
            "Lehrkraft": cycle(PEOPLE, r),
        },
        "scored_pairs",
        ("Musterlösung", "Schülerantwort"),
        "Note (1-6)",
        scale=(6.0, 1.0),
        write="semicolon",
    ),
    Layout(
        "third German grades in words",
        "stsb",
        lambda r: (
            (k := fits(r, "latin-1"))
            and {
                "Lösung": k.a,
                "Antwort": k.b,
                "Bewertung": k.cut("ungenügend", "mangelhaft", "ausreichend", "befriedigend", "gut", "sehr gut"),
            }
        ),
        "labelled_pairs",
        ("Lösung", "Antwort"),
        "Bewertung",
        labels=("ungenügend", "mangelhaft", "ausreichend", "befriedigend", "gut", "sehr gut"),
        ordered=True,
        write="semicolon latin-1",
    ),
    Layout(
        "third German clauses",
        "mrpc",
        lambda r: {
            "Klausel alt": r.a,
            "Klausel neu": r.b,
            "Prüfung": same(r, "stimmt überein", "weicht ab"),
            "geprüft am": dates(r, "%d.%m.%Y"),
        },
        "labelled_pairs",
        ("Klausel alt", "Klausel neu"),
        "Prüfung",
        labels=("weicht ab", "stimmt überein"),
    ),
    Layout(
        "third German difference, decimal comma",
        "sick",
        lambda r: {
            "Satz A": r.a,
            "Satz B": r.b,
            "Unterschied (0 = keiner, 10 = völlig verschieden)": [comma((5 - s) * 2.5) for s in r.score],
        },
        "scored_pairs",
        ("Satz A", "Satz B"),
        "Unterschied (0 = keiner, 10 = völlig verschieden)",
        scale=(10.0, 0.0),
        write="semicolon utf-8-sig",
    ),
    Layout(
        "third French marks out of 20",
        "stsb",
        lambda r: (
            (k := fits(r, "latin-1"))
            and {"Élève": cycle(PEOPLE, k), "Corrigé": k.a, "Réponse": k.b, "Note sur 20": [comma(round(s * 8) / 2) for s in k.score]}
        ),
        "scored_pairs",
        ("Corrigé", "Réponse"),
        "Note sur 20",
        scale=(0.0, 20.0),
        write="semicolon latin-1",
    ),
    Layout(
        "third French yes no",
        "mrpc",
        lambda r: {"Phrase 1": r.a, "Phrase 2": r.b, "Même sens ?": same(r, "oui", "non")},
        "labelled_pairs",
        ("Phrase 1", "Phrase 2"),
        "Même sens ?",
        labels=("non", "oui"),
        write="semicolon",
    ),
    Layout(
        "third Spanish NLI",
        "snli",
        lambda r: {"Premisa": r.a, "Hipótesis": r.b, "Relación": nli(r, "contradicción", "neutral", "implicación")},
        "labelled_pairs",
        ("Premisa", "Hipótesis"),
        "Relación",
        labels=("contradicción", "neutral", "implicación"),
        ordered=True,
        write="csv latin-1",
    ),
    Layout(
        "third Italian how much alike",
        "stsb",
        lambda r: {"Frase A": r.a, "Frase B": r.b, "Si somigliano?": r.cut("per niente", "poco", "abbastanza", "molto")},
        "labelled_pairs",
        ("Frase A", "Frase B"),
        "Si somigliano?",
        labels=("per niente", "poco", "abbastanza", "molto"),
        ordered=True,
    ),
    Layout(
        "third Dutch marks",
        "stsb",
        lambda r: {"Leerling": ids(r, "L{}"), "Modelantwoord": r.a, "Antwoord": r.b, "Cijfer": [comma(1 + s * 9 / 5) for s in r.score]},
        "scored_pairs",
        ("Modelantwoord", "Antwoord"),
        "Cijfer",
        scale=(1.0, 10.0),
        write="semicolon",
    ),
    Layout(
        "third Swedish",
        "stsb",
        lambda r: (
            (k := r.clear()) and {"Ärende 1": k.a, "Ärende 2": k.b, "Bedömning": ["samma sak" if s > 2 else "olika saker" for s in k.score]}
        ),
        "labelled_pairs",
        ("Ärende 1", "Ärende 2"),
        "Bedömning",
        labels=("olika saker", "samma sak"),
    ),
    Layout(
        "third Finnish",
        "mrpc",
        lambda r: {"Lause 1": r.a, "Lause 2": r.b, "Sama merkitys": same(r, "kyllä", "ei"), "Arvioija": cycle(PEOPLE, r)},
        "labelled_pairs",
        ("Lause 1", "Lause 2"),
        "Sama merkitys",
        labels=("ei", "kyllä"),
    ),
    Layout(
        "third Polish grades, cp1250",
        "stsb",
        lambda r: (
            (k := fits(r, "cp1250"))
            and {
                "Zdanie pierwsze": k.a,
                "Zdanie drugie": k.b,
                "Ocena": k.cut("zupełnie różne", "raczej różne", "dość podobne", "takie same"),
                "Uwagi": cycle(("", "", "wątpliwość", "", "błąd w treści", ""), k),
            }
        ),
        "labelled_pairs",
        ("Zdanie pierwsze", "Zdanie drugie"),
        "Ocena",
        labels=("zupełnie różne", "raczej różne", "dość podobne", "takie same"),
        ordered=True,
        write="semicolon cp1250",
    ),
    Layout(
        "third Polish decimal comma, cp1250",
        "stsb",
        lambda r: (
            (k := fits(r, "cp1250")) and {"Lp.": ids(k), "Treść A": k.a, "Treść B": k.b, "Podobieństwo": [comma(s / 5, 2) for s in k.score]}
        ),
        "scored_pairs",
        ("Treść A", "Treść B"),
        "Podobieństwo",
        scale=(0.0, 1.0),
        write="semicolon cp1250",
    ),
    Layout(
        "third Czech",
        "mrpc",
        lambda r: (k := fits(r, "cp1250")) and {"Věta A": k.a, "Věta B": k.b, "Stejný význam": same(k, "ano", "ne")},
        "labelled_pairs",
        ("Věta A", "Věta B"),
        "Stejný význam",
        labels=("ne", "ano"),
        write="semicolon cp1250",
    ),
    Layout(
        "third Hungarian, cp1250",
        "mrpc",
        lambda r: (
            (k := fits(r, "cp1250"))
            and {
                "Első szöveg": k.a,
                "Második szöveg": k.b,
                "Minősítés": same(k, "egyező", "eltérő"),
                "Ellenőrizte": cycle(("Gergő", "Zsófi", "Ödön"), k),
            }
        ),
        "labelled_pairs",
        ("Első szöveg", "Második szöveg"),
        "Minősítés",
        labels=("eltérő", "egyező"),
        write="semicolon cp1250",
    ),
    Layout(
        "third Hungarian school marks",
        "stsb",
        lambda r: {
            "Mintaválasz": r.a,
            "Tanuló válasza": r.b,
            "Jegy": [1 + round(s * 0.8) for s in r.score],
            "Osztály": cycle(("7.a", "7.b"), r),
        },
        "scored_pairs",
        ("Mintaválasz", "Tanuló válasza"),
        "Jegy",
        scale=(1.0, 5.0),
        write="csv utf-8-sig",
    ),
    Layout(
        "third Russian grades, cp1251",
        "stsb",
        lambda r: (
            (k := fits(r, "cp1251"))
            and {
                "№": ids(k),
                "Текст 1": k.a,
                "Текст 2": k.b,
                "Сходство": k.cut("совсем разные", "немного похожи", "очень похожи", "одинаковые"),
            }
        ),
        "labelled_pairs",
        ("Текст 1", "Текст 2"),
        "Сходство",
        labels=("совсем разные", "немного похожи", "очень похожи", "одинаковые"),
        ordered=True,
        write="semicolon cp1251",
    ),
    Layout(
        "third Russian school marks, cp1251",
        "stsb",
        lambda r: (k := fits(r, "cp1251")) and {"Эталон": k.a, "Ответ ученика": k.b, "Оценка": [int(v) for v in k.cut("2", "3", "4", "5")]},
        "scored_pairs",
        ("Эталон", "Ответ ученика"),
        "Оценка",
        scale=(2.0, 5.0),
        write="semicolon cp1251",
    ),
    Layout(
        "third Russian NLI",
        "snli",
        lambda r: {"посылка": r.a, "гипотеза": r.b, "метка": nli(r, "противоречие", "нейтрально", "следование")},
        "labelled_pairs",
        ("посылка", "гипотеза"),
        "метка",
        labels=("противоречие", "нейтрально", "следование"),
        ordered=True,
        write="jsonl",
    ),
    Layout(
        "third Russian categories",
        "trec",
        lambda r: {
            "Дата": dates(r, "%d.%m.%Y"),
            "Вопрос": r.a,
            "Тема": r.named({"0": "определение", "1": "предмет", "2": "сокращение", "3": "человек", "4": "место", "5": "число"}),
        },
        "labelled_texts",
        ("Вопрос",),
        "Тема",
        ordered=False,
        write="semicolon cp1251",
    ),
    Layout(
        "third Ukrainian duplicates",
        "mrpc",
        lambda r: {"Звернення 1": r.a, "Звернення 2": r.b, "Дублікат": same(r, "так", "ні")},
        "labelled_pairs",
        ("Звернення 1", "Звернення 2"),
        "Дублікат",
        labels=("ні", "так"),
    ),
    Layout(
        "third Turkish grades, cp1254",
        "stsb",
        lambda r: (
            (k := fits(r, "cp1254"))
            and {
                "Birinci cümle": k.a,
                "İkinci cümle": k.b,
                "Benzerlik": k.cut("hiç benzemiyor", "az benziyor", "oldukça benziyor", "tamamen aynı"),
                "Açıklama": cycle(("", "", "emin değilim", "", "yazım yanlışı"), k),
            }
        ),
        "labelled_pairs",
        ("Birinci cümle", "İkinci cümle"),
        "Benzerlik",
        labels=("hiç benzemiyor", "az benziyor", "oldukça benziyor", "tamamen aynı"),
        ordered=True,
        write="semicolon cp1254",
    ),
    Layout(
        "third Turkish different or same",
        "mrpc",
        lambda r: (k := fits(r, "cp1254")) and {"Şikâyet A": k.a, "Şikâyet B": k.b, "Karar": same(k, "aynı", "farklı")},
        "labelled_pairs",
        ("Şikâyet A", "Şikâyet B"),
        "Karar",
        labels=("farklı", "aynı"),
        write="csv cp1254",
    ),
    Layout(
        "third Greek",
        "stsb",
        lambda r: (
            (k := r.clear()) and {"Κείμενο Α": k.a, "Κείμενο Β": k.b, "Κρίση": ["ίδιο νόημα" if s > 2 else "άλλο νόημα" for s in k.score]}
        ),
        "labelled_pairs",
        ("Κείμενο Α", "Κείμενο Β"),
        "Κρίση",
        labels=("άλλο νόημα", "ίδιο νόημα"),
    ),
    Layout(
        "third Brazilian marks",
        "stsb",
        lambda r: (
            (k := fits(r, "latin-1"))
            and {"Matrícula": ids(k, "2023{:04d}"), "Gabarito": k.a, "Resposta do aluno": k.b, "Avaliação": [comma(s * 2) for s in k.score]}
        ),
        "scored_pairs",
        ("Gabarito", "Resposta do aluno"),
        "Avaliação",
        scale=(0.0, 10.0),
        write="semicolon latin-1",
    ),
    Layout(
        "third Brazilian yes no",
        "mrpc",
        lambda r: (k := fits(r, "latin-1")) and {"Descrição 1": k.a, "Descrição 2": k.b, "Mesmo significado?": same(k, "sim", "não")},
        "labelled_pairs",
        ("Descrição 1", "Descrição 2"),
        "Mesmo significado?",
        labels=("não", "sim"),
        write="semicolon latin-1",
    ),
    Layout(
        "third Portuguese NLI",
        "sick",
        lambda r: {"premissa": r.a, "hipótese": r.b, "inferência": nli(r, "contradição", "neutro", "acarretamento")},
        "labelled_pairs",
        ("premissa", "hipótese"),
        "inferência",
        labels=("contradição", "neutro", "acarretamento"),
        ordered=True,
        write="json",
    ),
    Layout(
        "third Arabic two words",
        "mrpc",
        lambda r: {"الجملة الأولى": r.a, "الجملة الثانية": r.b, "النتيجة": same(r, "متطابق", "مختلف")},
        "labelled_pairs",
        ("الجملة الأولى", "الجملة الثانية"),
        "النتيجة",
        labels=("مختلف", "متطابق"),
        write="csv utf-8-sig",
    ),
    Layout(
        "third Arabic digits",
        "stsb",
        lambda r: {"النص أ": r.a, "النص ب": r.b, "درجة التشابه": ["٠١٢٣٤٥"[round(s)] for s in r.score]},
        "scored_pairs",
        ("النص أ", "النص ب"),
        "درجة التشابه",
        scale=(0.0, 5.0),
    ),
    Layout(
        "third Arabic NLI",
        "snli",
        lambda r: {"المقدمة": r.a, "الفرضية": r.b, "العلاقة": nli(r, "تناقض", "محايد", "استلزام")},
        "labelled_pairs",
        ("المقدمة", "الفرضية"),
        "العلاقة",
        labels=("تناقض", "محايد", "استلزام"),
        ordered=True,
    ),
    Layout(
        "third Persian grades",
        "stsb",
        lambda r: {"متن اول": r.a, "متن دوم": r.b, "ارتباط": r.cut("نامرتبط", "تا حدی مرتبط", "کاملاً مرتبط")},
        "labelled_pairs",
        ("متن اول", "متن دوم"),
        "ارتباط",
        labels=("نامرتبط", "تا حدی مرتبط", "کاملاً مرتبط"),
        ordered=True,
    ),
    Layout(
        "third Hebrew",
        "mrpc",
        lambda r: {"משפט א": r.a, "משפט ב": r.b, "סיווג": same(r, "זהה", "שונה")},
        "labelled_pairs",
        ("משפט א", "משפט ב"),
        "סיווג",
        labels=("שונה", "זהה"),
        write="tsv utf-16",
    ),
    Layout(
        "third Hindi",
        "stsb",
        lambda r: (k := r.clear()) and {"वाक्य 1": k.a, "वाक्य 2": k.b, "निर्णय": ["समान" if s > 2 else "अलग" for s in k.score]},
        "labelled_pairs",
        ("वाक्य 1", "वाक्य 2"),
        "निर्णय",
        labels=("अलग", "समान"),
    ),
    Layout(
        "third Thai",
        "mrpc",
        lambda r: {"ข้อความ 1": r.a, "ข้อความ 2": r.b, "ผล": same(r, "เหมือนกัน", "ต่างกัน")},
        "labelled_pairs",
        ("ข้อความ 1", "ข้อความ 2"),
        "ผล",
        labels=("ต่างกัน", "เหมือนกัน"),
    ),
    Layout(
        "third Vietnamese two words",
        "mrpc",
        lambda r: {
            "STT": ids(r),
            "Câu 1": r.a,
            "Câu 2": r.b,
            "Kết luận": same(r, "cùng nghĩa", "khác nghĩa"),
            "Ghi chú": cycle(("", "", "xem lại"), r),
        },
        "labelled_pairs",
        ("Câu 1", "Câu 2"),
        "Kết luận",
        labels=("khác nghĩa", "cùng nghĩa"),
        write="csv utf-8-sig",
    ),
    Layout(
        "third Vietnamese points, utf-16",
        "stsb",
        lambda r: {"Đáp án": r.a, "Bài làm": r.b, "Điểm": [comma(s * 2) for s in r.score], "Lớp": cycle(("10A1", "10A2"), r)},
        "scored_pairs",
        ("Đáp án", "Bài làm"),
        "Điểm",
        scale=(0.0, 10.0),
        write="tsv utf-16",
    ),
    Layout(
        "third Indonesian grades",
        "stsb",
        lambda r: {"kalimat_1": r.a, "kalimat_2": r.b, "kemiripan": r.cut("tidak mirip", "agak mirip", "mirip", "sangat mirip")},
        "labelled_pairs",
        ("kalimat_1", "kalimat_2"),
        "kemiripan",
        labels=("tidak mirip", "agak mirip", "mirip", "sangat mirip"),
        ordered=True,
    ),
    Layout(
        "third Swahili",
        "stsb",
        lambda r: (k := r.clear()) and {"sentensi_1": k.a, "sentensi_2": k.b, "maana": ["sawa" if s > 2 else "tofauti" for s in k.score]},
        "labelled_pairs",
        ("sentensi_1", "sentensi_2"),
        "maana",
        labels=("tofauti", "sawa"),
        write="tsv",
    ),
    Layout(
        "third Korean two words, euc-kr",
        "mrpc",
        lambda r: (
            (k := fits(r, "euc-kr"))
            and {"번호": ids(k), "문장1": k.a, "문장2": k.b, "판정": same(k, "같음", "다름"), "비고": cycle(("", "", "확인 필요"), k)}
        ),
        "labelled_pairs",
        ("문장1", "문장2"),
        "판정",
        labels=("다름", "같음"),
        write="csv euc-kr",
    ),
    Layout(
        "third Korean scores, euc-kr",
        "stsb",
        lambda r: (
            (k := fits(r, "euc-kr"))
            and {"첫째 문장": k.a, "둘째 문장": k.b, "유사도 점수": k.scores("{:.1f}".format), "평가자": cycle(("김", "이", "박"), k)}
        ),
        "scored_pairs",
        ("첫째 문장", "둘째 문장"),
        "유사도 점수",
        scale=(0.0, 5.0),
        write="csv euc-kr",
    ),
    Layout(
        "third Korean NLI",
        "snli",
        lambda r: {"전제": r.a, "가설": r.b, "라벨": nli(r, "모순", "중립", "함의")},
        "labelled_pairs",
        ("전제", "가설"),
        "라벨",
        labels=("모순", "중립", "함의"),
        ordered=True,
        write="jsonl",
    ),
    Layout(
        "third Japanese grades, shift_jis",
        "stsb",
        lambda r: (
            (k := fits(r, "shift_jis"))
            and {
                "番号": ids(k),
                "文A": k.a,
                "文B": k.b,
                "評価": k.cut("全く違う", "あまり似ていない", "やや似ている", "ほぼ同じ"),
                "担当者": cycle(("佐藤", "鈴木", "田中"), k),
            }
        ),
        "labelled_pairs",
        ("文A", "文B"),
        "評価",
        labels=("全く違う", "あまり似ていない", "やや似ている", "ほぼ同じ"),
        ordered=True,
        write="csv shift_jis",
    ),
    Layout(
        "third Japanese circle and cross",
        "mrpc",
        lambda r: (k := fits(r, "shift_jis")) and {"質問": k.a, "言い換え": k.b, "同じ意味か": same(k, "○", "×")},
        "labelled_pairs",
        ("質問", "言い換え"),
        "同じ意味か",
        labels=("×", "○"),
        write="csv shift_jis",
    ),
    Layout(
        "third Japanese inquiries",
        "banking77",
        lambda r: {
            "受付日": dates(r, "%Y/%m/%d"),
            "問い合わせ内容": r.a,
            "分類": r.label,
            "対応状況": cycle(("完了", "対応中", "完了"), r),
        },
        "labelled_texts",
        ("問い合わせ内容",),
        "分類",
        ordered=False,
        write="csv shift_jis",
    ),
    Layout(
        "third Chinese shop, gb18030",
        "stsb-zh",
        lambda r: (
            (k := r.clear())
            and {
                "店铺": cycle(("旗舰店", "专营店", "自营"), k),
                "商品标题A": k.a,
                "商品标题B": k.b,
                "价格": drawn(k, 9, 399, 2),
                "是否同款": ["是" if s > 2 else "否" for s in k.score],
            }
        ),
        "labelled_pairs",
        ("商品标题A", "商品标题B"),
        "是否同款",
        labels=("否", "是"),
        write="csv gb18030",
    ),
    Layout(
        "third Chinese grades",
        "stsb-zh",
        lambda r: {"句子甲": r.a, "句子乙": r.b, "相关程度": r.cut("不相关", "部分相关", "基本一致", "完全一致")},
        "labelled_pairs",
        ("句子甲", "句子乙"),
        "相关程度",
        labels=("不相关", "部分相关", "基本一致", "完全一致"),
        ordered=True,
        write="csv utf-8-sig",
    ),
    Layout(
        "third Chinese scores, gb18030",
        "stsb-zh",
        lambda r: {"序号": ids(r), "文本一": r.a, "文本二": r.b, "得分": [int(s) for s in r.score], "标注人": cycle(("小王", "小李"), r)},
        "scored_pairs",
        ("文本一", "文本二"),
        "得分",
        scale=(0.0, 5.0),
        write="csv gb18030",
    ),
    Layout(
        "third Chinese points with a unit",
        "stsb-zh",
        lambda r: {"标准答案": r.a, "学生答案": r.b, "评分": [f"{int(s)}分" for s in r.score]},
        "scored_pairs",
        ("标准答案", "学生答案"),
        "评分",
        scale=(0.0, 5.0),
    ),
    Layout(
        "third Chinese distance",
        "stsb-zh",
        lambda r: {"query1": r.a, "query2": r.b, "语义距离": [round(1 - s / 5, 1) for s in r.score]},
        "scored_pairs",
        ("query1", "query2"),
        "语义距离",
        scale=(1.0, 0.0),
        write="tsv",
    ),
    Layout(
        "third Chinese similar questions",
        "stsb-zh",
        lambda r: (k := alike(r, 4)) and {"问题": k.a, "相似问题": k.b},
        "positive_pairs",
        ("问题", "相似问题"),
        write="csv gb18030",
    ),
    Layout(
        "third Chinese triplets",
        "stsb-zh",
        lambda r: (k := alike(r, 3)) and {"原句": k.a, "正例": k.b, "负例": others(k, 37)},
        "triplets",
        ("原句", "正例", "负例"),
        write="jsonl",
    ),
    Layout(
        "third Chinese corpus",
        "stsb-zh",
        lambda r: {"编号": ids(r, "ZH{:04d}"), "日期": dates(r), "内容": r.a, "字数": [len(text) for text in r.a]},
        "sentences",
        ("内容",),
        write="csv gb18030",
    ),
    Layout(
        "third Chinese pairs without header",
        "stsb-zh",
        lambda r: (k := r.clear()) and {"a": k.a, "b": k.b, "y": [int(s > 2) for s in k.score]},
        "labelled_pairs",
        (unnamed(1), unnamed(2)),
        unnamed(3),
        labels=("0", "1"),
        write="tsv",
        header=False,
    ),
    Layout(
        "third Taiwanese, big5",
        "mrpc",
        lambda r: (
            (k := fits(r, "big5"))
            and {
                "編號": ids(k),
                "句子一": k.a,
                "句子二": k.b,
                "判斷": same(k, "同義", "不同義"),
                "備註": cycle(("", "", "待確認", "", ""), k),
            }
        ),
        "labelled_pairs",
        ("句子一", "句子二"),
        "判斷",
        labels=("不同義", "同義"),
        write="csv big5",
    ),
    Layout(
        "third Lithuanian",
        "stsb",
        lambda r: (
            (k := r.clear()) and {"Tekstas 1": k.a, "Tekstas 2": k.b, "Išvada": ["sutampa" if s > 2 else "skiriasi" for s in k.score]}
        ),
        "labelled_pairs",
        ("Tekstas 1", "Tekstas 2"),
        "Išvada",
        labels=("skiriasi", "sutampa"),
        write="semicolon",
    ),
]

LAYOUTS: list[Layout] = [*PLAIN, *TWIST, *FOREIGN]
