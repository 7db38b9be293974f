"""POST /api/chat: a cited answer, as events or whole.

Everything that can fail does so in the dependency, while a status can still be sent; it also owns the reply:
whatever happens, the model's stream is closed. A client that leaves cancels all of it, unless it asked to
`continue`: then the request goes on without a reader, still owned by its own task.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request
from starlette.responses import Response

from app import errors
from app.answer import Role, Turn
from app.answering.stream import Reply
from app.api import examples
from app.api.bodies import ChatBody
from app.api.deps import Asker, Opened, scope_of, shows_debug
from app.api.events import EventStream
from app.api.peer import unless_gone
from app.api.refusals import ASKING, MODEL, SENDING
from app.api.replies import ChatReply
from app.api.wire import Json, JsonRoute
from app.db.keys import Caller
from app.logging import request_id
from app.problems import responses
from app.services.projects import Ask
from app.services.vantage import Inspection

router = APIRouter(prefix="/api/chat", tags=["chat"], route_class=JsonRoute)

Question = Annotated[ChatBody, Body(openapi_examples=dict(examples.CHAT))]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A reply that can begin, and how it was asked for."""

    reply: Reply | Inspection
    stream: bool
    watch: bool = True
    """Whether the client's leaving ends it."""


async def sent(request: Request, given: Prepared) -> Response:
    """As events, or whole."""
    if given.stream:
        return EventStream(given.reply, request_id(request.scope), watch=given.watch)
    whole = given.reply.whole()
    return Json(await (unless_gone(request.receive, whole) if given.watch else whole))


def asked(body: ChatBody, who: Caller, top_k_max: int, *, debug: bool) -> Ask:
    """The body as the service takes it."""
    if body.top_k is not None and body.top_k > top_k_max:
        raise errors.InvalidField(f"Input should be less than or equal to {top_k_max}", field="body.top_k")
    scope = scope_of(
        who,
        user_id=body.user_id,
        session_id=body.session_id,
        thread_id=body.thread_id or body.session_id,
        project=body.project,
    )
    if body.remember and scope.user_id is None:
        raise errors.InvalidField("say whose memory it is to be", field="body.user_id")
    turns = None if body.history is None else tuple(Turn(Role(t.role), t.content) for t in body.history)
    return Ask(
        scope,
        body.message,
        sources=None if body.sources is None else tuple(dict.fromkeys(body.sources)),
        history=turns,
        notes=tuple(body.notes),
        top_k=body.top_k,
        model=body.model,
        remember=body.remember,
        on_disconnect=body.on_disconnect,
        debug=debug,
    )


async def prepared(request: Request, body: Question, who: Asker, opened: Opened) -> AsyncIterator[Prepared]:
    """Retrieval done and the model's stream open; closed when the response is out."""
    ask = asked(body, who, request.app.state.settings.rag.top_k_max, debug=await shows_debug(opened))
    watch = body.on_disconnect == "cancel"
    preparing = opened.chat.prepare(ask)
    reply = await (unless_gone(request.receive, preparing, lost=Reply.aclose) if watch else preparing)
    try:
        yield Prepared(reply, body.stream, watch)
    finally:
        await reply.aclose()


@router.post(
    "",
    operation_id="chat",
    summary="Ask, and get a cited answer",
    response_class=Json,
    responses={
        200: {"model": ChatReply, **examples.CHAT_RESPONSE},
        **responses(*ASKING, *SENDING, *MODEL, errors.Forbidden),
    },
)
async def chat(request: Request, given: Annotated[Prepared, Depends(prepared)]) -> Response:
    """Server-sent events: `meta`, `token`…, `citations`, `done`; a late fault is an `error` and ends it."""
    return await sent(request, given)
