"""Documents as a source: the laws of `ports.Source`, scope, labels, repairs, and faults."""

import asyncio
import threading
from collections.abc import Awaitable

import numpy as np
import pytest

from app.clients.chroma import Chroma, InThreads
from app.clients.collection import Client, VendorClient
from app.clients.pool import Pool
from app.clients.threads import Threads
from app.domain.document import Chunk, Part
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding, Legs, Query, Scope
from app.domain.space import Space
from app.index.place import Spot
from app.index.search import Search
from app.sources.documents import DocumentSource, open_documents
from tests.fakes.filing import SPACE, bag, chunks, file, insert, publish

OLDER = Space("older@32", "bag", 32, 0.0)
SESSION = Part("default", "", "s1")
SHARED = Part("default")
HERE = Scope(session_id="s1")
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea", "otters eat fish"]


def given(vector: Embedding | None) -> Awaitable[Embedding | None]:
    """An embedding that is there already."""
    found: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
    found.set_result(vector)
    return found


def asked(text: str, *, embedded: bool = True) -> Awaitable[Embedding | None]:
    """The query's embedding, or none."""
    return given(bag(text) if embedded else None)


async def search(source: DocumentSource, text: str, scope: Scope = HERE, **options: object) -> Legs:
    """Ask with the words of the text as its vector."""
    query = Query(text, scope, **options)  # type: ignore[arg-type]
    return await (await source.reach(scope)).search(query, asked(text))


async def test_a_document_is_found_by_both_legs_as_soon_as_it_is_ready(
    pool: Pool, source: DocumentSource
) -> None:
    """Read-your-writes: the first search after the write finds the passage, its similarity exact."""
    await search(source, "danube")  # so that the shelf is there, and empty
    document = await file(pool, source, SESSION, RIVERS)
    legs = await search(source, "danube black sea")
    assert legs.words[0].key == legs.meaning[0].key == f"{document}:1"
    assert legs.passages[f"{document}:1"].similarity == pytest.approx(legs.meaning[0].score)
    assert legs.stored == 3


async def test_a_passage_says_where_it_stands(pool: Pool, source: DocumentSource) -> None:
    """Label, text, tokens, title, page and address are those of the chunk."""
    document = await file(pool, source, SESSION, RIVERS, "rivers.pdf")
    passage = (await search(source, "rhine")).passages[f"{document}:2"]
    assert (passage.label, passage.text, passage.tokens) == ("rivers.pdf#2", RIVERS[1], 7)
    assert (passage.source, passage.title) == ("documents", "rivers.pdf")
    assert passage.fields == {
        "document": document,
        "filename": "rivers.pdf",
        "page": 2,
        "page_end": 2,
        "heading": "",
        "url": f"/api/documents/{document}/chunks/2?session_id=s1",
    }


async def test_legs_are_best_first_and_no_longer_than_asked(pool: Pool, source: DocumentSource) -> None:
    """At most `limit` hits a leg, their scores never rising, and every hit has its passage."""
    await file(pool, source, SESSION, [f"sea {'wave ' * n}" for n in range(12)])
    legs = await search(source, "sea wave", limit=5)
    for leg in (legs.words, legs.meaning):
        assert len(leg) == 5
        assert [hit.score for hit in leg] == sorted((hit.score for hit in leg), reverse=True)
        assert {hit.key for hit in leg} <= legs.passages.keys()


async def test_every_candidate_has_its_similarity(pool: Pool, source: DocumentSource) -> None:
    """One that words alone chose has its similarity, one that meaning alone chose its word view."""
    await file(pool, source, SESSION, ["rare", "common word", "common thing"])
    legs = await search(source, "common rare", limit=1)
    assert all(passage.similarity is not None for passage in legs.passages.values())
    assert legs.passages.keys() == {hit.key for hit in (*legs.words, *legs.beside.values(), *legs.meaning)}


async def test_without_an_embedding_words_alone_are_searched(pool: Pool, source: DocumentSource) -> None:
    """No vector: no meaning leg and no similarity, the word leg as ever."""
    document = await file(pool, source, SESSION, RIVERS)
    legs = await (await source.reach(HERE)).search(Query("rhine", HERE), asked("", embedded=False))
    assert [hit.key for hit in legs.words] == [f"{document}:2"]
    assert legs.meaning == ()
    assert legs.passages[f"{document}:2"].similarity is None


@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param(Part("default", "", "s2"), id="another session"),
        pytest.param(Part("default", "ann", "s1"), id="another owner's session of that id"),
        pytest.param(Part("other", "", "s1"), id="another tenant's session of that id"),
        pytest.param(Part("other"), id="another tenant's global"),
    ],
)
async def test_what_others_keep_changes_nothing(pool: Pool, source: DocumentSource, elsewhere: Part) -> None:
    """Non-interference: documents out of reach move no id, no order and no score."""
    await file(pool, source, SESSION, RIVERS)
    await file(pool, source, SHARED, ["a sea of sand"], "b.pdf")
    before = await search(source, "sea danube sand")
    await file(pool, source, elsewhere, [*RIVERS, "sea sea danube", "sand"], "c.pdf")
    assert await search(source, "sea danube sand") == before


async def test_a_scope_without_a_session_reaches_what_is_global(pool: Pool, source: DocumentSource) -> None:
    """Global documents alone."""
    await file(pool, source, SESSION, RIVERS)
    shared = await file(pool, source, SHARED, ["a sea of sand"])
    legs = await search(source, "sea", Scope())
    assert legs.passages.keys() == {f"{shared}:1"}


@pytest.mark.parametrize(
    ("session_id", "query"),
    [(None, ""), ("s1", "?session_id=s1"), ("a:b&c#d é", "?session_id=a%3Ab%26c%23d%20%C3%A9")],
)
async def test_an_address_names_the_session_that_sees_it(
    pool: Pool, source: DocumentSource, session_id: str | None, query: str
) -> None:
    """Quoted; also that of a global document, whose label depends on the session. Without one, none."""
    shared = await file(pool, source, SHARED, ["a sea of sand"])
    legs = await search(source, "sea", Scope(session_id=session_id))
    assert legs.passages[f"{shared}:1"].fields["url"] == f"/api/documents/{shared}/chunks/1{query}"


async def test_one_name_in_session_and_global_is_told_apart(pool: Pool, source: DocumentSource) -> None:
    """The session's document keeps its name, the global one shows as `name-2.pdf`."""
    shared = await file(pool, source, SHARED, RIVERS[:1], "report.pdf")
    own = await file(pool, source, SESSION, RIVERS[1:2], "report.pdf")
    legs = await search(source, "sea")
    assert legs.passages[f"{own}:1"].label == "report.pdf#1"
    assert legs.passages[f"{shared}:1"].label == "report-2.pdf#1"


async def test_nothing_stored_is_told(source: DocumentSource) -> None:
    """An empty reach is `stored` 0, not an error."""
    assert await search(source, "anything") == Legs("documents")


async def test_what_is_not_ready_is_not_found(pool: Pool, source: DocumentSource) -> None:
    """Indexed but still processing: invisible."""
    document = await insert(pool, SESSION, RIVERS)
    await source.put(SESSION, document, chunks(RIVERS), [bag(text) for text in RIVERS])
    assert (await search(source, "rhine")).stored == 0


async def test_a_removed_document_is_gone_at_once(pool: Pool, source: DocumentSource) -> None:
    """From the next search on, though its vectors and chunks are still to be purged."""
    gone = await file(pool, source, SESSION, RIVERS, "a.pdf")
    stays = await file(pool, source, SESSION, RIVERS[:1], "b.pdf")
    await search(source, "danube")
    await publish(pool, SESSION, gone, removed=True)
    legs = await search(source, "danube")
    assert legs.passages.keys() == {f"{stays}:1"}
    assert legs.stored == 1


async def test_texts_of_what_another_replica_removed_are_forgotten(
    pool: Pool, source: DocumentSource
) -> None:
    """From the next search of its part on: only one replica purges, all of them let go."""
    gone = await file(pool, source, SESSION, RIVERS, "a.pdf")
    await search(source, "danube")
    assert len(source._texts) == 3
    await publish(pool, SESSION, gone, removed=True)
    await search(source, "danube")
    assert len(source._texts) == 0


@pytest.mark.parametrize(
    ("text", "away"),
    [pytest.param("danube sea", False, id="short"), pytest.param("danube sea " * 2_000, True, id="long")],
)
async def test_a_long_message_leaves_the_loop(
    pool: Pool, source: DocumentSource, monkeypatch: pytest.MonkeyPatch, text: str, *, away: bool
) -> None:
    """However few the passages are: the word leg goes to a thread. What it saw of the hits is looked up."""
    await file(pool, source, SESSION, RIVERS)
    places: list[int] = []
    work = Search.words

    def noted(self: Search, text: str, limit: int) -> list[Spot]:
        places.append(threading.get_ident())
        return work(self, text, limit)

    monkeypatch.setattr(Search, "words", noted)
    await search(source, text)
    assert [place != threading.get_ident() for place in places] == [away]


async def test_a_search_after_changes_equals_one_from_scratch(
    pool: Pool, chroma: Chroma, source: DocumentSource
) -> None:
    """A shelf that followed every change answers as one loaded anew, to the last bit."""
    documents = []
    for n in range(6):
        documents.append(await file(pool, source, SESSION, [f"{text} {n}" for text in RIVERS], f"{n}.pdf"))
        await search(source, "sea")
    await publish(pool, SESSION, documents[2], removed=True)
    followed = await search(source, "danube sea fish 3")
    async with open_documents(pool, chroma, SPACE) as fresh:
        assert await search(fresh, "danube sea fish 3") == followed


async def test_putting_again_replaces(pool: Pool, source: DocumentSource, chroma: Chroma) -> None:
    """A job that is leased again leaves no vector of the first try behind."""
    document = await insert(pool, SESSION, RIVERS)
    await source.put(SESSION, document, chunks(RIVERS), [bag(text) for text in RIVERS])
    await source.put(SESSION, document, chunks(RIVERS[:1]), [bag(RIVERS[0])])
    assert await source._vectors.held(SESSION, document) == 1


async def test_removing_twice_is_no_error(pool: Pool, source: DocumentSource) -> None:
    """What is not there can be removed; vectors and postings are gone."""
    document = await file(pool, source, SESSION, RIVERS)
    for _ in range(2):
        await source.remove(SESSION, document)
    assert await source._vectors.held(SESSION, document) == 0
    assert await pool.fetchval("SELECT count(*) FROM ibid.document_words") == 0


async def test_ordinals_that_do_not_count_from_one_are_refused(source: DocumentSource) -> None:
    """A row's place is its ordinal: a gap would cite the wrong passage."""
    with pytest.raises(ValueError, match="count from 1"):
        await source.put(SESSION, "d", [Chunk(2, "x", 1, 1, "", 1)], [bag("x")])


async def test_vectors_that_chroma_lost_come_from_the_record(
    pool: Pool, source: DocumentSource, chroma: Chroma
) -> None:
    """The answer is the same, and Chroma is mended beside it."""
    document = await file(pool, source, SESSION, RIVERS)
    before = await search(source, "danube sea")
    await source._vectors.remove(SESSION, document)
    async with open_documents(pool, chroma, SPACE) as fresh:
        assert await search(fresh, "danube sea") == before
        await asyncio.gather(*fresh._stacks._tasks)
    assert await source._vectors.held(SESSION, document) == 3


async def test_rebuild_gives_chroma_what_it_lacks(pool: Pool, source: DocumentSource) -> None:
    """Only documents that are not whole are written again; a second time there is nothing to do."""
    lost = await file(pool, source, SESSION, RIVERS)
    await file(pool, source, SHARED, RIVERS)
    await source._vectors.remove(SESSION, lost)
    assert [await source.rebuild(), await source.rebuild()] == [1, 0]
    assert await source._vectors.held(SESSION, lost) == 3


async def test_rebuild_drops_what_another_space_left(
    pool: Pool, chroma: Chroma, source: DocumentSource
) -> None:
    """After a move no vector of the old space stays; what is not ours is not touched."""
    older = DocumentSource(pool, chroma, OLDER)
    await file(pool, older, SESSION, RIVERS, "older.pdf")
    document = await file(pool, source, SESSION, RIVERS)
    await chroma.upsert("others", ["x"], np.ones((1, 4), np.float32), {"a": "b"})
    await source.rebuild()
    names = await chroma.names()
    assert "others" in names
    assert not set(older._vectors._names.values()) & set(names)
    assert await source._vectors.held(SESSION, document) == 3


@pytest.mark.parametrize("current", [pytest.param(True, id="moved"), pytest.param(False, id="not yet")])
@pytest.mark.parametrize("embedded", [pytest.param(True, id="embedded"), pytest.param(False, id="server")])
async def test_opening_drops_other_spaces_only_when_ours_is_current_and_chroma_our_own(
    pool: Pool, chroma: Chroma, *, current: bool, embedded: bool
) -> None:
    """A move under way still needs the old one, and so may a replica that shares the server."""
    older = DocumentSource(pool, chroma, OLDER)
    await file(pool, older, SESSION, RIVERS)
    values = "INSERT INTO ibid.space (name, model, dim, floor, current) VALUES ($1, 'bag', 32, 0, $2)"
    await pool.execute(values, SPACE.name, current)
    own = Chroma(chroma._vendor, embedded=embedded)
    async with open_documents(pool, own, SPACE):
        left = older._vectors._names[False] in await chroma.names()
    assert left != (current and embedded)


async def test_other_spaces_that_cannot_be_dropped_do_not_stop_the_start(
    pool: Pool, source: DocumentSource
) -> None:
    """It is tried again at the next."""
    values = "INSERT INTO ibid.space (name, model, dim, floor, current) VALUES ($1, 'bag', 32, 0, true)"
    await pool.execute(values, SPACE.name)
    down = Chroma(broken(), embedded=True)
    async with open_documents(pool, down, SPACE) as opened:
        assert (await search(opened, "rhine")).stored == 0


async def test_postings_of_another_analysis_are_made_anew(
    pool: Pool, chroma: Chroma, source: DocumentSource
) -> None:
    """Missing, old or damaged postings: the words are found all the same, and kept for the next start."""
    document = await file(pool, source, SESSION, RIVERS)
    await pool.execute("UPDATE ibid.document_words SET analysis = 0, terms = 'IBW1'")
    async with open_documents(pool, chroma, SPACE) as fresh:
        legs = await search(fresh, "otters")
    assert [hit.key for hit in legs.words] == [f"{document}:3"]
    assert await pool.fetchval("SELECT analysis FROM ibid.document_words") > 0


async def test_a_part_too_large_for_memory_is_asked_of_chroma(
    pool: Pool, chroma: Chroma, source: DocumentSource
) -> None:
    """Beyond the limit the same passages come back with the same exact similarities, the dead left out."""
    texts = [f"{text} {n}" for n in range(20) for text in RIVERS]
    for n in range(2):
        gone = await file(pool, source, SESSION, texts, f"gone{n}.pdf")
        await publish(pool, SESSION, gone, removed=True)
    await file(pool, source, SESSION, texts, "stays.pdf")
    await file(pool, source, SHARED, ["the rhine 3"], "shared.pdf")
    exact = await search(source, "the rhine 3", limit=5)
    large = DocumentSource(pool, chroma, SPACE, exact=10)
    near = await search(large, "the rhine 3", limit=5)
    await large.aclose()
    assert near == exact


async def test_candidates_of_words_in_a_large_part_have_their_similarity_even_if_chroma_lost_it(
    pool: Pool, chroma: Chroma, source: DocumentSource
) -> None:
    """The record's own vectors stand in for those that Chroma does not have."""
    document = await file(pool, source, SESSION, RIVERS)
    before = await search(source, "otters")
    await source._vectors.remove(SESSION, document)
    large = DocumentSource(pool, chroma, SPACE, exact=0)
    legs = await search(large, "otters")
    await large.aclose()
    assert legs.passages[f"{document}:3"] == before.passages[f"{document}:3"]


async def test_postgres_down_is_a_retrieval_error(pool: Pool, source: DocumentSource) -> None:
    """Never the vendor's error: `unavailable`."""
    await pool.close()
    with pytest.raises(RetrievalError) as caught:
        await search(source, "rhine")
    assert caught.value.reason == "unavailable"


async def test_a_query_vector_of_another_space_is_a_retrieval_error(
    pool: Pool, source: DocumentSource
) -> None:
    """Vectors of two spaces are never compared."""
    await file(pool, source, SESSION, RIVERS)
    with pytest.raises(RetrievalError) as caught:
        await (await source.reach(HERE)).search(Query("rhine", HERE), given(bag("rhine", dim=8)))
    assert caught.value.reason == "embedding"


async def test_chroma_down_costs_nothing_while_the_record_answers(pool: Pool, source: DocumentSource) -> None:
    """Vectors come from Postgres: the same answer."""
    await file(pool, source, SESSION, RIVERS)
    before = await search(source, "rhine")
    async with open_documents(pool, Chroma(broken()), SPACE) as other:
        assert await search(other, "rhine") == before


def broken() -> InThreads:
    """A client whose server is not there."""

    def connect() -> VendorClient:
        raise ValueError("Could not connect to a Chroma server")

    return InThreads(Client(connect), Threads("broken"))


async def test_cancellation_passes_through(pool: Pool, source: DocumentSource) -> None:
    """A search that waits for its embedding ends when it is cancelled."""
    await file(pool, source, SESSION, RIVERS)
    never: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
    reached = await source.reach(HERE)
    task = asyncio.create_task(reached.search(Query("rhine", HERE), never))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_many_at_once_load_a_part_once(pool: Pool, source: DocumentSource) -> None:
    """Concurrent searches of a cold part agree, and none of them loads what another loads already."""
    await file(pool, source, SESSION, RIVERS)
    found = await asyncio.gather(*(search(source, "rhine sea") for _ in range(8)))
    assert all(legs == found[0] for legs in found)


async def test_the_floor_of_the_space_is_taken_out(
    pool: Pool, chroma: Chroma, source: DocumentSource
) -> None:
    """Similarities are above the floor, not raw cosines."""
    document = await file(pool, source, SESSION, RIVERS)
    raw = (await search(source, "rhine sea")).passages[f"{document}:2"].similarity or 0
    async with open_documents(pool, chroma, Space(SPACE.name, "bag", 32, 0.5)) as raised:
        shown = (await search(raised, "rhine sea")).passages[f"{document}:2"].similarity
    assert shown == pytest.approx((raw - 0.5) / 0.5)


async def standing(source: DocumentSource, scope: Scope) -> str:
    """How the source stands for a scope."""
    return (await source.reach(scope)).standing


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Scope(session_id="s2"), id="another session"),
        pytest.param(Scope(owner="ann", session_id="s1"), id="another owner"),
        pytest.param(Scope("other", session_id="s1"), id="another tenant"),
        pytest.param(Scope(), id="no session"),
        pytest.param(Scope('default", "", "s1', session_id="s1"), id="a name made to look like ours"),
    ],
)
async def test_scopes_that_see_different_things_never_stand_alike(
    source: DocumentSource, other: Scope
) -> None:
    """Not even where nothing was ever stored."""
    assert await standing(source, HERE) != await standing(source, other)


async def test_user_thread_and_project_do_not_count(source: DocumentSource) -> None:
    """Documents are not filtered by them."""
    same = Scope(user_id="ann", session_id="s1", thread_id="t", project="p")
    assert await standing(source, HERE) == await standing(source, same)


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        pytest.param(SESSION, True, id="its session"),
        pytest.param(SHARED, True, id="global"),
        pytest.param(Part("default", "", "s2"), False, id="another session"),
        pytest.param(Part("other"), False, id="another tenant"),
    ],
)
@pytest.mark.parametrize("removed", [False, True], ids=["upload", "delete"])
async def test_a_write_in_reach_changes_the_standing(
    pool: Pool, source: DocumentSource, part: Part, *, changes: bool, removed: bool
) -> None:
    """The moment it is committed; a write out of reach does not."""
    document = await file(pool, source, part, RIVERS)
    before = await standing(source, HERE)
    if removed:
        await publish(pool, part, document, removed=True)
    else:
        await file(pool, source, part, RIVERS, "b.pdf")
    assert (await standing(source, HERE) != before) is changes


async def test_two_databases_never_stand_alike(pool: Pool, chroma: Chroma) -> None:
    """They may share a cache: a folder that was made anew, a test beside the real thing."""
    async with open_documents(pool, chroma, SPACE) as one:
        before = await standing(one, HERE)
    await pool.execute("UPDATE ibid.tenant SET created_at = created_at + interval '1 microsecond'")
    async with open_documents(pool, chroma, SPACE) as other:
        assert await standing(other, HERE) != before


async def test_what_is_loaded_late_is_loaded_as_it_is_now(pool: Pool, source: DocumentSource) -> None:
    """Newer than its standing says is fine: nobody will stand like that again."""
    await file(pool, source, SESSION, RIVERS)
    reached = await source.reach(HERE)
    await file(pool, source, SESSION, RIVERS, "b.pdf")
    assert (await reached.search(Query("rhine", HERE), asked("rhine"))).stored == 6
    assert reached.standing != await standing(source, HERE)
