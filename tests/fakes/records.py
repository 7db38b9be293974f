"""Rows as their writers would have left them: of projects, as other tools write them; memories and answers;
turns of a thread."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from app.answer import Answer, Citation, Finish, Turn, Usage, new_id
from app.db.answers import AnswerStore
from app.db.pool import Pool
from app.types import Reason, Scope, Trace
from tests.db.test_answers import ANSWER
from tests.fakes.filing import bag

CONVERSATION, CHUNK = "public.conversation_index", "public.code_index"


async def insert(pool: Pool, table: str, *rows: dict[str, Any]) -> list[str]:
    """Rows by their columns; their ids."""
    key = "session_id" if table == CONVERSATION else "id"
    ids: list[str] = []
    async with pool.acquire() as connection, connection.transaction():
        for row in rows:
            names = ", ".join(row)
            values = ", ".join(f"${n}" for n in range(1, len(row) + 1))
            statement = f"INSERT INTO {table} ({names}) VALUES ({values}) RETURNING {key}::text"  # noqa: S608
            ids.append(await connection.fetchval(statement, *row.values()))
    return ids


def conversation(scope: Scope, project: str | None, text: str, **columns: Any) -> dict[str, Any]:
    told = {"tenant": scope.tenant, "owner": scope.owner, "project": project, "summary_detailed": text}
    return told | {"embedding": bag(text)} | columns


def chunk(scope: Scope, project: str, text: str, **columns: Any) -> dict[str, Any]:
    told = {"tenant": scope.tenant, "owner": scope.owner, "project": project, "chunk_text": text}
    return told | {"embedding": bag(text)} | columns


async def told(pool: Pool, scope: Scope, project: str | None, texts: Sequence[str]) -> list[str]:
    """Conversations, or dreams, one a text; their ids."""
    return await insert(pool, CONVERSATION, *(conversation(scope, project, text) for text in texts))


async def chunked(pool: Pool, scope: Scope, project: str, texts: Sequence[str]) -> list[str]:
    """Code, a chunk a text; their ids."""
    return await insert(pool, CHUNK, *(chunk(scope, project, text, file_path="a.py") for text in texts))


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


async def tell(pool: Pool, scope: Scope, turns: Sequence[Turn], *, answer_id: str = "a") -> None:
    """Keep them; the same answer again adds none."""
    answer = replace(ANSWER, id=answer_id, created_at=datetime.now(UTC))
    await AnswerStore(pool).keep(scope, answer, turns)
