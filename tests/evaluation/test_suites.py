"""Suites by name: where their files are found, what is not taken for them, and what is said to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.loading.table import Table, read_table
from sbert_studio.errors import StudioError
from sbert_studio.evaluation import suites
from sbert_studio.evaluation.suites import SUITES, PartFound, find_parts, suite_named, suites_in
from sbert_studio.evaluation.tasks import TASKS

STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSb", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")


def put(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"sentence1,sentence2,score\n{path.parent.name},{path.name},1\nb,c,5\n")


def found(name: str, *places: Path) -> tuple[dict[str, str], list[str]]:
    """The file of each part that was found, and the parts that are missing."""
    there, missing = find_parts(suites_in(suite_named(name)), places, read_table)
    return {f"{one.suite.name} {one.part.name}": one.read().column("sentence2")[0] for one in there}, [one.file for one in missing]


def test_every_suite_says_what_it_holds() -> None:
    assert set(SUITES) == {*STS, "STS", *TRANSFER, "SentEval", "AFS", "WikiSections"}
    assert SUITES["STS"].suites == STS and SUITES["SentEval"].suites == TRANSFER
    for name in SUITES:
        suite = SUITES[name]
        assert suite.title and suite.__doc__ and suite.task in TASKS and bool(suite.parts) != bool(suite.suites)
        assert all(part.rows > 0 for part in suite.parts)
    assert [sum(part.rows for part in SUITES[name].parts) for name in STS] == [3108, 1500, 3750, 3000, 1186, 1379, 4927]
    assert suite_named("sts12") is SUITES["STS12"]
    with pytest.raises(StudioError, match="no suite 'STS99'"):
        suite_named("STS99")


def test_a_suite_is_found_in_its_folder_or_beside_it_and_what_is_missing_is_said(tmp_path: Path) -> None:
    put(tmp_path / "sts12/MSRpar.csv", tmp_path / "sts12/surprise.OnWN.tsv", tmp_path / "other.csv")
    expected = {"STS12 MSRpar": "MSRpar.csv", "STS12 OnWN": "surprise.OnWN.tsv"}
    for place in (tmp_path, tmp_path / "sts12"):
        there, missing = found("STS12", place)
        assert set(there) == set(expected) and missing == ["MSRvid", "SMTeuroparl", "SMTnews"]


def test_files_of_another_year_are_not_taken(tmp_path: Path) -> None:
    put(tmp_path / "sts14/headlines.csv", tmp_path / "sts14/OnWN.csv", tmp_path / "sts13/headlines.csv")
    there, missing = found("STS13", tmp_path)
    assert list(there) == ["STS13 headlines"] and missing == ["FNWN", "OnWN"]
    with pytest.raises(StudioError, match="nothing of STS13"):
        found("STS13", tmp_path / "sts14")
    put(tmp_path / "loose/headlines.csv", tmp_path / "loose/FNWN.csv")
    assert list(found("STS13", tmp_path / "loose")[0]) == ["STS13 FNWN", "STS13 headlines"], "asked for alone"
    assert list(found("STS", tmp_path / "loose")[0]) == ["STS13 FNWN"], "headlines may be of any of four years"


def test_names_that_any_set_has_count_in_a_folder_of_the_suite_only(tmp_path: Path) -> None:
    put(tmp_path / "other/test.csv", tmp_path / "other/sts-test.csv", tmp_path / "STSbenchmark/test.csv")
    assert found("STSb", tmp_path) == ({"STSb sts-test": "test.csv"}, [])
    assert found("STSb", tmp_path / "other") == ({"STSb sts-test": "sts-test.csv"}, [])
    assert found("STSb", tmp_path / "other/sts-test.csv") == ({"STSb sts-test": "sts-test.csv"}, [])


def test_what_stands_in_for_a_part_is_said_to(tmp_path: Path) -> None:
    put(tmp_path / "sick/trial.csv", tmp_path / "sick/train.csv")
    there, (missing,) = find_parts([SUITES["SICK-R"]], [tmp_path], read_table)
    assert there[0].instead == "trial.csv"
    assert "4,927" in missing.words and "trial.csv" in missing.words
    put(tmp_path / "sick/test.csv")
    there, none = find_parts([SUITES["SICK-R"]], [tmp_path], read_table)
    assert not there[0].instead and not none


def test_another_form_of_a_suite_is_one_more_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(suite: type[suites.Suite], search: suites.Search):  # type: ignore[no-untyped-def]
        def read() -> Table:
            return search.read(tmp_path / "input.csv")

        for part in suite.parts[:2]:
            yield PartFound(suite, part, read)

    put(tmp_path / "input.csv", tmp_path / "sts12/MSRpar.csv")
    monkeypatch.setattr(suites, "SOURCES", [*suites.SOURCES, elsewhere])
    there, missing = found("STS12", tmp_path)
    assert there == {"STS12 MSRpar": "MSRpar.csv", "STS12 MSRvid": "input.csv"} and len(missing) == 3


def test_the_real_folders_are_found(real_data: Path) -> None:
    there, missing = find_parts(suites_in(SUITES["STS"]), [real_data], read_table)
    assert [len([one for one in there if one.suite.name == name]) for name in STS] == [4, 3, 6, 0, 0, 1, 1]
    assert [one.file for one in missing if one.suite in ("STS12", "SICK-R")] == ["MSRvid", "SICK_test_annotated"]
