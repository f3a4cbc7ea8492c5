from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.i18n import _, translate_value
from sbert_studio.runs.event_log import dump_event, load_event
from sbert_studio.runs.run import Run
from sbert_studio.services.results import RunView
from sbert_studio.ui.run_view import FollowedRun, smooth


def step(number: int, loss: float | None = 0.5) -> dict[str, Any]:
    return {"type": "step", "step": number, "steps": 100, "loss": loss, "pairs_per_second": 10.0, "seconds_left": 3.0}


def run(**values: Any) -> Run:
    created = "2026-01-01T00:00:00+00:00"
    return Run(**{"id": "run-0123456789", "owner": "local", "name": "x", "status": "running", "created": created, "model": "m", **values})


def test_curves_leave_out_missing_losses_are_thinned_smoothed_and_draw_resumed_steps_once() -> None:
    assert FollowedRun("r").absorb([(1, step(1, None)), (2, step(2))]).losses == ((2, 0.5),)
    follow = FollowedRun("r").absorb((number, step(number)) for number in range(1, 5000))
    assert len(follow.losses) <= 1200 and follow.losses[0][0] == 1 and follow.losses[-1][0] > 4980
    follow = FollowedRun("r").absorb([(number, step(number)) for number in range(1, 11)])
    resumed = follow.absorb([(11, {"type": "started", "dev_rows": 4, "step": 6}), (12, step(7)), (13, step(8))])
    assert [number for number, _ in resumed.losses] == [1, 2, 3, 4, 5, 6, 7, 8]
    values, weights = [3.0, 1.0, 4.0, 1.0, 5.0], 0.9 ** np.arange(5)[::-1]
    assert smooth(values)[-1] == pytest.approx(float((weights * values).sum() / weights.sum()))


def test_the_panel_shows_scores_only_at_the_end() -> None:
    scores = {"before": {"metric": "cosine_spearman", "score": 0.6}, "after": {"metric": "cosine_spearman", "score": 0.7}}
    assert FollowedRun("r").panel(RunView(run(**scores), ()))["scores"] is None
    shown = FollowedRun("r").panel(RunView(run(status="finished", dev_rows=9, **scores), ()))["scores"]
    assert (shown["before"], shown["after"]) == (0.6, 0.7)
    assert shown["metric"] == "Cosine Spearman on 9 held-out rows"


def test_the_panel_names_failures_missing_evaluations_and_saved_models(tmp_path: Path) -> None:
    def panel(kept_until: str = "", **values: Any) -> dict[str, Any]:
        return FollowedRun("r").panel(RunView(run(**values), (), kept_until=kept_until))

    assert (
        panel(status="failed", message="out of memory", hint="choose a smaller batch")["message"]
        == "Out of memory. Choose a smaller batch."
    )
    done = panel("2026-12-05T00:00:00", status="finished", model_path=tmp_path)
    assert "unknown whether the model improved" in done["message"]
    scores = {"after": {"score": 0.5, "metric": "m"}, "before": {"score": 0.4}}
    assert "unknown whether" not in panel(status="finished", model_path=tmp_path, dev_rows=4, **scores)["message"]
    without = panel(status="stopped")["subtitle"]
    assert "no model yet" in without and "saved" not in without
    assert "the model trained so far is saved" in panel(status="stopped", model_path=tmp_path)["subtitle"]


def test_a_run_of_several_trainings_shows_the_one_that_goes_on_and_those_that_are_done() -> None:
    ended = {"type": "partended", "number": 1, "of": 2, "title": "seed 12", "before": {"score": 0.5}, "after": {"score": 0.75}}
    follow = FollowedRun("r").absorb(
        [
            (1, {"type": "part", "number": 1, "of": 2, "title": "seed 12"}),
            (2, step(1)),
            (3, {"type": "evaluated", "step": 0, "metric": "cosine_spearman", "score": 0.5}),
            (4, ended),
            (5, {"type": "part", "number": 2, "of": 2, "title": "seed 13"}),
            (6, step(1, 0.25)),
        ]
    )
    assert follow.losses == ((1, 0.25),)
    panel = follow.panel(RunView(run(), ()))
    assert panel["part"] == "Part 2 of 2: seed 13"
    assert panel["parts"] == [{"title": "seed 12", "before": "0.500", "after": "0.750"}]
    assert follow.absorb([(7, ended)]).ended == follow.ended, "a resumed run tells again of what was done before"
    after = {"metric": "cosine_spearman", "score": 0.75, "sd": 0.0125, "each": [0.74, 0.76]}
    done = follow.panel(RunView(run(status="finished", before={"score": 0.5}, after=after, dev_rows=9), ()))
    assert done["part"] == ""
    assert done["scores"]["metric"].startswith("Cosine Spearman on 9 ") and "mean of 2 (± 0.013)" in done["scores"]["metric"]


def test_the_last_judged_curve_stays_with_the_name_of_its_part_where_the_last_training_is_not_judged() -> None:
    def judged(number: int, score: float, **scores: Any) -> dict[str, Any]:
        return {"type": "evaluated", "step": number, "metric": "cosine_spearman", "score": score, "scores": scores}

    def part(number: int, title: str) -> dict[str, Any]:
        return {"type": "part", "number": number, "of": 3, "title": title}

    events = [judged(0, 0.4, by_fold=[0.4]), part(1, "fold 1"), step(1), judged(1, 0.5), part(2, "fold 2"), step(1)]
    waiting = FollowedRun("r").absorb(enumerate(events, start=1))
    assert (waiting.dev.points, waiting.curves()["dev"]["part"]) == (((1, 0.5),), "part 1 of 3: fold 1")
    rest = [judged(1, 0.6), judged(2, 0.7), judged(2, 0.65, by_fold=[0.5, 0.7]), part(3, "all rows"), step(1), step(2)]
    done = waiting.absorb(enumerate(rest, start=7))
    assert done.dev.points == ((1, 0.6), (2, 0.7)), "the score of all folds is no point of one of them"
    assert done.curves()["dev"]["part"] == "part 2 of 3: fold 2"
    assert done.losses == ((1, 0.5), (2, 0.5))


def test_messages_and_remaining_time_follow_the_phase() -> None:
    said = {"type": "notice", "message": "there is no model yet", "passing": True}
    kept = {"type": "notice", "message": "one loss was skipped"}
    stopped = FollowedRun("r").absorb([(1, kept), (2, said), (3, {"type": "stopped"}), (4, said)])
    assert stopped.panel(RunView(run(status="stopped"), ()))["message"] == "There is no model yet."
    resumed = stopped.absorb([(5, {"type": "phase", "title": "evaluating the base model"})])
    shown = resumed.panel(RunView(run(), ()))
    assert (shown["message"], shown["phase"]) == ("One loss was skipped.", "Evaluating the base model.")
    going = resumed.absorb([(6, step(1))])
    assert going.panel(RunView(run(), ()))["phase"] == ""
    assert going.panel(RunView(run(status="finished"), ()))["message"] == "One loss was skipped."
    assert FollowedRun("r").panel(RunView(run(), ()))["phase"] == "Loading the rows and the model."
    last = {**step(100), "seconds_left": 0.2}
    follow = FollowedRun("r").absorb([(1, last)])
    assert follow.panel(RunView(run(), ()))["left"] == 0.2
    assert follow.absorb([(2, {"type": "phase", "title": "judging"})]).panel(RunView(run(), ()))["left"] is None


def test_the_state_of_a_run_is_independent_of_polling_and_hashable() -> None:
    events: list[tuple[int, dict[str, Any]]] = [
        (1, {"type": "started", "dev_rows": 4}),
        (2, {"type": "evaluated", "step": 0, "metric": "cosine_spearman", "score": 0.5}),
    ]
    events += [(number + 2, step(number, 1 / number)) for number in range(1, 30)]
    whole = FollowedRun("run-0123456789").absorb(events)
    parts = FollowedRun("run-0123456789").absorb(events[:7]).absorb(events[7:])
    assert whole == parts
    assert whole.cursor == 31
    assert whole.curves()["loss"]["x"] == list(range(1, 30))
    from gradio.utils import deep_hash

    now = FollowedRun("run-1").absorb([(1, {"type": "step", "step": 1, "steps": 2, "loss": 0.5})])
    assert deep_hash(now) != deep_hash(FollowedRun("run-1"))
    assert deep_hash(now) == deep_hash(FollowedRun("run-1").absorb([(1, {"type": "step", "step": 1, "steps": 2, "loss": 0.5})]))


def test_a_run_that_was_trained_from_an_english_page_is_shown_in_chinese(tmp_path: Path) -> None:
    """What a run stores are values and messages with their templates; sentences are made of them when they are shown."""
    before, after = (
        {"score": 0.81},
        {"score": 0.80, "gain_interval": [-0.03, 0.01], "metric": "cosine_spearman", "general": {"score": 0.79}},
    )
    values = {"before": before | {"general": {"score": 0.8}}, "after": after, "dev_rows": 40, "model_path": tmp_path}
    notice = load_event(dump_event({"type": "notice", "message": _("training resumes from step {step}", step=5), "passing": False}))
    part = load_event(dump_event({"type": "part", "number": 1, "of": 2, "title": _("seed {seed}", seed=3)}))
    assert notice and part
    followed = FollowedRun("r").absorb([(1, part), (2, notice)])
    kept = RunView(run(status="finished", **values), (), kept_until="2026-01-02T00:00:00")
    for seen in (RunView(run(), ()), RunView(run(status="finished", **values), ()), kept, RunView(run(status="queued"), (), waiting=2)):
        shown = translate_value(followed.panel(seen), "zh")
        texts = [
            shown["message"],
            shown["part"],
            *([shown["scores"][name] for name in ("said", "more", "metric")] if shown["scores"] else []),
        ]
        left = re.sub("Spearman", "", " ".join(texts))
        assert re.search("[一-鿿]", left) and not re.search(r"[A-Za-z]{2}|\.( |$)", left), texts
    assert "−0.01" in shown_scores(kept)["said"] and "−0.010" in shown_scores(kept)["more"]


def shown_scores(seen: RunView) -> dict[str, str]:
    return FollowedRun("r").panel(seen)["scores"]  # type: ignore[no-any-return]
