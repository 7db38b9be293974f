"""Words of rows in memory."""

import asyncio
from collections.abc import AsyncIterator, Collection

import pytest

from app.clients.pool import Pool
from app.domain.errors import RetrievalError
from app.domain.passage import Scope
from app.index.lots import Lot, Lots, Rows, row_of
from app.index.search import Search
from app.index.table import CHUNK, rows_of
from tests.fakes.rows import chunk, chunked, insert

THN = Lot("default", "", "THN")
EVERYBODY = Scope()
WORDS = "SELECT id FROM ibid.project_words ORDER BY id"


@pytest.fixture
async def lots(pool: Pool) -> AsyncIterator[Lots]:
    """Of code."""
    opened = Lots(pool, CHUNK)
    yield opened
    await opened.aclose()


async def now(lots: Lots, scope: Scope = EVERYBODY) -> dict[str, Rows]:
    """Each lot in reach, by project, as it stands."""
    versions = await lots.versions(scope.tenant, rows_of(scope, None))
    return {lot.project: await lots.at(lot, version) for lot, version in versions}


def found(shelf: Rows, text: str) -> list[str]:
    """Ids of the rows that hold a word."""
    search = Search([shelf])
    return sorted(row_of(search.place(spot)[0]) for spot in search.words(text, 40))


async def test_words_of_other_tools_rows_are_made_and_kept(pool: Pool, lots: Lots) -> None:
    """The next process finds them."""
    ids = await chunked(pool, Scope(), "THN", ["river", "sea"])
    assert found((await now(lots))["THN"], "sea") == [ids[1]]
    assert [row["id"] for row in await pool.fetch(WORDS)] == sorted(ids)


@pytest.mark.parametrize(
    ("damage", "again"),
    [("analysis = 0", True), ("terms = 'x'", True), ("seen = '1'", True), ("kind = 'code'", False)],
    ids=["another analysis", "damaged", "another revision", "as they are"],
)
async def test_words_that_do_not_fit_are_made_anew(
    pool: Pool, lots: Lots, damage: str, *, again: bool
) -> None:
    """Never a silent gap; what fits is read as it is stored."""
    ids = await chunked(pool, Scope(), "THN", ["sea"])
    await now(lots)
    await pool.execute("UPDATE ibid.project_words SET terms = terms || ''::bytea")
    before = await pool.fetchval("SELECT xmin::text FROM ibid.project_words")
    await pool.execute(f"UPDATE ibid.project_words SET {damage} WHERE $1", again)  # noqa: S608 - the test's own
    assert found((await now(Lots(pool, CHUNK)))["THN"], "sea") == ids
    assert (await pool.fetchval("SELECT xmin::text FROM ibid.project_words") != before) is again


async def test_only_what_is_new_is_read(pool: Pool, lots: Lots, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write of one row loads one row; an update makes another of it; a removal drops it, words too."""
    ids = await chunked(pool, Scope(), "THN", ["river", "sea"])
    await now(lots)
    read: list[int] = []
    stored = Lots._stored

    async def counted(self: Lots, names: list[str]) -> dict[str, bytes]:
        read.append(len(names))
        return await stored(self, names)

    monkeypatch.setattr(Lots, "_stored", counted)
    gone: list[Collection[str]] = []
    lots.gone = gone.append
    await pool.execute("UPDATE public.code_index SET chunk_text = 'lake' WHERE id = $1::uuid", ids[0])
    shelf = (await now(lots))["THN"]
    assert (found(shelf, "lake"), found(shelf, "river"), shelf.size) == ([ids[0]], [], 2)
    await pool.execute("DELETE FROM public.code_index WHERE id = $1::uuid", ids[1])
    shelf = (await now(lots))["THN"]
    assert (found(shelf, "sea"), shelf.size, read) == ([], 1, [1])
    while lots._tasks:
        await next(iter(lots._tasks))
    assert gone == [[ids[1]]]
    assert [row["id"] for row in await pool.fetch(WORDS)] == [ids[0]]


async def test_a_row_that_moves_takes_its_words_along(pool: Pool, lots: Lots) -> None:
    """To another project: gone here, there at once, and its words stay kept."""
    ids = await chunked(pool, Scope(), "THN", ["sea"])
    await now(lots)
    await pool.execute("UPDATE public.code_index SET project = 'X'")
    shelves = await now(lots)
    assert [found(shelves[name], "sea") for name in ("THN", "X")] == [[], ids]
    while lots._tasks:
        await next(iter(lots._tasks))
    assert [row["id"] for row in await pool.fetch(WORDS)] == ids


async def test_a_small_lot_is_ready_before_large_ones(
    pool: Pool, lots: Lots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though five of those are being analysed, of whatever tenant: it waits for one turn of theirs."""
    monkeypatch.setattr("app.index.lots.ANEW", 1)
    for name in "abcde":
        await chunked(pool, Scope(), name, [f"sea {n}" for n in range(10)])
    versions = dict(await lots.versions("default", rows_of(Scope(), None)))
    large = [asyncio.create_task(lots.at(*each)) for each in versions.items()]
    while not await pool.fetch(WORDS):  # noqa: ASYNC110 - nobody would set an event
        await asyncio.sleep(0.001)
    before = len(await pool.fetch(WORDS))
    await chunked(pool, Scope(tenant="u"), "small", ["sea"])
    async with asyncio.timeout(5):
        assert (await now(lots, Scope(tenant="u")))["small"].size == 1
    assert len(await pool.fetch(WORDS)) - before < 20
    assert {shelf.size for shelf in await asyncio.gather(*large)} == {10}


async def test_truncate_empties_every_lot(pool: Pool, lots: Lots) -> None:
    """Though no row of it was named."""
    await insert(pool, CHUNK.name, chunk(Scope(), "THN", "sea"), chunk(Scope(), "X", "sea"))
    assert {shelf.size for shelf in (await now(lots)).values()} == {1}
    await pool.execute("TRUNCATE public.code_index")
    assert {shelf.size for shelf in (await now(lots)).values()} == {0}


async def test_many_rows_are_one_block(pool: Pool, lots: Lots) -> None:
    """Not a block a row: a query looks at few."""
    await chunked(pool, Scope(), "THN", [f"sea {n}" for n in range(300)])
    shelf = (await now(lots))["THN"]
    assert (len(shelf.blocks), shelf.size, len(shelf.documents)) == (1, 300, 300)


async def test_a_database_that_only_reads_does_without_keeping(pool: Pool, lots: Lots) -> None:
    """Words are made in memory, again in every process."""
    ids = await chunked(pool, Scope(), "THN", ["sea"])
    await pool.execute("REVOKE INSERT ON ibid.project_words FROM CURRENT_USER")
    assert found((await now(lots))["THN"], "sea") == ids
    assert await pool.fetch(WORDS) == []


async def test_a_server_that_is_gone_is_told(pool: Pool, lots: Lots) -> None:
    """As what an answer can do without."""
    await chunked(pool, Scope(), "THN", ["sea"])
    await pool.close()
    with pytest.raises(RetrievalError):
        await lots.at(THN, 1)
