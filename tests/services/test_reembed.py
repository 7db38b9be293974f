"""The move from one embedding space to another, whole and interrupted."""

from pathlib import Path

import pytest

from app.db.outbox import Outbox
from app.db.pool import Pool
from app.db.vectors import SpaceStore, VectorStore
from app.errors import RetrievalError
from app.services import reembed as moving
from app.services.reembed import Reembed
from app.types import Space
from tests.fakes.answering import FakeEmbedder
from tests.fakes.uploads import ALICE, ready, upload

NEXT = Space("fake@2", "fake", 2, 0.0)


class Engine(Outbox):
    def __init__(self) -> None:
        self.filled = 0

    async def drain(self) -> None:
        self.filled += 1

    async def pending(self) -> str:
        return "qdrant has yet to take a refill"


async def run(work: Reembed) -> int:
    return sum([taken async for taken in work.run()])


async def test_everything_is_embedded_and_swapped(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches, title and heading in front; then the space is current and the index filled."""
    monkeypatch.setattr(moving, "BATCH", 2)
    await ready(pool, ALICE, upload(tmp_path, "a\nb\nc"), "a\nb\nc")
    embedder, engine = FakeEmbedder(), Engine()
    work = Reembed(VectorStore(pool), embedder, (engine,), NEXT)
    assert (await work.total(), work.space) == (3, NEXT.name)
    assert await run(work) == 3
    assert embedder.asked == [f"Title\nHeading\n{name}" for name in "abc"]
    assert (await SpaceStore(pool).current(), engine.filled) == (NEXT, 1)
    assert work.waiting == ["qdrant has yet to take a refill"]


async def test_an_interrupted_move_goes_on(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was embedded before the fault is not embedded again; the old space serves until the swap."""
    monkeypatch.setattr(moving, "BATCH", 1)
    await ready(pool, ALICE, upload(tmp_path, "a\nb"), "a\nb")
    embedder = FakeEmbedder()
    work = Reembed(VectorStore(pool), embedder, (Engine(),), NEXT)
    steps = work.run()
    await anext(steps)
    embedder.error = RetrievalError("embedding")
    with pytest.raises(RetrievalError):
        await anext(steps)
    assert await SpaceStore(pool).vectors_in(NEXT.name) == 0
    embedder.error = None
    assert await run(work) == 1
    assert await SpaceStore(pool).vectors_in(NEXT.name) == 2
