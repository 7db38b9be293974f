"""/projects/{project}/conversations and /projects/{project}/dreams: rows of conversation_index.

The two are one table; which of them a project keeps is in its profile. Searchable by the very next request,
on every replica. Written with a tenant key, a row is shared in the tenant, with a user key it is that user's:
another's is `Missing`. Raises what the service raises.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Request
from starlette.responses import Response

from app import errors
from app.api import talks
from app.api.context import Project
from app.api.deps import Asker, Opened, scope_of
from app.api.drafts import TextId
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.sessions import Cursor, Limit
from app.api.talks import KeptReply, RowList, RowReply, Rows, SeveralReply
from app.api.wire import Json, JsonRoute
from app.db.conversations import Outcome
from app.db.projects import CONVERSATIONS, DREAMS
from app.problems import responses

router = APIRouter(prefix="/projects", tags=["projects"], route_class=JsonRoute)

Row = Annotated[TextId, Path(description="The row's session_id, or what its writer called it.")]
NOT_HERE = (errors.KeptElsewhere, errors.InvalidField)
KEEPS: dict[str, Any] = {
    "status_code": 201,
    "response_class": Json,
    "responses": {
        200: shown(KeptReply | SeveralReply, "Nothing of it was new", talks.AGAIN),  # type: ignore[arg-type]
        201: shown(KeptReply | SeveralReply, "Searchable", talks.KEPT),  # type: ignore[arg-type]
        **responses(*ASKING, *SENDING, *KEEPING, *NOT_HERE, errors.RemovedMeanwhile, errors.Rejected),
    },
}
LISTS: dict[str, Any] = {
    "response_class": Json,
    "responses": {200: shown(RowList, "A page, newest first", talks.ROWS), **responses(*ASKING, *NOT_HERE)},
}
SHOWS: dict[str, Any] = {
    "response_class": Json,
    "responses": {
        200: shown(RowReply, "The row", talks.ROW),
        **responses(*ASKING, *NOT_HERE, errors.Missing, errors.Rejected),
    },
}
REMOVES: dict[str, Any] = {
    "status_code": 204,
    "responses": {**responses(*ASKING, *KEEPING, *NOT_HERE, errors.Forbidden, errors.Missing)},
}


async def path(request: Request) -> str:
    """Which of the two the route is for."""
    return DREAMS if f"/{DREAMS}" in request.scope["route"].path else CONVERSATIONS


Kind = Annotated[str, Depends(path)]


async def kept(who: Asker, opened: Opened, project: Project, kind: Kind, body: Rows) -> Response:
    """One row, or several."""
    bodies = (
        {f"body.{at}": each for at, each in enumerate(body)} if isinstance(body, list) else {"body": body}
    )
    scope = scope_of(who, project=project)
    for place, each in bodies.items():
        if field := each.astray(scope):
            raise errors.InvalidField(
                "a row is kept where the path and the key say", field=f"{place}.{field}"
            )
    outcomes = await opened.conversations.keep(scope, kind, [each.draft() for each in bodies.values()])
    items = [talks.written(each) for each in outcomes]
    new = any(outcome is Outcome.CREATED for _, outcome in outcomes)
    return Json({"items": items} if isinstance(body, list) else items[0], 201 if new else 200)


@router.post(
    "/{project}/conversations",
    operation_id="keepConversations",
    summary="Keep conversations",
    **KEEPS,
)
async def conversations(
    who: Asker,
    opened: Opened,
    project: Project,
    body: Annotated[Rows, Body(openapi_examples=dict(talks.POSTED))],
) -> Response:
    """One row, or a list of up to 1,000 (an object with `items` comes back): all are kept, or none. What is
    missing is made of `turns` or `text`: by the chat model if there is one, else of their own sentences. A
    row as it is read here, or as the table has it, is taken too."""
    return await kept(who, opened, project, CONVERSATIONS, body)


@router.post("/{project}/dreams", operation_id="keepDreams", summary="Keep dreams", **KEEPS)
async def dreams(
    who: Asker,
    opened: Opened,
    project: Project,
    body: Annotated[Rows, Body(openapi_examples=dict(talks.DREAMT))],
) -> Response:
    """As conversations, in a project that keeps dreams (DAAS)."""
    return await kept(who, opened, project, DREAMS, body)


@router.get("/{project}/dreams", operation_id="listDreams", summary="List dreams", **LISTS)
@router.get(
    "/{project}/conversations", operation_id="listConversations", summary="List conversations", **LISTS
)
async def rows(
    *,
    who: Asker,
    opened: Opened,
    project: Project,
    kind: Kind,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Yours and those that the tenant shares, whoever wrote them; those without a time last. Texts are cut at
    10,000 characters."""
    scope = scope_of(who, project=project)
    found, after = await opened.conversations.list(scope, kind, cursor=cursor, limit=limit)
    return Json({"items": [talks.row(each) for each in found], "next": after})


@router.get("/{project}/dreams/{id}", operation_id="getDream", summary="Get a dream", **SHOWS)
@router.get(
    "/{project}/conversations/{id}", operation_id="getConversation", summary="Get a conversation", **SHOWS
)
async def row(who: Asker, opened: Opened, project: Project, kind: Kind, id: Row) -> Response:  # noqa: A002 - its name
    """By its id, or what its writer called it."""
    return Json(talks.row(await opened.conversations.get(scope_of(who, project=project), kind, id)))


@router.delete("/{project}/dreams/{id}", operation_id="deleteDream", summary="Remove a dream", **REMOVES)
@router.delete(
    "/{project}/conversations/{id}",
    operation_id="deleteConversation",
    summary="Remove a conversation",
    **REMOVES,
)
async def remove(who: Asker, opened: Opened, project: Project, kind: Kind, id: Row) -> Response:  # noqa: A002 - its name
    """Gone from the next answer on. What the tenant shares needs a tenant key; what another tool wrote is not
    removed here."""
    await opened.conversations.remove(scope_of(who, project=project), kind, id)
    return Response(status_code=204)


@router.delete("/{project}/dreams", operation_id="deleteDreams", summary="Remove all dreams", **REMOVES)
@router.delete(
    "/{project}/conversations",
    operation_id="deleteConversations",
    summary="Remove all conversations",
    **REMOVES,
)
async def clear(who: Asker, opened: Opened, project: Project, kind: Kind) -> Response:
    """All of a user key's own in the project; with a tenant key all that the tenant shares there. What
    another tool wrote stays, adopted or not."""
    await opened.conversations.remove_all(scope_of(who, project=project), kind)
    return Response(status_code=204)
