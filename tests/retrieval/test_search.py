"""The fan-out over all sources under one deadline, and what several searches found, as one list."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import RetrievalError
from app.models.client import Server
from app.models.embeddings import open_embeddings
from app.retrieval.cache import Cache
from app.retrieval.fusion import scored
from app.retrieval.relevance import is_match
from app.retrieval.rewrite import KEPT, falling, merged
from app.retrieval.search import Retrieval
from app.types import Candidate, Clock, Degraded, Embedding, Found, Hit, Legs, Passage, Query, Scope
from tests.fakes.answering import FakeEmbedder, FakeSource, passage
from tests.fakes.model import model_server

ASKED = Query("why is the sky blue", Scope(session_id="s"))


def retrieval(
    *sources: FakeSource,
    embedder: FakeEmbedder | None = None,
    seconds: float = 0.4,
    cache: Cache | None = None,
) -> Retrieval:
    named = {source.name: source for source in sources}
    return Retrieval(named, embedder or FakeEmbedder(), seconds=seconds, cache=cache)


async def test_finds_what_a_source_holds() -> None:
    """The candidates of a source come back fused, with the number of passages in reach."""
    found = await retrieval(FakeSource([passage("a"), passage("b", "Grass is green.")])).gather(
        ASKED, ["documents"]
    )
    assert {item.passage.id for item in found.candidates} == {"a", "b"}
    assert (found.stored, found.answered, found.degraded) == (2, 1, ())


async def test_what_each_source_finds_can_be_had_apart() -> None:
    """Beside the answer, and not kept; a source that fails has none, one that is not there neither."""
    broken = FakeSource(name="memories", error=RetrievalError("unavailable"))
    async with Cache(60) as cache:
        both = retrieval(FakeSource([passage("a")]), broken, cache=cache)
        answer, (found,) = await both.apart(ASKED, ["documents", "memories", "dreams"])
        again = await both.gather(ASKED, ["documents"])
    assert (found.source, [hit.key for hit in found.meaning]) == ("documents", ["a"])
    assert [item.passage.id for item in answer.candidates] == ["a"]
    assert answer.degraded == (Degraded("memories", "unavailable"),)
    assert not again.cached


async def test_embeds_once_for_all_sources() -> None:
    embedder = FakeEmbedder()
    both = retrieval(
        FakeSource([passage("a")]), FakeSource([passage("m")], name="memories"), embedder=embedder
    )
    await both.gather(ASKED, ["documents", "memories"])
    assert embedder.asked == [ASKED.text]


async def test_a_question_asked_again_is_not_embedded_again() -> None:
    embedder = FakeEmbedder()
    asked = retrieval(FakeSource([passage("a")]), embedder=embedder)
    await asked.gather(ASKED, ["documents"])
    embedder.error = RetrievalError("unavailable")
    assert (await asked.gather(ASKED, ["documents"])).degraded == ()
    assert embedder.asked == [ASKED.text]


@pytest.mark.parametrize(
    "other",
    [Scope(tenant="u"), Scope(owner="ben", user_id="ben")],
    ids=["another tenant", "another key"],
)
async def test_what_one_asked_is_new_to_another(other: Scope) -> None:
    """Neither the vector of the question nor its result comes sooner because somebody else has asked it, and
    `cached` tells nothing."""
    async with (
        model_server() as server,
        open_embeddings(Server(server.url, "k"), "m", None) as embedder,
        Cache(300) as cache,
    ):
        source = FakeSource([passage("a")])
        asked = Retrieval({source.name: source}, embedder, seconds=5, cache=cache)
        for scope in (Scope(), other):
            found = await asked.gather(Query("why is the sky blue", scope), ["documents"])
            assert not found.cached
    assert len(server.requests) == 2


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
    found = await retrieval(FakeSource([passage("a")]), source).gather(ASKED, ["documents", "memories"])
    assert [item.passage.id for item in found.candidates] == ["a"]
    assert found.degraded == (Degraded("memories", reason),)


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


async def test_the_same_words_in_two_sources_are_both_found() -> None:
    """Which of them is told is for whoever tells; in one source they are there once."""
    same = [replace(passage(key), source="memories") for key in ("m", "n")]
    both = retrieval(FakeSource([passage("a")]), FakeSource(same, name="memories"))
    found = await both.gather(ASKED, ["documents", "memories"])
    assert {item.passage.id for item in found.candidates} == {"a", "m"}
    assert [item.passage.id for item in found.duplicates] == ["n"]


async def test_a_part_that_was_not_searched_is_degraded_and_not_kept() -> None:
    source = FakeSource([passage("a")], name="corpus", partial="timeout")
    async with Cache(300) as cache:
        both = [await retrieval(source, cache=cache).gather(ASKED, ["corpus"]) for _ in range(2)]
    assert [[item.passage.id for item in found.candidates] for found in both] == [["a"]] * 2
    assert [found.degraded for found in both] == [(Degraded("corpus", "timeout"),)] * 2
    assert len(source.queries) == 2


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


async def test_the_embedding_does_not_wait_for_the_standing() -> None:
    embedder = FakeEmbedder()
    task = asyncio.create_task(
        retrieval(FakeSource(reach_delay=30), embedder=embedder, seconds=60).gather(ASKED, ["documents"])
    )
    await asyncio.sleep(0.02)
    assert embedder.asked == [ASKED.text]
    task.cancel()
    await asyncio.wait({task})


async def test_a_kept_result_is_neither_embedded_nor_searched_for() -> None:
    embedder, source = FakeEmbedder(), FakeSource([passage("a"), passage("b", "Grass is green.")])
    both = retrieval(source, embedder=embedder, cache=Cache(300))
    first, second = [await both.gather(ASKED, ["documents"]) for _ in range(2)]
    assert replace(second, took_ms=0) == replace(first, took_ms=0, cached=True)
    assert (len(embedder.asked), len(source.queries)) == (1, 1)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param(replace(ASKED, text="Why is the sky blue"), ["documents"], id="text"),
        pytest.param(replace(ASKED, limit=7), ["documents"], id="limit"),
        pytest.param(replace(ASKED, threshold=0.3), ["documents"], id="threshold"),
        pytest.param(replace(ASKED, scope=Scope("other", session_id="s")), ["documents"], id="tenant"),
        pytest.param(replace(ASKED, scope=Scope(owner="ann", session_id="s")), ["documents"], id="owner"),
        pytest.param(replace(ASKED, scope=Scope(session_id="t")), ["documents"], id="session"),
        pytest.param(replace(ASKED, scope=Scope()), ["documents"], id="no session"),
        pytest.param(ASKED, ["documents", "memories"], id="sources"),
        pytest.param(ASKED, ["memories"], id="source"),
    ],
)
async def test_what_could_change_a_result_makes_another_key(query: Query, names: list[str]) -> None:
    sources = FakeSource([passage("a")]), FakeSource([passage("m")], name="memories")
    both = retrieval(*sources, cache=Cache(300))
    await both.gather(ASKED, ["documents"])
    assert not (await both.gather(query, names)).cached


@pytest.mark.parametrize("kept", [False, True], ids=["alone", "with a cache"])
@pytest.mark.parametrize("slow", [FakeSource(delay=30), FakeSource(reach_delay=30)], ids=["search", "reach"])
async def test_what_is_gone_of_the_deadline_is_gone(slow: FakeSource, *, kept: bool) -> None:
    """Whoever has used a part of it has the rest, not another whole one."""
    began = asyncio.get_running_loop().time()
    asking = retrieval(slow, seconds=20, cache=Cache(300) if kept else None)
    found = await asking.gather(ASKED, ["documents"], until=began + 0.1)
    assert found.degraded[-1] == Degraded("documents", "timeout")


async def test_who_asks_does_not_matter_where_no_source_looks_at_it() -> None:
    both = retrieval(FakeSource([passage("a")]), cache=Cache(300))
    await both.gather(ASKED, ["documents"])
    same = replace(ASKED, scope=Scope(user_id="ann", session_id="s", thread_id="t"))
    assert (await both.gather(same, ["documents"])).cached


async def test_a_write_in_reach_shows_at_once() -> None:
    """The standing has changed, so the kept result is nobody's any more."""
    source = FakeSource([passage("a")])
    both = retrieval(source, cache=Cache(300))
    await both.gather(ASKED, ["documents"])
    source.version, source.passages = 2, [passage("b")]
    found = await both.gather(ASKED, ["documents"])
    assert ([item.passage.id for item in found.candidates], found.cached) == (["b"], False)


async def test_a_source_that_does_not_say_how_it_stands_is_missing() -> None:
    """Nothing kept stands in for it: it may have been deleted; the others answer, uncached."""
    down, well = FakeSource([passage("a")]), FakeSource([passage("m")], name="memories")
    both = retrieval(down, well, cache=Cache(300))
    await both.gather(ASKED, ["documents", "memories"])
    down.reach_error = RetrievalError("unavailable")
    found = await both.gather(ASKED, ["documents", "memories"])
    assert [item.passage.id for item in found.candidates] == ["m"]
    assert (found.degraded, found.cached) == ((Degraded("documents", "unavailable"),), False)


async def test_a_source_that_is_slow_to_say_leaves_the_others_their_time() -> None:
    """What has answered by the deadline is used, with a cache as without."""
    slow, well = FakeSource(reach_delay=30), FakeSource([passage("m")], name="memories", delay=0.1)
    both = retrieval(slow, well, cache=Cache(300))
    found = await both.gather(ASKED, ["documents", "memories"])
    assert [item.passage.id for item in found.candidates] == ["m"]
    assert found.degraded == (Degraded("documents", "timeout"),)


@pytest.mark.parametrize(
    ("source", "embedder"),
    [
        pytest.param(
            FakeSource([passage("a")], error=RetrievalError("timeout")), FakeEmbedder(), id="source"
        ),
        pytest.param(
            FakeSource([passage("a")]), FakeEmbedder(error=RetrievalError("embedding")), id="embedding"
        ),
    ],
)
async def test_what_failed_is_tried_again(source: FakeSource, embedder: FakeEmbedder) -> None:
    both = retrieval(source, embedder=embedder, cache=Cache(300))
    assert (await both.gather(ASKED, ["documents"])).degraded
    source.error = embedder.error = None
    found = await both.gather(ASKED, ["documents"])
    assert (found.degraded, found.cached, len(found.candidates)) == ((), False, 1)


async def test_a_source_that_this_service_lacks_does_not_keep_the_rest_from_the_cache() -> None:
    both = retrieval(FakeSource([passage("a")]), cache=Cache(300))
    for cached in (False, True):
        found = await both.gather(ASKED, ["documents", "dreams"])
        assert (found.cached, found.degraded) == (cached, (Degraded("dreams", "not_available"),))


async def test_identical_requests_at_once_search_once() -> None:
    source = FakeSource([passage("a")], delay=0.1)
    both = retrieval(source, cache=Cache(300))
    leader, *followers = [asyncio.create_task(both.gather(ASKED, ["documents"])) for _ in range(5)]
    await asyncio.sleep(0.05)
    leader.cancel()
    found = await asyncio.gather(*followers)
    assert [[item.passage.id for item in one.candidates] for one in found] == [["a"]] * 4
    assert (len(source.queries), any(one.cached for one in found)) == (1, False)


async def test_the_last_to_leave_ends_the_search() -> None:
    before = asyncio.all_tasks()
    async with Cache(300) as cache:
        both = retrieval(FakeSource(delay=30), seconds=60, cache=cache)
        tasks = [asyncio.create_task(both.gather(ASKED, ["documents"])) for _ in range(3)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await asyncio.sleep(0.05)
        assert asyncio.all_tasks() == before


async def test_a_follower_gets_what_was_found_by_the_leaders_deadline() -> None:
    """A hung source costs its passages, for all who wait for the same search."""
    sources = FakeSource([passage("a")]), FakeSource(delay=30, name="memories")
    both = retrieval(*sources, cache=Cache(300))
    leader = asyncio.create_task(both.gather(ASKED, ["documents", "memories"]))
    await asyncio.sleep(0.2)
    found = await both.gather(ASKED, ["documents", "memories"])
    assert [item.passage.id for item in found.candidates] == ["a"]
    assert (await leader).degraded == found.degraded == (Degraded("memories", "timeout"),)


def memory(key: str, text: str, day: int) -> Passage:
    at = datetime(2023, 5, day, tzinfo=UTC)
    return replace(passage(key, text, label=f"memory#{key}"), source="memories", created_at=at)


class Divided(FakeSource):
    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        found = await super().search(query, embedding)
        return replace(found, words=(Hit("worded", 5.0, 1.0), Hit("near", 1.0, 0.2)))


@pytest.mark.parametrize(
    ("text", "first"), [("read", "near"), ("spelled", "worded")], ids=["read", "merely spelled"]
)
async def test_what_the_embedder_cannot_read_is_found_by_words(text: str, first: str) -> None:
    source = Divided([passage("near", similarity=0.9), passage("worded", "Grass is green.", 0.3)])
    asking = Retrieval(
        {source.name: source}, FakeEmbedder(), seconds=0.4, grasp={"read": 1.0, "spelled": 0.05}.__getitem__
    )
    gathered = await asking.gather(replace(ASKED, text=text), ["documents"])
    apart, _ = await asking.apart(replace(ASKED, text=text), ["documents"])
    assert [found.candidates[0].passage.id for found in (gathered, apart)] == [first, first]


async def test_what_was_said_at_the_time_asked_about_comes_first() -> None:
    """Seen from when it is asked; the reply tells what it was taken for."""
    source = FakeSource([memory("a", "I swam", 1), memory("b", "I ran", 8)], name="memories")
    sources = {source.name: source}
    today = Retrieval(sources, FakeEmbedder(), seconds=0.4, clock=lambda: datetime(2023, 5, 9, 1, tzinfo=UTC))
    found = await today.gather(replace(ASKED, text="what did I do yesterday"), ["memories"])
    assert [item.passage.id for item in found.candidates] == ["b", "a"]
    assert found.notes == ("Time asked about: 2023-05-08 to 2023-05-08",)


async def test_sources_are_told_the_days_that_are_asked_about() -> None:
    """So that they can look for what is of them, whichever way they are asked."""
    source = FakeSource([memory("a", "I swam", 1)], name="memories")
    today = Retrieval(
        {source.name: source}, FakeEmbedder(), seconds=0.4, clock=lambda: datetime(2023, 5, 9, tzinfo=UTC)
    )
    await today.gather(replace(ASKED, text="what did I do yesterday"), ["memories"])
    await today.apart(replace(ASKED, text="what did I do yesterday"), ["memories"])
    await today.gather(ASKED, ["memories"])
    yesterday = ((date(2023, 5, 8), date(2023, 5, 9)),)
    assert [query.days for query in source.queries] == [yesterday, yesterday, ()]


def always(at: datetime) -> Clock:
    return lambda: at


async def test_days_are_of_the_year_in_which_it_is_asked() -> None:
    """`in May` is any year's for the order, and of the last years for the search: another after New Year."""
    source = FakeSource([memory("a", "I swam", 8)], name="memories")
    cached = []
    async with Cache(60) as cache:
        for year in (2023, 2023, 2024):
            at = datetime(year, 7, 9, tzinfo=UTC)
            asking = Retrieval(
                {"memories": source}, FakeEmbedder(), seconds=0.4, cache=cache, clock=always(at)
            )
            cached.append(
                (await asking.gather(replace(ASKED, text="what do I do in May"), ["memories"])).cached
            )
    assert cached == [False, True, False]


async def test_a_time_that_no_match_is_of_is_not_told() -> None:
    """A note of what nobody is told misleads; the order is as it is, and no memory is named."""
    source = FakeSource([memory("a", "I swam", 1), memory("b", "I ran", 8)], name="memories")
    today = Retrieval(
        {source.name: source}, FakeEmbedder(), seconds=0.4, clock=lambda: datetime(2023, 5, 9, tzinfo=UTC)
    )
    asked = replace(ASKED, text="where did I swim yesterday", threshold=1.0)
    assert (await today.gather(asked, ["memories"])).notes == ()


async def test_yesterday_is_not_answered_from_the_day_before() -> None:
    """The cache knows what it was asked; what is not relative is found there."""
    days = [datetime(2023, 5, day, tzinfo=UTC) for day in (9, 9, 10)]
    source = FakeSource([memory("a", "I swam", 8)], name="memories")
    async with Cache(60) as cache:
        for text, cached in (
            ("what did I do yesterday", [False, True, False]),
            ("what", [False, True, True]),
        ):
            got = [
                await Retrieval(
                    {"memories": source}, FakeEmbedder(), seconds=0.4, cache=cache, clock=always(at)
                ).gather(replace(ASKED, text=text), ["memories"])
                for at in days
            ]
            assert [found.cached for found in got] == cached


async def test_the_same_said_twice_is_a_duplicate() -> None:
    source = FakeSource([memory("a", "I love tea", 8), memory("b", "I love tea!", 8)], name="memories")
    found = await retrieval(source).gather(ASKED, ["memories"])
    assert [[item.passage.id for item in items] for items in (found.candidates, found.duplicates)] == [
        ["a"],
        ["b"],
    ]
    assert found.notes == ("memory#b is a duplicate of memory#a",)


def item(
    key: str, score: float, *, similarity: float | None = 0.8, evidence: float | None = None
) -> Candidate:
    """A candidate with a text of its own."""
    return Candidate(scored(passage(key, f"text of {key}", similarity), score, evidence))


def ids(found: Found) -> list[str]:
    return [each.passage.id for each in found.candidates]


def test_each_by_what_it_fits_best() -> None:
    """Behind the question's own first ones, whoever found it."""
    own = Found(
        tuple(item(key, score) for key, score in zip("abcde", (0.9, 0.8, 0.7, 0.3, 0.1), strict=True))
    )
    more = [Found((item("e", 0.65), item("x", 0.5))), Found((item("y", 0.4), item("a", 0.2)))]
    assert ids(merged(own, more, 0.2)) == [*"abc", "e", "x", "y", "d"]


def test_the_first_matches_of_the_question_stay_the_first() -> None:
    """However sure a rewording is; none is more relevant than what stands before it."""
    own = Found(tuple(item(key, score) for key, score in zip("abcd", (0.5, 0.4, 0.3, 0.2), strict=True)))
    found = merged(own, [Found((item("x", 0.99), item("d", 0.9), item("c", 0.8)))], 0.2)
    assert ids(found) == [*"abc", "x", "d"]
    assert [each.passage.score for each in found.candidates] == [0.5, 0.4, 0.4, 0.4, 0.4]


def test_what_is_no_match_of_the_question_holds_no_place() -> None:
    """It would not have been packed."""
    own = Found((item("a", 0.3, similarity=0.1), item("b", 0.2, similarity=0.1)))
    assert ids(merged(own, [Found((item("x", 0.9),))], 0.2)) == ["x", "a", "b"]


def test_a_match_for_any_of_the_texts_is_one() -> None:
    """With the most evidence of any, although another found it more similar, or was unrelated."""
    own = Found((item("a", 0.5, similarity=0.1, evidence=0.22), item("b", 0.4, similarity=None)))
    more = Found((item("a", 0.9, similarity=0.15, evidence=-1.0), item("b", 0.1, similarity=0.6)))
    found = {each.passage.id: each for each in merged(own, [more], 0.2).candidates}
    assert (found["a"].passage.similarity, found["a"].passage.evidence) == (0.15, 0.22)
    assert found["b"].passage.similarity == 0.6
    assert all(is_match(each, 0.2) for each in found.values())


def test_copies_are_told_once() -> None:
    """Whichever search saw which of them."""
    one = item("a", 0.9)
    copy = Candidate(scored(passage("b", one.passage.text), 0.95))
    found = merged(Found((one,)), [Found((copy,), (one,))], 0.2)
    assert (ids(found), [each.passage.id for each in found.duplicates]) == (["a"], ["b"])


def test_all_that_went_wrong_is_told_once() -> None:
    """And what each search tells."""
    lost = Degraded("corpus", "timeout")
    own = Found((item("a", 0.9),), degraded=(lost,), stored=5, answered=1, notes=("one",))
    more = Found((item("b", 0.8),), degraded=(lost,), stored=5, answered=2, notes=("one", "two"))
    found = merged(own, [more], 0.2)
    assert (found.degraded, found.notes, found.stored, found.answered) == ((lost,), ("one", "two"), 5, 2)


SEARCH = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1), max_size=8).map(
    lambda told: Found(
        tuple(falling([item(key, told[key]) for key in sorted(told, key=lambda at: -told[at])]))
    )
)


@given(SEARCH, st.lists(SEARCH, max_size=3))
def test_law_nothing_is_lost_and_relevance_falls(own: Found, others: list[Found]) -> None:
    """Each passage is there once, the question's first where they were."""
    found = merged(own, others, 0.2)
    scores = [each.passage.score for each in found.candidates]
    assert sorted(ids(found)) == sorted({key for each in (own, *others) for key in ids(each)})
    assert ids(found)[: min(KEPT, len(own.candidates))] == ids(own)[:KEPT]
    assert scores == sorted(scores, reverse=True)


def test_what_two_searches_found_in_nearly_the_same_words_is_told_once() -> None:
    """The better one stays, and the notes say for what."""
    one, other = (
        Candidate(replace(scored(passage(key, text), score), source="memories"))
        for key, text, score in (("a", "I love tea", 0.9), ("b", "i love  tea!", 0.8))
    )
    found = merged(Found((one,), notes=("n",)), [Found((other,))], 0.2)
    assert (ids(found), [each.passage.id for each in found.duplicates]) == (["a"], ["b"])
    assert found.notes == ("n", "b.pdf#1 is a duplicate of a.pdf#1")


def test_twins_are_told_of_the_list_that_is_told() -> None:
    """A rewording may see them the other way round; what stays is no duplicate, and is not called one."""
    one, other = (
        Candidate(replace(scored(passage(key, text), 0.9), source="memories"))
        for key, text in (("a", "I love tea"), ("b", "I love tea!"))
    )
    own = Found((one,), (other,), notes=("n", "b.pdf#1 is a duplicate of a.pdf#1"))
    more = Found((other,), (one,), notes=("a.pdf#1 is a duplicate of b.pdf#1", "x is a duplicate of y"))
    found = merged(own, [more], 0.2)
    assert ids(found) == ["a"]
    assert found.notes == ("n", "x is a duplicate of y", "b.pdf#1 is a duplicate of a.pdf#1")
