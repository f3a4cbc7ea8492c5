"""Training data from documents: pairs by a language model that find their document, negatives of a file, and training on both."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from model_server import Reply, serve_model
from tiny_studio import WORDS, quick, studio_at

from sbert_studio.cli.main import run as run_command
from sbert_studio.data.documents.document import Document, Documents, Section
from sbert_studio.errors import StudioError
from sbert_studio.explore.hard_negatives import NegativeOptions
from sbert_studio.progress import StoppedError
from sbert_studio.services import Studio, TrainRequest, language_model
from sbert_studio.services.language_model import Endpoint, LanguageModel, ModelError
from sbert_studio.services.written_queries import INSTRUCTION, NOT_FOUND, WritingOptions, clean_query, finds_document
from sbert_studio.training.evaluator import Evaluator
from sbert_studio.workspace import write_json_lines

TOPICS = [WORDS[start : start + 3] for start in range(0, 18, 3)]


@pytest.fixture
def studio(tmp_path: Path, static: str) -> Iterator[Studio]:
    with studio_at(tmp_path / "home", static) as made:
        yield made


@pytest.fixture(scope="module")
def documents() -> Documents:
    """Six documents of different words, each with two sections."""
    made = []
    for number, (a, b, c) in enumerate(TOPICS):
        sentences = [f"The {a} {b} and the {c} {a} met at place {place} of page {number} again." for place in range(4)]
        sections = (Section((), " ".join(sentences[:2])), Section((f"Where is the {a} {c}?",), " ".join(sentences[2:])))
        made.append(Document(f"d{number}", f"All about {a} {b} {c}", sections, f"{number}.md"))
    return Documents("pages", tuple(made))


def test_pairs_are_previewed_counted_and_trained_on_unchanged(
    studio: Studio, documents: Documents, tmp_path: Path, tiny_model: Path
) -> None:
    found = studio.pairs.make(studio.pairs.read(documents))
    plain = found.to_json()
    assert str(found.describe()) == f"{len(found.all_pairs)} pairs from 12 of 12 passages in 6 documents." and not found.unused
    assert (found.documents, found.passages) == (6, 12) and plain["kept"]["question"] == 6 and plain["kept"]["summary"] >= 10
    assert {pair["origin"] for pair in plain["pairs"]} == set(plain["kept"]) and len(plain["pairs"]) <= 10 * len(plain["kept"])
    found.write(tmp_path / "pairs.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows == [pair.to_json() for pair in found.all_pairs]
    plan = studio.planner.plan(TrainRequest(tmp_path / "pairs.jsonl", model=str(tiny_model), overrides=quick(loss="auto")))
    assert plan.roles.kind == "positive_pairs" and plan.roles.texts == ("query", "document") and not plan.questions
    run = studio.fine_tune.train(plan)
    card = (studio.workspace.run(run.id) / "model" / "README.md").read_text(encoding="utf-8")
    assert f"summary {plain['kept']['summary']}" in card and "made from documents" in card


def test_a_written_query_is_kept_if_it_finds_its_document(studio: Studio, documents: Documents, tmp_path: Path) -> None:
    source = studio.pairs.read(documents)
    texts = source.texts

    faults = [
        Reply("I'm sorry, I cannot."),
        Reply("query: " + " ".join(TOPICS[5])),
        Reply("one\ntwo"),
        Reply(status=500),
        Reply(body=b"<html>"),
        Reply("cat " * 100),
        Reply(refusal="I will not."),
    ]
    slow = [Reply("late", seconds=4)]

    def answer(prompt: str) -> Reply:
        passage = next(place for place, text in enumerate(texts) if text in prompt)
        if passage == len(faults) and slow:
            return slow.pop()
        words = TOPICS[source.passages[passage].document]
        return faults[passage] if passage < len(faults) else Reply(f'"{words[0]} {words[1]} {words[2]}"')

    with serve_model(answer) as server:
        model = LanguageModel(Endpoint.parse(server.url, "tiny"), tmp_path / "cache", 1.5)
        writing = WritingOptions(examples=(("where is my card", ""), ("what is bread", "Bread is food.")), prices=(1e6, 2e6))
        estimate = studio.pairs.estimate(source, model, writing)
        trial = len(server.asked)
        found = studio.pairs.make(source, ["llm"], language_model=model, writing=writing)
        asked = len(server.asked)
        assert studio.pairs.make(source, ["llm"], language_model=model, writing=writing).all_pairs == found.all_pairs
        unusable = [texts[place] for place in range(len(faults)) if place != 1]
        assert all(any(text in prompt for text in unusable) for prompt in server.prompts[asked:]), "usable answers come from the cache"
        everything = studio.pairs.make(source, ["llm"], language_model=model, writing=WritingOptions(depth=0, examples=writing.examples))
    assert estimate.requests == 12 and estimate.cost == pytest.approx(estimate.input_tokens + 2 * estimate.output_tokens)
    assert "cost" in estimate.describe().lower() and trial < 12
    assert {pair.query for pair in found.all_pairs} == {" ".join(TOPICS[number]) for number in range(3, 6)}
    dropped = dict(found.dropped["written"])
    assert dropped.pop(NOT_FOUND) == 1 and dropped.pop("the model declined") == 2 and len(dropped) == 4
    assert found.kept["written"] + sum(found.dropped["written"].values()) == 12
    assert NOT_FOUND not in everything.dropped["written"]
    assert any("of 12 passages got no query" in note and "Repeat this" in note for note in found.notes)
    prompt = server.asked[0]["messages"]
    assert prompt[0]["content"].startswith(INSTRUCTION) and "Query: where is my card" in prompt[1]["content"]
    assert "Passage:\nBread is food.\nQuery: what is bread" in prompt[1]["content"]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "_PAUSE", 0.01)


def test_a_query_that_finds_a_copy_of_its_passage_is_kept() -> None:
    vectors = np.eye(3, dtype=np.float32)
    assert finds_document(vectors[[0, 0, 1]], vectors[[0, 0, 2]], [0, 1, 2], [0, 1, 2], 1, "cosine") == [True, True, False]


def test_documents_without_a_pair_say_why(studio: Studio) -> None:
    text = "The card was swallowed by the machine at noon today. Nobody knew why the old machine did that again."
    copies = Documents(
        "pages", tuple(Document(f"d{number}", "The same long title", (Section((), text),), f"{number}.md") for number in range(20))
    )
    with pytest.raises(StudioError) as caught:
        studio.pairs.make(studio.pairs.read(copies))
    assert "All sentences of 20 of 20 passages are in other documents" in caught.value.hint


def test_no_queries_are_written_for_documents_that_are_held_out(studio: Studio, documents: Documents, tmp_path: Path) -> None:
    source = studio.pairs.read(documents)
    owner = {text: documents.documents[passage.document].id for text, passage in zip(source.texts, source.passages, strict=True)}

    def answer(prompt: str) -> Reply:
        return Reply(" ".join(TOPICS[int(next(owner[text] for text in owner if text in prompt)[1:])]))

    with serve_model(answer) as server:
        model = LanguageModel(Endpoint.parse(server.url, "tiny"), tmp_path / "cache", 5)
        estimate = studio.pairs.estimate(source, model, held_out=["d0", "d4"])
        found = studio.pairs.make(source, ["llm"], language_model=model, held_out=["d0", "d4"])
    assert {owner[text] for text in owner if any(text in prompt for prompt in server.prompts)} == {"d1", "d2", "d3", "d5"}
    assert found.unused == {"kept for the comparison": 4} and "from 8 of 12 passages in 6 documents. The others gave none: 4 kept" in str(
        found.describe()
    )
    assert estimate.requests == 8 and {(pair.query, pair.document_id) for pair in found.all_pairs} == {
        (" ".join(TOPICS[number]), f"d{number}") for number in (1, 2, 3, 5)
    }


def test_a_model_that_writes_nothing_stops_before_all_passages_are_sent(studio: Studio, documents: Documents, tmp_path: Path) -> None:
    source = studio.pairs.read(documents)
    with serve_model(lambda _prompt: Reply(status=401)) as server, pytest.raises(StudioError, match="401"):
        studio.pairs.estimate(source, LanguageModel(Endpoint.parse(server.url, "tiny"), tmp_path / "cache", 5))
    with pytest.raises(StudioError, match="language model"):
        studio.pairs.make(source, ["llm"])


def test_every_reason_is_given_where_no_query_is_usable(studio: Studio, documents: Documents, tmp_path: Path) -> None:
    source = studio.pairs.read(documents)
    long = source.texts[0]
    with serve_model(lambda prompt: Reply("cat " * 100 if long in prompt else "I'm sorry, I cannot.")) as server:
        model = LanguageModel(Endpoint.parse(server.url, "tiny"), tmp_path / "cache", 5)
        with pytest.raises(StudioError, match=r"no query: the answer is longer than a query 1, the model declined \d"):
            studio.pairs.estimate(source, model)
        with pytest.raises(StudioError, match="give no pairs") as refused:
            studio.pairs.make(source, ["llm"], language_model=model)
    assert str(refused.value.hint).startswith("Dropped: the answer is longer than a query 1, the model declined 11. ")


def test_negatives_come_from_other_documents_with_scores_and_doubts(studio: Studio, documents: Documents, tmp_path: Path) -> None:
    source = studio.pairs.read(documents)
    found = studio.pairs.make(source)
    found.write(tmp_path / "pairs.jsonl")
    mined = studio.pairs.mine_negatives(tmp_path / "pairs.jsonl", documents, NegativeOptions(2))
    owner = {pair.document: pair.document_id for pair in found.all_pairs} | {
        passage.encoded_text: source.documents.documents[passage.document].id for passage in source.passages
    }
    assert mined.corpus == len(owner) and mined.negatives == sum(len(row.negatives) for row in mined.rows) > 0
    for row in mined.rows:
        assert owner[row.positive] not in {owner[text] for text in row.negatives}
        assert max(row.negative_scores) <= row.positive_score - 0.05 * abs(row.positive_score) + 1e-6
    assert all(one.score > one.positive_score - 0.05 * abs(one.positive_score) for one in mined.suspected)
    assert len(mined.rows) + mined.without == len(found.all_pairs) and mined.to_json()["suspected_false"] == len(mined.suspected)
    mined.write(tmp_path / "triplets.jsonl")
    checked = studio.data.check(tmp_path / "triplets.jsonl")
    assert checked.roles.texts == ("query", "document", "negative_1", "negative_2") and not checked.questions
    assert checked.examples.mined and checked.examples.take([0]).mined
    # The base model that mined the negatives finds all of them less similar than the positives: retrieval tells models apart.
    assert Evaluator(checked.examples)(studio.catalog.load_vector_encoder(studio.settings.default_model))["metric"] == "mrr_at_10"


def test_mining_that_was_stopped_encodes_only_what_is_missing(
    studio: Studio, documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.pairs.make(studio.pairs.read(documents)).write(tmp_path / "pairs.jsonl")
    whole = studio.pairs.mine_negatives(tmp_path / "pairs.jsonl", documents)
    shutil.rmtree(studio.workspace.vectors("any", "any").parent)
    monkeypatch.setattr("sbert_studio.explore.vector_store._PART", 5)
    monkeypatch.setattr("sbert_studio.explore.vector_store._LONG", -1.0)
    shown: list[tuple[int, int]] = []

    def begin(phase: str, _unit: str) -> Callable[[int, int], None]:
        def report(done: int, total: int) -> None:
            if "encoding the passages" in phase:
                shown.append((done, total))
                if len(shown) == 2:
                    raise StoppedError

        return report

    with pytest.raises(StoppedError):
        studio.pairs.mine_negatives(tmp_path / "pairs.jsonl", documents, begin_phase=begin)
    assert [done for done, _total in shown] == [5, 10] and len({total for _done, total in shown}) == 1
    resumed = studio.pairs.mine_negatives(tmp_path / "pairs.jsonl", documents, begin_phase=begin)
    assert 5 not in [done for done, _total in shown[2:]] and shown[2:], "the first part was not encoded again"
    assert [row.negatives for row in resumed.rows] == [row.negatives for row in whole.rows]


def test_commands_write_files_that_the_next_one_reads(
    documents: Documents, static: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, pairs, triplets = tmp_path / "beir", tmp_path / "pairs.jsonl", tmp_path / "triplets.jsonl"
    write_json_lines(folder / "corpus.jsonl", ({"_id": one.id, "title": one.title, "text": one.text} for one in documents.documents))
    assert run_command(["pairs", str(folder), "--out", str(pairs), "--set", "cloze=2", "--model", str(static), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert {"pairs", "kept", "dropped"} <= set(first) and sum(first["kept"].values()) == len(pairs.read_text().splitlines())
    command = ["negatives", str(pairs), "--corpus", str(folder), "--out", str(triplets), "-k", "2", "--model", str(static)]
    assert run_command([*command, "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert {"negatives", "per_row", "suspected_false"} <= set(second) and second["per_row"] == 2
    assert second["relative_margin"] == 0.05 and second["baseline"] != 0
    assert sum(f"negative_{n}_score" in line for line in triplets.read_text().splitlines() for n in (1, 2)) == second["negatives"]
    assert run_command(command) == 0
    said = capsys.readouterr().out
    assert f"Unrelated texts score {second['baseline']:.3f} on average; texts above 95% of the way" in said, said
    assert run_command([*command, "--relative-margin", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["baseline"] == 0, "as in sentence-transformers"
    assert run_command(["pairs", str(folder), "--out", str(tmp_path / "pairs.csv")]) == 2
    assert run_command(["pairs", str(folder), "--out", str(pairs), "--from", "guesses"]) == 2
    # No command writes over what it reads, or where it would read it the next time.
    corpus, inside = folder / "corpus.jsonl", tmp_path / "docs" / "pairs.jsonl"
    write_json_lines(inside.with_name("a.jsonl"), [{"text": "a text"}])
    before = corpus.read_bytes()
    refused = [
        ["negatives", pairs, "--corpus", corpus, "--out", corpus], ["negatives", pairs, "--corpus", folder, "--out", corpus],
        ["pairs", corpus, "--llm-examples", pairs, "--out", pairs], ["pairs", inside.parent, "--out", inside],
    ]  # fmt: skip
    capsys.readouterr()
    for command in refused:
        assert run_command([*map(str, command), "--model", str(static)]) == 2
    assert corpus.read_bytes() == before and not inside.exists() and json.loads(pairs.read_text().splitlines()[0])["query"]
    assert capsys.readouterr().err.count("would be read as one of them") == 2
    more = (
        ["--llm-prompt", tmp_path / "none.txt"],
        ["--llm-prompt", Path(static) / "model.safetensors"],
        ["--llm-price", "nan,1"],
        ["--plan"],
    )
    for options in more:
        assert run_command(["pairs", str(corpus), "--out", str(tmp_path / "x.jsonl"), *map(str, options)]) == 2
    assert run_command(["negatives", str(pairs), "--out", str(tmp_path / "x.jsonl"), "--relative-margin", "nan"]) == 2
    told = capsys.readouterr().err
    assert all(part in told for part in ("No such file", "not UTF-8", "two numbers", "add --from llm", "--relative-margin is not a number"))


@pytest.mark.parametrize(
    ("answer", "is_query"),
    [
        *((text, True) for text in ("I cannot reset my password", "unable to log in", "sorry board game rules", "我无法登录账户")),
        *((text, False) for text in ("I'm sorry, I can't.", "Unable to comply.", "As an AI, I do not", "I cannot.", "抱歉，我不能")),
    ],
)
def test_complaints_of_users_are_queries_and_refusals_are_not(answer: str, is_query: bool) -> None:
    if is_query:
        assert clean_query(answer) == answer
    else:
        with pytest.raises(ModelError, match="declined"):
            clean_query(answer)
