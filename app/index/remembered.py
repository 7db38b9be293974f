"""A memory as a point, and a point as the memory and the passage that it is; who may see which.

The payload's names are the seeds' (seed 003, 2.1 and 4.3): `source` is a memory's origin. A point without a
tenant, as older tools wrote, is the tenant `default`'s. Nothing here raises.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from app.clients.points import Point, Where
from app.domain.days import recall
from app.domain.label import label
from app.domain.memory import NOTE, RAW, Memory
from app.domain.passage import DEFAULT_TENANT, SAID_ON, Embedding, Passage, Scope, day_of, new_passage
from app.domain.text import kept
from app.index import payload
from app.retrieval.retrievers.qdrant import MARK

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
