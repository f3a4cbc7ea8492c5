"""Work in the background, on behalf of whoever asked for it."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from waiting import wait_until

from sbert_studio.identity import ANONYMOUS, Identity, current_identity, signed_in, use_identity
from sbert_studio.services.jobs import BeginPhase, JobQueue
from sbert_studio.settings import Limits


@dataclass
class Nothing:
    """What a job made."""

    model: str = ""

    def describe(self) -> str:
        return "done"


def test_a_job_acts_for_who_asked_for_it_however_long_it_has_waited() -> None:
    go_on, found = threading.Event(), dict[str, Identity | None]()
    jobs = JobQueue(Limits())

    def ask(name: str, identity: Identity | None) -> None:
        def work(begin: BeginPhase) -> Nothing:
            go_on.wait(10)
            found[name] = current_identity()
            return Nothing()

        with use_identity(identity):
            jobs.submit(name, name, work)

    askers = {"visitor": signed_in("hf_one"), "another": signed_in("hf_another"), "nobody": ANONYMOUS, "owner": None}
    try:
        for name, identity in askers.items():
            ask(name, identity)
        with use_identity(signed_in("hf_who_looks_on")):
            go_on.set()
            wait_until(lambda: not jobs.list_active())
    finally:
        jobs.close()
    assert found == askers
    assert [view.message for name in askers for view in jobs.list_jobs(name)] == ["done"] * 4
