from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import write_pairs

from sbert_studio.data.samples import get_sample
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.i18n import translate_value
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.services import TrainRequest
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.run_view import FollowedRun, read_run, use_model, write_run_zip
from sbert_studio.ui.state import OtherTexts, make_training_table, new_visitor_id
from sbert_studio.ui.tabs.fine_tune import draft as drafts
from sbert_studio.ui.tabs.fine_tune import handlers, run_panel, view_model
from sbert_studio.ui.tabs.fine_tune.draft import restore_draft, save_draft
from sbert_studio.ui.tabs.models import handlers as models
from sbert_studio.ui.views import UNCHANGED

from .forms import form_of, open_path, start

OWNER = {"owner": "visitor-0123456789abcdef"}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.csv")


def draft_of(page: Page, path: Path) -> str:
    return page.drafts.put(open_path(page, path))


def test_reading_and_checking_move_the_bar(page: Page, pairs: Path) -> None:
    class Bar(list[str]):
        """Empty at first, as Gradio's own is: an object that counts as false."""

        def __call__(self, value: tuple[int, int] | None, desc: str) -> None:
            self.append(desc)

    bar: Any = Bar()
    corpus = page.corpora.put(page.corpora.read(pairs))
    shown = handlers.show_data(page, None, corpus, None, None, None, "", bar)
    assert shown is not None
    opened = shown.file
    assert list(dict.fromkeys(bar)) == ["Reading"] and opened.view.preview["rows"], "the first rows are shown before they are checked"
    assert opened.view.findings is not None and opened.view.findings["verdict"].startswith("Checking")
    assert opened.view.findings["checking"], "no verdict on problems stands beside it"
    checked = handlers.check_draft(page, opened.view.draft, corpus, bar)
    assert checked is not None and checked.findings is not None and "rows ·" in checked.findings["verdict"]
    assert "checking" not in checked.findings
    assert list(dict.fromkeys(bar)) == ["Reading", "Checking"]
    assert handlers.check_draft(page, opened.view.draft, corpus) is None, "once is enough"


def test_rows_of_another_tab_are_told_from_the_selected_data(page: Page, pairs: Path) -> None:
    corpus = page.corpora.put(page.corpora.read(pairs))
    labelled = make_training_table(page, "labelled.csv", {"text": ["one", "two"], "label": ["a", "b"]})
    handed = handlers.open_training_table(page, labelled, None, "")
    assert handed is not None and "labelled.csv" in handed.view.preview["caption"]
    assert "come from another tab" in handed.view.preview["note"] and handed.view.preview["offer"]
    back = handlers.use_selected_data(page, None, corpus, None, "")
    assert back is not None and "pairs.csv" in back.file.view.preview["caption"]
    assert "offer" not in back.file.view.preview and not back.file.view.preview["note"]


def test_a_second_check_encodes_no_text_again(page: Page, pairs: Path) -> None:
    encoder = page.studio.catalog.load(page.studio.settings.default_model)
    encoded: list[str] = []
    hook = encoder.register_forward_pre_hook(lambda module, args: encoded.append(type(module).__name__))  # type: ignore[attr-defined]
    first = open_path(page, pairs)
    assert first.plan is not None and encoded
    encoded.clear()
    assert drafts.plan_again(page.studio, replace(first, plan=None), None).plan is not None
    hook.remove()
    assert not encoded


def test_rows_that_are_not_checked_yet_are_checked_by_start_and_not_over_other_data(page: Page, pairs: Path) -> None:
    def open_other_data(share: float | None, desc: str) -> None:
        if desc.startswith("Checking"):
            handlers.open_fitting(page, pairs, None, None, "")
            page.drafts.put(open_path(page, pairs))

    first, second = (page.drafts.put(handlers.open_fitting(page, pairs, None, None, "")[0]) for _ in range(2))
    interrupted: Any = open_other_data
    assert handlers.check_draft(page, first, None, interrupted) is None, "other data was opened in the meantime"
    assert not page.drafts.get(second).is_checked
    settings = view_model.settings_view(None, view_model.default_settings())
    assert handlers._planned(page, second, None, None, settings).plan is not None
    page.drafts.put(replace(page.drafts.get(second), data="file:other text "), second)
    with pytest.raises(StudioError, match="still being read"):
        handlers._planned(page, second, None, None, settings)
    assert handlers._planned(page, second, "no longer in memory", None, settings).plan is not None


def test_rows_of_data_that_was_left_meanwhile_are_cleared_and_not_stored(page: Page, pairs: Path) -> None:
    """The answer about the data of before comes after other data was selected: training on it would be a surprise."""
    shown = handlers.show_data(page, None, page.corpora.put(page.corpora.read(pairs)), None, None, None, "")
    assert shown is not None
    key, no_pins = shown.file.view.draft, view_model.pins_form([""] * 11)
    assert handlers.store_form(page, None, None, key, "", no_pins) is UNCHANGED, "it would be the form of the other data"
    cleared = handlers.check_draft(page, key, None)
    assert cleared is not None and cleared.draft is None and cleared.findings is None
    checked = handlers.check_draft(page, key, page.corpora.put(page.corpora.read(pairs)))
    assert checked is not None and checked.draft == key
    assert handlers.check_draft(page, key, None) is not None, "also once it is checked"
    opened = page.drafts.put(replace(open_path(page, pairs), is_checked=False))
    assert handlers.check_draft(page, key, None) is None, "what was opened since is on its way"
    page.drafts.put(open_path(page, pairs), opened)
    assert handlers.check_draft(page, key, None) is not None, "it was shown before, and this draft's answer came too late"


def test_a_file_of_the_wrong_shape_says_so_and_can_be_put_right_by_hand(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,word\n" + "".join(f"{n},{n * 7}\n" for n in range(9)), encoding="utf-8")
    draft = drafts.with_columns(page.studio, open_path(page, path), SchemaOverrides("scored_pairs"), None)
    assert draft.diagnosis is None
    assert view_model.findings_view(draft)["findings"][0]["severity"] == "error"
    assert view_model.settings_view(None, view_model.displayed_settings(draft))["values"]["loss"] == "auto"
    with pytest.raises(StudioError):
        drafts.start_run(page.studio, draft, "local", "")


def test_a_fix_is_applied_by_its_number_and_restored(page: Page, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "x.csv")
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[1], lines[1]]) + "\n", encoding="utf-8")
    draft = open_path(page, path)
    assert draft.diagnosis is not None
    number = next(n for n, finding in enumerate(draft.diagnosis.findings) if finding.fix)
    fixed = drafts.change_rows(page.studio, draft, "mend", number, None)
    assert fixed.changes and len(fixed.table) < len(draft.table)
    shown = view_model.findings_view(fixed)
    assert shown["changes"] == list(fixed.changes) and shown["undo"]
    for wrong in (-1, 99, "0", None):
        with pytest.raises(StudioError):
            drafts.change_rows(page.studio, draft, "mend", wrong, None)
    again = restore_draft(page, OWNER, save_draft(page, OWNER, fixed, ""), page.studio.settings.default_model)
    assert again is not None and len(again.table) == len(fixed.table)


def test_a_conversion_is_offered_applied_downloaded_undone_and_trained_on(page: Page, pairs: Path) -> None:
    draft = drafts.with_settings(page.studio, open_path(page, pairs), None, {"loss": "cosine", "epochs": 2.0})
    offers = {offer["name"]: offer["rows"] for offer in view_model.findings_view(draft)["offers"]}
    assert offers["scored_to_labelled"] == "60 rows" and re.fullmatch(r"\d+ rows?, \d+ not converted", offers["labelled_to_positive"])
    translated = translate_value(view_model.findings_view(draft), "zh")["offers"]
    assert not [offer for offer in translated if re.search("[A-Za-z]", offer["rows"])]
    labelled = drafts.change_rows(page.studio, draft, "convert", "scored_to_labelled", None)
    assert labelled.diagnosis is not None and labelled.diagnosis.roles.kind == "labelled_pairs"
    assert labelled.overrides == {"epochs": 2.0}
    written = handlers.write_changed_file(page, page.drafts.put(labelled))
    assert written.name == "pairs-fixed.csv"
    assert written.read_text(encoding="utf-8-sig").startswith("sentence1,sentence2,label")
    assert "pairs-fixed.csv" in drafts.command_line(labelled, "m", "m")
    again = drafts.change_rows(page.studio, labelled, "undo", 0, None)
    assert again.table is draft.table and again.changes == () and not view_model.findings_view(again)["undo"]
    assert again.diagnosis is not None and again.diagnosis.roles == draft.diagnosis.roles  # type: ignore[union-attr]
    for action, which in (("convert", "nli_to_triplets"), ("convert", 0), ("convert", None), ("fix", "scored_to_labelled"), ("explode", 7)):
        with pytest.raises(StudioError):
            drafts.change_rows(page.studio, draft, action, which, None)
    planned = drafts.with_settings(page.studio, labelled, None, {"epochs": 0.2, "loss": "softmax", "evaluation": "split"})
    run = drafts.start_run(page.studio, planned, "local", "")
    page.studio.runner.wait(run.id, 300)
    done = page.studio.fine_tune.get_run(run.id).run
    assert (done.status, done.loss, done.rows) == ("finished", "softmax", 60)


def test_a_changed_file_that_is_downloaded_is_the_very_rows_that_are_trained_on(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "formulas.csv"
    row = "=cat dog {0},-mat park {0},{1}.0"
    path.write_text("sentence1,sentence2,score\n" + "\n".join(row.format(n, n % 6) for n in range(40)) + "\n" + row.format(0, 0) + "\n")
    draft = open_path(page, path)
    assert draft.diagnosis is not None
    number = next(n for n, found in enumerate(draft.diagnosis.findings) if found.fix)
    mended = drafts.change_rows(page.studio, draft, "mend", number, None)
    again = page.studio.data.read_table(handlers.write_changed_file(page, page.drafts.put(mended)))
    assert [list(again.column(name)) for name in again.columns] == [list(mended.table.column(name)) for name in mended.table.columns]
    assert again.column("sentence1")[0].startswith("=cat")


def inputs(kind: Any, columns: Any, target: Any, low: Any, high: Any, group: Any) -> SchemaOverrides:
    return handlers.ColumnInputs(kind, columns, target, low, high, group).choices()


def chosen(draft: drafts.Draft, **values: Any) -> SchemaOverrides:
    """What the controls of the columns hold for a draft, with some changed by hand."""
    held: dict[str, Any] = dict.fromkeys(("kind", "columns", "target", "low", "high", "group"))
    if draft.diagnosis is not None:
        roles = draft.diagnosis.roles
        held |= {"kind": roles.kind, "columns": roles.texts, "target": roles.target, "low": roles.low, "high": roles.high}
        held["group"] = roles.group
    else:
        held |= {"kind": draft.choices.kind, "columns": draft.choices.columns, "target": draft.choices.target}
    return inputs(**{**held, **values})


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
    draft = open_path(page, odd)
    assert drafts.with_columns(page.studio, draft, chosen(draft, kind="positive_pairs"), None).choices == SchemaOverrides("positive_pairs")
    draft = drafts.with_columns(page.studio, draft, SchemaOverrides("scored_pairs"), None)
    for values in ({"columns": ['c "c"', "one, two"]}, {"target": "points"}, {"high": 10.0}, {"group": ""}):
        draft = drafts.with_columns(page.studio, draft, chosen(draft, **values), None)
    assert draft.diagnosis is not None
    roles = draft.diagnosis.roles
    assert (roles.texts, roles.target, roles.low, roles.high, roles.group) == (('c "c"', "one, two"), "points", 0.0, 10.0, None)
    assert "divided by 10" in view_model.findings_view(draft)["verdict"]
    assert drafts.has_columns(draft, chosen(draft)) and not drafts.has_columns(draft, chosen(draft, high=9.0))
    assert drafts.with_columns(page.studio, draft, chosen(draft), None).choices == draft.choices
    wrong = drafts.with_columns(page.studio, draft, chosen(draft, group="points"), None)
    assert "has two roles" in view_model.findings_view(wrong)["findings"][0]["message"]
    held = ["scored_pairs", ['c "c"', "one, two"], "points", 0, 0]
    empty = drafts.with_columns(page.studio, draft, inputs(*held, ""), None)
    assert empty.diagnosis is None and not drafts.has_columns(empty, inputs(*held, ""))
    for tried, values in ((wrong, [*held[:4], 10, "topic"]), (empty, [*held[:4], 8, ""])):
        right = drafts.with_columns(page.studio, tried, inputs(*values), None).diagnosis
        assert right is not None and (right.roles.high, right.roles.group) == (float(str(values[4])), values[5] or None)


@pytest.mark.parametrize("changes", [{"group": "topic", "high": 7.5, "low": -1.0}, {"group": ""}, {}])
def test_the_printed_command_gives_the_same_roles(
    page: Page, odd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], changes: dict[str, Any]
) -> None:
    import shlex

    from sbert_studio.cli.main import run

    held = write_pairs(odd.with_name("held out.csv"), seed=7)
    draft = open_path(page, odd).with_request(dev=held)
    draft = drafts.with_columns(page.studio, drafts.plan_again(page.studio, draft, None), SchemaOverrides("scored_pairs"), None)
    for values in ({"columns": ["$HOME", "one, two"]}, {"target": "points"}, changes):
        draft = drafts.with_columns(page.studio, draft, chosen(draft, **values), None)
    assert draft.diagnosis is not None
    words = shlex.split(drafts.command_line(draft, "m", "m"))
    assert words[:4] == ["sbert-studio", "train", "my odd; file.csv", "--dev"]
    monkeypatch.chdir(odd.parent)
    monkeypatch.setenv("SBERT_STUDIO_MODEL", str(page.studio.settings.default_model))
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")
    until = min(words.index(flag) for flag in ("--loss", "--method"))
    assert run(["check", *words[2:until], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["roles"] == draft.diagnosis.roles.to_json()
    assert run([*words[1:], "--epochs", "0.2", "--set", "evaluation=split", "--json"]) == 0, capsys.readouterr().err


def test_a_run_is_followed_to_its_end_then_listed_and_deleted(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    run_id = start(page, key, form_of(page.drafts.get(key), epochs="1", batch_size="8", evaluation="split"), None, None, "Mine")
    follow = run_panel.attach_run(page, {"owner": "", "job": run_id})
    assert follow.chosen == run_id
    page.studio.runner.wait(run_id, 300)
    snapshot = read_run(page, FollowedRun(run_id))
    panel, curves = snapshot.run, snapshot.curves
    assert snapshot.has_changed and panel["status"] == "finished" and panel["title"] == "Mine"
    assert curves is not None and len(curves["loss"]["x"]) > 1
    assert not read_run(page, snapshot.followed).has_changed
    ids, cards = models.list_models(page, None, run_id)
    assert ids[-1] == run_id and cards["current"] == run_id
    facts, shown, _ = models.model_details(page, None, run_id)
    assert facts is not None and shown is not None and shown["scores"] is not None
    assert run_id in {name for _, name in page.model_choices(None)}
    assert write_run_zip(page, run_id).stat().st_size > 1000
    assert run_panel.list_runs(page, None, run_id, None).chosen is UNCHANGED
    page.studio.fine_tune.delete_run(run_id)
    assert run_panel.list_runs(page, None, run_id, None).chosen == "", "its panel goes, whichever window deleted it"
    with pytest.raises(StudioError, match="no longer exists"):
        use_model(page, run_id, None)
    assert run_id not in models.list_models(page, None, "")[0]
    assert run_panel.attach_run(page, {"job": run_id}) == run_panel.SelectedRun("")


def test_a_run_whose_name_is_taken_gets_a_number_and_one_that_goes_on_from_it_says_its_name(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    names, ids = [], []
    for _ in range(3):
        run_id = start(page, key, form_of(page.drafts.get(key), epochs="0.2", evaluation="split"), None, None, "second")
        ids.append(run_id)
        names.append(page.studio.fine_tune.get_run(run_id).run.name)
    assert names == ["second", "second 2", "second 3"]
    assert drafts.free_name(page.studio, "another visitor", "second") == "second"
    for run_id in ids:
        page.studio.runner.wait(run_id, 300)
    next_one = start(page, key, form_of(page.drafts.get(key), epochs="0.2", evaluation="split"), ids[1], None, "third")
    panel = read_run(page, FollowedRun(next_one)).run
    assert panel["subtitle"].endswith("from second 2")
    facts, _, _ = models.model_details(page, None, next_one)
    assert facts is not None and "second 2" in str(facts)


def test_of_a_run_that_was_stopped_without_a_model_nothing_is_said_to_be_learned(page: Page, pairs: Path) -> None:
    run_id = page.studio.fine_tune.train(TrainRequest(pairs, overrides={"epochs": 0.2, "evaluation": "split"})).id
    page.studio.store.record(run_id, status="stopped", model_path=None)
    panel = read_run(page, FollowedRun(run_id)).run
    assert "for training" in panel["rows"][0]


def test_visitors_of_a_shared_page_see_no_runs_of_others_and_cannot_forge_an_owner(page: Page, pairs: Path) -> None:
    shared = Page(page.studio, shared=True)
    key = draft_of(shared, pairs)
    mine, theirs = ({"owner": new_visitor_id(), "job": ""} for _ in range(2))
    run_id = start(shared, key, form_of(shared.drafts.get(key), epochs="0.2", evaluation="split"), None, mine, "")
    shared.studio.runner.wait(run_id, 300)
    assert run_id in models.list_models(shared, mine, "")[0]
    assert run_id not in models.list_models(shared, theirs, "")[0]
    assert models.model_details(shared, theirs, run_id) == (None, None, None)
    assert run_panel.attach_run(shared, theirs) == run_panel.SelectedRun("")
    assert shared.visitor(None) != shared.visitor(None)
    short = {"epochs": 0.2, "evaluation": "split"}
    runs = [page.studio.fine_tune.submit(TrainRequest(pairs, overrides=short, owner=owner)) for owner in ("local", "api")]
    for forged in ("local", "api", "visitor-a", "", None, ["local"]):
        assert models.list_models(shared, {"owner": forged}, "")[0] == models.list_models(shared, None, "")[0]
        assert run_panel.attach_run(shared, {"owner": forged, "job": runs[0].id}) == run_panel.SelectedRun("")


def test_time_and_memory_are_estimated_and_nothing_is_trained(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    for epochs, words in ((2.0, "2 epochs of 60 rows"), (1.0, "1 epoch of 60 rows")):
        view = handlers.estimate_training(page, key, None, None, form_of(page.drafts.get(key), epochs=epochs))
        shown = view.plan.forecast
        assert isinstance(shown, dict) and page.drafts.get(view.draft).overrides["epochs"] == epochs
        assert shown["title"].startswith("About ") and "GB of memory" in shown["title"]
        assert shown["reasons"][0].startswith(words) and "6 models: 5 on parts of the rows" in shown["reasons"][0]
    assert page.studio.fine_tune.list_runs() == []


def test_a_late_answer_to_an_edit_leaves_the_estimate_of_the_same_settings(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    form = form_of(page.drafts.get(key), blend=False)
    assert handlers.estimate_training(page, key, None, None, form) is not None
    late = handlers.change_settings(page, None, None, key, "", None, {}, form)
    assert late.plan.forecast is UNCHANGED
    other = handlers.change_settings(page, None, None, key, "", None, {}, form_of(page.drafts.get(key), epochs=2.0))
    assert other.plan.forecast is None


def test_an_estimate_never_takes_back_what_was_changed_meanwhile(page: Page, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = draft_of(page, pairs)
    form = form_of(page.drafts.get(key))
    estimate = page.studio.planner.estimate

    def change_and_estimate(plan: Any) -> Any:
        handlers.change_settings(page, None, None, key, "", None, {}, form_of(page.drafts.get(key), epochs=2.0))
        return estimate(plan)

    monkeypatch.setattr(page.studio.planner, "estimate", change_and_estimate)
    assert handlers.estimate_training(page, key, None, None, form) is None
    assert (page.drafts.last(), page.drafts.get(key).overrides["epochs"]) == (key, 2.0)


def test_an_estimate_is_shown_although_the_edit_it_knows_of_is_answered_meanwhile(
    page: Page, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = draft_of(page, pairs)
    form = form_of(page.drafts.get(key), blend=False)
    estimate = page.studio.planner.estimate

    def answer_and_estimate(plan: Any) -> Any:
        handlers.change_settings(page, None, None, key, "", None, {}, form)
        return estimate(plan)

    monkeypatch.setattr(page.studio.planner, "estimate", answer_and_estimate)
    view = handlers.estimate_training(page, key, None, None, form)
    assert view is not None and "GB of memory" in view.plan.forecast["title"]


def test_an_estimate_can_be_stopped(page: Page, pairs: Path) -> None:
    key = draft_of(page, pairs)
    is_measuring = page.studio.runner._training.locked
    with stoppable(is_measuring), pytest.raises(StoppedError):
        handlers.estimate_training(page, key, None, None, form_of(page.drafts.get(key)))


def test_a_model_that_cannot_be_tuned_is_no_fault_of_the_file(page: Page, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def frozen(*_: Any, **__: Any) -> None:
        raise StudioError("this-one is frozen", "choose another")

    monkeypatch.setattr(page.studio.planner, "plan", frozen)
    draft = open_path(page, pairs)
    assert "file" not in view_model.findings_view(draft)["verdict"]
    with pytest.raises(StudioError) as caught:
        drafts.start_run(page.studio, draft, "local", "")
    assert "Choose another" in str(caught.value) and "columns" not in str(caught.value)


def test_a_file_that_is_chosen_while_another_model_reads_the_one_before_stays(
    page: Page, pairs: Path, static: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_path(page, write_pairs(tmp_path / "other.csv", 40))
    key, plan_again, meanwhile = draft_of(page, pairs), drafts.plan_again, []

    def slow(*arguments: Any) -> drafts.Draft:
        meanwhile.append(page.drafts.put(other))
        return plan_again(*arguments)

    changed = handlers.change_model(page, key, static)
    assert changed is not None and changed.draft == key, "with nothing in between, it is planned again"
    monkeypatch.setattr(drafts, "plan_again", slow)
    before = page.drafts.get(key)
    assert handlers.change_model(page, key, page.studio.settings.default_model) is None
    assert page.drafts.get(key) is before and meanwhile


def test_a_new_draft_is_stored_with_its_settings_name_and_pinned_texts(page: Page, pairs: Path) -> None:
    draft = open_path(page, pairs).with_request(overrides={"epochs": 7})
    key, pins = page.drafts.put(drafts.plan_again(page.studio, draft, None)), view_model.pins_form(["one", "other", *[""] * 9])
    corpus = corpora.open_file(page, str(pairs))
    stored = handlers.store_form(page, None, corpus, key, "Cats", pins)
    assert isinstance(stored, dict)
    assert (stored["overrides"], stored["name"], stored["pinned"][:2]) == ({"epochs": 7}, "Cats", ["one", "other"])
    assert handlers.store_form(page, None, corpus, None, "Cats", pins) is UNCHANGED, "no file was chosen"
    restored = handlers.show_data(page, None, corpus, None, stored, None, "")
    assert restored is not None and restored.name == "Cats" and view_model.count_visible_pairs(restored.pins_view.pins) == 1
    other = handlers.show_data(page, None, None, None, stored, None, "")
    assert other is not None and other.name is UNCHANGED, "it is the form of other data"
    cleared = handlers.clear_data(OtherTexts("wenben.csv", "zh"))
    assert cleared.file.header.other_texts is None, "the banner warns of the file no more"
    assert handlers.clear_data(OtherTexts("", "zh")).file.header.other_texts is UNCHANGED, "what was typed is still there"
    assert cleared.name == "" and cleared.file.view.draft is None
    plan = cleared.file.view.plan
    assert (plan.forecast, plan.reasons, plan.command, plan.trainings) == (None, None, None, None)


def test_no_two_handlers_of_one_control_wait_for_their_turn(page: Page) -> None:
    """Gradio repeats the whole event for each handler that waited: two of them would repeat each other without end."""
    from sbert_studio.ui.app import build_page

    waiting = [event for event in build_page(page.studio, page).fns.values() if event.trigger_mode == "always_last"]
    inputs = Counter(target for event in waiting for target in set(event.targets) if target[1] == "input")
    assert inputs and max(inputs.values()) == 1


def test_file_columns_settings_and_name_come_back(page: Page, tmp_path: Path) -> None:
    model = page.studio.settings.default_model
    draft = open_path(page, write_pairs(tmp_path / "mine.csv"), model)
    chosen = SchemaOverrides(kind="scored_pairs", columns=("sentence2", "sentence1"), target="score", group="", scale=(0.0, 5.0))
    draft = drafts.with_columns(page.studio, draft, chosen, model)
    draft = drafts.with_settings(page.studio, draft, model, {"epochs": 3.0, "loss": "cosent"})
    saved = json.loads(json.dumps(save_draft(page, OWNER, draft, "My model", ["cat", "dog"])))
    (tmp_path / "mine.csv").unlink()  # the upload is gone once the page is left
    again = restore_draft(page, OWNER, saved, model)
    assert again is not None and again.plan is not None and draft.plan is not None
    assert again.name == "mine.csv" and saved["name"] == "My model"
    assert saved["pinned"] == ["cat", "dog"]
    assert again.choices == draft.choices
    assert dict(again.overrides) == dict(draft.overrides)
    assert again.plan.spec == draft.plan.spec
    assert [name for name, _ in page.corpora.choices(OWNER)] == [name for name, _ in page.corpora.choices(None)], "it is no corpus"


def test_earlier_forms_samples_and_further_files_are_restored(page: Page, tmp_path: Path) -> None:
    model = page.studio.settings.default_model
    draft = drafts.with_settings(page.studio, open_path(page, write_pairs(tmp_path / "mine.csv"), model), model, {"evaluation": "split"})
    saved = save_draft(page, OWNER, draft, "")
    saved["overrides"] = {{"evaluation": "judge"}.get(name, name): value for name, value in saved["overrides"].items()}
    assert saved["overrides"] == {"judge": "split"}
    again = restore_draft(page, OWNER, saved, model)
    assert again is not None and again.plan is not None and again.plan.spec.evaluation == "split"
    model = page.studio.settings.default_model
    draft = open_path(page, get_sample("bank_messages").path, model).with_request(dev=write_pairs(tmp_path / "dev.csv", seed=4))
    saved = save_draft(page, OWNER, draft, "")
    assert saved["file"] == "sample:bank_messages"
    again = restore_draft(page, OWNER, saved, model)
    assert again is not None and again.request.dev is not None
    assert again.request.dev.read_bytes() == (tmp_path / "dev.csv").read_bytes()


def test_a_stored_form_is_not_trusted(page: Page, tmp_path: Path) -> None:
    """Invalid settings leave the file as it is read."""
    model = page.studio.settings.default_model
    for invalid in (None, {}, "x", *({"file": file} for file in ("file:../../etc", "sample:none", 3, "file:0123456789ab"))):
        assert restore_draft(page, OWNER, invalid, model) is None
    saved = save_draft(page, OWNER, open_path(page, write_pairs(tmp_path / "mine.csv"), model), "")
    changes: list[dict[str, object]] = [{"overrides": one} for one in ({"epochs": "many"}, {"no_such": 1}, [], {"loss": "none"})]
    for change in (*changes, {"choices": {"columns": ["gone", "too"], "no_such": 1}}):
        again = restore_draft(page, OWNER, {**saved, **change}, model)
        assert again is not None and again.plan is not None
    other = {"owner": "visitor-fedcba9876543210"}
    assert restore_draft(Page(page.studio, shared=True), other, saved, model) is None, "nobody else's file"
