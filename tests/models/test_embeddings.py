"""Embeddings behind the OpenAI protocol, against a real socket. Batch work waits for a server that is busy
or away."""

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import RetrievalError
from app.models import embeddings
from app.models.client import Server
from app.models.embeddings import (
    BYTES,
    INPUTS,
    TOKENS,
    UNUSABLE,
    OpenAIEmbedder,
    Patient,
    batches,
    open_embeddings,
    readable,
    unpack,
)
from app.text.vocabulary import count
from app.types import Embedding
from tests.fakes.model import Fault, ModelServer, bag, model_server

LARGE = "text-embedding-3-large"


@asynccontextmanager
async def embedder_at(
    fake: ModelServer, model: str = "some-model", dim: int | None = None
) -> AsyncIterator[OpenAIEmbedder]:
    """The embedder as wired to a fake server."""
    async with open_embeddings(Server(fake.url, "k"), model, dim) as embedder:
        yield embedder


async def test_vectors_are_the_servers_at_unit_length() -> None:
    """What the server computes arrives in order, little-endian float32."""
    texts = ["one bridge", "two bridges", "three"]
    async with model_server(dim=32) as fake, embedder_at(fake) as embedder:
        vectors = await embedder.passages(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.frombuffer(vector, "<f4") == pytest.approx(bag(text, 32), abs=1e-6)


@pytest.mark.parametrize(
    ("model", "dim", "sent"),
    [(LARGE, 48, 48), (f"openai/{LARGE}", 48, 48), ("nomic-embed-text", 64, None), (LARGE, None, None)],
)
async def test_only_the_third_generation_is_shortened(model: str, dim: int | None, sent: int | None) -> None:
    """`dimensions` is sent to models that know it, and only if a dimension is wanted."""
    async with model_server() as fake, embedder_at(fake, model, dim) as embedder:
        await embedder.query("q")
        assert embedder.space == f"{model}@{dim or 64}"
    assert fake.requests[0].body.get("dimensions") == sent


async def test_a_server_without_base64_is_asked_for_numbers() -> None:
    """A server that refuses `encoding_format` is asked without it, and its floats are read."""
    fault = Fault(rejects=frozenset({"encoding_format"}))
    async with model_server(fault=fault) as fake, embedder_at(fake) as embedder:
        [vector] = await embedder.passages(["bridge"])
    assert np.frombuffer(vector, "<f4") == pytest.approx(bag("bridge", 64), abs=1e-6)
    assert ["encoding_format" in request.body for request in fake.requests] == [True, False]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=400),
        Fault(status=401),
        Fault(garbage=True),
        Fault(dim=7),
        Fault(lost=1),
    ],
    ids=["400", "401", "garbage", "wrong dimension", "wrong count"],
)
async def test_every_fault_is_a_retrieval_fault(fault: Fault) -> None:
    """Whatever the server does wrong, retrieval goes on without vectors."""
    async with model_server(fault=fault) as fake, embedder_at(fake, dim=64) as embedder:
        with pytest.raises(RetrievalError) as told:
            await embedder.query("q")
    assert told.value.reason == "embedding"


async def test_nobody_there_is_a_retrieval_fault() -> None:
    """A refused connection too, after its retry."""
    async with open_embeddings(Server("http://127.0.0.1:1/v1", "k"), "m", None) as embedder:
        with pytest.raises(RetrievalError, match="unavailable"):
            await embedder.query("q")


async def gave_up(embedder: OpenAIEmbedder, text: str, seconds: float) -> None:
    """A caller whose deadline ends the query."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await embedder.query(text)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "LASTING", 0.0)


@pytest.mark.usefixtures("hasty")
async def test_a_silent_server_is_left_alone_after_three_deadlines() -> None:
    """The fourth query is refused at once and not sent."""
    async with (
        model_server() as fake,
        open_embeddings(Server(fake.url, "k"), "m", None, patience=0.05) as embedder,
    ):
        fake.fault = Fault(head_delay=30)
        for n in range(3):
            await gave_up(embedder, f"query {n}", 0.1)
        asked = len(fake.requests)
        with pytest.raises(RetrievalError, match="unavailable"):
            await embedder.query("another")
        assert len(fake.requests) == asked


@pytest.mark.usefixtures("hasty")
async def test_clients_that_leave_do_not_close_it_to_others() -> None:
    """Cancelled long before any deadline: that says nothing of the server."""
    async with (
        model_server(fault=Fault(head_delay=30)) as fake,
        open_embeddings(Server(fake.url, "k"), "m", None, patience=5) as embedder,
    ):
        for n in range(5):
            await gave_up(embedder, f"query {n}", 0.02)
        assert embedder.breaker.closed


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "fault",
    [Fault(status=400), Fault(status=401), Fault(garbage=True), Fault(dim=7)],
    ids=["400", "401", "garbage", "wrong dimension"],
)
async def test_wrong_answers_are_not_silence(fault: Fault) -> None:
    """A server that answers wrongly costs no deadline, and is asked every time."""
    async with model_server(fault=fault) as fake, embedder_at(fake, dim=64) as embedder:
        for n in range(4):
            with pytest.raises(RetrievalError, match="embedding"):
                await embedder.query(f"query {n}")
    assert len(fake.requests) == 4


async def test_a_busy_server_is_asked_again() -> None:
    """A 429 with Retry-After is waited out once, even for a query."""
    fault = Fault(status=429, retry_after="0.05")
    async with model_server(fault=fault) as fake, embedder_at(fake) as embedder:
        asking = asyncio.create_task(embedder.query("q"))
        await fake.arrived.wait()
        fake.fault = Fault()
        assert await asking


@given(st.lists(st.text(max_size=40) | st.just("x" * 70_000), max_size=400))
def test_batches_keep_every_text_and_the_limits(texts: list[str]) -> None:
    """Batches joined are the texts in order; each is within the limits a server takes."""
    made = list(batches(texts))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        size = sum(min(4 * TOKENS, len(text.encode("utf-8", "replace"))) for text in batch)
        assert 1 <= len(batch) <= INPUTS
        assert size <= BYTES or len(batch) == 1


@pytest.mark.parametrize(
    ("text", "sent"),
    [("as it is", "as it is"), ("", "-"), (" \n", "-"), ("a\ud800", "a?"), ("x" * 6_000, "x" * 6_000)],
    ids=["plain", "empty", "blank", "surrogate", "just fits"],
)
def test_a_text_is_sent_as_servers_take_it(text: str, sent: str) -> None:
    """Blank texts and lone surrogates, which servers refuse, are replaced."""
    assert readable(text) == sent


@pytest.mark.parametrize("unit_", ["word ", "日本", "x"])
def test_a_long_text_is_cut_to_what_the_model_reads(unit_: str) -> None:
    """Its beginning is sent, at most as many tokens as every model of the vendor takes."""
    long = unit_ * 40_000
    sent = readable(long)
    assert 0 < count(sent) <= TOKENS + 1
    assert long.startswith(sent.rstrip("\ufffd"))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b'{"data": 1}',
        b'{"data": [{}]}',
        b'{"data": [{"embedding": "not base64!"}]}',
        b'{"data": [{"embedding": "AAAA"}]}',
        b'{"data": [{"embedding": [0.0, 0.0]}]}',
        b'{"data": [{"embedding": [NaN, 1.0]}]}',
        b'{"data": [{"embedding": [[1.0]]}]}',
        b'{"data": [{"embedding": null}]}',
        b'{"data": ["text"]}',
        b'{"data": [null]}',
        b'{"data": [{"embedding": [1' + b"0" * 400 + b"]}]}",
        b'{"data": ' + b"[" * 100_000,
        b'{"data": []}',
    ],
)
def test_an_unusable_answer_is_recognised(body: bytes) -> None:
    """Nothing that is not one vector with a direction passes for one."""
    with pytest.raises(UNUSABLE):
        unpack(body, 1, None)


def test_vectors_are_placed_by_their_index() -> None:
    """A server may answer out of order."""
    data = [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 0.0]}]
    assert unpack(json.dumps({"data": data}).encode(), 2, 2) == [
        struct.pack("<2f", 1, 0),
        struct.pack("<2f", 0, 1),
    ]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "PAUSE", 0.001)


@dataclass
class Slow:
    """Answers requests of at most `most` texts in time, and fails the first ones."""

    most: int = 100
    failing: list[str] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    space: str = "slow@1"

    async def query(self, text: str) -> Embedding:
        return (await self.passages([text]))[0]

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """The texts themselves, as bytes."""
        self.asked.append(len(texts))
        if self.failing:
            raise RetrievalError(self.failing.pop(0))
        if len(texts) > self.most:
            raise RetrievalError("timeout")
        return [text.encode() for text in texts]


TEXTS = [str(n) for n in range(64)]


async def test_it_waits_until_the_model_answers() -> None:
    """Whatever the fault was, if it may pass; queries as well as passages."""
    slow = Slow(failing=["unavailable", "overloaded", "unavailable"] * 2)
    model = Patient(slow)
    assert await model.passages(TEXTS) == [text.encode() for text in TEXTS]
    slow.failing = ["timeout", "unavailable"]
    assert await model.query("7") == b"7"


async def test_what_is_too_much_at_once_is_asked_in_smaller_requests() -> None:
    """In order; and it is not tried again with more."""
    slow = Slow(most=10)
    model = Patient(slow)
    for _ in range(2):
        assert await model.passages(TEXTS) == [text.encode() for text in TEXTS]
    assert slow.asked[:4] == [64, 32, 16, 8]
    assert set(slow.asked[4:]) == {8}


async def test_a_server_that_says_it_is_busy_is_not_held_to_be_broken() -> None:
    """429 is a fault that passes, and opens no breaker."""
    async with (
        model_server(fault=Fault(status=429, retry_after="0.01")) as fake,
        open_embeddings(Server(fake.url, "k"), "m", None) as embedder,
    ):
        with pytest.raises(RetrievalError, match="overloaded"):
            await embedder.query("q")
        assert embedder.breaker.closed
