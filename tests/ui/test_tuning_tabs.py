from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from tiny_studio import write_pairs

from sbert_studio.data.schema.overrides import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.services import TrainRequest
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.tuning import changes, data_panel, drafts, run_panel, settings_form, told
from sbert_studio.ui.panels.tuning.follow import Follow
from sbert_studio.ui.state import new_visitor_id
from sbert_studio.ui.tabs import models, tune

from .test_forms import shown_raw


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.csv")


def draft_of(page: Page, path: Path) -> str:
    return page.drafts.put(data_panel.take(page, path, None))


def raw(draft: drafts.Draft, **values: Any) -> list[Any]:
    """The controls filled for a draft, with some changed by hand."""
    filled = shown_raw(tune.shown_of(draft))
    names = ["method", "objective", *(item.name for item in settings_form.spec_fields())]
    for name, value in values.items():
        filled[names.index(name)] = value
    return filled


def test_a_file_is_understood_and_planned(page: Page, pairs: Path) -> None:
    draft = data_panel.take(page, pairs, None)
    assert draft.diagnosis is not None and draft.diagnosis.roles.kind == "scored_pairs"
    assert draft.plan is not None and draft.plan.reasons
    assert data_panel.preview(draft)["rows"][0][0] == 2
    assert "60 rows" in told.findings(draft)["verdict"]


def test_what_is_not_learned_from_is_said(page: Page, pairs: Path, tmp_path: Path) -> None:
    head, *rows = pairs.read_text(encoding="utf-8").splitlines()
    more = tmp_path / "more.csv"
    more.write_text("\n".join([f"{head},remark", *(f"{row},seen by {number}" for number, row in enumerate(rows))]), encoding="utf-8")
    assert "Not used for training: remark" in told.findings(data_panel.take(page, more, None))["why"]


def test_reading_and_checking_move_the_bar(page: Page, pairs: Path) -> None:
    class Bar(list[str]):
        """Empty at first, as Gradio's own is: an object that counts as false."""

        def __call__(self, value: tuple[int, int] | None, desc: str) -> None:
            self.append(desc)

    bar = Bar()
    data_panel.take(page, pairs, None, progress=bar)
    assert list(dict.fromkeys(bar)) == ["Reading", "Checking"]


def test_a_file_of_the_wrong_shape_says_so_and_can_be_put_right_by_hand(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,word\n" + "".join(f"{n},{n * 7}\n" for n in range(9)), encoding="utf-8")
    draft = drafts.with_columns(page.studio, data_panel.take(page, path, None), SchemaOverrides("scored_pairs"), None)
    assert draft.diagnosis is None
    assert told.findings(draft)["findings"][0]["severity"] == "error"
    controls = settings_form.updates(None, tune.shown_of(draft))
    assert controls[1]["value"] == "auto" and controls[1]["choices"][0][1] == "auto"
    with pytest.raises(StudioError):
        drafts.start(page.studio, draft, "local", "")


def test_a_mend_is_applied_by_its_number_and_others_are_refused(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    lines = write_pairs(path).read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[1], lines[1]]) + "\n", encoding="utf-8")
    draft = data_panel.take(page, path, None)
    assert draft.diagnosis is not None
    number = next(n for n, finding in enumerate(draft.diagnosis.findings) if finding.fix)
    mended = changes.apply_fix(page.studio, draft, number, None)
    assert mended.changes and len(mended.table) < len(draft.table)
    shown = told.findings(mended)
    assert shown["changes"] == list(mended.changes) and shown["undo"]
    for wrong in (-1, 99, "0", None):
        with pytest.raises(StudioError):
            changes.apply_fix(page.studio, draft, wrong, None)


def test_a_conversion_is_offered_taken_downloaded_and_undone(page: Page, pairs: Path) -> None:
    draft = drafts.planned(page.studio, data_panel.take(page, pairs, None), None, {"objective": "cosine", "epochs": 2.0})
    offers = {offer["name"]: offer["rows"] for offer in told.findings(draft)["offers"]}
    assert offers["scored_to_labelled"] == "60 rows"
    labelled = changes.changed(page.studio, draft, "convert", "scored_to_labelled", None)
    assert labelled.diagnosis is not None and labelled.diagnosis.roles.kind == "labelled_pairs"
    assert labelled.overrides == {"epochs": 2.0}
    written = data_panel.write_changed_file(page, page.drafts.put(labelled))
    assert written.name == "pairs-changed.csv"
    assert written.read_text(encoding="utf-8").startswith("sentence1,sentence2,label")
    assert "pairs-changed.csv" in told.command(labelled, "m", "m")
    again = changes.changed(page.studio, labelled, "undo", 0, None)
    assert again.table is draft.table and again.changes == () and not told.findings(again)["undo"]
    assert again.diagnosis is not None and again.diagnosis.roles == draft.diagnosis.roles  # type: ignore[union-attr]
    for action, which in (
        ("convert", "nli_to_triplets"),
        ("convert", 0),
        ("convert", None),
        ("fix", "scored_to_labelled"),
        ("explode", 7),
    ):
        with pytest.raises(StudioError):
            changes.changed(page.studio, draft, action, which, None)


def test_a_changed_file_that_is_downloaded_is_the_very_rows_that_are_trained_on(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "formulas.csv"
    row = "=cat dog {0},-mat park {0},{1}.0"
    path.write_text("sentence1,sentence2,score\n" + "\n".join(row.format(n, n % 6) for n in range(40)) + "\n" + row.format(0, 0) + "\n")
    draft = data_panel.take(page, path, None)
    assert draft.diagnosis is not None
    number = next(n for n, found in enumerate(draft.diagnosis.findings) if found.fix)
    mended = changes.apply_fix(page.studio, draft, number, None)
    again = page.studio.read.table(data_panel.write_changed_file(page, page.drafts.put(mended)))
    assert [list(again.column(name)) for name in again.columns] == [list(mended.table.column(name)) for name in mended.table.columns]
    assert again.column("sentence1")[0].startswith("=cat")


def test_a_converted_file_is_what_is_trained_on(page: Page, pairs: Path) -> None:
    draft = changes.changed(page.studio, data_panel.take(page, pairs, None), "convert", "scored_to_labelled", None)
    planned = drafts.planned(page.studio, draft, None, {"epochs": 0.2, "objective": "softmax", "judge": "split"})
    run = drafts.start(page.studio, planned, "local", "")
    page.studio.runner.wait(run.id, 300)
    done = page.studio.tune.run(run.id).run
    assert (done.status, done.objective, done.rows) == ("finished", "softmax", 60)


def chosen(draft: drafts.Draft, **values: Any) -> SchemaOverrides:
    """What the controls of the columns hold for a draft, with some changed by hand."""
    held: dict[str, Any] = dict.fromkeys(("kind", "columns", "target", "low", "high", "group"))
    if draft.diagnosis is not None:
        roles = draft.diagnosis.roles
        held |= {"kind": roles.kind, "columns": roles.texts, "target": roles.target, "low": roles.low, "high": roles.high}
        held["group"] = roles.group
    elif draft.asked is not None:
        held |= {"kind": draft.asked.kind, "columns": draft.asked.columns, "target": draft.asked.target}
    return data_panel.asked(*{**held, **values}.values())


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Four columns of text, two of numbers and one of topics, by names that say nothing."""
    import csv

    with write_pairs(tmp_path / "pairs.csv").open(encoding="utf-8", newline="") as source:
        rows = list(csv.reader(source))[1:]
    path = tmp_path / "my odd; file.csv"
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(["one, two", "b", 'c "c"', "points", "topic", "$HOME"])
        writer.writerows([a, b, f"{b} red", score, "xyz"[number % 3], f"{a} moon"] for number, (a, b, score) in enumerate(rows))
    return path


def test_columns_are_chosen_by_hand_one_after_the_other(page: Page, odd: Path) -> None:
    draft = data_panel.take(page, odd, None)
    assert drafts.with_columns(page.studio, draft, chosen(draft, kind="positive_pairs"), None).asked == SchemaOverrides("positive_pairs")
    draft = drafts.with_columns(page.studio, draft, SchemaOverrides("scored_pairs"), None)
    for values in ({"columns": ['c "c"', "one, two"]}, {"target": "points"}, {"high": 10.0}, {"group": ""}):
        draft = drafts.with_columns(page.studio, draft, chosen(draft, **values), None)
    assert draft.diagnosis is not None
    roles = draft.diagnosis.roles
    assert (roles.texts, roles.target, roles.low, roles.high, roles.group) == (('c "c"', "one, two"), "points", 0.0, 10.0, None)
    assert "divided by 10" in told.findings(draft)["verdict"]
    assert drafts.shows(draft, chosen(draft)) and not drafts.shows(draft, chosen(draft, high=9.0))
    assert drafts.with_columns(page.studio, draft, chosen(draft), None).asked == draft.asked
    wrong = drafts.with_columns(page.studio, draft, chosen(draft, group="points"), None)
    assert "two roles" in told.findings(wrong)["findings"][0]["message"]
    held = ["scored_pairs", ['c "c"', "one, two"], "points", 0, 0]
    empty = drafts.with_columns(page.studio, draft, data_panel.asked(*held, ""), None)
    assert empty.diagnosis is None and not drafts.shows(empty, data_panel.asked(*held, ""))
    for tried, values in ((wrong, [*held[:4], 10, "topic"]), (empty, [*held[:4], 8, ""])):
        right = drafts.with_columns(page.studio, tried, data_panel.asked(*values), None).diagnosis
        assert right is not None and (right.roles.high, right.roles.group) == (float(str(values[4])), values[5] or None)


@pytest.mark.parametrize("changes", [{"group": "topic", "high": 7.5, "low": -1.0}, {"group": ""}, {}])
def test_the_printed_command_gives_the_same_roles(
    page: Page, odd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], changes: dict[str, Any]
) -> None:
    import json
    import shlex

    from sbert_studio.cli.main import run

    held = write_pairs(odd.with_name("held out.csv"), seed=7)
    draft = data_panel.take(page, odd, None).asking(dev=held)
    draft = drafts.with_columns(page.studio, drafts.checked(page.studio, draft, None), SchemaOverrides("scored_pairs"), None)
    for values in ({"columns": ["$HOME", "one, two"]}, {"target": "points"}, changes):
        draft = drafts.with_columns(page.studio, draft, chosen(draft, **values), None)
    assert draft.diagnosis is not None
    words = shlex.split(told.command(draft, "m", "m"))
    assert words[:4] == ["sbert-studio", "train", "my odd; file.csv", "--dev"]
    monkeypatch.chdir(odd.parent)
    monkeypatch.setenv("SBERT_STUDIO_MODEL", str(page.studio.settings.default_model))
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")
    until = min(words.index(flag) for flag in ("--objective", "--method"))
    assert run(["check", *words[2:until], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["roles"] == draft.diagnosis.roles.to_json()
    assert run([*words[1:], "--epochs", "0.2", "--set", "judge=split", "--json"]) == 0, capsys.readouterr().err


def test_a_file_with_scores_and_labels_is_read_as_the_kind_that_is_chosen(page: Page, pairs: Path) -> None:
    lines = pairs.read_text(encoding="utf-8").splitlines()
    labels = ["label", *(["ENTAILMENT", "NEUTRAL", "CONTRADICTION"][number % 3] for number in range(60))]
    pairs.write_text("".join(f"{line},{label}\n" for line, label in zip(lines, labels, strict=True)), encoding="utf-8")
    draft = data_panel.take(page, pairs, None)
    assert draft.diagnosis is not None and draft.diagnosis.roles.target == "score"
    draft = drafts.with_columns(page.studio, draft, chosen(draft, kind="labelled_pairs"), None)
    assert draft.diagnosis is not None and draft.diagnosis.roles.labels == ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")


def test_what_a_person_sets_survives_a_new_plan(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    planned = tune.replan(page, key, raw(page.drafts.get(key), epochs="5", method="lora"), None)
    assert planned is not None and planned.plan is not None
    assert planned.overrides == {"epochs": 5.0, "method": "lora"}
    assert planned.plan.spec.epochs == 5.0 and planned.plan.spec.method == "lora"
    again = tune.replan(page, page.drafts.put(planned), raw(planned, seed="7"), None)
    assert again is not None and again.overrides == {"epochs": 5.0, "method": "lora", "seed": 7}


def test_the_command_is_one_a_shell_reads_as_it_was_meant(page: Page, tmp_path: Path) -> None:
    import shlex

    path = write_pairs(tmp_path / "my pairs; rm -rf $HOME.csv")
    draft = drafts.planned(page.studio, data_panel.take(page, path, None), None, {"epochs": 2.0, "warmup_ratio": 0.2})
    words = shlex.split(told.command(draft, "m", "m"))
    assert words[:3] == ["sbert-studio", "train", "my pairs; rm -rf $HOME.csv"]
    assert words[words.index("--epochs") + 1] == "2"
    assert "warmup_ratio=0.2" in words


def test_a_run_is_followed_to_its_end_then_listed_and_deleted(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    _, run_id = tune.start(page, key, raw(page.drafts.get(key), epochs="1", batch_size="8", judge="split"), None, None, "Mine")
    follow = run_panel.attach(page, {"owner": "", "job": run_id})
    assert follow.run_id == run_id
    page.studio.runner.wait(run_id, 300)
    follow, panel, curves, changed = run_panel.look(page, follow)
    assert changed and panel["status"] == "finished" and panel["title"] == "Mine"
    assert curves is not None and len(curves["loss"]["x"]) > 1
    assert run_panel.look(page, follow)[3] is False
    ids, cards = models.listing(page, None, run_id)
    assert ids[-1] == run_id and cards["current"] == run_id
    facts, shown, _ = models.details(page, None, run_id)
    assert facts is not None and shown is not None and shown["scores"] is not None
    assert run_id in {name for _, name in page.model_choices(None)}
    assert run_panel.write_zip(page, run_id).stat().st_size > 1000
    page.studio.tune.delete_run(run_id)
    with pytest.raises(StudioError, match="no longer there"):
        run_panel.use(page, follow, None)
    assert run_id not in models.listing(page, None, "")[0]
    assert run_panel.attach(page, {"job": run_id}) == Follow()


def test_cards_that_arebuild_page_anew_leave_alone_what_was_clicked_meanwhile(page: Page) -> None:
    filled, name = models.refreshed_values(page, None, ""), models.listing(page, None, "")[0][0]
    assert [one == gr.skip() for one in filled] == [True, False, False, *[True] * 9]
    assert models.refreshed_values(page, None, name) == models.tab_values(page, None, name)
    assert models.refreshed_values(page, None, "no such run")[0] == "", "it was deleted elsewhere"


def test_a_run_whose_name_is_taken_gets_a_number_and_one_that_goes_on_from_it_says_its_name(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    names, ids = [], []
    for _ in range(3):
        _, run_id = tune.start(page, key, raw(page.drafts.get(key), epochs="0.2", judge="split"), None, None, "second")
        ids.append(run_id)
        names.append(page.studio.tune.run(run_id).run.name)
    assert names == ["second", "second 2", "second 3"]
    assert drafts.free_name(page.studio, "another visitor", "second") == "second"
    for run_id in ids:
        page.studio.runner.wait(run_id, 300)
    _, next_one = tune.start(page, key, raw(page.drafts.get(key), epochs="0.2", judge="split"), ids[1], None, "third")
    _, panel, _, _ = run_panel.look(page, Follow(next_one))
    assert panel["subtitle"].endswith("from second 2")
    facts, _, _ = models.details(page, None, next_one)
    assert facts is not None and "second 2" in str(facts)


def test_of_a_run_that_was_stopped_without_a_model_nothing_is_said_to_be_learned(page: Page, pairs: Path) -> None:
    run_id = page.studio.tune.train(TrainRequest(pairs, overrides={"epochs": 0.2, "judge": "split"})).id
    page.studio.store.record(run_id, status="stopped", model_path=None)
    _, panel, _, _ = run_panel.look(page, Follow(run_id))
    assert "for training" in panel["rows"][0]


def test_on_a_shared_page_visitors_do_not_see_each_others_runs(page: Page, pairs: Path) -> None:
    shared = Page(page.studio, shared=True)
    key = draft_of(shared, pairs)
    mine, theirs = ({"owner": new_visitor_id(), "job": ""} for _ in range(2))
    _, run_id = tune.start(shared, key, raw(shared.drafts.get(key), epochs="0.2", judge="split"), None, mine, "")
    shared.studio.runner.wait(run_id, 300)
    assert run_id in models.listing(shared, mine, "")[0]
    assert run_id not in models.listing(shared, theirs, "")[0]
    assert models.details(shared, theirs, run_id) == (None, None, None)
    assert run_panel.attach(shared, theirs) == Follow()
    assert shared.visitor(None) != shared.visitor(None)


def test_a_browser_cannot_give_itself_the_name_that_the_machine_or_the_api_uses(page: Page, pairs: Path) -> None:
    shared = Page(page.studio, shared=True)
    short = {"epochs": 0.2, "judge": "split"}
    runs = [page.studio.tune.submit(TrainRequest(pairs, overrides=short, owner=owner)) for owner in ("local", "api")]
    for forged in ("local", "api", "visitor-a", "", None, ["local"]):
        assert models.listing(shared, {"owner": forged}, "")[0] == models.listing(shared, None, "")[0]
        assert run_panel.attach(shared, {"owner": forged, "job": runs[0].id}) == Follow()


def test_time_and_memory_are_estimated_and_nothing_is_trained(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    draft, shown = tune.estimate(page, key, raw(page.drafts.get(key), epochs=2.0), None)
    assert draft.overrides["epochs"] == 2
    assert shown["title"].startswith("About ") and "GB of memory" in shown["title"]
    assert shown["reasons"][0].startswith("2 epochs of 60 rows")
    assert ", in 5 folds " in shown["reasons"][0]
    once, shown = tune.estimate(page, key, raw(page.drafts.get(key), epochs=1.0), None)
    assert once.overrides["epochs"] == 1 and shown["reasons"][0].startswith("1 epoch of 60 rows")
    assert page.studio.tune.runs() == []


def test_a_run_that_was_stopped_before_it_began_has_learned_from_nothing(page: Page, pairs: Path) -> None:
    overrides = [{"epochs": epochs, "judge": "split"} for epochs in (50, 1)]
    first, second = (page.studio.tune.submit(TrainRequest(pairs, overrides=values, name="waits")).id for values in overrides)
    page.studio.tune.stop(second)
    _, panel, _, _ = run_panel.look(page, Follow(second))
    page.studio.tune.stop(first)
    page.studio.runner.wait(first, 300)
    assert panel["status"] == "stopped" and "for training" in panel["rows"][0] and "used for training" not in panel["rows"][0]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (7_000_000_000, "7 B"),
        (494_032_768, "494 M"),
        (22_713_216, "23 M"),
        (800_000, "0.8 M"),
        (12_345, "12 k"),
        (1_200, "1.2 k"),
        (768, "768"),
    ],
)
def test_the_size_of_a_model_is_never_rounded_to_nothing(parameters: int, words: str) -> None:
    from sbert_studio.services.results import ModelCard

    assert ModelCard("a", "run", "a", 50, parameters, 0, "mean").size == words


@pytest.mark.parametrize(("length", "told"), [(0, "of any length"), (1_000_000, "of any length"), (256, "256 tokens")])
def test_a_model_without_a_limit_says_so(length: int, told: str) -> None:
    from sbert_studio.services.results import ModelCard

    card = ModelCard("words", "table", "words", 50, 1000, length, "mean")
    assert dict(models._model_facts(card))["Longest text"] == told


def test_a_model_that_cannot_be_tuned_is_no_fault_of_the_file(page: Page, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def frozen(*_: Any, **__: Any) -> None:
        raise StudioError("this-one is frozen", "choose another")

    monkeypatch.setattr(page.studio.tune, "plan", frozen)
    draft = data_panel.take(page, pairs, None)
    assert "file" not in told.findings(draft)["verdict"]
    with pytest.raises(StudioError) as caught:
        drafts.start(page.studio, draft, "local", "")
    assert "Choose another" in str(caught.value) and "columns" not in str(caught.value)


def test_a_file_that_is_chosen_while_another_model_looks_at_the_one_before_stands(
    page: Page, pairs: Path, static: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sbert_studio.ui.app import build_page

    events = build_page(page.studio, page).fns.values()
    (on_model,) = (event.fn for event in events if getattr(event.fn, "__qualname__", "") == "build.<locals>.on_model")
    other = data_panel.take(page, write_pairs(tmp_path / "other.csv", 40), None)
    key, checked, meanwhile = draft_of(page, pairs), drafts.checked, []

    def slow(*given: Any) -> drafts.Draft:
        meanwhile.append(page.drafts.put(other))
        return checked(*given)

    assert on_model.__wrapped__(key, static)[0] == key, "with nothing in between, it is looked at anew"
    monkeypatch.setattr(drafts, "checked", slow)
    kept = page.drafts.get(key)
    answer = on_model.__wrapped__(key, page.studio.settings.default_model)
    assert not isinstance(answer, list) and page.drafts.get(key) is kept and meanwhile


def test_a_new_draft_is_kept_with_its_settings_name_and_pinned_texts(page: Page, pairs: Path) -> None:
    from sbert_studio.ui.app import build_page

    events = build_page(page.studio, page).fns.values()
    (event,) = (event for event in events if getattr(event.fn, "__qualname__", "").endswith("_follow_form.<locals>.on_kept"))
    draft = page.drafts.get(draft_of(page, pairs))
    key = page.drafts.put(drafts.checked(page.studio, draft.asking(overrides={"epochs": 7}), None))
    pinned = ["one", "other", *[""] * (len(event.inputs) - 5)]
    kept = event.fn(None, key, "Cats", *pinned)
    assert (kept["overrides"], kept["name"], kept["pinned"][:2]) == ({"epochs": 7}, "Cats", ["one", "other"])
    assert event.fn(None, None, "Cats", *pinned) == gr.skip(), "no file was chosen"


def test_no_two_handlers_of_one_control_wait_for_their_turn(page: Page) -> None:
    """Gradio repeats the whole event for each handler that waited: two of them would repeat each other without end."""
    from sbert_studio.ui.app import build_page

    waiting = [event for event in build_page(page.studio, page).fns.values() if event.trigger_mode == "always_last"]
    inputs = Counter(target for event in waiting for target in set(event.targets) if target[1] == "input")
    assert inputs and max(inputs.values()) == 1
