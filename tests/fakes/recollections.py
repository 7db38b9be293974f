"""Memories and reference texts put where a search finds them, without a model: bags of words for vectors."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from app.db.corpus import BUMP as BUMP_COLLECTION
from app.db.corpus import Reference
from app.db.memories import BUMP, RAW, WRITE, Memory, analysed, written_row
from app.db.pool import Pool
from app.retrieval.copies import QdrantCopy
from app.retrieval.corpus import CorpusSource
from app.retrieval.memories import MemorySource
from app.types import Embedding, Scope
from tests.fakes.filing import SPACE, bag

ANN = Scope(user_id="ann")
THEN = datetime(2026, 11, 1, 9, 30, tzinfo=UTC)
SHELVED = """
    INSERT INTO ibid.corpus_text (tenant, collection, id, point, text, title, metadata, tokens, space,
        embedding, created_at, revision)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, nextval('ibid.revision'))
    ON CONFLICT (tenant, collection, id) DO UPDATE SET text = excluded.text, title = excluded.title,
        metadata = excluded.metadata, embedding = excluded.embedding, revision = excluded.revision,
        terms = NULL
"""
NAMES = uuid.UUID(int=7)


def named(*what: object) -> str:
    """An id that is the same on every run."""
    return str(uuid.uuid5(NAMES, " ".join(map(str, what))))


def memory(scope: Scope, text: str, **facts: Any) -> Memory:
    """One of the scope's user."""
    user = scope.user_id or ""
    told: dict[str, Any] = {"tokens": len(text.split()), "created_at": THEN} | facts
    return Memory(named(scope.tenant, user, text), user, text, **told)


async def keep(source: MemorySource, scope: Scope, *texts: str, **facts: Any) -> list[str]:
    """Memories as the write side leaves them; their ids. A thread's are numbered from 1."""
    memories = [
        memory(scope, text, place=place if "thread_id" in facts else 0, **facts)
        for place, text in enumerate(texts, 1)
    ]
    await enter(source._pool, scope, *memories)
    copy = QdrantCopy(source._pool, source._points, source._catalogue, SPACE)
    await copy.apply(RAW, [each.id for each in memories])
    return [each.id for each in memories]


async def enter(pool: Pool, scope: Scope, *memories: Memory) -> None:
    """Memories as the write side leaves them in the record."""
    for each in memories:
        revised = replace(each, revision=await pool.fetchval("SELECT nextval('ibid.revision')"))
        [found] = analysed([each.text])
        await pool.execute(WRITE, *written_row(scope.tenant, SPACE.name, revised, bag(each.text), found))
    await pool.execute(BUMP, scope.tenant, scope.user_id or "")


async def withdraw(pool: Pool, scope: Scope, *ids: str) -> None:
    """Memories that are gone from the record."""
    await pool.execute("DELETE FROM ibid.memory WHERE id = ANY($1)", ids)
    await pool.execute(BUMP, scope.tenant, scope.user_id or "")


def reference(text: str, *where: str, **facts: Any) -> Reference:
    """A text of the corpus; `where`: tenant and collection."""
    key = named(*where, text)
    return Reference(key, key, text, len(text.split()), THEN, **facts)


async def shelve(
    source: CorpusSource, scope: Scope, collection: str, texts: Sequence[str | Reference]
) -> list[str]:
    """Reference texts as the write side leaves them in the index; their points."""
    kept = [
        each if isinstance(each, Reference) else reference(each, scope.tenant, collection) for each in texts
    ]
    for each in kept:
        facts = (each.id, each.point, each.text, each.title, json.dumps(dict(each.metadata)), each.tokens)
        row = (scope.tenant, collection, *facts, SPACE.name, bag(each.text), each.created_at)
        await source._pool.execute(SHELVED, *row)
    await source._pool.execute(BUMP_COLLECTION, scope.tenant, collection)
    copy = QdrantCopy(source._pool, source._points, source._catalogue, SPACE)
    await copy.apply(collection, [each.point for each in kept])
    return [each.point for each in kept]


def given(vector: Embedding | None) -> Awaitable[Embedding | None]:
    """A question's vector that is there already."""
    found: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
    found.set_result(vector)
    return found
