"""The doctor finds what is wrong, names the rows, and its mends put it right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.data.doctor.checks.context import CheckContext, near, near_all
from sbert_studio.data.doctor.checks.repeats import duplicates
from sbert_studio.data.doctor.diagnosis import Diagnosis, diagnose, mend
from sbert_studio.data.doctor.fixing import fix_all
from sbert_studio.data.examples import Examples
from sbert_studio.data.findings import Finding, Mend
from sbert_studio.data.loading.table import Table, read_table, table_from_columns
from sbert_studio.data.schema.inference import infer_roles, infer_schema
from sbert_studio.data.schema.overrides import SchemaOverrides
from sbert_studio.data.schema.roles import Roles
from sbert_studio.errors import StudioError

N = 120
NAMES = ["anna", "boris", "clara", "david", "elena", "frank", "grete", "hanna", "ivan", "julia", "karl", "lena"]
DOING = ["plays chess", "reads a book", "paints the wall", "cooks some soup", "rides a bike"]
DOING += ["writes a letter", "plants a tree", "repairs the roof", "feeds the hens", "learns to swim"]
A = [f"{name} {doing} at home" for name in NAMES for doing in DOING]
B = [f"there is someone who {doing} with {name}" for name in NAMES for doing in DOING]
C = [f"a bus from line {index} arrives" for index in range(N)]
SCORES = [f"{index % 11 / 2:g}" for index in range(N)]


def pairs(**changes: Any) -> Table:
    return table_from_columns("pairs.csv", {"sentence1": list(A), "sentence2": list(B), "score": list(SCORES), **changes})


def changed(cells: Sequence[str], **at: str) -> list[str]:
    """Cells with those of some spreadsheet rows (``r7="…"``) replaced."""
    copy = list(cells)
    for row, cell in at.items():
        copy[int(row[1:]) - 2] = cell
    return copy


def the(diagnosis: Diagnosis, words: str) -> Finding:
    found = [finding for finding in diagnosis.findings if words in finding.message]
    assert len(found) == 1, [finding.message for finding in diagnosis.findings]
    return found[0]


def healed(table: Table, finding: Finding) -> Table:
    assert finding.mend is not None
    return mend(table, Mend.from_json(finding.mend.to_json()))


def test_a_sound_file_has_no_findings() -> None:
    diagnosis = diagnose(pairs(), tokenize=lambda texts: [len(text.split()) for text in texts], max_tokens=128, languages=["en"])
    assert diagnosis.findings == ()
    assert (diagnosis.rows, len(diagnosis.examples)) == (N, N)
    assert diagnosis.to_json()["kind"] == "scored_pairs"


def again(sentence1: str, sentence2: str, score: str) -> Table:
    """Row 14 says what row 2 says, more or less."""
    return pairs(sentence1=changed(A, r14=sentence1), sentence2=changed(B, r14=sentence2), score=changed(SCORES, r14=score))


DEFECTS: list[tuple[str, Callable[[], Table], str, str, tuple[int, ...]]] = [
    ("one-sided", lambda: pairs(sentence2=changed(B, r9="")), "warning", "on one side only", (9,)),
    ("empty", lambda: pairs(sentence1=changed(A, r9=" "), sentence2=changed(B, r9="")), "warning", "without any text", (9,)),
    ("off the scale", lambda: pairs(score=changed(SCORES, r5="55")), "warning", "outside 0–5", (5,)),
    ("unreadable score", lambda: pairs(score=changed(SCORES, r5="?")), "warning", "not a number", (5,)),
    ("duplicate", lambda: again(A[0], B[0], "0"), "warning", "repeating an earlier row", (14,)),
    ("turned duplicate", lambda: again(B[0], A[0], "0"), "warning", "repeating an earlier row", (14,)),
    ("near duplicate", lambda: again(A[0].upper() + "!", B[0], "0.5"), "info", "case, blanks or punctuation", (14,)),
    ("contradiction", lambda: again(A[0], B[0], "4"), "warning", "contradict each other", (2, 14)),
    ("unlike itself", lambda: again(A[12], A[12], "0.5"), "warning", "unlike itself", (14,)),
    ("swapped cells", lambda: again(A[12], "3.5", B[12]), "warning", "with the text in 'score'", (14,)),
    ("mojibake", lambda: again(A[12], "the cafÃ© near the river â€“ and the mill", "1"), "warning", "garbled", (14,)),
]


@pytest.mark.parametrize(("make", "severity", "words", "rows"), [defect[1:] for defect in DEFECTS], ids=[defect[0] for defect in DEFECTS])
def test_a_defect_is_found_with_its_rows_and_its_mend_heals_it(
    make: Callable[[], Table], severity: str, words: str, rows: tuple[int, ...]
) -> None:
    table = make()
    finding = the(diagnose(table), words)
    assert (finding.severity, finding.rows) == (severity, rows)
    assert not any(words in other.message for other in diagnose(healed(table, finding)).findings)


def test_mends_put_the_right_thing_in_place() -> None:
    swapped = pairs(sentence2=changed(B, r14="3.5"), score=changed(SCORES, r14=B[12]))
    assert healed(swapped, the(diagnose(swapped), "with the text in")).head(13)[12] == [A[12], B[12], "3.5"]
    garbled = pairs(sentence1=changed(A, r3="è¿™æ˜¯ä¸€ä¸ªæµ‹è¯•"), sentence2=changed(B, r3="the naïve cafÃ©"))
    row = healed(garbled, the(diagnose(garbled), "garbled")).head(2)[1]
    assert row[0] == "这是一个测试"
    assert row[1] == "the naïve cafÃ©"  # half right already, so that no single reading repairs it
    torn = pairs(sentence1=changed(A, r14=A[0]), sentence2=changed(B, r14=B[0]), score=changed(SCORES, r2="1", r14="4"))
    averaged = healed(torn, the(diagnose(torn), "contradict"))
    assert (len(averaged), averaged.head(1)[0][2]) == (N - 1, "2.5")


def test_mends_follow_each_other_because_rows_keep_their_numbers() -> None:
    table = pairs(sentence2=changed(B, r9="", r30=""), score=changed(SCORES, r20="?"))
    diagnosis = diagnose(table)
    for words in ("one side only", "not a number"):
        table = healed(table, the(diagnosis, words))
    assert diagnose(table).findings == ()
    assert set(range(2, N + 2)) - set(table.lines.tolist()) == {9, 20, 30}


def test_column_names_that_were_swapped_are_told_and_swapped_back() -> None:
    table = table_from_columns("t", {"sentence1": A, "score": B, "sentence2": SCORES})
    finding = the(diagnose(table), "look swapped")
    back = healed(table, finding)
    assert (back.column("sentence2"), back.column("score")) == (B, SCORES)
    assert diagnose(back).findings == ()


def test_swapped_positives_and_negatives_are_told() -> None:
    near = [f"{text} today" for text in A]
    table = table_from_columns("t", {"anchor": A, "positive": C, "negative": near})
    finding = the(diagnose(table), "look swapped")
    assert len(finding.rows) == N
    assert diagnose(healed(table, finding)).findings == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sentence2": ["the same"] * N}, "the same text in every row"),
        ({"score": ["3"] * N}, "the same score"),
        ({"sentence2": A}, "the same texts in every row"),
    ],
)
def test_constant_and_equal_columns_are_errors(changes: dict[str, list[str]], words: str) -> None:
    finding = the(diagnose(pairs(**changes)), words)
    assert finding.severity == "error"
    assert len(finding.rows) == N


def test_contradictory_labels_are_told_in_both_directions_unless_they_entail() -> None:
    def labelled(a: str, b: str, labels: tuple[str, str, str]) -> Diagnosis:
        first, second = [*A, a], [*B, b]
        cells = [labels[index % 2] for index in range(N)] + [labels[2]]
        return diagnose(table_from_columns("t", {"premise": first, "hypothesis": second, "label": cells}))

    assert the(labelled(B[0], A[0], ("0", "1", "1")), "labels that contradict").rows == (2, 122)
    assert the(labelled(A[0], B[0], ("entailment", "neutral", "neutral")), "labels that contradict").rows == (2, 122)
    reverse = labelled(B[0], A[0], ("entailment", "neutral", "neutral"))
    assert not any("contradict each" in finding.message for finding in reverse.findings)


def test_leaking_rows_are_told_and_can_be_left_out_of_training() -> None:
    dev = table_from_columns("dev", {"sentence1": [A[3].upper(), "new one"], "sentence2": ["fresh text", A[7]], "score": ["1", "2"]})
    finding = the(diagnose(pairs(), dev=dev), "held-out file too")
    assert finding.rows == (5, 9)
    assert diagnose(healed(pairs(), finding), dev=dev).findings == ()


def test_a_held_out_file_that_does_not_fit_is_told_not_thrown() -> None:
    dev = table_from_columns("dev", {"text": A})
    assert "cannot be used" in diagnose(pairs(), dev=dev).findings[0].message


def test_truncation_counts_rows_and_lost_tokens() -> None:
    long = " ".join(["word"] * 50)
    table = pairs(sentence1=changed(A, r4=long), sentence2=changed(B, r4=long + " more", r6=long))
    finding = the(diagnose(table, tokenize=lambda texts: [len(text.split()) + 2 for text in texts], max_tokens=32), "longer than 32 tokens")
    assert finding.rows == (4, 6)
    assert "61 tokens" in finding.message  # (52 - 32) + (53 - 32) + (52 - 32)


def test_uneven_classes_name_the_rare_rows() -> None:
    labels = changed(["1"] * N, r8="0", r9="0")
    table = table_from_columns("t", {"sentence1": A, "sentence2": B, "label": labels})
    finding = the(diagnose(table), "uneven")
    assert finding.rows == (8, 9)
    assert "0 (2) against 1 (118)" in finding.message


def uneven(*sizes: int) -> Table:
    """Pairs of texts of their own with so many rows of class a, b and so on."""
    labels = [name for name, size in zip("abcd", sizes, strict=False) for _ in range(size)]
    first = [f"{A[row % N]} on day {row}" for row in range(len(labels))]
    return table_from_columns(
        "t", {"sentence1": first, "sentence2": [f"{B[row % N]} {row}" for row in range(len(labels))], "label": labels}
    )


def test_a_common_class_is_thinned_out_to_ten_to_one_and_the_same_rows_go_each_time() -> None:
    table = uneven(20, 900, 500)
    finding = the(diagnose(table), "uneven")
    assert finding.mend is not None and finding.mend.label == "Thin out the common classes to 200 rows"
    assert finding == the(diagnose(table), "uneven")
    evened = healed(table, finding)
    assert [evened.column("label").count(name) for name in "abc"] == [20, 200, 200]
    assert diagnose(evened).findings == ()
    assert diagnose(uneven(20, 200)).findings == ()


def test_a_class_of_next_to_nothing_is_left_out_where_two_others_remain() -> None:
    table = uneven(3, 200, 100)
    finding = the(diagnose(table), "uneven")
    assert finding.mend is not None and finding.mend.label == "Leave out a (3 rows)"
    assert diagnose(healed(table, finding)).findings == ()
    assert the(diagnose(uneven(3, 200)), "uneven").mend is None


def test_a_score_that_nearly_all_rows_have_is_thinned_out() -> None:
    table = uneven(300)
    scores = table.with_column("score", [str(row % 5) if row < 12 else "5" for row in range(300)]).without_column("label")
    finding = the(diagnose(scores), "the same score")
    thinned = healed(scores, finding)
    assert (len(finding.rows), len(thinned)) == (12, 120)
    assert diagnose(thinned).findings == ()


@pytest.mark.parametrize(
    ("column", "cell", "alike"), [("score", "3", True), ("score", "0", False), ("label", "yes", True), ("label", "0", False)]
)
def test_pairs_that_are_all_alike_can_be_taken_as_pairs_that_belong_together(column: str, cell: str, alike: bool) -> None:
    table = table_from_columns("t", {"sentence1": A, "sentence2": B, column: [cell] * N})
    finding = the(diagnose(table, infer_roles(table, "scored_pairs" if column == "score" else "labelled_pairs")), "every row has the same")
    assert (finding.mend is not None) == alike
    if alike:
        mended = diagnose(healed(table, finding))
        assert (mended.roles.kind, mended.findings) == ("positive_pairs", ())


def test_a_few_rows_in_another_language_can_be_left_out_and_a_whole_file_cannot() -> None:
    def first(share: int) -> list[str]:
        return [f"一个男人在弹第{row}把吉他" if row % 10 < share else f"{A[row]} with the {row}" for row in range(N)]

    some = pairs(sentence1=first(3), sentence2=[f"{text}!" for text in first(3)])
    finding = the(diagnose(some, languages=["en"]), "another language than English")
    assert "multilingual" in finding.message and len(finding.rows) == 36
    assert not any("language" in other.message for other in diagnose(healed(some, finding), languages=["en"]).findings)
    every = the(diagnose(pairs(sentence1=first(10), sentence2=first(10)[::-1]), languages=["en"]), "look like Chinese")
    assert every.mend is None and "choose intfloat/multilingual-e5-small from the Hugging Face Hub" in every.message
    assert "train anyway" in every.message
    bundled = diagnose(pairs(sentence1=first(10)), languages=["en"], multilingual="multilingual-e5-small")
    assert "choose multilingual-e5-small, which reads many languages, or train anyway" in the(bundled, "look like Chinese").message


def test_lost_characters_and_what_the_reader_noted_are_mended_too(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    lines = [f"{a},{b},{score}" for a, b, score in zip(A, B, SCORES, strict=True)]
    lines[3] += ",surplus"
    lines[5] = f"{A[5]},{B[5]}"
    lines[7] = lines[7].replace("anna", "ann\ufffd")
    lines[8] += ",more"
    path.write_text("sentence1,sentence2,score\n" + "\n".join(lines) + "\n", encoding="utf-8")
    table = read_table(path)
    assert the(diagnose(table), "more cells").rows == (5, 10)
    for words in ("fewer cells", "characters lost"):
        table = healed(table, the(diagnose(table), words))
        assert not any(words in finding.message for finding in diagnose(table).findings)
    one = table.without_lines([5])
    left = the(diagnose(one), "more cells")
    assert left.rows == (10,) and left.message.startswith("1 row ")
    assert diagnose(healed(one, left)).findings == ()


def test_all_mends_one_after_the_other_leave_nothing_to_mend() -> None:
    names = ("sentence1", "score", "sentence2")  # two of them swapped
    first = changed(A, r9="", r14=A[0], r20=A[17].upper(), r30="the cafÃ© near the river and the mill")
    second = changed(B, r14=B[0], r20=B[17])
    scores = changed(SCORES, r5="77", r14="5", r20=SCORES[17])
    table = table_from_columns("t", dict(zip(names, (first, second, scores), strict=True)))
    mended, asked, done = fix_all(table, SchemaOverrides(), lambda table, asked: diagnose(table, infer_schema(table, asked)).findings)
    messages = " | ".join(finding.message for finding in done)
    for words in ("look swapped", "contradict", "garbled", "outside 0–5", "one side only", "case, blanks"):
        assert words in messages
    assert diagnose(mended).findings == () and not asked
    assert mended.columns == names and mended.column("sentence2")[0] == B[0]


def test_what_was_asked_of_a_column_that_is_taken_away_no_longer_holds() -> None:
    table = pairs(score=["4"] * N)
    asked = SchemaOverrides(kind="scored_pairs", target="score", scale=(0.0, 5.0))
    mended, left, done = fix_all(table, asked, lambda table, asked: diagnose(table, infer_schema(table, asked)).findings)
    assert (mended.columns, left, len(done)) == (("sentence1", "sentence2"), SchemaOverrides(), 1)


@pytest.mark.parametrize(("rows", "severity"), [(3, "error"), (50, "warning")])
def test_too_few_rows_are_told(rows: int, severity: str) -> None:
    assert the(diagnose(pairs().select(range(rows))), "usable row").severity == severity


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        ([f"一个男人在弹第{index}把吉他" for index in range(N)], "Chinese"),
        ([f"Der Mann und die Frau sind mit dem Bus {index} zu spät" for index in range(N)], "German"),
        ([f"Мужчина играет на гитаре {index}" for index in range(N)], "Cyrillic"),
    ],
)
def test_a_language_that_the_model_does_not_know_is_told(texts: list[str], language: str) -> None:
    table = pairs(sentence1=texts, sentence2=[text + "!" for text in texts])
    assert language in the(diagnose(table, languages=["en"]), "look like").message
    assert not any("look like" in finding.message for finding in diagnose(table).findings)


def test_triplets_whose_negative_is_the_positive_are_told() -> None:
    table = table_from_columns("t", {"anchor": A, "positive": B, "negative": changed(C, r5=B[3], r6=A[4])})
    assert the(diagnose(table), "negative is also").rows == (5, 6)


def test_notes_of_the_reader_are_among_the_findings(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(("text;label\n" + "".join(f"Übung Nummer {index} für alle;x{index % 2}\n" for index in range(N))).encode("cp1252"))
    messages = [finding.message for finding in diagnose(read_table(path)).findings]
    assert any("Windows-1252" in message for message in messages)
    assert any("semicolons" in message for message in messages)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("explode", {}),
        ("drop_rows", {}),
        ("drop_rows", {"rows": ["x"]}),
        ("drop_rows", {"rows": list(range(2, N + 2))}),
        ("swap_columns", {"columns": ["sentence1"]}),
        ("swap_columns", {"columns": ["sentence1", "absent"]}),
    ],
)
def test_mends_that_do_not_fit_are_refused(name: str, values: dict[str, Any]) -> None:
    with pytest.raises(StudioError):
        mend(pairs(), Mend(name, "", values))


def test_an_english_model_is_warned_of_chinese_and_not_of_english(real_data: Path) -> None:
    chinese = diagnose(read_table(real_data / "stsb-zh" / "dev.csv"), languages=["en"])
    assert "Chinese" in the(chinese, "look like").message
    english = read_table(real_data / "stsb" / "dev.csv")
    assert not any("look like" in finding.message for finding in diagnose(english, languages=["en"]).findings)


def test_findings_of_a_public_set_name_rows_that_really_repeat(real_data: Path) -> None:
    table = read_table(real_data / "sts14" / "OnWN.csv")
    finding = the(diagnose(table), "repeating an earlier row")
    place = {line: index for index, line in enumerate(table.lines.tolist())}
    rows = [tuple(sorted(row[:2])) for row in table.head(len(table))]
    assert all(rows[place[line]] in rows[: place[line]] for line in finding.rows)
    assert infer_roles(table).kind == "scored_pairs"


def test_keys_of_many_rows_at_once_are_those_of_one_row_after_the_other() -> None:
    random = np.random.default_rng(5)
    words = ["Straße", "STRASSE", "one_two", "one two", "Ｆｕｌｌ", "full", "…", "!!", "", "É", "é", "ǅ", "x\ty", " x y "]
    texts = [" ".join(random.choice(words, random.integers(1, 3))) or "-" for _ in range(300)]
    assert near_all(texts) == [near(text) for text in texts]
    for kind, targets in (
        ("scored_pairs", random.integers(0, 3, 300) / 4),
        ("labelled_pairs", random.integers(0, 2, 300)),
        ("triplets", None),
    ):
        columns = tuple(tuple(random.choice(texts[:9], 300).tolist()) for _ in range(3 if kind == "triplets" else 2))
        names = ("a", "b", "c")[: len(columns)]
        labelled = {"labels": ("0", "1")} if kind == "labelled_pairs" else {}
        roles = Roles(kind, names, None if targets is None else "t", 0.0, 1.0, **labelled)
        values = None if targets is None else targets.astype(np.float32 if kind == "scored_pairs" else np.int64)
        examples = Examples(kind, columns, values, np.arange(2, 302), roles.labels)
        patient = CheckContext(table_from_columns("t", dict(zip(names, columns, strict=True))), roles, examples)
        found = {"but for case" in finding.message: finding.rows for finding in duplicates(patient)}
        exact, alike = plain_duplicates(patient)
        assert len(exact) > 3 and len(alike) > 3
        assert found == {False: exact, True: alike}


def plain_duplicates(patient: CheckContext) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The same by comparing every row with every earlier one."""
    targets, exact, alike = patient.examples.targets, [], []
    rows = list(zip(*patient.examples.texts, strict=True))
    rows = rows if patient.directed else [tuple(sorted(row)) for row in rows]
    nears = [tuple(near(text) for text in row) for row in rows]
    nears = nears if patient.directed else [tuple(sorted(row)) for row in nears]
    for place, row in enumerate(rows):
        if any(rows[other] == row and (targets is None or targets[other] == targets[place]) for other in range(place)):
            exact.append(place)
        elif any(
            nears[other] == nears[place] and rows[other] != row and patient.same_target(other, place)
            for other in range(place)
            if other not in exact and other not in alike
        ):
            alike.append(place)
    return patient.rows(exact), patient.rows(alike)


def test_progress_counts_up_to_the_rows() -> None:
    told: list[tuple[int, int]] = []
    diagnose(pairs(), progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, N) and told[-1] == (N, N)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
