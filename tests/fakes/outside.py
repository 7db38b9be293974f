"""An outside memory service on loopback: /memory_feedback and /temporal/{user_id}; ill on demand."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.wire import Conversing, Json, Request, listening, write_head, write_json


@dataclass(frozen=True)
class Ill:
    """What is wrong. The default: nothing."""

    status: int = 200
    delay: float = 0
    """Seconds before the head."""
    body: bytes | None = None
    """Said instead of the answer."""
    length: int | None = None
    """Announced, whatever is said."""
    endless: bool = False
    """Bytes without end."""
    location: str | None = None
    only: str = ""
    """Methods it holds for; "": all."""


@dataclass
class OutsideServer(Conversing):
    """Counts what it is told, as such a service does: every vote, whatever its answer."""

    ill: Ill = Ill()
    counts: dict[tuple[str, str], dict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: {"positive": 0, "negative": 0})
    )
    moment: Json = field(
        default_factory=lambda: {
            "bucket": "weeks",
            "last_message_at": "2026-11-01T10:00:00+01:00",
            "seconds_since": 864_000,
        }
    )
    told: list[Json] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """As it should, or as it is ill."""
        ill = self.ill if self.ill.only in ("", "POST" if request.body else "GET") else Ill()
        await asyncio.sleep(ill.delay)
        if ill.endless or ill.body is not None:
            length = None if ill.endless else str(ill.length or len(ill.body or b""))
            write_head(writer, ill.status, {"Content-Type": "application/json", "Content-Length": length})
            while ill.endless:
                writer.write(b" " * 65_536)
                await writer.drain()
            writer.write(ill.body or b"")
            return
        headers = {"Location": ill.location}
        write_json(writer, {} if ill.status != 200 else self.said(request), ill.status, headers)

    def said(self, request: Request) -> Json:
        """What it knows, or `{}` for a vote."""
        asked = urlsplit(request.path)
        if request.body:
            self.told.append(request.body)
            side = "positive" if request.body["signal"] > 0 else "negative"
            self.counts[request.body["user_id"], request.body["memory_id"]][side] += 1
            return {}
        if asked.path.startswith("/temporal/"):
            return self.moment
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        return {key: self.counts[query["user_id"], key] for key in query["ids"].split(",")}

    def users(self) -> list[str]:
        """Whose activity was asked for."""
        return [unquote(path.removeprefix("/temporal/")) for path in self.paths if "/temporal/" in path]


@asynccontextmanager
async def outside_server() -> AsyncIterator[OutsideServer]:
    """Serve on a free loopback port until left."""
    found = OutsideServer()
    async with listening(found.serve) as found.port:
        yield found
