"""Rows of `ibid.memory`: how drafts become them, and what they are read as.

Under the user's lock, so that no two writers decide at once. Raises nothing of its own.
"""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta

import asyncpg

from app.domain.memory import DAEMONS, Draft, Memory, Outcome, Written
from app.stores.text import storable
from app.stores.transaction import Connection

NAMES = tuple(item.name for item in fields(Memory))
COLUMNS = ", ".join(NAMES)
KNOWN = f"""
    SELECT {COLUMNS} FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2 AND id = ANY($3)
"""  # noqa: S608 - constants of ours
HERE = f"""
    SELECT {COLUMNS} FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2 AND id = ANY($3) AND origin <> ALL($4)
"""  # noqa: S608 - constants of ours
NOW = "SELECT clock_timestamp() AS now, nextval('ibid.revision') AS revision"
PLACES = """
    SELECT thread_id, max(place) FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2 AND thread_id = ANY($3) GROUP BY thread_id
"""
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
BUMP = """
    INSERT INTO ibid.memory_user AS known (tenant, user_id, version) VALUES ($1, $2, 1)
    ON CONFLICT (tenant, user_id) DO UPDATE SET version = known.version + 1
"""


async def hold(connection: Connection, tenant: str, user: str) -> None:
    """The user's writers take turns until the transaction ends."""
    await connection.execute(LOCK, "\x1f".join(("ibid.memory", tenant, user)))


async def bump(connection: Connection, tenant: str, user: str) -> None:
    """A search of this user's would see a change."""
    await connection.execute(BUMP, tenant, user)


async def decided(
    connection: Connection,
    owner: tuple[str, str],
    drafts: Sequence[Draft],
    ids: Sequence[str],
    tokens: Sequence[int],
) -> list[Written]:
    """What becomes of each draft, under the user's lock; later ones of the same words are repeats."""
    rows = await connection.fetch(HERE, *owner, list(ids), list(DAEMONS))
    known = {row["id"]: memory(row) for row in rows}
    places = await taken(connection, owner, drafts)
    now, revision = await stamp(connection)
    written = []
    for at, (draft, name, count) in enumerate(zip(drafts, ids, tokens, strict=True)):
        if name in known:
            written.append(Written(Outcome.REPEATED, known[name]))
            continue
        place, thread = 0, draft.thread_id or ""
        if draft.origin not in DAEMONS:
            place = places[thread] = places.get(thread, 0) + 1
        moment = draft.created_at or now + timedelta(microseconds=at)
        this = made(draft, name, owner[1], tokens=count, at=moment, place=place)
        known[name] = replace(this, revision=revision)
        written.append(Written(Outcome.CREATED, known[name]))
    return written


async def taken(connection: Connection, owner: tuple[str, str], drafts: Sequence[Draft]) -> dict[str, int]:
    """The last place that is taken in each of their threads; none in a new one."""
    threads = {draft.thread_id or "" for draft in drafts}
    rows = await connection.fetch(PLACES, *owner, list(threads))
    return {row[0]: int(row[1]) for row in rows}


async def stamp(connection: Connection) -> tuple[datetime, int]:
    """The time, and the revision of what is written at it."""
    now = await connection.fetchrow(NOW)
    assert now is not None  # noqa: S101 - no table that it could be missing from
    return now["now"], now["revision"]


def made(draft: Draft, name: str, user: str, *, tokens: int, at: datetime, place: int) -> Memory:
    """A draft as the memory it becomes; `place` 0: a card is no part of a conversation."""
    return Memory(
        id=name,
        user_id=user,
        text=storable(draft.text),
        tokens=tokens,
        created_at=at,
        kind=draft.kind,
        tags=draft.tags,
        origin=draft.origin,
        vantage_id=draft.vantage_id,
        thread_id=draft.thread_id,
        place=place,
        fields=draft.fields,
    )


def row_of(memory: Memory) -> tuple[object, ...]:
    """The columns of COLUMNS."""
    values = {name: getattr(memory, name) for name in NAMES}
    return tuple(
        (values | {"thread_id": memory.thread_id or "", "fields": json.dumps(dict(memory.fields))}).values()
    )


def memory(row: asyncpg.Record) -> Memory:
    """A row as the memory it is."""
    told = {name: row[name] for name in NAMES}
    changed = {
        "tags": tuple(row["tags"]),
        "thread_id": row["thread_id"] or None,
        "fields": json.loads(row["fields"]),
    }
    return Memory(**(told | changed))
