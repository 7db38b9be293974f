"""gather(): one deadline for all, partial results, and every task ended."""

import asyncio
import time

import pytest

from app.domain.errors import RetrievalError
from app.domain.passage import Query, Scope
from app.domain.trace import Degraded
from app.services.retrieval import Retrieval
from tests.fakes.answering import FakeEmbedder, FakeSource, passage

ASKED = Query("why is the sky blue", Scope(session_id="s"))


def retrieval(*sources: FakeSource, embedder: FakeEmbedder | None = None, seconds: float = 0.4) -> Retrieval:
    """A retrieval over the given sources."""
    named = {source.name: source for source in sources}
    return Retrieval(named, embedder or FakeEmbedder(), seconds=seconds)


async def test_finds_what_a_source_holds() -> None:
    """The candidates of a source come back fused, with the number of passages in reach."""
    found = await retrieval(FakeSource([passage("a"), passage("b", "Grass is green.")])).gather(
        ASKED, ["documents"]
    )
    assert {item.passage.id for item in found.candidates} == {"a", "b"}
    assert (found.stored, found.answered, found.degraded) == (2, 1, ())


async def test_embeds_once_for_all_sources() -> None:
    """The query's embedding is computed once a request and shared."""
    embedder = FakeEmbedder()
    both = retrieval(
        FakeSource([passage("a")]), FakeSource([passage("m")], name="memories"), embedder=embedder
    )
    await both.gather(ASKED, ["documents", "memories"])
    assert embedder.asked == [ASKED.text]


async def test_a_source_that_is_not_there_is_told() -> None:
    """Asking for a source that this service does not have is `degraded`, never an error."""
    found = await retrieval(FakeSource([passage("a")])).gather(ASKED, ["documents", "dreams"])
    assert found.degraded == (Degraded("dreams", "not_available"),)
    assert len(found.candidates) == 1


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param(FakeSource(delay=30, name="memories"), "timeout", id="slow"),
        pytest.param(
            FakeSource(error=RetrievalError("unavailable"), name="memories"), "unavailable", id="down"
        ),
    ],
)
async def test_a_source_in_trouble_costs_only_its_passages(source: FakeSource, reason: str) -> None:
    """The other source's passages are used, and the reply says who is missing and why."""
    began = time.perf_counter()
    found = await retrieval(FakeSource([passage("a")]), source).gather(ASKED, ["documents", "memories"])
    assert [item.passage.id for item in found.candidates] == ["a"]
    assert found.degraded == (Degraded("memories", reason),)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    ("embedder", "reason"),
    [
        pytest.param(FakeEmbedder(delay=30), "timeout", id="hangs"),
        pytest.param(FakeEmbedder(error=RetrievalError("embedding")), "embedding", id="fails"),
    ],
)
async def test_words_answer_when_the_embedding_does_not(embedder: FakeEmbedder, reason: str) -> None:
    """A hung or broken embedding server leaves the word legs their time."""
    found = await retrieval(FakeSource([passage("a")]), embedder=embedder).gather(ASKED, ["documents"])
    assert [item.passage.id for item in found.candidates] == ["a"]
    assert found.degraded == (Degraded("embedding", reason),)


async def test_a_bug_is_not_mistaken_for_a_fault() -> None:
    """What is not a RetrievalError comes through: it must be seen, not degraded away."""
    with pytest.raises(ZeroDivisionError):
        await retrieval(FakeSource(error=ZeroDivisionError())).gather(ASKED, ["documents"])


async def test_cancellation_leaves_no_task_behind() -> None:
    """A client that leaves during the search ends the searches too."""
    before = asyncio.all_tasks()
    task = asyncio.create_task(retrieval(FakeSource(delay=30), seconds=60).gather(ASKED, ["documents"]))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
