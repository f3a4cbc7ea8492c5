"""The settings of the program and its data folder, in which folders are put in place whole, by several programs at once."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
from processes import UNPRIVILEGED

from sbert_studio.errors import StudioError, to_user_error
from sbert_studio.settings import Settings, configure_thread_waiting, require_root_path, unknown_variables, variables
from sbert_studio.workspace import Workspace, _replace_folder, atomic_file, atomic_folder, file_name


@pytest.mark.process
@pytest.mark.parametrize(("name", "words"), [("file/home", "cannot be created: Not a directory"), ("locked", "is not writable")])
def test_a_home_folder_that_cannot_be_written_is_told_with_what_to_set(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "locked").mkdir(mode=0o555)
    environ = os.environ | {"SBERT_STUDIO_HOME": str(tmp_path / name)}
    command = [*UNPRIVILEGED, sys.executable, "-m", "sbert_studio", "runs"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert f"the data folder {tmp_path / name} {words}" in done.stderr and "set SBERT_STUDIO_HOME" in done.stderr


def test_a_file_is_flushed_through_a_handle_that_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to flush a file that is open for reading only."""
    flushed: list[int] = []
    monkeypatch.setattr("os.fsync", lambda number: flushed.append(os.write(number, b"")))
    with atomic_file(tmp_path / "it") as part:
        part.write_bytes(b"whole")
    assert flushed == [0] and (tmp_path / "it").read_bytes() == b"whole"


@pytest.mark.parametrize(("winerror", "tries"), [(5, 3), (32, 3), (None, 1)])
def test_a_file_that_another_program_reads_on_windows_is_replaced_once_it_is_closed(
    winerror: int | None, tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, tried = Path.replace, []

    def refuse_twice(part: Path, target: Path) -> Path:
        tried.append(target)
        if len(tried) < 3:
            error = PermissionError(13, "Access is denied")
            error.winerror = winerror  # type: ignore[attr-defined, unused-ignore]
            raise error
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", refuse_twice)
    with pytest.raises(PermissionError) if tries == 1 else nullcontext(), atomic_file(tmp_path / "it") as part:
        part.write_bytes(b"new")
    assert len(tried) == tries and [one.name for one in tmp_path.iterdir()] == (["it"] if tries == 3 else [])


@pytest.mark.parametrize(
    "failure",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EFBIG, "File too large"),
        shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]),
    ],
)
def test_a_full_disk_is_told_with_what_was_to_be_written(failure: OSError, tmp_path: Path) -> None:
    for path in (tmp_path / "pairs.jsonl", tmp_path / "model"):
        with pytest.raises(OSError) as caught, atomic_folder(path) as part, atomic_file(part / "file"):
            raise failure
        error = to_user_error(caught.value, place=True)
        assert error is not None and error.message == f"the disk is full ({path})"
        assert str(to_user_error(caught.value)).startswith("the disk is full. "), "visitors of a page are not told paths"
    with pytest.raises(OSError, match="elsewhere"), atomic_file(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "elsewhere"))
    with pytest.raises(ValueError, match="other"), atomic_file(tmp_path / "file"):
        raise ValueError("other")
    assert not list(tmp_path.iterdir())


def test_a_home_folder_that_is_read_only_is_told_with_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = Workspace(tmp_path)

    def refuse(*_args: object, **_values: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StudioError, match=r"uploads cannot be created: Read-only file system\. hint: set SBERT_STUDIO_HOME") as caught:
        _ = space.uploads
    assert str(tmp_path) in caught.value.message


def test_a_folder_that_several_write_at_once_is_one_of_theirs_and_nothing_is_left(tmp_path: Path) -> None:
    failed: list[BaseException] = []
    together = threading.Barrier(4)

    def write(name: str) -> None:
        try:
            for number in range(60):
                together.wait(30)
                with atomic_folder(tmp_path / f"table-{number // 3}") as part:
                    for file in ("one", "two"):
                        (part / file).write_text(name)
        except BaseException as error:
            failed.append(error)
            together.abort()

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    folders = sorted(tmp_path.iterdir())
    assert [folder.name for folder in folders] == sorted(f"table-{number}" for number in range(20))
    assert all((folder / "one").read_text() == (folder / "two").read_text() for folder in folders)


def test_a_folder_takes_the_place_of_an_old_one(tmp_path: Path) -> None:
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "old").touch()
    with atomic_folder(tmp_path / "it") as part:
        (part / "new").touch()
    assert [path.name for path in (tmp_path / "it").iterdir()] == ["new"] and len(list(tmp_path.iterdir())) == 1


def test_an_old_folder_stays_where_the_new_one_cannot_take_its_place(tmp_path: Path) -> None:
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "old").touch()
    with pytest.raises(FileNotFoundError):
        _replace_folder(tmp_path / "missing", tmp_path / "it")
    assert [path.name for path in (tmp_path / "it").iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("a/b.csv", "b.csv"), ("x" * 200 + ".csv", "x" * 116 + ".csv"), ("x" * 200, "x" * 120), ("..", "file"),
        ("x" * 119 + ". y", "x" * 117 + ". y"),
    ],
)  # fmt: skip
def test_a_file_name_that_is_too_long_keeps_its_ending(given: str, made: str) -> None:
    assert file_name(given) == made and file_name(made) == made


@pytest.mark.parametrize(
    ("command", "given", "found"),
    [
        ("app", {}, {"OMP_WAIT_POLICY": "PASSIVE"}),
        ("", {}, {"OMP_WAIT_POLICY": "PASSIVE"}),
        ("train", {}, {"GOMP_SPINCOUNT": "3000"}),
        ("app", {"OMP_WAIT_POLICY": "ACTIVE"}, {"OMP_WAIT_POLICY": "ACTIVE"}),  # what the owner of the machine chose stays
    ],
)
def test_threads_sleep_but_for_a_training_of_its_own(
    command: str, given: dict[str, str], found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(given))
    configure_thread_waiting(command)
    assert os.environ == found


def test_the_polling_interval_is_read_and_an_extreme_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Browsers fire a timer of more than 2^31 ms at once, and the page waits up to thirty times as long."""
    for given, seconds in (("", 1.0), ("0.25", 0.25), ("3600", 3600.0)):
        monkeypatch.setenv("SBERT_STUDIO_POLL_SECONDS", given)
        assert Settings.from_env().poll_seconds == seconds
    for given in ("0", "-1", "inf", "nan", "often", "86400"):
        monkeypatch.setenv("SBERT_STUDIO_POLL_SECONDS", given)
        with pytest.raises(StudioError, match="POLL_SECONDS"):
            Settings.from_env()


def test_a_refused_value_names_its_variable_and_says_what_to_write() -> None:
    refused = {
        "PORT": ("99999", "-1", "tcp://10.0.0.1:7860"),
        "MEMORY_MB": ("1GB", "1.5"),
        "ALLOWED_HOSTS": ("https://studio.example", "studio.example/page", "a.example, studio.example:8443"),
        "LLM_URL": ("localhost:11434", "localhost", "ftp://h/v1", "http://", "https://[x"),
        "TRUSTED_PROXIES": ("proxy",),
    }
    for name, values in refused.items():
        for value in values:
            with pytest.raises(StudioError, match=f"^SBERT_STUDIO_{name} ") as caught:
                Settings.from_env({f"SBERT_STUDIO_{name}": value})
            assert caught.value.hint
    with pytest.raises(StudioError) as caught:
        Settings.from_env({"SBERT_STUDIO_MEMORY_MB": "1GB"})
    assert "write a whole number, such as 4096" in caught.value.hint
    with pytest.raises(StudioError) as caught:
        Settings.from_env({"SBERT_STUDIO_LLM_URL": "user:sk-1@h/v1"})
    assert "sk-1" not in str(caught.value)


def test_hosts_addresses_and_root_paths_that_can_be_used_are_accepted() -> None:
    for url in ("", "local", " https://h/v1 ", "http://[::1]:11434/v1"):
        assert Settings.from_env({"SBERT_STUDIO_LLM_URL": url}).llm_url == url
    hosts = ("*", "*.example.org", "studio.example.org", "::1", "10.0.0.7")
    assert Settings.from_env({"SBERT_STUDIO_ALLOWED_HOSTS": " ".join(hosts)}).allowed_hosts == hosts
    for root in ("", "/studio", "http://h/studio", "https://h"):
        require_root_path({"GRADIO_ROOT_PATH": root})
    for root in ("studio", "studio.example.org/studio", "ftp://h"):
        with pytest.raises(StudioError, match="GRADIO_ROOT_PATH"):
            require_root_path({"GRADIO_ROOT_PATH": root})


def test_unknown_variables_are_listed_with_the_most_similar_known_name() -> None:
    known = {name: "1" for name, _, _ in variables()}
    assert unknown_variables({**known, "HOME": "/", "SBERT": "x"}) == {}
    misspelled = {"SBERT_STUDIO_LIMIT_MINUTE": "SBERT_STUDIO_LIMIT_MINUTES", "SBERT_STUDIO_API_KEY": "SBERT_STUDIO_API_KEYS"}
    found = unknown_variables({**known, **dict.fromkeys(misspelled, "1"), "SBERT_STUDIO_XYZZY": "1"})
    assert found == {**misspelled, "SBERT_STUDIO_XYZZY": ""}
