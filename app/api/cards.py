"""/vantage/cards and /vantage/facts: what a namespace tells every answer given from it.

A row with a user_id is that user's, one without is every user's and needs a tenant key. The same key, or
without one the same words, again replaces. Raises what the service raises.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi import Body as Given
from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

from app import errors
from app.api.bodies import SAYS, Body, Name
from app.api.deps import Asker, Opened, scope_of
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.sessions import Cursor, Limit
from app.api.wire import Json, JsonRoute
from app.db.cards import Card, CardDraft, Shape
from app.problems import responses
from app.types import moment

router = APIRouter(prefix="/vantage", tags=["vantage"], route_class=JsonRoute)

CARD: dict[str, Any] = {
    "id": "4d0c6a2e-77c1-5b0a-8f3e-0d9a7f1b2c3d",
    "shape": "fact",
    "vantage_id": "clinic",
    "user_id": None,
    "text": "Closed on Wednesdays.",
    "key": "opening hours",
    "weight": 0.8,
    "created_at": "2026-11-21T09:30:00Z",
    "updated_at": "2026-11-21T09:30:00Z",
}
CARDS: Mapping[str, Any] = {"items": [CARD], "next": None}
EXAMPLES = {
    "all": {
        "summary": "For all users of the namespace",
        "value": {"vantage_id": "clinic", "key": "opening hours", "text": "Closed on Wednesdays."},
    },
    "one": {
        "summary": "For one user",
        "value": {"vantage_id": "clinic", "user_id": "ada", "text": "Prefers mornings.", "weight": 0.5},
    },
}

KEY = r"^[^\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]+$"
"""One line, as it is seen: no marks of lines or directions, no unseen blanks. Joiners are spelling."""
Key = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=KEY, strip_whitespace=True)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=SAYS)]


class CardBody(Body):
    """A card or a fact."""

    vantage_id: Name = Field(description="The namespace whose answers it joins.", examples=["clinic"])
    user_id: Name | None = Field(
        None,
        description="Whose. A user key implies it; a tenant key that leaves it out: every user's of the"
        " namespace.",
    )
    text: Words = Field(examples=["Closed on Wednesdays."])
    key: Key | None = Field(
        None,
        description="What it is about: a later one of the same key, in any case of letters, replaces it.",
        examples=["opening hours"],
    )
    weight: float = Field(
        1.0, ge=0, le=1, allow_inf_nan=False, description="The heavier first, as far as there is room."
    )

    def draft(self, shape: Shape) -> CardDraft:
        """As the domain has it."""
        return CardDraft(shape, **self.model_dump())


class CardReply(BaseModel):
    """A card or a fact that is kept."""

    id: str
    shape: Shape
    vantage_id: str
    user_id: str | None
    text: str
    key: str | None
    weight: float
    created_at: datetime
    updated_at: datetime


class CardList(BaseModel):
    """A page, newest first."""

    items: list[CardReply]
    next: str | None = Field(description="The `cursor` of the next page.")


Namespace = Annotated[Name | None, Query(description="Of this namespace alone. Left out: of all.")]
Whose = Annotated[
    Name | None,
    Query(description="What this user is told, every user's rows too. Left out, tenant key: everybody's."),
]


def keeps(shape: Shape) -> None:
    """POST."""

    @router.post(
        f"/{shape}s",
        operation_id=f"keep{shape.capitalize()}",
        summary=f"Keep a {shape}",
        status_code=201,
        response_class=Json,
        responses={
            200: shown(CardReply, "It replaced an earlier one", CARD | {"shape": str(shape)}),
            201: shown(CardReply, "It is new", CARD | {"shape": str(shape)}),
            **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.RemovedMeanwhile),
        },
    )
    async def keep(
        who: Asker, opened: Opened, body: Annotated[CardBody, Given(openapi_examples=EXAMPLES)]
    ) -> Response:
        """In the prompt of the very next answer from its namespace."""
        scope = scope_of(who, user_id=body.user_id)
        draft = replace(body.draft(shape), user_id=scope.user_id)
        kept, fresh = await opened.cards.put(scope, draft)
        return Json(told(kept), 201 if fresh else 200)


def lists(shape: Shape) -> None:
    """GET."""

    @router.get(
        f"/{shape}s",
        operation_id=f"list{shape.capitalize()}s",
        summary=f"List {shape}s",
        response_class=Json,
        responses={
            200: shown(CardList, "A page, newest first", {**CARDS, "items": [CARD | {"shape": str(shape)}]}),
            **responses(*ASKING, errors.Forbidden, errors.InvalidField),
        },
    )
    async def listed(
        *,
        who: Asker,
        opened: Opened,
        vantage_id: Namespace = None,
        user_id: Whose = None,
        cursor: Cursor = None,
        limit: Limit = 50,
    ) -> Response:
        """Those that were kept here."""
        scope = replace(scope_of(who, user_id=user_id), vantage_id=vantage_id)
        found, after = await opened.cards.list(scope, shape, cursor=cursor, limit=limit)
        return Json({"items": [told(each) for each in found], "next": after})


def removes(shape: Shape) -> None:
    """DELETE."""

    @router.delete(
        f"/{shape}s/{{{shape}_id}}",
        operation_id=f"delete{shape.capitalize()}",
        summary=f"Remove a {shape}",
        status_code=204,
        responses={
            **responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField),
        },
    )
    async def remove(
        who: Asker, opened: Opened, card_id: Annotated[str, Path(alias=f"{shape}_id")]
    ) -> Response:
        """Gone from the next answer on."""
        await opened.cards.remove(scope_of(who), shape, card_id)
        return Response(status_code=204)


def told(card: Card) -> dict[str, Any]:
    """A row as JSON."""
    times = {name: moment(getattr(card, name)) for name in ("created_at", "updated_at")}
    return asdict(card) | {"shape": str(card.shape)} | times


for each in Shape:
    keeps(each)
    lists(each)
    removes(each)
