"""The outside memory service: its calls, its answers, its faults."""

import asyncio
import gzip
import json
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.breaker import Breaker
from app.db import memory_service as memory
from app.db.memories import BeforeCommit, Moment, Rating, Tallies, Tally
from app.db.memory_service import (
    MOST_VOTES,
    Outside,
    OutsideTemporal,
    OutsideVotes,
    moment,
    open_outside,
    tallies,
)
from app.db.votes import VoteStore
from app.errors import RetrievalError, Unavailable
from app.settings import MemorySettings, Settings
from app.types import Scope
from tests.fakes.outside import Ill, OutsideServer, outside_server

ADA = Scope(user_id="ada")


DEADLINE = 0.2


@dataclass
class BuiltIn:
    """Votes and activity in memory, as the built-in stores keep them."""

    kept: dict[tuple[str, str], int] = field(default_factory=dict)

    async def cast(
        self,
        scope: Scope,
        memory_id: str,
        signal: int,
        *,
        answer_id: str | None,
        before_commit: BeforeCommit | None = None,
    ) -> bool:
        return bool(
            await self.judge(
                scope, [memory_id], signal, answer_id=answer_id or "", before_commit=before_commit
            )
        )

    async def judge(
        self,
        scope: Scope,
        ids: Sequence[str],
        signal: int,
        *,
        answer_id: str,
        rating: Rating | None = None,
        before_commit: BeforeCommit | None = None,
    ) -> list[str]:
        """Votes, kept if whoever is told takes them."""
        before = {key: self.kept.get((key, answer_id), 0) for key in ids}
        changed = {key: signal - old for key, old in before.items() if signal != old}
        if changed and before_commit:
            await before_commit(changed)
        self.kept |= {(key, answer_id): signal for key in changed}
        return list(changed)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        return Tallies({key: Tally(9, 0) for key in ids})

    async def last(self, scope: Scope) -> Moment:
        return Moment("months")


@dataclass
class World:
    """The service, what speaks to it, and what stands in."""

    server: OutsideServer
    outside: Outside
    built_in: BuiltIn
    votes: OutsideVotes
    temporal: OutsideTemporal


@asynccontextmanager
async def world(server: OutsideServer) -> AsyncIterator[World]:
    """As wired, with a breaker that opens after three failures."""
    settings = Settings(_env_file=None, memory=MemorySettings(service_url=server.url + "/"))
    async with open_outside(settings) as outside:
        assert outside
        outside.breaker, built_in = Breaker(time.monotonic), BuiltIn()
        votes, temporal = OutsideVotes(outside, cast(VoteStore, built_in)), OutsideTemporal(outside, built_in)
        yield World(server, outside, built_in, votes, temporal)


@pytest.fixture
async def opened(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(memory, "SECONDS", DEADLINE)
    async with outside_server() as server, world(server) as found:
        yield found


async def test_its_answers_are_used(opened: World) -> None:
    """Its counts and its times, not the built-in ones."""
    opened.server.counts["ada", "m1"] = {"positive": 2, "negative": 5}
    found = await opened.votes.tallies(ADA, ["m1", "m,2&x"[:2]])
    assert (found, found.lost) == ({"m1": Tally(2, 5)}, "")
    last = await opened.temporal.last(ADA)
    assert (last.bucket, last.seconds_since, last.lost) == ("weeks", 864_000.0, "")


async def test_a_vote_is_kept_in_both(opened: World) -> None:
    """In its own form, with the answer where there is one; what changes nothing is not told again."""
    assert await opened.votes.cast(ADA, "m1", 1, answer_id=None)
    assert await opened.votes.judge(ADA, ["m1", "m2"], -1, answer_id="a") == ["m1", "m2"]
    assert await opened.votes.judge(ADA, ["m1", "m2"], -1, answer_id="a") == []
    assert opened.server.told == [
        {"user_id": "ada", "memory_id": "m1", "signal": 1},
        {"user_id": "ada", "memory_id": "m1", "signal": -1, "answer_id": "a"},
        {"user_id": "ada", "memory_id": "m2", "signal": -1, "answer_id": "a"},
    ]
    assert opened.built_in.kept == {("m1", ""): 1, ("m1", "a"): -1, ("m2", "a"): -1}


async def test_its_votes_add_up_to_those_that_stand(opened: World) -> None:
    """It is told +1 and -1 alone: a vote taken back as its opposite, a change of mind as two."""
    for signal in (1, -1, -1, 0, -1):
        await opened.votes.cast(ADA, "m1", signal, answer_id="a")
    told = [vote["signal"] for vote in opened.server.told]
    assert told == [1, -1, -1, 1, -1]
    assert (await opened.votes.tallies(ADA, ["m1"]))["m1"].net == -1


@pytest.mark.parametrize("user", ["a/b c", "日本", "?x=1", "%2e", "a&ids=z"])
async def test_any_user_can_be_asked_about(opened: World, user: str) -> None:
    scope = replace(ADA, user_id=user)
    opened.server.counts[user, "m1"] = {"positive": 1, "negative": 0}
    assert await opened.votes.tallies(scope, ["m1"]) == {"m1": Tally(1, 0)}
    assert (await opened.temporal.last(scope)).bucket == "weeks"
    assert opened.server.users() == [user]


@pytest.mark.parametrize(
    "scope",
    [Scope("acme", user_id="ada"), Scope(user_id=None)],
    ids=["another tenant", "nobody"],
)
async def test_whom_it_cannot_know_it_is_not_asked_about(opened: World, scope: Scope) -> None:
    """It has no tenants: users of another with the same name would be mixed up."""
    assert await opened.votes.tallies(scope, ["m1"]) == {"m1": Tally(9, 0)}
    assert await opened.temporal.last(scope) == Moment("months")
    assert await opened.votes.cast(scope, "m1", 1, answer_id="a")
    assert opened.server.requests == []


ILLS = {
    "500": (Ill(500), "unavailable"),
    "404": (Ill(404), "unavailable"),
    "redirect": (Ill(302, location="http://127.0.0.1:1/"), "unavailable"),
    "hung": (Ill(delay=30), "timeout"),
    "hung body": (Ill(body=b"{", length=99), "timeout"),
    "garbage": (Ill(body=b"\xff<html>"), "unavailable"),
    "nested": (Ill(body=b"[" * 100_000), "unavailable"),
    "another shape": (Ill(body=b'{"m1": [], "bucket": "soon"}'), "unavailable"),
    "packed": (Ill(body=gzip.compress(b"{}")), "unavailable"),
    "huge": (Ill(body=b'{"x": "' + b"y" * 300_000 + b'"}'), "unavailable"),
    "endless": (Ill(endless=True), "unavailable"),
}


@pytest.mark.parametrize(("ill", "reason"), ILLS.values(), ids=ILLS)
async def test_an_ill_one_is_stood_in_for(opened: World, ill: Ill, reason: str) -> None:
    """Reads come from the built-in stores, within the deadline, and say so."""
    opened.server.ill = ill
    found = await opened.votes.tallies(ADA, ["m1"])
    assert (found, found.lost) == ({"m1": Tally(9, 0)}, reason)
    assert await opened.temporal.last(ADA) == Moment("months", lost=reason)


@pytest.mark.parametrize("ill", ["500", "404", "redirect", "hung"])
async def test_a_vote_it_does_not_take_is_not_kept(opened: World, ill: str) -> None:
    """Neither here, nor half of an answer's."""
    opened.server.ill = ILLS[ill][0]
    with pytest.raises(Unavailable):
        await opened.votes.judge(ADA, ["m1", "m2"], 1, answer_id="a")
    with pytest.raises(Unavailable):
        await opened.votes.cast(ADA, "m1", 1, answer_id="a")
    assert opened.built_in.kept == {}


async def test_one_that_is_down_is_stood_in_for(opened: World) -> None:
    async with outside_server() as gone:
        pass
    async with world(gone) as found:
        assert (await found.votes.tallies(ADA, ["m1"])).lost == "unavailable"
        with pytest.raises(Unavailable):
            await found.votes.judge(ADA, ["m1"], 1, answer_id="a")
        with pytest.raises(RetrievalError):
            await found.outside.check()


async def test_a_dead_one_is_not_waited_for(opened: World) -> None:
    """After three in a row nobody is, until it is tried again; a refusal is no such row."""
    opened.server.ill = Ill(404)
    for _ in range(5):
        await opened.votes.tallies(ADA, ["m1"])
    assert len(opened.server.requests) == 5
    opened.server.ill = Ill(delay=30)
    for _ in range(3):
        await opened.temporal.last(ADA)
    for _ in range(20):
        assert (await opened.votes.tallies(ADA, ["m1"])).lost == "unavailable"
        with pytest.raises(Unavailable):
            await opened.votes.cast(ADA, "m1", 1, answer_id=None)
    assert len(opened.server.requests) == 8


async def test_a_caller_that_leaves_is_let_go(opened: World) -> None:
    """At once, and without an answer in its place."""
    opened.server.ill = Ill(delay=30)
    asking = asyncio.create_task(opened.votes.tallies(ADA, ["m1"]))
    await asyncio.sleep(DEADLINE / 4)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_the_probe(opened: World) -> None:
    """Any answer is one, if only to refuse; its own fault is not."""
    probe = opened.outside
    assert probe.name == "memory_service"
    opened.server.ill = Ill(404)
    assert await probe.check() == {}
    opened.server.ill = Ill(500)
    with pytest.raises(RetrievalError):
        await probe.check()


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["m1", "positive", "bucket", "x"]), inner)
    ),
)


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        "m1",
        {"m1": None},
        {"m1": 3},
        {"m1": {"positive": 1}},
        {"m1": {"positive": -1, "negative": 0}},
        {"m1": {"positive": True, "negative": 0}},
        {"m1": {"positive": 1.5, "negative": 0}},
        {"m1": {"positive": "1", "negative": 0}},
        {"m1": {"positive": MOST_VOTES + 1, "negative": 0}},
    ],
    ids=json.dumps,
)
def test_votes_of_another_shape_are_no_answer(said: object) -> None:
    with pytest.raises(RetrievalError):
        tallies(said, ["m1"])


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"bucket": "yesterday"},
        {"bucket": ["new"]},
        {"bucket": "days", "last_message_at": "yesterday"},
        {"bucket": "days", "last_message_at": "2026-11-01T10:00:00"},
        {"bucket": "days", "last_message_at": "0001-01-01T00:00:00+14:00"},
        {"bucket": "days", "last_message_at": 5},
        {"bucket": "days", "seconds_since": -1},
        {"bucket": "days", "seconds_since": True},
        {"bucket": "days", "seconds_since": math.nan},
        {"bucket": "days", "seconds_since": "5"},
        {"bucket": "days", "seconds_since": 10**40},
    ],
    ids=str,
)
def test_a_moment_of_another_shape_is_no_answer(said: object) -> None:
    """A prompt must not be told of it."""
    with pytest.raises(RetrievalError):
        moment(said)


@given(ANY)
def test_law_anything_is_read_or_no_answer(said: object) -> None:
    for read in (lambda: tallies(said, ["m1"]), lambda: moment(said)):
        with suppress(RetrievalError):
            read()
