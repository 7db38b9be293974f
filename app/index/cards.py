"""A user's cards as the record has them, newest first of each kind. Raises `RetrievalError`."""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby

from app.clients.faults import retrieval_faults
from app.clients.pool import Pool
from app.domain.memory import Memory

CARDS = """
    SELECT found.* FROM unnest($3::text[]) AS wanted (kind) CROSS JOIN LATERAL (
        SELECT id, user_id, text, tokens, created_at, kind, tags, origin, vantage_id, thread_id, place,
            fields, revision
        FROM ibid.memory
        WHERE tenant = $1 AND user_id = $2 AND kind = wanted.kind
        ORDER BY created_at DESC, id DESC LIMIT $4
    ) AS found
"""


async def newest(pool: Pool, owner: tuple[str, str], kinds: Sequence[str], most: int) -> list[Memory]:
    """At most so many of each kind; `owner`: tenant and user."""
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


def cut(cards: Iterable[Memory], most: int) -> list[Memory]:
    """The newest of each kind, newest first; of two with one id the later one in `cards`."""
    known = {card.id: card for card in cards}.values()
    by_kind = sorted(known, key=lambda card: (card.kind, card.created_at, card.id), reverse=True)
    kept = [card for _, each in groupby(by_kind, key=lambda card: card.kind) for card in [*each][:most]]
    return sorted(kept, key=lambda card: (card.created_at, card.id), reverse=True)
