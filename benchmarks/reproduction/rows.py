"""A row of the results: a system of a paper, the commands that train and evaluate it, and the published figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

HUB = "the hub"
HUB_GPU = "the hub (and a GPU)"


@dataclass(frozen=True)
class Sets:
    """The files, below DATA, that a model is evaluated on.

    Attributes:
        dev: for model selection, and evaluated; empty where the set has none.
        test: evaluated once, at the end.
        target: the column of scores or labels.
        top: the score of the most similar texts; the lowest is 0.
        task: the evaluation task: ``sts``, ``triplets``, or ``folds`` where the training command cross-validates and nothing else is
            evaluated.
        folder: ``DATA``, or ``WORK`` for files that :mod:`reproduction.datasets` writes.
    """

    dev: str
    test: str
    target: str = "score"
    top: float = 5.0
    task: str = "sts"
    folder: str = "DATA"

    @property
    def files(self) -> dict[str, str]:
        """The files by part, ``dev`` and ``test``, without empty ones."""
        return {part: file for part, file in {"dev": self.dev, "test": self.test}.items() if file}

    @property
    def measure(self) -> str:
        """The measure that its tables show."""
        return "accuracy" if self.task == "triplets" else "spearman"


STSB = Sets("stsb/dev.csv", "stsb/test.csv")
STSB_ZH = Sets("stsb-zh/dev.csv", "")
MRPC = Sets("", "mrpc/test.csv", "label", 1.0)
FOLDS = Sets("", "", task="folds")


@dataclass(frozen=True)
class Row:
    """One system.

    Attributes:
        name: identifies the row on the command line.
        title: the paper's name, or ours.
        section: its table.
        commands: of ``sbert-studio``, in which ``DATA`` is the folder of the sets, ``WORK`` that of models and prepared files, ``OUT``
            the row's own model, and ``SEED`` its seed. None: ``model`` exists already.
        model: the model to evaluate.
        paper: the paper's figures by measure: ``mse``, ``pearson``, ``spearman`` (of the dev set, in -1..1), ``accuracy`` (in 0..1),
            ``speed`` (sentences/s), ``milliseconds`` (a query).
        why: why ours may differ.
        sets: what it is evaluated on; None: only its speed is measured.
        seeds: it is trained once with each.
        minutes: for all seeds, on two idle cores.
        prepared: files of WORK that the commands read; see :mod:`reproduction.datasets`.
        packages: import names of packages needed besides the requirements.
        needs: what this machine lacks, in words; such a row is listed, and run only on request.
        in_table_1: whether it is a row of Table 1 of the STS Benchmark comparison.
        is_length_sorted: whether its speed is measured in batches of similar length; else in the order of the texts, 32 at a time.
        network: the row with the same network and so the same speed; empty: its own.
        original: the paper's set, in words, that it needs beyond the usual ones; without it the row is skipped.
        candidates: number of candidates that a query is scored against, for rows whose ranking time is measured; see
            :mod:`reproduction.speeds`.
    """

    name: str
    title: str
    section: str
    commands: tuple[str, ...] = ()
    model: str = "OUT"
    paper: Mapping[str, float] = field(default_factory=dict)
    why: str = ""
    sets: Sets | None = STSB
    seeds: tuple[int, ...] = (12,)
    minutes: float = 1.0
    prepared: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    needs: str = ""
    in_table_1: bool = False
    is_length_sorted: bool = True
    network: str = ""
    original: str = ""
    candidates: int = 0

    @property
    def missing_requirement(self) -> str:
        """What this machine lacks to run it, in words; empty: nothing."""
        absent = [name for name in self.packages if find_spec(name) is None]
        return self.needs or (f"the package {absent[0]}" if absent else "")

    @property
    def shell_commands(self) -> tuple[str, ...]:
        """All commands as typed in a shell, evaluation included."""
        return tuple(f"sbert-studio {command}" for command in (*self.commands, *evaluations(self.sets, self.model)))

    def missing_sets(self, data: Path) -> list[str]:
        """Return the folders below ``data`` that the row reads and that are missing."""
        from .datasets import DERIVED_FILES

        read = {word.split("/")[1] for command in self.shell_commands for word in command.split() if word.startswith("DATA/")}
        read |= {name for file in self.prepared for name in DERIVED_FILES[file].sets}
        return sorted(name for name in read if not (data / name).is_dir())


def evaluations(sets: Sets | None, model: str) -> tuple[str, ...]:
    """Return the ``evaluate`` command of each of the files."""
    if sets is None:
        return ()
    return tuple(f"evaluate {model} --data {sets.folder}/{file} --task {sets.task}" for file in sets.files.values())


def stsb_training(options: str, *, first: str = "") -> str:
    """Return a training on the STS Benchmark's rows, the best step chosen on its dev set."""
    return f"train DATA/stsb/train.csv {first}--dev DATA/stsb/dev.csv {options} --seed SEED --out OUT"
