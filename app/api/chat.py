"""POST /api/chat: a cited answer, as events or as one object.

Everything that can fail does so in the dependency, while a status can still be sent; it also closes the
reply, and with it the model's stream. A client that disconnects cancels the answer, unless it asked to
`continue`.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from app import errors
from app.answer import Role, Turn
from app.answering.question import Question
from app.api.bodies import JsonRoute
from app.api.dependencies import Asker, Opened, scope_of, shows_debug, within
from app.api.openapi import answered, operation_id
from app.api.schemas.chat import AnswerEnd, ChatMeta, ChatReply, ChatRequest
from app.api.sse import PreparedAnswer, Shapes, prepared
from app.db.keys import Caller

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/api/chat", tags=["chat"], route_class=JsonRoute
)
SHAPES = Shapes(ChatMeta, AnswerEnd, ChatReply)


def asked(body: ChatRequest, who: Caller, top_k_max: int, *, debug: bool) -> Question:
    within(body.top_k, top_k_max)
    scope = scope_of(
        who,
        user_id=body.user_id,
        session_id=body.session_id,
        thread_id=body.thread_id or body.session_id,
        project=body.project,
    )
    if body.remember and scope.user_id is None:
        raise errors.InvalidField("user_id is required with `remember`", field="body.user_id")
    turns = None if body.history is None else tuple(Turn(Role(t.role), t.content) for t in body.history)
    return Question(
        replace(scope, only=body.filter.filter() if body.filter else None),
        body.message,
        sources=None if body.sources is None else tuple(dict.fromkeys(body.sources)),
        history=turns,
        notes=tuple(body.notes),
        top_k=body.top_k,
        model=body.model,
        remember=body.remember,
        include=frozenset(body.include),
        debug=debug,
    )


async def begun(
    request: Request, body: ChatRequest, who: Asker, opened: Opened
) -> AsyncIterator[PreparedAnswer]:
    ask = asked(body, who, request.app.state.settings.rag.top_k_max, debug=await shows_debug(opened))
    watch = body.on_disconnect == "cancel"
    preparing = opened.chat.prepare(ask)
    async with prepared(request, preparing, SHAPES.events, stream=body.stream, watch=watch) as answer:
        yield answer


@router.post(
    "",
    summary="Ask a question and get a cited answer",
    responses=answered(SHAPES, "The answer: a stream of events, or (`stream: false`) one object"),
)
async def chat(answer: Annotated[PreparedAnswer, Depends(begun)]) -> Response:
    """Server-sent events: `meta`, `token`…, `citations`, `done`. An error after the start is an event
    `error`, and ends the stream."""
    return await answer.response()
