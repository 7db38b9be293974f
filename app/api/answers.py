"""/answers: how an answer came to be, and what has changed since.

An answer belongs to the tenant and the key's user who asked; for others it is `Missing`. It can be looked up
as soon as its `done` event is sent.
"""

from typing import Annotated

from fastapi import APIRouter, Path, Request

from app import errors
from app.answering.meta import links
from app.api.dependencies import Asker, Opened, scope_of
from app.api.openapi import ASKING, operation_id, responses
from app.api.schemas.answers import AnswerOut, ReplayReport

router = APIRouter(generate_unique_id_function=operation_id, prefix="/answers", tags=["answers"])
PROBLEMS = responses(*ASKING, errors.Missing, errors.InvalidField, errors.Rejected)
AnswerId = Annotated[str, Path(description="As the answer's events and replies give it.")]


@router.get(
    "/{answer_id}",
    summary="Get an answer with its trace",
    response_description="The answer with its trace",
    responses=PROBLEMS,
)
async def get_answer(request: Request, who: Asker, opened: Opened, answer_id: AnswerId) -> AnswerOut:
    """Every passage the search saw, its figures, and what became of it."""
    asked, found = await opened.answers.found(scope_of(who), answer_id)
    public_url = request.app.state.settings.ibid.public_url
    return AnswerOut.of(found, links(found.citations, public_url, asked.session_id, answer_id))


@router.post(
    "/{answer_id}/replay",
    summary="Replay an answer and list what has changed",
    response_description="Whether it is the same, and otherwise what differs",
    responses=PROBLEMS,
)
async def replay_answer(who: Asker, opened: Opened, answer_id: AnswerId) -> ReplayReport:
    """Rebuilds the prompt from the recorded answer and the present stores. Asks no model, shows no text."""
    return ReplayReport.of(answer_id, await opened.replays.replay(scope_of(who), answer_id))
