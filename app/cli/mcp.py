"""`ibid mcp`: the tools of /mcp over stdin and stdout, for assistants that start programs.

It passes every request on to /mcp of the service that holds the data folder, or of one of its own.
"""

from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from app.cli.client import connect, taken
from app.cli.terminal import DataDir, configured, name, run, session_id
from app.errors import IbidError
from app.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx
    from mcp.server.lowlevel import Server
    from pydantic import BaseModel

Result = TypeVar("Result", bound="BaseModel")
ACCEPTED = {"Accept": "application/json, text/event-stream"}


class ProtocolMissing(IbidError):
    """The service does not speak the protocol."""


def mcp(
    *,
    user: Annotated[
        str | None, typer.Option(callback=name, help="Whose memories the tools search and write.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(callback=session_id, help="Search its documents too, and continue it.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(callback=name, help="Search its conversations, code and dreams too.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the tools to an assistant over stdin and stdout (MCP)."""
    named = {"X-Ibid-User": user, "X-Ibid-Session": session, "X-Ibid-Project": project}
    run(served(configured(data_dir), {header: value for header, value in named.items() if value is not None}))


async def served(config: Settings, headers: dict[str, str]) -> None:
    from mcp import stdio_server  # noqa: PLC0415 - .7 s

    async with connect(config) as client, stdio_server() as (read, write):
        service = Passed(client, ACCEPTED | headers)
        server = passing(service, (await service.send("initialize", HELLO)).get("instructions"))
        await server.run(read, write, server.create_initialization_options())


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "ibid mcp", "version": version("ibid")},
}


class Passed:
    """Sends JSON-RPC requests to /mcp."""

    def __init__(self, client: "httpx.AsyncClient", headers: dict[str, str]) -> None:
        self._client = client
        self._headers = headers
        self._ids = count(1)

    async def send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result. Raises `MCPError`, `Answered`, `ProtocolMissing`."""
        from mcp import MCPError  # noqa: PLC0415

        asked = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        answered = taken(await self._client.post("/mcp", json=asked, headers=self._headers))
        if error := answered.get("error"):
            raise MCPError(error["code"], error["message"])
        if "result" not in answered:
            raise ProtocolMissing("the service does not speak MCP: update it")
        return dict(answered["result"])

    async def ask(self, method: str, params: "BaseModel | None", kind: type[Result]) -> Result:
        sent = params.model_dump(by_alias=True, exclude_none=True, mode="json") if params else {}
        sent.pop("_meta", None)  # of the other connection
        return kind.model_validate(await self.send(method, sent))


def passing(service: Passed, instructions: str | None) -> "Server[Any]":
    """A server that passes everything on."""
    import mcp_types as types  # noqa: PLC0415
    from mcp.server.lowlevel import Server  # noqa: PLC0415

    def on(method: str, kind: type[Result]) -> "Callable[[Any, Any], Awaitable[Result]]":
        return lambda _, params: service.ask(method, params, kind)

    server: Server[Any] = Server(
        "ibid",
        version=version("ibid"),
        title="Ibid",
        instructions=instructions,
        on_list_tools=on("tools/list", types.ListToolsResult),
        on_call_tool=on("tools/call", types.CallToolResult),
        on_list_resources=on("resources/list", types.ListResourcesResult),
        on_list_resource_templates=on("resources/templates/list", types.ListResourceTemplatesResult),
        on_read_resource=on("resources/read", types.ReadResourceResult),
    )
    server.middleware.clear()  # its spans would hold messages of errors
    return server
