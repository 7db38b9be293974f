"""/answers: their list, how each came to be, its rating, what has changed since; its events, and its end.

An answer belongs to the tenant and the key's user who asked; for others it is `Missing`. It can be looked up
as soon as its `done` event is sent; followed and stopped from its first event on, at any replica.
"""

import re
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request
from starlette.responses import Response

from app import errors
from app.answer import Answer
from app.answering.meta import links
from app.api import chat, rag, vantage
from app.api.bodies import JsonRoute
from app.api.dependencies import Asker, Cursor, Limit, Opened, scope_of
from app.api.openapi import ASKING, KEEPING, SENDING, followed, operation_id, responses
from app.api.schemas import Name, SessionId
from app.api.schemas.answers import (
    AnswerLineOut,
    AnswerOut,
    AnswerPage,
    RatingReply,
    RatingRequest,
    ReplayReport,
)
from app.api.sse import Events, EventStream, Resumed
from app.logging import request_id
from app.types import Scope

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/answers", tags=["answers"], route_class=JsonRoute
)
PROBLEMS = responses(*ASKING, errors.Missing, errors.InvalidField, errors.Rejected)
AnswerId = Annotated[str, Path(description="As the answer's events and replies give it.")]


@router.get(
    "",
    summary="List answers",
    response_description="A page, newest first",
    responses=responses(*ASKING, errors.Forbidden, errors.InvalidField),
)
async def list_answers(
    *,
    who: Asker,
    opened: Opened,
    session_id: Annotated[SessionId | None, Query(description="Only of this session.")] = None,
    thread_id: Annotated[Name | None, Query(description="Only of this thread; a session is one.")] = None,
    user_id: Annotated[Name | None, Query(description="Only of this user. A user key: that user.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> AnswerPage:
    """Questions and answers without their traces."""
    scope = scope_of(who, user_id=user_id, session_id=session_id, thread_id=thread_id)
    found, after = await opened.answers.list(scope, cursor=cursor, limit=limit)
    return AnswerPage(items=[AnswerLineOut.of(each) for each in found], next=after)


@router.get(
    "/{answer_id}",
    summary="Get an answer with its trace",
    response_description="The answer with its trace",
    responses=PROBLEMS,
)
async def get_answer(request: Request, who: Asker, opened: Opened, answer_id: AnswerId) -> AnswerOut:
    """Every passage the search saw, its figures, and what became of it."""
    asked, found = await opened.answers.found(scope_of(who), answer_id)
    return traced(request, asked, found)


@router.put(
    "/{answer_id}/rating",
    summary="Rate an answer",
    response_description="The rating as it is now",
    responses=responses(*ASKING, *SENDING, *KEEPING, errors.Missing, errors.Rejected),
)
async def rate_answer(who: Asker, opened: Opened, answer_id: AnswerId, body: RatingRequest) -> RatingReply:
    """Kept with the answer, and a vote on each memory that it used; another rating replaces both."""
    return RatingReply.model_validate(await opened.feedback.rate(scope_of(who), answer_id, body.rating))


def traced(request: Request, asked: Scope, found: Answer) -> AnswerOut:
    """The answer with the addresses of its citations."""
    public_url = request.app.state.settings.ibid.public_url
    return AnswerOut.of(found, links(found.citations, public_url, asked.session_id, found.id))


SHAPES = {"/rag/query": rag.SHAPES, "/vantage/query": vantage.SHAPES}
EVENT_ID = re.compile(r"([0-9a-f-]{36}):([0-9]{1,9})")
LastEventId = Annotated[
    str | None,
    Header(description="Id of the last event that arrived, `<answer_id>:<n>`. Default: none."),
]


def position(answer_id: str, last: str | None) -> int:
    """The number of the last event that the client has."""
    if not last:
        return 0
    found = EVENT_ID.fullmatch(last)
    if found is None or found[1] != answer_id:
        raise errors.InvalidField(
            "Last-Event-ID must be the id of an event of this answer", field="header.last-event-id"
        )
    return int(found[2])


@router.get(
    "/{answer_id}/events",
    summary="Resume the events of an answer",
    response_class=Response,
    responses={
        **followed(chat.SHAPES),
        **responses(*ASKING, errors.Missing, errors.Rejected, errors.Overloaded),
    },
)
async def resume_answer(
    request: Request, who: Asker, opened: Opened, answer_id: AnswerId, last_event_id: LastEventId = None
) -> Response:
    """The events after `Last-Event-ID`, with the ids, data and order that the first stream has, from any
    replica. An answer in progress is followed to its end, and goes on if the client that asked leaves
    meanwhile. Of an answer that has ended they are made of its record, which has no `debug`."""
    after = position(answer_id, last_event_id)
    found = await opened.streams.follow(scope_of(who), answer_id, after)
    if found is None:
        return Response(status_code=204)
    shapes = SHAPES.get(found.endpoint, chat.SHAPES)
    wire = Events(shapes, answer_id, request_id(request.scope))
    return EventStream(Resumed(answer_id, found.events, wire.at), wire)


@router.post(
    "/{answer_id}/stop",
    summary="Stop an answer",
    response_description="The answer as far as it came, with its trace",
    responses=PROBLEMS,
)
async def stop_answer(request: Request, who: Asker, opened: Opened, answer_id: AnswerId) -> AnswerOut:
    """Ends an answer in progress, from any replica: its stream gets `citations` and `done` with the finish
    reason `cancelled`. One that has ended stays as it is."""
    stopped = await opened.streams.stop(scope_of(who), answer_id)
    asked, _ = await opened.answers.found(scope_of(who), answer_id)
    return traced(request, asked, stopped)


@router.post(
    "/{answer_id}/replay",
    summary="Replay an answer and list what has changed",
    response_description="Whether it is the same, and otherwise what differs",
    responses=PROBLEMS,
)
async def replay_answer(who: Asker, opened: Opened, answer_id: AnswerId) -> ReplayReport:
    """Rebuilds the prompt from the recorded answer and the present stores. Asks no model, shows no text."""
    return ReplayReport.of(answer_id, await opened.replays.replay(scope_of(who), answer_id))
