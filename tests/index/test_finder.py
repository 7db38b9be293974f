"""Rows found by SQL alone."""

from datetime import UTC, datetime

import numpy as np
import pytest

from app.clients.pool import Pool
from app.domain.errors import RetrievalError
from app.domain.passage import Scope
from app.index.finder import Finder, cosine
from app.index.table import CHUNK, CONVERSATION, Where, rows_of
from tests.fakes.filing import SPACE, bag
from tests.fakes.rows import chunk, conversation, insert

THN = Scope(project="THN")
ASKED = bag("sea river")
FILL = """
    INSERT INTO public.conversation_index (tenant, owner, project, title, embedding, indexed_at)
    SELECT $1, $2, $3, 'near', $4, now() FROM generate_series(1, $5)
"""


@pytest.fixture
def finder(pool: Pool) -> Finder:
    """Of conversations."""
    return Finder(pool, CONVERSATION, SPACE)


def mine() -> Where:
    """My rows."""
    return rows_of(THN, {"DAAS"}, inside=False)


async def test_filters_never_make_a_result_short(pool: Pool, finder: Finder) -> None:
    """Ten thousand rows of others, nearer and newer than mine, take no place of mine."""
    kept = await insert(
        pool, CONVERSATION.name, *(conversation(Scope(), "THN", f"sea {n}") for n in range(3))
    )
    for who in (("default", "", "other"), ("default", "ben", "THN"), ("u", "", "THN"), ("default", "", None)):
        await pool.execute(FILL, *who, ASKED, 2_500)
    assert {row.id for row in await finder.newest(mine(), 5)} == {*kept}
    assert {row.id for row in await finder.nearest(mine(), ASKED, 5)} == {*kept}
    assert {row.id for row in await finder.both(mine(), ASKED, [], 5)} == {*kept}


async def test_vectors_that_do_not_compare_are_passed_over(pool: Pool, finder: Finder) -> None:
    """Of other lengths, another space by name, zeros, none at all; other tools' of our length count."""
    text, zeros = "sea", np.zeros(32, "<f4").tobytes()
    ids = await insert(
        pool,
        CONVERSATION.name,
        conversation(Scope(), "THN", text, space=SPACE.name),
        conversation(Scope(), "THN", text),
        conversation(
            Scope(), "THN", text, embedding=bag(text, 8), embedding_ibid=bag(text), space=SPACE.name
        ),
        conversation(Scope(), "THN", text, embedding=bag(text, 8)),
        conversation(Scope(), "THN", text, embedding=bag(text, 8), space=SPACE.name),
        conversation(Scope(), "THN", text, space="another@32"),
        conversation(Scope(), "THN", text, embedding=zeros),
        conversation(Scope(), "THN", text, embedding=None),
    )
    found = await finder.nearest(mine(), ASKED, 40)
    assert [row.id for row in found] == sorted(ids[:3])
    assert [row.cosine for row in found] == pytest.approx([0.5**0.5] * 3, abs=1e-6)
    named = {row.id: row for row in await finder.both(mine(), ASKED, ids, 40)}
    assert [named[key].cosine for key in ids[3:]] == [None] * 5
    assert [named[key].near for key in ids] == [True] * 3 + [False] * 5


async def test_rows_without_a_time_are_the_oldest(pool: Pool, finder: Finder) -> None:
    """Newest first; a time that Python cannot hold is none, but keeps its place."""
    for title, moment in (("a", "'2026-01-01'"), ("b", "NULL"), ("c", "'infinity'"), ("d", "'2026-02-01'")):
        values = f"VALUES ('THN', '{title}', {moment})"
        await pool.execute(f"INSERT INTO public.conversation_index (project, title, indexed_at) {values}")
    found = await finder.newest(mine(), 3)
    assert [(row.columns["title"], row.columns["indexed_at"] is None) for row in found] == [
        ("c", True),
        ("d", False),
        ("a", False),
    ]
    assert (await finder.newest(mine(), 9))[-1].columns["title"] == "b"


async def test_named_rows_must_be_in_reach(pool: Pool, finder: Finder) -> None:
    """Whatever the words knew when they were read."""
    ids = await insert(
        pool,
        CONVERSATION.name,
        conversation(Scope(), "other", "sea"),
        conversation(Scope(tenant="u"), "THN", "sea"),
        conversation(Scope(owner="ben"), "THN", "sea"),
    )
    assert await finder.both(mine(), ASKED, ids, 5) == []
    assert await finder.both(mine(), None, ids, 5) == []


async def test_rows_with_nothing_to_say_take_no_place(pool: Pool, finder: Finder) -> None:
    """However near and new: nulls, JSON null, empty lists, blanks."""
    void = {"tags": "null", "key_entities": "[]", "title": " \n", "summary_short": ""}
    [kept] = await insert(
        pool,
        CONVERSATION.name,
        conversation(Scope(), "THN", "sea", indexed_at=datetime(2020, 1, 1, tzinfo=UTC)),
    )
    for empty in ({}, void, {**void, "tags": "{}"}):
        await insert(pool, CONVERSATION.name, {"project": "THN", "embedding": ASKED, **empty})
    found = [
        await finder.both(mine(), ASKED, [], 1),
        await finder.nearest(mine(), ASKED, 1),
        await finder.newest(mine(), 1),
    ]
    assert [[row.id for row in rows] for rows in found] == [[kept]] * 3


async def test_what_says_something_keeps_its_place(pool: Pool, finder: Finder) -> None:
    """One tag, or one letter, is enough."""
    said = ({"tags": '["a"]'}, {"key_entities": '[{"name": "a"}]'}, {"memory_snippet": "a"})
    rows = ({"project": "THN", "embedding": ASKED, **each} for each in said)
    ids = await insert(pool, CONVERSATION.name, *rows)
    assert {row.id for row in await finder.newest(mine(), 9)} == {*ids}
    assert {row.id for row in await finder.nearest(mine(), ASKED, 9)} == {*ids}


async def test_a_chunk_without_text_shows_its_path(pool: Pool) -> None:
    """It is found by nothing, but by its vector and by time; one of nulls is not."""
    ids = await insert(
        pool,
        CHUNK.name,
        chunk(Scope(), "THN", "", file_path="a.py", embedding=ASKED),
        chunk(Scope(), "THN", "", embedding=ASKED),
    )
    found = Finder(pool, CHUNK, SPACE)
    where = rows_of(THN, None)
    assert [row.id for row in await found.newest(where, 9)] == ids[:1]
    assert [row.id for row in await found.nearest(where, ASKED, 9)] == ids[:1]
    assert await found.both(where, ASKED, [], 9) == []


async def test_chunks_of_one_name_are_numbered(pool: Pool) -> None:
    """Same file and lines: shared ones first, then by project; whatever else was found."""
    lines = '{"start_line": 1, "end_line": 9}'
    rows = [
        chunk(Scope(owner=owner), project, "x", file_path="a.py", chunk_metadata=lines)
        for owner, project in (("", "B"), ("ann", "A"), ("", "A"))
    ]
    ids = await insert(pool, CHUNK.name, *rows)
    where = rows_of(Scope(owner="ann"), None)
    found = {row.id: row.columns["place"] for row in await Finder(pool, CHUNK, SPACE).newest(where, 9)}
    assert [found[key] for key in ids] == [2, 3, 1]


async def test_a_vector_of_another_space_is_no_vector(finder: Finder) -> None:
    """The query's own length must fit."""
    with pytest.raises(RetrievalError) as caught:
        await finder.nearest(mine(), bag("x", 8), 5)
    assert caught.value.reason == "embedding"


def test_a_distance_that_is_none() -> None:
    """NaN and null."""
    assert cosine(float("nan")) is None
    assert cosine(None) is None
    assert cosine(0.25) == 0.75
