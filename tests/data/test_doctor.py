"""Each problem of a training file is found with its rows, and its fix solves it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.data.doctor.diagnosis import Diagnosis, diagnose
from sbert_studio.data.doctor.fixes import apply_all_fixes, apply_fix, remove_markup
from sbert_studio.data.doctor.row_checks import CheckContext, check_duplicates, fold_text, fold_texts
from sbert_studio.data.examples import Examples
from sbert_studio.data.findings import Finding, Fix
from sbert_studio.data.loading.table import Table, read_table, table_from_columns
from sbert_studio.data.schema.inference import infer_roles, infer_schema
from sbert_studio.data.schema.roles import Roles, SchemaOverrides
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
    """Replace the cells of some spreadsheet rows (``r7="…"``)."""
    copy = list(cells)
    for row, cell in at.items():
        copy[int(row[1:]) - 2] = cell
    return copy


def the(diagnosis: Diagnosis, words: str) -> Finding:
    found = [finding for finding in diagnosis.findings if words in finding.message]
    assert len(found) == 1, [finding.message for finding in diagnosis.findings]
    return found[0]


def mentions(diagnosis: Diagnosis, words: str) -> bool:
    return any(words in finding.message for finding in diagnosis.findings)


def fixed(table: Table, finding: Finding) -> Table:
    return apply_fix(table, Fix(**finding.fix.to_json()))


def row14(sentence1: str, sentence2: str, score: str) -> dict[str, list[str]]:
    return {"sentence1": changed(A, r14=sentence1), "sentence2": changed(B, r14=sentence2), "score": changed(SCORES, r14=score)}


def test_a_clean_file_has_no_findings() -> None:
    seen: list[tuple[int, int]] = []
    diagnosis = diagnose(
        pairs(),
        tokenize=lambda texts: [len(text.split()) for text in texts],
        max_tokens=128,
        languages=["en"],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert diagnosis.findings == () and (diagnosis.rows, len(diagnosis.examples)) == (N, N)
    assert diagnosis.to_json()["kind"] == "scored_pairs"
    assert seen[0] == (0, N) and seen[-1] == (N, N) and seen == sorted(seen)


@pytest.mark.parametrize(
    ("changes", "severity", "words", "rows"),
    [
        ({"sentence2": changed(B, r9="")}, "warning", "on one side only", (9,)),
        ({"sentence1": changed(A, r9=" "), "sentence2": changed(B, r9="")}, "warning", "without any text", (9,)),
        ({"score": changed(SCORES, r5="55")}, "warning", "outside 0–5", (5,)),
        ({"score": changed(SCORES, r5="?")}, "warning", "not a number", (5,)),
        (row14(A[0], B[0], "0"), "warning", "repeating an earlier row", (14,)),
        (row14(B[0], A[0], "0"), "warning", "repeating an earlier row", (14,)),
        (row14(A[0].upper() + "!", B[0], "0.5"), "info", "case, spacing or punctuation", (14,)),
        (row14(A[0], B[0], "4"), "warning", "contradictory scores", (2, 14)),
        (row14(A[12], A[12], "0.5"), "warning", "dissimilar to itself", (14,)),
        (row14(A[12], "3.5", B[12]), "warning", "with the text in 'score'", (14,)),
        (row14(A[12], "the cafÃ© near the river â€“ and the mill", "1"), "warning", "garbled", (14,)),
        (row14(A[12], "<p>the mill<br/>by the <b>river</b> &amp; the sea</p>", "1"), "warning", "HTML", (14,)),
    ],
)
def test_a_problem_is_found_with_its_rows_and_its_fix_solves_it(
    changes: dict[str, list[str]], severity: str, words: str, rows: tuple[int, ...]
) -> None:
    table = pairs(**changes)
    finding = the(diagnose(table), words)
    assert (finding.severity, finding.rows) == (severity, rows)
    assert not mentions(diagnose(fixed(table, finding)), words)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<div><p>Tom &amp; Anna&nbsp;</p><br/>swim<b>ming</b></div>", "Tom & Anna swimming"),
        ('<a href="https://example.org/?a=1&amp;b=2">here</a><!-- a\nnote --><style>p {color: red}</style> it is', "here it is"),
        ("&amp;lt;p&amp;gt;caf&#233;&amp;lt;/p&amp;gt;", "café"),
        ("2 < 3 & 4 > 1,  R&D of <name>; &unknown;", "2 < 3 & 4 > 1,  R&D of <name>; &unknown;"),
    ],
)
def test_markup_and_entities_are_removed_and_nothing_else(text: str, plain: str) -> None:
    assert remove_markup(text) == plain


def test_fixes_write_the_right_cells_and_can_follow_each_other() -> None:
    swapped = pairs(sentence2=changed(B, r14="3.5"), score=changed(SCORES, r14=B[12]))
    assert fixed(swapped, the(diagnose(swapped), "with the text in")).head(13)[12] == [A[12], B[12], "3.5"]
    garbled = pairs(sentence1=changed(A, r3="è¿™æ˜¯ä¸€ä¸ªæµ‹è¯•"), sentence2=changed(B, r3="the naïve cafÃ©"))
    row = fixed(garbled, the(diagnose(garbled), "garbled")).head(2)[1]
    assert row[:2] == ["这是一个测试", "the naïve cafÃ©"], "the second is partly right, so that no single decoding repairs it"
    torn = pairs(sentence1=changed(A, r14=A[0]), sentence2=changed(B, r14=B[0]), score=changed(SCORES, r2="1", r14="4"))
    averaged = fixed(torn, the(diagnose(torn), "contradictory"))
    assert (len(averaged), averaged.head(1)[0][2]) == (N - 1, "2.5")
    table = pairs(sentence2=changed(B, r9="", r30=""), score=changed(SCORES, r20="?"))
    diagnosis = diagnose(table)
    for words in ("one side only", "not a number"):
        table = fixed(table, the(diagnosis, words))
    assert diagnose(table).findings == ()
    assert set(range(2, N + 2)) - set(table.lines.tolist()) == {9, 20, 30}


@pytest.mark.parametrize(
    ("columns", "first"),
    [
        ({"sentence1": A, "score": B, "sentence2": SCORES}, [A[0], SCORES[0], B[0]]),
        ({"anchor": A, "positive": C, "negative": [f"{text} today" for text in A]}, [A[0], f"{A[0]} today", C[0]]),
    ],
)
def test_swapped_columns_are_found_and_swapped_back(columns: dict[str, list[str]], first: list[str]) -> None:
    table = table_from_columns("t", columns)
    finding = the(diagnose(table), "look swapped")
    back = fixed(table, finding)
    assert len(finding.rows) == N and back.head(1)[0] == first and diagnose(back).findings == ()


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
    assert (finding.severity, len(finding.rows)) == ("error", N)


@pytest.mark.parametrize(
    ("column", "cell", "is_positive"), [("score", "3", True), ("score", "0", False), ("label", "yes", True), ("label", "0", False)]
)
def test_pairs_that_are_all_positive_can_do_without_their_target(column: str, cell: str, is_positive: bool) -> None:
    table = table_from_columns("t", {"sentence1": A, "sentence2": B, column: [cell] * N})
    finding = the(diagnose(table, infer_roles(table, "scored_pairs" if column == "score" else "labelled_pairs")), "every row has the same")
    assert (finding.fix is not None) == is_positive
    if is_positive:
        after = diagnose(fixed(table, finding))
        assert (after.roles.kind, after.findings) == ("positive_pairs", ())


@pytest.mark.parametrize(
    ("pair", "labels", "rows"),
    [
        ((B[0], A[0]), ("0", "1", "1"), (2, 122)),
        ((A[0], B[0]), ("entailment", "neutral", "neutral"), (2, 122)),
        ((B[0], A[0]), ("entailment", "neutral", "neutral"), ()),
    ],
)
def test_labels_contradict_in_either_direction_unless_they_entail(
    pair: tuple[str, str], labels: tuple[str, str, str], rows: tuple[int, ...]
) -> None:
    cells = [labels[index % 2] for index in range(N)] + [labels[2]]
    found = diagnose(table_from_columns("t", {"premise": [*A, pair[0]], "hypothesis": [*B, pair[1]], "label": cells}))
    assert [finding.rows for finding in found.findings if "contradictory labels" in finding.message] == ([rows] if rows else [])


def test_negatives_and_leaks_are_found_and_can_be_removed() -> None:
    table = table_from_columns("t", {"anchor": A, "positive": B, "negative": changed(C, r5=B[3], r6=A[4])})
    assert the(diagnose(table), "negative is also").rows == (5, 6)
    dev = table_from_columns("dev", {"sentence1": [A[3].upper(), "new one"], "sentence2": ["fresh text", A[7]], "score": ["1", "2"]})
    finding = the(diagnose(pairs(), dev=dev), "also in the held-out rows")
    assert finding.rows == (5, 9)
    assert not mentions(diagnose(fixed(pairs(), finding), dev=dev), "held-out")
    unusable = diagnose(pairs(), dev=table_from_columns("dev", {"text": A}))
    assert "cannot be used" in unusable.findings[0].message
    long = " ".join(["word"] * 50)
    table = pairs(sentence1=changed(A, r4=long), sentence2=changed(B, r4=long + " more", r6=long))
    finding = the(diagnose(table, tokenize=lambda texts: [len(text.split()) + 2 for text in texts], max_tokens=32), "longer than 32 tokens")
    assert finding.rows == (4, 6)
    assert "61 tokens" in finding.message  # (52 - 32) + (53 - 32) + (52 - 32)


def imbalanced(*sizes: int) -> Table:
    """Return distinct pairs with these numbers of rows of the classes a, b and so on."""
    labels = [name for name, size in zip("abcd", sizes, strict=False) for _ in range(size)]
    first = [f"{A[row % N]} on day {row}" for row in range(len(labels))]
    return table_from_columns(
        "t", {"sentence1": first, "sentence2": [f"{B[row % N]} {row}" for row in range(len(labels))], "label": labels}
    )


@pytest.mark.parametrize(
    ("sizes", "names", "label", "left"),
    [
        ((20, 900, 500), "a (20) against b (900)", "Reduce the common classes to 200 rows", [20, 200, 200]),
        ((3, 200, 100), "a (3) against b (200)", "Remove a (3 rows)", [0, 200, 100]),
        ((3, 200), "a (3) against b (200)", None, []),
    ],
)
def test_common_classes_are_undersampled_and_tiny_ones_dropped(
    sizes: tuple[int, ...], names: str, label: str | None, left: list[int]
) -> None:
    table = imbalanced(*sizes)
    finding = the(diagnose(table), "imbalanced")
    assert finding == the(diagnose(table), "imbalanced"), "the same rows are drawn each time"
    assert names in finding.message and finding.rows == tuple(range(2, 2 + sizes[0]))
    assert (finding.fix.label if finding.fix else None) == label
    if label:
        after = fixed(table, finding)
        assert [after.column("label").count(name) for name in "abc"] == left and diagnose(after).findings == ()
    assert diagnose(imbalanced(20, 200)).findings == ()


def test_a_score_that_nearly_all_rows_have_is_undersampled() -> None:
    scores = imbalanced(300).with_column("score", [str(row % 5) if row < 12 else "5" for row in range(300)]).without_column("label")
    finding = the(diagnose(scores), "the same score")
    after = fixed(scores, finding)
    assert (len(finding.rows), len(after), diagnose(after).findings) == (12, 120, ())


@pytest.mark.parametrize(("rows", "severity"), [(3, "error"), (50, "warning")])
def test_too_few_rows_are_reported(rows: int, severity: str) -> None:
    finding = the(diagnose(pairs().select(range(rows))), "usable row")
    assert (finding.severity, finding.rows) == (severity, ()), "a list of all rows says nothing"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("一个男人在弹第{}把吉他", "Chinese"),
        ("Der Mann und die Frau sind mit dem Bus {} zu spät", "German"),
        ("Мужчина играет на гитаре {}", "Cyrillic"),
    ],
)
def test_a_language_that_the_model_does_not_know_is_reported(text: str, language: str) -> None:
    texts = [text.format(row) for row in range(N)]
    table = pairs(sentence1=texts, sentence2=texts[::-1])
    finding = the(diagnose(table, languages=["en"]), "look like")
    assert language in finding.message and finding.fix is None and "train anyway" in finding.message
    assert "choose intfloat/multilingual-e5-small from the Hugging Face Hub" in finding.message
    installed = diagnose(table, languages=["en"], multilingual="multilingual-e5-small")
    assert "choose multilingual-e5-small, which supports many languages, or train anyway" in the(installed, "look like").message
    assert not mentions(diagnose(table), "look like")


def test_a_few_rows_in_another_language_can_be_removed() -> None:
    texts = [f"一个男人在弹第{row}把吉他" if row % 10 < 3 else f"{A[row]} with the {row}" for row in range(N)]
    table = pairs(sentence1=texts, sentence2=[f"{text}!" for text in texts])
    finding = the(diagnose(table, languages=["en"]), "in a language other than English")
    assert "multilingual" in finding.message and len(finding.rows) == 36
    assert not mentions(diagnose(fixed(table, finding), languages=["en"]), "language")


def test_the_notes_of_the_reader_are_findings_too(tmp_path: Path) -> None:
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
        table = fixed(table, the(diagnose(table), words))
        assert not mentions(diagnose(table), words)
    table = table.without_lines([5])
    left = the(diagnose(table), "more cells")
    assert left.rows == (10,) and left.message.startswith("1 row ")
    assert diagnose(fixed(table, left)).findings == ()
    path.write_bytes(("text;label\n" + "".join(f"Übung Nummer {row} für alle;x{row % 2}\n" for row in range(N))).encode("cp1252"))
    found = diagnose(read_table(path))
    assert mentions(found, "Windows-1252") and mentions(found, "semicolons")


def examine(table: Table, asked: SchemaOverrides) -> tuple[Finding, ...]:
    return diagnose(table, infer_schema(table, asked)).findings


def test_all_fixes_together_leave_no_problem() -> None:
    names = ("sentence1", "score", "sentence2")  # two of them swapped
    first = changed(A, r9="", r14=A[0], r20=A[17].upper(), r30="the cafÃ© near the river and the mill")
    second = changed(B, r14=B[0], r20=B[17])
    scores = changed(SCORES, r5="77", r14="5", r20=SCORES[17])
    table = table_from_columns("t", dict(zip(names, (first, second, scores), strict=True)))
    after, asked, solved = apply_all_fixes(table, SchemaOverrides(), examine)
    messages = " | ".join(finding.message for finding in solved)
    for words in ("look swapped", "contradictory", "garbled", "outside 0–5", "one side only", "case, spacing"):
        assert words in messages
    assert diagnose(after).findings == () and not asked
    assert after.columns == names and after.column("sentence2")[0] == B[0]
    constant = SchemaOverrides(kind="scored_pairs", target="score", scale=(0.0, 5.0))
    after, left, solved = apply_all_fixes(pairs(score=["4"] * N), constant, examine)
    assert (after.columns, left, len(solved)) == (("sentence1", "sentence2"), SchemaOverrides(), 1), (
        "choices for a removed column are dropped"
    )


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
def test_fixes_that_do_not_fit_are_refused(name: str, values: dict[str, Any]) -> None:
    with pytest.raises(StudioError):
        apply_fix(pairs(), Fix(name, "", values))


def test_each_row_is_dropped_by_one_fix_only() -> None:
    texts = ["lost my card", "new card please", *["where is my card"] * 3, *(f"text number {row} of many" for row in range(40))]
    categories = ["lost", "new", "lost", "new", "lost", *(("lost", "new")[row % 2] for row in range(40))]
    table = table_from_columns("t.csv", {"text": texts, "category": categories})
    found = diagnose(table, infer_roles(table))
    dropped = [row for finding in found.findings for row in finding.dropped_rows]
    assert dropped and len(dropped) == len(set(dropped))
    contradiction, repeat = the(found, "categories"), the(found, "repeating")
    assert contradiction.fix is not None and repeat.fix is None, "the repeated row is one of the contradictory ones"
    assert "a fix above removes them as well" in repeat.message
    assert not mentions(diagnose(fixed(table, contradiction)), "repeating")


@pytest.mark.parametrize("kind", ["scored_pairs", "labelled_pairs", "triplets"])
def test_duplicates_are_those_of_a_naive_loop(kind: str) -> None:
    random = np.random.default_rng(5)
    words = ["Straße", "STRASSE", "one_two", "one two", "Ｆｕｌｌ", "full", "…", "!!", "", "É", "é", "ǅ", "x\ty", " x y "]
    texts = [" ".join(random.choice(words, random.integers(1, 3))) or "-" for _ in range(300)]
    assert fold_texts(texts) == [fold_text(text) for text in texts]
    names = ("a", "b", "c") if kind == "triplets" else ("a", "b")
    columns = tuple(tuple(random.choice(texts[:9], 300).tolist()) for _ in names)
    targets = {
        "scored_pairs": (random.integers(0, 3, 300) / 4).astype(np.float32),
        "labelled_pairs": random.integers(0, 2, 300),
        "triplets": None,
    }[kind]
    roles = Roles(kind, names, None if targets is None else "t", 0.0, 1.0, labels=("0", "1") if kind == "labelled_pairs" else ())  # type: ignore[arg-type]
    examples = Examples(kind, columns, targets, np.arange(2, 302), roles.labels)  # type: ignore[arg-type]
    context = CheckContext(table_from_columns("t", dict(zip(names, columns, strict=True))), roles, examples)
    found = {"except for case" in finding.message: finding.rows for finding in check_duplicates(context)}
    exact, near = naive_duplicates(context)
    assert len(exact) > 3 and len(near) > 3 and found == {False: exact, True: near}


def naive_duplicates(context: CheckContext) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Compare every row with every earlier one."""
    targets, exact, near = context.examples.targets, [], []
    order = tuple if context.is_directed else lambda row: tuple(sorted(row))
    rows = [order(row) for row in zip(*context.examples.texts, strict=True)]
    folded = [order(fold_text(text) for text in row) for row in zip(*context.examples.texts, strict=True)]

    def gap(a: int, b: int) -> float:
        return 0.0 if targets is None else abs(float(targets[a]) - float(targets[b]))

    for place, row in enumerate(rows):
        if any(rows[other] == row and gap(other, place) == 0 for other in range(place)):
            exact.append(place)
        elif any(
            folded[other] == folded[place] and rows[other] != row and gap(other, place) <= context.target_tolerance
            for other in range(place)
            if other not in exact and other not in near
        ):
            near.append(place)
    return context.rows(exact), context.rows(near)
