"""Trains, is killed with SIGKILL again and again, resumes, and compares the end with that of a run left alone.

Each attempt is a child forked from a process that never computes, so that the libraries are imported once and a child begins clean.
A child kills itself at an event, or before an operation on files, that was chosen beforehand: the same moments each time.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import accelerate  # noqa: F401  imported before the fork, as the next four
import peft.utils  # noqa: F401
import scipy.stats  # noqa: F401
import torch
import torch.profiler

from sbert_studio.models.io.load import load_folder
from sbert_studio.models.trainable import Trainable
from sbert_studio.training import evaluator, events, trainer, trials

from .tiny import (
    cross_spec,
    labelled_pairs,
    never,
    poly_spec,
    positive_pairs,
    scored_pairs,
    small_spec,
    tiny_cross,
    tiny_encoder,
    tiny_poly,
    tiny_words,
)


@dataclass(frozen=True)
class Moment:
    """When a child kills itself.

    Attributes:
        kind: ``event``: once ``count`` events were told. ``file``: before the operation on files of number ``count``. ``before``: before
            the first operation on a path that has ``name`` in it. ``after``: before the first one on another path after those.
    """

    kind: str
    count: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name or self.count}"


@dataclass(frozen=True)
class Run:
    """One kind of run.

    Attributes:
        make: the spec, the rows to learn from, the rows that judge or ``None``, and the rows of a first stage or ``None``.
        kills: the moments of the attempts that are killed, one after another.
        load: the model.
        is_course: whether it is several trainings.
    """

    make: Callable[[], tuple[Any, Any, Any, Any]]
    kills: Sequence[Moment]
    load: Callable[[], Trainable] = tiny_encoder
    is_course: bool = False


def at_event(count: int) -> Moment:
    return Moment("event", count)


def at_file(count: int) -> Moment:
    return Moment("file", count)


def before(name: str) -> Moment:
    return Moment("before", name=name)


def after(name: str) -> Moment:
    return Moment("after", name=name)


def anywhere(name: str, most: int = 6) -> Moment:
    """A moment drawn for the run of this name, the same each time."""
    return at_event(random.Random(name).randint(2, most))


TABLE = {"learn_words": True, "learning_rate": 0.01}
GRU = {"recurrent": "gru", "hidden": 12, "learning_rate": 0.01}
STAGE = {**GRU, "checkpoint_every": 3}
# That each family of models continues from its checkpoint in the same bits is tested in tests/models/test_conformance.py.
RUNS = {
    "full": Run(
        lambda: (small_spec(epochs=3, checkpoint_every=4), scored_pairs(40), scored_pairs(20, 5), None),
        [at_event(8), before("step-000000008"), anywhere("full"), before("outcome.json"), after("outcome.json")],
    ),
    # Nothing held out: the last weights are compared, not the best.
    "lora softmax": Run(
        lambda: (
            small_spec(loss="softmax", epochs=3, method="lora", learning_rate=1e-2, checkpoint_every=4, dev_fraction=0),
            labelled_pairs(40),
            None,
            None,
        ),
        [at_event(7), anywhere("lora softmax")],
    ),
    "cross lora": Run(
        lambda: (cross_spec(epochs=2, method="lora", checkpoint_every=3, dev_fraction=0), scored_pairs(40), None, None),
        [anywhere("cross lora"), at_file(6)],
        tiny_cross,
    ),
    "poly": Run(
        lambda: (poly_spec(epochs=2, checkpoint_every=3, micro_batch=3), positive_pairs(40), positive_pairs(20, 5), None),
        [at_event(8), at_file(7)],
        tiny_poly,
    ),
    "soup": Run(
        lambda: (small_spec(epochs=1, soup=3, checkpoint_every=4), scored_pairs(40), scored_pairs(20, 5), None),
        [at_event(11), at_file(9)],
    ),
    # A table that GloVe might have left, which learns with the rest, in two members that are joined.
    "words soup": Run(
        lambda: (small_spec(**TABLE, epochs=2, soup=2, checkpoint_every=3), scored_pairs(40), scored_pairs(20, 5), None),
        [at_event(9), at_file(10)],
        tiny_words,
    ),
    "folds": Run(
        lambda: (small_spec(epochs=1, checkpoint_every=2), scored_pairs(24), None, None),
        [at_file(30), anywhere("folds", 12), before("course.json"), after("course.json")],
        is_course=True,
    ),
    "two stages": Run(
        lambda: (
            small_spec(**STAGE, epochs=2, seeds=2, first=small_spec(**STAGE, epochs=1, loss="softmax").to_json()),
            scored_pairs(40),
            scored_pairs(20, 5),
            labelled_pairs(40, 30),
        ),
        [at_event(6), at_file(12)],
        tiny_words,
        is_course=True,
    ),
}
_WRITES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree")


class Killer:
    """Counts what a child does, and kills it at its moment."""

    def __init__(self, moment: Moment | None, folder: Path) -> None:
        self.moment, self.folder = moment, str(folder)
        self.events = self.files = 0
        self._named = False
        sys.addaudithook(self._hear)

    def tell(self, _event: object) -> None:
        """Count an event of the run."""
        self.events += 1
        if self.moment is not None and self.moment.kind == "event" and self.events == self.moment.count:
            self._kill()

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        writes = event in _WRITES or (event == "open" and isinstance(arguments[1], str) and any(one in arguments[1] for one in "wax"))
        if not writes or not any(str(argument).startswith(self.folder) for argument in arguments):
            return
        self.files += 1
        if self.moment is None:
            return
        named = bool(self.moment.name) and any(self.moment.name in str(argument) for argument in arguments)
        due = {"file": self.files == self.moment.count, "before": named, "after": self._named and not named}
        self._named |= named
        if due.get(self.moment.kind):
            self._kill()

    @staticmethod
    def _kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def attempt(run: Run, folder: Path, moment: Moment | None) -> bool:
    """Train in a child until its moment or the end. Return whether it reached the end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            torch.set_num_threads(1)
            events._SHOWN_EVERY = 0.0
            killer = Killer(moment, folder)
            spec, examples, dev, first = run.make()
            given: dict[str, Any] = {"folder": folder, "dev": dev}
            if run.is_course:
                given |= {"first": first, "load": lambda _spec, _examples, source: run.load() if source is None else load_folder(source)}
                trials.run_trials(spec, examples, killer.tell, never, **given)
            else:
                trainer.train(spec, examples, killer.tell, never, encoder=run.load(), resume=True, **given)
            print(f"  {killer.events} events, {killer.files} operations on files", file=sys.stderr)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, f"the child died of signal {os.WTERMSIG(status)}"
        return False
    assert os.WEXITSTATUS(status) == 0, "the run failed"
    return True


def last_tensors(folder: Path) -> dict[str, bytes]:
    """All files of weights that a run has left."""
    return {
        path.name if "step-" not in str(path) else f"{path.parent.name}/{path.name}": path.read_bytes()
        for path in sorted(folder.rglob("*.safetensors"))
    }


def compare(name: str, folder: Path) -> dict[str, Any]:
    """Run one left alone and one that is killed at each of its moments. Return what differs, as JSON."""
    run = RUNS[name]
    print(name, file=sys.stderr)
    assert attempt(run, folder / "whole", None)
    survived = [str(moment) for moment in run.kills if attempt(run, folder / "parts", moment)]
    assert attempt(run, folder / "parts", None)
    whole, parts = last_tensors(folder / "whole"), last_tensors(folder / "parts")
    return {
        "survived": survived,
        "files": len(whole),
        "missing": sorted(whole.keys() ^ parts.keys()),
        "differing": [path for path, content in whole.items() if parts.get(path, content) != content],
    }


def main(folder: str) -> None:
    """Compare each run, and print what was found as JSON; the error where one could not be compared."""
    evaluator.PAIRS = Path(folder) / "none"  # everyday pairs are no matter here, and each child would encode them
    gc.collect()
    gc.freeze()  # a child that looks for cycles among what was imported would copy all of it
    found = {}
    for name in RUNS:
        try:
            found[name] = compare(name, Path(folder) / name)
        except AssertionError as error:
            found[name] = {"error": str(error)}
    print(json.dumps(found))
