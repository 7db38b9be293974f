"""/answers: the list of answers, how each came to be, and what has changed since.

An answer belongs to the tenant and the key's user who asked; for others it is `Missing`. It can be looked up
as soon as its `done` event is sent.
"""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from app import errors
from app.api.dependencies import Asker, Cursor, Limit, Opened, scope_of
from app.api.openapi import ASKING, operation_id, responses
from app.api.schemas import Name, SessionId
from app.api.schemas.answers import AnswerLineOut, AnswerOut, AnswerPage, ReplayReport

router = APIRouter(generate_unique_id_function=operation_id, prefix="/answers", tags=["answers"])
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
async def get_answer(who: Asker, opened: Opened, answer_id: AnswerId) -> AnswerOut:
    """Every passage the search saw, its figures, and what became of it."""
    return AnswerOut.of(await opened.answers.get(scope_of(who), answer_id))


@router.post(
    "/{answer_id}/replay",
    summary="Replay an answer and list what has changed",
    response_description="Whether it is the same, and otherwise what differs",
    responses=PROBLEMS,
)
async def replay_answer(who: Asker, opened: Opened, answer_id: AnswerId) -> ReplayReport:
    """Rebuilds the prompt from the recorded answer and the present stores. Asks no model, shows no text."""
    return ReplayReport.of(answer_id, await opened.replays.replay(scope_of(who), answer_id))
