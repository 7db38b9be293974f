"""A chunk of a document as the passage that an answer cites.

How it is called and where it lies is the same for every question of one session, so it stays with the text
(`domain/text.py`), as the last asker saw it: forty passages an answer are made of it. Nothing here raises.
"""

from collections.abc import Mapping

from app.domain.label import label
from app.domain.passage import Passage
from app.domain.quick import quick
from app.domain.text import known
from app.index.place import Listed, key
from app.index.texts import Row

NAME = "documents"
"""Of the source."""
placed = quick(Passage)
STANDS = "stands"
"""Under which a text remembers it."""


def passage(row: Row, item: Listed, name: str, similar: float | None, seen: str) -> Passage:
    """A chunk as a passage; `seen` as `seen_from` gives it. What is the same for every question stays with
    the text, as the last asker saw it."""
    asked = item, name, seen
    kept = known(row.text, STANDS)
    if kept is None or kept[0] != asked:
        kept = row.text.memo[STANDS] = asked, stands(row, item, name, seen)
    id_, named, fields = kept[1]
    title = item.title or item.filename
    # In the order of its fields: names take as long as values.
    return placed(NAME, id_, row.text, row.tokens, named, similar, 0.0, title, fields, item.created_at)


def stands(row: Row, item: Listed, name: str, seen: str) -> tuple[str, str, Mapping[str, str | int | None]]:
    """(id, label, fields) of a chunk's passage."""
    fields: dict[str, str | int | None] = {
        "document": item.id,
        "filename": item.filename,
        "page": row.page,
        "page_end": row.page_end,
        "heading": row.heading,
        "url": f"/api/documents/{item.id}/chunks/{row.ordinal}{seen}",
    }
    return key((item.id, row.ordinal)), label(name, str(row.ordinal)), fields
