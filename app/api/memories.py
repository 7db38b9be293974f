"""/memories: what people said and want kept; /memory_feedback: votes on it; /temporal and /profiles.

A memory can be searched by the very next request, on every replica. It belongs to the tenant and a user: for
others it is `Missing`, without votes.
"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from app import errors
from app.api.bodies import JsonRoute
from app.api.dependencies import (
    Asker,
    AsOf,
    Cursor,
    Limit,
    Opened,
    Since,
    scope_of,
    scope_of_user,
    span_of,
    tenant_of,
)
from app.api.openapi import ASKING, KEEPING, SENDING, operation_id, responses
from app.api.schemas import Name
from app.api.schemas.memories import (
    IDS_MOST,
    USER,
    LastActivity,
    MemoriesWritten,
    MemoryOut,
    MemoryPage,
    MemoryUpdate,
    MemoryWritten,
    NewMemories,
    NewMemory,
    ProfilesReply,
    ProfilesRequest,
    VoteCounts,
    VoteReply,
    VoteRequest,
)
from app.db.keys import Caller
from app.db.memories import MemoryOutcome
from app.problems import pattern
from app.types import Scope

router = APIRouter(generate_unique_id_function=operation_id, tags=["memories"], route_class=JsonRoute)
ID_LONGEST = 200
User = Annotated[Name | None, Query(description=USER)]


def owner(who: Caller, bodies: list[NewMemory], place: str) -> Scope:
    """The one user of a request. `place` is the path of the first memory in the body."""
    scope = scope_of_user(who, bodies[0].user_id, field=f"{place}.user_id")
    for at, body in enumerate(bodies):
        if (body.user_id or scope.user_id) != scope.user_id:
            raise errors.InvalidField(
                "all memories of one request must be of the same user", field=f"body.{at}.user_id"
            )
    return scope


@router.post(
    "/memories",
    summary="Store memories",
    status_code=201,
    response_description="Searchable",
    responses={
        200: {"model": MemoryWritten | MemoriesWritten, "description": "Nothing of it was new"},
        **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.RemovedMeanwhile),
    },
)
async def keep_memories(
    who: Asker, opened: Opened, body: NewMemories, response: Response
) -> MemoryWritten | MemoriesWritten:
    """One memory, or a list of them (the reply has `items`): all are kept, or none."""
    bodies = body if isinstance(body, list) else [body]
    scope = owner(who, bodies, "body.0" if isinstance(body, list) else "body")
    outcomes = await opened.memories.remember(scope, [each.draft() for each in bodies])
    response.status_code = 201 if any(each.outcome is MemoryOutcome.CREATED for each in outcomes) else 200
    written = MemoriesWritten(items=outcomes)
    return written if isinstance(body, list) else written.items[0]


@router.get(
    "/memories",
    summary="List a user's memories",
    response_description="A page, newest first",
    responses=responses(*ASKING, errors.Forbidden, errors.InvalidField),
)
async def list_memories(
    *,
    who: Asker,
    opened: Opened,
    user_id: User = None,
    since: Since = None,
    as_of: AsOf = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> MemoryPage:
    """Those that were written here, cards included."""
    scope = scope_of_user(who, user_id, field="query.user_id")
    if since or as_of:
        page = await opened.history.memories(scope, span_of(since, as_of), cursor=cursor, limit=limit)
        return MemoryPage.model_validate(page)
    if cursor:
        found, after = await opened.memories.list(scope, cursor=cursor, limit=limit)
        return MemoryPage(items=found, next=after)
    (found, after), total = await asyncio.gather(
        opened.memories.list(scope, cursor=None, limit=limit), opened.memories.count(scope)
    )
    return MemoryPage(items=found, next=after, total=total)


MemoryId = Annotated[str, Path(description="The memory's id.")]


@router.get(
    "/memories/{memory_id}",
    summary="Get a memory",
    response_description="The memory",
    responses=responses(*ASKING, errors.Missing),
)
async def get_memory(who: Asker, opened: Opened, memory_id: MemoryId) -> MemoryOut:
    """One that was written here, a card included."""
    return MemoryOut.model_validate(await opened.memories.get(scope_of(who), memory_id))


@router.patch(
    "/memories/{memory_id}",
    summary="Change a memory",
    response_description="The memory as it is now",
    responses=responses(
        *ASKING,
        *SENDING,
        *KEEPING,
        errors.Missing,
        errors.SameText,
        errors.KeptElsewhere,
        errors.RemovedMeanwhile,
    ),
)
async def change_memory(who: Asker, opened: Opened, memory_id: MemoryId, body: MemoryUpdate) -> MemoryOut:
    """Its id, its day and its votes stay. Searched with its new words by the very next request."""
    return MemoryOut.model_validate(await opened.memories.change(scope_of(who), memory_id, body.change()))


@router.delete(
    "/memories/{memory_id}",
    summary="Delete a memory",
    status_code=204,
    response_class=Response,
    responses=responses(*ASKING, *KEEPING, errors.Missing, errors.InvalidField),
)
async def delete_memory(who: Asker, opened: Opened, memory_id: MemoryId) -> None:
    """It and its votes are gone from the next answer on."""
    await opened.memories.remove(scope_of(who), memory_id)


Ids = Annotated[
    list[
        Annotated[
            str,
            Field(
                max_length=10_000,
                pattern=pattern(r"^[^\x00-\x1f\x7f]*$", "must not have control characters"),
            ),
        ]
    ],
    Query(min_length=1, max_length=IDS_MOST, description="Memories, separated by commas or repeated."),
]


def listed(ids: list[str]) -> list[str]:
    found = list(dict.fromkeys(key.strip() for part in ids for key in part.split(",") if key.strip()))
    if len(found) > IDS_MOST or any(len(key) > ID_LONGEST for key in found):
        raise errors.InvalidField(
            f"ids must be at most {IDS_MOST}, of {ID_LONGEST} characters each", field="query.ids"
        )
    return found


@router.post(
    "/memory_feedback",
    summary="Vote on a memory",
    response_description="The vote counts",
    responses=responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.Missing),
)
async def vote_memory(who: Asker, opened: Opened, body: VoteRequest) -> VoteReply:
    """Counts from the user's very next question on."""
    scope = scope_of_user(who, body.user_id)
    applied = await opened.signals.cast(scope, body.memory_id, body.signal, answer_id=body.answer_id)
    return VoteReply(memory_id=body.memory_id, signal=body.signal, applied=applied)


@router.get(
    "/memory_feedback",
    summary="Count the votes on memories",
    response_description="Votes by memory",
    responses=responses(*ASKING, errors.InvalidField, errors.Forbidden, errors.Rejected),
)
async def count_votes(who: Asker, opened: Opened, ids: Ids, user_id: User = None) -> VoteCounts:
    """The user's own votes, nobody else's."""
    scope = scope_of_user(who, user_id, field="query.user_id")
    found = await opened.signals.tallies(scope, listed(ids))
    return VoteCounts.model_validate(dict(found))


@router.get(
    "/temporal/{user_id:path}",
    summary="Get a user's last activity",
    response_description="The last activity",
    # Missing: a path with a line break matches no route.
    responses=responses(*ASKING, errors.InvalidField, errors.Forbidden, errors.Missing, errors.Rejected),
)
async def last_message(
    who: Asker, opened: Opened, user_id: Annotated[Name, Path(description="A user key: that user.")]
) -> LastActivity:
    """The last question that was recorded; one that is being answered does not count."""
    found = await opened.signals.last(scope_of(who, user_id=user_id))
    since = None if found.seconds_since is None else round(found.seconds_since, 3)
    return LastActivity(bucket=found.bucket, last_message_at=found.last_message_at, seconds_since=since)


@router.post(
    "/profiles",
    summary="Compute profile cards",
    response_description="Computed, written, searchable",
    responses=responses(
        *ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.RemovedMeanwhile, errors.Rejected
    ),
)
async def compute_profiles(
    request: Request, who: Asker, opened: Opened, body: ProfilesRequest
) -> ProfilesReply:
    """From the messages and memories of each user: tag weights (half-life 30 days), style, persona. Needs a
    tenant key."""
    caller = Caller(tenant_of(who, request, opened, body.tenant), None)
    scope = scope_of(caller, user_id=body.user_id)
    if body.user_id is not None:
        return ProfilesReply(items=[await opened.profiles.profile(scope)], next=None, users=1)
    done, after = await opened.profiles.page(scope, body.cursor or "")
    return ProfilesReply(items=done, next=after, users=await opened.profiles.users(scope))
