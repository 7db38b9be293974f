"""`public.chat_log`, the turns of every thread (`ports.ChatLog`; seed 003 §2.2), and `ibid.activity`.

A thread is keyed (tenant, owner, id). None given: the session's, else the user's default thread, whose id
is "" and which is told from other users' by the user. Other tools may write the table too: rows are ordered
by time, then id; roles that are not turns are passed over. Raises `RetrievalError` (reads), `Unavailable`.
"""

from collections.abc import Sequence

from app.clients.faults import retrieval_faults
from app.clients.pool import Pool
from app.domain.passage import Scope
from app.domain.prompt import Role, Turn
from app.stores.text import storable
from app.stores.transaction import transaction

THREAD = """
    tenant = $1 AND owner = $2 AND thread_id = $3 AND (thread_id <> '' OR user_id IS NOT DISTINCT FROM $4)
"""
TURNS = f"""
    SELECT role, content, created_at FROM public.chat_log
    WHERE {THREAD} AND role IN ('user', 'assistant') AND content IS NOT NULL
    ORDER BY created_at DESC NULLS LAST, id DESC LIMIT $5
"""  # noqa: S608 - a constant of ours
# A write that timed out may have been committed; the caller repeats it, and it is kept once. It is looked
# for among the newest: repeats come within minutes.
KEPT = f"""
    SELECT true FROM (
        SELECT answer_id FROM public.chat_log WHERE {THREAD} ORDER BY id DESC LIMIT 500) AS newest
    WHERE answer_id = $5 LIMIT 1
"""  # noqa: S608 - a constant of ours
# Turns of one instant stay in order: a microsecond apart.
ADD = """
    INSERT INTO public.chat_log
        (tenant, owner, thread_id, user_id, session_id, project, answer_id, role, content, created_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, role, content, coalesce(at, now()) + n * interval '1 microsecond'
    FROM unnest($8::text[], $9::text[], $10::timestamptz[]) WITH ORDINALITY AS turn (role, content, at, n)
    ORDER BY n
"""
ACTIVE = """
    INSERT INTO ibid.activity AS activity (tenant, user_id, last_message_at) VALUES ($1, $2, now())
    ON CONFLICT (tenant, user_id) DO UPDATE
    SET last_message_at = greatest(activity.last_message_at, excluded.last_message_at)
"""


class ChatLogStore:
    """The chat log."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def turns(self, scope: Scope, limit: int) -> list[Turn]:
        """The newest `limit` turns of the scope's thread, oldest first. Raises `RetrievalError`."""
        with retrieval_faults():
            rows = await self._pool.fetch(TURNS, *thread(scope), limit)
        return [Turn(Role(row["role"]), row["content"], row["created_at"]) for row in reversed(rows)]

    async def add(self, scope: Scope, turns: Sequence[Turn], *, answer_id: str) -> None:
        """Keep turns, in order, all or none, and mark the user's activity; again changes nothing."""
        roles = [turn.role.value for turn in turns]
        contents = [storable(turn.content) for turn in turns]
        times = [turn.at for turn in turns]
        place = (*thread(scope), scope.session_id, scope.project, answer_id)
        async with transaction(self._pool) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", answer_id)
            if await connection.fetchval(KEPT, *thread(scope), answer_id):
                return
            await connection.execute(ADD, *place, roles, contents, times)
            if user := scope.user_id or scope.owner:
                await connection.execute(ACTIVE, scope.tenant, user)


def thread(scope: Scope) -> tuple[str, str, str, str | None]:
    """The arguments of THREAD."""
    return scope.tenant, scope.owner, scope.thread_id or scope.session_id or "", scope.user_id
