"""Comparisons of losses: CoSENT's own, then AnglE, contrastive and online contrastive, and SimCSE."""

from __future__ import annotations

from .rows import HUB, HUB_GPU, MRPC, STSB_ZH, Row, Sets, stsb_training

SEEDS = (1, 2, 3)

# CoSENT compared with Sentence-BERT's softmax, and with plain losses on the cosine

BINARY, GRADED = "cosent-binary", "cosent-graded"
_NETWORK = "minilm-untuned"
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
    for name, (title, loss, options) in _OBJECTIVES.items():
        command = f"train DATA/mrpc/train.csv --loss {loss} {options}--set evaluation=split {_HOW}"
        why = "MRPC, English, stands in for the article's four Chinese sets, and MiniLM for BERT base"
        rows.append(Row(f"mrpc-{name}", f"MRPC, {title}", BINARY, (command,), why=why, sets=MRPC, seeds=SEEDS, minutes=4, network=_NETWORK))
    return (Row("mrpc-untuned", "MRPC, MiniLM, untuned", BINARY, model="all-MiniLM-L6-v2", sets=MRPC, minutes=0.5, network=_NETWORK), *rows)


def _graded() -> tuple[Row, ...]:
    rows = []
    for name, (title, loss, options) in _OBJECTIVES.items():
        classes = loss == "softmax"
        file = "WORK/stsb-classes.csv" if classes else "DATA/stsb/train.csv"
        command = f"train {file} --dev DATA/stsb/dev.csv --loss {loss} {options}{_HOW}"
        why = "six classes: the score, rounded" if classes else ""
        prepared = ("stsb-classes.csv",) if classes else ()
        rows.append(
            Row(f"stsb-{name}", f"STSb, {title}", GRADED, (command,), why=why, seeds=SEEDS, minutes=4, prepared=prepared, network=_NETWORK)
        )
    command = f"train DATA/stsb-zh/train.csv --dev DATA/stsb-zh/dev.csv --as-read --loss cosent {_HOW}"
    why = "an English model: most Chinese characters are unknown to it"
    paper = {"spearman": 0.8014}
    row = Row(
        "stsb-zh-minilm",
        "Chinese STS-B, CoSENT, MiniLM",
        GRADED,
        (command,),
        paper=paper,
        why=why,
        sets=STSB_ZH,
        minutes=3,
        network=_NETWORK,
    )
    return (*rows, row)


def _chinese() -> tuple[Row, ...]:
    rows = []
    for name, (title, ours, theirs) in _CHINESE.items():
        graded = name == "stsb-zh"
        sets = STSB_ZH if graded else Sets("", f"{name}/test.csv", "label", 1.0)
        for loss, paper in (("cosent", ours), ("softmax", theirs)):
            if graded and loss == "softmax":
                continue
            command = f"train DATA/{name}/train.csv --model google-bert/bert-base-chinese --loss {loss} {_HOW}"
            words = "CoSENT" if loss == "cosent" else "Sentence-BERT (softmax)"
            needs = HUB_GPU if graded else f"{HUB_GPU.replace(HUB, f'{HUB}, the set {title}')}"
            section = GRADED if graded else BINARY
            figures = {"spearman": paper / 100}
            rows.append(Row(f"{name}-{loss}", f"{title}, {words}", section, (command,), paper=figures, sets=sets, needs=needs))
    return tuple(rows)


_COSENT = (*_binary(), *_graded(), *_chinese())

# AnglE, the contrastive losses and SimCSE

CONTRASTIVE, SIMCSE = "contrastive", "simcse"
_STSB = "--epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1"
_MRPC = (
    "train DATA/mrpc/train.csv --loss {options} --set evaluation=split --epochs 1 --batch-size 32 --lr 2e-5 --set blend=no --set soup=1 "
    "--set accept_alarm=both --seed SEED --out OUT"
)
_SMALL = "1 epoch of a smaller model that was tuned for sentences before; the paper tunes BERT base"
_UNREPORTED = "its source reports no figure for sentences"
_WEIGHTED = "--set cosine_weight=1 --set in_batch_weight=1"


def _stsb(name: str, title: str, options: str, paper: float | None, why: str, minutes: float = 6) -> Row:
    command = stsb_training(f"--loss {options} {_STSB}")
    return Row(name, title, CONTRASTIVE, (command,), paper=_paper(paper), why=why, seeds=SEEDS, minutes=minutes, network=_NETWORK)


def _mrpc(name: str, title: str, options: str, paper: float | None, why: str) -> Row:
    command = _MRPC.format(options=options)
    return Row(
        name, title, CONTRASTIVE, (command,), paper=_paper(paper), why=why, sets=MRPC, seeds=SEEDS, minutes=4, network=_NETWORK
    )  # fmt: skip


def _paper(spearman: float | None) -> dict[str, float]:
    return {} if spearman is None else {"spearman": spearman / 100}


_CONTRASTIVE = (
    _mrpc("mrpc-contrastive", "MRPC, contrastive (Hadsell et al. 2006)", "contrastive", None, _UNREPORTED),
    _mrpc("mrpc-online-contrastive", "MRPC, online contrastive", "online_contrastive", None, _UNREPORTED),
    _mrpc("mrpc-angle", "MRPC, AnglE, all three terms", f"angle {_WEIGHTED}", 62.20, _SMALL),
    _stsb("stsb-angle", "STSb, AnglE, the angle alone", "angle", None, "the paper's figure is of all three terms"),
    _stsb("stsb-angle-weighted", "STSb, AnglE, all three terms", f"angle {_WEIGHTED}", 86.26, _SMALL),
)


def _simcse(name: str, title: str, file: str, options: str, paper: float, why: str, minutes: float) -> Row:
    command = (
        f"train WORK/{file} {options} --batch-size 64 --set temperature=0.05 --set blend=no --set soup=1 --set accept_alarm=both "
        "--seed SEED --out OUT"
    )
    return Row(
        name, title, SIMCSE, (command,), paper=_paper(paper), why=why, seeds=SEEDS, minutes=minutes, prepared=(file,), network=_NETWORK
    )  # fmt: skip


_UNSUPERVISED = "--loss simcse --epochs 1 --lr 3e-5"
_SUPERVISED = "--loss simcse_supervised --set evaluation=split --epochs 1 --lr 5e-5"
_BEFORE = "MiniLM has learned from a billion pairs before, the paper's BERT from none: ours begins above where the paper ends"
_SIMCSE = (
    Row(
        "simcse-untuned", "MiniLM, untuned", SIMCSE, model="all-MiniLM-L6-v2", minutes=0.5, network=_NETWORK,
        why="tuned on a billion pairs by its makers",
    ),
    _simcse(
        "simcse-stsb", "unsupervised, sentences of STSb", "stsb-sentences.csv", _UNSUPERVISED, 76.85,
        f"4,800 sentences, the paper's are a million of Wikipedia; {_BEFORE}", 5,
    ),
    _simcse(
        "simcse-sick", "unsupervised, sentences of SICK", "sick-sentences.csv", _UNSUPERVISED, 76.85,
        f"4,800 sentences, the paper's are a million of Wikipedia; {_BEFORE}", 5,
    ),
    _simcse(
        "simcse-nli", "supervised, entailment and contradiction of SNLI and SICK", "nli-triplets.csv", _SUPERVISED, 84.25,
        "671 triplets and batches of 64, 1 epoch; the paper's are 276,000 in batches of 512, 3 epochs", 3,
    ),
)  # fmt: skip

_OTHERS = (*_CONTRASTIVE, *_SIMCSE)

ROWS = (*_COSENT, *_OTHERS)
