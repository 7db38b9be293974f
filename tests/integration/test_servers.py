"""Chroma beside the whole service, a real server by `CHROMA_URL` and the embedded one in its child process:
the main job, and what absence, silence, damage and return come to."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.chromas import RunningChroma, chroma_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, is_alive, service, wait_for

LIGHTHOUSE = text_pdf(
    ["# Lighthouse\n\nThe lighthouse of Skarra was lit in 1871. Its keeper had nine goats."]
)
WINDMILL = text_pdf(["# Windmill\n\nThe windmill of Torp grinds rye on Thursdays and barley on Fridays."])
QUESTION = "When was the lighthouse of Skarra lit?"


def answers(running: Service, session: str) -> dict[str, Any]:
    """The reply to the question, which must be found, cited and not degraded."""
    said = running.chat(QUESTION, session_id=session)
    assert (said["rag"]["reason"], said["degraded"]) == ("ok", [])
    assert said["cited"] == ["lighthouse.pdf#1"]
    assert "1871" in said["answer"]
    return said


def keeps(running: Service, session: str) -> str:
    """The id of the lighthouse, uploaded into a session that nobody has asked yet."""
    response = running.upload("lighthouse.pdf", LIGHTHOUSE, session_id=session)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


@dataclass
class Pair:
    """A service and the Chroma server it uses."""

    service: Service
    chroma: RunningChroma


def vectors(running: Service) -> int:
    """As `/readyz` counts them; -1: Chroma does not answer."""
    checks = running.client.get("/readyz").json()["checks"]
    [check] = [check for check in checks if check["name"] == "chroma"]
    return int(check["facts"]["vectors"]) if check["ok"] else -1


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """One for the module; each test leaves the server running."""
    folder = tmp_path_factory.mktemp("servers")
    (folder / "chroma").mkdir()
    with (
        chroma_server(folder / "chroma") as chroma,
        service(folder / "data", CHROMA_URL=chroma.url) as running,
    ):
        yield Pair(running, chroma)


@contextmanager
def stopped(chroma: RunningChroma) -> Iterator[None]:
    """It accepts and never answers."""
    chroma.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        chroma.signal(signal.SIGCONT)


def test_a_server_that_is_killed_costs_no_answer_and_is_used_again_when_it_is_back(pair: Pair) -> None:
    """Vectors come from Postgres for a session that was asked before and for one that was not."""
    for session in ("b", "cold"):
        keeps(pair.service, session)
    before = answers(pair.service, "b")
    pair.chroma.kill()
    assert vectors(pair.service) == -1
    assert pair.service.client.get("/readyz").status_code == 200  # answers do without it
    assert answers(pair.service, "b")["citations"] == before["citations"]
    answers(pair.service, "cold")
    pair.chroma.start()
    end = time.monotonic() + 30
    while pair.service.upload("lighthouse.pdf", LIGHTHOUSE, session_id="back").status_code == 503:
        assert time.monotonic() < end
    answers(pair.service, "back")


def test_a_server_that_hangs_costs_the_first_their_patience_and_not_everyone(pair: Pair) -> None:
    """Every answer is whole and in time; once it has failed a few times nobody waits for it any more."""
    sessions = [f"hung-{n}" for n in range(5)]
    for session in sessions:
        keeps(pair.service, session)
    # In everybody's reach: two parts wait at once, not one after the other.
    assert pair.service.upload("windmill.pdf", WINDMILL, scope="global").status_code == 201
    with stopped(pair.chroma):
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda session: answers(pair.service, session), sessions[:3]))
        for session in sessions[3:]:
            answers(pair.service, session)
    answers(pair.service, sessions[0])


def test_the_embedded_ones_process_is_started_anew_when_it_is_killed(house: Service) -> None:
    """Uploads, answers and deletes go on; the service itself lives on."""
    keeps(house, "before")
    killed = house.child("chroma_child")
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: not is_alive(killed))
    answers(house, "before")
    document = keeps(house, "after")
    answers(house, "after")
    assert house.child("chroma_child") != killed
    assert house.client.delete(f"/api/documents/{document}").status_code == 204
    assert house.chat(QUESTION, session_id="after")["rag"]["reason"] == "empty"
