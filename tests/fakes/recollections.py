"""Memories and reference texts put where a search finds them, without a model: bags of words for vectors."""

import asyncio
import uuid
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from typing import Any

from app.clients.pool import Pool
from app.domain.corpus import Reference
from app.domain.memory import Memory
from app.domain.passage import Embedding, Scope
from app.retrieval.postings import pack
from app.sources.corpus import CorpusSource
from app.sources.memories import MemorySource
from app.stores.memories import WRITE
from app.stores.register import row_of
from tests.fakes.filing import SPACE, bag

ANN = Scope(user_id="ann")
THEN = datetime(2026, 11, 1, 9, 30, tzinfo=UTC)
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
    """Memories as the write side leaves them in the index; their ids. A thread's are numbered from 1."""
    memories = [
        memory(scope, text, place=place if "thread_id" in facts else 0, **facts)
        for place, text in enumerate(texts, 1)
    ]
    await source.put(scope, memories, [bag(text) for text in texts])
    return [each.id for each in memories]


async def enter(pool: Pool, scope: Scope, *memories: Memory) -> None:
    """Memories as the write side leaves them in the record."""
    for each in memories:
        row = (*row_of(each), bag(each.text), pack(each.text))
        await pool.execute(WRITE, scope.tenant, SPACE.name, *row)


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
    await source.put(scope, collection, kept, [bag(each.text) for each in kept])
    return [each.point for each in kept]


def given(vector: Embedding | None) -> Awaitable[Embedding | None]:
    """A question's vector that is there already."""
    found: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
    found.set_result(vector)
    return found
