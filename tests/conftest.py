"""What all tests share: a home folder for each test, a tiny model, public data where present, and how the suite is distributed."""

from __future__ import annotations

import gc
import itertools
import json
import multiprocessing.util
import os
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from sbert_studio.settings import configure_thread_waiting

configure_thread_waiting()
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# A process that is killed loses nothing of what it wrote; only a power failure would, so no test waits for the disk.
os.fsync = lambda _file: None

_REAL_DATA = Path(os.environ.get("SBERT_STUDIO_REAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
_DURATIONS = Path(__file__).with_name("durations.json")
_RECORDED: dict[str, Any] = json.loads(_DURATIONS.read_text(encoding="utf-8"))
_SLOW_TESTS = frozenset(_RECORDED["slow"])
_WORTH_RECORDING = 0.5  # seconds; files that take less are scheduled last, in any order
_SLOW = 0.08  # seconds; a test that takes longer is left out of `make quick`

# Shared fixtures are slow to build and function-scoped ones are reset by the tests themselves, so neither is a health problem here.
_CHECKS = [hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile(
    "suite", derandomize=True, max_examples=25, deadline=None, database=None, suppress_health_check=_CHECKS
)
hypothesis.settings.register_profile("fuzz", max_examples=2_000, deadline=None, print_blob=True, suppress_health_check=_CHECKS)
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help="write tests/durations.json: the seconds of files, and the slow tests")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests of one file in one process, because they share models and runs."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _file_of(nodeid)

    return ByFile(config, log)


def _file_of(nodeid: str) -> str:
    return nodeid.split("::", maxsplit=1)[0]


def _test_of(nodeid: str) -> str:
    return nodeid.split("[", maxsplit=1)[0]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark as slow what took long when durations were last recorded, so that ``make quick`` stays quick."""
    if _test_of(item.nodeid) in _SLOW_TESTS:
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, by the last recorded times, so that two workers end at about the same moment.

    Browser tests come before all others, so that the app and the browser that they share need not run for longer.
    """
    items.sort(key=lambda item: (item.get_closest_marker("browser") is None, -_RECORDED["files"].get(_file_of(item.nodeid), 0)))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was imported: searching all of PyTorch and Gradio again and again took 8% of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """With ``--record-durations``, write how long each file took, and which tests are slow: of a complete run without a failure."""
    if not config.getoption("--record-durations"):
        return
    stats = terminalreporter.stats
    if stats.get("failed") or stats.get("error") or stats.get("deselected") or config.args != config.getini("testpaths"):
        terminalreporter.write_line("durations are not recorded: some tests failed, or were left out")
        return
    files: dict[str, float] = {}
    tests: dict[str, float] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                file, test = _file_of(report.nodeid), _test_of(report.nodeid)
                files[file] = files.get(file, 0) + report.duration
                if report.when == "call":  # what is set up may be shared with quick tests
                    tests[test] = max(tests.get(test, 0), report.duration)
    kept = {file: round(spent, 1) for file, spent in sorted(files.items()) if spent >= _WORTH_RECORDING}
    slow = sorted(test for test, spent in tests.items() if spent >= _SLOW and "/browser/" not in test)
    _DURATIONS.write_text(json.dumps({"files": kept, "slow": slow}, indent=1) + "\n", encoding="utf-8")


_NUMBERS = itertools.count()
_running: list[pytest.Item] = []


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    _running[:] = [item]
    yield
    _running.clear()


_PROGRAMS = re.compile(r"python|sbert-studio|torchrun|accelerate|bin/sh\b")
_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system", "tests.process"}


def _refuse_unmarked_processes(event: str, arguments: tuple[Any, ...]) -> None:
    """Fail a test that forks or starts Python without the marker ``process``, which ``make quick`` relies on."""
    if event not in _STARTS or not _running:
        return
    is_other_program = event not in ("os.fork", "os.forkpty", "tests.process") and not _PROGRAMS.search(repr(arguments[:2]))
    if not (is_other_program or any(_running[0].iter_markers("process")) or any(_running[0].iter_markers("browser"))):
        raise RuntimeError(f"{_running[0].nodeid} starts a process: mark it with @pytest.mark.process")


sys.addaudithook(_refuse_unmarked_processes)


def _spawned(*arguments: Any, _spawn: Any = multiprocessing.util.spawnv_passfds) -> int:
    """What ``multiprocessing`` starts processes by, which by itself no audit hook hears of."""
    sys.audit("tests.process")
    return int(_spawn(*arguments))


multiprocessing.util.spawnv_passfds = _spawned  # type: ignore[assignment]


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder for this test alone, numbered. Pytest's own fixture lists all earlier ones to find a free name, 2 ms in each test."""
    folder = tmp_path_factory.getbasetemp() / f"{next(_NUMBERS)}-{re.sub(r'[^A-Za-z0-9]+', '_', request.node.name)[:30]}"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder for this test alone, so that no test sees another's runs or vectors."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(folder))
    monkeypatch.delenv("SBERT_STUDIO_REAL_DATA", raising=False)  # one of these tests, of which the program would warn
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random two-layer BERT of 32 dimensions in a folder. Read only: copy it before changing it."""
    from tiny_studio import write_model

    return write_model(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public evaluation sets; the test is skipped where it is absent."""
    if not _REAL_DATA.is_dir():
        pytest.skip("the public evaluation sets are not beside this checkout (set SBERT_STUDIO_REAL_DATA)")
    return _REAL_DATA


@pytest.fixture
def verify_export(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """Run the ``verify.py`` of an unpacked export, which must find the reported score. Return what it prints."""

    def verify(folder: Path) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(folder / "verify.py"), run_name="__main__")
        printed = capsys.readouterr().out
        assert not ended.value.code, printed
        return printed

    return verify
