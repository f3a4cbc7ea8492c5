"""The helper that starts processes for other tests."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import processes
import pytest
from processes import command_line, started
from waiting import wait_until

pytestmark = pytest.mark.process


def say_and_wait(words: str) -> None:
    print(words, os.environ["SBERT_STUDIO_HOME"], flush=True)
    time.sleep(60)


def test_a_child_has_its_own_output_and_can_be_killed(tmp_path: Path) -> None:
    with started(tmp_path, say_and_wait, "hello", SBERT_STUDIO_HOME="elsewhere") as child:
        wait_until(child.out.read_text)
        assert child.out.read_text() == "hello elsewhere\n"
        child.send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL


def test_the_command_line_answers_with_its_exit_code(tmp_path: Path) -> None:
    with command_line(tmp_path, "--version") as child:
        assert child.succeed().startswith("sbert-studio ")
    with command_line(tmp_path, "search", tmp_path / "nowhere.csv", "cat") as child:
        assert child.wait() == 2
        assert "nowhere.csv" in child.err.read_text()


def end_with_the_dead() -> None:
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    processes._end_with(dead)


def test_a_child_ends_with_the_process_that_tests(tmp_path: Path) -> None:
    """pytest may be killed; its children would go on, and keep their ports."""
    with started(tmp_path, end_with_the_dead) as child:
        assert child.wait() == 1
