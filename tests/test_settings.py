"""What is decided before PyTorch is read in."""

from __future__ import annotations

import os

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.settings import Settings, configure_thread_waiting


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("app", {"OMP_WAIT_POLICY": "PASSIVE"}),
        ("", {"OMP_WAIT_POLICY": "PASSIVE"}),
        ("train", {"GOMP_SPINCOUNT": "3000"}),
    ],
)
def test_threads_sleep_but_for_a_training_of_its_own(command: str, found: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {})
    configure_thread_waiting(command)
    assert os.environ == found


def test_what_the_owner_of_the_machine_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"OMP_WAIT_POLICY": "ACTIVE"})
    configure_thread_waiting("app")
    assert os.environ == {"OMP_WAIT_POLICY": "ACTIVE"}


@pytest.mark.parametrize(("given", "seconds"), [("", 1.0), ("0.25", 0.25), ("3600", 3600.0)])
def test_an_open_page_asks_as_often_as_it_is_told(given: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBERT_STUDIO_POLL_SECONDS", given)
    assert Settings.from_env().poll_seconds == seconds


@pytest.mark.parametrize("given", ["0", "-1", "inf", "nan", "often", "86400"])
def test_a_page_that_would_ask_without_pause_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Browsers fire a timer of more than 2^31 ms at once, and the page waits up to thirty times as long."""
    monkeypatch.setenv("SBERT_STUDIO_POLL_SECONDS", given)
    with pytest.raises(StudioError, match="POLL_SECONDS"):
        Settings.from_env()
