"""Client of MEMORY_SERVICE_URL: an outside service with the paths /memory_feedback and /temporal/{user_id}.

It knows no tenants, so it serves only the tenant `default`; others use the built-in stores. A reply that is
malformed or too long counts as none. Reads then fall back to the built-in stores and say so (`lost`). A vote
is stored in both places or refused with `Unavailable` (docs/adr/0016). Times are in seconds. Raises
`Unavailable`; inside, `RetrievalError`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlencode

import orjson
from pydantic import BaseModel, ConfigDict, Field

from app.breaker import LASTING, Attempt, Breaker
from app.db.memories import OUTSIDE, BeforeCommit, Moment, Rating, Tallies, Tally, Temporal
from app.db.votes import VoteStore
from app.errors import RetrievalError, Unavailable
from app.settings import Settings
from app.types import DEFAULT_TENANT, Scope

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

SECONDS = 1.0
"""Deadline of a whole call: every question waits for one."""
ANSWER_BYTES = 256 << 10
"""Longer replies are rejected."""
IDLE_SECONDS = 4.0
"""Idle seconds of a connection; uvicorn closes it after 5."""
CONNECTIONS = 16
MOST_SENDING = 4
"""Votes sent at once: each holds a connection to Postgres meanwhile."""
UNKEYED = frozenset({".", ".."})
"""User names that no path can contain: clients and servers resolve them."""
MOST_VOTES, MOST_SECONDS = 10**9, 1e11


class Outside:
    """The service behind its breaker, for one event loop."""

    name = OUTSIDE

    def __init__(
        self, session: "ClientSession", address: Callable[[str], "URL"], faults: tuple[type[Exception], ...]
    ) -> None:
        self._session = session
        self._address = address
        """The URL of an encoded path."""
        self._faults = faults
        self.breaker = Breaker(time.monotonic, lasting=LASTING)
        self._sending = asyncio.Semaphore(MOST_SENDING)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        query = urlencode({"user_id": scope.user_id or "", "ids": ",".join(ids)})
        with self._attempt():
            return tallies(await self.get(f"/memory_feedback?{query}"), ids)

    async def last(self, scope: Scope) -> Moment:
        with self._attempt():
            return moment(await self.get(f"/temporal/{quote(scope.user_id or '', safe='')}"))

    async def send(self, votes: Sequence[Mapping[str, object]]) -> None:
        """Send votes one after the other, with the deadline of one call. Raises `Unavailable`."""
        try:
            async with asyncio.timeout(SECONDS), self._sending:
                for vote in votes:
                    with self._attempt():
                        await self.post("/memory_feedback", vote)
        except (RetrievalError, TimeoutError) as error:
            raise Unavailable("the memory service does not take votes", retry_after=2) from error

    def _attempt(self) -> Attempt:
        if self.breaker.refuses:
            raise RetrievalError("unavailable")
        return self.breaker.attempt(failed, patience=SECONDS / 2)

    async def get(self, path: str) -> object:
        return await self._asked("GET", path)

    async def post(self, path: str, body: Mapping[str, object]) -> None:
        await self._asked("POST", path, orjson.dumps(body), wanted=False)

    async def check(self) -> Mapping[str, str | int | float]:
        """For /readyz: any reply counts, even a refusal. Raises `RetrievalError`."""
        try:
            await self._asked("GET", "/", wanted=False)
        except RetrievalError as error:
            if not error.rejected:
                raise
        return {}

    async def _asked(
        self, method: str, path: str, body: bytes | None = None, *, wanted: bool = True
    ) -> object:
        address = self._address(path)
        try:
            async with (
                asyncio.timeout(SECONDS),
                self._session.request(method, address, data=body, allow_redirects=False) as response,
            ):
                return await self._answer(response, wanted=wanted)
        except TimeoutError as error:
            raise RetrievalError("timeout") from error
        except self._faults as error:
            raise RetrievalError("unavailable") from error

    async def _answer(self, response: "ClientResponse", *, wanted: bool) -> object:
        if not 200 <= response.status < 300:
            raise RetrievalError("unavailable", rejected=400 <= response.status < 500)
        if not wanted:
            return None
        said = bytearray()
        async for piece in response.content.iter_any():
            said += piece
            if len(said) > ANSWER_BYTES:
                raise ValueError("too long")
        return orjson.loads(said)


def failed(error: Exception) -> bool:
    return isinstance(error, RetrievalError) and not error.rejected


class OutsideVotes:
    """Implements `memories.Votes` with the service's counts; the built-in store holds our votes as well."""

    def __init__(self, outside: Outside, built_in: VoteStore) -> None:
        self._outside = outside
        self._built_in = built_in

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        """Store the vote in both places, or refuse. False: unchanged, and nothing is sent."""
        before_commit = self._forwarding(scope, answer_id)
        return await self._built_in.cast(
            scope, memory_id, signal, answer_id=answer_id, before_commit=before_commit
        )

    async def judge(
        self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str, rating: Rating | None = None
    ) -> list[str]:
        before_commit = self._forwarding(scope, answer_id)
        return await self._built_in.judge(
            scope, ids, signal, answer_id=answer_id, rating=rating, before_commit=before_commit
        )

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        """The service's counts; if it does not answer, the built-in store's, with the reason in `lost`."""
        if not ids or not served(scope):
            return await self._built_in.tallies(scope, ids)
        try:
            return await self._outside.tallies(scope, ids)
        except RetrievalError as error:
            found = await self._built_in.tallies(scope, ids)
            found.lost = error.reason
            return found

    def _forwarding(self, scope: Scope, answer_id: str | None) -> BeforeCommit | None:
        """Sends changed votes to the service. Its protocol adds up votes of +1 and -1: withdrawing a vote
        sends its opposite, changing one sends two."""
        if not served(scope):
            return None
        vote = {"user_id": scope.user_id}
        same_fields = vote if answer_id is None else vote | {"answer_id": answer_id}

        async def send(changed: Mapping[str, int]) -> None:
            await self._outside.send(
                [
                    {**same_fields, "memory_id": key, "signal": 1 if change > 0 else -1}
                    for key, change in changed.items()
                    for _ in range(abs(change))
                ]
            )

        return send


class OutsideTemporal:
    def __init__(self, outside: Outside, built_in: Temporal) -> None:
        self._outside = outside
        self._built_in = built_in

    async def last(self, scope: Scope) -> Moment:
        if not served(scope) or scope.user_id in UNKEYED:
            return await self._built_in.last(scope)
        try:
            return await self._outside.last(scope)
        except RetrievalError as error:
            return replace(await self._built_in.last(scope), lost=error.reason)


def served(scope: Scope) -> bool:
    return scope.tenant == DEFAULT_TENANT and bool(scope.user_id)


@asynccontextmanager
async def open_outside(settings: Settings) -> AsyncIterator[Outside | None]:
    if settings.memory.service_url is None:
        yield None
        return
    import aiohttp  # noqa: PLC0415 - heavy vendor, opened late
    from yarl import URL  # noqa: PLC0415 - heavy vendor, opened late

    base = settings.memory.service_url.rstrip("/")
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=IDLE_SECONDS),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    ) as session:
        yield Outside(
            session, lambda path: URL(base + path, encoded=True), (aiohttp.ClientError, OSError, ValueError)
        )


class ServiceVotes(BaseModel):
    model_config = ConfigDict(strict=True)

    positive: int = Field(ge=0, le=MOST_VOTES)
    negative: int = Field(ge=0, le=MOST_VOTES)


class ServiceActivity(BaseModel):
    model_config = ConfigDict(strict=True)

    bucket: Literal["new", "minutes", "hours", "days", "weeks", "months"]
    last_message_at: str | None = None
    seconds_since: float | None = Field(None, ge=0, le=MOST_SECONDS)


def tallies(data: object, ids: Sequence[str]) -> Tallies:
    if not isinstance(data, dict):
        raise RetrievalError("unavailable")
    with readable():
        counts = {key: ServiceVotes.model_validate(data[key]) for key in ids if key in data}
    found = {key: Tally(votes.positive, votes.negative) for key, votes in counts.items()}
    return Tallies({key: votes for key, votes in found.items() if votes != Tally()})


def moment(data: object) -> Moment:
    """From {bucket, last_message_at (RFC 3339 with offset; null: never), seconds_since}. Raises
    `RetrievalError`."""
    with readable():
        found = ServiceActivity.model_validate(data)
        at = datetime.fromisoformat(found.last_message_at) if found.last_message_at is not None else None
        if at and at.tzinfo is None:
            raise RetrievalError("unavailable")
        return Moment(found.bucket, at.astimezone(UTC) if at else None, found.seconds_since)


@contextmanager
def readable() -> Iterator[None]:
    try:
        yield
    except (ValueError, OverflowError) as error:
        raise RetrievalError("unavailable") from error
