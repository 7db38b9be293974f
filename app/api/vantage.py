"""POST /vantage/query, POST /vantage/feedback, GET /vantage/policy.

As for /rag/query, everything that can fail does so in the dependency, while a status can still be sent; it
owns the reply, and a client that leaves cancels all of it. Without ENABLE_VANTAGE_ENDPOINTS these paths are
unknown (`main.py`).
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request
from starlette.responses import Response

from app import errors
from app.answering.prompt import overlay_to_instructions
from app.answering.stream import Reply
from app.api import feedback as remarks
from app.api import ruled
from app.api.chat import Prepared, sent
from app.api.deps import Asker, Opened, scope_of_user, shows_debug
from app.api.inquiry import QUERY, LimitsBody, RoutingBody, VantageBody
from app.api.mix import MixBody
from app.api.peer import unless_gone
from app.api.refusals import ASKING, MODEL, SENDING
from app.api.replies import shown
from app.api.wire import Json, JsonRoute
from app.db.keys import Caller
from app.problems import responses
from app.services.vantage import Inquiry, Inspection
from app.vantage.policy import policy

router = APIRouter(prefix="/vantage", tags=["vantage"], route_class=JsonRoute)

Said = Annotated[VantageBody, Body(openapi_examples=dict(QUERY))]


def asked(body: VantageBody, who: Caller, *, debug: bool) -> Inquiry:
    """The body as the service takes it."""
    overlay = body.overlay
    parts = overlay if overlay is None or isinstance(overlay, str) else overlay.model_dump()
    scope = scope_of_user(who, body.user_id, thread_id=body.thread_id)
    return Inquiry(
        replace(scope, vantage_id=body.vantage_id),
        body.message,
        top_k=body.top_k,
        overlay=overlay_to_instructions(parts),
        limits=(body.limits or LimitsBody()).limits(),
        routing=(body.routing or RoutingBody()).routing(),
        mix=(body.mix or MixBody()).mix(),
        model=body.model,
        inspect_only=body.inspect_only,
        debug=debug,
    )


async def closed(reply: Reply | Inspection) -> None:
    """Nobody is there to hear it."""
    await reply.aclose()


async def prepared(request: Request, body: Said, who: Asker, opened: Opened) -> AsyncIterator[Prepared]:
    """Decided, looked up and the model's stream open; closed when the response is out."""
    debug = request.app.state.settings.vantage.debug or await shows_debug(opened)
    ask = asked(body, who, debug=debug)
    reply = await unless_gone(request.receive, opened.vantage.prepare(ask), lost=closed)
    try:
        yield Prepared(reply, body.stream)
    finally:
        await reply.aclose()


@router.post(
    "/query",
    operation_id="vantageQuery",
    summary="Ask within the policy",
    response_class=Json,
    responses={
        200: {"model": ruled.VantageReply, **ruled.RESPONSE},
        **responses(*ASKING, *SENDING, *MODEL, errors.Forbidden),
    },
)
async def query(request: Request, given: Annotated[Prepared, Depends(prepared)]) -> Response:
    """What may be answered, and how, is decided before the model speaks; what it says is held to that. Also
    as events: `meta`, `token`… (a sentence each), `citations`, `done`."""
    return await sent(request, given)


@router.post(
    "/feedback",
    operation_id="vantageFeedback",
    summary="Say what an answer within the policy was worth",
    response_class=Json,
    responses=remarks.RESPONSES,
)
async def feedback(who: Asker, opened: Opened, body: remarks.Said) -> Response:
    """As /rag/feedback: votes on each memory that the answer used. The style card is refreshed anyway."""
    return await remarks.taken(who, opened, body)


@router.get(
    "/policy",
    operation_id="vantagePolicy",
    summary="Read the policy",
    response_class=Json,
    responses={
        200: shown(ruled.PolicyReply, "Rules in order, thresholds, tables, version and hash", ruled.POLICY),
        **responses(*ASKING),
    },
)
async def published(_who: Asker) -> Response:
    """The same for everybody, until another version is installed."""
    return Json(dict(policy()))
