"""Suites are found as folders of tables or as their authors publish them; the sentences are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.loading.table import read_table
from sbert_studio.datasets.search import find_official_splits
from sbert_studio.datasets.suites import SUITES, FoundPart, expand_suite, find_parts, get_suite
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.tasks import TASKS

STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSb", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def put(*paths: Path) -> None:
    for path in paths:
        write(path, f"sentence1,sentence2,score\n{path.parent.name},{path.name},1\nb,c,5\n")


def find(name: str, *places: Path) -> tuple[dict[str, FoundPart], list[str]]:
    parts, missing = find_parts(expand_suite(get_suite(name)), places, read_table)
    return {one.part.name: one for one in parts}, [one.file for one in missing]


def test_every_suite_is_complete() -> None:
    assert set(SUITES) == {*STS, "STS", *TRANSFER, "SentEval", "AFS", "WikiSections"}
    assert SUITES["STS"].suites == STS and SUITES["SentEval"].suites == TRANSFER
    for suite in SUITES.values():
        assert suite.title and suite.task in TASKS and bool(suite.parts) != bool(suite.suites)
        assert all(part.rows > 0 for part in suite.parts)
    assert [sum(part.rows for part in SUITES[name].parts) for name in STS] == [3108, 1500, 3750, 3000, 1186, 1379, 4927]
    assert get_suite("sts12") is SUITES["STS12"]
    with pytest.raises(StudioError, match="no suite 'STS99'"):
        get_suite("STS99")


def test_a_suite_is_found_in_its_folder_and_in_the_folder_around_it(tmp_path: Path) -> None:
    put(tmp_path / "sts12/MSRpar.csv", tmp_path / "sts12/surprise.OnWN.tsv", tmp_path / "other.csv")
    for place in (tmp_path, tmp_path / "sts12"):
        parts, missing = find("STS12", place)
        assert [part.read().column("sentence2")[0] for part in parts.values()] == ["MSRpar.csv", "surprise.OnWN.tsv"]
        assert list(parts) == ["MSRpar", "OnWN"] and missing == ["MSRvid", "SMTeuroparl", "SMTnews"]


def test_files_of_another_year_are_not_taken(tmp_path: Path) -> None:
    put(tmp_path / "sts14/headlines.csv", tmp_path / "sts14/OnWN.csv", tmp_path / "sts13/headlines.csv")
    parts, missing = find("STS13", tmp_path)
    assert list(parts) == ["headlines"] and missing == ["FNWN", "OnWN"]
    assert parts["headlines"].read().column("sentence1")[0] == "sts13"
    with pytest.raises(StudioError, match="no file of STS13 was found in sts14"):
        find("STS13", tmp_path / "sts14")
    put(tmp_path / "loose/headlines.csv", tmp_path / "loose/FNWN.csv")
    assert list(find("STS13", tmp_path / "loose")[0]) == ["FNWN", "headlines"], "no other suite is asked for"
    assert list(find("STS", tmp_path / "loose")[0]) == ["FNWN"], "headlines may be of any of four years"


@pytest.mark.parametrize(("place", "file"), [("", "test.csv"), ("other", "sts-test.csv"), ("other/sts-test.csv", "sts-test.csv")])
def test_common_names_count_only_in_a_folder_of_the_suite(tmp_path: Path, place: str, file: str) -> None:
    put(tmp_path / "other/test.csv", tmp_path / "other/sts-test.csv", tmp_path / "STSbenchmark/test.csv")
    parts, missing = find("STSb", tmp_path / place)
    assert parts["sts-test"].read().column("sentence2")[0] == file and not missing


def test_a_substitute_is_reported_and_the_real_file_is_preferred(tmp_path: Path) -> None:
    put(tmp_path / "sick/trial.csv", tmp_path / "sick/train.csv")
    parts, (missing,) = find_parts([SUITES["SICK-R"]], [tmp_path], read_table)
    assert parts[0].substitute == "trial.csv"
    assert "4,927" in missing.message and "trial.csv is used instead" in missing.message
    put(tmp_path / "sick/test.csv")
    parts, none = find_parts([SUITES["SICK-R"]], [tmp_path], read_table)
    assert not parts[0].substitute and not none


def test_tables_to_train_on_need_train_next_to_test(tmp_path: Path) -> None:
    write(tmp_path / "trec/test.csv", "text,label\na,x\nb,y\n")
    with pytest.raises(StudioError, match="no file of TREC"):
        find("TREC", tmp_path)
    write(tmp_path / "trec/train.csv", "text,label\na,x\nb,y\nc,y\n")
    part = find("TREC", tmp_path)[0]["TREC"]
    assert part.train is not None and len(part.train()) == 3 and part.dev is None
    write(tmp_path / "trec/dev.csv", "text,label\na,x\n")
    part = find("TREC", tmp_path / "trec")[0]["TREC"]
    assert part.dev is not None and len(part.dev()) == 1
    write(tmp_path / "loose/trec-test.csv", "text,label\na,x\nb,y\n")
    write(tmp_path / "loose/trec-train.csv", "text,label\na,x\n")
    part = find("TREC", tmp_path / "loose")[0]["TREC"]
    assert part.train is not None and len(part.train()) == 1


@pytest.fixture
def downstream(tmp_path: Path) -> Path:
    """A part of SentEval's folder."""
    root = tmp_path / "downstream"
    for name in ("MSRpar", "surprise.OnWN"):
        write(root / f"STS/STS12-en-test/STS.input.{name}.txt", f"{name}\tone\nnone\tnone\ntwo\tthree\n")
        write(root / f"STS/STS12-en-test/STS.gs.{name}.txt", "4.5\n\n1.0\n")
    header = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
    splits = ("TRAIN", "TRIAL", "TEST")
    write(root / "SICK/SICK.txt", header + "".join(f"{place}\t{split}\tb\tNEUTRAL\t4.5\t{split}\n" for place, split in enumerate(splits)))
    write(root / "TREC/train_5500.label", "DESC:manner How do birds fly ?\nHUM:ind Who was first ?\n" * 3)
    write(root / "TREC/TREC_10.label", "NUM:count How many ?\nHUM:ind Who won ?\n")
    for split, rows in (("train", 5), ("dev", 3), ("test", 2)):
        write(root / f"SST/binary/sentiment-{split}", "a fine film\t1\na dull film\t0\n" * rows)
    for split, rows in (("train", 4), ("test", 2)):
        text = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + '1\t1\t2\tHe said "a\tHe said a\n0\t3\t4\tno\tyes\n' * rows
        write(root / f"MRPC/msr_paraphrase_{split}.txt", text)
    write(root / "MR/rt-polarity.pos", "a fine film\n" * 4)
    write(root / "MR/rt-polarity.neg", "a dull film\n" * 3)
    return root


def test_a_year_of_sts_is_found_by_its_subsets_each_with_its_own_lines(downstream: Path) -> None:
    for place in (downstream, downstream / "STS/STS12-en-test"):
        parts, missing = find("STS12", place)
        assert list(parts) == ["MSRpar", "OnWN"] and missing == ["MSRvid", "SMTeuroparl", "SMTnews"]
        table, roles = parts["OnWN"].read(), parts["OnWN"].roles
        assert table.column("sentence1") == ["surprise.OnWN", "two"] and table.lines.tolist() == [1, 3]
        assert [note.rows for note in table.notes if note.skip_reason] == [(2,)], "only the skipped lines of this subset"
        assert roles is not None and (roles.low, roles.high) == (0, 5)
    write(downstream / "STS/sts12/MSRpar.csv", "sentence1,sentence2,score\na,b,1\nb,c,5\n")
    assert find("STS12", downstream / "STS")[0]["MSRpar"].read().column("sentence1") == ["a", "b"], "tables are preferred"


def test_sick_is_evaluated_on_its_test_split_or_else_on_its_trial_split(downstream: Path, tmp_path: Path) -> None:
    parts, missing = find("SICK-R", downstream)
    part = parts["SICK_test_annotated"]
    assert part.read().column("sentence1") == ["TEST"] and not part.substitute and part.train is None and not missing
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    write(tmp_path / "other/SICK_trial.txt", header + "1\ta\tb\t4.5\tENTAILMENT\n")
    parts, missing = find("SICK-R", tmp_path / "other")
    assert parts["SICK_test_annotated"].substitute == "SICK_trial.txt" and missing == ["SICK_test_annotated"]


def test_transfer_sets_come_with_their_training_rows(downstream: Path) -> None:
    parts, missing = find("SentEval", downstream)
    assert sorted(parts) == ["MR", "MRPC", "SST2", "TREC"] and missing == ["CR", "SUBJ", "MPQA"]
    sizes = {name: [None if read is None else len(read()) for read in (one.read, one.train, one.dev)] for name, one in parts.items()}
    assert sizes == {"MR": [7, None, None], "MRPC": [4, 8, None], "SST2": [4, 10, 6], "TREC": [2, 6, None]}
    (downstream / "TREC/train_5500.label").unlink()
    assert "TREC" in find("SentEval", downstream)[1], "nothing to train on"
    with pytest.raises(StudioError, match="there is a test split, but no train split"):
        find("TREC", downstream / "TREC")


@pytest.mark.parametrize(("name", "folder"), [("TREC", "TREC"), ("SST2", "SST/binary"), ("MRPC", "MRPC")])
def test_a_missing_test_split_is_named(downstream: Path, name: str, folder: str) -> None:
    place = downstream / folder
    for path in place.iterdir():
        if "train" not in path.name:
            path.unlink()
    with pytest.raises(StudioError, match=f"no file of {name} was found in {place.name}: there is a train split, but no test split"):
        find(name, place)


def test_argument_facets_and_wikipedia_sections_are_found(tmp_path: Path) -> None:
    for topic in ("GC", "DP"):
        write(tmp_path / f"x/ArgPairs_{topic}.csv", f"regression_label,sentence_1,sentence_2\n3,{topic} a,b\n1,c,d\n")
    write(tmp_path / "y/test.csv", "Sentence1,Sentence2,Sentence3,Article Title,Article Link\na,b,c,T,L\n")
    part = find("AFS", tmp_path)[0]["AFS"]
    assert part.roles is not None and part.roles.group == "topic"
    assert part.read().column("topic") == ["death penalty"] * 2 + ["gun control"] * 2
    assert find("WikiSections", tmp_path)[0]["WikiSections"].read().column("negative") == ["c"]


def test_official_splits(downstream: Path) -> None:
    (splits,) = find_official_splits(downstream / "SST/binary")
    assert splits.evaluated.split == "test" and splits.train is not None and splits.dev is not None
    (splits,) = find_official_splits(downstream / "SST/binary/sentiment-dev")
    assert splits.evaluated.split == "dev" and splits.train is not None and splits.dev is None
    assert find_official_splits(downstream / "SST/binary/sentiment-train") == []
    titles = [one.evaluated.title for one in find_official_splits(downstream)]
    assert titles == ["MR", "MRPC test", "SICK test", "SST2 test", "STS12 test", "TREC test"]
