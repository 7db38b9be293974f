"""What sources of rows have in common."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from app.clients.pool import Pool
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding, Legs, Query, Scope
from app.index import lots
from app.index.context import ContextSource
from app.index.words import packed
from app.retrieval.terms import VERSION
from app.sources.code import CodeSource
from tests.fakes.filing import SPACE, bag
from tests.fakes.recollections import given
from tests.fakes.rows import CHUNK, chunk, chunked, insert

ANN = Scope(owner="ann")
EVERYBODY = Scope()


@pytest.fixture
async def source(pool: Pool) -> AsyncIterator[CodeSource]:
    """The simplest of them."""
    async with CodeSource(pool, SPACE, store="one") as opened:
        yield opened


async def search(
    source: ContextSource,
    text: str,
    scope: Scope = EVERYBODY,
    limit: int = 40,
) -> Legs:
    """By words and meaning."""
    reached = await source.reach(scope)
    return await reached.search(Query(text, scope, limit=limit), given(bag(text)))


def texts(legs: Legs) -> set[str]:
    """What was found."""
    return {passage.text for passage in legs.passages.values()}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("INSERT INTO public.code_index (chunk_text) VALUES ('sea two')", {"sea one", "sea two"}),
        ("UPDATE public.code_index SET chunk_text = 'sea changed'", {"sea changed"}),
        ("DELETE FROM public.code_index", set()),
        ("TRUNCATE public.code_index", set()),
    ],
    ids=["insert", "update", "delete", "truncate"],
)
async def test_another_tools_write_shows_in_the_next_search(
    pool: Pool, source: CodeSource, change: str, left: set[str]
) -> None:
    """Whoever makes it: other words, another standing."""
    await chunked(pool, Scope(), "THN", ["sea one"])
    assert texts(await search(source, "sea")) == {"sea one"}
    before = (await source.reach(Scope())).standing
    await pool.execute(change)
    legs = await search(source, "sea changed two")
    assert texts(legs) == left
    assert {legs.passages[hit.key].text for hit in legs.words} == left
    assert legs.stored == len(left)
    assert (await source.reach(Scope())).standing != before


async def test_the_legs_speak_of_each_others_passages(pool: Pool, source: CodeSource) -> None:
    """What words chose has its cosine though others are nearer, what meaning chose its words."""
    far, near = await insert(
        pool,
        CHUNK,
        chunk(Scope(), "THN", "sea sea", embedding=bag("lake")),
        chunk(Scope(), "THN", "a long text by the sea", embedding=bag("sea")),
    )
    legs = await search(source, "sea", limit=1)
    assert ([hit.key for hit in legs.words], [hit.key for hit in legs.meaning]) == ([far], [near])
    assert legs.passages[far].similarity == pytest.approx(0)
    assert legs.beside[near].score > 0


async def test_owners_share_what_is_the_tenants(pool: Pool, source: CodeSource) -> None:
    """Each sees that and his own; a tenant key what is shared."""
    for owner in ("", "ann", "ben"):
        await chunked(pool, Scope(owner=owner), "THN", [f"sea of {owner or 'all'}"])
    assert texts(await search(source, "sea", ANN)) == {"sea of all", "sea of ann"}
    assert texts(await search(source, "sea")) == {"sea of all"}


async def test_rows_whose_words_are_not_known_yet_are_found_by_meaning(
    pool: Pool, source: CodeSource
) -> None:
    """One that was written after the versions were read."""
    await chunked(pool, Scope(), "THN", ["lake"])
    reached = await source.reach(Scope())
    await (await source.reach(Scope())).search(Query("sea", Scope()), given(bag("sea")))
    await chunked(pool, Scope(), "THN", ["sea"])
    legs = await reached.search(Query("sea", Scope()), given(bag("sea")))
    assert texts(legs) == {"sea", "lake"}
    assert legs.words == ()


async def test_rows_that_say_nothing_are_left_out(pool: Pool, source: CodeSource) -> None:
    """White space is no passage."""
    await insert(pool, CHUNK, chunk(Scope(), "THN", " \n "), chunk(Scope(), "THN", "sea"))
    legs = await search(source, "sea")
    assert texts(legs) == {"sea"}
    assert len(legs.meaning) == 1


async def test_a_standing_names_all_that_a_result_depends_on(pool: Pool, source: CodeSource) -> None:
    """Store, analysis, asker, project, lots with their versions."""
    await chunked(pool, Scope(), "THN", ["sea"])
    reached = await source.reach(Scope(owner="ann", project="THN"))
    [(_, version)] = reached.versions
    assert json.loads(reached.standing) == [
        *("code", "one", VERSION, ["default", "ann", "THN"]),
        [["", "THN", version]],
    ]
    others = [Scope(), Scope(project="THN"), Scope(project="X"), ANN]
    assert len({(await source.reach(scope)).standing for scope in others}) == 4


async def test_texts_found_lately_are_counted_once(
    pool: Pool, source: CodeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A passage keeps its text object while its row stays as it is."""
    await chunked(pool, Scope(), "THN", ["sea"])
    [first], [again] = [await source.newest(Scope(), 1) for _ in range(2)]
    assert first.text is again.text
    await pool.execute("UPDATE public.code_index SET language = 'python'")
    [changed] = await source.newest(Scope(), 1)
    assert changed.text is not first.text


async def test_a_question_of_another_space_is_told(pool: Pool, source: CodeSource) -> None:
    """Not a wrong answer."""
    await chunked(pool, Scope(), "THN", ["sea"])
    reached = await source.reach(Scope())
    with pytest.raises(RetrievalError) as caught:
        await reached.search(Query("sea", Scope()), given(bag("sea", 8)))
    assert caught.value.reason == "embedding"


async def test_words_are_searched_while_the_embedding_is_made(pool: Pool, source: CodeSource) -> None:
    """They are loaded by then."""
    await chunked(pool, Scope(), "THN", ["sea"])
    made: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
    waiting: Awaitable[Embedding | None] = made
    asking = asyncio.ensure_future((await source.reach(Scope())).search(Query("sea", Scope()), waiting))
    async with asyncio.timeout(5):
        while not source._lots.parts:  # noqa: ASYNC110 - nobody would set an event
            await asyncio.sleep(0.01)
    made.set_result(bag("sea"))
    assert texts(await asking) == {"sea"}


async def test_without_words_in_time_meaning_answers(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partial, so that nobody keeps it; the words are made meanwhile, and there for the next search."""
    go_on = threading.Event()
    analysed = lots.analysed

    def held(*given: Any) -> dict[str, bytes]:
        go_on.wait(10)
        return analysed(*given)

    monkeypatch.setattr(lots, "analysed", held)
    [row] = await chunked(pool, Scope(), "THN", ["sea"])
    async with CodeSource(pool, SPACE, seconds=0.3) as source:
        try:
            legs = await search(source, "sea")
            assert (legs.words, [hit.key for hit in legs.meaning]) == ((), [row])
            assert (legs.partial, legs.stored) == ("timeout", 1)
            blind = await (await source.reach(Scope())).search(Query("sea", Scope()), given(None))
            assert (blind.passages, blind.partial) == ({}, "timeout")
        finally:
            go_on.set()
        async with asyncio.timeout(5):
            while not source._lots.parts:  # noqa: ASYNC110 - nobody would set an event
                await asyncio.sleep(0.01)
        legs = await search(source, "sea")
        assert ([hit.key for hit in legs.words], legs.partial) == ([row], "")


async def test_nothing_of_ours_is_needed_beside_the_rows(pool: Pool, source: CodeSource) -> None:
    """Words that were kept for another revision are not believed."""
    [row] = await chunked(pool, Scope(), "THN", ["sea"])
    await pool.execute("INSERT INTO ibid.project_words VALUES ('code', $1, '1', 1, $2)", row, packed("lake"))
    legs = await search(source, "sea")
    assert [hit.key for hit in legs.words] == [row]
