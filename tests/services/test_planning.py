"""A run is planned once: what was said, found, asked and answered goes into it, and what is open or wrong is not trained."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.data.findings import ExampleRow, Option, Question
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.errors import StudioError
from sbert_studio.runs.files import RunFiles
from sbert_studio.services import OpenQuestionsError, Studio, TrainRequest
from sbert_studio.services.data import DataService
from sbert_studio.services.run_setup import default_run_name
from sbert_studio.services.training_plan import TrainPlan
from sbert_studio.training.members import plan_folds

WHICH_WAY = Question(
    "scale",
    "Is a 5 the most alike?",
    (Option("yes", "--scale 0-5", {"scale": [0.0, 5.0]}), Option("no, a 10 would be", "--scale 0-10", {"scale": [0.0, 10.0]})),
    "No row says so.",
    (ExampleRow(3, ("cat dog", "<b>red</b>"), "4.5", "most similar"),),
)


pytestmark = pytest.mark.slow


def exported(studio: Studio, run_id: str) -> dict[str, str]:
    """The texts in the export of a run."""
    with zipfile.ZipFile(studio.fine_tune.export(run_id).path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist() if name.endswith((".md", ".json"))}


def brief(**values: object) -> dict[str, object]:
    """Overrides for a training of two steps."""
    return quick(**{"epochs": 0.2, **values})


@dataclass(frozen=True)
class Planned:
    """A folder with one run of sixty rows, a fifth of them held out, and how it was planned."""

    home: Path
    id: str
    plan: TrainPlan


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Planned:
    folder = tmp_path_factory.mktemp("planned")
    with studio_at(folder / "home", tiny_model) as studio:
        plan = studio.planner.plan(TrainRequest(write_pairs(folder / "pairs.csv", seed=10), overrides=brief(dev_fraction=0.2)))
        return Planned(folder / "home", studio.fine_tune.train(plan).id, plan)


@pytest.fixture
def copied(home: Path, tiny_model: Path, planned: Planned) -> Iterator[Studio]:
    """A studio on a copy of the folder with the run."""
    shutil.copytree(planned.home, home)
    with studio_at(home, tiny_model) as made:
        yield made


@pytest.fixture
def doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of scores is uncertain until its scale is told."""
    known = DataService.diagnose

    def diagnose(self: DataService, table: Any, said: Any, *more: Any, **named: Any) -> Any:
        found = known(self, table, said, *more, **named)
        return replace(found, questions=() if isinstance(said, SchemaOverrides) and said.scale else (WHICH_WAY,))

    monkeypatch.setattr(DataService, "diagnose", diagnose)


def test_a_run_is_described_with_its_time_if_the_speed_is_known(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_pairs(tmp_path / "pairs.csv", seed=10)

    def describe(**settings: object) -> str:
        return str(studio.planner.describe_trainings(studio.planner.plan(TrainRequest(path, overrides=brief(**settings)))))

    assert re.fullmatch(r"Training takes about .+\.", describe())
    assert re.fullmatch(r"3 models are trained for 0\.2 epochs each\. This takes about .+ in total\.", describe(seeds=3))
    monkeypatch.setattr(DataService, "encoding_seconds", lambda self, model, columns: 0.0)
    assert (describe(), describe(seeds=3)) == ("", "3 models are trained for 0.2 epochs each.")


@pytest.mark.parametrize(
    ("rows", "seconds", "folds", "reason"),
    [
        (80, 1.0, 5, ""),
        (80, 3.2, 3, "There are 3 folds, because 5 would take about 4 min"),
        (80, 60.0, 2, "There are 2 folds, because 5 would"),  # a tenth of so few rows cannot choose a model
        (550, 60.0, 0, "because cross-validation in 3 folds would"),
    ],
)
def test_a_slow_machine_uses_fewer_folds_or_one_split_and_says_so_before_start(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, seconds: float, folds: int, reason: str
) -> None:
    monkeypatch.setattr(DataService, "encoding_seconds", lambda self, model, columns: seconds)
    request = TrainRequest(write_pairs(tmp_path / "pairs.csv", rows, seed=10))
    plan = studio.planner.plan(request)
    assert len(plan_folds(plan.spec, plan.examples, None)) == folds
    assert reason in plan.time_reason and (plan.time_reason in plan.reasons) == bool(reason)
    assert plan.time_reason in studio.planner.describe_trainings(plan)
    assert ("no learning curve" in plan.time_reason) == (not folds), "said before Start, not only missed after it"
    parts, curve = studio.planner.describe_parts(plan), 2 if folds and len(plan.examples) * (1 - 1 / folds) >= 80 else 0
    assert parts.startswith(f"{folds + curve + 1} models: {folds} ") if folds else not parts
    assert parts in studio.planner.describe_trainings(plan), "the form and the estimate count the same models"
    monkeypatch.setattr(DataService, "encoding_seconds", lambda self, model, columns: 0.1)
    rate = replace(request, overrides={"learning_rate": 1e-5})
    assert studio.planner.plan(rate, plan).time_reason == plan.time_reason, "a choice does not change with the load of the machine"
    other = studio.planner.plan(replace(request, overrides={"loss": "angle", "epochs": plan.spec.epochs}), plan)
    assert other.diagnosis is plan.diagnosis and not other.time_reason, "another loss takes another time"
    asked = studio.planner.plan(replace(request, overrides={"evaluation": "folds"}))
    assert not asked.time_reason and len(plan_folds(asked.spec, asked.examples, None)) >= 3
    again = studio.planner.plan(request, studio.planner.plan(replace(request, overrides={"evaluation": "split", "max_folds": 2}), plan))
    assert (again.spec.evaluation, again.spec.max_folds) == ("auto", 0), "a choice that was taken back"


@pytest.mark.usefixtures("doubtful")
def test_what_is_uncertain_is_planned_but_not_trained_until_it_is_answered(studio: Studio, tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    plan = studio.planner.plan(TrainRequest(path, overrides=brief()))
    assert not plan.certain and plan.to_json()["questions"][0]["options"][1]["flag"] == "--scale 0-10"
    for verb in (studio.fine_tune.submit, studio.fine_tune.train, studio.planner.estimate):
        with pytest.raises(OpenQuestionsError, match="Is a 5 the most alike") as caught:
            verb(plan)
        assert "--scale 0-10 (no, a 10 would be)" in str(caught.value) and caught.value.rows == (3,)
    assert studio.fine_tune.list_runs() == []
    answered = studio.planner.plan(replace(plan.request, choices=SchemaOverrides(scale=(0.0, 10.0))), plan)
    assert answered.certain and answered.table is plan.table
    assert studio.fine_tune.train(answered).status == "finished"
    kept = studio.fine_tune.train(TrainRequest(path, choices=SchemaOverrides(as_read=True), overrides=brief()))
    assert RunFiles(studio.workspace.run(kept.id)).plan()["as_read"][0]["question"] == WHICH_WAY.text
    card = exported(studio, kept.id)["pairs/README.md"]
    assert "60 rows read" in card and "Is a 5 the most alike?" in card and "--as-read" in card


def test_the_parts_of_the_model_are_chosen_for_both_stages(studio: Studio, tmp_path: Path) -> None:
    path, first = write_pairs(tmp_path / "pairs.csv", seed=10), write_pairs(tmp_path / "first.csv", seed=30)
    chosen = brief(projection=8, activation="tanh", pooling="max", **{"first.pooling": "cls", "first.epochs": 0.2})
    run = studio.fine_tune.train(TrainRequest(path, first=first, overrides=chosen))
    spec = RunFiles(studio.workspace.run(run.id)).spec()
    earlier = spec.first
    assert (spec.projection, spec.activation, spec.pooling) == (8, "tanh", "max")
    assert (earlier["projection"], earlier["activation"], earlier["pooling"]) == (8, "tanh", "cls")
    card = exported(studio, run.id)["pairs/README.md"]
    said = dict(word.split("=") for word in re.findall(r"--set (\S+)", card.split("```sh")[-1]))
    again = studio.planner.plan(TrainRequest(path, first=first, overrides={name: said[name] for name in said if name != "first.columns"}))
    assert (again.spec, again.spec.first) == (spec, earlier), "the same training again"


@pytest.mark.usefixtures("doubtful")
def test_a_question_about_the_first_stage_is_answered_by_a_setting_of_it(studio: Studio, tmp_path: Path) -> None:
    path, first = write_pairs(tmp_path / "pairs.csv", seed=10), write_pairs(tmp_path / "first.csv", seed=30)
    said = TrainRequest(path, first=first, choices=SchemaOverrides(scale=(0.0, 5.0)), overrides=brief(**{"first.epochs": 0.2}))
    (question,) = studio.planner.plan(said).questions
    assert question.text.startswith("In the file of the first stage: ")
    assert question.options[1].flag == "--set first.scale=0-10"
    for value in ("0-10", [0.0, 10.0]):
        plan = studio.planner.plan(replace(said, overrides=brief(**{"first.scale": value, "first.epochs": 0.2})))
        assert plan.certain and plan.first is not None and (plan.roles.high, plan.first.roles.high) == (5.0, 10.0)
    run = studio.fine_tune.train(plan)
    assert "--set first.scale=0-10" in exported(studio, run.id)["pairs/README.md"], "the same training again reads both files the same"


def test_rows_that_nothing_can_be_learned_from_are_not_trained_on(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text("sentence1,sentence2,score\n" + "".join(f"cat dog,red blue {n},{n % 6}\n" for n in range(40)), encoding="utf-8")
    for verb in (studio.fine_tune.submit, studio.fine_tune.train, studio.planner.estimate):
        with pytest.raises(StudioError, match="the same text in every row"):
            verb(TrainRequest(path, overrides=brief()))
    pairs = write_pairs(tmp_path / "pairs.csv")
    with pytest.raises(StudioError, match="the held-out file cannot be used"):
        studio.fine_tune.submit(TrainRequest(pairs, dev=write_texts(tmp_path / "dev.csv"), overrides=brief()))
    assert studio.fine_tune.list_runs() == []


def write_texts(path: Path) -> Path:
    path.write_text("id\n" + "".join(f"{n}\n" for n in range(20)), encoding="utf-8")
    return path


def test_every_row_is_accounted_for_in_the_plan_the_run_and_the_zip(studio: Studio, tmp_path: Path) -> None:
    path, dev = write_pairs(tmp_path / "pairs.csv", seed=10), write_pairs(tmp_path / "dev.csv", 20, seed=30)
    with path.open("a", encoding="utf-8") as target:
        target.write("cat,dog,none of it\nmat,,3\n")
    plan = studio.planner.plan(TrainRequest(path, dev, overrides=brief()))
    account = plan.accounts["data"]
    assert (account.read, account.used, account.skipped) == (62, 60, 2)
    assert {row for reason in account.reasons for row in reason.rows} == {62, 63}
    assert (plan.accounts["dev"].read, plan.accounts["dev"].used) == (20, 20)
    run = studio.fine_tune.train(plan)
    assert studio.fine_tune.get_row_reports(run.id)["data"] == account, "what is judged by stands in a file of its own"
    held = studio.fine_tune.train(TrainRequest(path, overrides=brief(dev_fraction=0.2)))
    told = studio.fine_tune.get_row_reports(held.id)["data"]
    assert (told.read, told.used + told.held_out, told.held_out) == (62, 60, held.dev_rows)
    assert json.loads(exported(studio, run.id)["pairs/data.json"])["accounts"]["data"]["left_out"] == 2


def test_a_run_whose_rows_an_earlier_version_drew_otherwise_is_accounted_for_by_what_it_wrote(copied: Studio, planned: Planned) -> None:
    written = copied.workspace.run(planned.id) / "held_out.jsonl"
    rows = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    drawn = [row["line"] for row in rows]
    others = [line for line in range(2, 62) if line not in drawn][: len(rows)]
    written.write_text("".join(json.dumps({**row, "line": line}) + "\n" for row, line in zip(rows, others, strict=True)), encoding="utf-8")
    told = copied.fine_tune.get_row_reports(planned.id)["data"]
    assert (told.read, told.used, told.held_out, told.skipped) == (60, 60 - len(rows), len(rows), 0)


@pytest.mark.parametrize("judged", ["by a file", "by a part"])
def test_rows_of_the_first_stage_that_hold_a_held_out_text_are_named(studio: Studio, tmp_path: Path, judged: str) -> None:
    path, dev = write_pairs(tmp_path / "pairs.csv", seed=10), write_pairs(tmp_path / "dev.csv", 20, seed=30)
    first = write_pairs(tmp_path / "first.csv", seed=50)
    source = dev if judged == "by a file" else path
    with first.open("a", encoding="utf-8") as target:
        target.writelines(source.read_text(encoding="utf-8").splitlines(keepends=True)[1:])
    run = studio.fine_tune.train(
        TrainRequest(path, dev if source is dev else None, first, overrides=brief(dev_fraction=0.2, **{"first.epochs": 0.2}))
    )
    account = studio.fine_tune.get_row_reports(run.id)["first"]
    (told,) = account.reasons
    assert account.read == account.used + account.skipped and told.why == "shares a text with a held-out row"
    assert len(told.rows) >= run.dev_rows and min(told.rows) >= 2
    assert set(range(62, 82)) <= set(told.rows) if source is dev else account.used > 60


def test_a_run_trains_the_rows_that_were_planned_and_says_so_where_they_are_damaged(copied: Studio, planned: Planned) -> None:
    materials, examples = RunFiles(copied.workspace.run(planned.id)), planned.plan.examples
    rows, dev = materials.examples()
    assert (rows.digest, dev, rows.lines.tolist()) == (examples.digest, None, examples.lines.tolist())
    assert materials.plan()["digests"] == {"data": examples.digest}
    kept = materials.folder / "learned.parquet"
    kept.write_bytes(kept.read_bytes()[:-400] + b"\0" * 400)
    with pytest.raises(StudioError, match="damaged"):
        materials.examples()


def test_a_run_of_an_earlier_version_still_opens(copied: Studio, planned: Planned) -> None:
    materials = RunFiles(copied.workspace.run(planned.id))
    for name in ("plan.json", "account.json", "learned.parquet"):
        (materials.folder / name).unlink()
    assert materials.examples()[0].digest == planned.plan.examples.digest
    assert materials.accounts() == materials.plan() == {} == copied.fine_tune.get_row_reports(planned.id)
    assert "## Reproduce" in exported(copied, planned.id)["pairs/README.md"]


def test_how_a_file_is_read_goes_into_its_run(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "alt.csv"
    path.write_bytes(write_pairs(tmp_path / "pairs.csv").read_text().replace("cat", "кот").replace(",", ";").encode("cp866"))
    run = studio.fine_tune.train(TrainRequest(path, choices=SchemaOverrides(encoding="cp866", delimiter=";"), overrides=brief()))
    materials = RunFiles(studio.workspace.run(run.id))
    assert any("кот" in text for text in materials.examples()[0].texts[0])
    (materials.folder / "learned.parquet").unlink()
    assert any("кот" in text for text in materials.examples()[0].texts[0])
    assert "--encoding cp866" in exported(studio, run.id)["alt/README.md"]


def test_what_a_resumed_run_did_not_begin_with_is_refused_with_a_reason(studio: Studio, tmp_path: Path) -> None:
    path, other = write_pairs(tmp_path / "pairs.csv"), write_pairs(tmp_path / "other.csv", seed=9)
    steps = iter([False, False, True])
    run = studio.fine_tune.train(TrainRequest(path, overrides=quick(), name="mine"), should_stop=lambda: next(steps, True))
    assert run.status == "stopped"
    for said, words in (
        (TrainRequest(dev=other), "was started without --dev"),
        (TrainRequest(first=other), "was started without --first"),
        (TrainRequest(name="yours"), "is called 'mine'"),
        (TrainRequest(choices=SchemaOverrides(scale=(0.0, 1.0))), "started with different columns"),
        (TrainRequest(other), "a different file"),
        (TrainRequest(overrides={"epochs": 9}), "was started with epochs"),
    ):
        with pytest.raises(StudioError, match=words):
            studio.fine_tune.resume(run.id, said)
    same = TrainRequest(path, name="mine", overrides={"epochs": 1, "learning_rate": "1e-3", "loss": "auto"})
    assert studio.fine_tune.resume(run.id, same).status == "finished"
    with pytest.raises(StudioError, match="cannot be resumed"):
        studio.fine_tune.resume(run.id)


@pytest.mark.parametrize("out", [".", "..", "/proc/x", "/", "taken"])
def test_a_model_that_has_nowhere_to_go_is_refused_before_anything_is_trained(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    path = write_pairs(tmp_path / "pairs.csv")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "taken").write_text("a file")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(StudioError):
        studio.fine_tune.train(TrainRequest(path, overrides=brief()), out=out)
    assert studio.fine_tune.list_runs() == []


def write_split(path: Path) -> Path:
    """Sixty pairs with a column of parts: 36 rows to train on, 12 to validate by, 12 to test on."""
    header, *rows = write_pairs(path).read_text(encoding="utf-8").splitlines()
    parts = [("train", "train", "train", "validation", "test")[number % 5] for number in range(len(rows))]
    path.write_text("\n".join([f"{header},split", *(f"{row},{part}" for row, part in zip(rows, parts, strict=True))]), encoding="utf-8")
    return path


def test_a_split_column_assigns_rows_to_training_validation_and_test(studio: Studio, tmp_path: Path) -> None:
    path = write_split(tmp_path / "pairs.csv")
    plan = studio.planner.plan(TrainRequest(path, overrides=brief()))
    assert plan.dev_examples is not None and (len(plan.examples), len(plan.dev_examples)) == (36, 12)
    assert plan.examples.lines.tolist() == [row for row in range(2, 62) if (row - 2) % 5 < 3]
    assert any("36 rows for training, 12 for validation; 12 test rows are not used." in reason for reason in plan.reasons)
    assert plan.roles.split == "split" and plan.to_json()["roles"]["split"] == "split"
    assert plan.to_json()["splits"] == {"data": {"column": "split", "train": 36, "dev": 12, "test": 12, "other": 0}}
    assert studio.planner.estimate(plan).to_json()["splits"] == plan.to_json()["splits"]
    table = studio.data.read_table(path)
    plan = studio.planner.plan(TrainRequest(path, overrides=brief()), table=table)
    again = studio.planner.plan(TrainRequest(path, overrides=brief(learning_rate=1e-4)), plan, table=table)
    assert again.diagnosis is plan.diagnosis, "another learning rate reads and checks no rows again"
    done = studio.fine_tune.train(TrainRequest(path, overrides=brief()))
    assert (done.rows, done.dev_rows, done.name) == (36, 12, "pairs")
    account = studio.fine_tune.get_row_reports(done.id)["data"]
    assert (account.read, account.used, account.held_out, account.skipped) == (60, 36, 12, 12)
    ((_columns, trained),) = RunFiles(studio.workspace.run(done.id)).training_texts()
    parts = zip(*(table.column(name) for name in ("sentence1", "sentence2", "split")), strict=True)
    assert trained == {(a, b) for a, b, part in parts if part == "train"}
    (studio.workspace.run(done.id) / "learned.parquet").unlink()
    assert len(RunFiles(studio.workspace.run(done.id)).examples()[0]) == 36
    card = exported(studio, done.id)["pairs/README.md"]
    assert "train pairs.csv --kind" in card and "--split split" in card
    whole = studio.planner.plan(TrainRequest(path, choices=SchemaOverrides(split=""), overrides=brief()))
    assert whole.dev_examples is None and len(whole.examples) == 60
    report = studio.evaluation.evaluate(None, path)
    assert report.rows == 12 and any("only the test rows" in note for note in report.notes)
    assert studio.evaluation.evaluate(None, path, overrides=SchemaOverrides(split="")).rows == 60
    with pytest.raises(StudioError, match="no column"):
        studio.planner.plan(TrainRequest(path, choices=SchemaOverrides(split="part"), overrides=brief()))


def test_test_rows_are_never_trained_on_however_a_run_is_evaluated(studio: Studio, tmp_path: Path) -> None:
    path, dev = write_split(tmp_path / "pairs.csv"), write_pairs(tmp_path / "dev.csv", 20, seed=5)
    plan = studio.planner.plan(TrainRequest(path, dev=dev, overrides=brief()))
    assert plan.dev is not None and (len(plan.examples), len(plan.dev.examples)) == (36, 20)
    plan = studio.planner.plan(TrainRequest(path, overrides=brief(folds=3)))
    assert plan.dev_examples is None and len(plan.examples) == 36
    assert any("12 validation rows are not used; 12 test rows are not used." in reason for reason in plan.reasons)
    with pytest.raises(StudioError, match="does not assign rows to splits"):
        studio.planner.plan(TrainRequest(path, choices=SchemaOverrides(split="score"), overrides=brief()))
    texts = tmp_path / "texts.csv"
    rows = [
        f"{'cat' if number % 2 else 'dog'} {number},{'pets' if number % 2 else 'dogs'},{'test' if number % 3 else 'train'}"
        for number in range(60)
    ]
    texts.write_text("\n".join(["text,category,split", *rows]), encoding="utf-8")
    assert studio.evaluation.evaluate(None, texts, task="categories").rows == 40


def test_a_run_of_a_file_with_parts_is_resumed_with_the_same_file(studio: Studio, tmp_path: Path) -> None:
    path = write_split(tmp_path / "pairs.csv")
    steps = iter([False, False, True])
    run = studio.fine_tune.train(TrainRequest(path, overrides=quick()), should_stop=lambda: next(steps, True))
    assert run.status == "stopped"
    resumed = studio.fine_tune.resume(run.id, TrainRequest(path))
    assert (resumed.status, resumed.rows, resumed.dev_rows) == ("finished", 36, 12)


@pytest.mark.parametrize(
    ("file", "name"), [("a.b.csv", "a.b"), ("pairs.tsv.gz", "pairs"), ("x.train.jsonl", "x.train"), ("notes", "notes")]
)
def test_a_run_is_named_after_its_file_by_default(file: str, name: str) -> None:
    assert default_run_name(file) == name


def test_the_first_stage_is_split_by_its_own_column(studio: Studio, tmp_path: Path) -> None:
    path, first = write_pairs(tmp_path / "pairs.csv"), write_split(tmp_path / "first.csv")
    plan = studio.planner.plan(TrainRequest(path, first=first, overrides=brief()))
    assert plan.first is not None and len(plan.first.examples) == 36 and plan.first.roles.split == "split"
    assert any(
        reason.startswith("First stage: Split by the column 'split': 36 rows") and "12 validation rows are not used" in reason
        for reason in plan.reasons
    )
    assert plan.to_json()["splits"] == {"first": {"column": "split", "train": 36, "dev": 12, "test": 12, "other": 0}}
    run = studio.fine_tune.train(plan)
    files = RunFiles(studio.workspace.run(run.id))
    stored = files.first()
    assert stored is not None and len(stored) == 36 and len(files.training_texts()[1][1]) == 36
    whole = studio.planner.plan(TrainRequest(path, first=first, overrides=brief(**{"first.split": ""})))
    assert whole.first is not None and len(whole.first.examples) == 60


def test_rows_of_no_part_are_asked_about_and_split_groups_are_a_warning(studio: Studio, tmp_path: Path) -> None:
    path = write_split(tmp_path / "pairs.csv")
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[4] = lines[4].replace("validation", "validaton")
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(OpenQuestionsError) as caught:
        studio.fine_tune.submit(TrainRequest(path, overrides=brief()))
    assert caught.value.rows == (5,) and "--split split" in caught.value.hint and "validaton" in caught.value.questions[0].why
    assert studio.fine_tune.list_runs() == []
    with pytest.raises(OpenQuestionsError, match="'split'"):
        studio.evaluation.evaluate(None, path)
    plan = studio.planner.plan(TrainRequest(path, choices=SchemaOverrides(split="split"), overrides=brief()))
    assert plan.certain and plan.dev_examples is not None and (len(plan.examples), len(plan.dev_examples)) == (36, 11)
    path = write_split(tmp_path / "pairs.csv")
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([f"{header},doc", *(f"{row},d{number // 6}" for number, row in enumerate(rows))]), encoding="utf-8")
    found = studio.data.check(path, overrides=SchemaOverrides(group="doc"))
    (finding,) = (one for one in found.findings if "of the column 'doc'" in one.message)
    assert finding.severity == "warning" and len(finding.rows) == 24
