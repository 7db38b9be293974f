"""Memories and cards of a user: a memory as a point, a point as the memory and the passage that it is, who
may see which; the newest cards, and how the user's memories stand in the record.

The payload's names are those of older tools: `source` is a memory's origin. A point without a
tenant, as older tools wrote, is the tenant `default`'s. What reads the record raises `RetrievalError`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Any

from app.clients.points import Point, Where
from app.db.memories import NOTE, RAW, Memory
from app.db.pool import Pool, retrieval_faults
from app.index import payload
from app.retrieval.retrievers.qdrant import MARK
from app.text.dates import recall
from app.text.labels import label
from app.text.memo import kept
from app.types import DEFAULT_TENANT, SAID_ON, Embedding, Passage, Scope, day_of, new_passage

NAME = "memories"
LABEL = "memory"
ORIGIN = ("source", "origin")
LONG_AGO = datetime.fromtimestamp(0, UTC)
"""Of a memory or card whose writer does not say when it was made."""
KNOWN = frozenset(
    {"tenant", "user_id", "text", "content", "chunk", "source", "kind", "tags", "vantage_id", "thread_id"}
    | {"place", "created_at", "tokens", "space", "fields", "days", *MARK}
)
"""What a memory has a place for; the rest of a card is what it holds beside its text."""


def tenants(scope: Scope) -> Where:
    """The points of a tenant."""
    named = (("tenant", (scope.tenant,)),)
    return Where(open=named) if scope.tenant == DEFAULT_TENANT else Where(has=named)


def owned(scope: Scope, *, kinds: tuple[str, ...] = ()) -> Where:
    """Everything of a user's, or of these kinds."""
    where = tenants(scope)
    also = (("kind", kinds),) if kinds else ()
    return Where(has=(*where.has, ("user_id", (scope.user_id or "",)), *also), open=where.open)


def point(scope: Scope, memory: Memory, embedding: Embedding, space: str) -> Point:
    """As it is written."""
    held: dict[str, object] = {
        "tenant": scope.tenant,
        "user_id": memory.user_id,
        "text": memory.text,
        "source": memory.origin,
        "kind": memory.kind,
        "tags": list(memory.tags),
        "vantage_id": memory.vantage_id,
        "thread_id": memory.thread_id,
        "place": memory.place,
        "created_at": memory.created_at.isoformat(),
        "tokens": memory.tokens,
        "space": space,
        "fields": dict(memory.fields),
    }
    # What is not there must not be in the payload: a filter lets those pass that lack the field.
    kept = {name: value for name, value in held.items() if value not in (None, "", {}, [])}
    return Point(memory.id, {**kept, **MARK}, embedding)


def memory(found: Point) -> Memory:
    """A point as a memory; one without text has ""."""
    facts = found.payload
    below = facts.get("fields")
    words = payload.text(facts)
    return Memory(
        id=found.id,
        user_id=payload.fact(facts, "user_id"),
        text=words,
        tokens=payload.tokens(facts, words),
        created_at=payload.moment(facts) or LONG_AGO,
        kind=payload.fact(facts, "kind") or NOTE,
        tags=payload.tags(facts),
        origin=payload.fact(facts, *ORIGIN),
        vantage_id=payload.fact(facts, "vantage_id") or None,
        thread_id=payload.fact(facts, "thread_id") or None,
        place=payload.number(facts, "place") or 0,
        fields=dict(below) if isinstance(below, dict) else {k: v for k, v in facts.items() if k not in KNOWN},
    )


def day_said(created_at: datetime) -> date | None:
    """When a memory was said; None: its writer does not say."""
    return None if created_at == LONG_AGO else day_of(created_at)


def passage(found: Point, short: str, similar: float | None) -> Passage:
    """A point as a passage; `short` is its id for labels."""
    facts = found.payload
    text = kept(payload.text(facts))
    return Passage(
        source=NAME,
        id=found.id,
        text=text,
        tokens=payload.tokens(facts, text),
        label=label(LABEL, short),
        similarity=similar,
        fields={
            "collection": RAW,
            "kind": payload.fact(facts, "kind") or NOTE,
            "origin": payload.fact(facts, *ORIGIN),
            "tags": ",".join(payload.tags(facts)),
            "vantage_id": payload.fact(facts, "vantage_id") or None,
            "thread_id": payload.fact(facts, "thread_id") or None,
            "place": payload.number(facts, "place"),
            SAID_ON: payload.day(facts),
        },
        created_at=payload.dated(facts),
    )


def passage_of(row: Mapping[str, Any], short: str, similar: float | None) -> Passage:
    """A row of the record as a passage."""
    text, day = kept(row["text"]), day_said(row["created_at"])
    if day:
        recall(text, day, row["days"])
    fields: dict[str, str | int | None] = {
        "collection": RAW,
        "kind": payload.brief(row["kind"], payload.FACT) or NOTE,
        "origin": payload.brief(row["origin"], payload.FACT),
        "tags": ",".join(row["tags"]),
        "vantage_id": row["vantage_id"] or None,
        "thread_id": row["thread_id"] or None,
        "place": row["place"] or None,
        SAID_ON: day.isoformat() if day else None,
    }
    # In the order of its fields: names take as long as values.
    return new_passage(
        *(NAME, row["id"], text, row["tokens"], label(LABEL, short)),
        *(similar, 0.0, "", fields, row["created_at"] if day else None),
    )


CARDS = """
    SELECT found.* FROM unnest($3::text[]) AS wanted (kind) CROSS JOIN LATERAL (
        SELECT id, user_id, text, tokens, created_at, kind, tags, origin, vantage_id, thread_id, place,
            fields, revision
        FROM ibid.memory
        WHERE tenant = $1 AND user_id = $2 AND kind = wanted.kind
        ORDER BY created_at DESC, id DESC LIMIT $4
    ) AS found
"""


async def newest_cards(pool: Pool, owner: tuple[str, str], kinds: Sequence[str], most: int) -> list[Memory]:
    """A user's cards as the record has them: at most so many of each kind; `owner`: tenant and user."""
    with retrieval_faults():
        rows = await pool.fetch(CARDS, *owner, list(dict.fromkeys(kinds)), most)
    return [
        Memory(
            **{
                **row,
                "tags": tuple(row["tags"]),
                "thread_id": row["thread_id"] or None,
                "fields": json.loads(row["fields"]),
            }
        )
        for row in rows
    ]


def newest_of(cards: Iterable[Memory], most: int) -> list[Memory]:
    """The newest of each kind, newest first; of two with one id the later one in `cards`."""
    known = {card.id: card for card in cards}.values()
    by_kind = sorted(known, key=lambda card: (card.kind, card.created_at, card.id), reverse=True)
    kept = [card for _, each in groupby(by_kind, key=lambda card: card.kind) for card in [*each][:most]]
    return sorted(kept, key=lambda card: (card.created_at, card.id), reverse=True)


# Until an erasure is whole (alembic 0009) nothing of the user is told but what was written since: the record
# knows that, while points that were to go may be there yet, or have outlived it in an engine that was down.
USER = """
    SELECT coalesce(known.version, 0) AS version,
        CASE WHEN known.erased_at IS NOT NULL AND known.ended_at IS NULL THEN ARRAY(SELECT id FROM ibid.memory
            WHERE tenant = $1 AND user_id = $2 ORDER BY id) END AS since
    FROM (SELECT) AS one
    LEFT JOIN ibid.memory_user AS known ON known.tenant = $1 AND known.user_id = $2
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the record says of a user's memories: their version, and whether an erasure is under way."""

    version: int
    """Grows with every write that a search would see."""
    since: tuple[str, ...] | None = None
    """All that may be told; None: whatever is there."""


async def standing_of(pool: Pool, tenant: str, user_id: str) -> Standing:
    """Of a user's memories."""
    with pool.reading():
        row = await pool.fetchrow(USER, tenant, user_id)
    assert row is not None  # noqa: S101 - it joins to one row of its own
    since = row["since"]
    return Standing(row["version"], None if since is None else tuple(since))
