"""Shelves of any kind: loaded once, followed, given up."""

import asyncio
from dataclasses import dataclass

import pytest

from app.index.bookcase import Bookcase


@dataclass(frozen=True)
class Held:
    """A shelf."""

    version: int
    size: int = 1
    nbytes: int = 100


class Case(Bookcase[str, Held]):
    """Loads are counted, and wait for their turn."""

    def __init__(self, memory_bytes: int = 1_000) -> None:
        super().__init__(memory_bytes=memory_bytes)
        self.loads: list[str] = []
        self.version, self.size = 1, 1
        self.turn = asyncio.Event()
        self.turn.set()

    def nothing(self, part: str) -> Held:
        """At version 0."""
        return Held(0, 0, 0)

    async def refreshed(self, part: str) -> Held:
        """As of when it begins."""
        self.loads.append(part)
        shelf = Held(self.version, self.size)
        await self.turn.wait()
        self.keep(part, shelf)
        return shelf


async def test_many_who_ask_at_once_load_once() -> None:
    """And who asks later loads nothing."""
    case = Case()
    shelves = await asyncio.gather(*(case.at("a", 1) for _ in range(5)), case.at("b", 1))
    assert {shelf.version for shelf in shelves} == {1}
    await case.at("a", 1)
    assert sorted(case.loads) == ["a", "b"]


async def test_a_newer_version_is_loaded_though_an_older_load_is_under_way() -> None:
    """Read-your-writes: the load that began before the write does not do."""
    case = Case()
    case.turn.clear()
    first = asyncio.create_task(case.at("a", 1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    case.version = 2
    second = asyncio.create_task(case.at("a", 2))
    await asyncio.sleep(0)
    case.turn.set()
    assert [(await first).version, (await second).version] == [1, 2]


async def test_who_leaves_does_not_stop_the_load() -> None:
    """It is there for the next one."""
    case = Case()
    case.turn.clear()
    asking = asyncio.create_task(case.at("a", 1))
    await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    case.turn.set()
    assert (await case.at("a", 1)).version == 1
    assert case.loads == ["a"]


async def test_the_least_recently_used_is_given_up() -> None:
    """Beyond the memory, but never the last two."""
    case = Case(memory_bytes=250)
    for part in ("a", "b", "a", "c"):
        await case.at(part, 1)
    assert case.parts == ["a", "c"]
    assert case.nbytes == 200
    tiny = Case(memory_bytes=1)
    await tiny.at("a", 1)
    await tiny.at("b", 1)
    assert tiny.parts == ["a", "b"]


async def test_version_0_costs_nothing() -> None:
    """What was never written is not loaded, and what is empty not kept."""
    case = Case()
    assert (await case.at("a", 0)).size == 0
    assert case.loads == []
    case.size = 0
    await case.at("b", 1)
    assert case.parts == []


async def test_within_a_time_what_is_there_is_given() -> None:
    """Of the others the older version, if there is one; their loads go on."""
    case = Case()
    await case.at("old", 1)
    case.turn.clear()
    case.version = 2
    shelves, late = await case.within(0.05, [("old", 2), ("new", 2), ("none", 0)])
    assert ([shelf.version for shelf in shelves], late) == ([0, 1], ["old", "new"])
    case.turn.set()
    shelves, late = await case.within(5, [("old", 2), ("new", 2)])
    assert ([shelf.version for shelf in shelves], late) == ([2, 2], [])
    assert case.loads == ["old", "old", "new"]
    assert await case.within(5, []) == ([], [])


async def test_within_a_time_a_fault_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, not after the time; nobody is left waiting."""
    case = Case()
    case.turn.clear()

    async def at(part: str, version: int) -> Held:
        if part == "bad":
            raise ValueError(part)
        return await Case.at(case, part, version)

    monkeypatch.setattr(case, "at", at)
    async with asyncio.timeout(5):
        with pytest.raises(ValueError, match="bad"):
            await case.within(60, [("a", 1), ("bad", 1)])
    await case.aclose()


async def test_closing_ends_loads() -> None:
    """Those who wait are told."""
    case = Case()
    case.turn.clear()
    asking = asyncio.create_task(case.at("a", 1))
    await asyncio.sleep(0.01)
    await case.aclose()
    with pytest.raises(asyncio.CancelledError):
        await asking
