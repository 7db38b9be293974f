"""Votes on memories, last activity, and a person's own utterances.

A vote belongs to (tenant, user, memory, answer), or without an answer to its UTC day. Activity is recorded
with an answer, at its end, by Postgres's clock. Utterances are a person's turns in all threads and the
memories that no daemon and no assistant wrote, newest first. Raises `Missing`, `Unavailable`,
`RetrievalError`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.db.answers import SEEN
from app.db.memories import DESIRE, EXCLUDED_ORIGINS, GRAVITY, BeforeCommit, Moment, Rating, Tallies, Tally
from app.db.pool import RETRY_SECONDS, Pool
from app.db.rows import Connection, check_not_erased, is_id, take_turns, transaction
from app.errors import Missing, RemovedMeanwhile, Unavailable, required
from app.types import Scope

Foreign = Callable[[Scope, str], Awaitable[bool]]
"""True if a point that is not in Postgres is the user's; raises `RetrievalError`."""
Mine = tuple[list[str], list[str]]
"""The user's ids: those in Postgres, and those that older tools wrote."""

# Any row in Postgres is decided here: a removed memory's point disappears a moment later.
KNOWN = """
    SELECT id, tenant = $1 AND user_id = $2 AS mine FROM ibid.memory WHERE id = ANY($3)
"""
# The row locks make a removal wait for the vote, and the vote for a removal. 0 deletes; without an answer it
# deletes the votes of all days, so that yesterday's vote can be withdrawn too.
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
COUNT = """
    SELECT memory_id, count(*) FILTER (WHERE signal > 0) AS positive,
        count(*) FILTER (WHERE signal < 0) AS negative
    FROM ibid.memory_vote WHERE tenant = $1 AND user_id = $2 AND memory_id = ANY($3) GROUP BY memory_id
"""


RATE = f"UPDATE ibid.answer SET rating = $5 WHERE tenant = $1 AND {SEEN} RETURNING true"  # noqa: S608 - a constant


async def nobody(_scope: Scope, _memory_id: str) -> bool:
    return False


class VoteStore:
    """A vote raises no version: boosts are computed after the cache."""

    def __init__(self, pool: Pool, foreign: Foreign = nobody) -> None:
        self._pool = pool
        self._foreign = foreign

    async def cast(
        self,
        scope: Scope,
        memory_id: str,
        signal: int,
        *,
        answer_id: str | None,
        before_commit: BeforeCommit | None = None,
    ) -> bool:
        mine = await self._mine(scope, [memory_id])
        if not any(mine):
            raise Missing("there is no such memory")
        return bool(await self._cast(scope, mine, (answer_id, signal), before_commit))

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
        mine = await self._mine(scope, ids) if ids else ([], [])
        if not any(mine) and rating is None:
            return []
        changed = await self._cast(scope, mine, (answer_id, signal), before_commit, rating)
        return [key for key in dict.fromkeys(ids) if key in changed]

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        if not ids or not scope.user_id:
            return Tallies()
        with self._pool.reading():
            rows = await self._pool.fetch(COUNT, scope.tenant, scope.user_id, list(ids))
        return Tallies({row["memory_id"]: Tally(row["positive"], row["negative"]) for row in rows})

    async def _mine(self, scope: Scope, ids: Sequence[str]) -> Mine:
        if not scope.user_id:
            return [], []
        with self._pool.asking():
            rows = await self._pool.fetch(KNOWN, scope.tenant, scope.user_id, list(ids))
        mine = {row["id"]: bool(row["mine"]) for row in rows}
        with required("the index of memories"):
            foreign = [key for key in ids if key not in mine and await self._foreign(scope, key)]
        return [key for key, is_mine in mine.items() if is_mine], foreign

    async def _cast(
        self,
        scope: Scope,
        mine: Mine,
        vote: tuple[str | None, int],
        before_commit: BeforeCommit | None,
        rating: Rating | None = None,
    ) -> set[str]:
        owner = (scope.tenant, scope.user_id or "")
        try:
            async with transaction(self._pool) as connection:
                # First, so that all take this lock before those of rows.
                await check_not_erased(connection, *owner)
                await take_turns(connection, "ibid.memory_vote", *owner)
                rows = await connection.fetch(CAST, *owner, *mine, *vote)
                changed = {row["id"]: row["change"] for row in rows}
                if rating and not await rate(connection, rating, str(vote[0])) and rating.required:
                    raise Unstored
                if before_commit and changed:
                    await forward(before_commit, changed)
        except NotForwarded as error:
            raise error.fault from error
        except RemovedMeanwhile as error:
            raise Missing("its owner was erased") from error
        except Unstored:
            raise Unavailable("the answer is not stored yet", retry_after=RETRY_SECONDS) from None
        return set(changed)


async def rate(connection: Connection, rating: Rating, answer_id: str) -> bool:
    """False: the answer is not stored, or not for this reader."""
    seen = (rating.scope.tenant, rating.scope.owner, answer_id, rating.scope.user_id)
    return is_id(answer_id) and bool(await connection.fetchval(RATE, *seen, rating.value))


class Unstored(Exception):
    """The answer of a rating is not stored yet."""


class NotForwarded(Exception):
    """Wraps an error of `before_commit`, which is no failure of Postgres."""

    def __init__(self, fault: Unavailable) -> None:
        super().__init__(fault.detail)
        self.fault = fault


async def forward(before_commit: BeforeCommit, changed: Mapping[str, int]) -> None:
    try:
        await before_commit(changed)
    except Unavailable as error:
        raise NotForwarded(error) from error


DAY = 86_400.0
BUCKETS = (("minutes", 3_600.0), ("hours", DAY), ("days", 7 * DAY), ("weeks", 31 * DAY))
"""Each with its end in seconds."""
LAST = """
    SELECT last_message_at, greatest(extract(epoch FROM now() - last_message_at), 0)::float8 AS seconds
    FROM ibid.activity WHERE tenant = $1 AND user_id = $2
"""


class TemporalStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def last(self, scope: Scope) -> Moment:
        if not scope.user_id:
            return Moment(bucket(None))
        with self._pool.reading():
            row = await self._pool.fetchrow(LAST, scope.tenant, scope.user_id)
        if row is None:
            return Moment(bucket(None))
        return Moment(bucket(row["seconds"]), row["last_message_at"], row["seconds"])


def bucket(seconds: float | None) -> str:
    if seconds is None:
        return "new"
    return next((name for name, end in BUCKETS if seconds < end), "months")


@dataclass(frozen=True, slots=True)
class OwnMessage:
    text: str
    at: datetime


OURS = "origin <> ALL($3) AND kind <> ALL($4)"
TOLD_CHARS = 2_000
"""Characters read of a message: rules look at each word, and a long pasted text says no more."""
# Two indexes, each read to `limit` at most; messages are deduplicated by text.
OWN = f"""
    WITH said AS (
        SELECT left(content, {TOLD_CHARS}) AS text, created_at AS at FROM public.chat_log
        WHERE tenant = $1 AND user_id = $2 AND role = 'user' AND content IS NOT NULL
        AND created_at IS NOT NULL
        ORDER BY created_at DESC LIMIT $5),
    kept AS (
        SELECT left(text, {TOLD_CHARS}) AS text, created_at AS at FROM ibid.memory
        WHERE tenant = $1 AND user_id = $2 AND {OURS}
        ORDER BY created_at DESC, id LIMIT $5)
    SELECT text, at FROM (
        SELECT text, at FROM said
        UNION ALL SELECT text, at FROM kept WHERE text NOT IN (SELECT text FROM said)) AS own
    ORDER BY at DESC, text COLLATE "C" LIMIT $5
"""  # noqa: S608 - constants of ours
KNOWN_CARDS = """
    SELECT DISTINCT user_id COLLATE "C" AS speaker FROM (
        SELECT user_id FROM public.chat_log WHERE tenant = $1 AND role = 'user' AND user_id IS NOT NULL
        UNION ALL
        SELECT user_id FROM ibid.memory WHERE tenant = $1) AS known
"""
SPEAKERS = f'{KNOWN_CARDS} WHERE user_id COLLATE "C" > $2 ORDER BY speaker LIMIT $3'
COUNT_UTTERANCES = f"SELECT count(*) FROM ({KNOWN_CARDS}) AS speakers"  # noqa: S608 - constants of ours
PATIENCE_SECONDS = 20.0
"""Listing the users of a tenant reads all their turns."""


class UtteranceStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def own(self, scope: Scope, limit: int) -> list[OwnMessage]:
        where = (scope.tenant, scope.user_id, list(EXCLUDED_ORIGINS), [GRAVITY, DESIRE], limit)
        with self._pool.asking():
            rows = await self._pool.fetch(OWN, *where)
        return [OwnMessage(row["text"], row["at"]) for row in rows]

    async def speakers(self, scope: Scope, after: str, limit: int) -> list[str]:
        """Users of the scope's tenant after the name `after` who said or stored something, in order."""
        with self._pool.asking():
            rows = await self._pool.fetch(SPEAKERS, scope.tenant, after, limit, timeout=PATIENCE_SECONDS)
        return [row["speaker"] for row in rows]

    async def count(self, scope: Scope) -> int:
        with self._pool.asking():
            found: int = await self._pool.fetchval(COUNT_UTTERANCES, scope.tenant, timeout=PATIENCE_SECONDS)
        return found
