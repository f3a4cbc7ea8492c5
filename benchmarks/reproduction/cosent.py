"""The CoSENT article's comparison: CoSENT against Sentence-BERT's softmax, and against plain losses on the cosine."""

from __future__ import annotations

from .rows import HUB, HUB_GPU, MRPC, STSB_ZH, Row, Sets

BINARY, GRADED = "cosent-binary", "cosent-graded"
SEEDS = (1, 2, 3)
_SAME = "minilm-untuned"
_HOW = "--epochs 1 --batch-size 32 --lr 2e-5 --set blend=no --set soup=1 --set accept_alarm=both --seed SEED --out OUT"
_OBJECTIVES = {
    "cosent": ("CoSENT", "cosent", ""),
    "softmax": ("Sentence-BERT (softmax)", "softmax", "--set probe=no "),
    "cosine": ("squared error of the cosine", "cosine", ""),
    "linear": ("naive, equation 1", "naive_cosine", "--set equation=linear "),
    "squared": ("naive, equation 2", "naive_cosine", "--set equation=squared "),
    "threshold": ("naive, equation 3", "naive_cosine", "--set equation=threshold "),
}
# Spearman on the test sets of the article, CoSENT and Sentence-BERT, both on BERT base; of STS-B the dev set is at hand.
_CHINESE = {
    "atec": ("ATEC", 49.74, 46.36), "bq": ("BQ", 72.38, 70.36), "lcqmc": ("LCQMC", 78.69, 78.72), "pawsx": ("PAWSX", 60.00, 46.86),
    "stsb-zh": ("Chinese STS-B", 80.14, 66.41),
}  # fmt: skip


def _binary() -> tuple[Row, ...]:
    rows = []
    for name, (title, objective, options) in _OBJECTIVES.items():
        command = f"train DATA/mrpc/train.csv --objective {objective} {options}--set judge=split {_HOW}"
        why = "MRPC, English, stands in for the article's four Chinese sets, and MiniLM for BERT base"
        rows.append(Row(f"mrpc-{name}", f"MRPC, {title}", BINARY, (command,), why=why, sets=MRPC, seeds=SEEDS, minutes=4, network=_SAME))
    return (Row("mrpc-untuned", "MRPC, MiniLM, untuned", BINARY, model="all-MiniLM-L6-v2", sets=MRPC, minutes=0.5, network=_SAME), *rows)


def _graded() -> tuple[Row, ...]:
    rows = []
    for name, (title, objective, options) in _OBJECTIVES.items():
        classes = objective == "softmax"
        file = "WORK/stsb-classes.csv" if classes else "DATA/stsb/train.csv"
        command = f"train {file} --dev DATA/stsb/dev.csv --objective {objective} {options}{_HOW}"
        why = "six classes: the score, rounded" if classes else ""
        prepared = ("stsb-classes.csv",) if classes else ()
        rows.append(
            Row(f"stsb-{name}", f"STSb, {title}", GRADED, (command,), why=why, seeds=SEEDS, minutes=4, prepared=prepared, network=_SAME)
        )
    command = f"train DATA/stsb-zh/train.csv --dev DATA/stsb-zh/dev.csv --as-read --objective cosent {_HOW}"
    why = "an English model: most Chinese characters are unknown to it"
    paper = {"spearman": 0.8014}
    row = Row(
        "stsb-zh-minilm", "Chinese STS-B, CoSENT, MiniLM", GRADED, (command,), paper=paper, why=why, sets=STSB_ZH, minutes=3, network=_SAME
    )
    return (*rows, row)


def _chinese() -> tuple[Row, ...]:
    rows = []
    for name, (title, ours, theirs) in _CHINESE.items():
        graded = name == "stsb-zh"
        sets = STSB_ZH if graded else Sets("", f"{name}/test.csv", "label", 1.0)
        for objective, paper in (("cosent", ours), ("softmax", theirs)):
            if graded and objective == "softmax":
                continue
            command = f"train DATA/{name}/train.csv --model google-bert/bert-base-chinese --objective {objective} {_HOW}"
            words = "CoSENT" if objective == "cosent" else "Sentence-BERT (softmax)"
            needs = HUB_GPU if graded else f"{HUB_GPU.replace(HUB, f'{HUB}, the set {title}')}"
            section = GRADED if graded else BINARY
            figures = {"spearman": paper / 100}
            rows.append(Row(f"{name}-{objective}", f"{title}, {words}", section, (command,), paper=figures, sets=sets, needs=needs))
    return tuple(rows)


ROWS = (*_binary(), *_graded(), *_chinese())
