"""What the rows of a table are: pairs, triplets, texts with a category or alone; what nothing tells is asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from data.schema.tables import TOPICS, WORDS, change, make_table, overlap, pairs, random_texts, topic_texts

from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.loading.table import Table, read_table
from sbert_studio.data.schema.content import are_tags
from sbert_studio.data.schema.evidence import SimilarityFunction
from sbert_studio.data.schema.inference import infer_columns, infer_roles, infer_schema
from sbert_studio.data.schema.roles import Roles, SchemaOverrides
from sbert_studio.errors import StudioError

N = 40
A = [f"a man number {index} plays the guitar on stage" for index in range(N)]
B = [f"someone called {index} makes music for people" for index in range(N)]
C = [f"the cat of house {index} sleeps on the sofa" for index in range(N)]
SCORES = [f"{index % 11 / 2:g}" for index in range(N)]


def table(**columns: list[str]) -> Table:
    return make_table(columns)


def override(choice: dict[str, object]) -> SchemaOverrides:
    return SchemaOverrides(**{name: tuple(value) if isinstance(value, list) else value for name, value in choice.items()})


@pytest.mark.parametrize(
    ("columns", "kind", "texts", "target"),
    [
        ({"sentence1": A, "sentence2": B, "score": SCORES}, "scored_pairs", "sentence1 sentence2", "score"),
        ({"score": SCORES, "s2": B, "s1": A}, "scored_pairs", "s1 s2", "score"),
        ({"column_1": A, "column_2": B, "column_3": SCORES}, "scored_pairs", "column_1 column_2", "column_3"),
        ({"sentence1": A, "sentence2": B, "label": ["0", "1"] * 20}, "labelled_pairs", "sentence1 sentence2", "label"),
        ({"sentence1": A, "sentence2": B, "label": SCORES}, "scored_pairs", "sentence1 sentence2", "label"),
        ({"premise": A, "hypothesis": B, "label": ["0", "1", "2", "-1"] * 10}, "labelled_pairs", "premise hypothesis", "label"),
        ({"前提": A, "假设": B, "标签": ["蕴含", "中立", "矛盾", "中立"] * 10}, "labelled_pairs", "前提 假设", "标签"),
        ({"question": A, "answer": B}, "positive_pairs", "question answer", None),
        ({"anchor": A, "positive": B, "negative": C}, "triplets", "anchor positive negative", None),
        ({"negative_2": C, "negative_1": B, "query": A, "pos": C[::-1]}, "triplets", "query pos negative_2 negative_1", None),
        ({"sent0": A, "sent1": B, "hard_neg": C}, "triplets", "sent0 sent1 hard_neg", None),
        ({"column_1": A, "column_2": B, "column_3": C}, "triplets", "column_1 column_2 column_3", None),
        ({"text": A}, "sentences", "text", None),
        ({"text": A, "category": ["x", "y"] * 20}, "labelled_texts", "text", "category"),
        ({"text": A, "label": ["0", "3"] * 20}, "labelled_texts", "text", "label"),
    ],
)
def test_kind_columns_and_target_are_found(columns: dict[str, list[str]], kind: str, texts: str, target: str | None) -> None:
    roles = infer_roles(table(**columns))
    assert (roles.kind, " ".join(roles.texts), roles.target) == (kind, texts, target)


def test_groups_and_splits_are_found() -> None:
    topics = ["sport", "music"] * 20
    assert infer_roles(table(text=A, category=topics), "sentences").group == "category"
    assert infer_roles(table(text=A, kind=topics)).group == "kind"
    assert infer_roles(table(sentence1=A, sentence2=B, topic=topics, score=SCORES)).group == "topic"
    roles = infer_roles(table(sentence1=A, sentence2=B, score=SCORES, part=["train", "dev", "train", "test"] * 10))
    assert (roles.group, roles.split) == (None, "part")
    assert Roles.from_json(roles.to_json()) == roles


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "scored_pairs"}, "one text column"),
        ({"kind": "positive_pairs"}, "one text column"),
        ({"kind": "triplets"}, "triplets need"),
        ({"columns": ["text", "nothing"]}, "no column 'nothing'"),
        ({"columns": ["text", "text"]}, "two roles"),
        ({"columns": ["text", "label"], "target": "text"}, "two roles"),
        ({"kind": "sentences", "columns": ["text", "label"]}, "need 1 text column"),
        ({"kind": "quadruplets", "columns": ["text", "label"]}, "not a known kind"),
        ({"kind": "scored_pairs", "columns": ["text", "other"], "target": "label"}, "words, not scores"),
        ({"kind": "labelled_pairs", "columns": ["text", "other"], "target": "remark"}, "too many to be classes"),
    ],
)
def test_overrides_that_do_not_fit_are_refused(arguments: dict[str, object], words: str) -> None:
    columns = {"text": A, "label": ["x", "y"] * 20} | ({"other": B, "remark": C} if "other" in arguments.get("columns", ()) else {})  # type: ignore[operator]
    with pytest.raises(StudioError, match=words):
        infer_roles(table(**columns), **arguments)  # type: ignore[arg-type]


# --- triplets


def triplets(names: tuple[str, ...], *, is_pool: bool = True) -> Table:
    generator = np.random.default_rng(3)
    anchors = random_texts(120)
    near = [change(text, 0.85, generator) for text in anchors]
    far = [near[17 * place :] + near[: 17 * place] for place in range(1, len(names) - 1)]
    return make_table(dict(zip(names, (anchors, near, *(far if is_pool else [random_texts(120, 9)])), strict=True)))


@pytest.mark.parametrize(
    "names",
    [
        *("Anker gut schlecht", "u v w", "query pos_passage neg_passage", "q good bad_1 bad_2", "query pos neg1 neg2", "u v w1 w2"),
        *("查询 正例 负例1 负例2", "anchor best worst wrong", "образец верный неверный1 неверный2"),
    ],
)
def test_triplets_are_found_whatever_they_are_called(names: str) -> None:
    schema = infer_schema(triplets(tuple(names.split())), similar=overlap)
    assert (schema.roles.kind, " ".join(schema.roles.texts), schema.certain) == ("triplets", names, True)


@pytest.mark.parametrize("similar", [overlap, None])
def test_a_third_text_is_never_left_out_in_silence(similar: SimilarityFunction | None) -> None:
    schema = infer_schema(triplets(("u", "v", "w"), is_pool=False), similar=similar)
    kinds = {option.choice.get("kind") for option in schema.questions[0].options}
    assert {"triplets", "positive_pairs"} <= kinds or schema.questions[0].name == "columns"


def test_negatives_are_asked_about_without_a_model_or_where_names_say_otherwise() -> None:
    schema = infer_schema(triplets(("Frage", "richtig", "falsch")))
    assert schema.roles.texts == ("Frage", "richtig", "falsch") and not schema.certain
    (question,) = infer_schema(triplets(("anchor", "negative", "positive")), similar=overlap).questions
    assert question.options[1].choice == {"columns": ["anchor", "negative", "positive"]}
    columns, _ = pairs((0.9,), 60)
    schema = infer_schema(make_table({"value": columns["one"], "rejected_value": columns["two"]}), similar=overlap)
    assert "named like a negative" in schema.questions[0].why


def test_preference_data_are_triplets(tmp_path: Path) -> None:
    prompt = {"role": "user", "content": A[0]}
    row = {name: [prompt, {"role": "assistant", "content": f"{name} answer"}] for name in ("chosen", "rejected")}
    rows = "\n".join([json.dumps(row)] * 9)
    (tmp_path / "t.jsonl").write_text(rows)
    read = read_table(tmp_path / "t.jsonl")
    assert infer_roles(read).texts == ("prompt", "chosen", "rejected")
    assert read.head(1)[0][read.columns.index("prompt")] == A[0]


# --- one text, or two that may not belong together


@pytest.mark.parametrize("similar", [overlap, None])
def test_columns_that_are_no_second_text_are_left_out(similar: SimilarityFunction | None) -> None:
    dates = [f"2023/03/{1 + place % 28:02d} 9:{place:02d}:00 AM GMT+1" for place in range(N)]
    german = [f"{place % 28 + 1}. März 2024, 10:{place:02d} Uhr" for place in range(N)]
    for cells in (dates, german, [f"@user{place}x" for place in range(N)]):
        assert infer_roles(table(when=cells, comment=random_texts(N)), similar=similar).texts == ("comment",)
    credit = [f"CC-BY 2.0 (France) Attribution: tatoeba.org #{place} (user{place % 3})" for place in range(N)]
    columns, _ = pairs((0.8,), N)
    roles = infer_roles(make_table({"a": columns["one"], "b": columns["two"], "c": credit}), similar=similar)
    assert (roles.kind, roles.texts) == ("positive_pairs", ("a", "b"))


@pytest.mark.parametrize("second", [random_texts(60, 9), [("very good", "good", "bad")[place % 3] for place in range(60)]])
@pytest.mark.parametrize("names", [("Q1", "Q2"), ("question", "answer")])
def test_texts_that_are_no_more_similar_than_by_chance_are_asked_about(names: tuple[str, str], second: list[str]) -> None:
    schema = infer_schema(make_table(dict(zip(names, (random_texts(60), second), strict=True))), similar=overlap)
    assert [question.name for question in schema.questions] == ["kind"]
    kinds = [option.choice["kind"] for option in schema.questions[0].options]
    assert kinds == ["positive_pairs", *(["labelled_texts"] if len(set(second)) < 9 else []), "sentences"]


def test_two_lines_in_each_cell_are_a_pair(tmp_path: Path) -> None:
    columns, share = pairs(None, 60)
    cells = [f'"{a}\n{b}",{score:.2f}' for a, b, score in zip(columns["one"], columns["two"], share, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["Text,Score", *cells]))
    read = read_table(tmp_path / "t.csv")
    roles = infer_roles(read, similar=overlap)
    assert (roles.kind, roles.texts, roles.target) == ("scored_pairs", ("Text_1", "Text_2"), "Score")
    assert read.lines[-1] == 61 and any("two lines" in note.message for note in read.notes)


# --- categories


def test_a_category_is_read_by_name_and_model_or_asked_about() -> None:
    texts, names = topic_texts()
    labelled = make_table({"text": texts, "topic": names})
    schema = infer_schema(labelled, similar=overlap)
    assert (schema.roles.kind, schema.roles.texts, schema.roles.target, schema.certain) == ("labelled_texts", ("text",), "topic", True)
    blind = infer_schema(labelled)
    assert (blind.roles.kind, [one.name for one in blind.questions]) == ("labelled_texts", ["kind"])
    assert infer_schema(labelled, override(dict(blind.questions[0].options[1].choice))).roles.kind == "sentences"
    beside = {"date": [f"2023-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(200)], "annotator": (["Anna", "Tom", "Mia"] * 67)[:200]}
    alone = infer_schema(make_table({"text": texts, **beside}), similar=overlap)
    assert (alone.roles.kind, alone.certain) == ("sentences", True)


@pytest.mark.parametrize("name", ["Zuständig", "emoção", "유형", "column_1"])
def test_categories_of_any_name_are_read_where_neighbors_share_them_and_others_are_not(name: str) -> None:
    generator = np.random.default_rng(4)
    topics = [generator.choice(WORDS, 6, replace=False).tolist() for _ in range(4)]
    texts = [" ".join([*generator.choice(topics[row % 4], 4, replace=False), *generator.choice(WORDS, 3)]) for row in range(200)]
    schema = infer_schema(make_table({"text": texts, name: [f"Art {'abcd'[row % 4]}" for row in range(200)]}), similar=overlap)
    assert (schema.roles.kind, schema.roles.target, schema.certain, schema.saturation) == ("labelled_texts", name, True, "")
    random = [["one", "two", "three"][int(generator.integers(3))] for _ in texts]
    assert infer_schema(make_table({"text": texts, name: random}), similar=overlap).roles.kind == "sentences"


@pytest.mark.parametrize("name", ["class_id", "类别编号", "kind", "key", "source", "Status", "page"])
def test_numbers_of_categories_are_read_or_asked_about_and_names_that_say_otherwise_are_asked_about(name: str) -> None:
    texts, topics = topic_texts()
    is_number = name not in ("source", "Status")
    cells = [100 + 10 * list(TOPICS).index(one) for one in topics] if is_number else topics
    schema = infer_schema(make_table({"id": range(200), "text": texts, name: cells}), similar=overlap)
    assert [one.name for one in schema.questions] == ["kind"] or (schema.roles.target == name and name in ("class_id", "类别编号", "kind"))


@pytest.mark.parametrize("form", ["Home > {}", "Help desk > what is wrong with the {} today", "help/{}", "Help::{}", "A » {}"])
def test_paths_of_topics_are_categories(form: str) -> None:
    texts, names = topic_texts()
    roles = infer_roles(make_table({"text": texts, "path": [form.format(one) for one in names]}), similar=overlap)
    assert (roles.kind, roles.target) == ("labelled_texts", "path")


def test_of_equivalent_columns_words_and_the_final_label_are_read() -> None:
    texts, names = topic_texts()
    numbers = [list(TOPICS).index(one) for one in names]
    coders = {f"coder {at}": [name if row % 7 != at else "food" for row, name in enumerate(names)] for at in (1, 2)}
    for columns, target in (({"label": numbers, "label_text": names}, "label_text"), ({**coders, "final": names}, "final")):
        schema = infer_schema(make_table({"text": texts, **columns}), similar=overlap)
        assert schema.certain and schema.roles.target == target


@pytest.mark.parametrize("form", ["C{:02d}", "intent_{}", "/{:02d}x", "@{:02d}x"])
@pytest.mark.parametrize(("name", "similar"), [("category", overlap), ("category", None), ("F2", overlap)])
def test_codes_of_categories_are_categories(form: str, name: str, similar: SimilarityFunction | None) -> None:
    topics = {str(topic): [f"w{topic}x{place}" for place in range(6)] for topic in range(15)}
    texts, names = topic_texts(120, topics)
    schema = infer_schema(make_table({"text": texts, name: [form.format(int(one)) for one in names]}), similar=similar)
    assert (schema.roles.kind, schema.roles.target) == ("labelled_texts", name)
    assert bool(schema.questions) == (similar is None)


def test_codes_of_orders_are_no_categories_and_saturated_categories_are_reported() -> None:
    generator = np.random.default_rng(4)
    texts = [" ".join(generator.choice([f"w{place}" for place in range(80)], 5)) for _ in range(120)]
    orders = [f"A{row % 30:03d}" for row in range(120)]
    assert infer_roles(make_table({"text": texts, "order no": orders}), similar=overlap).kind == "sentences"
    texts = [" ".join(generator.permutation(WORDS[6 * (row % 3) : 6 * (row % 3) + 6])) + f" {row}" for row in range(150)]
    found = diagnose(make_table({"text": texts, "category": ["abc"[row % 3] * 3 for row in range(150)]}), similar=overlap).findings
    assert [
        one.severity
        for one in found
        if "the model already separates the categories of 'category' (the nearest neighbor of 100% of 150 texts" in one.message
    ] == ["info"]


# --- tags

TAGS = ["card arrival", "top up failed", "lost phone", "exchange rate", "cash withdrawal", "age limit", "refund", "direct debit", "pin"]


def tags(sign: str) -> list[str]:
    both = [f"{TAGS[n % 9]}{sign} {TAGS[(n * n + 1) % 9]}" + (f"{sign} urgent" if n % 4 == 0 else "") for n in range(90)]
    return [cell if n % 3 == 0 else TAGS[n % 9] for n, cell in enumerate(both)]


@pytest.mark.parametrize("name", ["Tags", "Schlagworte", "x"])
@pytest.mark.parametrize("sign", [",", ";", " |", "，"])
def test_several_tags_in_a_cell_are_asked_about(name: str, sign: str) -> None:
    tagged = table(Message=[f"I would like to know what happens with number {n}, please." for n in range(90)], **{name: tags(sign)})
    schema = infer_columns(tagged)
    (question,) = schema.questions
    assert [option.choice["kind"] for option in question.options] == ["labelled_texts", "sentences", "positive_pairs"]
    assert schema.roles.kind != "positive_pairs" and question.proposed is None
    for option in question.options:
        answered = infer_schema(tagged, override(dict(option.choice)))
        assert (answered.roles.kind, answered.questions) == (option.choice["kind"], ())


def test_tags_that_never_occur_twice_together_and_commas_for_other_reasons_make_no_categories() -> None:
    cells = [f"{TAGS[n % 9]}, {TAGS[n // 9 % 9]}" + ", urgent" * (n == 89) + f", {TAGS[(n + 3) % 9]}" * (n > 80) for n in range(90)]
    schema = infer_columns(table(Message=[f"What happens with my number {n} now, please?" for n in range(90)], Tags=cells))
    assert [option.choice["kind"] for option in schema.questions[0].options] == ["sentences", "positive_pairs"]
    assert not are_tags([["books, music and films", "garden", "toys, games"][n % 3] for n in range(90)])
    assert not are_tags([f"{['Bonn', 'Ulm', 'Trier'][n % 3]}, {['Germany', 'Europe'][n % 2]}" for n in range(90)])
    assert not are_tags([f"You asked about number {n}, and we will see, as we said, what can be done, friend {n}." for n in range(90)])
    assert not are_tags([f"{n},{n + 1}" if n % 2 else str(n) for n in range(90)])
