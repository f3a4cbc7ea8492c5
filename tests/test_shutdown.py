"""Requests to end a program, by SIGTERM or Ctrl-C, whatever it is at."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest
from processes import command_line, started
from tiny_studio import WORDS
from waiting import wait_until

from sbert_studio import shutdown as module
from sbert_studio.cli.main import main, run
from sbert_studio.progress import StoppedError, checkpoint, stoppable, uninterruptible
from sbert_studio.shutdown import TEMPORARY_PATHS, Shutdown
from sbert_studio.workspace import atomic_file, atomic_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
SIGNALS = [signal.SIGTERM, signal.SIGINT]


def raise_in_a_callback(number: signal.Signals) -> None:
    """Raise the signal where Python would drop what its handler raises."""

    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(number))
    del thing
    assert reference() is None


@pytest.mark.parametrize("number", SIGNALS)
def test_a_request_sets_a_flag_wherever_it_comes_and_raises_nothing(number: signal.Signals) -> None:
    before = [signal.getsignal(one) for one in SIGNALS]
    ending = Shutdown()
    with ending.handling():
        assert not ending.is_requested()
        raise_in_a_callback(number)
        ending.wait()
        with pytest.raises(StoppedError), stoppable(ending.is_requested):
            checkpoint()
        with stoppable(ending.is_requested), uninterruptible():
            checkpoint()
    assert ending.code == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    assert [signal.getsignal(one) for one in SIGNALS] == before and signal.set_wakeup_fd(-1) == -1


def test_listeners_hear_of_a_request_and_forked_processes_keep_their_signals() -> None:
    ending, heard = Shutdown(), threading.Event()
    with ending.handling(), ending.listened(heard.set):
        signal.raise_signal(signal.SIGTERM)
        assert heard.wait(10)
    ending = Shutdown()
    with ending.handling():
        before = signal.getsignal(signal.SIGTERM)
        ending.forget()  # as a child does; were it not to, what is sent to it would end its parent
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        signal.signal(signal.SIGTERM, before)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def compute_without_asking(folder: str, patience: float, patient: bool) -> None:
    """Write a file and a folder, and compute for ever without a look at the flag."""
    module.GRACE_SECONDS = patience
    ending = Shutdown()
    with ending.handling(), atomic_file(Path(folder) / "a.txt"), atomic_folder(Path(folder) / "b"):
        assert len(TEMPORARY_PATHS) == 2
        print("computing", flush=True)
        while True:
            if patient:
                with ending.patient():
                    time.sleep(0.05)
            time.sleep(0)


@pytest.mark.process
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_what_asks_nobody_is_ended_after_a_while_and_leaves_no_half_written_files(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    with started(tmp_path, compute_without_asking, str(folder), 0.3, False) as child:
        wait_until(lambda: "computing" in child.out.read_text())
        assert len(list(folder.iterdir())) == 2
        child.send(number)
        assert child.wait(30) == code
    assert list(folder.iterdir()) == []


@pytest.mark.process
def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    with started(tmp_path, compute_without_asking, str(tmp_path), 60, False) as child:
        wait_until(lambda: "computing" in child.out.read_text())
        child.send(signal.SIGINT)
        time.sleep(0.2)  # two signals of one number that come together are one
        child.send(signal.SIGINT)
        assert child.wait(30) == 130


def test_a_command_that_was_stopped_says_so_and_leaves_with_the_code_of_the_signal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"{WORDS[number % 20]} {number}" for number in range(50)))

    def ask_and_run(given: list[str]) -> int:
        signal.raise_signal(signal.SIGTERM)
        module.SHUTDOWN.wait()
        return run(given)

    monkeypatch.setattr(sys.modules[main.__module__], "run", ask_and_run)
    with pytest.raises(SystemExit) as left:
        main(["mine", str(texts)])
    assert left.value.code == 143 and "stopped" in capsys.readouterr().err


def takes_signals(pid: int) -> bool:
    """Whether a process has a handler of its own for SIGTERM."""
    caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.process
@pytest.mark.slow
def test_a_long_encoding_ends_soon_and_leaves_nothing(tmp_path: Path, tiny_model: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "vectors.npy"
    texts.write_text("\n".join(" ".join(WORDS[(number * step) % 20] for step in range(1, 30)) + f" {number}" for number in range(100_000)))
    with command_line(tmp_path, "encode", texts, "--model", tiny_model, "--out", out) as child:
        wait_until(lambda: takes_signals(child.pid))
        child.send(signal.SIGINT)
        assert child.wait(60) == 130, child.err.read_text()
    assert not out.exists() and not list(tmp_path.glob(".part-*"))
