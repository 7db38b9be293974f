"""/api/sessions: documents and turns that belong together; listed, renamed, read, removed.

A session belongs to the tenant and the key's user: for others it is empty, and removing it is `Missing`.
"""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from app import errors
from app.answering.meta import links
from app.api.bodies import JsonRoute
from app.api.dependencies import Asker, Cursor, Limit, Opened, scope_of
from app.api.openapi import ASKING, KEEPING, SENDING, operation_id, responses
from app.api.schemas import Name, SessionId
from app.api.schemas.answers import TurnAnswer
from app.api.schemas.documents import SessionOut, SessionPage, SessionUpdate, TurnOut, TurnPage
from app.logging import request_id

router = APIRouter(
    generate_unique_id_function=operation_id,
    prefix="/api/sessions",
    tags=["sessions"],
    route_class=JsonRoute,
)
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
    q: Annotated[
        Name | None, Query(description="Only sessions with this in their name, title or a turn.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> SessionPage:
    """Those with a document or a turn of yours."""
    found, after = await opened.sessions.recent(scope_of(who), cursor=cursor, limit=limit, containing=q)
    return SessionPage(items=found, next=after)


@router.patch(
    "/{session_id}",
    summary="Rename a session",
    response_description="The session as it is now",
    responses=responses(*ASKING, *SENDING, *KEEPING, errors.Missing, errors.RemovedMeanwhile),
)
async def rename_session(who: Asker, opened: Opened, session_id: Session, body: SessionUpdate) -> SessionOut:
    """Its title in lists, instead of the beginning of its first question; its name stays."""
    scope = scope_of(who, session_id=session_id)
    return SessionOut.model_validate(await opened.sessions.rename(scope, (body.title or "").strip()))


@router.get(
    "/{session_id}/turns",
    summary="List the turns of a session",
    response_description="A page, oldest first",
    responses=responses(*ASKING, errors.InvalidField),
)
async def list_turns(
    *,
    request: Request,
    who: Asker,
    opened: Opened,
    session_id: Session,
    thread_id: Annotated[
        Name | None, Query(description="This thread alone. Left out: all threads of the session.")
    ] = None,
    citations: Annotated[bool, Query(description="1: each answer's turn has its `answer`.")] = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> TurnPage:
    """In reading order. An unknown session has no turns."""
    scope = scope_of(who, session_id=session_id, thread_id=thread_id)
    found, after = await opened.sessions.turns(scope, cursor=cursor, limit=limit)
    items = [TurnOut.model_validate(each) for each in found]
    if citations:
        answers = await opened.answers.of_turns(scope, found)
        public_url, instance = request.app.state.settings.ibid.public_url, request_id(request.scope)
        for item in items:
            answer = answers.get(item.answer_id or "")
            if answer and (item.role == "assistant" or not answer.text):
                linked = links(answer.citations, public_url, session_id, answer.id)
                item.answer = TurnAnswer.of(answer, linked, instance)
    return TurnPage(items=items, next=after)


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
