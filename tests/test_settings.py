"""What is decided before PyTorch is read in."""

from __future__ import annotations

import os

import pytest

from sbert_studio.settings import choose_waiting


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("app", {"OMP_WAIT_POLICY": "PASSIVE"}),
        ("", {"OMP_WAIT_POLICY": "PASSIVE"}),
        ("train", {"GOMP_SPINCOUNT": "3000"}),
        ("bench", {}),
    ],
)
def test_threads_sleep_but_for_a_training_of_its_own_and_beside_a_peer(
    command: str, found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {})
    choose_waiting(command)
    assert os.environ == found


def test_what_the_owner_of_the_machine_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"OMP_WAIT_POLICY": "ACTIVE"})
    choose_waiting("app")
    assert os.environ == {"OMP_WAIT_POLICY": "ACTIVE"}
