"""What a person heard in a conversation: what the assistant said there, and the memories it recalled.

Of the thread named, else of the user's default one; a thread that others speak in too gives only what was
said to this user or to nobody in particular. The newest, up to a bound. Raises `Unavailable`.
"""

from datetime import datetime

from app.clients.pool import Pool
from app.domain.passage import Scope

SAYINGS, RECALLS = 100, 50
"""Of the assistant, and answers whose memories are read again: an echo is of what was just heard."""

WITH_ME = "(user_id = $4 OR (user_id IS NULL AND $3 <> ''))"
# An answer that is written while its question's words are kept came after them: no echo of it yet.
SAID = f"""
    SELECT content FROM public.chat_log
    WHERE tenant = $1 AND owner = $2 AND thread_id = $3 AND {WITH_ME}
    AND role = 'assistant' AND content IS NOT NULL AND ($5::timestamptz IS NULL OR created_at < $5)
    ORDER BY created_at DESC NULLS LAST, id DESC LIMIT {SAYINGS}
"""  # noqa: S608 - constants of ours
RECALLED = f"""
    WITH recent AS (
        SELECT body FROM ibid.answer
        WHERE tenant = $1 AND owner = $2 AND coalesce(thread_id, session_id, '') = $3 AND {WITH_ME}
        AND ($5::timestamptz IS NULL OR created_at < $5)
        ORDER BY id DESC LIMIT {RECALLS}),
    seen AS (
        SELECT DISTINCT jsonb_path_query(body,
            '$.trace.entries[*] ? (@.verdict == "packed" && @.source == "memories").id') #>> '{{}}' AS id
        FROM recent)
    SELECT text FROM ibid.memory JOIN seen USING (id) WHERE tenant = $1 AND user_id = $4
"""  # noqa: S608 - constants of ours


class HeardStore:
    """Keeps services/memories.Heard."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def heard(self, scope: Scope, thread_id: str | None, before: datetime | None) -> list[str]:
        """Texts heard in the user's thread, before a time if one is given."""
        where = (scope.tenant, scope.owner, thread_id or "", scope.user_id, before)
        with self._pool.asking():
            said = await self._pool.fetch(SAID, *where)
            recalled = await self._pool.fetch(RECALLED, *where)
        return [row[0] for row in (*said, *recalled)]
