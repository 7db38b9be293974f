"""A memory as a point, and a point as the memory and the passage that it is; who may see which.

The payload's names are the seeds' (seed 003, 2.1 and 4.3): `source` is a memory's origin. A point without a
tenant, as older tools wrote, is the tenant `default`'s. Nothing here raises.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from app.clients.points import Point, Where
from app.domain.days import noted, recall
from app.domain.label import label
from app.domain.memory import NOTE, RAW, UNTOLD, Memory
from app.domain.neighbour import Spot
from app.domain.passage import DEFAULT_TENANT, SAID_ON, Embedding, Passage, Scope, Stretch, day_of
from app.domain.text import kept
from app.index import payload
from app.index.sparse import passage as words_of
from app.index.standing import Standing

NAME = "memories"
LABEL = "memory"
ORIGIN = ("source", "origin")
WRITTEN = "created_at"
DAYS = "days"
"""Those that its text speaks of, as `domain/days.py` notes them."""
LONG_AGO = datetime.fromtimestamp(0, UTC)
"""Of a card that does not say when it was made."""
KNOWN = frozenset(
    {"tenant", "user_id", "text", "content", "chunk", "source", "kind", "tags", "vantage_id", "thread_id"}
    | {"place", "created_at", "tokens", "space", "fields", DAYS}
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


def told(scope: Scope, stands: Standing) -> Where:
    """The memories that a search may find: not what the assistant said, nor what was reckoned."""
    where = owned(scope)
    space = (("vantage_id", (scope.vantage_id,)),) if scope.vantage_id else ()
    return Where(where.has, (("source", UNTOLD),), (*where.open, *space), stands.since)


def dated(where: Where, days: Sequence[Stretch]) -> Where | None:
    """Of these memories those that were said on one of some days; None: no days are told."""
    told = [(WRITTEN, f"{first}T00:00:00Z", f"{end}T00:00:00Z") for first, end in days]
    return replace(where, between=tuple(told)) if told else None


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
    if said := day_of(memory.created_at):
        held[DAYS] = noted(memory.text, said)
    # What is not there must not be in the payload: a filter lets those pass that lack the field.
    kept = {name: value for name, value in held.items() if value not in (None, "", {}, [])}
    return Point(memory.id, kept, embedding, words_of(memory.text))


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


def passage(found: Point, short: str, similar: float | None) -> Passage:
    """A point as a passage; `short` is its id for labels."""
    facts = found.payload
    text = kept(payload.text(facts))
    recall(text, facts.get(DAYS))
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


def spot(found: Point) -> Spot | None:
    """Where it was said; None: nobody knows."""
    place = payload.number(found.payload, "place")
    thread = payload.fact(found.payload, "thread_id") if place else ""
    return (thread, place) if thread and place else None
