"""What an asker can reach of the record, and how its rows look to them.

The condition is in the SQL: another's document is not filtered out after it was read, it is never read.
Labels follow CONTRACT §0: in a session its own documents keep their names, a global one of the same name
shows as `name-2.pdf`, by the same `domain/label.distinct` that search uses over the same names.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import asyncpg

from app.domain.document import Document, Fault, State
from app.domain.label import distinct, key, label_name
from app.domain.passage import Scope
from app.stores.transaction import Connection

IN_REACH = """
    tenant = $1 AND removed_at IS NULL
    AND (session_id = '' OR (owner = $2 AND ($3::text IS NULL OR session_id = $3)))
"""
"""Global documents of the tenant, and the owner's: of one session ($3) or of all."""

COLUMNS = """id, name, filename, session_id, state, pages, chunks, tokens, sha256, created_at,
    users, fault_slug, fault_detail"""

OWN = """
    SELECT name FROM ibid.document
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND state = 'ready' AND removed_at IS NULL
    ORDER BY id
"""
SHARED = """
    SELECT id, name FROM ibid.document
    WHERE tenant = $1 AND session_id = '' AND removed_at IS NULL AND (state = 'ready' OR id = ANY($2))
    ORDER BY id
"""

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_id(text: str) -> bool:
    """Whether a text can be an id at all: what else comes in a path (NUL, surrogates) stays out of SQL."""
    return ID.fullmatch(text) is not None


def asker(scope: Scope) -> tuple[str, str, str | None]:
    """The arguments of IN_REACH."""
    return scope.tenant, scope.owner, scope.session_id


def document(row: asyncpg.Record) -> Document:
    """A row as the document it is, under its own name."""
    fault = Fault(row["fault_slug"], row["fault_detail"] or "") if row["fault_slug"] else None
    return Document(
        id=row["id"],
        label=label_name(row["name"]),
        filename=row["filename"],
        session_id=row["session_id"] or None,
        state=State(row["state"]),
        pages=row["pages"],
        chunks=row["chunks"],
        tokens=row["tokens"],
        sha256=row["sha256"],
        created_at=row["created_at"],
        users=tuple(row["users"]),
        fault=fault,
    )


async def labelled(connection: Connection, scope: Scope, seen: Sequence[Document]) -> list[Document]:
    """The documents under the labels that `scope` sees; outside a session they keep their own names."""
    if scope.session_id is None or all(item.session_id for item in seen):
        return list(seen)
    rows = await connection.fetch(OWN, scope.tenant, scope.owner, scope.session_id)
    own = [label_name(row["name"]) for row in rows]
    if not in_the_way(own, seen):
        return list(seen)  # the thousands of global names stay unread
    labels = await beside(connection, scope, own, seen)
    return [replace(item, label=labels.get(item.id, item.label)) for item in seen]


async def beside(
    connection: Connection, scope: Scope, own: Sequence[str], seen: Sequence[Document]
) -> dict[str, str]:
    """What global documents are called beside the session's own, by id."""
    shared = await connection.fetch(SHARED, scope.tenant, [item.id for item in seen])
    _, shown = distinct(own, [label_name(row["name"]) for row in shared])
    return dict(zip((row["id"] for row in shared), shown, strict=True))


def in_the_way(own: Sequence[str], seen: Sequence[Document]) -> bool:
    """Whether a global document has the name of one of the session's."""
    looks = set(map(key, own))
    return any(item.session_id is None and key(item.label) in looks for item in seen)
