"""The Python API: docs/python.md as it stands, its reference, what is read, and an interruption."""

from __future__ import annotations

import inspect
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tiny_studio import write_pairs

from sbert_studio import Studio
from sbert_studio.errors import StudioError
from sbert_studio.models.static.vectors import VECTOR_PACKAGES, is_package_installed
from sbert_studio.notebook.results import Training
from sbert_studio.progress import Progress

ROOT = Path(__file__).parents[1]
WORDS = "glove-6B-50d"
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
TEXTS = ["The parcel never came", "", "Where is my package?", "I want my <b>money</b> back"]


@pytest.fixture
def studio(tiny_model: Path) -> Studio:
    return Studio(str(tiny_model), show_progress=False)


@pytest.mark.process
@pytest.mark.skipif(not is_package_installed(WORDS), reason=f"needs {VECTOR_PACKAGES[WORDS].requirement}")
def test_the_page_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBERT_STUDIO_MODEL", WORDS)  # a real model, of words, because it is quick
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path / "work")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert {"map.html", "topics.xlsx", "exported"} <= {path.name for path in Path.cwd().iterdir()}
    for name in ("hits", "found", "drawn", "report", "training", "scores"):
        assert "<table" in names[name]._repr_html_() or "<iframe" in names[name]._repr_html_(), name  # type: ignore[attr-defined]
    training = names["training"]
    assert isinstance(training, Training) and "<polyline" in training._repr_html_() and training.run.status == "finished"
    scores: Any = names["scores"]
    (compared,), (first, second) = scores.comparisons().to_dict("records"), scores.to_pandas()["score"].tolist()
    assert training.model in str(scores) and compared["second"] == training.model and any("inflated" in note for note in scores.notes)
    assert compared["low"] <= compared["difference"] <= compared["high"] and compared["difference"] == pytest.approx(second - first)
    assert {"x", "y", "found_topic", "topic", "text", "channel"} <= set(names["drawn"].to_pandas().columns)  # type: ignore[attr-defined]


def test_the_reference_lists_every_method_with_its_signature() -> None:
    def shown(name: str, method: object) -> str:
        parameters = list(inspect.signature(method).parameters.values())  # type: ignore[arg-type]
        bare = [one.replace(annotation=inspect.Parameter.empty) for one in parameters if one.name != "self"]
        return f"{name}{inspect.Signature(bare)}".replace("'", '"').replace(" = ", "=")

    methods = {name: method for name, method in vars(Studio).items() if not name.startswith("_") and callable(method)}
    rows = re.findall(r"^\| `(\w+\(.*?\))` \|", PAGE, re.MULTILINE)
    assert rows == [shown("Studio", Studio.__init__), *(shown(name, method) for name, method in methods.items())]


def test_rows_in_memory_are_counted_from_0_and_what_is_skipped_is_said(studio: Studio) -> None:
    for data in (TEXTS, pd.DataFrame({"text": TEXTS}), [{"text": text} for text in TEXTS]):
        found = studio.search(data, "parcel", k=2)
        assert set(found.to_pandas()["row"]) <= {0, 2, 3} and "4 rows read, 3 searched, 1 skipped" in found.notes[0]
        assert found.to_pandas()["text"].tolist() == [TEXTS[row] for row in found.to_pandas()["row"]]
    markup = studio.search(TEXTS, TEXTS[3], k=1)._repr_html_()
    assert "&lt;b&gt;money" in markup and "<b>money" not in markup
    assert studio.duplicates([*TEXTS, TEXTS[0]], threshold=1.0).to_pandas()["row"].tolist() == [0, 4]
    for texts, count in ((pd.Series(TEXTS), 3), (pd.Series(TEXTS).to_numpy(), 3), ([*TEXTS[:3], None], 2)):
        assert len(studio.load(texts)) == count
    for nothing in ([], pd.DataFrame()):
        with pytest.raises(StudioError, match="no rows"):
            studio.load(nothing)
    with pytest.raises(StudioError, match="same length"):
        studio.similarity(TEXTS, TEXTS[:2])
    with pytest.raises(StudioError, match="only texts"):
        studio.similarity(["cat", None], ["dog", "cow"])  # type: ignore[list-item]
    with pytest.raises(StudioError, match="two columns"):
        studio.load(pd.DataFrame([["a", "b"]], columns=["text", "text"]))


def test_columns_of_a_dataframe_keep_their_types_and_never_replace_those_of_a_result(studio: Studio, tmp_path: Path) -> None:
    texts = ["the parcel is late", "the parcel is late", None, "my card was refunded"]
    data = pd.DataFrame({"text": texts, "score": [1.5, 2.0, None, 4.0], "row": list("abcd"), "x": [7, 8, 9, 10]}, index=[5, 6, 7, 8])
    hits = studio.search(data, "my card was refunded", k=2).to_pandas()
    assert hits.columns.tolist() == ["row", "score", "text", "score_", "row_", "x"]
    assert (hits["row"][0], hits["score_"][0], hits["row_"][0], hits["x"][0]) == (3, 4.0, "d", 10) and hits["score"][0] == pytest.approx(1)
    assert studio.search(data, "zebra", k=1, mode="lexical").to_pandas().empty
    both = studio.search(data.rename(columns={"x": "score_"}), "my card", k=1).to_pandas()
    assert both.columns.tolist() == ["row", "score", "text", "score_", "row_", "score__"] and both["score__"].tolist() == [10]
    clean = studio.duplicates(data, threshold=1.0).clean()
    pd.testing.assert_frame_equal(clean, data.drop(index=6))
    mapped = studio.map(pd.concat([data] * 4)).to_pandas()
    assert mapped.columns[:3].tolist() == ["x", "y", "found_topic"] and set(mapped["x_"]) == {7, 8, 10} and mapped["x"].max() < 7
    data.to_csv(tmp_path / "file.csv", index=False)
    assert studio.search(tmp_path / "file.csv", "my card", k=1).to_pandas()["score_"].tolist() == ["4.0"]
    with pytest.raises(StudioError, match="cannot be written"):
        studio.map(pd.concat([data] * 4)).save(tmp_path / "map.png")


def test_columns_are_chosen_by_name(studio: Studio, tmp_path: Path) -> None:
    data = pd.read_csv(write_pairs(tmp_path / "pairs.csv", rows=40)).rename(columns={"sentence1": "one", "sentence2": "two"})
    data["other"] = data["two"]
    score = next(name for name in data.columns if name not in ("one", "two", "other"))
    chosen = {"kind": "scored_pairs", "columns": ["two", "one"], "target": score}
    trained = studio.train(data, **chosen, name="two columns", epochs=1, batch_size=8)
    assert (trained.run.status, trained.run.name) == ("finished", "two columns")
    assert len(studio.evaluate(data, trained, columns="two,one", target=score, as_read=True).to_pandas()) == 1
    with pytest.raises(StudioError, match="no option 'colums'"):
        studio.evaluate(data, colums="two,one")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (["a text", 2, None], "item 1 is of the type int"),
        ([("a", "b")], "each row as a dictionary"),
        ((text for text in ("a", "b")), r"pass list\(data\)"),
        ([{"text": "a"}, "b"], "some items are texts"),
        ({"text": ["a"]}, "the type dict cannot be read"),
        ([], "no rows"),
    ],
)
def test_data_of_another_type_is_refused_with_what_to_pass(studio: Studio, data: Any, words: str) -> None:
    with pytest.raises(StudioError, match=words):
        studio.search(data, "card")


def test_arguments_of_another_type_are_refused(studio: Studio) -> None:
    texts: Any = ["one text", "another text"]
    calls: list[Callable[[], object]] = [
        lambda: studio.search(texts, 5),  # type: ignore[arg-type]
        lambda: studio.search(texts, "text", k="5"),  # type: ignore[arg-type]
        lambda: studio.similarity(1, 2),  # type: ignore[arg-type]
        lambda: studio.duplicates(texts, threshold="0.9"),  # type: ignore[arg-type]
        lambda: studio.resume(None),  # type: ignore[arg-type]
        lambda: Studio(5),  # type: ignore[arg-type]
        lambda: studio.evaluate(studio.load(texts)),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(StudioError):
            call()


def test_a_loaded_frame_keeps_its_types(studio: Studio) -> None:
    data = pd.DataFrame({"text": ["a card", "a parcel"], "price": [1.5, None], "day": pd.to_datetime(["2026-01-01"] * 2)})
    found = studio.search(studio.load(data), "parcel").to_pandas()
    assert found[["price", "day"]].dtypes.tolist() == data[["price", "day"]].dtypes.tolist()


class Interrupted(Studio):
    """A studio whose user interrupts the kernel when a step is shown."""

    @contextmanager
    def _progress(self, label: str, unit: str = "texts") -> Iterator[Progress]:
        yield lambda done, total: os.kill(os.getpid(), signal.SIGINT) if label == "training" and 2 <= done < total else None


def test_an_interrupted_training_is_resumed(studio: Studio, tiny_model: Path, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    out = tmp_path / "copy"
    stopped = Interrupted(str(tiny_model)).train(write_pairs(tmp_path / "pairs.csv", rows=60), epochs=2, batch_size=8, out=out)
    assert stopped.run.status == "stopped" and signal.getsignal(signal.SIGINT) is before
    done = studio.resume(stopped)
    assert done.run.status == "finished" and done.model == stopped.model and done.run.step > stopped.run.step >= 2
    assert (out / "modules.json").is_file()
    assert any(f"resume('{stopped.model}')" in note for note in stopped.notes) and not any("resume(" in note for note in done.notes)
    assert set(done.notes) & set(studio.services.fine_tune.get_reasons(done.model)[1:])


@pytest.mark.process
def test_searches_are_evaluated_and_passages_name_their_document(studio: Studio, tmp_path: Path) -> None:
    rows = [{"query": "parcel", "document": text, "grade": int(number == 2)} for number, text in enumerate(TEXTS) if text]
    found = studio.evaluate_search(rows)
    table = found.to_pandas()
    assert {"system", "ndcg@10", "recall@100", "low", "high"} <= set(table.columns) and "BM25" in set(table["system"])
    assert found.comparisons()[["first", "second"]].to_numpy().tolist()[0] == ["BM25", studio.model]
    missed = found.missed()
    assert missed.columns.tolist() == ["model", "query", "document", "rank", "reasons"]
    assert found.found.models[0].name == studio.model and "ndcg@10" in found._repr_html_()
    assert str(missed["rank"].dtype) == "Int64"
    with pytest.raises(StudioError):
        studio.evaluate_search([{"text": "one"}])
    pages = [{"title": f"All about {word}", "text": f"It is about {word}. " * 30} for word in ("refunds", "parcels", "cards", "hours")]
    assert "ndcg@10" in studio.evaluate_search(pd.DataFrame(pages)).to_pandas().columns, "documents alone"
    assert len(studio.load(pages, passages=True)) > len(pages)
    (folder := tmp_path / "documents").mkdir()
    for name in ("refunds", "hours"):
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\nAll about {name}, in a paragraph of its own.\n")
    corpus = studio.load(folder)
    assert repr(corpus).startswith("<Corpus ") and "2 passages" in repr(corpus)
    assert sorted(studio.search(corpus, "refunds").to_pandas()["document"]) == ["hours.md", "refunds.md"]
