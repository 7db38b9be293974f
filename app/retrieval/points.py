"""Memories and reference texts as Qdrant points, and points or rows as passages.

Payload names are those of older tools: `source` is a memory's origin. A point without a tenant (older tools)
belongs to the tenant `default`. Kind, origin, URL and tags of a reference text are read wherever older tools
put them. Nothing here raises.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from app.db.corpus import Reference, ReferenceDraft
from app.db.memories import NOTE, RAW, Memory
from app.retrieval import payload
from app.retrieval.retrievers.points import Payload, Point, Where
from app.retrieval.retrievers.qdrant import MARK
from app.text.labels import label, label_name
from app.types import DEFAULT_TENANT, LONG_AGO, SAID_ON, Embedding, Passage, Scope, day_said

MEMORIES = "memories"
LABEL = "memory"
ORIGIN = ("source", "origin")
KNOWN = frozenset(
    {"tenant", "user_id", "text", "content", "chunk", "source", "kind", "tags", "vantage_id", "thread_id"}
    | {"place", "created_at", "tokens", "space", "fields", *MARK}
)
"""Payload names with a field in `Memory`; the rest becomes a card's `fields`."""


def tenants(scope: Scope) -> Where:
    named = (("tenant", (scope.tenant,)),)
    return Where(open=named) if scope.tenant == DEFAULT_TENANT else Where(has=named)


def owned(scope: Scope, *, kinds: tuple[str, ...] = ()) -> Where:
    where = tenants(scope)
    also = (("kind", kinds),) if kinds else ()
    return Where(has=(*where.has, ("user_id", (scope.user_id or "",)), *also), open=where.open)


def memory_to_point(scope: Scope, memory: Memory, embedding: Embedding, space: str) -> Point:
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
    # Missing values are left out of the payload: filters accept points without the field.
    kept = {name: value for name, value in held.items() if value not in (None, "", {}, [])}
    return Point(memory.id, {**kept, **MARK}, embedding)


def memory_from_point(found: Point) -> Memory:
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


def memory_point_passage(found: Point, short: str, similar: float | None) -> Passage:
    facts = found.payload
    text = payload.text(facts)
    return Passage(
        source=MEMORIES,
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


def memory_row_passage(row: Mapping[str, Any], short: str, similar: float | None) -> Passage:
    text, day = row["text"], day_said(row["created_at"])
    fields: dict[str, str | int | None] = {
        "collection": RAW,
        "kind": payload.brief(row["kind"], payload.FACT) or NOTE,
        "origin": payload.brief(row["origin"], payload.FACT),
        "tags": ",".join(row["tags"]),
        "vantage_id": row["vantage_id"] or None,
        "thread_id": row["thread_id"] or None,
        "place": row["place"] or None,
        SAID_ON: day.isoformat() if day else None,
        "url": f"/memories/{row['id']}",
    }
    # Positional: names take as long as values.
    return Passage(
        *(MEMORIES, row["id"], text, row["tokens"], label(LABEL, short)),
        *(similar, 0.0, "", fields, row["created_at"] if day else None),
        days=None if row["days"] is None else tuple(row["days"]),
    )


CORPUS = "corpus"
REFERENCE = "reference"
"""Kind of a text without one."""
SHOWN = ("kind", "origin", "source", "url", "tags")
"""Metadata that is at the payload's top."""


def text_key(collection: str, point: str) -> str:
    """A passage's id: points of two collections may have the same id."""
    return f"{collection}/{point}"


def text_row_passage(row: Mapping[str, Any], short: str, similar: float | None) -> Passage:
    metadata = orjson.loads(row["metadata"])
    facts = {"metadata": metadata} if metadata else {}
    return Passage(
        CORPUS,
        text_key(row["collection"], row["point"]),
        row["text"],
        row["tokens"],
        label(label_name(row["collection"]), short),
        similar,
        0.0,
        payload.brief(row["title"], payload.TITLE),
        text_fields(facts, row["collection"], payload.brief(row["id"], payload.FACT) or row["point"]),
        row["created_at"],
    )


def text_fields(facts: Payload, collection: str, id_: str) -> dict[str, str | int | None]:
    return {
        "id": id_,
        "metadata": payload.metadata(facts),
        "collection": collection,
        "kind": (facts and payload.fact(facts, "kind")) or REFERENCE,
        "origin": (facts and payload.fact(facts, "origin", "source")) or "",
        "tags": ",".join(payload.tags(facts)) if facts else "",
        "url": payload.link(facts) if facts else None,
    }


def text_to_point(scope: Scope, text: Reference, embedding: Embedding, space: str) -> Point:
    held: dict[str, object] = {
        "tenant": scope.tenant,
        "id": text.id,
        "text": text.text,
        "title": text.title,
        **{name: text.metadata[name] for name in SHOWN if text.metadata.get(name)},
        "metadata": dict(text.metadata),
        "created_at": text.created_at.isoformat(),
        "tokens": text.tokens,
        "space": space,
    }
    kept = {name: value for name, value in held.items() if value not in (None, "", {}, [])}
    return Point(text.point, {**kept, **MARK}, embedding)


def text_from_point(found: Point) -> ReferenceDraft:
    """Another tool's point as a text of the corpus, with the id its passage had."""
    facts = found.payload
    below = facts.get("metadata")
    return ReferenceDraft(
        text=payload.text(facts),
        id=payload.fact(facts, "id") or found.id,
        title=payload.fact(facts, "title", most=payload.TITLE),
        metadata={
            **(below if isinstance(below, dict) else {}),
            **{name: facts[name] for name in SHOWN if facts.get(name)},
        },
        created_at=payload.dated(facts),
    )


def text_point_passage(collection: str, found: Point, short: str, similar: float | None) -> Passage:
    facts = found.payload
    words = payload.text(facts)
    return Passage(
        source=CORPUS,
        id=text_key(collection, found.id),
        text=words,
        tokens=payload.tokens(facts, words),
        label=label(label_name(collection), short),
        similarity=similar,
        title=payload.fact(facts, "title", most=payload.TITLE),
        fields=text_fields(facts, collection, payload.fact(facts, "id") or found.id),
        created_at=payload.dated(facts),
    )
