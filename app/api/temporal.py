"""GET /temporal/{user_id}: when somebody last said something."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.responses import Response

from app import errors
from app.api.bodies import Name
from app.api.deps import Asker, Opened, scope_of
from app.api.refusals import ASKING
from app.api.replies import shown
from app.api.wire import Json
from app.problems import responses
from app.types import moment

router = APIRouter(prefix="/temporal", tags=["memories"])

MOMENT: Mapping[str, Any] = {
    "bucket": "days",
    "last_message_at": "2026-11-19T09:30:40.5Z",
    "seconds_since": 172_800.0,
}


class MomentReply(BaseModel):
    """How long ago."""

    bucket: Literal["new", "minutes", "hours", "days", "weeks", "months"] = Field(
        description="Less than an hour, 24 hours, 7 days, 31 days ago; longer; `new`: never."
    )
    last_message_at: datetime | None
    seconds_since: float | None


@router.get(
    "/{user_id:path}",
    operation_id="lastMessage",
    summary="Say when somebody was last here",
    response_class=Json,
    responses={
        200: shown(MomentReply, "How long ago", MOMENT),
        # Missing: a path with a line break in it is no path of ours.
        **responses(*ASKING, errors.InvalidField, errors.Forbidden, errors.Missing, errors.Rejected),
    },
)
async def last(
    who: Asker, opened: Opened, user_id: Annotated[Name, Path(description="A user key: that user.")]
) -> Response:
    """The last question that was recorded; one under way is not."""
    found = await opened.signals.last(scope_of(who, user_id=user_id))
    at = moment(found.last_message_at) if found.last_message_at else None
    since = None if found.seconds_since is None else round(found.seconds_since, 3)
    return Json({"bucket": found.bucket, "last_message_at": at, "seconds_since": since})
