"""Suites in the sets as their authors hand them out, or as plain tables of train and test; the sentences are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.known_sets import own_splits_at
from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.suites import SUITES, PartFound, find_parts, suite_named, suites_in


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


SETS = ("TRAIN", "TRIAL", "TEST")


def trec(folder: Path) -> Path:
    write(folder / "train_5500.label", "DESC:manner How do birds fly ?\nHUM:ind Who was first ?\n" * 3)
    return write(folder / "TREC_10.label", "NUM:count How many ?\nHUM:ind Who won ?\n")


def sst(folder: Path) -> Path:
    for split, rows in (("train", 5), ("dev", 3), ("test", 2)):
        write(folder / f"sentiment-{split}", "a fine film\t1\na dull film\t0\n" * rows)
    return folder / "sentiment-test"


@pytest.fixture
def downstream(tmp_path: Path) -> Path:
    """SentEval's folder, in part."""
    root = tmp_path / "downstream"
    year = root / "STS/STS12-en-test"
    for name in ("MSRpar", "surprise.OnWN"):
        write(year / f"STS.input.{name}.txt", f"{name}\tone\nnone\tnone\ntwo\tthree\n")
        write(year / f"STS.gs.{name}.txt", "4.5\n\n1.0\n")
    header = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
    write(root / "SICK/SICK.txt", header + "".join(f"{place}\t{split}\tb\tNEUTRAL\t4.5\t{split}\n" for place, split in enumerate(SETS)))
    trec(root / "TREC")
    sst(root / "SST/binary")
    for name, rows in (("train", 4), ("test", 2)):
        text = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + '1\t1\t2\tHe said "a\tHe said a\n0\t3\t4\tno\tyes\n' * rows
        write(root / f"MRPC/msr_paraphrase_{name}.txt", text)
    write(root / "MR/rt-polarity.pos", "a fine film\n" * 4)
    write(root / "MR/rt-polarity.neg", "a dull film\n" * 3)
    return root


def found(name: str, *places: Path) -> tuple[dict[str, PartFound], list[str]]:
    there, missing = find_parts(suites_in(suite_named(name)), places, read_table)
    return {one.part.name: one for one in there}, [one.file for one in missing]


def test_a_year_of_sts_is_found_by_its_subsets_each_with_its_own_lines(downstream: Path) -> None:
    for place in (downstream, downstream / "STS/STS12-en-test"):
        there, missing = found("STS12", place)
        assert list(there) == ["MSRpar", "OnWN"] and missing == ["MSRvid", "SMTeuroparl", "SMTnews"]
        table = there["OnWN"].read()
        assert table.column("sentence1") == ["surprise.OnWN", "two"] and table.lines.tolist() == [1, 3]
        assert [note.rows for note in table.notes if note.left_out] == [(2,)], "what was left out of other subsets is not told here"
        roles = there["OnWN"].roles
        assert roles is not None and (roles.low, roles.high) == (0, 5)
    write(downstream / "STS/sts12/MSRpar.csv", "sentence1,sentence2,score\na,b,1\nb,c,5\n")
    there, _ = found("STS12", downstream / "STS")
    assert there["MSRpar"].read().column("sentence1") == ["a", "b"], "a table is taken first"


def test_sick_is_judged_by_its_test_split_and_else_by_its_trial(downstream: Path, tmp_path: Path) -> None:
    there, missing = found("SICK-R", downstream)
    part = there["SICK_test_annotated"]
    assert part.read().column("sentence1") == ["TEST"] and not part.instead and part.known is None and not missing
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    write(tmp_path / "other/SICK_trial.txt", header + "1\ta\tb\t4.5\tENTAILMENT\n")
    there, missing = found("SICK-R", tmp_path / "other")
    assert there["SICK_test_annotated"].instead == "SICK_trial.txt" and missing == ["SICK_test_annotated"]


def test_transfer_sets_come_with_what_they_are_learned_from(downstream: Path) -> None:
    there, missing = found("SentEval", downstream)
    assert sorted(there) == ["MR", "MRPC", "SST2", "TREC"] and missing == ["CR", "SUBJ", "MPQA"]
    sizes = {name: [None if read is None else len(read()) for read in (one.read, one.known, one.dev)] for name, one in there.items()}
    assert sizes == {"MR": [7, None, None], "MRPC": [4, 8, None], "SST2": [4, 10, 6], "TREC": [2, 6, None]}
    (downstream / "TREC/train_5500.label").unlink()
    assert "TREC" in found("SentEval", downstream)[1], "nothing to learn from"
    with pytest.raises(StudioError, match="TREC: its train split is missing"):
        found("TREC", downstream / "TREC")


@pytest.mark.parametrize(("name", "folder"), [("TREC", "TREC"), ("SST2", "SST/binary"), ("MRPC", "MRPC")])
def test_of_a_set_without_what_it_is_judged_by_the_missing_split_is_named(downstream: Path, name: str, folder: str) -> None:
    place = downstream / folder
    for path in place.iterdir():
        if "train" not in path.name:
            path.unlink()
    with pytest.raises(StudioError, match=f"nothing of {name} lies in {place.name}: its test split is missing beside its train split"):
        found(name, place)


def test_plain_tables_need_train_beside_test(tmp_path: Path) -> None:
    write(tmp_path / "trec/test.csv", "text,label\na,x\nb,y\n")
    with pytest.raises(StudioError, match="nothing of TREC"):
        found("TREC", tmp_path)
    write(tmp_path / "trec/train.csv", "text,label\na,x\nb,y\nc,y\n")
    (part,) = found("TREC", tmp_path)[0].values()
    assert part.known is not None and len(part.known()) == 3 and part.dev is None
    write(tmp_path / "trec/dev.csv", "text,label\na,x\n")
    (part,) = found("TREC", tmp_path / "trec")[0].values()
    assert part.dev is not None and len(part.dev()) == 1
    write(tmp_path / "loose/trec-test.csv", "text,label\na,x\nb,y\n")
    write(tmp_path / "loose/trec-train.csv", "text,label\na,x\n")
    (part,) = found("TREC", tmp_path / "loose")[0].values()
    assert part.known is not None and len(part.known()) == 1


def test_argument_facets_and_sections_are_found(tmp_path: Path) -> None:
    for topic in ("GC", "DP"):
        write(tmp_path / f"x/ArgPairs_{topic}.csv", f"regression_label,sentence_1,sentence_2\n3,{topic} a,b\n1,c,d\n")
    write(tmp_path / "y/test.csv", "Sentence1,Sentence2,Sentence3,Article Title,Article Link\na,b,c,T,L\n")
    (part,) = found("AFS", tmp_path)[0].values()
    assert part.roles is not None and part.roles.group == "topic"
    assert part.read().column("topic") == ["death penalty"] * 2 + ["gun control"] * 2
    (part,) = found("WikiSections", tmp_path)[0].values()
    assert part.read().column("negative") == ["c"]


def test_a_set_is_judged_by_its_test_split_and_a_file_as_what_it_is(downstream: Path) -> None:
    (own,) = own_splits_at(downstream / "SST/binary")
    assert own.judged.split == "test" and own.known is not None and own.dev is not None
    (own,) = own_splits_at(downstream / "SST/binary/sentiment-dev")
    assert own.judged.split == "dev" and own.known is not None and own.dev is None
    assert own_splits_at(downstream / "SST/binary/sentiment-train") == []
    names = [one.judged.title for one in own_splits_at(downstream)]
    assert names == ["MR", "MRPC test", "SICK test", "SST2 test", "STS12 test", "TREC test"]


def test_every_set_that_is_learned_says_how_much_of_it(real_data: Path) -> None:
    there, missing = find_parts(suites_in(SUITES["SentEval"]), [real_data], read_table)
    assert [(one.part.name, one.part.learned) for one in there] == [("TREC", 5452), ("MRPC", 4076)] and len(missing) == 5
    trec = there[0]
    assert trec.known is not None and (len(trec.read()), len(trec.known())) == (500, 5452)
