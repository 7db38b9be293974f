"""A moderation endpoint and a guard model on loopback, ill on demand."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.fakes.rerank import raw
from tests.fakes.wire import Conversing, Request, listening, write_json


@dataclass(frozen=True)
class Ill:
    """What is wrong. The default: nothing."""

    status: int = 200
    delay: float = 0
    """Seconds before the head."""
    body: bytes | None = None
    """Said instead of the scores."""


@dataclass
class ModerationServer(Conversing):
    """Says what it is told to, whatever it is asked."""

    scores: Mapping[str, float | None] = field(default_factory=lambda: {"violence": 0.01})
    verdict: str = "safe"
    ill: Ill = Ill()
    port: int = 0

    @property
    def url(self) -> str:
        """Where it is, without the path."""
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """By the path."""
        await asyncio.sleep(self.ill.delay)
        if self.ill.status != 200 or self.ill.body is not None:
            raw(writer, self.ill.body or b"{}", self.ill.status)
        elif request.path.endswith("/chat/completions"):
            write_json(
                writer, {"choices": [{"message": {"role": "assistant", "content": self.verdict}}]}, 200
            )
        elif request.path.endswith("/moderations"):
            raw(writer, json.dumps({"results": [{"category_scores": self.scores}]}).encode())
        else:
            write_json(writer, {"error": "no such method here"}, 404)


@asynccontextmanager
async def moderation_server() -> AsyncIterator[ModerationServer]:
    """Serve on a free loopback port until left."""
    found = ModerationServer()
    async with listening(found.serve) as found.port:
        yield found
