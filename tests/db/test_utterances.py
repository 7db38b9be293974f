"""What a person said and kept in their own words."""

from datetime import UTC, datetime, timedelta

import pytest

from app.db.memories import ASSISTANT, DAEMONS, GRAVITY
from app.db.pool import Pool
from app.db.votes import TOLD_CHARS, UtteranceStore
from app.errors import Unavailable
from app.types import Scope

ADA = Scope("acme", user_id="ada")
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
    """A turn, so many hours before noon."""
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
    """A memory, so many hours before noon."""
    place = (who.get("tenant", "acme"), who.get("user", "ada"))
    await pool.execute(MEMORY, *place, text, kind, origin, NOON - timedelta(hours=hours))


async def own(pool: Pool, limit: int = 10) -> list[str]:
    """Ada's words."""
    return [said.text for said in await UtteranceStore(pool).own(ADA, limit)]


async def test_own_words_of_all_threads_and_memories(pool: Pool) -> None:
    """The newest first."""
    await says(pool, "third", hours=3)
    await says(pool, "first", hours=1, thread="other")
    await keeps(pool, "second", hours=2)
    assert await own(pool) == ["first", "second", "third"]
    assert await own(pool, 2) == ["first", "second"]


async def test_of_a_long_message_the_beginning_is_read(pool: Pool) -> None:
    """Rules look at each word of hundreds of messages. Said and kept, it still counts once."""
    long = "word " * 6_000
    await says(pool, long)
    await keeps(pool, long)
    assert await own(pool) == [long[:TOLD_CHARS]]


async def test_times_are_told(pool: Pool) -> None:
    """UTC, as they were written."""
    await says(pool, "an hour ago", hours=1)
    [said] = await UtteranceStore(pool).own(ADA, 1)
    assert said.at == NOON - timedelta(hours=1)


async def test_what_others_said_is_not_there(pool: Pool) -> None:
    """The assistant, other users, other tenants, rows without words."""
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
    """A card computed from cards would feed on itself."""
    await keeps(pool, "not mine", **memory)  # type: ignore[arg-type] # its own arguments
    assert await own(pool) == []


async def test_what_was_said_and_remembered_counts_once(pool: Pool) -> None:
    """What was said twice counts twice."""
    for hours in (1, 2):
        await says(pool, "I need rest", hours=hours)
    await keeps(pool, "I need rest")
    assert await own(pool) == ["I need rest", "I need rest"]


async def test_the_users_of_a_tenant(pool: Pool) -> None:
    """Each once, in the order of their names' bytes, after whoever was the last."""
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


async def test_a_record_that_is_away(pool: Pool) -> None:
    """Is told as such."""
    await pool.close()
    store = UtteranceStore(pool)
    with pytest.raises(Unavailable):
        await store.own(ADA, 1)
    with pytest.raises(Unavailable):
        await store.speakers(ADA, "", 1)
    with pytest.raises(Unavailable):
        await store.count(ADA)
