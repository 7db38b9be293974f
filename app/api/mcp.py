"""/mcp: the Model Context Protocol over streamable HTTP, without sessions, so that any replica answers.

Keys, the local-only rule and 401 are those of the other routes. User, session and project travel in headers
and not in a tool's arguments: a model that reads foreign texts must not choose whose memories it sees.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Annotated

from fastapi import APIRouter, Header, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.dependencies import Asker, Opened, scope_of
from app.api.openapi import operation_id
from app.api.schemas import Name, SessionId
from app.api.sse import unless_gone

router = APIRouter(generate_unique_id_function=operation_id)

User = Annotated[Name | None, Header(alias="X-Ibid-User")]
Session = Annotated[SessionId | None, Header(alias="X-Ibid-Session")]
Project = Annotated[Name | None, Header(alias="X-Ibid-Project")]


class Handled(Response):
    """The response of another ASGI application, or of `check` if it refuses the body."""

    def __init__(self, app: ASGIApp, check: Callable[[bytes], Response | None]) -> None:
        self.app = app
        self.check = check
        self.status_code = 200
        self.background = None
        self.init_headers(None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the body first: a client that leaves then cancels the work, and closes the model's stream."""
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        if refusal := self.check(b"".join(message.get("body", b"") for message in messages)):
            await refusal(scope, receive, send)
            return
        waiting = iter(messages)

        async def replay() -> Message:
            for message in waiting:
                return message
            return await asyncio.Event().wait()  # type: ignore[return-value] # never set

        async def work() -> None:
            await self.app(scope, replay, send)

        with suppress(ClientDisconnect):
            await unless_gone(receive, work())


@router.post("/mcp", include_in_schema=False)
async def mcp(
    *,
    request: Request,
    who: Asker,
    opened: Opened,
    user: User = None,
    session: Session = None,
    project: Project = None,
) -> Response:
    """Answers one JSON-RPC message."""
    scope = scope_of(who, user_id=user, session_id=session, project=project)
    # The package takes .7 s to import: the first request pays, not every start.
    await asyncio.to_thread(import_module, "app.api.tools")
    from app.api.tools import Connection, handler, refusal_of  # noqa: PLC0415

    media = request.headers.get("content-type", "")
    app = handler(Connection(opened, scope, request.app.state.settings.ibid.public_url))
    return Handled(app, lambda body: refusal_of(media, body))
