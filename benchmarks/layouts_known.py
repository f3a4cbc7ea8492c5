"""Tables as people make them: columns, languages, labels and formats, with what their authors meant. Written beside the reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layouts import Columns, Layout, Rows

_S = ("sentence1", "sentence2")
_DATES = [f"2023-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(400)]
_PEOPLE = ["Anna Weber", "Tom Reed", "Mia Novak"]
_REMARKS = ["checked twice", "see the guide", "", "hard to say", "", "ask the team about this one", ""]


def _repeat(values: Sequence[str], rows: Rows) -> list[str]:
    return [values[at % len(values)] for at in range(len(rows))]


def _pairs(first: str = "sentence1", second: str = "sentence2", **more: Callable[[Rows], Sequence[object]]) -> Callable[[Rows], Columns]:
    return lambda rows: {first: rows.a, second: rows.b} | {name: column(rows) for name, column in more.items()}


def _named(names: Sequence[str], *columns: Callable[[Rows], Sequence[object]]) -> Callable[[Rows], Columns]:
    return lambda rows: dict(zip(names, (column(rows) for column in columns), strict=True))


def _a(rows: Rows) -> list[str]:
    return rows.a


def _b(rows: Rows) -> list[str]:
    return rows.b


def _score(rows: Rows) -> list[str]:
    return rows.scores(lambda score: f"{score:g}")


def _label(rows: Rows) -> list[str]:
    return rows.label


def _dates(rows: Rows) -> list[str]:
    return _DATES[: len(rows)]


def _years(rows: Rows) -> list[int]:
    return [1998 + at * 7 % 27 for at in range(len(rows))]


def _ids(rows: Rows) -> list[int]:
    return [1254 + at * 7919 % 97601 for at in range(len(rows))]


def _splits(rows: Rows) -> list[str]:
    return _repeat(["train", "train", "train", "dev"], rows)


def _people(rows: Rows) -> list[str]:
    return _repeat(_PEOPLE, rows)


def _remarks(rows: Rows) -> list[str]:
    return _repeat(_REMARKS, rows)


def _lengths(rows: Rows) -> list[int]:
    return [len(text) for text in rows.a]


def _spread(rows: Rows) -> list[str]:
    return [f"{0.1 + (at * 37 % 100) / 80:.2f}" for at in range(len(rows))]


def _two(no: str, yes: str) -> Callable[[Rows], Columns]:
    def columns(rows: Rows) -> Columns:
        clear = rows.clear()
        return {"sentence1": clear.a, "sentence2": clear.b, "label": clear.cut(no, yes)}

    return columns


def _words(no: str, yes: str, name: str = "") -> Layout:
    return Layout(name or f"two words: {no} / {yes}", "stsb", _two(no, yes), "labelled_pairs", _S, "label", (no, yes), True)


def _degrees(*names: str) -> Layout:
    return Layout(
        f"degrees: {' < '.join(names)}",
        "stsb",
        _pairs(label=lambda rows: rows.cut(*names)),
        "labelled_pairs",
        _S,
        "label",
        names,
        True,
    )


def _written(name: str, write: Callable[[float], str], scale: tuple[float, float], column: str = "score", how: str = "csv") -> Layout:
    return Layout(name, "stsb", _pairs(**{column: lambda rows: rows.scores(write)}), "scored_pairs", _S, column, scale=scale, write=how)


def _inference(contradiction: str, neutral: str, entailment: str, source: str = "snli") -> Layout:
    names = {"contradiction": contradiction, "neutral": neutral, "entailment": entailment}
    return Layout(
        f"inference ({source}): {contradiction}, {neutral}, {entailment}",
        source,
        _named(("premise", "hypothesis", "label"), _a, _b, lambda rows: rows.named(names)),
        "labelled_pairs",
        ("premise", "hypothesis"),
        "label",
        (contradiction, neutral, entailment),
        True,
    )


def _scored(name: str, columns: Callable[[Rows], Columns], texts: tuple[str, str], target: str, source: str = "stsb") -> Layout:
    return Layout(name, source, columns, "scored_pairs", texts, target)


def _relations(rows: Rows) -> list[str]:
    return _repeat(["cause", "part-of", "is-a", "example"], rows)


def _same_or_not(rows: Rows) -> Columns:
    return {"question1": rows.a, "question2": rows.b, "is_duplicate": rows.label}


def _unlike(rows: Rows) -> list[str]:
    return rows.scores(lambda score: f"{5 - score:g}")


def _triplets(first: str, second: str, third: str) -> Callable[[Rows], Columns]:
    def columns(rows: Rows) -> Columns:
        alike = rows.take([at for at, score in enumerate(rows.score) if score >= 3.5])
        return {first: alike.a, second: alike.b, third: alike.b[7:] + alike.b[:7]}

    return columns


def _alike(**names: str) -> Callable[[Rows], Columns]:
    def columns(rows: Rows) -> Columns:
        alike = rows.take([at for at, score in enumerate(rows.score) if score >= 3.5])
        more = {"year": _years, "user_id": _ids, "date": _dates, "author": _people, "comment": _remarks, "length": _lengths}
        return {names["a"]: alike.a, names["b"]: alike.b} | {name: more[part](alike) for part, name in names.items() if part in more}

    return columns


_MEAN = _named(("text_1", "text_2", "sim_mean", "sim_std"), _a, _b, _score, _spread)
_RU = ("предложение1", "предложение2", "оценка")

LAYOUTS: tuple[Layout, ...] = (
    # two words, known or not, in several languages
    _words("not_equivalent", "equivalent"),
    _words("mismatch", "match"),
    _words("no match", "match"),
    _words("unique", "duplicate"),
    _words("incorrect", "correct"),
    _words("unrelated", "identical"),
    _words("non-entailment", "entailment"),
    _words("nein", "ja"),
    _words("oui", "non", "two words turned round: oui / non"),
    _words("unähnlich", "ähnlich"),
    _words("ungleich", "gleich"),
    _words("pas équivalent", "équivalent"),
    _words("no equivalente", "equivalente"),
    _words("разное", "одинаковое"),
    _words("неэквивалентно", "эквивалентно"),
    _words("不等价", "等价"),
    _words("別物", "同義"),
    _words("불일치", "일치"),
    _words("wug", "blick"),
    _words("zat", "abra"),
    _words("B", "A", "two letters: B / A"),
    _words("keep apart", "merge"),
    Layout(
        "hard pairs, unknown words",
        "mrpc",
        _pairs(verdict=lambda rows: rows.named({"0": "zug", "1": "fam"})),
        "labelled_pairs",
        _S,
        "verdict",
        ("zug", "fam"),
        True,
    ),
    Layout(
        "0 and 1 under is_duplicate", "mrpc", _same_or_not, "labelled_pairs", ("question1", "question2"), "is_duplicate", ("0", "1"), True
    ),
    Layout(
        "1 means different",
        "stsb",
        lambda rows: (c := rows.clear()) and {"a": c.a, "b": c.b, "different": c.cut("1", "0")},
        "labelled_pairs",
        ("a", "b"),
        "different",
        ("1", "0"),
        True,
    ),
    Layout("1 means different, called label", "stsb", _two("1", "0"), "labelled_pairs", _S, "label", ("1", "0"), True),
    # degrees and inference
    _degrees("low", "medium", "high"),
    _degrees("niedrig", "mittel", "hoch"),
    _degrees("rot", "gelb", "grün"),
    _degrees("低", "中", "高"),
    _degrees("none", "partial", "full"),
    _degrees("tav", "rek", "sof"),
    _inference("contradiction", "neutral", "entailment"),
    _inference("contradiction", "neutral", "entailment", "sick"),
    _inference("矛盾", "中立", "蕴含"),
    _inference("Widerspruch", "neutral", "Folgerung"),
    _inference("sprzeczność", "neutralne", "wynikanie"),
    _inference("2", "1", "0"),
    _inference("1", "2", "3"),
    Layout("kinds of relations", "stsb", _pairs(relation=_relations), "labelled_pairs", _S, "relation", None, False),
    # scores under any name, beside other columns
    _scored("human_score, date", _pairs(human_score=_score, date=_dates), _S, "human_score"),
    _scored("human_score, comment", _pairs(human_score=_score, comment=_remarks), _S, "human_score"),
    _scored("human_score, annotator", _pairs(human_score=_score, annotator=_people), _S, "human_score"),
    Layout(
        "similarity_label, split",
        "stsb",
        _pairs(similarity_label=lambda rows: rows.cut("low", "high"), split=_splits),
        "labelled_pairs",
        _S,
        "similarity_label",
        ("low", "high"),
        True,
    ),
    _scored("sim_mean, sim_std", _MEAN, ("text_1", "text_2"), "sim_mean"),
    _scored(
        "ids, lengths, genre",
        _named(("pair_id", "len_a", "genre", "text_a", "text_b", "gold"), _ids, _lengths, _people, _a, _b, _score),
        ("text_a", "text_b"),
        "gold",
    ),
    _scored("German", _named(("Satz 1", "Satz 2", "Bewertung", "Datum"), _a, _b, _score, _dates), ("Satz 1", "Satz 2"), "Bewertung"),
    _scored(
        "French",
        _named(("phrase_a", "phrase_b", "similarité", "annotateur"), _a, _b, _score, _people),
        ("phrase_a", "phrase_b"),
        "similarité",
    ),
    _scored("Spanish", _named(("oración 1", "oración 2", "puntuación"), _a, _b, _score), ("oración 1", "oración 2"), "puntuación"),
    _scored("Russian", _named(_RU, _a, _b, _score), _RU[:2], _RU[2]),
    _scored("Chinese", _named(("编号", "句子一", "句子二", "相似得分"), _ids, _a, _b, _score), ("句子一", "句子二"), "相似得分", "stsb-zh"),
    _scored("Japanese", _named(("文1", "文2", "類似度"), _a, _b, _score), ("文1", "文2"), "類似度"),
    _scored("a name nobody knows", _named(("lorem", "ipsum", "dolor"), _a, _b, _score), ("lorem", "ipsum"), "dolor"),
    _scored("the score in front", _named(("xx", "yy", "zz"), _score, _a, _b), ("yy", "zz"), "xx"),
    _scored("three annotators and their mean", _pairs(ann1=_spread, ann2=_spread, mean_score=_score), _S, "mean_score"),
    Layout("reversed scores called score", "stsb", _pairs(score=_unlike), "scored_pairs", _S, "score", scale=(5.0, 0.0)),
    Layout("a distance", "stsb", _pairs(distance=_unlike), "scored_pairs", _S, "distance", scale=(5.0, 0.0)),
    # scores as they are written
    _written("0–1", lambda s: f"{s / 5:.3f}", (0.0, 1.0)),
    _written("percent with a sign", lambda s: f"{s * 20:.0f} %", (0.0, 100.0), "rating"),
    _written("fractions of five", lambda s: f"{round(s)}/5", (0.0, 1.0), "rating"),
    _written("−1 to 1", lambda s: f"{s / 2.5 - 1:.2f}", (-1.0, 1.0)),
    _written("typographic minus", lambda s: f"{s / 2.5 - 1:.2f}".replace("-", "\u2212"), (-1.0, 1.0)),
    _written("1–5", lambda s: f"{1 + round(s * 0.8)}", (1.0, 5.0), "rating"),
    _written("decimal commas, semicolons", lambda s: f"{s:.2f}".replace(".", ","), (0.0, 5.0), "Wert", "semicolon"),
    _written("32-bit cosines", lambda s: f"{s / 5 * 1.0000001192:.10f}", (0.0, 1.0), "cosine"),
    _written("tabs", lambda s: f"{s:.1f}", (0.0, 5.0), "score", "tsv"),
    _written("JSON lines", lambda s: f"{s:.1f}", (0.0, 5.0), "score", "jsonl"),
    # pairs without a target
    Layout("question, answer, year", "stsb", _alike(a="question", b="answer", year="year"), "positive_pairs", ("question", "answer")),
    Layout(
        "question, answer, user_id", "stsb", _alike(a="question", b="answer", user_id="user_id"), "positive_pairs", ("question", "answer")
    ),
    Layout(
        "German question and answer",
        "stsb",
        _alike(a="Frage", b="Antwort", author="Autor", date="Datum"),
        "positive_pairs",
        ("Frage", "Antwort"),
    ),
    Layout("a pair and a comment", "stsb", _alike(a="text_en", b="text_de", comment="comment"), "positive_pairs", ("text_en", "text_de")),
    Layout("query, passage, length", "stsb", _alike(a="query", b="passage", length="length"), "positive_pairs", ("query", "passage")),
    # triplets
    Layout(
        "anchor, positive, negative", "stsb", _triplets("anchor", "positive", "negative"), "triplets", ("anchor", "positive", "negative")
    ),
    Layout("text1, text2, text3", "stsb", _triplets("text1", "text2", "text3"), "triplets", ("text1", "text2", "text3")),
    # texts with a category
    Layout("text, category", "banking77", _named(("text", "category"), _a, _label), "labelled_texts", ("text",), "category"),
    Layout(
        "German text and category", "banking77", _named(("Anfrage", "Kategorie"), _a, _label), "labelled_texts", ("Anfrage",), "Kategorie"
    ),
    Layout(
        "intent in front, with an id",
        "banking77",
        _named(("id", "intent", "utterance"), _ids, _label, _a),
        "labelled_texts",
        ("utterance",),
        "intent",
    ),
    Layout(
        "a category under another name",
        "banking77",
        _named(("message", "zuordnung"), _a, _label),
        "labelled_texts",
        ("message",),
        "zuordnung",
    ),
    Layout("numbers for labels", "trec", _named(("text", "label"), _a, _label), "labelled_texts", ("text",), "label"),
    Layout("text, author, date", "banking77", _named(("text", "author", "date"), _a, _people, _dates), "sentences", ("text",)),
    Layout("text, language", "banking77", _named(("text", "lang"), _a, lambda rows: _repeat(["en", "de"], rows)), "sentences", ("text",)),
)
