"""`kill -9` of everything, at random moments of reading documents in: no acknowledged word is lost, nothing
is half visible. The suite runs a few rounds; as many as are wanted, in one data folder:
`ROUNDS=20 python -m pytest -n 0 tests/integration/test_crash.py`.
"""

import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import httpx
import pytest

from tests.fakes.ledger import ASKED, Ledger, Shelf, Version, listing, word
from tests.fakes.process import Running, Service, family, kill, service

ROUNDS = int(os.environ.get("ROUNDS", "2"))
LONGEST = 2.0
"""Seconds from the first byte sent to the latest kill: by then some of a round's uploads are ready."""
SETTLE_SECONDS = 420.0
"""A document over which eight services died rests for up to five minutes (`db/jobs.py`)."""


class Round:
    """What its clients do at once until everything dies: each keeps to a name of its own."""

    def __init__(self, service: Running, ledger: Ledger, number: int) -> None:
        self.service = service
        self.ledger = ledger
        self.number = number
        self.killed = threading.Event()

    def run(self, chance: random.Random) -> None:
        """Begin everything, kill, and wait until each client has noticed."""
        victims = family(self.service.process.pid)
        with ThreadPoolExecutor(8) as clients:
            under_way = [clients.submit(act) for act in self.acts(chance)]
            time.sleep(chance.uniform(0, LONGEST))
            self.killed.set()
            kill(victims | family(self.service.process.pid))
            self.service.process.wait()
            wait(under_way)
        for act in under_way:
            told(act)

    def acts(self, chance: random.Random) -> list[Callable[[], None]]:
        """New files, one replaced, one removed, one sent twice, and a reader of the one that is replaced."""
        shelves = self.ledger.shelves
        fresh = [Shelf(f"r{self.number}-{n}.pdf") for n in range(3)]
        steady = shelves.setdefault("steady.pdf", Shelf("steady.pdf"))
        there = [shelf for shelf in shelves.values() if shelf.versions and not shelf.removed]
        goes = [shelf for shelf in there if shelf is not steady]
        shelves |= {shelf.name: shelf for shelf in fresh}
        # Made before there are threads: PDFium, which counts their chunks, stands one alone.
        sent = [Version(word(10 * self.number + n)) for n in range(4)]
        wait = chance.choice(("0", "30"))
        acts: list[Callable[[], None]] = [
            lambda: self.send(steady, sent[0], replace="true", wait=wait),
            lambda: self.send(fresh[0], sent[1], wait="0"),
            lambda: self.send(fresh[1], sent[2]),
            lambda: self.twice(fresh[2], sent[3]),
            lambda: self.read(steady),
        ]
        if goes:
            gone = chance.choice(goes)
            acts.append(lambda: self.remove(gone))
        return acts

    def send(self, shelf: Shelf, version: Version, **form: str) -> None:
        """Upload a version; it is on the ledger before the first byte leaves."""
        shelf.versions.append(version)
        answer = self.service.upload(shelf.name, version.content, **form)
        assert answer.status_code in {201, 202}, answer.text
        version.id, version.ready = answer.json()["id"], answer.status_code == 201

    def twice(self, shelf: Shelf, version: Version) -> None:
        """The same bytes once more, as an impatient client would: the same document."""
        self.send(shelf, version, wait="0")
        answer = self.service.upload(shelf.name, shelf.versions[-1].content)
        assert (answer.status_code, answer.json()["id"]) == (200, shelf.versions[-1].id)

    def remove(self, shelf: Shelf) -> None:
        shelf.removed = None
        answer = self.service.client.delete(f"/api/documents/{shelf.versions[-1].id}")
        assert answer.status_code == 204
        shelf.removed = True

    def read(self, shelf: Shelf) -> None:
        """While its next version is read in: always one version, whole questions never without."""
        if not any(version.ready for version in shelf.versions):
            return
        while not self.killed.is_set():
            # The file's name is among the words that are searched.
            said = self.service.chat("What does the steady ferry carry?", history=[], top_k=ASKED)
            seen = {item["id"].partition(":")[0] for item in said["citations"] if shelf.name in item["label"]}
            assert len(seen) == 1, f"both or none: {seen}"


def told(act: Future[None]) -> None:
    """How a client fared: it was cut off, or all was well."""
    try:
        act.result()
    except httpx.TransportError:
        return


def settle(running: Service, ledger: Ledger) -> None:
    """Everything is read to its end, and everything sent once more is there already."""
    patience = time.monotonic() + SETTLE_SECONDS
    while any(item["state"] == "processing" for item in listing(running)):
        assert time.monotonic() < patience, "never ready"
        time.sleep(0.2)
    ledger.check(running, asked=len(ledger.shelves))
    for shelf in ledger.shelves.values():
        for version in [] if shelf.removed else shelf.versions[-1:]:
            answer = running.upload(shelf.name, version.content)
            assert (answer.status_code, answer.json()["id"]) == (200, version.id)


@pytest.mark.timeout(1_800)
def test_kill_9_of_everything_loses_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever moment it hits, after the next start every acknowledged upload, replacement and deletion
    holds, each document is found whole or not at all, and the same bytes again are the same document."""
    folder: Path = tmp_path_factory.mktemp("crash") / "data"
    ledger = Ledger()
    for number in range(ROUNDS):
        chance = random.Random(number)  # noqa: S311 - a dice, not a secret
        with service(folder) as running:
            ledger.check(running)
            Round(running, ledger, number).run(chance)
    with service(folder) as running:
        settle(running, ledger)
        assert list((folder / "tmp").iterdir()) == []
