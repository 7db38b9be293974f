"""The record of memories, on a real Postgres."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.db.memories import DAEMONS, GRAVITY, Draft, Memory, MemoryStore, Outcome, Written
from app.db.pool import Pool
from app.db.votes import VoteStore
from app.errors import InvalidField, RemovedMeanwhile
from app.retrieval.terms import pack
from app.types import Scope
from tests.fakes.keeping import ADA, NOON
from tests.fakes.uploads import SPACE, vector

LATER = datetime(2999, 1, 1, tzinfo=UTC)
"""After every erasure."""
BOB = replace(ADA, user_id="bob")
OTHERS = [
    pytest.param(BOB, id="another user"),
    pytest.param(replace(ADA, tenant="other"), id="another tenant"),
]
CARD = Draft("likes rest", kind=GRAVITY, origin=DAEMONS[0], fields={"weights": {"rest": 0.5}})
VERSION = "SELECT version FROM ibid.memory_user WHERE tenant = 'acme' AND user_id = 'ada'"


async def admitted(pool: Pool, *drafts: Draft, scope: Scope = ADA, since: datetime = LATER) -> list[Written]:
    """What becomes of drafts in the record."""
    vectors, counts = [vector(draft.text) for draft in drafts], [len(draft.text) for draft in drafts]
    return await MemoryStore(pool).admit(scope, drafts, vectors, counts, SPACE.name, since=since)


async def written(pool: Pool, *drafts: Draft, scope: Scope = ADA) -> list[Memory]:
    """Those of the drafts that are new."""
    outcomes = await admitted(pool, *drafts, scope=scope)
    return [each.memory for each in outcomes if each.memory and each.outcome is Outcome.CREATED]


async def listed(pool: Pool, scope: Scope = ADA) -> list[str]:
    """The texts of a user's memories, newest first."""
    return [memory.text for memory in (await MemoryStore(pool).list(scope, cursor=None, limit=99))[0]]


async def test_a_memory_is_kept_with_all_it_came_with(pool: Pool) -> None:
    """Every field comes back as it was given."""
    draft = Draft("I moved.", "diary", ("home",), "journal", "work", "t1", NOON, {"mood": ["good", 1]})

    (memory,) = await written(pool, draft)

    assert memory == Memory(
        memory.id, "ada", "I moved.", 8, NOON, "diary", ("home",), "journal", "work", "t1", 1, draft.fields
    )
    assert await MemoryStore(pool).get(ADA, memory.id) == memory


async def test_the_same_words_are_the_same_memory(pool: Pool) -> None:
    """Case and white space aside; the first one stands, with its time."""
    (first,) = await written(pool, Draft("I moved to Lyon."))

    (again,) = await admitted(pool, Draft("  i MOVED\nto lyon. ", created_at=NOON))

    assert again == Written(Outcome.REPEATED, first)
    drafts = [Draft("I moved  to Lyon."), Draft("I slept.")]
    assert await MemoryStore(pool).known(ADA, drafts) == {first.id: first}


async def test_twice_in_one_request_is_once(pool: Pool) -> None:
    """The second is told the first."""
    one, two = await admitted(pool, Draft("I moved."), Draft("i moved."))

    assert (one.outcome, two.outcome) == (Outcome.CREATED, Outcome.REPEATED)
    assert two.memory == one.memory


@pytest.mark.parametrize("other", OTHERS)
async def test_another_s_words_are_another_s_memory(pool: Pool, other: Scope) -> None:
    """Nobody's memory is told by whether one's own is new; nor shown, nor removed."""
    (memory,) = await written(pool, Draft("I moved."))
    store = MemoryStore(pool)

    assert (await admitted(pool, Draft("I moved."), scope=other))[0].outcome is Outcome.CREATED
    assert await store.get(other, memory.id) is None
    assert not await store.remove(other, memory.id)
    assert await listed(pool) == ["I moved."]


async def test_a_namespace_has_memories_of_its_own(pool: Pool) -> None:
    """The same words in two are two."""
    await written(pool, Draft("I moved."))

    (there,) = await admitted(pool, Draft("I moved.", vantage_id="work"))

    assert there.outcome is Outcome.CREATED
    assert list(await MemoryStore(pool).known(ADA, [Draft("I moved.", vantage_id="home")])) == []


async def test_places_count_in_each_thread(pool: Pool) -> None:
    """From 1, in order of writing; a card has none."""
    one = await written(pool, Draft("a", thread_id="t1"), Draft("b", thread_id="t2"), CARD, Draft("c"))
    two = await written(pool, Draft("d", thread_id="t1"), Draft("e"))

    assert [memory.place for memory in one] == [1, 1, 0, 1]
    assert [memory.place for memory in two] == [2, 2]


async def test_writers_who_race_get_places_of_their_own(pool: Pool) -> None:
    """As on two replicas: no number twice, none left out, the same words once."""
    drafts = [Draft(f"note {n % 15}", thread_id="t1") for n in range(20)]

    outcomes = await asyncio.gather(*(written(pool, draft) for draft in drafts))

    places = [memory.place for found in outcomes for memory in found]
    rows = await pool.fetch("SELECT place FROM ibid.memory ORDER BY place")
    assert len(rows) == 15
    assert len({row["place"] for row in rows}) == 15
    assert len(places) >= 15


async def test_a_card_of_a_daemon_replaces_itself(pool: Pool) -> None:
    """By its kind, however its text changes."""
    (first,) = await written(pool, CARD)

    (second,) = await written(pool, replace(CARD, text="likes play", fields={"weights": {}}))

    assert (second.id, second.text, second.fields) == (first.id, "likes play", {"weights": {}})
    assert await listed(pool) == ["likes play"]


async def test_every_change_that_a_search_sees_grows_the_version(pool: Pool) -> None:
    """Written and removed, not repeated: caches and replicas compare it."""
    seen = []
    (memory,) = await written(pool, Draft("I moved."))
    seen.append(await pool.fetchval(VERSION))
    await MemoryStore(pool).remove(ADA, memory.id)
    seen.append(await pool.fetchval(VERSION))
    await written(pool, Draft("I moved."), Draft("i moved."))
    seen.append(await pool.fetchval(VERSION))
    await written(pool, Draft("I moved."))

    assert [*seen, await pool.fetchval(VERSION)] == [1, 2, 3, 3]


async def test_its_terms_are_kept_with_it(pool: Pool) -> None:
    """As the index of the user loads them."""
    await written(pool, Draft("I moved to Lyon."))

    assert await pool.fetchval("SELECT terms FROM ibid.memory") == pack("I moved to Lyon.")


async def test_a_removed_memory_is_gone_with_its_votes(pool: Pool) -> None:
    """At once; once."""
    (memory,) = await written(pool, Draft("I moved."))
    await VoteStore(pool).cast(ADA, memory.id, 1, answer_id="a")
    store = MemoryStore(pool)

    assert await store.remove(ADA, memory.id)

    assert not await store.remove(ADA, memory.id)
    assert await store.get(ADA, memory.id) is None
    assert await listed(pool) == []
    for table in ("memory", "memory_vote"):
        assert await pool.fetchval(f"SELECT count(*) FROM ibid.{table}") == 0  # noqa: S608 - the two above


async def test_a_tenant_key_removes_any_user_s(pool: Pool) -> None:
    """Without a user in its scope."""
    (memory,) = await written(pool, Draft("I moved."))

    assert await MemoryStore(pool).remove(Scope("acme"), memory.id)


async def test_pages_hold_each_once_newest_first(pool: Pool) -> None:
    """Also where times are equal."""
    drafts = [Draft(f"n{n}", created_at=NOON + timedelta(hours=n // 3)) for n in range(10)]
    await written(pool, *drafts)
    store, cursor, pages = MemoryStore(pool), None, []
    while True:
        page, cursor = await store.list(ADA, cursor=cursor, limit=3)
        pages.append(page)
        if cursor is None:
            break

    times = [memory.created_at for page in pages for memory in page]
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert times == sorted(times, reverse=True)
    assert len({memory.id for page in pages for memory in page}) == 10


async def test_a_cursor_of_somebody_else_s_making_is_refused(pool: Pool) -> None:
    """Naming the parameter."""
    with pytest.raises(InvalidField) as refused:
        await MemoryStore(pool).list(ADA, cursor="nonsense", limit=3)
    assert refused.value.field == "query.cursor"


async def test_nothing_asked_for_before_an_erasure_is_kept(pool: Pool) -> None:
    """What was said since is."""
    await pool.execute(
        "INSERT INTO ibid.memory_user (tenant, user_id, erased_at) VALUES ('acme', 'ada', $1)", NOON
    )

    with pytest.raises(RemovedMeanwhile):
        await admitted(pool, Draft("before"), since=NOON - timedelta(seconds=1))

    assert (await admitted(pool, Draft("since"), since=NOON + timedelta(seconds=1)))[0].memory
    assert (await admitted(pool, Draft("an import", created_at=NOON - timedelta(days=9))))[0].memory


async def test_time_is_postgres_s(pool: Pool) -> None:
    """The one that erasures are dated by."""
    before = await pool.fetchval("SELECT clock_timestamp()")

    assert before < await MemoryStore(pool).clock() < await pool.fetchval("SELECT clock_timestamp()")


async def test_drafts_without_a_time_are_of_now_and_in_order(pool: Pool) -> None:
    """By Postgres's clock, a microsecond apart."""
    one, two = await written(pool, Draft("a"), Draft("b"))

    assert one.created_at < two.created_at
    assert abs(datetime.now(UTC) - one.created_at) < timedelta(minutes=5)


async def test_memories_are_a_user_s(pool: Pool) -> None:
    """A scope without one is a fault of ours, told at once."""
    with pytest.raises(ValueError, match="user"):
        await MemoryStore(pool).list(Scope("acme"), cursor=None, limit=1)
    assert not await MemoryStore(pool).remove(ADA, "\0")
    assert await MemoryStore(pool).get(ADA, "\0") is None
