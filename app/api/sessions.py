"""/api/sessions: documents and turns that belong together; listed, read, removed.

A session belongs to the tenant and the key's user: for others it is empty, and removing it is `Missing`.
"""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from app import errors
from app.api.dependencies import Asker, Cursor, Limit, Opened, scope_of
from app.api.openapi import ASKING, KEEPING, operation_id, responses
from app.api.schemas import Name, SessionId
from app.api.schemas.documents import SessionPage, TurnPage

router = APIRouter(generate_unique_id_function=operation_id, prefix="/api/sessions", tags=["sessions"])
Session = Annotated[SessionId, Path(description="As chat and uploads name it.")]


@router.get(
    "",
    summary="List sessions",
    response_description="A page, the most recently active first",
    responses=responses(*ASKING, errors.InvalidField),
)
async def list_sessions(
    *,
    who: Asker,
    opened: Opened,
    q: Annotated[Name | None, Query(description="Only sessions with this in their name or a turn.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> SessionPage:
    """Those with a document or a turn of yours."""
    found, after = await opened.sessions.recent(scope_of(who), cursor=cursor, limit=limit, containing=q)
    return SessionPage(items=found, next=after)


@router.get(
    "/{session_id}/turns",
    summary="List the turns of a session",
    response_description="A page, oldest first",
    responses=responses(*ASKING, errors.InvalidField),
)
async def list_turns(
    *,
    who: Asker,
    opened: Opened,
    session_id: Session,
    thread_id: Annotated[
        Name | None, Query(description="This thread alone. Left out: all threads of the session.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> TurnPage:
    """In reading order. An unknown session has no turns."""
    scope = scope_of(who, session_id=session_id, thread_id=thread_id)
    found, after = await opened.sessions.turns(scope, cursor=cursor, limit=limit)
    return TurnPage(items=found, next=after)


@router.delete(
    "/{session_id}",
    summary="Delete a session",
    status_code=204,
    response_class=Response,
    responses=responses(*ASKING, *KEEPING, errors.Missing, errors.InvalidField),
)
async def delete_session(who: Asker, opened: Opened, session_id: Session) -> None:
    """Its documents, turns and answers are gone from the next answer on."""
    await opened.sessions.remove(scope_of(who, session_id=session_id))
