"""/users/{user_id}: everything that is kept about a user, exported or erased; what changed since a time.

A user key works for its own user, a tenant key for any user of its tenant. A user about whom nothing is kept
looks like one who never existed.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from app import errors
from app.api.bodies import encoded
from app.api.dependencies import Asker, Cursor, Limit, Opened, scope_of, span_of, tenant_of
from app.api.openapi import ASKING, KEEPING, operation_id, responses
from app.api.schemas import Name, PastTime
from app.api.schemas.users import ChangePage, ErasureReceipt, UserExport
from app.api.sse import close, download
from app.db.keys import Caller
from app.types import moment

PIECE_BYTES = 64 << 10
"""Rows are sent in pieces of this size: a send for every row would cost more than the row."""
EXPORT_HEADERS = {
    "Content-Disposition": 'attachment; filename="ibid-export.json"',
    "Cache-Control": "no-store",
}


class NameConvertor(Convertor[str]):
    """Any text. Starlette's `path` would drop a final line break, and so name another user."""

    regex = "(?s:.+)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("name", NameConvertor())
router = APIRouter(generate_unique_id_function=operation_id, prefix="/users", tags=["users"])

User = Annotated[Name, Path(description="As requests name it. A user key: that user.")]
Tenant = Annotated[
    Name | None,
    Query(description="Another tenant than the key's: for commands of the service's own machine alone."),
]


@router.get(
    "/{user_id:name}/export",
    summary="Export everything that is kept about a user",
    responses={
        200: {"model": UserExport, "description": "One JSON document, streamed"},
        **responses(*ASKING, errors.Forbidden, errors.InvalidField),
    },
)
async def export_user(who: Asker, opened: Opened, user_id: User) -> Response:
    """Memories, cards, votes, turns, answers with their traces, and the user's documents."""
    scope = scope_of(who, user_id=user_id)
    notes = list(opened.users.notes(scope))
    head = {"user_id": user_id, "exported_at": moment(datetime.now(UTC)), "notes": notes}
    pieces = exported(head, opened.users.holdings, opened.users.export(scope))
    return await download(pieces, headers=EXPORT_HEADERS, media_type="application/json")


@router.get(
    "/{user_id:name}/changes",
    summary="List what is new, changed or gone",
    response_description="A page, oldest first",
    responses=responses(*ASKING, errors.Forbidden, errors.InvalidField),
)
async def list_changes(
    *,
    who: Asker,
    opened: Opened,
    user_id: User,
    since: Annotated[
        PastTime | None, Query(description="`until` of an earlier reply, or any time. Left out: everything.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> ChangePage:
    """The user's memories and answers, documents in their reach, and sessions that were deleted."""
    scope = scope_of(who, user_id=user_id)
    page = await opened.history.changes(scope, span_of(since).since, cursor=cursor, limit=limit)
    return ChangePage.model_validate(page)


async def exported(
    head: Mapping[str, object],
    holdings: Sequence[str],
    rows: AsyncIterator[tuple[str, Mapping[str, object]]],
) -> AsyncIterator[bytes]:
    """The export as JSON, written while the rows are read, store by store, empty ones included. `complete`
    comes last: a store that fails cuts the connection, so an incomplete export does not look complete."""
    buffer = bytearray(encoded(head)[:-1] + b',"holdings":{')
    left, open_one = list(holdings), ""
    try:
        async for name, row in rows:
            while open_one != name:
                buffer += b"]," if open_one else b""
                open_one = left.pop(0)
                buffer += encoded(open_one) + b":["
                fresh = True
            buffer += (b"" if fresh else b",") + encoded(row)
            fresh = False
            if len(buffer) >= PIECE_BYTES:
                yield bytes(buffer)
                buffer.clear()
    finally:
        await close(rows)
    ends = [b"]"] if open_one else []
    buffer += b",".join([*ends, *(encoded(name) + b":[]" for name in left)]) + b'},"complete":true}'
    yield bytes(buffer)


@router.delete(
    "/{user_id:name}",
    summary="Erase a user",
    response_description="The receipt",
    responses=responses(*ASKING, *KEEPING, errors.Forbidden, errors.InvalidField),
)
async def erase_user(
    request: Request, who: Asker, opened: Opened, user_id: User, tenant: Tenant = None
) -> ErasureReceipt:
    """Nothing of the user can be found from now on, by answers in progress either; the receipt says when
    files no longer contain it."""
    if tenant is not None:
        who = Caller(tenant_of(who, request, opened, tenant), None)
    return ErasureReceipt.of(await opened.users.erase(scope_of(who, user_id=user_id)))
