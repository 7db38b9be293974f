"""/memories: what a person said and wants kept; listed, taken back.

Searchable by the very next request, on every replica. A memory belongs to the tenant and a user: another's is
`Missing`. Raises what the service raises.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from starlette.responses import Response

from app import errors
from app.api import kept
from app.api.bodies import Name
from app.api.deps import Asker, Opened, scope_of, scope_of_user
from app.api.drafts import Memories, MemoryBody
from app.api.kept import MemoryList, SeveralReply, WrittenReply
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.sessions import Cursor, Limit
from app.api.wire import Json, JsonRoute
from app.db.keys import Caller
from app.problems import responses
from app.types import Scope

router = APIRouter(prefix="/memories", tags=["memories"], route_class=JsonRoute)


def owner(who: Caller, bodies: list[MemoryBody], place: str) -> Scope:
    """The one user of a request. `place` is where the first one's fields are told to be."""
    scope = scope_of_user(who, bodies[0].user_id, field=f"{place}.user_id")
    for at, body in enumerate(bodies):
        if (body.user_id or scope.user_id) != scope.user_id:
            raise errors.InvalidField("one request keeps memories of one user", field=f"body.{at}.user_id")
    return scope


@router.post(
    "",
    operation_id="keepMemories",
    summary="Keep what was said",
    status_code=201,
    response_class=Json,
    responses={
        200: shown(WrittenReply | SeveralReply, "Nothing of it was new", kept.ECHO),  # type: ignore[arg-type]
        201: shown(WrittenReply | SeveralReply, "Searchable", kept.WRITTEN),  # type: ignore[arg-type]
        **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.RemovedMeanwhile),
    },
)
async def keep(
    who: Asker, opened: Opened, body: Annotated[Memories, Body(openapi_examples=dict(kept.POSTED))]
) -> Response:
    """One memory, or a list of them (an object with `items` comes back): all are kept, or none."""
    several = isinstance(body, list)
    bodies = body if isinstance(body, list) else [body]
    scope = owner(who, bodies, "body.0" if several else "body")
    outcomes = await opened.memories.remember(scope, [each.draft() for each in bodies])
    items = [kept.written(each) for each in outcomes]
    told: dict[str, Any] = {"items": items} if several else items[0]
    return Json(told, 201 if kept.created(outcomes) else 200)


@router.get(
    "",
    operation_id="listMemories",
    summary="List a user's memories",
    response_class=Json,
    responses={
        200: shown(MemoryList, "A page, newest first", kept.MEMORIES),
        **responses(*ASKING, errors.Forbidden, errors.InvalidField),
    },
)
async def memories(
    *,
    who: Asker,
    opened: Opened,
    user_id: Annotated[Name | None, Query(description="Whose. A user key: that user, or left out.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Those that were written here, cards too."""
    scope = scope_of_user(who, user_id, field="query.user_id")
    found, after = await opened.memories.list(scope, cursor=cursor, limit=limit)
    return Json({"items": [kept.memory(each) for each in found], "next": after})


@router.delete(
    "/{memory_id}",
    operation_id="deleteMemory",
    summary="Remove a memory",
    status_code=204,
    responses={**responses(*ASKING, *KEEPING, errors.Missing, errors.InvalidField)},
)
async def remove(who: Asker, opened: Opened, memory_id: str) -> Response:
    """Gone from the next answer on, and the votes on it too."""
    await opened.memories.remove(scope_of(who), memory_id)
    return Response(status_code=204)
