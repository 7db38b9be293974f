"""Rows of projects as other tools write them: plain INSERTs, bags of words for vectors, no words of ours."""

from collections.abc import Sequence
from typing import Any

from app.db.pool import Pool
from app.types import Scope
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
    """A row of conversation_index."""
    told = {"tenant": scope.tenant, "owner": scope.owner, "project": project, "summary_detailed": text}
    return told | {"embedding": bag(text)} | columns


def chunk(scope: Scope, project: str, text: str, **columns: Any) -> dict[str, Any]:
    """A row of code_index."""
    told = {"tenant": scope.tenant, "owner": scope.owner, "project": project, "chunk_text": text}
    return told | {"embedding": bag(text)} | columns


async def told(pool: Pool, scope: Scope, project: str | None, texts: Sequence[str]) -> list[str]:
    """Conversations, or dreams, one a text; their ids."""
    return await insert(pool, CONVERSATION, *(conversation(scope, project, text) for text in texts))


async def chunked(pool: Pool, scope: Scope, project: str, texts: Sequence[str]) -> list[str]:
    """Code, a chunk a text; their ids."""
    return await insert(pool, CHUNK, *(chunk(scope, project, text, file_path="a.py") for text in texts))
