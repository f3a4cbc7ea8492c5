from __future__ import annotations

import json
from pathlib import Path

import pytest
import speed
from timing import compare, import_peer

from sbert_studio.errors import StudioError


def test_contestants_run_by_turns_and_their_medians_are_compared() -> None:
    turns: list[tuple[str, int]] = []
    values = {"float32": [4.0, 6.0, 100.0], "bfloat16": [8.0, 9.0, 1.0], "peer": [2.0, 1.0, 3.0]}

    def contestant(name: str):  # type: ignore[no-untyped-def]
        def once(turn: int) -> float:
            turns.append((name, turn))
            return values[name][turn]

        return once

    shown: list[tuple[int, int]] = []
    found = compare("t", "x/s", {name: contestant(name) for name in values}, 3, progress=lambda done, total: shown.append((done, total)))
    assert turns == [(name, turn) for turn in range(3) for name in values]
    assert shown[-1] == (9, 9)
    assert (found.ours, found.peer, found.ratio) == (6.0, 2.0, 3.0)
    assert found.to_json()["variants"] == {"bfloat16": {"ours": 8.0, "ratio": 4.0}}
    assert compare("t", "seconds", {"ours": lambda _: 2.0, "peer": lambda _: 6.0}, 1, smaller_is_faster=True).ratio == 3.0


def test_no_repeats_and_no_peer_are_refused() -> None:
    with pytest.raises(StudioError, match="repeats is 0"):
        compare("t", "x/s", {"ours": lambda _: 1.0, "peer": lambda _: 1.0}, 0)
    with pytest.raises(StudioError, match="no-such-library is not installed"):
        import_peer("no_such_library")


@pytest.mark.parametrize(
    ("task", "options", "facts"),
    [
        ("search", ["--limit", "2000"], {"same_best": True, "vectors": 2000}),
        pytest.param("encode", ["--limit", "40", "--precision", "float32,bfloat16"], {"texts": 40}, marks=pytest.mark.slow),
        pytest.param("train", ["--limit", "16", "--only", "float32"], {}, marks=pytest.mark.slow),
    ],
)
def test_a_task_prints_one_object(
    task: str,
    options: list[str],
    facts: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path))
    assert speed.main([task, "--repeats", "1", "--json", *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ratio"] == pytest.approx(answer["ours"] / answer["peer"])
    assert facts.items() <= answer.items()
    if task == "encode":
        assert answer["min_cosine"]["float32"] > 0.9999 and answer["min_cosine"]["bfloat16"] > 0.99


def test_files_without_scores_and_unknown_models_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path))
    texts = tmp_path / "texts.csv"
    texts.write_text("text\n" + "".join(f"some text number {row}\n" for row in range(9)), encoding="utf-8")
    assert speed.main(["train", "--data", str(texts)]) == 2
    assert "pairs with a score" in capsys.readouterr().err
    assert speed.main(["startup", "--model", "no-such-model"]) == 2
