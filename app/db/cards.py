"""Vantage cards and facts: texts of a namespace (`vantage_id`) that join every prompt of that namespace.

A card has a weight; a fact has a key, and a later fact of the same key replaces it. Ids are UUIDv5 of owner
and key (or text), so writing the same again replaces, also when two writers race. A row without a user is for
all users of the namespace. Raises `Unavailable`, `RemovedMeanwhile`, and `RetrievalError` from `shown`.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import asyncpg

from app.db.pool import Pool
from app.db.rows import check_not_erased, closed, is_id, opened, storable, transaction
from app.text.labels import key as look
from app.types import Scope

SHOWN = 100
"""Most cards and facts that an answer considers."""

IDS = uuid.UUID("3e0c2a6e-9f55-5b7e-8c0f-4f9a5f1f6a20")
"""UUIDv5 namespace of card ids."""


class CardShape(StrEnum):
    CARD = "card"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class Card:
    id: str
    shape: CardShape
    vantage_id: str
    user_id: str | None
    text: str
    key: str | None
    weight: float
    """In [0, 1]; heavier cards come first in the prompt."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CardDraft:
    shape: CardShape
    vantage_id: str
    text: str
    user_id: str | None = None
    key: str | None = None
    weight: float = 1.0


def card_id(tenant: str, draft: CardDraft) -> str:
    """UUIDv5 of owner and key; without a key, of the text without case and white space."""
    text = " ".join(draft.text.casefold().split()) if draft.key is None else ""
    key = "" if draft.key is None else f"={same(draft.key)}"
    whose = "" if draft.user_id is None else f"={draft.user_id}"
    return str(uuid.uuid5(IDS, "\x1f".join((tenant, draft.vantage_id, whose, draft.shape, key, text))))


def same(key: str) -> str:
    """Canonical form of a key: ignores case, width, white space and invisible characters."""
    return " ".join(look(key).casefold().split())


TABLES = {CardShape.CARD: "ibid.vantage_card", CardShape.FACT: "ibid.vantage_fact"}
COLUMNS = "id, vantage_id, user_id, text, key, weight, created_at, updated_at"
# The second of two concurrent writers waits for the first and replaces its row.
PUT = f"""
    INSERT INTO {{table}} AS kept (id, tenant, vantage_id, user_id, text, key, weight, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, statement_timestamp(), statement_timestamp())
    ON CONFLICT (id) DO UPDATE
    SET text = excluded.text, key = excluded.key, weight = excluded.weight, updated_at = clock_timestamp()
    RETURNING {COLUMNS}, xmax = 0 AS fresh
"""  # noqa: S608 - constants of ours
# A user's own fact hides the shared one with the same key: two answers would contradict each other.
SELECT_SHOWN = f"""
    SELECT '{{shape}}' AS shape, {COLUMNS} FROM {{table}} AS kept
    WHERE tenant = $1 AND vantage_id = $2 AND (user_id IS NULL OR user_id = $3)
    AND NOT (user_id IS NULL AND key IS NOT NULL AND EXISTS (
        SELECT FROM {{table}} AS own
        WHERE own.tenant = $1 AND own.vantage_id = $2 AND own.user_id = $3 AND own.key = kept.key))
"""  # noqa: S608 - constants of ours
FIRST = "ORDER BY weight DESC, updated_at DESC, id LIMIT $4"
# A user's own and the shared ones; for a tenant key without a user, all.
VISIBLE = "tenant = $1 AND ($2::text IS NULL OR user_id IS NULL OR user_id = $2)"
LIST = f"""
    SELECT '{{shape}}' AS shape, {COLUMNS} FROM {{table}}
    WHERE {VISIBLE} AND ($3::text IS NULL OR vantage_id = $3)
    AND ($4::timestamptz IS NULL OR (created_at, id) < ($4, $5))
    ORDER BY created_at DESC, id DESC LIMIT $6
"""  # noqa: S608 - constants of ours
FIND = f"SELECT '{{shape}}' AS shape, {COLUMNS} FROM {{table}} WHERE {VISIBLE} AND id = ANY($3)"  # noqa: S608
REMOVE = f"DELETE FROM {{table}} WHERE {VISIBLE} AND id = $3 RETURNING 1"  # noqa: S608 - constants of ours


def statement_for(statement: str, shape: CardShape) -> str:
    return statement.format(shape=shape.value, table=TABLES[shape])


def union_of(statement: str) -> str:
    return " UNION ALL ".join(statement_for(statement, shape) for shape in CardShape)


class CardStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        """(card, True if it is new). The same key (or text) again replaces."""
        draft = replace(draft, text=storable(draft.text))
        name = card_id(scope.tenant, draft)
        row = (draft.vantage_id, draft.user_id, draft.text, draft.key, draft.weight)
        async with transaction(self._pool) as connection:
            # Before other locks, as every writer for a user: an erasure in progress is waited for
            # (docs/adr/0017).
            await check_not_erased(connection, scope.tenant, draft.user_id or "")
            kept = await connection.fetchrow(statement_for(PUT, draft.shape), name, scope.tenant, *row)
        assert kept is not None  # noqa: S101 - an upsert without a condition returns its row
        return card(kept, draft.shape), kept["fresh"]

    async def shown(self, scope: Scope, limit: int) -> list[Card]:
        """Cards of the scope's vantage_id visible to its user, heaviest first, then newest."""
        if scope.vantage_id is None or limit < 1:
            return []
        asked = (scope.tenant, scope.vantage_id, scope.user_id, limit)
        with self._pool.reading():
            rows = await self._pool.fetch(f"{union_of(SELECT_SHOWN)} {FIRST}", *asked)
        return [card(row) for row in rows]

    async def list(
        self, scope: Scope, shape: CardShape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        at, name = opened(cursor) if cursor else (None, "")
        asked = (scope.tenant, scope.user_id, scope.vantage_id, at, name, limit + 1)
        with self._pool.asking():
            rows = await self._pool.fetch(statement_for(LIST, shape), *asked)
        cards = [card(row) for row in rows[:limit]]
        return cards, closed(cards[-1].created_at, cards[-1].id) if len(rows) > limit else None

    async def remove(self, scope: Scope, card_id: str) -> bool:
        found = (await self.by_id(scope, [card_id])).get(card_id)
        if found is None:
            return False
        with self._pool.asking():
            gone = await self._pool.fetchval(
                statement_for(REMOVE, found.shape), scope.tenant, scope.user_id, card_id
            )
        return bool(gone)

    async def by_id(self, scope: Scope, ids: Sequence[str]) -> dict[str, Card]:
        with self._pool.asking():
            rows = await self._pool.fetch(
                union_of(FIND), scope.tenant, scope.user_id, list(filter(is_id, ids))
            )
        return {row["id"]: card(row) for row in rows}


def card(row: asyncpg.Record, shape: CardShape | None = None) -> Card:
    names = [name.strip() for name in COLUMNS.split(",")]
    return Card(shape=shape or CardShape(row["shape"]), **{name: row[name] for name in names})
