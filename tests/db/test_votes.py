"""Votes on memories, last activity, and a person's own utterances."""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.answer import Role, Turn, new_id
from app.db.answers import AnswerStore
from app.db.memories import ASSISTANT, DAEMONS, GRAVITY, Moment, Tally
from app.db.pool import Pool
from app.db.votes import TemporalStore, UtteranceStore, VoteStore, bucket
from app.errors import Missing, Unavailable
from app.types import Scope
from tests.fakes.records import answered, remembered

ADA = Scope("acme", user_id="ada")
ANSWER, OTHER = new_id(), new_id()


async def test_one_answer_has_one_vote_a_memory(pool: Pool) -> None:
    """A repeat changes nothing, a change of mind replaces it; another answer's counts beside it."""
    await remembered(pool, ADA, "m1")
    store = VoteStore(pool)
    changed = [await store.cast(ADA, "m1", signal, answer_id=ANSWER) for signal in (1, 1, -1, -1)]
    assert changed == [True, False, True, False]
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(0, 1)}
    await store.cast(ADA, "m1", 1, answer_id=OTHER)
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(1, 1)}


async def test_a_vote_can_be_taken_back(pool: Pool) -> None:
    """That of the answer alone; what is not there cannot, and what comes after counts as ever."""
    await remembered(pool, ADA, "m1")
    store = VoteStore(pool)
    await store.cast(ADA, "m1", 1, answer_id=OTHER)
    changed = [await store.cast(ADA, "m1", signal, answer_id=ANSWER) for signal in (0, -1, 0, 0, 1)]
    assert changed == [False, True, True, False, True]
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(2, 0)}
    assert await store.cast(ADA, "m1", 0, answer_id=None) is False


async def test_without_an_answer_there_is_one_vote_a_day(pool: Pool) -> None:
    """A repeat changes nothing, a change of mind replaces it; 0 takes back those of earlier days too."""
    await remembered(pool, ADA, "m1")
    store = VoteStore(pool)
    assert [await store.cast(ADA, "m1", signal, answer_id=None) for signal in (1, 1, -1)] == [
        True,
        False,
        True,
    ]
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(0, 1)}
    await pool.execute("UPDATE ibid.memory_vote SET answer_id = 'day 2026-01-01'")
    await store.cast(ADA, "m1", 1, answer_id=None)
    await store.cast(ADA, "m1", 1, answer_id=ANSWER)
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(2, 1)}

    assert [await store.cast(ADA, "m1", 0, answer_id=None) for _ in range(2)] == [True, False]

    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(1, 0)}


async def test_whoever_is_told_of_votes_can_add_up_the_changes(pool: Pool) -> None:
    await remembered(pool, ADA, "m1", "m2")
    store, sums = VoteStore(pool), {"m1": 0, "m2": 0}

    async def add(changed: Mapping[str, int]) -> None:
        for key, change in changed.items():
            sums[key] += change

    votes = [(answer, (-1, 0, 1)[n % 3]) for n in range(9) for answer in (ANSWER, None)]
    await asyncio.gather(
        *(store.cast(ADA, "m1", signal, answer_id=answer, before_commit=add) for answer, signal in votes),
        *(
            store.judge(ADA, ["m2", "m1"], signal or 1, answer_id=OTHER, before_commit=add)
            for _, signal in votes[:6]
        ),
    )

    found = await store.tallies(ADA, ["m1", "m2"])
    assert {key: found.get(key, Tally()).net for key in sums} == sums


async def test_all_of_an_answer_at_once(pool: Pool) -> None:
    """Those it changed are told, in their order; what is not the user's is passed over."""
    await remembered(pool, ADA, "m1", "m2")
    await remembered(pool, replace(ADA, user_id="bob"), "b1")
    store = VoteStore(pool)
    await store.cast(ADA, "m1", 1, answer_id=ANSWER)
    assert await store.judge(ADA, ["m2", "b1", "m1", "gone"], 1, answer_id=ANSWER) == ["m2"]
    assert await store.judge(ADA, ["m2", "m1"], -1, answer_id=ANSWER) == ["m2", "m1"]
    assert await store.judge(ADA, ["gone"], 1, answer_id=ANSWER) == []
    assert await store.tallies(ADA, ["m1", "m2", "b1"]) == {"m1": Tally(0, 1), "m2": Tally(0, 1)}


@pytest.mark.parametrize(
    "stranger",
    [replace(ADA, user_id="bob"), replace(ADA, tenant="other"), replace(ADA, user_id=None)],
    ids=["user", "tenant", "nobody"],
)
async def test_another_s_memory_is_not_there(pool: Pool, stranger: Scope) -> None:
    await remembered(pool, ADA, "m1")
    store = VoteStore(pool)
    await store.cast(ADA, "m1", 1, answer_id=ANSWER)
    with pytest.raises(Missing):
        await store.cast(stranger, "m1", -1, answer_id=ANSWER)
    assert await store.judge(stranger, ["m1"], -1, answer_id=ANSWER) == []
    assert await store.tallies(stranger, ["m1"]) == {}
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(1, 0)}


async def test_points_of_older_tools_take_votes(pool: Pool) -> None:
    asked: list[str] = []

    async def foreign(scope: Scope, key: str) -> bool:
        asked.append(key)
        return (scope, key) == (ADA, "17")

    await remembered(pool, ADA, "m1")
    store = VoteStore(pool, foreign)
    assert await store.judge(ADA, ["17", "m1", "18"], 1, answer_id=ANSWER) == ["17", "m1"]
    assert asked == ["17", "18"]
    with pytest.raises(Missing):
        await store.cast(ADA, "18", 1, answer_id=None)
    assert await store.tallies(ADA, ["17", "m1"]) == {"17": Tally(1, 0), "m1": Tally(1, 0)}


async def test_who_is_told_can_take_it_back(pool: Pool) -> None:
    """Only what changes is told, before it is committed; what is raised then leaves all as it was."""
    await remembered(pool, ADA, "m1", "m2")
    store = VoteStore(pool)
    heard: list[Mapping[str, int]] = []

    async def hear(changed: Mapping[str, int]) -> None:
        heard.append(changed)

    async def refuse(_changed: Mapping[str, int]) -> None:
        raise Unavailable

    await store.cast(ADA, "m1", 1, answer_id=ANSWER, before_commit=hear)
    await store.judge(ADA, ["m1", "m2"], 1, answer_id=ANSWER, before_commit=hear)
    await store.judge(ADA, ["m1", "m2"], 1, answer_id=ANSWER, before_commit=hear)
    await store.cast(ADA, "m2", -1, answer_id=ANSWER, before_commit=hear)
    await store.cast(ADA, "m2", 1, answer_id=ANSWER, before_commit=hear)
    assert heard == [{"m1": 1}, {"m2": 1}, {"m2": -2}, {"m2": 2}]
    with pytest.raises(Unavailable):
        await store.judge(ADA, ["m1", "m2"], -1, answer_id=ANSWER, before_commit=refuse)
    assert await store.tallies(ADA, ["m1", "m2"]) == {"m1": Tally(1, 0), "m2": Tally(1, 0)}


async def test_the_same_at_once_is_one_vote(pool: Pool) -> None:
    """From as many replicas as like; of opposite ones that come at once, all memories have the same."""
    ids = [f"m{n}" for n in range(5)]
    await remembered(pool, ADA, *ids)
    store = VoteStore(pool)
    same = await asyncio.gather(*(store.judge(ADA, ids, 1, answer_id=ANSWER) for _ in range(6)))
    assert sorted(map(len, same)) == [0, 0, 0, 0, 0, 5]
    both = [store.judge(ADA, ids[:: 1 - 2 * (n % 2)], (-1) ** n, answer_id=ANSWER) for n in range(8)]
    await asyncio.gather(*both)
    found = await store.tallies(ADA, ids)
    assert len({found[key] for key in ids}) == 1
    assert all(votes.positive + votes.negative == 1 for votes in found.values())


async def test_a_removal_waits_for_a_vote(pool: Pool) -> None:
    await remembered(pool, ADA, "m1")
    begun, go = asyncio.Event(), asyncio.Event()

    async def linger(_changed: Mapping[str, int]) -> None:
        begun.set()
        await go.wait()

    voting = asyncio.create_task(VoteStore(pool).cast(ADA, "m1", 1, answer_id=None, before_commit=linger))
    await begun.wait()
    removing = asyncio.create_task(pool.execute("DELETE FROM ibid.memory"))
    await asyncio.wait({removing}, timeout=0.1)
    assert not removing.done()
    go.set()
    assert await voting
    await removing


HOUR, DAY = 3_600.0, 86_400.0


@pytest.mark.parametrize(
    ("seconds", "name"),
    [
        (None, "new"),
        (0.0, "minutes"),
        (HOUR - 0.001, "minutes"),
        (HOUR, "hours"),
        (24 * HOUR - 0.001, "hours"),
        (24 * HOUR, "days"),
        (7 * DAY - 0.001, "days"),
        (7 * DAY, "weeks"),
        (31 * DAY - 0.001, "weeks"),
        (31 * DAY, "months"),
        (math.inf, "months"),
    ],
)
def test_buckets_end_where_the_contract_says(seconds: float | None, name: str) -> None:
    assert bucket(seconds) == name


async def test_an_answer_marks_its_user(pool: Pool) -> None:
    await AnswerStore(pool).keep(ADA, answered(), [Turn(Role.USER, "hello")])
    found = await TemporalStore(pool).last(ADA)
    assert found.bucket == "minutes"
    assert found.last_message_at is not None
    assert (datetime.now(UTC) - found.last_message_at).total_seconds() < 60
    assert 0 <= (found.seconds_since or 0) < 60
    for other in (replace(ADA, user_id="bob"), replace(ADA, tenant="other")):
        assert await TemporalStore(pool).last(other) == Moment("new")


async def test_the_time_is_the_database_s(pool: Pool) -> None:
    """Two days and a bit ago; a clock that was ahead is not in the future."""
    await pool.execute("INSERT INTO ibid.activity VALUES ('acme', 'ada', now() - interval '49 hours')")
    found = await TemporalStore(pool).last(ADA)
    assert found.bucket == "days"
    assert found.seconds_since == pytest.approx(49 * HOUR, abs=60)
    await pool.execute("UPDATE ibid.activity SET last_message_at = now() + interval '1 hour'")
    assert (await TemporalStore(pool).last(ADA)).seconds_since == 0


NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TURN = """
    INSERT INTO public.chat_log (tenant, user_id, thread_id, role, content, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)
"""
MEMORY = """
    INSERT INTO ibid.memory (id, tenant, user_id, text, kind, origin, place, tokens, space, embedding,
        created_at)
    VALUES (gen_random_uuid(), $1, $2, $3, $4, $5, 1, 1, 'fake@2', '[1,0]', $6)
"""


async def says(pool: Pool, text: str | None, *, hours: int = 0, role: str = "user", **who: str) -> None:
    place = (who.get("tenant", "acme"), who.get("user", "ada"), who.get("thread", "t"))
    await pool.execute(TURN, *place, role, text, NOON - timedelta(hours=hours))


async def keeps(
    pool: Pool,
    text: str,
    *,
    hours: int = 0,
    kind: str = "note",
    origin: str = "api",
    **who: str,
) -> None:
    place = (who.get("tenant", "acme"), who.get("user", "ada"))
    await pool.execute(MEMORY, *place, text, kind, origin, NOON - timedelta(hours=hours))


async def own(pool: Pool, limit: int = 10) -> list[str]:
    return [said.text for said in await UtteranceStore(pool).own(ADA, limit)]


async def test_what_others_said_is_not_there(pool: Pool) -> None:
    await says(pool, "answer", role="assistant")
    await says(pool, "bob's", user="bob")
    await says(pool, "elsewhere", tenant="other")
    await says(pool, None)
    await keeps(pool, "bob's", user="bob")
    await keeps(pool, "elsewhere", tenant="other")
    assert await own(pool) == []


@pytest.mark.parametrize(
    "memory",
    [
        pytest.param({"origin": ASSISTANT}, id="the assistant's"),
        pytest.param({"origin": DAEMONS[2], "kind": "style"}, id="a card of a daemon"),
        pytest.param({"kind": GRAVITY}, id="a profile that an older tool wrote"),
    ],
)
async def test_memories_that_are_not_own_words(pool: Pool, memory: dict[str, object]) -> None:
    await keeps(pool, "not mine", **memory)  # type: ignore[arg-type] # its own arguments
    assert await own(pool) == []


async def test_the_users_of_a_tenant(pool: Pool) -> None:
    await says(pool, "a", user="ada")
    await says(pool, "b", user="Zoë")
    await keeps(pool, "c", user="ada")
    await keeps(pool, "d", user="bob")
    await says(pool, "e", user="eve", tenant="other")
    await says(pool, "f", user="bot", role="assistant")
    store = UtteranceStore(pool)
    assert await store.speakers(ADA, "", 9) == ["Zoë", "ada", "bob"]
    assert await store.speakers(ADA, "ada", 9) == ["bob"]
    assert await store.speakers(ADA, "", 1) == ["Zoë"]
    assert await store.count(ADA) == 3
