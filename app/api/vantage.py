"""/vantage: answers within a policy; the policy, its cards and facts, and the mix of sources.

As in /rag/query, everything that can fail does so in the dependency, which also closes the reply. Without
ENABLE_VANTAGE_ENDPOINTS these paths are unknown (`app/main.py`). A card with a user_id is that user's; one
without is every user's, and needs a tenant key. The same key, or without a key the same words, replaces.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from app import errors
from app.answering.question import Question
from app.api import rag
from app.api.bodies import JsonRoute
from app.api.dependencies import Asker, Cursor, Limit, Opened, scope_of, scope_of_user, shows_debug
from app.api.openapi import ASKING, KEEPING, SENDING, answered, operation_id, responses
from app.api.schemas import Name
from app.api.schemas.rag import FeedbackReply, FeedbackRequest
from app.api.schemas.vantage import (
    CardOut,
    CardPage,
    LimitOptions,
    MixOptions,
    MixReply,
    MixRequest,
    NewCard,
    PolicyDocument,
    RoutingOptions,
    VantageEnd,
    VantageMeta,
    VantageReply,
    VantageRequest,
)
from app.api.sse import PreparedAnswer, Shapes, prepared
from app.db.cards import CardShape
from app.db.keys import Caller
from app.vantage.policy import policy

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/vantage", tags=["vantage"], route_class=JsonRoute
)
SHAPES = Shapes(VantageMeta, VantageEnd, VantageReply)

Namespace = Annotated[Name | None, Query(description="This namespace alone. Left out: all.")]
Whose = Annotated[
    Name | None,
    Query(
        description="What this user's answers are given: theirs and every user's. Left out, with a tenant"
        " key: everybody's."
    ),
]


def asked(body: VantageRequest, who: Caller, *, debug: bool) -> Question:
    scope = scope_of_user(who, body.user_id, thread_id=body.thread_id)
    return Question(
        replace(scope, vantage_id=body.vantage_id),
        body.message,
        top_k=body.top_k,
        overlay=rag.instructions(body.overlay),
        limits=(body.limits or LimitOptions()).limits(),
        routing=(body.routing or RoutingOptions()).routing(),
        mix=(body.mix or MixOptions()).mix(),
        model=body.model,
        inspect_only=body.inspect_only,
        include=frozenset(body.include),
        debug=debug,
    )


async def begun(
    request: Request, body: VantageRequest, who: Asker, opened: Opened
) -> AsyncIterator[PreparedAnswer]:
    debug = request.app.state.settings.vantage.debug or await shows_debug(opened)
    preparing = opened.vantage.prepare(asked(body, who, debug=debug))
    async with prepared(request, preparing, SHAPES.events, stream=body.stream) as answer:
        yield answer


@router.post(
    "/query",
    summary="Ask a question within the policy",
    responses=answered(SHAPES, "The answer: one object, or (`stream: true`) a stream of events"),
)
async def vantage_query(answer: Annotated[PreparedAnswer, Depends(begun)]) -> Response:
    """The policy decides what may be answered, and how, before the model is asked, and checks what it says.
    As events: `meta`, `token`… (a sentence each), `citations`, `done`."""
    return await answer.response()


@router.post(
    "/feedback",
    summary="Give feedback on an answer within the policy",
    response_description="What the feedback changed",
    responses=rag.FEEDBACK,
)
async def vantage_feedback(who: Asker, opened: Opened, body: FeedbackRequest) -> FeedbackReply:
    """As /rag/feedback: votes on each memory that the answer used."""
    return await rag.rag_feedback(who, opened, body)


@router.get(
    "/policy",
    summary="Get the policy",
    response_description="Rules in order, thresholds, tables, version and hash",
    responses=responses(*ASKING),
)
async def vantage_policy(_who: Asker) -> PolicyDocument:
    """The same for everybody, until another version is installed."""
    return PolicyDocument.model_validate(policy())


@router.post(
    "/mix",
    summary="Rank an answer's candidates with another mix",
    response_description="What the model would have seen",
    responses=responses(*ASKING, *SENDING, errors.Missing, errors.Rejected),
)
async def mix_answer(who: Asker, opened: Opened, body: MixRequest) -> MixReply:
    """Nothing is embedded, searched or generated. Texts are not cut by tokens again: what had no room then
    has none now."""
    return MixReply.of(await opened.mixing.mix(scope_of(who), body.answer_id, body.mix.mix()))


def routes_of(shape: CardShape) -> None:
    @router.post(
        f"/{shape}s",
        operation_id=f"keep{shape.capitalize()}",
        summary=f"Store a {shape}",
        status_code=201,
        response_description="It is new",
        responses={
            200: {"model": CardOut, "description": "It replaced an earlier one"},
            **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.RemovedMeanwhile),
        },
    )
    async def keep(who: Asker, opened: Opened, body: NewCard, response: Response) -> CardOut:
        """The model sees it in the next answer of its namespace."""
        scope = scope_of(who, user_id=body.user_id)
        kept, fresh = await opened.cards.put(scope, replace(body.draft(shape), user_id=scope.user_id))
        response.status_code = 201 if fresh else 200
        return CardOut.model_validate(kept)

    @router.get(
        f"/{shape}s",
        operation_id=f"list{shape.capitalize()}s",
        summary=f"List {shape}s",
        response_description="A page, newest first",
        responses=responses(*ASKING, errors.Forbidden, errors.InvalidField),
    )
    async def listed(
        *,
        who: Asker,
        opened: Opened,
        vantage_id: Namespace = None,
        user_id: Whose = None,
        cursor: Cursor = None,
        limit: Limit = 50,
    ) -> CardPage:
        """Those that were written here."""
        scope = replace(scope_of(who, user_id=user_id), vantage_id=vantage_id)
        found, after = await opened.cards.list(scope, shape, cursor=cursor, limit=limit)
        return CardPage(items=found, next=after)

    @router.delete(
        f"/{shape}s/{{{shape}_id}}",
        operation_id=f"delete{shape.capitalize()}",
        summary=f"Delete a {shape}",
        status_code=204,
        response_class=Response,
        responses=responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField),
    )
    async def remove(
        who: Asker, opened: Opened, card_id: Annotated[str, Path(alias=f"{shape}_id", description="Its id.")]
    ) -> None:
        """Gone from the next answer on."""
        await opened.cards.remove(scope_of(who), shape, card_id)


for each in CardShape:
    routes_of(each)
