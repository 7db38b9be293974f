"""`/memory_feedback`: one person's votes on their own memories (`domain/memory.Votes`, `ibid.memory_vote`).

A vote belongs to (tenant, user, memory, answer); one without an answer to its day, in UTC. Whose a memory is,
`ibid.memory` says; for points that older tools wrote the index is asked. Raises `Missing`, `Unavailable`, and
`RetrievalError` from `tallies`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from app.clients.pool import Pool
from app.domain.errors import Missing, RetrievalError, Unavailable
from app.domain.memory import Tallies, Tally, Told
from app.domain.passage import Scope
from app.stores.transaction import transaction

Foreign = Callable[[Scope, str], Awaitable[bool]]
"""Whether a point that is not in the record is the user's; raises `RetrievalError`."""
Mine = tuple[list[str], list[str]]
"""Ids of the user's: those in the record, and those that older tools wrote."""

# What is in the record, whoever's, is not asked for elsewhere: a removed memory's point goes a moment later.
KNOWN = """
    SELECT id, tenant = $1 AND user_id = $2 AS mine FROM ibid.memory WHERE id = ANY($3)
"""
# The row locks make a removal wait for the vote, and the vote for a removal. 0 deletes; without an answer it
# deletes the votes of all days, so that a vote of yesterday can be taken back too.
CAST = """
    WITH mine AS (
        SELECT id FROM ibid.memory
        WHERE tenant = $1 AND user_id = $2 AND id = ANY($3) FOR SHARE),
    voted (id, answer_id) AS (
        SELECT id, coalesce($5, 'day ' || to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD'))
        FROM (SELECT id FROM mine UNION SELECT unnest($4::text[])) AS each),
    before AS (
        SELECT vote.memory_id, vote.answer_id, vote.signal FROM ibid.memory_vote AS vote
        JOIN voted ON voted.id = vote.memory_id
        AND (voted.answer_id = vote.answer_id OR $5 IS NULL AND $6 = 0 AND vote.answer_id LIKE 'day %')
        WHERE vote.tenant = $1 AND vote.user_id = $2),
    withdrawn AS (
        DELETE FROM ibid.memory_vote AS vote USING before
        WHERE $6 = 0 AND vote.tenant = $1 AND vote.user_id = $2
        AND vote.memory_id = before.memory_id AND vote.answer_id = before.answer_id),
    cast_now AS (
        INSERT INTO ibid.memory_vote AS vote (tenant, user_id, memory_id, answer_id, signal)
        SELECT $1, $2, id, answer_id, $6 FROM voted WHERE $6 <> 0
        ON CONFLICT (tenant, user_id, memory_id, answer_id) DO UPDATE
        SET signal = excluded.signal, created_at = now() WHERE vote.signal <> excluded.signal)
    SELECT id, ($6 - coalesce(sum(before.signal), 0))::int AS change
    FROM voted LEFT JOIN before ON before.memory_id = voted.id
    GROUP BY id HAVING count(before.signal) <> abs($6) OR $6 <> coalesce(sum(before.signal), 0) ORDER BY id
"""
# First, so that everybody takes this lock before those of rows: an erasure under way is waited for.
STANDS = "SELECT ibid.user_stands($1, $2, now())"
# One user's votes take turns: each sees what the one before it left.
TURN = """
    SELECT pg_advisory_xact_lock(
        hashtextextended(concat_ws(chr(31), 'ibid.memory_vote', $1::text, $2::text), 0))
"""
COUNT = """
    SELECT memory_id, count(*) FILTER (WHERE signal > 0) AS positive,
        count(*) FILTER (WHERE signal < 0) AS negative
    FROM ibid.memory_vote WHERE tenant = $1 AND user_id = $2 AND memory_id = ANY($3) GROUP BY memory_id
"""


async def nobody(_scope: Scope, _memory_id: str) -> bool:
    """Where there are no points but ours."""
    return False


class VoteStore:
    """The votes. What changes with one is the next ranking of whoever cast it, on every replica: boosts are
    reckoned after the cache, so that no version need grow."""

    def __init__(self, pool: Pool, foreign: Foreign = nobody) -> None:
        self._pool = pool
        self._foreign = foreign

    async def cast(
        self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None, told: Told | None = None
    ) -> bool:
        """One vote, or (0) none. False: it was so already. `Missing`: the memory is not the user's."""
        mine = await self._mine(scope, [memory_id])
        if not any(mine):
            raise Missing("there is no such memory")
        return bool(await self._cast(scope, mine, (answer_id, signal), told))

    async def judge(
        self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str, told: Told | None = None
    ) -> list[str]:
        """The same vote on each, all or none; those it changed, in their order."""
        mine = await self._mine(scope, ids)
        changed = await self._cast(scope, mine, (answer_id, signal), told) if any(mine) else set()
        return [key for key in dict.fromkeys(ids) if key in changed]

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        """The user's votes; memories without any are left out."""
        if not ids or not scope.user_id:
            return Tallies()
        with self._pool.reading():
            rows = await self._pool.fetch(COUNT, scope.tenant, scope.user_id, list(ids))
        return Tallies({row["memory_id"]: Tally(row["positive"], row["negative"]) for row in rows})

    async def _mine(self, scope: Scope, ids: Sequence[str]) -> Mine:
        """Those of the record, and those of older tools, that are the user's."""
        if not scope.user_id:
            return [], []
        with self._pool.asking():
            rows = await self._pool.fetch(KNOWN, scope.tenant, scope.user_id, list(ids))
        mine = {row["id"]: bool(row["mine"]) for row in rows}
        try:
            foreign = [key for key in ids if key not in mine and await self._foreign(scope, key)]
        except RetrievalError as error:
            raise Unavailable("the index of memories does not answer") from error
        return [key for key, is_mine in mine.items() if is_mine], foreign

    async def _cast(
        self, scope: Scope, mine: Mine, vote: tuple[str | None, int], told: Told | None
    ) -> set[str]:
        """Write a vote (its answer, its signal); the memories whose vote is another now."""
        try:
            async with transaction(self._pool) as connection:
                if not await connection.fetchval(STANDS, scope.tenant, scope.user_id):
                    raise Missing("its owner was erased")
                await connection.execute(TURN, scope.tenant, scope.user_id)
                rows = await connection.fetch(CAST, scope.tenant, scope.user_id, *mine, *vote)
                changed = {row["id"]: row["change"] for row in rows}
                if told and changed:
                    await telling(told, changed)
        except NotTold as error:
            raise error.fault from error
        return set(changed)


class NotTold(Exception):
    """Whoever was to be told of votes did not take them; it says nothing of Postgres."""

    def __init__(self, fault: Unavailable) -> None:
        super().__init__(fault.detail)
        self.fault = fault


async def telling(told: Told, changed: Mapping[str, int]) -> None:
    """Tell of votes. Raises `NotTold`."""
    try:
        await told(changed)
    except Unavailable as error:
        raise NotTold(error) from error
