"""POST /rag/feedback: what somebody said of an answer, as votes on the memories it used."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Body as Given
from pydantic import BaseModel, Field
from starlette.responses import Response

from app import errors
from app.api.bodies import Body, Message, Name
from app.api.deps import Asker, Opened, scope_of_user
from app.api.examples import ANSWER_ID
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.wire import Json, JsonRoute
from app.db.keys import Caller
from app.problems import responses
from app.services.feedback import Effect, Remark
from app.services.services import Services

router = APIRouter(prefix="/rag", tags=["memories"], route_class=JsonRoute)

MEMORY_ID = "8b5e2f0c-4a71-5d0e-9c53-7f1f2c6f2f11"
ASKED: Mapping[str, Any] = {"user_id": "ada", "message": "Thanks, as a short list it is perfect."}
EXAMPLES = {
    "said": {"summary": "What was said next", "value": ASKED},
    "rated": {
        "summary": "A thumb, for one answer",
        "value": {"user_id": "ada", "message": "No.", "answer_id": ANSWER_ID, "rating": "down"},
    },
}
EFFECT: Mapping[str, Any] = {
    "answer_id": ANSWER_ID,
    "sentiment": "positive",
    "decided_by": "marker",
    "tag": "format:skeleton",
    "memory_ids": [MEMORY_ID],
    "applied": 1,
    "persona_refreshed": True,
}


class FeedbackBody(Body):
    """What somebody said of an answer."""

    user_id: Name | None = Field(
        None,
        description="Who says it. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(
        description="What they said next. It is not kept: send it as their next question, if it is one.",
        examples=[ASKED["message"]],
    )
    thread_id: Name | None = Field(None, description="Which conversation. Default: the user's default one.")
    answer_id: Name | None = Field(None, description="Which answer. Default: the last of user and thread.")
    rating: Literal["up", "down"] | None = Field(None, description="Decides, whatever the message says.")


class FeedbackReply(BaseModel):
    """What came of it."""

    answer_id: str
    sentiment: Literal["positive", "negative", "neutral"] = Field(description="Neutral votes for nothing.")
    decided_by: Literal["rating", "marker", "model", "none"] = Field(
        description="`none`: no rating, no marker, and no model that would say."
    )
    tag: str | None = Field(description="What the message asks for, as a query tag or as its own #tag.")
    memory_ids: list[str] = Field(description="The person's memories that the answer used.")
    applied: int = Field(
        description="Votes that changed. One a memory and answer: a repeat changes none, a change of mind"
        " replaces them."
    )
    persona_refreshed: bool


def shape(effect: Effect) -> dict[str, Any]:
    """An effect as JSON."""
    return {
        "answer_id": effect.answer_id,
        "sentiment": effect.sentiment.value,
        "decided_by": effect.decided_by.value,
        "tag": effect.tag,
        "memory_ids": list(effect.memory_ids),
        "applied": effect.applied,
        "persona_refreshed": effect.persona_refreshed,
    }


RESPONSES = {
    200: shown(FeedbackReply, "What came of it", EFFECT),
    **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.Missing, errors.Rejected),
}
Said = Annotated[FeedbackBody, Given(openapi_examples=EXAMPLES)]


async def taken(who: Caller, opened: Services, body: FeedbackBody) -> Response:
    """What came of it, for whichever endpoint gave the answer."""
    scope = scope_of_user(who, body.user_id, thread_id=body.thread_id)
    remark = Remark(scope, body.message, answer_id=body.answer_id, rating=body.rating)
    return Json(shape(await opened.feedback.take(remark)))


@router.post(
    "/feedback",
    operation_id="ragFeedback",
    summary="Say what an answer was worth",
    response_class=Json,
    responses=RESPONSES,
)
async def feedback(who: Asker, opened: Opened, body: Said) -> Response:
    """Votes up or down each memory that the answer used, so that later answers rank them so."""
    return await taken(who, opened, body)
