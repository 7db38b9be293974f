"""Vantage cards and facts (`domain/card.VantageCards`): ibid.vantage_card and ibid.vantage_fact.

A row's id is a UUIDv5 of whose it is and its key, else its words: who writes the same again replaces, also
when two race. A row without a user is every user's of the namespace. Raises `Unavailable`, `RemovedMeanwhile`
for a user who is being erased, and `RetrievalError` from `shown`.
"""

from collections.abc import Sequence
from dataclasses import replace

import asyncpg

from app.clients.pool import Pool
from app.domain.card import Card, CardDraft, Shape, card_id
from app.domain.errors import RemovedMeanwhile
from app.domain.passage import Scope
from app.stores.cursor import closed, opened
from app.stores.reach import is_id
from app.stores.text import storable
from app.stores.transaction import transaction

TABLES = {Shape.CARD: "ibid.vantage_card", Shape.FACT: "ibid.vantage_fact"}
COLUMNS = "id, vantage_id, user_id, text, key, weight, created_at, updated_at"
# First, as every writer for a user: an erasure under way is waited for (docs/decisions/0032).
STANDS = "SELECT ibid.user_stands($1, $2, now())"
# Two at once: the second waits for the first, and replaces it.
PUT = f"""
    INSERT INTO {{table}} AS kept (id, tenant, vantage_id, user_id, text, key, weight, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, statement_timestamp(), statement_timestamp())
    ON CONFLICT (id) DO UPDATE
    SET text = excluded.text, key = excluded.key, weight = excluded.weight, updated_at = clock_timestamp()
    RETURNING {COLUMNS}, xmax = 0 AS fresh
"""  # noqa: S608 - constants of ours
# What a user has under a key stands before what all have under it: two answers to one question are none.
SHOWN = f"""
    SELECT '{{shape}}' AS shape, {COLUMNS} FROM {{table}} AS kept
    WHERE tenant = $1 AND vantage_id = $2 AND (user_id IS NULL OR user_id = $3)
    AND NOT (user_id IS NULL AND key IS NOT NULL AND EXISTS (
        SELECT FROM {{table}} AS own
        WHERE own.tenant = $1 AND own.vantage_id = $2 AND own.user_id = $3 AND own.key = kept.key))
"""  # noqa: S608 - constants of ours
FIRST = "ORDER BY weight DESC, updated_at DESC, id LIMIT $4"
# A user's own and those of all; a tenant key that names nobody: everybody's.
VISIBLE = "tenant = $1 AND ($2::text IS NULL OR user_id IS NULL OR user_id = $2)"
LIST = f"""
    SELECT '{{shape}}' AS shape, {COLUMNS} FROM {{table}}
    WHERE {VISIBLE} AND ($3::text IS NULL OR vantage_id = $3)
    AND ($4::timestamptz IS NULL OR (created_at, id) < ($4, $5))
    ORDER BY created_at DESC, id DESC LIMIT $6
"""  # noqa: S608 - constants of ours
FIND = f"SELECT '{{shape}}' AS shape, {COLUMNS} FROM {{table}} WHERE {VISIBLE} AND id = ANY($3)"  # noqa: S608
REMOVE = f"DELETE FROM {{table}} WHERE {VISIBLE} AND id = $3 RETURNING 1"  # noqa: S608 - constants of ours


def told(statement: str, shape: Shape) -> str:
    """A statement about one of both."""
    return statement.format(shape=shape.value, table=TABLES[shape])


def of_both(statement: str) -> str:
    """A statement about both, as one."""
    return " UNION ALL ".join(told(statement, shape) for shape in Shape)


class CardStore:
    """The cards and facts."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        """(the card, whether it is new). The same key, or without one the same words, again: replaces."""
        draft = replace(draft, text=storable(draft.text))
        name = card_id(scope.tenant, draft)
        row = (draft.vantage_id, draft.user_id, draft.text, draft.key, draft.weight)
        async with transaction(self._pool) as connection:
            if not await connection.fetchval(STANDS, scope.tenant, draft.user_id or ""):
                raise RemovedMeanwhile("its user was erased while it was written")
            kept = await connection.fetchrow(told(PUT, draft.shape), name, scope.tenant, *row)
        assert kept is not None  # noqa: S101 - an upsert without a condition returns its row
        return card(kept, draft.shape), kept["fresh"]

    async def shown(self, scope: Scope, limit: int) -> list[Card]:
        """Those of the scope's vantage_id that its user may see, heaviest first, then newest."""
        if scope.vantage_id is None or limit < 1:
            return []
        asked = (scope.tenant, scope.vantage_id, scope.user_id, limit)
        with self._pool.reading():
            rows = await self._pool.fetch(f"{of_both(SHOWN)} {FIRST}", *asked)
        return [card(row) for row in rows]

    async def list(
        self, scope: Scope, shape: Shape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        """Of the scope's vantage_id, or of all; newest first, and the cursor of the next page."""
        at, name = opened(cursor) if cursor else (None, "")
        asked = (scope.tenant, scope.user_id, scope.vantage_id, at, name, limit + 1)
        with self._pool.asking():
            rows = await self._pool.fetch(told(LIST, shape), *asked)
        cards = [card(row) for row in rows[:limit]]
        return cards, closed(cards[-1].created_at, cards[-1].id) if len(rows) > limit else None

    async def remove(self, scope: Scope, card_id: str) -> bool:
        """Gone; False: not there, or another's."""
        found = (await self.by_id(scope, [card_id])).get(card_id)
        if found is None:
            return False
        with self._pool.asking():
            gone = await self._pool.fetchval(told(REMOVE, found.shape), scope.tenant, scope.user_id, card_id)
        return bool(gone)

    async def by_id(self, scope: Scope, ids: Sequence[str]) -> dict[str, Card]:
        """Those of them that are there."""
        with self._pool.asking():
            rows = await self._pool.fetch(
                of_both(FIND), scope.tenant, scope.user_id, list(filter(is_id, ids))
            )
        return {row["id"]: card(row) for row in rows}


def card(row: asyncpg.Record, shape: Shape | None = None) -> Card:
    """A row as the card it is."""
    names = [name.strip() for name in COLUMNS.split(",")]
    return Card(shape=shape or Shape(row["shape"]), **{name: row[name] for name in names})
