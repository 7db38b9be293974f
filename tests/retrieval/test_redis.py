"""A real server that goes, hangs, refuses and comes back: never an error, never a long wait."""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis as Vendor

from app.breaker import Breaker
from app.errors import StartError, Unavailable
from app.retrieval import redis as module
from app.retrieval.redis import PATIENCE, PREFIX, VALUE_BYTES, Redis, RedisProbe, connected, open_cache
from app.settings import CacheSettings, Settings
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
