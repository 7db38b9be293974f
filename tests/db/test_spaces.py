"""Embedding spaces."""

from pathlib import Path

import pytest

from app.db.corpus import Given
from app.db.memories import Draft
from app.db.pool import Pool
from app.db.vectors import SpaceStore
from app.errors import Missing
from app.types import Space
from tests.db import test_corpus
from tests.db.test_memories import written
from tests.fakes.uploads import ALICE, SPACE, ready, upload

OTHER = Space("other@4", "other", 4, 0.5)


async def test_first_there_is_none(pool: Pool) -> None:
    """A fresh service may choose."""
    assert await SpaceStore(pool).current() is None


async def test_the_current_one_is_one(pool: Pool) -> None:
    """The swap is one step."""
    store = SpaceStore(pool)
    for space in (SPACE, OTHER):
        await store.keep(space)
        await store.make_current(space.name)
    assert await store.current() == OTHER
    assert await pool.fetchval("SELECT count(*) FROM ibid.space WHERE current") == 1


async def test_a_floor_once_measured_stays(pool: Pool) -> None:
    """Thresholds keep their meaning when a space is met again."""
    store = SpaceStore(pool)
    await store.keep(OTHER)
    await store.keep(Space(OTHER.name, OTHER.model, OTHER.dim, 0.25))
    assert await store.named(OTHER.name) == OTHER


async def test_an_unknown_one_cannot_be_current(pool: Pool) -> None:
    """And the one that is stays."""
    store = SpaceStore(pool)
    await store.keep(SPACE)
    await store.make_current(SPACE.name)
    with pytest.raises(Missing):
        await store.make_current("unknown")
    assert await store.current() == SPACE
    assert await store.named("unknown") is None


async def test_counts_the_vectors_of_a_space(pool: Pool, tmp_path: Path) -> None:
    """What a change of space would have to make anew."""
    store = SpaceStore(pool)
    assert await store.vectors_in(SPACE.name) == 0
    await ready(pool, ALICE, upload(tmp_path))
    assert await store.vectors_in(SPACE.name) == 2
    await written(pool, Draft("a memory"))
    await test_corpus.written(pool, Given("a text"))
    assert await store.vectors_in(SPACE.name) == 4
    assert await store.vectors_in(OTHER.name) == 0
