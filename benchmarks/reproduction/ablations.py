"""Sentence-BERT's Table 6 (pooling, concatenation) and its objectives, over seeds, on the STS Benchmark's dev set."""

from __future__ import annotations

from .rows import HUB_GPU, Row, stsb_training

POOLING, CONCATENATION, OBJECTIVE = "pooling", "concatenation", "objective"
SEEDS = (1, 2, 3)
_NLI = (
    "train WORK/nli.csv --dev DATA/stsb/dev.csv --objective softmax {options}--epochs 1 --batch-size 16 --lr 2e-5 --set probe=no "
    "--set blend=no --set soup=1 --set accept_alarm=both --seed SEED --out OUT"
)
_STSB = "--objective {objective} {options}--epochs 1 --batch-size 16 --lr 2e-5 --set blend=no --set soup=1"
_WHY_NLI = (
    "5,773 inference rows, the paper's are a million; on a model that was tuned for sentences before, which so few labels may unsettle"
)
_WHY_STSB = "1 epoch instead of 4, a smaller model, tuned for mean pooling before"


def _nli(name: str, title: str, section: str, options: str, paper: float) -> Row:
    return Row(
        name, title, section, (_NLI.format(options=options),), paper={"spearman": paper / 100}, why=_WHY_NLI, seeds=SEEDS, minutes=6,
        prepared=("nli.csv",), network=_network(name),
    )  # fmt: skip


def _stsb(name: str, title: str, section: str, objective: str, options: str = "", paper: float | None = None) -> Row:
    command = stsb_training(_STSB.format(objective=objective, options=options))
    figures = {} if paper is None else {"spearman": paper / 100}
    return Row(name, title, section, (command,), paper=figures, why=_WHY_STSB, seeds=SEEDS, minutes=6, network=_network(name))


def _network(name: str) -> str:
    """The row of the same network: the pooling makes it, the objective's head stays behind."""
    way = name.rpartition("-")[2]
    if way not in ("max", "cls"):
        return "minilm-untuned"
    return "" if name == f"pooling-stsb-{way}" else f"pooling-stsb-{way}"


def _pooled(way: str) -> str:
    """Nothing for the mean, which is what comes without saying: a row that is the same training as another is run once."""
    return "" if way == "mean" else f"--set pooling={way} "


def _slug(way: str) -> str:
    return "-".join(_SLUGS[part] for part in way.split(","))


_CONCATENATIONS = {
    "u,v": 66.04, "|u-v|": 69.78, "u*v": 70.54, "|u-v|,u*v": 78.37, "u,v,u*v": 77.44, "u,v,|u-v|": 80.78, "u,v,|u-v|,u*v": 80.44,
}  # fmt: skip
_DEFAULT = "u,v,|u-v|"  # what comes without saying
_SLUGS = {"u": "u", "v": "v", "|u-v|": "difference", "u*v": "product"}
_LONG = "--epochs 4 --batch-size 16 --lr 2e-5 --set soup=1"
_POOLINGS = {"mean": (80.78, 87.44), "max": (79.07, 69.92), "cls": (79.80, 86.62)}

ROWS = (
    *(
        _nli(f"concat-{_slug(way)}", f"({way})", CONCATENATION, "" if way == _DEFAULT else f'--set concatenation="{way}" ', paper)
        for way, paper in _CONCATENATIONS.items()
    ),
    *(
        _nli(f"pooling-nli-{way}", f"{way.upper()}, NLI, classification", POOLING, _pooled(way), paper)
        for way, (paper, _) in _POOLINGS.items()
    ),
    *(
        _stsb(f"pooling-stsb-{way}", f"{way.upper()}, STSb, regression", POOLING, "cosine", _pooled(way), paper)
        for way, (_, paper) in _POOLINGS.items()
    ),
    *(
        Row(
            f"bert-pooling-stsb-{way}", f"{way.upper()}, STSb, regression, BERT base", POOLING,
            (stsb_training(f"--model google-bert/bert-base-uncased --objective cosine --set pooling={way} {_LONG}"),),
            paper={"spearman": paper / 100}, needs=HUB_GPU, seeds=tuple(range(1, 11)),
        )
        for way, (_, paper) in _POOLINGS.items()
    ),
    _nli("objective-classification", "classification (NLI)", OBJECTIVE, "", 80.78),
    _stsb("objective-regression", "regression (STSb, cosine)", OBJECTIVE, "cosine", paper=87.44),
    _stsb("objective-cosent", "CoSENT (STSb)", OBJECTIVE, "cosent"),
    _stsb("objective-both", "regression and CoSENT (STSb)", OBJECTIVE, "cosine+cosent"),
    Row(
        "objective-two-stages", "classification (NLI), then regression (STSb)", OBJECTIVE,
        (
            stsb_training(
                _STSB.format(objective="cosine", options=""),
                first="--first WORK/nli.csv --set first.objective=softmax --set first.epochs=1 --set first.probe=no ",
            ),
        ),
        why=_WHY_NLI, seeds=SEEDS, minutes=12, prepared=("nli.csv",), network="minilm-untuned",
    ),
)  # fmt: skip
