"""Batch work waits for an embedder that is busy or away."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from app.errors import RetrievalError
from app.models import embeddings
from app.models.client import Server
from app.models.embeddings import Patient, open_embeddings
from app.types import Embedding
from tests.fakes.model import Fault, model_server


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of an instant."""
    monkeypatch.setattr(embeddings, "PAUSE", 0.001)


@dataclass
class Slow:
    """Answers requests of at most `most` texts in time, and fails the first ones."""

    most: int = 100
    failing: list[str] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    space: str = "slow@1"

    async def query(self, text: str) -> Embedding:
        """Its vector."""
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


async def test_a_fault_of_the_texts_is_told_at_once() -> None:
    """It would not pass."""
    slow = Slow(failing=["embedding"])
    with pytest.raises(RetrievalError, match="embedding"):
        await Patient(slow).passages(TEXTS)
    assert slow.asked == [64]


async def test_a_model_that_stays_away_is_given_up() -> None:
    """After its time without one vector."""
    with pytest.raises(RetrievalError, match="unavailable"):
        await Patient(Slow(failing=["unavailable"] * 1_000), seconds=0.05).passages(TEXTS)


async def test_a_server_that_says_it_is_busy_is_not_held_to_be_broken() -> None:
    """429 is a fault that passes, and opens no breaker."""
    async with (
        model_server(fault=Fault(status=429, retry_after="0.01")) as fake,
        open_embeddings(Server(fake.url, "k"), "m", None) as embedder,
    ):
        with pytest.raises(RetrievalError, match="overloaded"):
            await embedder.query("q")
        assert embedder.breaker.closed
