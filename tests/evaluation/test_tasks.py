"""The registry of tasks: what each says of itself, that no two claim the same rows, and that a new one is a single file."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sbert_studio
from sbert_studio.data.schema.roles import KINDS
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.tasks import SCORED_KINDS, TASKS, DataShape, all_tasks, find_task, get_task, task_kinds

SHAPES = [
    DataShape(kind, labels, ordered, classed, gives)  # type: ignore[arg-type]
    for kind, labels, ordered, classed, gives in itertools.product(
        KINDS, (0, 1, 2, 3, 7), (True, False), (True, False), ("vectors", "score", "class")
    )
]


def test_every_task_says_what_it_is() -> None:
    assert tuple(task.name for task in all_tasks()) == TASKS
    assert [task.order for task in all_tasks()] == sorted({task.order for task in all_tasks()})
    assert len({task.title for task in all_tasks()}) == len(TASKS)
    for task in all_tasks():
        assert task.help.endswith(".") and task.main
        assert task.kinds and set(task.kinds) <= set(KINDS) and task_kinds(task.name) == task.kinds
        assert get_task(task.name) is task


def test_scored_kinds_are_those_with_a_task_of_their_own() -> None:
    fitting = {shape.kind for shape in SHAPES if not shape.classed for task in all_tasks() if task.fits(shape)}
    assert fitting == set(SCORED_KINDS) == set(KINDS) - {"sentences"}
    assert list(SCORED_KINDS) == [kind for kind in KINDS if kind in SCORED_KINDS], "in the order of all kinds"


def test_no_two_tasks_claim_the_same_rows_and_every_scored_kind_has_one() -> None:
    for shape in SHAPES:
        fitting = [task.name for task in all_tasks() if task.fits(shape)]
        assert len(fitting) == (0 if shape.kind == "sentences" and not shape.classed else 1), (shape, fitting)
    with pytest.raises(StudioError, match="sentences without labels"):
        find_task(DataShape("sentences"))
    with pytest.raises(StudioError, match="no evaluation 'odd'"):
        get_task("odd")


ODD = '''
"""Pairs whose labels are odd in number."""

from .base import TASK_REGISTRY, Task
from ..report import Report


@TASK_REGISTRY.register("odd")
class Odd(Task):
    order, title, help, kinds, main = 99, "Odd ones", "How odd they are.", ("labelled_pairs",), ("oddness",)

    def evaluate_vectors(self, encoded, reference=None, by="cosine"):
        return Report("odd", len(encoded.examples), {"oddness": 0.5})
'''

USE = """
import numpy as np
from sbert_studio.cli.main import run
from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.models.base import Encoder
from sbert_studio.evaluation.evaluate import evaluate, main_score
class Ones(Encoder):
    name, normalizes, dim, max_length, fingerprint = "ones", False, 2, 9, "0"
    def encode(self, texts, **_): return np.ones((len(texts), 2), np.float32)
    def describe(self): return {}
table = table_from_columns("t", {"sentence1": ["a b", "c d"], "sentence2": ["a", "d"], "label": ["0", "1"]})
print(main_score(evaluate(Ones(), table, "odd")), run(["evaluate", "--help"]))
"""


@pytest.mark.process
def test_a_new_task_is_one_file(tmp_path: Path) -> None:
    shutil.copytree(Path(sbert_studio.__file__).parent, tmp_path / "sbert_studio")
    (tmp_path / "sbert_studio/evaluation/tasks/odd.py").write_text(ODD)
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    done = subprocess.run([sys.executable, "-c", USE], check=False, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert "('oddness', 0.5) 0" in done.stdout, done.stderr
    (listed,) = re.findall(r"--task \S+\s+([^-]*)", done.stdout)
    words = re.findall(r"[\w]+", listed)
    assert set(TASKS) <= set(words) and words.index("odd") > max(map(words.index, TASKS)), "listed last, by its order"
