"""What a person said and kept in their own words (`domain/profile.Utterances`): turns of all their threads,
and memories that no daemon and no assistant wrote.

What was said in a chat and remembered counts once. Read only; the newest first. Raises `Unavailable`.
"""

from app.clients.pool import Pool
from app.domain.memory import DESIRE, GRAVITY, UNTOLD
from app.domain.passage import Scope
from app.domain.weights import Said

OURS = "origin <> ALL($3) AND kind <> ALL($4)"
TOLD_CHARS = 2_000
"""Of a message are read: rules look at each word, and more of a pasted text says no more of a person."""
# Two indexes, each read to `limit` at most; a message is known by its words.
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
KNOWN = """
    SELECT DISTINCT user_id COLLATE "C" AS speaker FROM (
        SELECT user_id FROM public.chat_log WHERE tenant = $1 AND role = 'user' AND user_id IS NOT NULL
        UNION ALL
        SELECT user_id FROM ibid.memory WHERE tenant = $1) AS known
"""
SPEAKERS = f'{KNOWN} WHERE user_id COLLATE "C" > $2 ORDER BY speaker LIMIT $3'
COUNT = f"SELECT count(*) FROM ({KNOWN}) AS speakers"  # noqa: S608 - constants of ours
PATIENCE_SECONDS = 20.0
"""For the users of a tenant: all their turns are looked at."""


class UtteranceStore:
    """Own words."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def own(self, scope: Scope, limit: int) -> list[Said]:
        """The newest `limit` of the scope's user."""
        where = (scope.tenant, scope.user_id, list(UNTOLD), [GRAVITY, DESIRE], limit)
        with self._pool.asking():
            rows = await self._pool.fetch(OWN, *where)
        return [Said(row["text"], row["at"]) for row in rows]

    async def speakers(self, scope: Scope, after: str, limit: int) -> list[str]:
        """Users of the scope's tenant, in the order of their names' bytes."""
        with self._pool.asking():
            rows = await self._pool.fetch(SPEAKERS, scope.tenant, after, limit, timeout=PATIENCE_SECONDS)
        return [row["speaker"] for row in rows]

    async def count(self, scope: Scope) -> int:
        """How many users that are."""
        with self._pool.asking():
            found: int = await self._pool.fetchval(COUNT, scope.tenant, timeout=PATIENCE_SECONDS)
        return found
