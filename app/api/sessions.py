"""/api/sessions: what a caller uploaded and said together, listed, read again, removed.

A session belongs to the tenant and the key's user: another's is empty, and removing it is `Missing`. Lists
come in pages of `limit`; `next` is the cursor of the following one.
"""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from app import errors
from app.api import specimens
from app.api.bodies import Name, SessionId
from app.api.deps import Asker, Opened, scope_of
from app.api.refusals import ASKING, KEEPING
from app.api.replies import SessionList, TurnList, shown
from app.api.wire import Json
from app.problems import responses
from app.types import moment

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

Session = Annotated[SessionId, Path(description="As chat and uploads name it.")]
Cursor = Annotated[
    str | None, Query(max_length=500, pattern=r"^[\x21-\x7e]+$", description="`next` of the page before.")
]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.get(
    "",
    operation_id="listSessions",
    summary="List sessions",
    response_class=Json,
    responses={
        200: shown(SessionList, "A page, the most recently active first", specimens.SESSIONS),
        **responses(*ASKING, errors.InvalidField),
    },
)
async def sessions(who: Asker, opened: Opened, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """Those with a document or a turn of yours."""
    found, after = await opened.sessions.recent(scope_of(who), cursor=cursor, limit=limit)
    items = [
        asdict(session)
        | {
            "created_at": moment(session.created_at),
            "last_active_at": moment(session.last_active_at),
        }
        for session in found
    ]
    return Json({"items": items, "next": after})


@router.get(
    "/{session_id}/turns",
    operation_id="listTurns",
    summary="Read what was said",
    response_class=Json,
    responses={
        200: shown(TurnList, "A page, oldest first", specimens.TURNS),
        **responses(*ASKING, errors.InvalidField),
    },
)
async def turns(
    *,
    who: Asker,
    opened: Opened,
    session_id: Session,
    thread_id: Annotated[
        Name | None, Query(description="That thread's alone. Left out: all threads of the session.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """In reading order. A session that is not there has none."""
    scope = scope_of(who, session_id=session_id, thread_id=thread_id)
    found, after = await opened.sessions.turns(scope, cursor=cursor, limit=limit)
    return Json({"items": [asdict(turn) | {"at": moment(turn.at)} for turn in found], "next": after})


@router.delete(
    "/{session_id}",
    operation_id="deleteSession",
    summary="Remove a session",
    status_code=204,
    responses={**responses(*ASKING, *KEEPING, errors.Missing, errors.InvalidField)},
)
async def remove(who: Asker, opened: Opened, session_id: Session) -> Response:
    """Its documents, turns and answers: gone from the next answer on."""
    await opened.sessions.remove(scope_of(who, session_id=session_id))
    return Response(status_code=204)
