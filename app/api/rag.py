"""POST /rag/query: an answer from a person's memory, whole or as chat's events.

As in chat, everything that can fail does so in the dependency, while a status can still be sent; it owns the
reply, and a client that leaves cancels all of it.
"""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request
from starlette.responses import Response

from app import errors
from app.answering.prompt import overlay_to_instructions
from app.answering.stream import Reply
from app.api import recalled
from app.api.bodies import RagBody
from app.api.chat import Prepared, sent
from app.api.deps import Asker, Opened, scope_of_user, shows_debug
from app.api.peer import unless_gone
from app.api.refusals import ASKING, MODEL, SENDING
from app.api.wire import Json, JsonRoute
from app.db.keys import Caller
from app.problems import responses
from app.services.rag import Question

router = APIRouter(prefix="/rag", tags=["memories"], route_class=JsonRoute)

Said = Annotated[RagBody, Body(openapi_examples=dict(recalled.QUERY))]


def asked(body: RagBody, who: Caller, *, debug: bool) -> Question:
    """The body as the service takes it."""
    overlay = body.overlay
    parts = overlay if overlay is None or isinstance(overlay, str) else overlay.model_dump()
    return Question(
        scope_of_user(who, body.user_id, thread_id=body.thread_id),
        body.message,
        top_k=body.top_k,
        overlay=overlay_to_instructions(parts),
        remember=body.remember,
        debug=debug,
    )


async def prepared(request: Request, body: Said, who: Asker, opened: Opened) -> AsyncIterator[Prepared]:
    """All looked up and the model's stream open; closed when the response is out."""
    ask = asked(body, who, debug=await shows_debug(opened))
    reply = await unless_gone(request.receive, opened.rag.prepare(ask), lost=Reply.aclose)
    try:
        yield Prepared(reply, body.stream)
    finally:
        await reply.aclose()


@router.post(
    "/query",
    operation_id="ragQuery",
    summary="Ask somebody who remembers",
    response_class=Json,
    responses={
        200: {"model": recalled.RagReply, **recalled.RESPONSE},
        **responses(*ASKING, *SENDING, *MODEL, errors.Forbidden),
    },
)
async def query(request: Request, given: Annotated[Prepared, Depends(prepared)]) -> Response:
    """One object; or events: `meta`, `token`…, `citations`, `done`; a late fault is an `error`."""
    return await sent(request, given)
