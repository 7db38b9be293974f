"""/memory_feedback: votes on memories.

Every vote and count is of one user. A count of a memory that is another's, or of none, is zero.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi import Body as Given
from pydantic import BaseModel, BeforeValidator, Field, RootModel
from starlette.responses import Response

from app import errors
from app.api.bodies import Body, Name
from app.api.deps import Asker, Opened, scope_of_user
from app.api.examples import ANSWER_ID
from app.api.feedback import MEMORY_ID
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.wire import Json, JsonRoute
from app.problems import responses

router = APIRouter(prefix="/memory_feedback", tags=["memories"], route_class=JsonRoute)

IDS_MOST, ID_LENGTH = 200, 200
"""Ids of one request, and characters of each."""
VOTED: Mapping[str, Any] = {"user_id": "ada", "memory_id": MEMORY_ID, "signal": 1}
EXAMPLES = {
    "vote": {"summary": "Today's vote", "value": VOTED},
    "answer": {"summary": "One about an answer", "value": {**VOTED, "answer_id": ANSWER_ID}},
    "withdrawn": {"summary": "Taken back", "value": {**VOTED, "signal": 0, "answer_id": ANSWER_ID}},
}
VOTE: Mapping[str, Any] = {"memory_id": MEMORY_ID, "signal": 1, "applied": True}
COUNTS: Mapping[str, Any] = {MEMORY_ID: {"positive": 3, "negative": 1}}


def whole(value: object) -> object:
    """`true` and 1.0 are 1 to Python, and no votes."""
    if type(value) is not int:
        raise ValueError("Input should be 1, -1 or 0")
    return value


Signal = Annotated[Literal[1, -1, 0], BeforeValidator(whole)]


class VoteBody(Body):
    """A vote."""

    user_id: Name | None = Field(
        None,
        description="Whose vote, on a memory of theirs. A tenant key must name one; a user key implies it.",
    )
    memory_id: Name = Field(examples=[MEMORY_ID])
    signal: Signal = Field(description="Up, down, or 0: the vote is taken back.")
    answer_id: Name | None = Field(
        None,
        description="The answer it is about: a user has one vote per answer and memory, and a later one"
        " replaces it. Without it a user has one vote per memory and UTC day; `signal: 0` then deletes the"
        " votes of all days.",
        examples=[ANSWER_ID],
    )


class VoteReply(BaseModel):
    """What became of it."""

    memory_id: str
    signal: Literal[1, -1, 0]
    applied: bool = Field(description="False if the stored vote was already the same.")


class TallyReply(BaseModel):
    """The votes on a memory."""

    positive: int
    negative: int


class TalliesReply(RootModel[dict[str, TallyReply]]):
    """By memory; each that was asked for."""


Ids = Annotated[
    list[Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00-\x1f\x7f]*$")]],
    Query(min_length=1, max_length=IDS_MOST, description="Memories, commas between them, or repeated."),
]


def listed(ids: list[str]) -> list[str]:
    """The ids that `ids` names, each once. Raises `InvalidField`."""
    found = list(dict.fromkeys(key.strip() for part in ids for key in part.split(",") if key.strip()))
    if len(found) > IDS_MOST or any(len(key) > ID_LENGTH for key in found):
        raise errors.InvalidField(
            f"at most {IDS_MOST} ids, of {ID_LENGTH} characters each", field="query.ids"
        )
    return found


@router.post(
    "",
    operation_id="voteMemory",
    summary="Vote on a memory",
    response_class=Json,
    responses={
        200: shown(VoteReply, "The vote stands", VOTE),
        **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.Missing),
    },
)
async def vote(
    who: Asker, opened: Opened, body: Annotated[VoteBody, Given(openapi_examples=EXAMPLES)]
) -> Response:
    """Counts from the user's very next question on."""
    scope = scope_of_user(who, body.user_id)
    applied = await opened.signals.cast(scope, body.memory_id, body.signal, answer_id=body.answer_id)
    return Json({"memory_id": body.memory_id, "signal": body.signal, "applied": applied})


@router.get(
    "",
    operation_id="countVotes",
    summary="Count the votes on memories",
    response_class=Json,
    responses={
        200: shown(TalliesReply, "Positive and negative votes, by memory", COUNTS),
        **responses(*ASKING, errors.InvalidField, errors.Forbidden, errors.Rejected),
    },
)
async def counts(
    who: Asker,
    opened: Opened,
    ids: Ids,
    user_id: Annotated[
        Name | None,
        Query(description="Whose votes. A tenant key must name one; a user key implies it."),
    ] = None,
) -> Response:
    """The user's own votes, nobody else's."""
    scope = scope_of_user(who, user_id, field="query.user_id")
    found = await opened.signals.tallies(scope, listed(ids))
    return Json(
        {key: {"positive": votes.positive, "negative": votes.negative} for key, votes in found.items()}
    )
