"""What runs beside the first stage, and after it: each in its part of the time, and never missed."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from app.breaker import Breaker
from app.errors import RetrievalError
from app.models.rerank import open_reranker
from app.retrieval.cache import Cache
from app.retrieval.fusion import scored
from app.retrieval.rerank import MOST, Second
from app.retrieval.rewrite import Rewriter
from app.retrieval.search import Retrieval
from app.settings import Rerank, Settings
from app.types import Candidate, Degraded, Found, Query, Scope
from tests.fakes.answering import FakeEmbedder, FakeModel, FakeSource, FakeStream, passage
from tests.fakes.rerank import Ill, RerankServer, rerank_server

ASKED = Query("what does the ferry carry", Scope(session_id="s"))
TEXTS = ["a bridge of stone", "the ferry does carry mail", "the lamp"]
SECONDS = 0.6
REWORDED = ["freight of the ferry", "which mail is carried"]


@dataclass
class Reader:
    """A reranker that gives what it was told to."""

    given: Sequence[float] = ()
    delay: float = 0
    error: RetrievalError | None = None
    asked: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    name: str = "reader"

    async def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """After a while."""
        self.asked.append((query, texts))
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return self.given or [at / len(texts) for at in range(len(texts))]


def breaker() -> Breaker:
    """That opens at the third failure."""
    return Breaker(time.monotonic)


def candidates(*texts: str) -> tuple[Candidate, ...]:
    """With falling relevances."""
    told = enumerate(texts)
    return tuple(Candidate(scored(passage(str(at), text), 1 - at / len(texts))) for at, text in told)


FOUND = Found(candidates(*TEXTS), stored=3, answered=1)


async def first(_query: Query) -> Found:
    """A first stage."""
    return FOUND


def ids(found: Found) -> list[str]:
    """In order."""
    return [item.passage.id for item in found.candidates]


def second(reader: Reader | None = None, model: FakeModel | None = None) -> Second:
    """Of these."""
    rewriter = Rewriter(model, breaker(), seconds=SECONDS) if model else None
    return Second(reader, rewriter, breaker(), seconds=SECONDS)


def until(seconds: float = SECONDS) -> float:
    """The loop's time then."""
    return asyncio.get_running_loop().time() + seconds


def model(*questions: str) -> FakeModel:
    """That rewords so."""
    return FakeModel(FakeStream([json.dumps({"search": ASKED.text, "questions": questions})]))


@asynccontextmanager
async def served(server: RerankServer) -> AsyncIterator[Second]:
    """With a real client of a server."""
    async with open_reranker(Settings(rerank=Rerank(url=server.url))) as reranker:
        yield Second(reranker, None, breaker(), seconds=SECONDS)


@pytest.mark.parametrize("dialect", ["results", "logits", "texts"])
async def test_a_server_of_any_dialect_orders_the_candidates(dialect: str) -> None:
    """Relevance stays in [0, 1], similarity as it was; the notes say that it was done."""
    async with rerank_server(dialect) as server, served(server) as stage:
        found = await stage.search(ASKED, first, until())
    assert ids(found) == ["1", "2", "0"]
    assert all(0 <= item.passage.score <= 1 for item in found.candidates)
    assert {item.passage.similarity for item in found.candidates} == {0.8}
    assert (found.notes, found.degraded) == (("Reranked 3 candidates",), ())


@pytest.mark.parametrize(
    ("ill", "reason"),
    [
        pytest.param(Ill(500), "unavailable", id="500"),
        pytest.param(Ill(delay=30), "timeout", id="hung"),
        pytest.param(Ill(401), "rerank", id="401"),
        pytest.param(Ill(body=b"<html>"), "rerank", id="no JSON"),
        pytest.param(Ill(body=b'{"results": [{"index": 0, "relevance_score": 1}]}'), "rerank", id="too few"),
        pytest.param(
            Ill(body=b'[{"index":0,"score":1},{"index":0,"score":2},{"index":1,"score":3}]'),
            "rerank",
            id="twice",
        ),
    ],
)
async def test_an_ill_server_leaves_the_first_stage(ill: Ill, reason: str) -> None:
    """Order and figures as they were, a word in `degraded`, and no more than its part of the time gone."""
    async with rerank_server() as server, served(server) as stage:
        server.ill = ill
        found = await stage.search(ASKED, first, until())
    assert found == replace(FOUND, degraded=(Degraded("rerank", reason),))


async def test_the_first_candidates_alone_are_shown() -> None:
    """The others stay behind them."""
    many = Found(candidates(*(f"text {n}" for n in range(MOST + 5))))

    async def found_many(_query: Query) -> Found:
        return many

    reader = Reader()
    found = await second(reader).search(ASKED, found_many, until())
    assert reader.asked == [(ASKED.text, [f"text {n}" for n in range(MOST)])]
    assert ids(found) == [str(n) for n in (*reversed(range(MOST)), *range(MOST, MOST + 5))]


@pytest.mark.parametrize("count", [0, 1])
async def test_what_has_no_order_is_not_sent(count: int) -> None:
    """A server may cost money."""
    reader, few = Reader(), Found(FOUND.candidates[:count])

    async def found_few(_query: Query) -> Found:
        return few

    assert await second(reader).search(ASKED, found_few, until()) == few
    assert reader.asked == []


async def test_a_hung_server_costs_its_share_and_then_nothing() -> None:
    """Three questions wait for it, the fourth does not."""
    stage = second(Reader(delay=30))
    reasons = []
    for _ in range(4):
        found = await stage.search(ASKED, first, until())
        reasons += [lost.reason for lost in found.degraded]
    assert reasons == ["timeout", "timeout", "timeout", "unavailable"]


@pytest.mark.parametrize(("left", "asked"), [(0.05, 0), (0.15, 5)], ids=["none", "little"])
async def test_a_server_that_was_left_no_time_has_not_failed(left: float, asked: int) -> None:
    """The sources were slow; what they found is handed over in time."""
    reader = Reader(delay=30)
    stage = second(reader)
    for _ in range(5):
        found = await stage.search(ASKED, first, until(left))
        assert (ids(found), found.degraded) == (["0", "1", "2"], (Degraded("rerank", "timeout"),))
    assert len(reader.asked) == asked


async def test_a_refusal_is_asked_again() -> None:
    """Whoever refuses is there."""
    reader = Reader(error=RetrievalError("rerank", rejected=True))
    stage = second(reader)
    for _ in range(5):
        await stage.search(ASKED, first, until())
    assert len(reader.asked) == 5


async def test_who_leaves_ends_all_of_it() -> None:
    """The search, the model's call and the scores; no task is left, nobody is blamed."""
    for stage in (second(Reader(delay=30)), second(model=FakeModel(head=30))):
        before = asyncio.all_tasks()
        task = asyncio.create_task(stage.search(ASKED, first, until(30)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == before


def retrieval(source: FakeSource, stage: Second | None, cache: Cache | None = None) -> Retrieval:
    """Over one source."""
    embedder = FakeEmbedder()
    return Retrieval({source.name: source}, embedder, seconds=SECONDS, cache=cache, second=stage)


def sky() -> FakeSource:
    """Three passages, equally good."""
    return FakeSource([passage(str(at), text) for at, text in enumerate(TEXTS)])


async def test_rewordings_are_searched_beside_the_question() -> None:
    """Each once, in one reach; the notes tell which."""
    source = sky()
    found = await retrieval(source, second(model=model(*REWORDED))).gather(ASKED, ["documents"])
    assert [query.text for query in source.queries] == [ASKED.text, *REWORDED]
    assert found.notes == tuple(f'Searched also with "{text}"' for text in REWORDED)
    assert (sorted(ids(found)), found.degraded) == (["0", "1", "2"], ())


async def test_the_question_itself_does_not_wait_for_the_model() -> None:
    """Its search has ended when the model gives up, and is all that comes back."""
    source = sky()
    task = asyncio.create_task(
        retrieval(source, second(model=FakeModel(head=30))).gather(ASKED, ["documents"])
    )
    await asyncio.sleep(0.1)
    assert [query.text for query in source.queries] == [ASKED.text]
    found = await task
    assert (ids(found), found.degraded) == (["0", "1", "2"], (Degraded("rewrite", "timeout"),))


async def test_nobody_waits_for_a_rewording_where_nothing_is_stored() -> None:
    """No wording finds more in an empty reach: the model is let go, and nothing is missing."""

    async def empty(_query: Query) -> Found:
        return Found(answered=1)

    found = await second(model=FakeModel(head=30)).search(ASKED, empty, until())
    assert (found.stored, found.degraded, found.notes) == (0, (), ())


async def test_what_was_found_for_all_texts_is_scored_once() -> None:
    """By the question as it was asked."""
    reader = Reader(given=[0.1, 0.2, 0.9])
    found = await retrieval(sky(), second(reader, model(*REWORDED))).gather(ASKED, ["documents"])
    assert [query for query, _ in reader.asked] == [ASKED.text]
    assert ids(found) == ["2", "1", "0"]
    assert found.notes[-1] == "Reranked 3 candidates"


async def test_a_whole_result_is_kept_with_its_order() -> None:
    """Neither model nor server is asked again; and another server's, or another past, is another result."""
    source, reader, words = sky(), Reader(given=[0.1, 0.2, 0.9]), model(*REWORDED)
    async with Cache(60) as cache:
        both = retrieval(source, second(reader, words), cache)
        fresh, kept = [await both.gather(ASKED, ["documents"]) for _ in range(2)]
        other = await retrieval(source, second(Reader(name="other")), cache).gather(ASKED, ["documents"])
        later = await both.gather(replace(ASKED, before=("a ferry?",)), ["documents"])
    assert (fresh.cached, kept.cached, other.cached, later.cached) == (False, True, False, False)
    assert ids(kept) == ids(fresh) == ["2", "1", "0"]
    assert (len(reader.asked), len(words.prompts)) == (2, 2)


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(lambda: second(Reader(error=RetrievalError("unavailable"))), id="rerank"),
        pytest.param(lambda: second(model=FakeModel(FakeStream(["no"]))), id="rewrite"),
    ],
)
async def test_what_lacks_its_second_stage_is_not_kept(stage: Callable[[], Second]) -> None:
    """The next question may have it."""
    source = sky()
    async with Cache(60) as cache:
        found = [await retrieval(source, stage(), cache).gather(ASKED, ["documents"]) for _ in range(2)]
    assert [each.cached for each in found] == [False, False]
    assert all(each.degraded for each in found)
    assert len(source.queries) == 2


async def test_evaluation_sees_both_stages() -> None:
    """And each source's own legs, of the question alone."""
    reader = Reader(given=[0.1, 0.2, 0.9])
    found, (legs,) = await retrieval(sky(), second(reader, model(*REWORDED))).apart(ASKED, ["documents"])
    assert (ids(found), legs.source) == (["2", "1", "0"], "documents")
