"""Chroma in a child process and as the vendor's own server: what goes in comes out, only our errors leave."""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import numpy as np
import pytest
import pytest_asyncio

from app.breaker import Breaker
from app.errors import RetrievalError, StartError, Unavailable
from app.retrieval.retrievers import chroma as room
from app.retrieval.retrievers.chroma import (
    PROGRAM,
    START_SECONDS,
    Chroma,
    ChromaProcess,
    ChromaServer,
    open_chroma,
)
from app.retrieval.retrievers.chroma_child import LOST, UNFINISHED, ChromaFault, EmbeddedChroma
from app.settings import Settings
from tests.fakes.chromas import InProcess, RunningChroma

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROWS = np.eye(4, dtype=np.float32)
IDS = ["d:1", "d:2", "d:3", "d:4"]
MINE = {"tenant": "t", "document": "d"}


def at(folder: Path) -> Settings:
    return Settings(ibid={"data_dir": folder})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chroma")


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["child", "server"])
async def vendor(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Chroma]:
    """Both kinds of Chroma, kept open for the module: what holds for one holds for the other."""
    made: Chroma = (
        ChromaProcess(folder / "chroma")
        if request.param == "child"
        else ChromaServer(request.getfixturevalue("chroma_run").url)
    )
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def store(vendor: Chroma) -> Chroma:
    await vendor.upsert("ibid-a", IDS, ROWS, [MINE] * 4)
    return vendor


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
    store = Slow()
    monkeypatch.setattr(room, "BATCH", 2)
    await asyncio.gather(*(store.upsert("ibid-a", IDS, ROWS, [MINE] * 4) for _ in range(3)))
    assert store.sizes == [2] * 6
    assert store.most == 1


class Slow(InProcess):
    """Notes how large each write is, and how many there are at once."""

    def __init__(self) -> None:
        super().__init__(cast(EmbeddedChroma, None))
        self.sizes: list[int] = []
        self.most = self.now = 0

    async def _ask(self, do: str, matrix: object = None, **arguments: Any) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.sizes.append(len(arguments["ids"]))
        self.now -= 1


async def test_a_collection_is_forgotten_and_forgetting_again_is_no_error(store: Chroma) -> None:
    """It is no longer named; written again, it is made anew."""
    await store.upsert("ibid-g", IDS, ROWS, [MINE] * 4)
    assert "ibid-g" in await store.names()
    for _ in range(2):
        await store.forget("ibid-g")
    assert "ibid-g" not in await store.names()
    await store.upsert("ibid-g", IDS[:1], ROWS[:1], [MINE])
    assert await store.count("ibid-g") == 1


async def test_a_collection_that_another_client_drops_is_made_anew(chroma_run: RunningChroma) -> None:
    """As when a server lost its data: the next write works, and who can fill the rest is told."""
    told: list[str] = []
    ours, theirs = (ChromaServer(chroma_run.url) for _ in range(2))
    ours.on_files_lost(told.append)
    await ours.upsert("ibid-c", IDS, ROWS, [MINE] * 4)
    await theirs.forget("ibid-c")
    await ours.upsert("ibid-c", IDS[:1], ROWS[:1], [MINE])
    assert (await ours.count("ibid-c"), told) == (1, [LOST])
    for client in (ours, theirs):
        await client.close()


async def test_vectors_of_another_size_are_refused_as_ours(store: Chroma) -> None:
    with pytest.raises(Unavailable):
        await store.upsert("ibid-a", ["x:1"], np.ones((1, 3), np.float32), [MINE])
    with pytest.raises(RetrievalError) as caught:
        await store.nearest("ibid-a", np.ones(3, np.float32).tobytes(), {"tenant": "t"}, 1)
    assert caught.value.reason == "unavailable"


async def test_a_folder_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    """Told with the reason, not served half."""
    (tmp_path / "data").write_text("not a folder")
    async with open_chroma(at(tmp_path / "data")) as chroma:
        with pytest.raises(StartError, match="Chroma's folder"):
            await chroma.ready()


async def test_a_start_does_not_wait_for_a_folder_that_opens_slowly(tmp_path: Path) -> None:
    """The service goes on without it; the same child answers once it has opened."""
    slow = "import time, app.retrieval.retrievers.chroma_child as child; time.sleep(2); child.main()"
    program = replace(PROGRAM, command=(sys.executable, "-c", slow))
    chroma = ChromaProcess(tmp_path / "chroma", program=program)
    try:
        chroma.begin()
        assert not await chroma.ready(seconds=0.1)
        assert await chroma.ready()
        await chroma.beat()
    finally:
        await chroma.close()
    assert PROGRAM.start_seconds > START_SECONDS  # it is not killed when nobody waits any more


async def test_what_is_not_chromas_in_its_place_makes_way(tmp_path: Path) -> None:
    """It is moved aside; who can fill the new one is told, once."""
    (tmp_path / "chroma").write_text("not a folder")
    told: list[str] = []
    async with open_chroma(at(tmp_path)) as chroma:
        chroma.on_files_lost(told.append)
        await chroma.ready()
        for _ in range(2):
            assert await chroma.count("ibid-a") == 0
    assert told == [LOST]
    assert aside(tmp_path) == ["not a folder"]


async def test_an_interrupted_refill_is_begun_again_at_the_next_start(tmp_path: Path) -> None:
    """Until whoever fills it says that it is through; what was lost meanwhile is still to be filled."""
    reasons: list[str] = []
    for start in range(4):
        async with open_chroma(at(tmp_path)) as chroma:
            chroma.on_files_lost(reasons.append)
            await chroma.ready()
            if start == 1:
                await chroma.filled()  # nobody was told yet: it is of something before
                await chroma.beat()
            if start == 2:
                await chroma.beat()
                await chroma.filled()
            await chroma.beat()
    assert reasons == [LOST, UNFINISHED, UNFINISHED]


def aside(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.glob("chroma.broken-*")]


async def test_a_server_that_is_not_there_does_not_stop_the_start() -> None:
    """It may come later; until then reads and writes say so."""
    settings = Settings(chroma={"url": "http://127.0.0.1:9"})
    async with open_chroma(settings) as absent:
        with pytest.raises(RetrievalError) as caught:
            await absent.beat()
        with pytest.raises(Unavailable):
            await absent.drop("ibid-a", ["x"])
    assert caught.value.reason == "unavailable"


async def test_a_server_of_another_kind_is_unavailable() -> None:
    """Whatever has the port; a proxy before a server that is away, too."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(502)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        server = ChromaServer(f"http://127.0.0.1:{proxy.server_port}")
        assert await reason(server) == "unavailable"
        await server.close()
        proxy.shutdown()


async def test_json_of_another_program_is_a_fault_of_the_server() -> None:
    """As of a gateway that says 200 to everything; what it sends elsewhere is not followed."""

    class Gateway(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(307 if self.path.endswith("upsert") else 200)
            self.send_header("location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b'{"status": "ok", "id": "x"}')

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as gateway:
        Thread(target=gateway.serve_forever, daemon=True).start()
        server = ChromaServer(f"http://127.0.0.1:{gateway.server_port}")
        row = ROWS[0].tobytes()
        for call in (
            server.names(),
            server.count("ibid-a"),
            server.ids("ibid-a", MINE),
            server.payloads("ibid-a", MINE),
            server.nearest("ibid-a", row, MINE, 3),
        ):
            with pytest.raises(RetrievalError):
                await call
        with pytest.raises(Unavailable):
            await server.upsert("ibid-a", IDS, ROWS, [MINE] * 4)
        await server.close()
        gateway.shutdown()


class Hung(InProcess):
    """Its calls wait for a gate, as those of a server do that accepts and says nothing."""

    def __init__(self, breaker: Breaker | None = None) -> None:
        super().__init__(cast(EmbeddedChroma, None))
        self.breaker = breaker or self.breaker
        self.gate = asyncio.Event()
        self.calls = 0

    async def _ask(self, do: str, matrix: object = None, **arguments: Any) -> Any:
        if do == "names":
            raise ChromaFault("not for you", down=False)
        if do == "forget":
            raise ChromaFault("its process has just ended", down=None)
        self.calls += 1
        await self.gate.wait()
        return []


async def reason(chroma: Chroma) -> str:
    with pytest.raises(RetrievalError) as caught:
        await chroma.beat()
    return caught.value.reason


async def test_a_write_that_hangs_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that is not durable is an error."""
    monkeypatch.setattr(room, "WRITE_SECONDS", 0.05)
    with pytest.raises(Unavailable):
        await Hung().drop("ibid-a", ["x"])


async def test_what_hangs_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three wait in vain, the fourth is told at once, writes too; later one tries, and then all may."""
    monkeypatch.setattr(room, "READ_SECONDS", 0.05)
    now = [0.0]
    chroma = Hung(Breaker(lambda: now[0]))
    assert [await reason(chroma) for _ in range(5)] == ["timeout"] * 3 + ["unavailable"] * 2
    with pytest.raises(Unavailable):
        await chroma.drop("ibid-a", ["x"])
    assert chroma.calls == 3
    now[0] = 6.0
    chroma.gate.set()
    for _ in range(2):
        await chroma.beat()
    assert chroma.calls == 5


async def test_refusals_and_a_child_that_ended_do_not_count() -> None:
    """It answered, or another one will: no reason to leave it alone."""
    chroma = Hung()
    chroma.gate.set()
    for _ in range(5):
        with pytest.raises(RetrievalError):
            await chroma.names()
        with pytest.raises(Unavailable):
            await chroma.forget("ibid-a")
    await chroma.beat()
