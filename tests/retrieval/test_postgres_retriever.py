"""The nearest rows by pgvector; which vectors compare is tested with the sources."""

import pytest

from app.clients.pool import Pool
from app.domain.errors import RetrievalError
from app.domain.passage import Scope
from app.retrieval.retrievers import Filter
from app.retrieval.retrievers.postgres import PostgresRetriever
from tests.fakes.filing import SPACE, bag
from tests.fakes.rows import chunk, chunked, insert


async def test_the_nearest_of_a_filter(pool: Pool) -> None:
    """Best first with exact cosines, ties by id; limited; nulls are the tenant's and shared."""
    near, far = await chunked(pool, Scope(), "THN", ["sea", "sea river"])
    await chunked(pool, Scope(owner="ann"), "THN", ["sea"])
    await chunked(pool, Scope(tenant="u"), "THN", ["sea"])
    await pool.execute("ALTER TABLE public.code_index ALTER owner DROP NOT NULL, ALTER tenant DROP NOT NULL")
    [nobodys] = await insert(pool, "public.code_index", chunk(Scope(), "X", "sea", owner=None, tenant=None))
    retriever, asked = PostgresRetriever(pool, SPACE), bag("sea")
    mine = {"tenant": "default", "owner": ""}
    found = await retriever.nearest("code", asked, Filter({**mine, "project": "THN"}), 9)
    assert [(each.id, round(each.score, 6)) for each in found] == [(near, 1.0), (far, round(0.5**0.5, 6))]
    found = await retriever.nearest("code", asked, Filter(mine), 2)
    assert [each.id for each in found] == sorted([near, nobodys])
    found = await retriever.nearest("code", asked, Filter({"project": "X"}, not_equal={"owner": ["ann"]}), 9)
    assert [each.id for each in found] == [nobodys]
    either = Filter({"tenant": "default", "project": "THN"}, equal_or_missing={"owner": "ann"})
    assert len(await retriever.nearest("code", asked, either, 9)) == 1
    assert await retriever.nearest("conversations", asked, Filter(mine), 9) == []


async def test_only_retrieval_errors(pool: Pool) -> None:
    """Nothing of the vendor's."""
    await pool.close()
    with pytest.raises(RetrievalError):
        await PostgresRetriever(pool, SPACE).nearest("code", bag("sea"), Filter({"tenant": "t"}), 1)
