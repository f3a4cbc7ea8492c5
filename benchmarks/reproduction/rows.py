"""What a row of the results is: a system of a paper, the commands that make and judge it, and what the paper reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

HUB = "the hub"
HUB_GPU = "the hub (and a GPU)"


@dataclass(frozen=True)
class Sets:
    """What a model is judged by, below DATA.

    Attributes:
        dev: chosen by, and judged by; empty where the set has none.
        test: judged by once, after everything was chosen.
        target: the column of scores or labels.
        top: the score of most alike; the least is 0.
        task: the evaluation task: ``sts``, ``triplets``, or ``folds`` where the training command cross-validates and nothing else is
            evaluated.
        folder: ``DATA``, or ``WORK`` for files that :mod:`reproduction.prepared` makes.
    """

    dev: str
    test: str
    target: str = "score"
    top: float = 5.0
    task: str = "sts"
    folder: str = "DATA"

    @property
    def files(self) -> dict[str, str]:
        """``dev`` and ``test``, as far as there are such."""
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
        name: what it is chosen by.
        title: the paper's name of it, or ours.
        section: the table in which it stands.
        commands: of ``sbert-studio``, in which ``DATA`` is the folder of the sets, ``WORK`` that of models and prepared files, ``OUT``
            the row's own model, and ``SEED`` its seed. None: ``model`` is there already.
        model: what is judged.
        paper: the paper's figures by measure: ``mse``, ``pearson``, ``spearman`` (of the dev set, in -1..1), ``accuracy`` (in 0..1),
            ``speed`` (sentences/s), ``milliseconds`` (a query).
        why: why ours may differ.
        sets: what it is judged by; None: its speed alone is measured.
        seeds: it is trained once with each.
        minutes: for all seeds, on two cores that do nothing else.
        prepared: files of WORK that the commands read; see :mod:`reproduction.prepared`.
        packages: what must be installed besides the requirements, by the names under which Python finds them.
        needs: what this machine lacks, in words; such a row is listed, and not run unless asked for.
        of_table: whether it is one of the rows of Table 1 of the STS-Benchmark comparison.
        smart: whether its speed is measured in batches of similar length; else in the order of the texts, 32 at a time.
        network: the row whose network it has, with other weights, and so its speed; its own where there is none.
        original: the set of the paper that it needs and that is not among the usual ones, in words; it is skipped where that is absent.
        candidates: of a row whose ranking time is measured, how many candidates a query is scored against; see
            :mod:`reproduction.ranking`.
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
    of_table: bool = False
    smart: bool = True
    network: str = ""
    original: str = ""
    candidates: int = 0

    @property
    def lacks(self) -> str:
        """What keeps it from being run here, in words; empty: nothing."""
        absent = [name for name in self.packages if find_spec(name) is None]
        return self.needs or (f"the package {absent[0]}" if absent else "")

    @property
    def typed(self) -> tuple[str, ...]:
        """Every command, those that judge included, as typed in a shell."""
        return tuple(f"sbert-studio {command}" for command in (*self.commands, *evaluations(self.sets, self.model)))

    def absent(self, data: Path) -> list[str]:
        """Return the sets, as folders below ``data``, that the row reads and that are not there."""
        from .prepared import PREPARED

        read = {word.split("/")[1] for command in self.typed for word in command.split() if word.startswith("DATA/")}
        read |= {name for file in self.prepared for name in PREPARED[file].sets}
        return sorted(name for name in read if not (data / name).is_dir())


def evaluations(sets: Sets | None, model: str) -> tuple[str, ...]:
    """Return the ``evaluate`` command of each of the files."""
    if sets is None:
        return ()
    return tuple(f"evaluate {model} --data {sets.folder}/{file} --task {sets.task}" for file in sets.files.values())


def stsb_training(options: str, *, first: str = "") -> str:
    """A training on the STS Benchmark's rows, the best moment chosen on its dev set."""
    return f"train DATA/stsb/train.csv {first}--dev DATA/stsb/dev.csv {options} --seed SEED --out OUT"
