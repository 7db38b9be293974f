"""The HTTP client of the commands: requests go to the service that holds the data folder, else to one of our
own.

There is one code path: without a running service, the command serves the same app on a free port of
127.0.0.1. Raises `StartError` (the stores cannot be opened), `Unavailable` (no answer), `Answered` (a
problem).
"""

import asyncio
import importlib
import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.db.folder import Lock, read_lock
from app.errors import IbidError, Unavailable
from app.settings import Settings

if TYPE_CHECKING:
    import httpx

LOCAL = "127.0.0.1"
SILENCE_SECONDS = 90.0
"""The service pings a stream every 15 s and bounds all else itself."""
CONNECT_SECONDS = 5.0
BUSY_SECONDS = 1_800.0
"""How long batch work waits for a service that answers 503."""
PAUSE_SECONDS, LONGEST_PAUSE = 1.0, 30.0
"""First and longest pause between two such attempts; it doubles."""
PATIENCE_SECONDS = 15.0
"""How long a command waits for a service that is starting."""


class Answered(IbidError):
    """The service answered with a problem document."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        title, detail = str(problem.get("title", "")), str(problem.get("detail", ""))
        super().__init__(title if detail in ("", title) else f"{title}: {detail}")
        self.problem = problem

    @property
    def code(self) -> int:
        return int(self.problem.get("status", 500))


def taken(response: "httpx.Response") -> dict[str, Any]:
    """A response's JSON object. Raises `Answered` if it is a problem."""
    try:
        body = response.json()
    except ValueError:
        body = {"title": f"The service answered {response.status_code}", "status": response.status_code}
    if not response.is_success:
        raise Answered(body)
    return dict(body)


async def patient(send: "Callable[[], Awaitable[httpx.Response]]") -> dict[str, Any]:
    """Like `taken`, for batch work: repeats `send` for BUSY_SECONDS while the service answers 503."""
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
    """A client of the service that holds the folder, or of our own until the end of the block."""
    lock = await holder(settings.ibid.data_dir)
    if lock is None:
        importlib.import_module("app.wiring")  # takes seconds, in which another command may lock the folder
        lock = await holder(settings.ibid.data_dir)
    if lock is None:
        async with own_service(settings) as opened:
            yield opened
    else:
        async with client(lock.url, lock.token) as opened:
            yield opened


async def holder(data_dir: Path) -> Lock | None:
    """The service that holds the folder, once it has started. None if the folder is free."""
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
    """HTTP with the folder's local token, never through a proxy of the environment."""
    import httpx  # noqa: PLC0415 - heavy, and `serve` needs none of it

    head = {"Authorization": f"Bearer {token}"}
    wait = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    async with httpx.AsyncClient(base_url=address, headers=head, timeout=wait, trust_env=False) as opened:
        try:
            yield opened
        except httpx.TransportError as error:
            raise Unavailable(f"the service at {address} does not answer ({type(error).__name__})") from error


@asynccontextmanager
async def own_service(settings: Settings) -> AsyncIterator["httpx.AsyncClient"]:
    """Open the stores here and serve them on a free port of this machine. Uploads are also read here."""
    from app.cli.serve import bind, serving, url  # noqa: PLC0415 - the whole service, two seconds of a processor
    from app.main import create_app  # noqa: PLC0415
    from app.wiring import open_services  # noqa: PLC0415

    ibid = settings.ibid.model_copy(update={"workers": max(1, settings.ibid.workers)})
    settings = settings.model_copy(update={"ibid": ibid})
    async with open_services(settings) as services:
        bound = bind(LOCAL, 0)
        async with (
            serving(create_app(settings, services), bound),
            client(url(bound, LOCAL), services.token) as opened,
        ):
            yield opened


async def pages(client: "httpx.AsyncClient", path: str, **asked: str | None) -> AsyncIterator[dict[str, Any]]:
    """The entries of a list, page by page."""
    params = {name: value for name, value in asked.items() if value is not None} | {"limit": "200"}
    while True:
        page = taken(await client.get(path, params=params))
        for item in page["items"]:
            yield item
        if page["next"] is None:
            return
        params["cursor"] = page["next"]


def is_served(settings: Settings) -> bool:
    """True if another process serves the folder: its addresses outlast this command."""
    lock = read_lock(settings.ibid.data_dir)
    return lock is not None and lock.pid != os.getpid()


async def events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    """(event, data) of a stream of server-sent events (WHATWG HTML §9.2.6). Pings and ids are skipped.

    Lines end at CR LF or LF only: JSON may contain U+2028, at which `str.splitlines` also splits.
    """
    name, data, rest = "message", list[bytes](), b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(
            b"\n"
        )  # a last line without its end is dropped, as the standard says
        for ended in lines:
            line = ended.removesuffix(b"\r")
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                name = value.decode()
            elif field == b"data":
                data.append(value)
            elif not line:
                if data:
                    yield name, json.loads(b"\n".join(data))
                name, data = "message", []
