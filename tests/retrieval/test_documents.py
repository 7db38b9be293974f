"""Documents as a source: the laws of `ports.Source`, scope, labels, repairs, and faults."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

import numpy as np
import pytest

from app.db.documents import DocumentPart
from app.db.pool import Pool
from app.errors import RetrievalError
from app.retrieval.copies import ChromaCopy
from app.retrieval.documents import DocumentSource
from app.retrieval.retrievers.chroma import Chroma, ChromaServer, collection
from app.text.terms import encode_terms
from app.types import Embedding, Legs, Query, Scope, Space
from tests.fakes.filing import BUMP, SPACE, bag, documents, file, insert, publish

SESSION = DocumentPart("default", "", "s1")
SHARED = DocumentPart("default")
HERE = Scope(session_id="s1")
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea", "otters eat fish"]


def given(vector: Embedding | None) -> Awaitable[Embedding | None]:
    found: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
    found.set_result(vector)
    return found


def asked(text: str, *, embedded: bool = True) -> Awaitable[Embedding | None]:
    return given(bag(text) if embedded else None)


async def search(source: DocumentSource, text: str, scope: Scope = HERE, **options: object) -> Legs:
    """Ask with the words of the text as its vector."""
    query = Query(text, scope, **options)  # type: ignore[arg-type]
    return await (await source.reach(scope)).search(query, asked(text))


async def test_a_passage_says_where_it_stands(pool: Pool, source: DocumentSource) -> None:
    """Label, text, tokens, title, page and address are those of the chunk."""
    document = await file(pool, SESSION, RIVERS, "rivers.pdf")
    passage = (await search(source, "rhine")).passages[f"{document}:2"]
    assert (passage.label, passage.text, passage.tokens) == ("rivers.pdf#2", RIVERS[1], 7)
    assert (passage.source, passage.title) == ("documents", "rivers.pdf")
    assert passage.fields == {
        "document": document,
        "page": 2,
        "page_end": 2,
        "heading": "",
        "part": "",
        "page_label": "",
        "url": f"/api/documents/{document}/chunks/2?session_id=s1",
    }


async def test_postgres_down_is_a_retrieval_error(pool: Pool, source: DocumentSource) -> None:
    await pool.close()
    with pytest.raises(RetrievalError) as caught:
        await search(source, "rhine")
    assert caught.value.reason == "unavailable"


async def test_a_query_vector_of_another_space_is_a_retrieval_error(
    pool: Pool, source: DocumentSource
) -> None:
    """Vectors of two spaces are never compared."""
    await file(pool, SESSION, RIVERS)
    with pytest.raises(RetrievalError) as caught:
        await (await source.reach(HERE)).search(Query("rhine", HERE), given(bag("rhine", dim=8)))
    assert caught.value.reason == "embedding"


async def standing(source: DocumentSource, scope: Scope) -> str:
    """How the source stands for a scope."""
    return (await source.reach(scope)).standing


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        pytest.param(SESSION, True, id="its session"),
        pytest.param(SHARED, True, id="global"),
        pytest.param(DocumentPart("default", "", "s2"), False, id="another session"),
        pytest.param(DocumentPart("other"), False, id="another tenant"),
    ],
)
@pytest.mark.parametrize("removed", [False, True], ids=["upload", "delete"])
async def test_a_write_in_reach_changes_the_standing(
    pool: Pool, source: DocumentSource, part: DocumentPart, *, changes: bool, removed: bool
) -> None:
    """The moment it is committed; a write out of reach does not."""
    document = await file(pool, part, RIVERS)
    before = await standing(source, HERE)
    if removed:
        await publish(pool, part, document, removed=True)
    else:
        await file(pool, part, RIVERS, "b.pdf")
    assert (await standing(source, HERE) != before) is changes


async def test_what_is_not_ready_is_not_found(pool: Pool, source: DocumentSource) -> None:
    """In the record but still processing: invisible."""
    await insert(pool, SESSION, RIVERS)
    await pool.execute(BUMP, SESSION.tenant, SESSION.owner, SESSION.session_id)
    assert (await search(source, "rhine")).stored == 0


async def test_a_document_is_found_by_its_names_too(pool: Pool, source: DocumentSource) -> None:
    """File name, title and heading count as words of every chunk, also where they are analysed late."""
    document = await insert(pool, SESSION, ["sales rose", "costs fell"], "r-2022.pdf")
    await pool.execute("UPDATE ibid.document SET title = 'Annual report' WHERE id = $1", document)
    await pool.execute("UPDATE ibid.chunk SET heading = 'Results', terms = NULL WHERE ordinal = 1")
    await pool.execute("UPDATE ibid.chunk SET terms = NULL")
    await publish(pool, SESSION, document)
    found = {word: len((await search(source, word)).words) for word in ("2022", "annual", "results")}
    assert found == {"2022": 2, "annual": 2, "results": 1}


@pytest.mark.parametrize("terms", [None, b"", b"IBW1", encode_terms("otters")[:4] + b"\0" * 4], ids=repr)
async def test_terms_of_another_analysis_are_made_anew(
    pool: Pool, source: DocumentSource, terms: bytes | None
) -> None:
    """Missing, old or damaged: the words are found all the same, and kept for the next start."""
    document = await file(pool, SESSION, RIVERS)
    before = await pool.fetch("SELECT terms FROM ibid.chunk ORDER BY ordinal")
    if terms and terms.startswith(b"IT"):
        terms = b"IT\0\0" + terms[4:]
    await pool.execute("UPDATE ibid.chunk SET terms = $1 WHERE ordinal > 1", terms)
    legs = await search(source, "otters")
    assert [hit.key for hit in legs.words] == [f"{document}:3"]
    assert await pool.fetch("SELECT terms FROM ibid.chunk ORDER BY ordinal") == before


async def test_a_chunk_without_a_vector_of_the_space_is_found_by_words(
    pool: Pool, source: DocumentSource
) -> None:
    """It takes no part in dense retrieval, and its similarity is not known."""
    document = await insert(pool, SESSION, RIVERS)
    await pool.execute("UPDATE ibid.chunk SET space = 'other@8' WHERE ordinal = 3")
    await publish(pool, SESSION, document)
    legs = await search(source, "otters fish")
    assert [hit.key for hit in legs.words] == [f"{document}:3"]
    assert {hit.key for hit in legs.meaning} == {f"{document}:1", f"{document}:2"}
    assert legs.passages[f"{document}:3"].similarity is None


async def test_labels_of_many_documents_are_told_apart(pool: Pool, source: DocumentSource) -> None:
    """Of three names that look alike the session's stays as it is; others in reach keep theirs."""
    shared = [await file(pool, SHARED, ["sea"], name) for name in ("Report.pdf", "report-2.pdf", "c.pdf")]
    own = await file(pool, SESSION, ["sea"], "report.pdf")
    legs = await search(source, "sea")
    labels = {key.partition(":")[0]: passage.label for key, passage in legs.passages.items()}
    assert labels == {
        own: "report.pdf#1",
        shared[0]: "Report-3.pdf#1",
        shared[1]: "report-2.pdf#1",
        shared[2]: "c.pdf#1",
    }


async def test_a_part_too_large_for_memory_is_asked_of_chroma(
    pool: Pool, chroma: Chroma, vectors: ChromaCopy, source: DocumentSource
) -> None:
    """The same passages come back with the same exact similarities; removed ones, which Chroma still has,
    are left out however many they are."""
    texts = [f"{text} {n} {7 * n} {n * n} and {n**3}" for n in range(20) for text in RIVERS]
    for n in range(2):
        gone = await file(pool, SESSION, texts, f"gone{n}.pdf", vectors)
        await publish(pool, SESSION, gone, removed=True)
    await file(pool, SESSION, texts, "stays.pdf", vectors)
    await file(pool, SHARED, ["the rhine 3"], "shared.pdf", vectors)
    vector = np.random.default_rng(1).normal(size=32).astype("<f4")  # nothing is equally near to it
    vector /= np.linalg.norm(vector)
    found = [
        await (await each.reach(HERE)).search(Query("rhine 9", HERE, limit=5), given(vector.tobytes()))
        for each in (source, documents(pool, chroma, exact_mb=0))
    ]
    assert len(found[0].meaning) == 5
    assert not found[0].engine
    assert replace(found[0], engine=True) == found[1]


async def test_what_chroma_has_lost_keeps_its_similarity(
    pool: Pool, chroma: Chroma, vectors: ChromaCopy, source: DocumentSource
) -> None:
    """Candidates of lexical retrieval are scored with the record's vectors."""
    document = await file(pool, SESSION, RIVERS, vectors=vectors)
    before = await search(source, "otters")
    await chroma.delete(collection(SPACE.name, is_global=False), {"document": document})
    legs = await search(documents(pool, chroma, exact_mb=0), "otters")
    assert legs.passages[f"{document}:3"] == before.passages[f"{document}:3"]


async def test_chroma_down_costs_nothing_while_vectors_are_in_memory(
    pool: Pool, chroma: Chroma, source: DocumentSource
) -> None:
    """They come from Postgres; larger parts are found by their words, and it is said so."""
    await file(pool, SESSION, RIVERS)
    await pool.execute("DELETE FROM ibid.outbox")  # Chroma took them when it was there
    before = await search(source, "rhine")
    down = ChromaServer("http://127.0.0.1:9")
    assert await search(documents(pool, down), "rhine") == before
    large = await search(documents(pool, down, exact_mb=0), "rhine")
    assert (large.words, large.partial) == (before.words, "unavailable")
    assert large.passages == {hit.key: before.passages[hit.key] for hit in before.words}
    await down.close()


async def test_the_floor_of_the_space_is_taken_out(
    pool: Pool, chroma: Chroma, source: DocumentSource
) -> None:
    """Similarities are above the floor, not raw cosines."""
    document = await file(pool, SESSION, RIVERS)
    raw = (await search(source, "rhine sea")).passages[f"{document}:2"].similarity or 0
    raised = documents(pool, chroma, Space(SPACE.name, "bag", 32, 0.5))
    shown = (await search(raised, "rhine sea")).passages[f"{document}:2"].similarity
    assert shown == pytest.approx((raw - 0.5) / 0.5)
