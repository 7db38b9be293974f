"""/users/{user_id}: all that is kept of a person, handed out or erased.

A user key asks for its own user only, a tenant key for any user of its tenant. A user of whom nothing is kept
looks like one who never was.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from app import errors
from app.api.bodies import Name
from app.api.deps import Asker, Opened, scope_of
from app.api.export import ExportStream
from app.api.profiles import of_tenant
from app.api.refusals import ASKING, KEEPING
from app.api.replies import shown
from app.api.wire import Json
from app.db.keys import Caller
from app.db.users import Receipt
from app.problems import responses
from app.types import moment


class NameConvertor(Convertor[str]):
    """Anything: a name may hold slashes, and what is none (a line break) is refused and not unknown."""

    regex = "(?s:.+)"

    def convert(self, value: str) -> str:
        """As it is."""
        return value

    def to_string(self, value: str) -> str:
        """As it is."""
        return value


register_url_convertor("name", NameConvertor())
router = APIRouter(prefix="/users", tags=["users"])

User = Annotated[Name, Path(description="As requests name it; of a user key: that user.")]
Tenant = Annotated[
    Name | None,
    Query(description="Another tenant than the key's: for commands of the service's own machine alone."),
]
EXPORT: Mapping[str, Any] = {
    "user_id": "ada",
    "exported_at": "2026-11-21T09:30:40.5Z",
    "notes": [],
    "holdings": {
        "memories": [{"id": "0c4f6d0e-2a51-5f0e-9e6e-3c1f0a7be1d2", "text": "Prefers tea.", "kind": "note"}],
        "chat_log": [],
    },
    "complete": True,
}
RECEIPT: Mapping[str, Any] = {
    "user_id": "ada",
    "erased_at": "2026-11-21T09:30:40.5Z",
    "counts": {
        "memories": 12,
        "votes": 3,
        "chat_log": 40,
        "answers": 20,
        "vantage_traces": 8,
        "vantage_cards": 1,
        "vantage_facts": 2,
        "activity": 1,
        "documents": 2,
    },
    "files": {"compacted": False, "at": None, "by": "2026-11-21T09:40:40.5Z", "pending": [], "external": []},
    "engines": [],
    "cached_until": None,
    "notes": [],
}


class ExportReply(BaseModel):
    """Everything that is kept of one user."""

    user_id: str
    exported_at: datetime
    notes: list[str] = Field(description="Data about the user in other services, which is not included.")
    holdings: dict[str, list[dict[str, Any]]] = Field(
        description="Rows by what keeps them, as they are kept. Documents: with the address of their file."
    )
    complete: bool = Field(description="Always true, and last: a download that broke off has none.")


class FilesReply(BaseModel):
    """Where erased rows may still stand, unread: in files that are rewritten afterwards."""

    compacted: bool = Field(description="Nothing of the user is left in files of this service.")
    at: datetime | None = Field(description="When they were last rewritten for this user.")
    by: datetime | None = Field(
        description="By when they will be; null: they are, or `pending` is all that is left. Ask again."
    )
    pending: list[str] = Field(
        description="Files that hold something for longer. `chroma`, with more than 50,000 vectors: numbers"
        " and ids, no text; rewritten once it is smaller, since searches would go without it meanwhile."
    )
    external: list[str] = Field(description="Servers whose files are not this service's to rewrite.")


class ReceiptReply(BaseModel):
    """What an erasure came to. A user of whom nothing was kept gets zeros."""

    model_config = ConfigDict(extra="forbid")

    user_id: str
    erased_at: datetime
    counts: dict[str, int] = Field(description="Rows and documents that went, by what kept them.")
    files: FilesReply
    engines: list[str] = Field(
        description="Search engines that have yet to delete what they hold of the user. No search finds it"
        " any more; ask again."
    )
    cached_until: datetime | None = Field(
        description="Until then the cache that replicas share may hold results that nobody is given any more."
    )
    notes: list[str] = Field(
        description="What is not erased, because others keep it: the outside memory service's votes and"
        " activity (MEMORY_SERVICE_URL)."
    )


@router.get(
    "/{user_id:name}/export",
    operation_id="exportUser",
    summary="Hand out all that is kept of a user",
    response_class=Json,
    responses={
        200: shown(ExportReply, "One JSON document, streamed", EXPORT),
        **responses(*ASKING, errors.Forbidden, errors.InvalidField),
    },
)
async def export(who: Asker, opened: Opened, user_id: User) -> Response:
    """Memories, cards, votes, turns, answers with their traces, documents that are the user's."""
    scope = scope_of(who, user_id=user_id)
    notes = list(opened.users.notes(scope))
    head = {"user_id": user_id, "exported_at": moment(datetime.now(UTC)), "notes": notes}
    return await ExportStream.begun(head, opened.users.holdings, opened.users.export(scope))


@router.delete(
    "/{user_id:name}",
    operation_id="eraseUser",
    summary="Erase a user",
    response_class=Json,
    responses={
        200: shown(ReceiptReply, "The receipt", RECEIPT),
        **responses(*ASKING, *KEEPING, errors.Forbidden, errors.InvalidField),
    },
)
async def erase(
    request: Request, who: Asker, opened: Opened, user_id: User, tenant: Tenant = None
) -> Response:
    """Unanswerable at once, also for answers under way; gone from files by the time that the receipt says."""
    if tenant is not None:
        who = Caller(of_tenant(who, request, opened, tenant), None)
    return Json(shape(await opened.users.erase(scope_of(who, user_id=user_id))))


def shape(receipt: Receipt) -> dict[str, Any]:
    """As JSON."""
    return {
        "user_id": receipt.user_id,
        "erased_at": moment(receipt.erased_at),
        "counts": dict(receipt.counts),
        "files": {
            "compacted": receipt.compacted,
            "at": receipt.at and moment(receipt.at),
            "by": receipt.by and moment(receipt.by),
            "pending": receipt.pending,
            "external": receipt.external,
        },
        "engines": receipt.engines,
        "cached_until": receipt.cached_until and moment(receipt.cached_until),
        "notes": list(receipt.notes),
    }
