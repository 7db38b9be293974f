"""The nearest rows by pgvector; which vectors compare is tested with the sources."""

import pytest

from app.db.pool import Pool
from app.errors import RetrievalError
from app.retrieval.project_tables import CHUNK, CONVERSATION, Lot
from app.retrieval.retrievers.postgres import nearest
from app.types import Scope
from tests.fakes.filing import SPACE, bag
from tests.fakes.rows import chunk, chunked, insert


async def test_the_nearest_of_a_filter(pool: Pool) -> None:
    """Best first with exact cosines, ties by id; limited; nulls are the tenant's and shared."""
    near, far = await chunked(pool, Scope(), "THN", ["sea", "sea river"])
    await chunked(pool, Scope(owner="ann"), "THN", ["sea"])
    await chunked(pool, Scope(tenant="u"), "THN", ["sea"])
    await pool.execute("ALTER TABLE public.code_index ALTER owner DROP NOT NULL, ALTER tenant DROP NOT NULL")
    [nobodys] = await insert(pool, "public.code_index", chunk(Scope(), "X", "sea", owner=None, tenant=None))
    asked = bag("sea")
    found = await nearest(pool, SPACE, CHUNK, Lot("default", "", "THN"), asked, 9)
    assert [(key, round(score, 6)) for key, score in found] == [(near, 1.0), (far, round(0.5**0.5, 6))]
    assert await nearest(pool, SPACE, CHUNK, Lot("default", "", "THN"), asked, 1) == found[:1]
    [(key, _)] = await nearest(pool, SPACE, CHUNK, Lot("default", "", "X"), asked, 9)
    assert key == nobodys
    assert await nearest(pool, SPACE, CONVERSATION, Lot("default", "", "THN"), asked, 9) == []


async def test_only_retrieval_errors(pool: Pool) -> None:
    await pool.close()
    with pytest.raises(RetrievalError):
        await nearest(pool, SPACE, CHUNK, Lot("t", "", ""), bag("sea"), 1)
