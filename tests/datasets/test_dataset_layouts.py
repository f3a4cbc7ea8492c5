"""Public datasets in the form in which their authors publish them; the sentences are made up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import read_table
from sbert_studio.data.schema.inference import infer_columns
from sbert_studio.datasets.search import FoundDataset, find_datasets
from sbert_studio.errors import StudioError


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def rows(found: FoundDataset) -> list[tuple[str, ...]]:
    return [tuple(row) for row in found.table.head(100)]


def find(path: Path, *titles: str) -> list[FoundDataset]:
    """Return the datasets, whose titles and roles are right: every row makes an example."""
    found = find_datasets(path)
    assert [one.title for one in found] == list(titles)
    for one in found:
        assert len(build_examples(one.table, one.roles)[0]) == len(one.table)
    return found


def refusal(path: Path) -> str:
    with pytest.raises(StudioError) as caught:
        _ = find_datasets(path)[0].table
    return caught.value.message


@pytest.fixture
def sts(tmp_path: Path) -> Path:
    folder = tmp_path / "STS" / "STS12-en-test"
    write(folder / "STS.input.MSRpar.txt", 'He said "no.\tHe said no.\nA dog barks.\tA cat sleeps.\nOne man.\tTwo men.\n')
    write(folder / "STS.gs.MSRpar.txt", "4.750\n\n2.5\n")
    write(folder / "STS.input.surprise.OnWN.txt", "to run fast\tto sprint\n\u2028to sit\tto stand\thttp://a\thttp://b\n")
    write(folder / "STS.gs.surprise.OnWN.txt", "5\n0.25\n")
    write(folder / "STS.gs.ALL.txt", "4.750\n\n2.5\n5\n0.25\n")
    return folder


def test_a_year_of_sts_is_one_dataset_without_its_unscored_pairs(sts: Path) -> None:
    (found,) = find(sts.parent, "STS12 test")
    assert found.roles.group == "subset"
    assert rows(found) == [
        ('He said "no.', "He said no.", "4.750", "MSRpar"),
        ("One man.", "Two men.", "2.5", "MSRpar"),
        ("to run fast", "to sprint", "5", "surprise.OnWN"),
        ("to sit", "to stand", "0.25", "surprise.OnWN"),
    ]
    account = found.account
    assert (account.read, account.used, account.skipped) == (5, 4, 1)
    assert [(reason.why, reason.rows) for reason in account.reasons] == [("no gold score", (2,))]
    assert found.table.lines.tolist() == [1, 3, 4, 5], "the rows of the second file continue those of the first"


def test_year_and_split_of_sts_are_in_the_names_of_files_and_folders(tmp_path: Path) -> None:
    for where in ("sts2016/STS2016.{}.plagiarism.txt", "STS2012-train/STS.{}.MSRvid.txt", "STS 2014/trial/STS.{}.images.txt"):
        write(tmp_path / where.format("input"), "a b\tc d\n")
        write(tmp_path / where.format("gs"), "3\n")
    find(tmp_path, "STS12 train", "STS14 dev", "STS16 test")
    find(tmp_path / "sts2016" / "STS2016.gs.plagiarism.txt", "STS16 test")


def test_errors_of_sts_name_the_file_and_the_line(sts: Path) -> None:
    gold = write(sts / "STS.gs.MSRpar.txt", "4.750\n\nfive\n")
    assert refusal(sts).startswith("STS.gs.MSRpar.txt, line 3, contains 'five'")
    write(gold, "4.750\n\n2\n3\n")
    assert re.search(r"STS\.gs\.MSRpar\.txt has 4 .+ STS\.input\.MSRpar\.txt has 3", refusal(sts))
    write(gold, "4.750\n\n2\n")
    write(sts / "STS.input.MSRpar.txt", "a b\tc d\n\none man two men\n")
    assert refusal(sts).startswith("STS.input.MSRpar.txt, line 3, has no tab")
    gold.unlink()
    assert refusal(sts).startswith("STS.gs.MSRpar.txt is missing")


@pytest.mark.parametrize(("half", "other"), [("gs", "input"), ("input", "gs")])
def test_half_of_an_sts_subset_is_refused_with_the_name_of_the_other_half(sts: Path, half: str, other: str) -> None:
    with pytest.raises(StudioError, match=f"are in STS.{other}.MSRpar.txt, line by line"):
        read_table(sts / f"STS.{half}.MSRpar.txt")


STSB = (
    'main-captions\tMSRvid\t2012test\t0001\t5.000\t"A plane takes off.\tA plane is taking off.\n'
    'main-news\theadlines\t2013\t0002\t3.2\tHe said ""no"".\t"Yes," she said.\thttp://a.b/c\thttp://d.e/f\n'
    "main-forums\tdeft-forum\t2014\t0003\t0\tA dog barks.\tPrices fell.\n"
)


def test_sts_benchmark_keeps_its_quotation_marks_and_drops_its_sources(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        write(tmp_path / f"sts-{split}.csv", STSB)
    found = find(tmp_path, "STSb train", "STSb dev", "STSb test")
    assert rows(found[2])[:2] == [
        ('"A plane takes off.', "A plane is taking off.", "5.000", "main-captions", "MSRvid", "2012test", "0001"),
        ('He said ""no"".', '"Yes," she said.', "3.2", "main-news", "headlines", "2013", "0002"),
    ]
    write(tmp_path / "sts-dev.csv", STSB + "main-news MSRpar 2012\n")
    assert re.search(r"sts-dev.csv, line 4, has 1 instead of 7 cells", refusal(tmp_path / "sts-dev.csv"))
    table = read_table(write(tmp_path / "whatever.tsv", STSB * 10))
    reading = infer_columns(table)
    assert len(table) == 30 and reading.roles.kind == "scored_pairs" and reading.roles.texts == ("sentence1", "sentence2")
    assert (reading.roles.target, reading.roles.low, reading.roles.high, reading.questions) == ("score", 0.0, 5.0, ())


SICK = (
    "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    '1\tA "kid" plays\tA boy plays\t4.5\tNEUTRAL\n2\tA dog barks\tNo dog barks\t1\tCONTRADICTION\n'
)
SICK_WITH_SPLITS = (
    "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tentailment_AB\tSemEval_set\n"
    "1\tA kid plays\tA boy plays\tNEUTRAL\t4.5\tA_neutral_B\tTRAIN\n"
    "2\tA dog barks\tNo dog barks\tCONTRADICTION\t1.2\tA_contradicts_B\tTEST\n"
    "3\tA kid plays\tA kid is playing\tENTAILMENT\t5\tA_entails_B\tTRIAL\n"
)


def test_sick_is_one_file_per_split_or_one_with_a_column_of_splits(tmp_path: Path) -> None:
    for name in ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"):
        write(tmp_path / "files" / name, SICK)
    write(tmp_path / "one" / "SICK.txt", SICK_WITH_SPLITS)
    write(tmp_path / "one" / "SICK_train.txt", SICK)
    write(tmp_path / "older" / "SICK.txt", SICK)
    find(tmp_path / "older", "SICK")
    first, *_ = find(tmp_path / "files", "SICK train", "SICK dev", "SICK test")
    assert rows(first)[0] == ('A "kid" plays', "A boy plays", "4.5", "NEUTRAL", "1")
    assert (first.roles.low, first.roles.high) == (1.0, 5.0)
    found = find(tmp_path / "one", "SICK train", "SICK dev", "SICK test")
    assert [(rows(one)[0][4], one.table.lines.tolist()) for one in found] == [("1", [2]), ("3", [4]), ("2", [3])]


POLARITY = {
    "CR": ("custrev.neg", "custrev.pos", "utf-8"),
    "MPQA": ("mpqa.neg", "mpqa.pos", "utf-8"),
    "MR": ("rt-polarity.neg", "rt-polarity.pos", "latin-1"),
    "SUBJ": ("subj.subjective", "subj.objective", "latin-1"),
}


def test_one_file_per_class(tmp_path: Path) -> None:
    for name, (one, two, encoding) in POLARITY.items():
        write(tmp_path / name / one, 'a café , dull and " slow .  \n\nnot good\n', encoding)
        write(tmp_path / name / two, "a fine , fine film\n", encoding)
    found = find(tmp_path, *POLARITY)
    for dataset in found:
        assert dataset.split == "all"
        assert [row[0] for row in rows(dataset)] == ['a café , dull and " slow .', "not good", "a fine , fine film"]
        assert dataset.account.reasons[0].why == "blank" and dataset.table.lines.tolist() == [1, 3, 4]
    assert [row[1] for row in rows(found[3])] == ["subjective", "subjective", "objective"]
    (tmp_path / "MR" / "rt-polarity.neg").unlink()
    assert "rt-polarity.neg is missing, but rt-polarity.pos" in refusal(tmp_path / "MR" / "rt-polarity.pos")
    path = write(tmp_path / "rt-polarity.pos", "a fine , fine film , really\n" * 30 + "a café , somewhere\n", "latin-1")
    table = read_table(path)
    assert (len(table), table.columns, table.doubts) == (31, ("text",), ()), "no comma is asked about"
    assert table.column("text")[-1] == "a café , somewhere"


def test_sentiment_has_two_or_five_classes(tmp_path: Path) -> None:
    for where, label in (("binary", "1"), ("fine", "3")):
        for split in ("train", "dev", "test"):
            write(tmp_path / where / f"sentiment-{split}", f'a " fine film\t{label}\nno , not that\t0\n')
    found = find(tmp_path, *(f"{name} {split}" for name in ("SST2", "SST5") for split in ("train", "dev", "test")))
    assert rows(found[0]) == [('a " fine film', "1"), ("no , not that", "0")]
    dev = tmp_path / "binary" / "sentiment-dev"
    assert read_table(dev).columns == ("text", "label")
    write(dev, "a film\t1\na film 0\n")
    assert refusal(dev).startswith("sentiment-dev, line 2, does not end with a tab")


def test_question_types_precede_the_colon(tmp_path: Path) -> None:
    text = "DESC:manner How did it end ?\nHUM:ind Who was the café 's owner ?\nNUM:count How many , then ?\n"
    train, test = write(tmp_path / "train_5500.label", text, "latin-1"), write(tmp_path / "TREC_10.label", text)
    found = find(tmp_path, "TREC train", "TREC test")
    assert rows(found[0])[1] == ("Who was the café 's owner ?", "HUM", "HUM:ind")
    assert read_table(train).column("label") == ["DESC", "HUM", "NUM"]
    write(test, text + "How far ?\n")
    assert refusal(test).startswith("TREC_10.label, line 4, does not start")


MRPC = (
    "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    '1\t11\t12\t"We did it," he said.\tHe said, "We did it.\r\n'
    '0\t13\t14\t"It is over."\tNobody won.\r\n'
)


def test_paraphrases_keep_every_quotation_mark(tmp_path: Path) -> None:
    for split in ("train", "test"):
        write(tmp_path / f"msr_paraphrase_{split}.txt", MRPC, "utf-8-sig")
    found = find(tmp_path, "MRPC train", "MRPC test")
    assert rows(found[0]) == [
        ('"We did it," he said.', 'He said, "We did it.', "1", "11", "12"),
        ('"It is over."', "Nobody won.", "0", "13", "14"),
    ]
    table = read_table(tmp_path / "msr_paraphrase_test.txt")
    assert table.columns[0] == "Quality" and table.column("#1 String") == ['"We did it," he said.', '"It is over."']
    edited = write(tmp_path / "mine.txt", MRPC.replace("\r\n", "\n") + "1\t15\t16\tone cell too few\n")
    assert len(read_table(edited)) == 3, "an edited file is read like any table"


def test_argument_facets_are_one_dataset_with_topics(tmp_path: Path) -> None:
    header = "uniqueRowNo,regression_label,sentence_1,sentence_2\n"
    write(tmp_path / "ArgPairs_GM.csv", header + '1,4.5,"Love, they say, is love.",Marriage is ""for"" all.\n', "cp1252")
    write(tmp_path / "ArgPairs_DP.csv", header + "1,0,It’s “wrong”.,It costs more.\n2,,No score.,None.\n", "cp1252")
    write(tmp_path / "ArgPairs_GC.csv", header + "1,2.25,Guns kill.,People kill.\n")
    (found,) = find(tmp_path, "AFS")
    assert (found.split, found.roles.group, found.account.skipped) == ("all", "topic", 1)
    assert [(row[0], row[2], row[3]) for row in rows(found)] == [
        ("It’s “wrong”.", "0", "death penalty"),
        ("Guns kill.", "2.25", "gun control"),
        ("Love, they say, is love.", "4.5", "gay marriage"),
    ]


def test_damaged_characters_of_argument_facets_are_repaired(tmp_path: Path) -> None:
    signs = "“quoted” and ‘so’ – it’s — done •"
    damaged = signs.encode().decode("cp1252", "replace").replace("\ufffd", "\x9d")
    coded = b"".join(bytes([0x9D]) if sign == "\x9d" else sign.encode("mac_roman") for sign in damaged)
    (tmp_path / "ArgPairs_GC.csv").write_bytes(b"regression_label,sentence_1,sentence_2\n3," + coded + b",A caf\xe9.\n")
    assert rows(find_datasets(tmp_path)[0])[0][:2] == (signs, "A café.")


def test_wikipedia_sections_are_recognized_by_their_header(tmp_path: Path) -> None:
    header = "Sentence1,Sentence2,Sentence3,Article Title,Article Link\n"
    for name in ("train.csv", "validation.csv", "test.csv"):
        write(tmp_path / "wiki" / name, header + '"One, two.",Three.,Four.,Numbers,https://a.b\nA lone one.,,,Gaps,https://c.d\n')
        write(tmp_path / "other" / name, "text,label\nOne.,a\n")
    found = find(tmp_path, *(f"Wikipedia sections {split}" for split in ("train", "dev", "test")))
    assert rows(found[0]) == [("One, two.", "Three.", "Four.", "Numbers", "https://a.b")] and found[0].account.skipped == 1


def test_inference_pairs_without_a_majority_label_are_skipped(tmp_path: Path) -> None:
    pairs = [("entailment", 'A "man" eats.', "A man eats."), ("-", "A dog.", "A cat."), ("neutral", "A girl.", "A tall girl.")]
    lines = [json.dumps({"gold_label": label, "sentence1": one, "sentence2": two, "genre": "fiction"}) for label, one, two in pairs]
    train = write(tmp_path / "snli_1.0" / "snli_1.0_train.jsonl", "\n".join(lines) + "\n")
    write(tmp_path / "multinli_1.0" / "multinli_1.0_dev_matched.jsonl", "\n".join(lines))
    header = "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1\tsentence2\tcaptionID\n"
    tabbed = header + "".join(f"{label}\t( a )\t( b )\t{one}\t{two}\t1.jpg#0\n" for label, one, two in pairs)
    write(tmp_path / "snli_1.0" / "snli_1.0_train.txt", "not read, because there is a .jsonl")
    test = write(tmp_path / "snli_1.0" / "snli_1.0_test.txt", tabbed)
    for found in find(tmp_path, "MultiNLI matched dev", "SNLI train", "SNLI test"):
        assert [row[:3] for row in rows(found)] == [('A "man" eats.', "A man eats.", "entailment"), ("A girl.", "A tall girl.", "neutral")]
        assert found.account.reasons[0].why == "no majority label"
    assert read_table(test).column("sentence1")[0] == 'A "man" eats.'
    write(train, lines[0] + '\n{"gold_label": "neu\n')
    assert refusal(train).startswith("snli_1.0_train.jsonl, line 2, is not a JSON object")


def test_other_folders_hold_no_dataset(tmp_path: Path) -> None:
    write(tmp_path / "notes" / "readme.txt", "nothing here")
    find(tmp_path)
    with pytest.raises(StudioError, match="there is no file or folder"):
        find_datasets(tmp_path / "absent")
