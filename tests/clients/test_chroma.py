"""Chroma's facade over the real thing: what goes in comes out, and only our errors leave."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from app.clients import chroma as room
from app.clients.chroma import Chroma, open_chroma
from app.clients.collection import Client, VendorClient, VendorCollection
from app.clients.threads import Threads
from app.config import Settings
from app.domain.errors import RetrievalError, StartError, Unavailable

ROWS = np.eye(4, dtype=np.float32)
IDS = ["d:1", "d:2", "d:3", "d:4"]
MINE = {"tenant": "t", "document": "d"}


def at(folder: Path) -> Settings:
    """Settings of an embedded Chroma."""
    return Settings(ibid={"data_dir": folder})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the module: opening it anew costs a third of a second."""
    return tmp_path_factory.mktemp("chroma")


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[Chroma]:
    """An open Chroma with four vectors in collection `ibid-a`."""
    async with open_chroma(at(folder)) as opened:
        await opened.upsert("ibid-a", IDS, ROWS, MINE)
        yield opened


async def test_vectors_come_out_as_they_went_in(store: Chroma) -> None:
    """The same float32 values; what is not there is left out."""
    found = await store.get("ibid-a", ["d:2", "d:9"])
    assert found.ids == ("d:2",)
    assert found.matrix.dtype == np.float32
    assert found.matrix.tolist() == [[0, 1, 0, 0]]


async def test_nothing_found_is_an_empty_matrix(store: Chroma) -> None:
    """No ids, no rows, no error."""
    found = await store.get("ibid-a", ["d:9"])
    assert (found.ids, found.matrix.size) == ((), 0)


async def test_the_nearest_are_found_under_a_filter(store: Chroma) -> None:
    """By cosine, and only what has the metadata."""
    await store.upsert("ibid-a", ["e:1"], ROWS[:1], {"tenant": "t", "document": "e"})
    found = await store.nearest("ibid-a", np.array([0.9, 0.1, 0, 0], np.float32), {"document": "d"}, 2)
    assert found.ids == ("d:1", "d:2")
    await store.delete("ibid-a", {"document": "e"})


async def test_writing_again_replaces(store: Chroma) -> None:
    """Upserts are idempotent, across batches too."""
    await store.upsert("ibid-a", IDS, ROWS, MINE)
    assert await store.count("ibid-a") == 4


async def test_batches_write_everything(store: Chroma, monkeypatch: pytest.MonkeyPatch) -> None:
    """More vectors than one write takes."""
    monkeypatch.setattr(room, "BATCH", 3)
    await store.upsert("ibid-b", IDS, ROWS, MINE)
    assert sorted(await store.ids("ibid-b", {"document": "d"})) == IDS


async def test_many_vectors_leave_the_loop_its_turns(store: Chroma) -> None:
    """Seven hundred vectors in and out: no standstill is a large part of the time that it took.

    In one call, as it once was, the loop stood still for all of it; a share holds on a busy machine too.
    """
    ids, loop = [f"f:{n}" for n in range(700)], asyncio.get_running_loop()
    rows = np.random.default_rng(1).normal(size=(700, 384)).astype(np.float32)
    gaps: list[float] = []

    async def turns() -> None:
        last = loop.time()
        while True:
            await asyncio.sleep(0)
            gaps.append(loop.time() - last)
            last = loop.time()

    watch, began = asyncio.create_task(turns()), loop.time()
    await store.upsert("ibid-f", ids, rows, MINE)
    await store.delete("ibid-f", {"document": "d"})
    watch.cancel()
    assert max(gaps) < (loop.time() - began) / 3
    assert await store.count("ibid-f") == 0


async def test_writes_come_one_at_a_time_with_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of several writers: the loop has its pause between any two calls of the vendor."""
    vendor, threads = Slow(), Threads("slow")
    store = Chroma(Client(lambda: cast(VendorClient, vendor)), threads)
    monkeypatch.setattr(room, "BATCH", 2)
    await asyncio.gather(*(store.upsert("ibid-a", IDS, ROWS, MINE) for _ in range(3)))
    await threads.aclose()
    assert vendor.sizes == [2] * 6
    pauses = [later[0] - earlier[1] for earlier, later in pairwise(vendor.times)]
    assert min(pauses) >= room.PAUSE_SECONDS


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
    await store.upsert("ibid-g", IDS, ROWS, MINE)
    assert "ibid-g" in await store.names()
    for _ in range(2):
        await store.forget("ibid-g")
    assert "ibid-g" not in await store.names()
    await store.upsert("ibid-g", IDS[:1], ROWS[:1], MINE)
    assert await store.count("ibid-g") == 1


async def test_what_is_dropped_is_gone_and_dropping_again_is_no_error(store: Chroma) -> None:
    """By id and by metadata."""
    for _ in range(2):
        await store.drop("ibid-a", ["d:1"])
        await store.delete("ibid-a", {"document": "d"})
    assert await store.ids("ibid-a", {"document": "d"}) == []


async def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    """Vectors outlive the process's client."""
    for _ in range(2):
        async with open_chroma(at(tmp_path)) as opened:
            before = await opened.count("ibid-a")
            await opened.upsert("ibid-a", IDS, ROWS, MINE)
    assert before == 4


async def test_a_collection_dropped_behind_our_back_is_made_anew(store: Chroma) -> None:
    """As when a server lost its data: the next write works."""
    await store.upsert("ibid-c", IDS, ROWS, MINE)
    vendor = store._client.open()
    vendor.delete_collection("ibid-c")
    await store.upsert("ibid-c", IDS[:1], ROWS[:1], MINE)
    assert await store.count("ibid-c") == 1


async def test_vectors_of_another_size_are_refused_as_ours(store: Chroma) -> None:
    """The vendor's errors do not leave."""
    with pytest.raises(Unavailable):
        await store.upsert("ibid-a", ["x:1"], np.ones((1, 3), np.float32), MINE)
    with pytest.raises(RetrievalError) as caught:
        await store.nearest("ibid-a", np.ones(3, np.float32), {"tenant": "t"}, 1)
    assert caught.value.reason == "unavailable"


async def test_a_folder_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    """Told with the reason, not served half."""
    (tmp_path / "chroma").write_text("not a folder")
    with pytest.raises(StartError, match="Chroma's folder"):
        async with open_chroma(at(tmp_path)):
            pass


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

    def heartbeat(self) -> int:
        """Waits."""
        self.gate.wait(30)
        return 1

    def get_or_create_collection(self, name: str, **arguments: object) -> VendorCollection:
        """Waits."""
        self.gate.wait(30)
        raise ValueError("no collection here")

    def close(self) -> None:
        """Nothing to give back."""


@pytest.fixture
async def hung() -> AsyncIterator[tuple[Chroma, Callable[[], None]]]:
    """A Chroma that hangs, one thread and nobody in line; and what lets it go."""
    vendor = Hung()

    def connect() -> VendorClient:
        return cast(VendorClient, vendor)

    threads = Threads("hung", threads=1, waiting=0)
    yield Chroma(Client(connect), threads), vendor.gate.set
    vendor.gate.set()
    await threads.aclose()


async def test_a_read_that_hangs_ends_in_time(
    hung: tuple[Chroma, Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`timeout`; and while the call keeps the thread, others are told at once."""
    monkeypatch.setattr(room, "READ_SECONDS", 0.05)
    reasons = []
    for _ in range(2):
        with pytest.raises(RetrievalError) as caught:
            await hung[0].beat()
        reasons.append(caught.value.reason)
    assert reasons == ["timeout", "overloaded"]


async def test_a_write_that_hangs_is_unavailable(
    hung: tuple[Chroma, Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that is not durable is an error."""
    monkeypatch.setattr(room, "WRITE_SECONDS", 0.05)
    with pytest.raises(Unavailable):
        await hung[0].drop("ibid-a", ["x"])


async def test_cancellation_is_not_swallowed(hung: tuple[Chroma, Callable[[], None]]) -> None:
    """Whoever leaves, leaves at once."""
    task = asyncio.create_task(hung[0].beat())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_nothing_of_the_vendor_is_imported_before_it_is_opened() -> None:
    """`import app.clients.chroma` costs no chromadb."""
    import subprocess
    import sys

    code = "import sys, app.sources.documents; sys.exit('chromadb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_real_server_is_used_the_same_way(tmp_path: Path) -> None:
    """CHROMA_URL: what goes in comes out, over HTTP."""
    import socket
    import sys

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    binary = str(Path(sys.executable).with_name("chroma"))
    arguments = ("run", "--path", str(tmp_path), "--host", "127.0.0.1", "--port", str(port))
    pipe = asyncio.subprocess.DEVNULL
    server = await asyncio.create_subprocess_exec(binary, *arguments, stdout=pipe, stderr=pipe)
    try:
        async with open_chroma(Settings(chroma={"url": f"http://127.0.0.1:{port}"})) as remote:
            await answering(remote)
            await remote.upsert("ibid-a", IDS, ROWS, MINE)
            near = await remote.nearest("ibid-a", ROWS[2], {"document": "d"}, 1)
            assert (near.ids, near.matrix.tolist()) == (("d:3",), [[0, 0, 1, 0]])
            assert await remote.count("ibid-a") == 4
            await remote.forget("ibid-a")
            assert await remote.names() == []
    finally:
        server.terminate()
        await server.wait()


async def answering(remote: Chroma) -> None:
    """Wait until a server that has just been started answers."""
    for _ in range(200):
        try:
            return await remote.beat()
        except RetrievalError:
            await asyncio.sleep(0.05)
    raise TimeoutError
