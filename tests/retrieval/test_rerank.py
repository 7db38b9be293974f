"""The second stage: reranking and rewriting in their part of the time."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.breaker import Breaker
from app.errors import RetrievalError
from app.models.rerank import HttpReranker, open_reranker
from app.retrieval.cache import Cache
from app.retrieval.fusion import scored
from app.retrieval.rerank import (
    MAX_RERANKED,
    QUERY_BYTES,
    TEXT_BYTES,
    SecondStage,
    asked,
    reordered,
    shown,
)
from app.retrieval.rewrite import Rewriter
from app.retrieval.search import Retrieval
from app.settings import Chat, Rag, Rerank, Settings
from app.types import Candidate, Degraded, Found, Query, Scope
from app.wiring import second_stage
from tests.fakes.answering import FakeEmbedder, FakeModel, FakeSource, FakeStream, passage
from tests.fakes.judges import Ill, RerankServer, rerank_server

ASKED = Query("what does the ferry carry", Scope(session_id="s"))
TEXTS = ["a bridge of stone", "the ferry does carry mail", "the lamp"]
SECONDS = 0.6
REWORDED = ["freight of the ferry", "which mail is carried"]


@dataclass
class Reader:
    given: Sequence[float] = ()
    delay: float = 0
    error: RetrievalError | None = None
    asked: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    name: str = "reader"

    async def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked.append((query, texts))
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return self.given or [at / len(texts) for at in range(len(texts))]


def breaker() -> Breaker:
    return Breaker(time.monotonic)


def candidates(*texts: str) -> tuple[Candidate, ...]:
    told = enumerate(texts)
    return tuple(Candidate(scored(passage(str(at), text), 1 - at / len(texts))) for at, text in told)


FOUND = Found(candidates(*TEXTS), stored=3, answered=1)


async def first(_query: Query) -> Found:
    return FOUND


def ids(found: Found) -> list[str]:
    return [item.passage.id for item in found.candidates]


def second(reader: Reader | None = None, model: FakeModel | None = None) -> SecondStage:
    rewriter = Rewriter(model, breaker(), seconds=SECONDS) if model else None
    return SecondStage(reader, rewriter, seconds=SECONDS)


def until(seconds: float = SECONDS) -> float:
    return asyncio.get_running_loop().time() + seconds


def model(*questions: str) -> FakeModel:
    return FakeModel(FakeStream([json.dumps({"search": ASKED.text, "questions": questions})]))


@asynccontextmanager
async def served(server: RerankServer) -> AsyncIterator[SecondStage]:
    settings = Settings(rerank=Rerank(url=server.url), rag=Rag(timeout_seconds=SECONDS))
    async with open_reranker(settings) as reranker:
        assert reranker
        reranker.breaker = breaker()  # failures need not last
        yield SecondStage(reranker, None, seconds=SECONDS)


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
    many = Found(candidates(*(f"text {n}" for n in range(MAX_RERANKED + 5))))

    async def found_many(_query: Query) -> Found:
        return many

    reader = Reader()
    found = await second(reader).search(ASKED, found_many, until())
    assert reader.asked == [(ASKED.text, [f"text {n}" for n in range(MAX_RERANKED)])]
    assert ids(found) == [
        str(n) for n in (*reversed(range(MAX_RERANKED)), *range(MAX_RERANKED, MAX_RERANKED + 5))
    ]


@pytest.mark.parametrize("count", [0, 1])
async def test_what_has_no_order_is_not_sent(count: int) -> None:
    reader, few = Reader(), Found(FOUND.candidates[:count])

    async def found_few(_query: Query) -> Found:
        return few

    assert await second(reader).search(ASKED, found_few, until()) == few
    assert reader.asked == []


async def test_a_hung_server_costs_its_share_and_then_nothing() -> None:
    async with rerank_server() as server, served(server) as stage:
        server.ill = Ill(delay=30)
        found = [await stage.search(ASKED, first, until()) for _ in range(4)]
    reasons = [lost.reason for each in found for lost in each.degraded]
    assert reasons == ["timeout", "timeout", "timeout", "unavailable"]


@pytest.mark.parametrize("left", [0.05, 0.15], ids=["none", "little"])
async def test_a_server_that_was_left_no_time_has_not_failed(left: float) -> None:
    """The sources were slow; what they found is handed over in time. The next question is reranked."""
    async with rerank_server() as server, served(server) as stage:
        server.ill = Ill(delay=30)
        for _ in range(5):
            found = await stage.search(ASKED, first, until(left))
            assert (ids(found), found.degraded) == (["0", "1", "2"], (Degraded("rerank", "timeout"),))
        server.ill = Ill()
        assert ids(await stage.search(ASKED, first, until())) == ["1", "2", "0"]


async def test_a_refusal_is_asked_again() -> None:
    async with rerank_server() as server, served(server) as stage:
        server.ill = Ill(401)
        for _ in range(5):
            await stage.search(ASKED, first, until())
        server.ill = Ill()
        assert ids(await stage.search(ASKED, first, until())) == ["1", "2", "0"]


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


def retrieval(source: FakeSource, stage: SecondStage | None, cache: Cache | None = None) -> Retrieval:
    embedder = FakeEmbedder()
    return Retrieval({source.name: source}, embedder, seconds=SECONDS, cache=cache, second=stage)


def sky() -> FakeSource:
    return FakeSource([passage(str(at), text) for at, text in enumerate(TEXTS)])


async def test_rewordings_are_searched_beside_the_question() -> None:
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
async def test_what_lacks_its_second_stage_is_not_kept(stage: Callable[[], SecondStage]) -> None:
    source = sky()
    async with Cache(60) as cache:
        found = [await retrieval(source, stage(), cache).gather(ASKED, ["documents"]) for _ in range(2)]
    assert [each.cached for each in found] == [False, False]
    assert all(each.degraded for each in found)
    assert len(source.queries) == 2


URL = "http://127.0.0.1:9"
CHAT, REWRITE, RERANK = Chat(base_url=f"{URL}/v1"), Rag(rewrite=True), Rerank(url=URL)


@dataclass
class Parts:
    reranker: HttpReranker | None
    model: FakeModel


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        pytest.param(Settings(), None, id="nothing set"),
        pytest.param(Settings(chat=CHAT), None, id="a model alone"),
        pytest.param(Settings(rag=REWRITE), None, id="extractive answers reword nothing"),
        pytest.param(Settings(rag=REWRITE, chat=CHAT), ["", ["fake 1", "before"]], id="rewording"),
        pytest.param(Settings(rerank=RERANK), [f"{URL}/rerank", []], id="rerank"),
        pytest.param(
            Settings(rerank=RERANK, rag=REWRITE, chat=CHAT),
            [f"{URL}/rerank", ["fake 1", "before"]],
            id="both",
        ),
    ],
)
async def test_there_is_one_where_the_settings_say_so(settings: Settings, key: list[object] | None) -> None:
    """And results depend on whose it is; on what was said before only where that is looked at."""
    query = Query("and then?", Scope(), before=("before",))
    async with AsyncExitStack() as held:
        parts = Parts(await held.enter_async_context(open_reranker(settings)), FakeModel())
        found = second_stage(settings, parts)  # type: ignore[arg-type]  # two of its fields
        assert (found.key(query) if found else None) == key


def ranked_candidates(*scores: float) -> list[Candidate]:
    return [Candidate(scored(passage(str(at)), score, 0.5 + at / 10)) for at, score in enumerate(scores)]


def told(found: tuple[Candidate, ...]) -> list[tuple[str, float]]:
    return [(item.passage.id, round(item.passage.score, 3)) for item in found]


def test_the_best_score_comes_first() -> None:
    """Probabilities are relevances as they are; similarity and evidence stay."""
    before = ranked_candidates(0.9, 0.8, 0.7)
    after = reordered(before, [0.1, 0.9, 0.4])
    assert told(after) == [("1", 0.9), ("2", 0.4), ("0", 0.1)]
    assert {item.passage.similarity for item in after} == {0.8}
    assert [item.passage.evidence for item in after] == [0.6, 0.7, 0.5]


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8).map(lambda found: sorted(found, reverse=True)),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8),
)
def test_law_relevance_falls_and_stays_in_its_bounds(before: list[float], scores: list[float]) -> None:
    some = ranked_candidates(*before)
    after = reordered(some, scores[: len(some)])
    relevances = [item.passage.score for item in after]
    assert sorted(item.passage.id for item in after) == sorted(item.passage.id for item in some)
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= relevance <= 1 for relevance in relevances)


@given(st.text(max_size=2_000))
def test_law_what_is_shown_fits(text: str) -> None:
    """Never longer than what it is cut to, never blank, always text that can be sent."""
    for found, most in ((shown(text), TEXT_BYTES), (asked(text), QUERY_BYTES)):
        assert len(found.encode()) <= most
    assert shown(text).strip()
