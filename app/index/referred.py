"""A reference text as a point, and a point of any collection as the passage that it is.

Its id, title and metadata are its writer's; kind, origin (or source), address and tags are found wherever
older tools put them. Nothing here raises.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from app.clients.points import Payload, Point
from app.db.corpus import Given, Reference
from app.index import payload
from app.retrieval.retrievers.qdrant import MARK
from app.text.labels import label, label_name
from app.text.memo import kept
from app.types import Embedding, Passage, Scope, new_passage

NAME = "corpus"
REFERENCE = "reference"
"""The kind of a text that names none."""
SHOWN = ("kind", "origin", "source", "url", "tags")
"""Of the metadata, those that lie at the payload's top."""


def key(collection: str, point: str) -> str:
    """A passage's id: points of two collections may have one id."""
    return f"{collection}/{point}"


def passage_of(row: Mapping[str, Any], short: str, similar: float | None) -> Passage:
    """A row of the record as a passage."""
    metadata = orjson.loads(row["metadata"])
    facts = {"metadata": metadata} if metadata else {}
    return new_passage(
        NAME,
        key(row["collection"], row["point"]),
        kept(row["text"]),
        row["tokens"],
        label(label_name(row["collection"]), short),
        similar,
        0.0,
        payload.brief(row["title"], payload.TITLE),
        fields(facts, row["collection"], payload.brief(row["id"], payload.FACT) or row["point"]),
        row["created_at"],
    )


def fields(facts: Payload, collection: str, id_: str) -> dict[str, str | int | None]:
    """What is shown beside a text."""
    return {
        "id": id_,
        "metadata": payload.metadata(facts),
        "collection": collection,
        "kind": (facts and payload.fact(facts, "kind")) or REFERENCE,
        "origin": (facts and payload.fact(facts, "origin", "source")) or "",
        "tags": ",".join(payload.tags(facts)) if facts else "",
        "url": payload.link(facts) if facts else None,
    }


def point(scope: Scope, text: Reference, embedding: Embedding, space: str) -> Point:
    """As it is written."""
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


def given(found: Point) -> Given:
    """Another tool's point as a text of the corpus, under the name that its passage had."""
    facts = found.payload
    below = facts.get("metadata")
    return Given(
        text=payload.text(facts),
        id=payload.fact(facts, "id") or found.id,
        title=payload.fact(facts, "title", most=payload.TITLE),
        metadata={
            **(below if isinstance(below, dict) else {}),
            **{name: facts[name] for name in SHOWN if facts.get(name)},
        },
        created_at=payload.dated(facts),
    )


def passage(collection: str, found: Point, short: str, similar: float | None) -> Passage:
    """A point as a passage; `short` is its id for labels."""
    facts = found.payload
    words = payload.text(facts)
    return Passage(
        source=NAME,
        id=key(collection, found.id),
        text=kept(words),
        tokens=payload.tokens(facts, words),
        label=label(label_name(collection), short),
        similarity=similar,
        title=payload.fact(facts, "title", most=payload.TITLE),
        fields=fields(facts, collection, payload.fact(facts, "id") or found.id),
        created_at=payload.dated(facts),
    )
