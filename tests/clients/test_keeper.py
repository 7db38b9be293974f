"""The keeper of the child: whatever becomes of the child or its folder, the next call has one that serves."""

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from app.clients import keeper as room
from app.clients.collection import Lost, VendorCollection
from app.clients.embedded import UNFILLED, open_folder
from app.clients.frame import INTERNAL
from app.clients.keeper import Damaged, Keeper
from app.clients.link import Link
from tests.fakes.chromas import DAMAGES
from tests.fakes.logged import captured
from tests.fakes.processes import wait_for

MANY = 120
"""More than wait to be written to the index's files."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed folder with vectors in `ibid-a`."""
    folder = tmp_path_factory.mktemp("filled") / "chroma"
    client, _ = open_folder(folder)
    client.use("ibid-a", write)
    client.close()
    (folder / UNFILLED).unlink()
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """A test's own copy."""
    return Path(shutil.copytree(filled, tmp_path / "chroma"))


@pytest.fixture
def keeper(folder: Path) -> Iterator[Keeper]:
    """Of that copy."""
    made = Keeper(folder)
    yield made
    made.close()


def write(store: VendorCollection) -> None:
    """So many vectors."""
    rows = np.random.default_rng(1).normal(size=(MANY, 8)).astype(np.float32)
    store.upsert(ids=[f"d:{n}" for n in range(MANY)], embeddings=rows, metadatas=[{"document": "d"}] * MANY)


def counted(keeper: Keeper) -> int:
    """How many there are."""
    return keeper.use("ibid-a", lambda store: store.count())


def aside(folder: Path) -> list[Path]:
    """Folders that were moved."""
    return list(folder.parent.glob("chroma.broken-*"))


def struck(keeper: Keeper, number: int) -> None:
    """The child dies of a signal."""
    link = keeper.start()
    assert link._process
    os.kill(link._process.pid, number)
    wait_for(lambda: link.ended)


def test_a_child_that_is_killed_is_started_anew_at_the_next_call(folder: Path, keeper: Keeper) -> None:
    """The folder is not to blame, nothing that was acknowledged is lost, and it is logged."""
    with captured() as lines:
        assert counted(keeper) == MANY
        struck(keeper, signal.SIGKILL)
        assert counted(keeper) == MANY
    assert (keeper.renewals, aside(folder)) == (0, [])
    assert [line["code"] for line in lines.of("chroma's process ended; starting another")] == [-9]


def test_a_child_that_keeps_crashing_damns_its_folder(folder: Path, keeper: Keeper) -> None:
    """Once may be chance; the second time within a minute it begins an empty one, and the old one is kept."""
    for _ in range(2):
        assert counted(keeper) == MANY
        struck(keeper, signal.SIGSEGV)
    assert (counted(keeper), keeper.renewals, len(aside(folder))) == (0, 1, 1)
    assert keeper._failures == []


@pytest.mark.parametrize(
    ("codes", "apart", "suspicions"),
    [
        pytest.param(
            [-signal.SIGSEGV, INTERNAL, -signal.SIGABRT], 60.0, 3, id="its own, soon after each other"
        ),
        pytest.param([-signal.SIGSEGV, INTERNAL, -signal.SIGABRT], 0.0, 1, id="its own, long apart"),
        pytest.param([-signal.SIGKILL, -signal.SIGTERM, 0, 1], 60.0, 0, id="somebody else's doing"),
    ],
)
def test_which_ends_are_suspicious(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codes: list[int], apart: float, suspicions: int
) -> None:
    """What the child stumbled over by itself, within a minute."""
    monkeypatch.setattr(room, "SUSPECT_SECONDS", apart)
    keeper = Keeper(tmp_path / "chroma")
    for code in codes:
        keeper._suspect(cast(Link, SimpleNamespace(code=code)))
    assert len(keeper._failures) == suspicions


def test_a_folder_that_cannot_be_used_is_moved_aside(folder: Path, keeper: Keeper) -> None:
    """The first call finds an empty one in its place, that can be written to."""
    DAMAGES["the vectors are cut"](folder)
    with captured() as lines:
        assert counted(keeper) == 0
    assert (keeper.renewals, len(aside(folder))) == (1, 1)
    assert (
        len(lines.of("chroma's folder cannot be used; it is moved aside and filled anew from postgres")) == 1
    )
    keeper.use("ibid-a", write)
    assert counted(keeper) == MANY


@pytest.mark.parametrize("damage", DAMAGES)
def test_who_only_looks_moves_nothing(folder: Path, damage: str) -> None:
    """What a start would move aside is told."""
    DAMAGES[damage](folder)
    before = sorted(folder.parent.glob("*"))
    looking = Keeper(folder, look=True)
    with pytest.raises(Damaged):
        looking.beat()
    looking.close()
    assert sorted(folder.parent.glob("*")) == before


def test_what_is_no_fault_of_the_folder_is_told(tmp_path: Path) -> None:
    """No rights, no room: `Lost` with the reason, and nothing is moved."""
    (tmp_path / "file").write_text("kept")
    keeper = Keeper(tmp_path / "file" / "chroma")
    with pytest.raises(Lost, match="Not a directory"):
        keeper.beat()
    keeper.close()
    assert (tmp_path / "file").read_text() == "kept"


def test_calls_at_once_start_one_child(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them; the others wait for it."""
    keeper, begun = Keeper(folder), list[Path]()

    def counting(place: Path, *, aside: bool, look: bool) -> Link:
        begun.append(place)
        return Link(place, aside=aside, look=look)

    monkeypatch.setattr(room, "Link", counting)
    found: list[int] = []
    together([lambda: found.append(counted(keeper))] * 4)
    keeper.close()
    assert (found, len(begun)) == ([MANY] * 4, 1)


def test_one_that_takes_long_to_start_is_not_waited_for_by_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call that starts it waits; others are soon told that it is not there: their thread is free."""
    monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.1)
    keeper, begun, gate = Keeper(tmp_path / "chroma"), threading.Event(), threading.Event()

    def slow(*, aside: bool) -> Link:
        begun.set()
        gate.wait(20)
        raise Lost("refused")

    monkeypatch.setattr(keeper, "_try", slow)
    first = threading.Thread(target=lambda: suppressed(keeper.beat))
    first.start()
    begun.wait(5)
    with pytest.raises(Lost, match="being started") as caught:
        keeper.beat()
    assert caught.value.down is None
    gate.set()
    first.join()
    with pytest.raises(Lost, match="refused"):
        keeper.beat()


def suppressed(work: Callable[[], None]) -> None:
    """A call that may be lost."""
    with suppress(Lost):
        work()


def together(works: list[Callable[[], None]]) -> None:
    """Each in a thread of its own."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_closed_it_stays_closed_and_starts_nothing(keeper: Keeper) -> None:
    """Also where it was closed while the child began, which is not waited for."""
    calls: list[str] = []

    def call() -> None:
        with pytest.raises(Lost):
            keeper.beat()
        calls.append("lost")

    thread = threading.Thread(target=call)
    thread.start()
    wait_for(lambda: keeper._link)
    keeper.close()
    thread.join()
    call()
    assert calls == ["lost", "lost"]
    assert keeper._link
    assert keeper._link.ended


def test_a_renewed_folder_holds_nothing_of_before(folder: Path, keeper: Keeper) -> None:
    """Not what was deleted, nor what was moved aside earlier; whoever keeps the record is told."""
    old = folder.with_name("chroma.broken-20260101T000000")
    shutil.copytree(folder, old)
    assert counted(keeper) == MANY
    before = {path.name for path in folder.iterdir() if path.is_dir()}

    keeper.renew()

    assert (counted(keeper), keeper.renewals, aside(folder)) == (0, 1, [])
    assert not before & {path.name for path in folder.iterdir()}


def test_a_folder_that_another_call_starts_is_not_renewed(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for at length; to be tried again says nothing against Chroma."""
    monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.01)
    with keeper._starting, pytest.raises(Lost) as raised:
        keeper.renew()
    assert raised.value.down is None
