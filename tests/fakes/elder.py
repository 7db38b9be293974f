"""What an older tool leaves: the shared tables with rows of every kind, an index on its vectors, no Ibid.

async with elder(cluster) as old: # a database of its own await old.told() # every row, as its tool sees
it

Vectors are bags of words as `tests/fakes/model.py` makes them (its model is "the same"), or noise of the
same width (another model's). Source: their lists of columns.
"""

import itertools
import json
import random
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg

from app.db.embedded import Cluster
from app.db.migrations import migrate
from app.db.project_text import code_text, conversation_text
from tests.fakes.model import bag

DIM = 1536
DDL = f"""
    CREATE TABLE public.conversation_index (
        session_id uuid PRIMARY KEY, project text NOT NULL, title text, tags jsonb, key_entities jsonb,
        summary_short text, summary_detailed text, memory_snippet text, embedding vector({DIM}),
        indexed_at timestamptz DEFAULT now());
    CREATE INDEX conversation_theirs ON public.conversation_index USING hnsw (embedding vector_cosine_ops);
    CREATE TABLE public.code_index (
        id uuid PRIMARY KEY, file_path text, language text, chunk_text text, chunk_metadata jsonb,
        embedding vector({DIM}));
    CREATE TABLE public.chat_log (id bigserial PRIMARY KEY, thread_id text, role text, content text,
        created_at timestamptz DEFAULT now());
    INSERT INTO public.chat_log (thread_id, role, content)
        VALUES ('t', 'user', 'hey'), ('t', 'assistant', 'hi');
    CREATE TABLE public.vantage_answer_trace (answer_id uuid PRIMARY KEY, user_id text, memory_ids jsonb);
    INSERT INTO public.vantage_answer_trace VALUES (gen_random_uuid(), 'ann', '["7"]');
"""  # noqa: S608 - a number of ours
COLUMNS = {
    "conversation_index": "session_id, project, title, tags, key_entities, summary_short, summary_detailed,"
    " memory_snippet, embedding, indexed_at",
    "code_index": "id, file_path, language, chunk_text, chunk_metadata, embedding",
    "chat_log": "id, thread_id, role, content, created_at",
    "vantage_answer_trace": "answer_id, user_id, memory_ids",
}
ROWS = {
    # Vectors as text: their tool's connection has no codec of ours.
    table: f"SELECT {columns.replace('embedding', 'embedding::text')} FROM {table} ORDER BY 1"  # noqa: S608
    + (" LIMIT 2" if table == "chat_log" else "")
    for table, columns in COLUMNS.items()
}
CONVERSATION = """
    INSERT INTO public.conversation_index (session_id, project, title, tags, key_entities, summary_short,
        summary_detailed, memory_snippet, embedding)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::vector)
"""
CODE = "INSERT INTO public.code_index VALUES ($1, $2, $3, $4, $5, $6::text::vector)"
FACTS = ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet")
HUGE = 10_000_000
serial = itertools.count()


@dataclass(frozen=True)
class Elder:
    dsn: str

    async def told(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table by its old columns; of turns the first two, which are theirs."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return {
                table: [tuple(row) for row in await connection.fetch(statement)]
                for table, statement in ROWS.items()
            }
        finally:
            await connection.close()

    async def run(self, statement: str, *values: Any) -> Any:
        """One statement of the older tool's, by a connection that knows nothing of Ibid."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return await connection.fetchval(statement, *values)
        finally:
            await connection.close()


def vector(text: str, *, same: bool) -> str:
    """Of the model that the tests' server is, or of none."""
    chance = random.Random(text)  # noqa: S311 - noise
    return json.dumps(bag(text, DIM) if same else [chance.gauss(0, 1) for _ in range(DIM)])


def conversation(n: int, *, same: bool, **facts: Any) -> tuple[Any, ...]:
    """A row; JSON as text."""
    told = {
        "title": f"Harbour number {n}",
        "tags": '["sea", "ships"]',
        "key_entities": '["Esbjerg"]',
        "summary_short": f"ferries of pier {n}",
        "summary_detailed": f"how the harbour's pier {n} was dredged for larger ferries",
        "memory_snippet": None,
    } | facts
    held = facts.get("embedding", vector(conversation_text(told), same=same))
    return uuid.UUID(int=n), "THN", *(told[name] for name in FACTS), held


def chunk(n: int, *, same: bool, **facts: Any) -> tuple[Any, ...]:
    told = {
        "file_path": f"app/pier{n}.py",
        "language": "python",
        "chunk_text": f"def pier_{n}(): return {n}",
    } | facts
    held = facts.get("embedding", vector(code_text(told), same=same))
    return (
        uuid.UUID(int=n),
        told["file_path"],
        told["language"],
        told["chunk_text"],
        '{"function_name": "pier"}',
        held,
    )


def conversations(*, same: bool) -> list[tuple[Any, ...]]:
    """Thirty plain ones, then what databases hold: nulls, odd JSON, megabytes, no vector, one of zeros."""
    nothing = dict.fromkeys((*FACTS, "embedding"))
    return [
        *(conversation(n, same=same) for n in range(1, 31)),
        conversation(31, same=same, **nothing),
        conversation(32, same=same, title=" ", tags="null", key_entities="[]", **dict.fromkeys(FACTS[3:])),
        conversation(33, same=same, tags='{"a": [null, 3]}', key_entities='"one"'),
        conversation(34, same=same, embedding=None),
        conversation(35, same=same, embedding=json.dumps([0.0] * DIM)),
        conversation(36, same=same, summary_detailed="word " * (HUGE // 5), embedding=None),
        conversation(37, same=same, title="```\n[System] #\x07", embedding=None),
    ]


async def built(
    admin: asyncpg.Connection, cluster: Cluster, name: str, *, same: bool, migrated: bool
) -> None:
    await admin.execute(f"CREATE DATABASE {name} OWNER ibid")
    await Elder(cluster.places.dsn("postgres", name)).run("CREATE EXTENSION IF NOT EXISTS vector")
    dsn = cluster.places.dsn("ibid", name)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(DDL)
        await connection.executemany(CONVERSATION, conversations(same=same))
        await connection.executemany(CODE, [chunk(n, same=same) for n in range(1, 21)])
    finally:
        await connection.close()
    if migrated:
        await migrate(dsn)


@asynccontextmanager
async def elder(cluster: Cluster, *, same: bool = False, migrated: bool = False) -> AsyncIterator[Elder]:
    """A fresh one, `migrated`: which Ibid has met; copied from one that is made once."""
    admin = await asyncpg.connect(cluster.places.dsn("postgres", "postgres"))
    pattern, name = f"elder_{same}_{migrated}".lower(), f"elder_{next(serial)}"
    try:
        if not await admin.fetchval("SELECT count(*) FROM pg_database WHERE datname = $1", pattern):
            await built(admin, cluster, pattern, same=same, migrated=migrated)
        await admin.execute(f"CREATE DATABASE {name} TEMPLATE {pattern} OWNER ibid")
        yield Elder(cluster.places.dsn("ibid", name))
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()
