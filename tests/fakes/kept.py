"""Rows as the write side would have left them, for tests of what reads and judges them."""

from datetime import UTC, datetime

from app.answer import Answer, Citation, Finish, Usage, new_id
from app.db.pool import Pool
from app.types import Reason, Scope, Trace

MEMORY = """
    INSERT INTO ibid.memory
        (id, tenant, user_id, text, kind, origin, place, tokens, space, embedding)
    VALUES ($1, $2, $3, 'words', 'note', 'api', 1, 1, 'fake@2', '[1,0]')
"""
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


async def remembered(pool: Pool, scope: Scope, *ids: str) -> None:
    """Memories of the scope's user."""
    for key in ids:
        await pool.execute(MEMORY, key, scope.tenant, scope.user_id)


def answered(*ids: str, text: str = "Swim [memory#1].", key: str = "", source: str = "memories") -> Answer:
    """An answer that was given these memories."""
    citations = tuple(
        Citation(f"memory#{n}", source, one, "", None, None, None) for n, one in enumerate(ids, 1)
    )
    return Answer(
        id=key or new_id(),
        endpoint="/rag/query",
        question="What now?",
        text=text,
        model="m",
        finish=Finish.STOP,
        citations=citations,
        cited=(),
        unknown=(),
        prompt_sha256="",
        trace=Trace(Reason.OK),
        usage=Usage(),
        created_at=NOW,
    )
