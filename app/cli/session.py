"""Where a command's requests go: to the service that holds the data folder, else to one of its own.

One code path: without a service the same app is served on a free port of 127.0.0.1 while the command
lasts. Raises `StartError` (it cannot be opened), `Unavailable` (it does not answer), `Answered` (a problem).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.late import resting
from app.db.embedded import Lock, read_lock
from app.errors import IbidError, Unavailable
from app.settings import Settings

if TYPE_CHECKING:
    import httpx

SILENCE_SECONDS = 90.0
"""The service pings a stream every 15 s and bounds all else itself."""
CONNECT_SECONDS = 5.0
BUSY_SECONDS = 1_800.0
"""How long batch work waits for a service that answers 503: it is busy, or waits for something itself."""
PAUSE_SECONDS, LONGEST_PAUSE = 1.0, 30.0
"""Between two such tries: at first, and at most. They double."""
PATIENCE_SECONDS = 15.0
"""How long a service that is starting is waited for."""


class Answered(IbidError):
    """The service answered with a problem document."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        title, detail = str(problem.get("title", "")), str(problem.get("detail", ""))
        super().__init__(title if detail in ("", title) else f"{title}: {detail}")
        self.problem = problem

    @property
    def code(self) -> int:
        """The HTTP status."""
        return int(self.problem.get("status", 500))


def taken(response: "httpx.Response") -> dict[str, Any]:
    """A response's JSON object; `Answered` if it is a problem."""
    try:
        body = response.json()
    except ValueError:
        body = {"title": f"The service answered {response.status_code}", "status": response.status_code}
    if not response.is_success:
        raise Answered(body)
    return dict(body)


async def patient(send: "Callable[[], Awaitable[httpx.Response]]") -> dict[str, Any]:
    """The JSON object that batch work is answered. Only a question has a deadline: while the service answers
    503, `send` is tried again, for BUSY_SECONDS. Raises `Answered` for every other problem."""
    until, pause = time.monotonic() + BUSY_SECONDS, PAUSE_SECONDS
    while True:
        try:
            return taken(await send())
        except Answered as answered:
            if answered.code != 503 or time.monotonic() + pause > until:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


@asynccontextmanager
async def connect(settings: Settings) -> AsyncIterator["httpx.AsyncClient"]:
    """A client of the service that holds the folder, or of our own for as long as the block lasts."""
    lock = await holder(settings.ibid.data_dir)
    if lock is None:
        with resting():
            from app.cli.alone import own  # noqa: PLC0415 - a whole service, late: seldom is there none

        lock = await holder(settings.ibid.data_dir)  # somebody may have come in that second
    if lock is None:
        async with own(settings) as opened:
            yield opened
    else:
        async with client(lock.url, lock.token) as opened:
            yield opened


async def holder(data_dir: Path) -> Lock | None:
    """The service that holds the folder; one that is starting is waited for. None: the folder is free."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while True:
        lock = read_lock(data_dir)
        if lock is None or lock.url:
            return lock
        if time.monotonic() > patience:
            raise Unavailable(
                f"{data_dir} is in use by process {lock.pid}, which is no service; wait until it is done, "
                "or start one (ibid serve): commands then work side by side"
            )
        await asyncio.sleep(0.1)


@asynccontextmanager
async def client(address: str, token: str) -> AsyncIterator["httpx.AsyncClient"]:
    """HTTP with the folder's local token; no proxy of the environment comes between."""
    import httpx  # noqa: PLC0415 - heavy vendor, opened late: `serve` needs none of it

    head = {"Authorization": f"Bearer {token}"}
    wait = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    async with httpx.AsyncClient(base_url=address, headers=head, timeout=wait, trust_env=False) as opened:
        try:
            yield opened
        except httpx.TransportError as error:
            raise Unavailable(f"the service at {address} does not answer ({type(error).__name__})") from error
