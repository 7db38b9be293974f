"""A `/rerank` server on loopback: three dialects, ill on demand.

`results`: Cohere's, Jina's and vLLM's form, most relevant first; `logits`: the same with scores of any
size, as llama.cpp gives them; `texts`: TEI's, which takes 32 texts and refuses the other form by the
field's name.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.fakes.wire import Conversing, Json, Request, listening, write_head, write_json

TEI_BATCH = 32
NAMELESS = (
    b"Failed to deserialize the JSON body into the target type: missing field `texts` at line 1 column 9"
)


@dataclass(frozen=True)
class Ill:
    """What is wrong. The default: nothing."""

    status: int = 200
    delay: float = 0
    """Seconds before the head."""
    body: bytes | None = None
    """Said instead of the scores."""


def shared(query: str, text: str) -> float:
    """The share of the question's words that a text holds."""
    words = set(query.lower().split())
    return len(words & set(text.lower().split())) / max(1, len(words))


@dataclass
class RerankServer(Conversing):
    """Scores by the words that are shared, or as `score` says."""

    dialect: str = "results"
    ill: Ill = Ill()
    score: Callable[[str, str], float] = shared
    port: int = 0

    @property
    def url(self) -> str:
        """Where it is, without the path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[Json]:
        """The bodies of what was to be scored."""
        return [request.body for request in self.requests if request.body]

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """As it should, or as it is ill."""
        await asyncio.sleep(self.ill.delay)
        if self.ill.status != 200 or self.ill.body is not None:
            raw(writer, self.ill.body or b"{}", self.ill.status)
        elif not request.path.endswith("/rerank") or not request.body:
            write_json(writer, {"error": "no such method here"}, 405)
        elif self.dialect == "texts" and "texts" not in request.body:
            raw(writer, NAMELESS, 422)
        elif self.dialect == "texts" and len(request.body["texts"]) > TEI_BATCH:
            write_json(writer, {"error": "batch size > maximum allowed batch size 32"}, 413)
        else:
            raw(writer, json.dumps(self.said(request.body)).encode())

    def said(self, body: Json) -> Json | list[Json]:
        texts = body["texts" if self.dialect == "texts" else "documents"]
        told = sorted(((self.score(body["query"], text), at) for at, text in enumerate(texts)), reverse=True)
        if self.dialect == "texts":
            return [{"index": at, "score": score} for score, at in told]
        least, most = (-6, 6) if self.dialect == "logits" else (0, 1)
        scores = [(least + (most - least) * score, at) for score, at in told]
        return {"results": [{"index": at, "relevance_score": score} for score, at in scores]}


def raw(writer: asyncio.StreamWriter, body: bytes, status: int = 200) -> None:
    write_head(writer, status, {"Content-Type": "application/json", "Content-Length": str(len(body))})
    writer.write(body)


@asynccontextmanager
async def rerank_server(dialect: str = "results") -> AsyncIterator[RerankServer]:
    """Serve on a free loopback port until left."""
    found = RerankServer(dialect)
    async with listening(found.serve) as found.port:
        yield found


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
