"""A model's server on loopback that speaks the OpenAI protocol and fails on demand.

`async with model_server(reply="…") as server:` gives `server.url` (ends in /v1), `server.requests`
(each with its body and when its connection closed) and `server.fault`, which holds for every request
until it is changed. Chat (whole or streamed), embeddings (hashed bags of words, so that texts sharing
words are close) and the list of models. Raw asyncio, because faults live below any framework.
"""

import asyncio
import base64
import hashlib
import math
import re
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.fakes.wire import Json, Request, read_request, write_chunk, write_event, write_head, write_json


@dataclass(frozen=True)
class Fault:
    """What goes wrong. The default: nothing."""

    only: str = ""
    """Part of the path it holds for; "": every path."""
    model: str = ""
    """The beginning of the models' names that it holds for; "": every model."""
    text: str = ""
    """Part of the body that it holds for; "": every body."""
    status: int = 200
    message: str = "scripted fault"
    retry_after: str | None = None
    head_delay: float = 0.0
    """Seconds before the response head."""
    pace: float = 0.0
    """Seconds between deltas."""
    stall_after: int | None = None
    """Deltas sent before silence (the connection stays open)."""
    close_after: int | None = None
    """Deltas sent before the connection is cut."""
    error_after: int | None = None
    """Deltas sent before an error event in the stream."""
    garbage_after: int | None = None
    """Deltas sent before an event that is not JSON."""
    unfinished: bool = False
    """The stream ends properly but without a finish_reason."""
    garbage: bool = False
    """200 with a body that is not what was asked for."""
    rejects: frozenset[str] = frozenset()
    """Body fields the server answers with a 400 that names them."""
    usage: bool = True
    """False: usage is never told."""
    dim: int | None = None
    """Embeddings of this dimension whatever was asked."""
    lost: int = 0
    """Embeddings missing from the reply."""

    def concerns(self, request: Request) -> bool:
        """True if it holds for a request."""
        named = str(request.body.get("model", "")).startswith(self.model)
        return self.only in request.path and named and self.text in str(request.body)


@dataclass
class ModelServer:
    """The running server. Change `reply`, `dim` and `fault` at any time."""

    reply: str | Callable[[Json], str] = "A reply."
    dim: int = 64
    models: tuple[str, ...] = ("fake-model",)
    fault: Fault = field(default_factory=Fault)
    piece: str = r"\s*\S+\s*"
    """The pattern of a delta."""
    requests: list[Request] = field(default_factory=list)
    port: int = 0
    connections: int = 0
    """Accepted so far."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the first request."""

    @property
    def url(self) -> str:
        """The base URL, `/v1` included."""
        return f"http://127.0.0.1:{self.port}/v1"

    def asked(self, path: str) -> list[Request]:
        """The requests whose path ends so, oldest first."""
        return [request for request in self.requests if request.path.endswith(path)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: requests one after another until either side closes it."""
        try:
            while request := await read_request(reader):
                self.requests.append(request)
                self.arrived.set()
                if not await self.watched(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def watched(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer while looking out for the client's leaving; whether the connection can go on."""
        answer = asyncio.ensure_future(self.answer(request, writer))
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                request.closed_at = asyncio.get_running_loop().time()
                request.closed.set()
                return False
            return answer.result()
        finally:
            answer.cancel()
            gone.cancel()
            await asyncio.gather(answer, gone, return_exceptions=True)

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Write the answer, faults included; False: the connection is to be cut."""
        fault = self.fault if self.fault.concerns(request) else Fault()
        await asyncio.sleep(fault.head_delay)
        rejected = sorted(fault.rejects & request.body.keys())
        if rejected:
            message = f"Unrecognized request argument supplied: {rejected[0]}"
            fault = replace(fault, status=400, message=message)
        if fault.status != 200:
            error = {"error": {"message": fault.message, "type": "scripted", "param": None, "code": None}}
            write_json(writer, error, fault.status, {"Retry-After": fault.retry_after})
        elif fault.garbage:
            write_head(writer, 200, {"Content-Type": "text/html", "Content-Length": "23"})
            writer.write(b"<html>not a model</html")
        elif request.path.endswith("/chat/completions") and request.body.get("stream"):
            return await self.stream(request.body, fault, writer)
        else:
            write_json(writer, *self.whole(request, fault))
        await writer.drain()
        return True

    def whole(self, request: Request, fault: Fault) -> tuple[Json, int]:
        """The answer and status of a request that is not streamed."""
        if request.path.endswith("/chat/completions"):
            return self.completion(request.body, fault), 200
        if request.path.endswith("/embeddings"):
            return self.embeddings(request.body, fault), 200
        if request.path.endswith("/models"):
            return {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}, 200
        return {"error": {"message": "no such path"}}, 404

    def text(self, body: Json) -> str:
        """What the model says to a request."""
        return self.reply(body) if callable(self.reply) else self.reply

    def completion(self, body: Json, fault: Fault) -> Json:
        """A chat completion in one piece."""
        message = {"role": "assistant", "content": self.text(body)}
        choice = {"index": 0, "message": message, "finish_reason": None if fault.unfinished else "stop"}
        told = {"usage": usage(body, self.text(body))} if fault.usage else {}
        return {"id": "c1", "object": "chat.completion", "model": body["model"], "choices": [choice], **told}

    async def stream(self, body: Json, fault: Fault, writer: asyncio.StreamWriter) -> bool:
        """A chat completion in pieces, each a word; False: cut by a fault."""
        write_head(writer, 200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for n, piece in enumerate([*re.findall(self.piece, self.text(body)), ""]):
            await writer.drain()
            if n == fault.close_after:
                return False
            if n == fault.stall_after:
                await asyncio.sleep(3_600)
            if n == fault.garbage_after:
                write_chunk(writer, b'data: {"choices": [{"delta\n\n')
            if n == fault.error_after:
                write_event(writer, {"error": {"message": fault.message}})
            await asyncio.sleep(fault.pace if n else 0)
            write_event(writer, chunk(body, {"content": piece}))
        if not fault.unfinished:
            write_event(writer, chunk(body, {}, "stop"))
        if fault.usage and (body.get("stream_options") or {}).get("include_usage"):
            write_event(writer, {**chunk(body, {}), "choices": [], "usage": usage(body, self.text(body))})
        write_chunk(writer, b"data: [DONE]\n\n")
        write_chunk(writer, b"")
        await writer.drain()
        return True

    def embeddings(self, body: Json, fault: Fault) -> Json:
        """One vector an input, base64 if asked."""
        inputs = [body["input"]] if isinstance(body["input"], str) else body["input"]
        dim = fault.dim or body.get("dimensions") or self.dim
        vectors = [bag(text, dim) for text in inputs[: len(inputs) - fault.lost]]
        packed = [base64.b64encode(struct.pack(f"<{dim}f", *vector)).decode() for vector in vectors]
        values = packed if body.get("encoding_format") == "base64" else vectors
        data = [{"object": "embedding", "index": n, "embedding": value} for n, value in enumerate(values)]
        return {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 1}}


Served = TypeVar("Served", bound=ModelServer)


def bag(text: str, dim: int) -> list[float]:
    """A unit vector of the text's words: shared words are shared directions, on any machine and run."""
    vector = [0.0] * dim
    for word in re.findall(r"\w+", text.lower()) or ["\0"]:
        digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
        vector[int.from_bytes(digest[:4], "big") % dim] += 1.0 if digest[4] % 2 else -1.0
    norm = math.sqrt(sum(value * value for value in vector))
    return [value / norm for value in vector] if norm else [1.0] + [0.0] * (dim - 1)


def usage(body: Json, text: str) -> Json:
    """Words stand for tokens here."""
    prompt = sum(len(str(message.get("content", "")).split()) for message in body.get("messages", []))
    completion = len(text.split())
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def chunk(body: Json, delta: Json, finish: str | None = None) -> Json:
    """One event of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "model": body["model"], "choices": [choice]}


@asynccontextmanager
async def model_server(
    reply: str | Callable[[Json], str] = "A reply.", *, dim: int = 64, fault: Fault | None = None
) -> AsyncIterator[ModelServer]:
    """A model server of its own; see `serving`."""
    async with serving(ModelServer(reply, dim, fault=fault or Fault())) as model:
        yield model


@asynccontextmanager
async def serving(model: Served) -> AsyncIterator[Served]:
    """Serve on a free loopback port until left; connections still open are cut."""
    served: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        model.connections += 1
        served[writer] = asyncio.ensure_future(model.serve(reader, writer))
        await served[writer]
        del served[writer]

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    model.port = server.sockets[0].getsockname()[1]
    try:
        yield model
    finally:
        server.close()
        left = dict(served)
        for writer in left:
            writer.transport.abort()
        await asyncio.gather(*left.values(), return_exceptions=True)
