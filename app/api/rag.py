"""POST /rag/query: an answer from a person's memory, whole or as events; POST /rag/feedback: votes by words.

As in /api/chat, everything that can fail does so in the dependency, which also closes the reply.
"""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from app import errors
from app.answering.prompt import overlay_to_instructions
from app.answering.question import Question
from app.api.bodies import JsonRoute
from app.api.dependencies import Asker, Opened, scope_of_user, shows_debug
from app.api.openapi import ASKING, KEEPING, SENDING, answered, operation_id, responses
from app.api.schemas.chat import AnswerEnd
from app.api.schemas.rag import (
    FeedbackReply,
    FeedbackRequest,
    OverlayOptions,
    RagMeta,
    RagReply,
    RagRequest,
)
from app.api.sse import PreparedAnswer, Shapes, prepared
from app.services.feedback import Remark

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/rag", tags=["memories"], route_class=JsonRoute
)
SHAPES = Shapes(RagMeta, AnswerEnd, RagReply)
FEEDBACK = responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.Missing, errors.Rejected)


def instructions(overlay: str | OverlayOptions | None) -> str:
    parts = overlay.model_dump() if isinstance(overlay, OverlayOptions) else overlay
    return overlay_to_instructions(parts)


async def begun(
    request: Request, body: RagRequest, who: Asker, opened: Opened
) -> AsyncIterator[PreparedAnswer]:
    question = Question(
        scope_of_user(who, body.user_id, thread_id=body.thread_id),
        body.message,
        top_k=body.top_k,
        overlay=instructions(body.overlay),
        remember=body.remember,
        include=frozenset(body.include),
        debug=await shows_debug(opened),
    )
    async with prepared(request, opened.rag.prepare(question), SHAPES.events, stream=body.stream) as answer:
        yield answer


@router.post(
    "/query",
    summary="Ask a question about a user's memories",
    responses=answered(SHAPES, "The answer: one object, or (`stream: true`) a stream of events"),
)
async def rag_query(answer: Annotated[PreparedAnswer, Depends(begun)]) -> Response:
    """One object; or events: `meta`, `token`…, `citations`, `done`, and `error` if it breaks off."""
    return await answer.response()


@router.post(
    "/feedback",
    summary="Give feedback on an answer",
    response_description="What the feedback changed",
    responses=FEEDBACK,
)
async def rag_feedback(who: Asker, opened: Opened, body: FeedbackRequest) -> FeedbackReply:
    """Votes on each memory that the answer used, so that later answers rank them by it."""
    scope = scope_of_user(who, body.user_id, thread_id=body.thread_id)
    remark = Remark(scope, body.message, answer_id=body.answer_id, rating=body.rating)
    return FeedbackReply.model_validate(await opened.feedback.take(remark))
