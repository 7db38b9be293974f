"""What the index reads from Postgres, each part its own."""

import pytest

from app.clients.pool import Pool
from app.domain.document import Part
from app.domain.errors import RetrievalError, Unavailable
from app.index.record import Names, Record
from app.retrieval.terms import VERSION
from tests.fakes.filing import SPACE, bag, insert, publish

HERE, SHARED = Part("t", "ann", "s"), Part("t")


@pytest.fixture
def record(pool: Pool) -> Record:
    """On this test's database."""
    return Record(pool)


async def test_versions_come_in_the_order_asked(pool: Pool, record: Record) -> None:
    """One statement for all parts; 0 for one that never held anything."""
    for _ in range(2):
        await publish(pool, SHARED, "none")
    await publish(pool, HERE, "none")
    assert await record.versions([HERE, Part("t", "bob", "s"), SHARED]) == [1, 0, 2]


async def test_a_list_is_of_one_part_and_ready(pool: Pool, record: Record) -> None:
    """By id, so by time; nothing that is processing, removed or elsewhere."""
    first, second, gone = [await insert(pool, HERE, ["x", "y"], f"{n}.pdf") for n in range(3)]
    for document in (second, first, gone):
        await publish(pool, HERE, document)
    await publish(pool, HERE, gone, removed=True)
    await insert(pool, HERE, ["x"], "processing.pdf")
    await publish(pool, SHARED, await insert(pool, SHARED, ["x"]))
    listed = await record.listed(HERE)
    assert list(listed) == [first, second]
    assert (listed[first].name, listed[first].chunks) == ("0.pdf", 2)


async def test_postings_are_kept_for_documents_that_are_there(pool: Pool, record: Record) -> None:
    """Again replaces; a document that is gone meanwhile is no error."""
    document = await insert(pool, HERE, ["x"])
    for terms in (b"old", b"new"):
        await record.keep_words(document, terms)
        await record.keep_words("gone", terms)
    assert await record.words([document, "gone"]) == {document: b"new"}


async def test_postings_of_another_analysis_are_left_out(pool: Pool, record: Record) -> None:
    """They would not meet today's queries."""
    document = await insert(pool, HERE, ["x"])
    await record.keep_words(document, b"old")
    await pool.execute("UPDATE ibid.document_words SET analysis = $1", VERSION - 1)
    assert await record.words([document]) == {}


async def test_vectors_of_another_space_are_left_out(pool: Pool, record: Record) -> None:
    """Vectors of two spaces are never compared."""
    document = await insert(pool, HERE, ["sea", "sand"])
    place = (document, 2)
    assert (await record.vectors(document, SPACE.name))[place].tobytes() == bag("sand")
    assert (await record.some_vectors([place], SPACE.name))[place].tobytes() == bag("sand")
    assert await record.vectors(document, "other@32") == {}
    assert await record.some_vectors([place], "other@32") == {}


async def test_passages_that_are_gone_are_left_out(pool: Pool, record: Record) -> None:
    """Purged between the search and its texts."""
    document = await insert(pool, HERE, ["sea"])
    rows = await record.passages([(document, 1), (document, 2), ("gone", 1)])
    assert {place: row.text for place, row in rows.items()} == {(document, 1): "sea"}


async def test_a_space_is_current_only_once_it_is_said_to_be(pool: Pool, record: Record) -> None:
    """One that is being moved to is not, nor one that nobody has heard of."""
    values = "INSERT INTO ibid.space (name, model, dim, floor, current) VALUES ($1, 'bag', 32, 0, $2)"
    await pool.execute(values, "now@32", True)
    await pool.execute(values, "next@32", False)
    assert [await record.is_current(name) for name in ("now@32", "next@32", "none@32")] == [
        True,
        False,
        False,
    ]


async def test_names_of_a_document_that_is_gone_are_empty(pool: Pool, record: Record) -> None:
    """Its upload was removed while it was read."""
    document = await insert(pool, HERE, ["x"], "r.pdf")
    assert await record.names(document) == Names("r.pdf", "")
    assert await record.names("gone") == Names("", "")


async def test_ready_documents_come_in_pages(pool: Pool, record: Record) -> None:
    """Of all parts, after an id."""
    documents = [await insert(pool, part, ["x"]) for part in (HERE, SHARED)]
    for part, document in zip((HERE, SHARED), documents, strict=True):
        await publish(pool, part, document)
    page = await record.ready("")
    assert [(part, item.id) for part, item in page] == [(HERE, documents[0]), (SHARED, documents[1])]
    assert await record.ready(documents[1]) == []


async def test_postgres_down_is_ours(pool: Pool, record: Record) -> None:
    """Reads end in `degraded`, writes are refused."""
    await pool.close()
    with pytest.raises(RetrievalError):
        await record.versions([HERE])
    with pytest.raises(Unavailable):
        await record.keep_words("d", b"")
