"""POST /profiles: the cards that are computed from what people said, for `ibid profiles`.

A tenant key is needed: it is done for all users of a tenant, page by page.
"""

import hmac
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Body as Given
from pydantic import BaseModel, Field
from starlette.responses import Response

from app import errors
from app.api.bodies import Body, Name
from app.api.deps import Asker, Opened, scope_of
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.wire import Json, JsonRoute
from app.db.keys import Caller
from app.problems import responses
from app.services.services import Services

router = APIRouter(tags=["memories"], route_class=JsonRoute)

DONE: Mapping[str, Any] = {
    "items": [
        {
            "user_id": "ada",
            "messages": 212,
            "kinds": ["gravity_profile", "vb_desire_profile", "style", "persona"],
        }
    ],
    "next": None,
    "users": 1,
}
EXAMPLES = {
    "one": {"summary": "One user", "value": {"user_id": "ada"}},
    "all": {"summary": "All users of the tenant, the first page", "value": {}},
}


class ProfilesBody(Body):
    """Whose cards are computed."""

    user_id: Name | None = Field(None, description="Of this user alone. Left out: of all, page by page.")
    cursor: Name | None = Field(None, description="`next` of the page before.")
    tenant: Name | None = Field(
        None, description="Another tenant than the key's: for commands of the service's own machine alone."
    )


class ProfiledReply(BaseModel):
    """What was done for one user."""

    user_id: str
    messages: int = Field(description="Their own, as many as were read. 0: no cards, earlier ones removed.")
    kinds: list[str] = Field(description="Of the cards that were written.")


class ProfilesReply(BaseModel):
    """A page."""

    items: list[ProfiledReply]
    next: str | None
    users: int = Field(description="How many users the whole work is for.")


@router.post(
    "/profiles",
    operation_id="computeProfiles",
    summary="Compute profile cards",
    response_class=Json,
    responses={
        200: shown(ProfilesReply, "Computed, written, searchable", DONE),
        **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.RemovedMeanwhile, errors.Rejected),
    },
)
async def compute(
    request: Request,
    who: Asker,
    opened: Opened,
    body: Annotated[ProfilesBody, Given(openapi_examples=EXAMPLES)],
) -> Response:
    """From the messages and memories of each user: tag weights (half-life 30 days), style, persona."""
    caller = Caller(of_tenant(who, request, opened, body.tenant), None)
    scope = scope_of(caller, user_id=body.user_id)
    if body.user_id is not None:
        done, after, users = [await opened.profiles.profile(scope)], None, 1
    else:
        done, after = await opened.profiles.page(scope, body.cursor or "")
        users = await opened.profiles.users(scope)
    return Json({"items": [asdict(item) for item in done], "next": after, "users": users})


def of_tenant(who: Caller, request: Request, opened: Services, tenant: str | None) -> str:
    """Whose users they are. `Forbidden` for a user key, and for another's tenant unless the data folder's own
    token was sent: whoever can read that can read the stores."""
    if who.user is not None:
        raise errors.Forbidden("This needs a tenant key.")
    if tenant in (None, who.tenant):
        return who.tenant
    given = request.headers.get("authorization", "")
    if opened.token and hmac.compare_digest(given.encode(), f"Bearer {opened.token}".encode()):
        return str(tenant)
    raise errors.Forbidden("This key acts for its own tenant only.")
