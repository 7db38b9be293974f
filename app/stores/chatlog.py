"""`public.chat_log`, the turns of every thread (`ports.ChatLog`; seed 003 §2.2), read.

A thread is keyed (tenant, owner, id). None given: the session's, else the user's default thread, whose id
is "" and which is told from other users' by the user. Other tools may write the table too: rows are ordered
by time, then id; roles that are not turns are passed over. Raises `RetrievalError`, `Unavailable`.
"""

from collections.abc import Sequence

import asyncpg

from app.clients.pool import Pool
from app.domain.passage import Scope
from app.domain.prompt import Role, Turn

THREAD = """
    tenant = $1 AND owner = $2 AND thread_id = $3 AND (thread_id <> '' OR user_id IS NOT DISTINCT FROM $4)
"""
TURNS = f"""
    SELECT role, content, created_at, id::text AS key FROM public.chat_log
    WHERE {THREAD} AND role IN ('user', 'assistant') AND content IS NOT NULL
    ORDER BY created_at DESC NULLS LAST, id DESC LIMIT $5
"""  # noqa: S608 - a constant of ours
# Of an older tool's table the ids may be of any type: they are compared as what they are.
THESE = f"""
    SELECT role, content, created_at, id::text AS key FROM public.chat_log
    WHERE {THREAD} AND role IN ('user', 'assistant') AND content IS NOT NULL AND id IN (
        SELECT (jsonb_populate_record(NULL::public.chat_log, jsonb_build_object('id', key))).id
        FROM unnest($5::text[]) AS wanted (key))
"""  # noqa: S608 - a constant of ours


class ChatLogStore:
    """The chat log."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def turns(self, scope: Scope, limit: int) -> list[Turn]:
        """The newest `limit` turns of the scope's thread, oldest first. Raises `RetrievalError`."""
        with self._pool.reading():
            rows = await self._pool.fetch(TURNS, *thread(scope), limit)
        return [turn(row) for row in reversed(rows)]

    async def these(self, scope: Scope, ids: Sequence[str]) -> dict[str, Turn]:
        """Those turns of the scope's thread that are there, by id. Raises `Unavailable`."""
        if not ids:
            return {}
        with self._pool.asking():
            rows = await self._pool.fetch(THESE, *thread(scope), list(ids))
        return {row["key"]: turn(row) for row in rows}


def turn(row: asyncpg.Record) -> Turn:
    """A row as the turn it is."""
    return Turn(Role(row["role"]), row["content"], row["created_at"], row["key"])


def thread(scope: Scope) -> tuple[str, str, str, str | None]:
    """The arguments of THREAD."""
    return scope.tenant, scope.owner, scope.thread, scope.user_id
