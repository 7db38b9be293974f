"""Chroma's facade over the real things, a child process and the vendor's server: what goes in comes out, and
only our errors leave."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import pytest
import pytest_asyncio

from app.breaker import Breaker
from app.clients import chroma as room
from app.clients.chroma import START_SECONDS, Chroma, InThreads, open_chroma
from app.clients.chroma_client import ChromaFault, Client, Vendor, VendorClient, VendorCollection, remote
from app.clients.chroma_process import PROGRAM, ChromaProcess
from app.clients.threads import Threads
from app.errors import RetrievalError, StartError, Unavailable
from app.settings import Settings
from tests.fakes.processes import children

Result = TypeVar("Result")
pytestmark = pytest.mark.asyncio(loop_scope="module")

ROWS = np.eye(4, dtype=np.float32)
IDS = ["d:1", "d:2", "d:3", "d:4"]
MINE = {"tenant": "t", "document": "d"}


def at(folder: Path) -> Settings:
    """Settings of an embedded Chroma."""
    return Settings(ibid={"data_dir": folder})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data folder for the module."""
    return tmp_path_factory.mktemp("chroma")


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["child", "server"])
async def vendor(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Vendor]:
    """Both kinds of Chroma, kept open for the module: what holds for one holds for the other."""
    made: Vendor = (
        ChromaProcess(folder / "chroma")
        if request.param == "child"
        else InThreads(Client(partial(remote, request.getfixturevalue("chroma_run").url)), Threads("chroma"))
    )
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def store(vendor: Vendor) -> Chroma:
    """An open Chroma with four vectors in collection `ibid-a`."""
    opened = Chroma(vendor)
    await opened.upsert("ibid-a", IDS, ROWS, [MINE] * 4)
    return opened


async def test_vectors_come_out_as_they_went_in(store: Chroma) -> None:
    """The same float32 values."""
    found = await store.nearest("ibid-a", ROWS[1], None, 1)
    assert found.ids == ("d:2",)
    assert found.matrix.dtype == np.float32
    assert found.matrix.tolist() == [[0, 1, 0, 0]]


async def test_nothing_found_is_an_empty_matrix(store: Chroma) -> None:
    """No ids, no rows, no error."""
    found = await store.nearest("ibid-a", ROWS[1], {"document": "none"}, 1)
    assert (found.ids, found.matrix.size) == ((), 0)


async def test_the_nearest_are_found_under_a_filter(store: Chroma) -> None:
    """By cosine, and only what has the metadata."""
    await store.upsert("ibid-a", ["e:1"], ROWS[:1], [{"tenant": "t", "document": "e"}])
    found = await store.nearest("ibid-a", np.array([0.9, 0.1, 0, 0], np.float32), {"document": "d"}, 2)
    assert found.ids == ("d:1", "d:2")
    await store.delete("ibid-a", {"document": "e"})


async def test_writing_again_replaces(store: Chroma) -> None:
    """Upserts are idempotent, across batches too."""
    await store.upsert("ibid-a", IDS, ROWS, [MINE] * 4)
    assert await store.count("ibid-a") == 4


async def test_batches_write_everything(store: Chroma, monkeypatch: pytest.MonkeyPatch) -> None:
    """More vectors than one write takes."""
    monkeypatch.setattr(room, "BATCH", 3)
    await store.upsert("ibid-b", IDS, ROWS, [MINE] * 4)
    assert sorted(await store.ids("ibid-b", {"document": "d"})) == IDS


async def test_many_vectors_leave_the_loop_its_turns(store: Chroma) -> None:
    """Seven hundred vectors in and out: the loop goes on meanwhile."""
    ids, turned = [f"f:{n}" for n in range(700)], 0
    rows = np.random.default_rng(1).normal(size=(700, 384)).astype(np.float32)

    async def turns() -> None:
        nonlocal turned
        while True:
            await asyncio.sleep(0)
            turned += 1

    watch = asyncio.create_task(turns())
    await store.upsert("ibid-f", ids, rows, [MINE] * 700)
    await store.delete("ibid-f", {"document": "d"})
    watch.cancel()
    assert turned > 100
    assert await store.count("ibid-f") == 0


async def test_writes_come_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of several writers: a read never waits for more than one batch."""
    vendor, threads = Slow(), Threads("slow")
    store = Chroma(InThreads(Client(lambda: cast(VendorClient, vendor)), threads))
    monkeypatch.setattr(room, "BATCH", 2)
    await asyncio.gather(*(store.upsert("ibid-a", IDS, ROWS, [MINE] * 4) for _ in range(3)))
    await threads.aclose()
    assert vendor.sizes == [2] * 6
    assert all(later[0] >= earlier[1] for earlier, later in pairwise(vendor.times))


class Slow:
    """A vendor that notes when each write began and ended, and how large it was."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []
        self.sizes: list[int] = []

    def get_or_create_collection(self, name: str, **arguments: object) -> VendorCollection:
        """It is its own."""
        return cast(VendorCollection, self)

    def upsert(self, ids: list[str], **arguments: object) -> None:
        """Takes five milliseconds."""
        began = time.monotonic()
        time.sleep(0.005)
        self.sizes.append(len(ids))
        self.times.append((began, time.monotonic()))


async def test_a_collection_is_forgotten_and_forgetting_again_is_no_error(store: Chroma) -> None:
    """It is no longer named; written again, it is made anew."""
    await store.upsert("ibid-g", IDS, ROWS, [MINE] * 4)
    assert "ibid-g" in await store.names()
    for _ in range(2):
        await store.forget("ibid-g")
    assert "ibid-g" not in await store.names()
    await store.upsert("ibid-g", IDS[:1], ROWS[:1], [MINE])
    assert await store.count("ibid-g") == 1


async def test_what_is_dropped_is_gone_and_dropping_again_is_no_error(store: Chroma) -> None:
    """By id and by metadata."""
    for _ in range(2):
        await store.drop("ibid-a", ["d:1"])
        await store.delete("ibid-a", {"document": "d"})
    assert await store.ids("ibid-a", {"document": "d"}) == []


async def test_a_collection_dropped_behind_our_back_is_made_anew(store: Chroma) -> None:
    """As when a server lost its data: the next write works."""
    await store.upsert("ibid-c", IDS, ROWS, [MINE] * 4)
    behind = store._vendor
    if isinstance(behind, InThreads):
        await asyncio.to_thread(behind.client.open().delete_collection, "ibid-c")
    else:
        await behind.ask("forget", "ibid-c")
    await store.upsert("ibid-c", IDS[:1], ROWS[:1], [MINE])
    assert await store.count("ibid-c") == 1


async def test_vectors_of_another_size_are_refused_as_ours(store: Chroma) -> None:
    """The vendor's errors do not leave."""
    with pytest.raises(Unavailable):
        await store.upsert("ibid-a", ["x:1"], np.ones((1, 3), np.float32), [MINE])
    with pytest.raises(RetrievalError) as caught:
        await store.nearest("ibid-a", np.ones(3, np.float32), {"tenant": "t"}, 1)
    assert caught.value.reason == "unavailable"


async def test_a_folder_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    """Told with the reason, not served half."""
    (tmp_path / "data").write_text("not a folder")
    async with open_chroma(at(tmp_path / "data")) as chroma:
        with pytest.raises(StartError, match="Chroma's folder"):
            await chroma.ready()


async def test_a_start_does_not_wait_for_a_folder_that_opens_slowly(tmp_path: Path) -> None:
    """The service goes on without it; the same child answers once it has opened."""
    slow = "import time, app.clients.chroma_child as child; time.sleep(2); child.main()"
    program = replace(PROGRAM, command=(sys.executable, "-c", slow))
    vendor = ChromaProcess(tmp_path / "chroma", program=program)
    chroma = Chroma(vendor, embedded=True)
    try:
        chroma.begin()
        assert not await chroma.ready(seconds=0.1)
        assert await chroma.ready()
        await chroma.beat()
    finally:
        await chroma.aclose()
        await vendor.close()
    assert PROGRAM.start_seconds > START_SECONDS  # it is not killed when nobody waits any more


async def test_what_is_not_chromas_in_its_place_makes_way(tmp_path: Path) -> None:
    """It is moved aside; who can fill the new one is told, once."""
    (tmp_path / "chroma").write_text("not a folder")
    told: list[str] = []
    async with open_chroma(at(tmp_path)) as chroma:
        chroma.renewed = lambda: told.append("renewed")
        await chroma.ready()
        for _ in range(2):
            assert await chroma.count("ibid-a") == 0
    assert told == ["renewed"]
    assert aside(tmp_path) == ["not a folder"]


async def test_an_interrupted_refill_is_begun_again_at_the_next_start(tmp_path: Path) -> None:
    """Until whoever fills it says that it is through; what was lost meanwhile is still to be filled."""
    told: list[int] = []
    for start in range(4):
        async with open_chroma(at(tmp_path)) as chroma:
            chroma.renewed = partial(told.append, start)
            await chroma.ready()
            if start == 1:
                await chroma.filled()  # nobody was told yet: it is of something before
                await chroma.beat()
            if start == 2:
                await chroma.beat()
                await chroma.filled()
            await chroma.beat()
    assert told == [0, 1, 2]


def aside(folder: Path) -> list[str]:
    """What was moved."""
    return [path.read_text() for path in folder.glob("chroma.broken-*")]


async def test_leaving_before_it_is_open_waits_for_nothing(tmp_path: Path) -> None:
    """As when Postgres does not start; and no process stays."""
    others = children()
    async with open_chroma(at(tmp_path)):
        await asyncio.sleep(0.05)
    assert children() <= others


async def test_a_server_that_is_not_there_does_not_stop_the_start() -> None:
    """It may come later; until then reads and writes say so."""
    settings = Settings(chroma={"url": "http://127.0.0.1:9"})
    async with open_chroma(settings) as absent:
        with pytest.raises(RetrievalError) as caught:
            await absent.beat()
        with pytest.raises(Unavailable):
            await absent.drop("ibid-a", ["x"])
    assert caught.value.reason == "unavailable"


class Hung:
    """A vendor whose calls wait for a gate, as a server does that accepts and says nothing."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.calls = 0
        self.renewals = 0

    def beat(self) -> None:
        """Waits."""
        self.calls += 1
        self.gate.wait(30)

    def use(self, name: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Waits."""
        self.gate.wait(30)
        raise ChromaFault("no collection here")

    def names(self) -> list[str]:
        """Refuses."""
        raise ChromaFault("not for you", down=False)

    def forget(self, name: str) -> None:
        """Its process has just ended."""
        raise ChromaFault("ended", down=None)

    def close(self) -> None:
        """Nothing to give back."""


@pytest.fixture
async def hung() -> AsyncIterator[Hung]:
    """It is let go in the end."""
    vendor = Hung()
    yield vendor
    vendor.gate.set()


@asynccontextmanager
async def over(
    vendor: Hung, *, threads: int = 1, waiting: int = 0, breaker: Breaker | None = None
) -> AsyncIterator[Chroma]:
    """A Chroma that hangs, with so many threads."""
    pool = Threads("hung", threads=threads, waiting=waiting)
    yield Chroma(InThreads(cast(Client, vendor), pool), breaker=breaker)
    vendor.gate.set()
    await pool.aclose()


async def reason(chroma: Chroma) -> str:
    """Why it does not answer."""
    with pytest.raises(RetrievalError) as caught:
        await chroma.beat()
    return caught.value.reason


async def test_a_read_that_hangs_ends_in_time(hung: Hung, monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeout`; and while the call keeps the thread, others are told at once."""
    monkeypatch.setattr(room, "READ_SECONDS", 0.05)
    async with over(hung) as chroma:
        assert [await reason(chroma), await reason(chroma)] == ["timeout", "overloaded"]


async def test_a_write_that_hangs_is_unavailable(hung: Hung, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that is not durable is an error."""
    monkeypatch.setattr(room, "WRITE_SECONDS", 0.05)
    async with over(hung) as chroma:
        with pytest.raises(Unavailable):
            await chroma.drop("ibid-a", ["x"])


async def test_cancellation_is_not_swallowed(hung: Hung) -> None:
    """Whoever leaves, leaves at once."""
    async with over(hung) as chroma:
        task = asyncio.create_task(chroma.beat())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_hangs_is_left_alone_for_a_while(hung: Hung, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three wait in vain, the fourth is told at once, writes too; later one tries, and then all may."""
    monkeypatch.setattr(room, "READ_SECONDS", 0.05)
    now = [0.0]
    async with over(hung, threads=8, breaker=Breaker(lambda: now[0])) as chroma:
        assert [await reason(chroma) for _ in range(5)] == ["timeout"] * 3 + ["unavailable"] * 2
        with pytest.raises(Unavailable):
            await chroma.drop("ibid-a", ["x"])
        assert hung.calls == 3
        now[0] = 6.0
        hung.gate.set()
        for _ in range(2):
            await chroma.beat()
        assert hung.calls == 5


async def test_refusals_and_a_child_that_ended_do_not_count(hung: Hung) -> None:
    """It answered, or another one will: no reason to leave it alone."""
    hung.gate.set()
    async with over(hung, waiting=8) as chroma:
        for _ in range(5):
            with pytest.raises(RetrievalError):
                await chroma.names()
            with pytest.raises(Unavailable):
                await chroma.forget("ibid-a")
        await chroma.beat()


async def test_nothing_of_the_vendor_is_imported_before_it_is_opened() -> None:
    """`import app.clients.chroma` costs no chromadb."""
    code = "import sys, app.retrieval.documents; sys.exit('chromadb' in sys.modules)"
    assert (
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], check=False)
    ).returncode == 0


async def test_the_embedded_one_is_never_imported_here(tmp_path: Path) -> None:
    """Its lock and its memory are the child's."""
    code = (
        "import asyncio, sys; from app.clients.chroma import open_chroma; from app.settings import Settings\n"
        "async def main():\n"
        "    async with open_chroma(Settings(ibid={'data_dir': sys.argv[1]})) as chroma:\n"
        "        await chroma.ready(); await chroma.count('ibid-a')\n"
        "asyncio.run(main()); sys.exit('chromadb' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert (await asyncio.to_thread(subprocess.run, command, check=False, cwd="/")).returncode == 0


async def test_only_a_folder_of_ours_is_made_anew(vendor: Vendor) -> None:
    """Empty, and whoever keeps the record is told; what a server holds is left alone."""
    told = list[bool]()
    chroma = Chroma(vendor, embedded=isinstance(vendor, ChromaProcess))
    chroma.renewed = lambda: told.append(True)
    await chroma.upsert("ibid-renewed", IDS, ROWS, [MINE] * 4)
    await chroma.renew()
    left = await chroma.count("ibid-renewed")
    assert (left, told) == ((0, [True]) if isinstance(vendor, ChromaProcess) else (len(IDS), []))
