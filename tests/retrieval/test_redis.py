"""A real server that goes, hangs, refuses and comes back: never an error, never a long wait."""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import uvloop
from pydantic import SecretStr
from redis.asyncio import Redis as Vendor

from app.breaker import Breaker
from app.errors import StartError, Unavailable
from app.retrieval import redis as module
from app.retrieval.redis import CALLS, PATIENCE, PREFIX, Redis, RedisProbe, connected, open_cache
from app.settings import CacheSettings, Settings
from app.types import VALUE_BYTES
from tests.fakes.logged import captured
from tests.fakes.redis import RedisServer, free_port, redis_server


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine an answer takes longer; the tests of waiting say how long they wait."""
    monkeypatch.setattr(module, "PATIENCE", 5.0)


@pytest.fixture
async def client(redis: RedisServer) -> AsyncIterator[Redis]:
    opened = connected(redis.url)
    yield opened
    await opened.aclose()


@pytest.fixture
async def vendor(redis: RedisServer) -> AsyncIterator[Vendor]:
    """Another program's connection to the same server."""
    async with Vendor.from_url(redis.url) as opened:
        yield opened


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that failed is asked again after a moment."""
    monkeypatch.setattr(module, "Breaker", partial(Breaker, seconds=0.3))


async def settled() -> None:
    """Until no call is under way."""
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


async def test_what_is_put_is_there(client: Redis) -> None:
    """Any bytes, for whoever knows the key."""
    client.put("k", bytes(range(256)), seconds=60)
    await settled()
    assert await client.get("k") == bytes(range(256))
    assert await client.get("other") is None


async def test_it_is_kept_for_its_time(client: Redis, vendor: Vendor) -> None:
    """In milliseconds; keys have our prefix, and none is kept for ever."""
    client.put("brief", b"x", seconds=0.05)
    client.put("long", b"x", seconds=60)
    await settled()
    assert 59_000 < await vendor.pttl(f"{PREFIX}long") <= 60_000
    await asyncio.sleep(0.1)
    assert await client.get("brief") is None


async def test_what_is_too_large_is_a_miss(client: Redis, vendor: Vendor) -> None:
    """Another's value under our key: as much of it is fetched as a value of ours may have, and one byte."""
    for size, there in ((VALUE_BYTES, True), (VALUE_BYTES + 1, False), (20 << 20, False)):
        await vendor.set(f"{PREFIX}k", b"v" * size)
        before = (await vendor.info("stats"))["total_net_output_bytes"]
        assert (await client.get("k") is not None) is there
        sent = (await vendor.info("stats"))["total_net_output_bytes"] - before
        assert sent < VALUE_BYTES + 50_000


async def test_who_leaves_during_a_call_spoils_no_connection(client: Redis) -> None:
    """The next call does not read another's answer."""
    for n in range(20):
        client.put(str(n), str(n).encode(), seconds=60)
    await settled()
    leaving = [asyncio.create_task(client.get(str(n % 20))) for n in range(40)]
    await asyncio.sleep(0.001)
    for task in leaving:
        task.cancel()
    await asyncio.wait(leaving)
    assert [await client.get(str(n)) for n in range(20)] == [str(n).encode() for n in range(20)]


async def test_no_more_than_so_many_calls_are_made_at_once(client: Redis) -> None:
    client.put("k", b"v", seconds=60)
    await settled()
    asked = await asyncio.gather(*(client.get("k") for _ in range(CALLS + 9)))
    assert asked == [b"v"] * CALLS + [None] * 9
    assert await client.get("k") == b"v"


@pytest.mark.usefixtures("brief")
async def test_a_server_that_is_gone_is_a_miss_and_comes_back(tmp_path: Path) -> None:
    """After three failures nobody asks for a while; then it is found again, by itself."""
    with redis_server(tmp_path) as server:
        client = connected(server.url)
        client.put("k", b"v", seconds=60)
        await settled()
        server.kill()

        assert [await client.get("k") for _ in range(5)] == [None] * 5
        server.start()
        await asyncio.sleep(0.35)
        client.put("k", b"w", seconds=60)
        await settled()

        assert await client.get("k") == b"w"
        await client.aclose()


async def test_a_server_that_hangs_costs_a_moment_and_then_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the first misses waits PATIENCE, those after the breaker opened do not wait at all."""
    monkeypatch.setattr(module, "CALL_SECONDS", 1.2)
    monkeypatch.setattr(module, "PATIENCE", PATIENCE)
    with redis_server(tmp_path) as server:
        client = connected(server.url)
        server.stop_answering()
        assert await asyncio.gather(*(client.get("k") for _ in range(4))) == [None] * 4

        await settled()
        monkeypatch.setattr(module, "PATIENCE", 5.0)
        monkeypatch.setattr(module, "CALL_SECONDS", 30.0)
        async with asyncio.timeout(4):
            assert await client.get("k") is None, "it was waited for"
        server.resume()
        await client.aclose()


@pytest.mark.usefixtures("brief")
async def test_that_it_is_left_alone_is_said_once(tmp_path: Path) -> None:
    """However many calls were under way when it went, and again when it goes again."""
    with redis_server(tmp_path) as server, captured() as lines:
        client = connected(server.url)
        for _ in range(2):
            client.put("k", b"v", seconds=60)
            await settled()
            server.kill()
            await asyncio.gather(*(client.get("k") for _ in range(12)))
            await asyncio.sleep(0.35)
            await asyncio.gather(*(client.get("k") for _ in range(12)))  # the probe fails
            server.start()
            await asyncio.sleep(0.35)
        assert len(lines.of("the shared cache is left alone")) == 2
        await client.aclose()


async def busy(redis: RedisServer) -> bytes | None:
    """Ask on a loop that is busy elsewhere for longer than the answer and the patience take."""
    client = connected(redis.url)
    client.put("k", b"v", seconds=60)
    await settled()
    asked = asyncio.create_task(client.get("k"))
    for _ in range(3):
        await asyncio.sleep(0)
        time.sleep(0.02)  # noqa: ASYNC251 - the busy loop is the point
    found = await asked
    await client.aclose()
    return found


def test_an_answer_that_came_while_the_loop_was_busy_is_taken(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service's loop sees its clock first, then what has come; the server is not to blame."""
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(busy(redis)) == b"v"


async def test_a_slow_first_connection_is_there_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call that nobody waits for any more runs on."""
    monkeypatch.setattr(module, "PATIENCE", PATIENCE)
    with redis_server(tmp_path) as server:
        client = connected(server.url)
        server.stop_answering()
        assert await client.get("k") is None
        server.resume()
        await settled()
        monkeypatch.setattr(module, "PATIENCE", 5.0)
        client.put("k", b"v", seconds=60)
        await settled()
        assert await client.get("k") == b"v"
        async with Vendor.from_url(server.url) as vendor:
            told = await vendor.info("clients")
        assert told["connected_clients"] == 2, "the first connection, and the one that asks"
        await client.aclose()


async def test_a_server_that_refuses_is_a_miss(client: Redis, vendor: Vendor) -> None:
    """A key of another kind, as of another program."""
    await vendor.rpush(f"{PREFIX}list", "x")
    assert await client.get("list") is None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:6379",
        "redis://:hunter2@127.0.0.1:port/0",
        "redis://127.0.0.1:6379/0?hunter2=1",
        "127.0.0.1:6379",
    ],
)
def test_an_address_that_is_none_stops_the_start(url: str) -> None:
    """Without being repeated: it may hold a password."""
    with pytest.raises(StartError, match="CACHE_URL") as caught:
        connected(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["redis://h:1/2", "rediss://h:1", "valkey://h:1/2", "unix:///tmp/x.sock"])
async def test_addresses_of_both_vendors_are_taken(url: str) -> None:
    await connected(url).aclose()


async def test_nothing_is_opened_where_nothing_is_configured() -> None:
    async with open_cache(Settings()) as opened:
        assert opened is None


async def test_a_server_that_is_not_there_does_not_stop_the_start() -> None:
    url = SecretStr(f"redis://127.0.0.1:{free_port()}/0")
    async with open_cache(Settings(cache=CacheSettings(url=url))) as opened:
        assert opened
        assert await opened.get("k") is None
        with pytest.raises(Unavailable):
            await RedisProbe(opened).check()


async def test_the_probe_names_server_and_version(client: Redis) -> None:
    """As `/readyz` and `ibid doctor` show it."""
    facts = await RedisProbe(client).check()
    assert facts["server"] in {"redis", "valkey"}
    assert str(facts["version"])[0].isdigit()


async def test_closing_leaves_no_task(redis: RedisServer) -> None:
    """Nor an open connection: it would be a warning, and warnings are errors."""
    before = asyncio.all_tasks()
    async with open_cache(Settings(cache=CacheSettings(url=SecretStr(redis.url)))) as opened:
        assert opened
        await opened.get("k")
        opened.put("k", b"v" * 1_000_000, seconds=60)
    assert asyncio.all_tasks() == before
