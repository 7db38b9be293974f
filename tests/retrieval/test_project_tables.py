"""Tables of projects: who may see which rows, what is read of their columns and kept beside them, the
nearest rows by pgvector."""

import json
from typing import Any

import pytest

from app.db.pool import Pool
from app.db.project_text import conversation_text
from app.errors import RetrievalError
from app.retrieval.project_tables import (
    CHUNK,
    CONVERSATION,
    Analysed,
    ProjectPart,
    ProjectTable,
    chunk_analysed,
    chunk_shown,
    conversation_analysed,
    forget,
    keep,
    owners,
    rows_of,
)
from app.retrieval.retrievers.postgres import nearest
from app.retrieval.terms import encode_terms
from app.types import Scope
from tests.fakes.filing import SPACE, bag
from tests.fakes.records import chunk, chunked, conversation, insert, told

ROWS = [("", "THN"), ("", "DAAS"), ("", None), ("ann", "THN"), ("ben", "THN")]


@pytest.mark.parametrize(
    ("scope", "inside", "seen"),
    [
        (Scope(), False, ["/-", "/THN"]),
        (Scope(), True, ["/DAAS"]),
        (Scope(project="THN"), False, ["/THN"]),
        (Scope(project="DAAS"), False, []),
        (Scope(project="DAAS"), True, ["/DAAS"]),
        (Scope(project="THN"), True, []),
        (Scope(project=""), False, ["/-"]),
        (Scope(owner="ann"), False, ["/-", "/THN", "ann/THN"]),
        (Scope(tenant="other"), False, []),
    ],
    ids=["talks", "dreams", "THN", "no talks", "DAAS", "no dreams", "of none", "ann's too", "strangers"],
)
async def test_rows_in_reach(pool: Pool, scope: Scope, *, inside: bool, seen: list[str]) -> None:
    """The tenant's shared ones and the asker's own, of the scope's project or of all that the source has."""
    for owner, project in ROWS:
        await insert(pool, CONVERSATION.name, conversation(Scope(owner=owner), project, "x"))
    where = rows_of(scope, {"DAAS"}, inside=inside)
    found = await pool.fetch(
        f"SELECT owner || '/' || coalesce(project, '-') FROM public.conversation_index WHERE {where.sql}",  # noqa: S608 - ours
        *where.values,
    )
    assert sorted(row[0] for row in found) == seen


def test_owners_are_each_named_once() -> None:
    """A tenant key's own rows are the shared ones."""
    assert owners(Scope()) == [""]
    assert owners(Scope(owner="ann")) == ["", "ann"]


async def read(pool: Pool, table: ProjectTable) -> dict[str, Any]:
    row = await pool.fetchrow(f"SELECT {table.columns} FROM {table.name}")  # noqa: S608 - ours
    assert row is not None
    return dict(row)


@pytest.mark.parametrize(
    "value", [["a", "b"], [], ["x" * 3_900], {"a": 1}, "plain", [{"name": "n"}, 7, None]], ids=repr
)
async def test_lists_are_read_as_they_are_stored(pool: Pool, value: object) -> None:
    await insert(pool, CONVERSATION.name, {"tags": json.dumps(value)})
    row = await read(pool, CONVERSATION)
    assert row["tags"] == await pool.fetchval("SELECT tags::text FROM public.conversation_index")
    assert row["key_entities"] is None


async def test_of_a_long_list_the_first_items_are_read(pool: Pool) -> None:
    """As many as there is room for; one that is itself too long takes nobody's place."""
    tags = ["y" * 5_000, *(f"tag {n}" for n in range(500))]
    await insert(pool, CONVERSATION.name, {"tags": json.dumps(tags), "key_entities": json.dumps(tags)})
    row = await read(pool, CONVERSATION)
    for found in (json.loads(row["tags"]), json.loads(row["key_entities"])):
        assert found == tags[1 : 1 + len(found)]
        assert 300 < len(found) < 400


@pytest.mark.parametrize("type_", ["text[]", "json", "text"])
async def test_lists_of_other_types_are_read(pool: Pool, type_: str) -> None:
    """Older tools' tables have arrays, and JSON as text; what JSON alone can hold breaks nothing."""
    await pool.execute("ALTER TABLE public.conversation_index DROP COLUMN tags")
    await pool.execute(f"ALTER TABLE public.conversation_index ADD COLUMN tags {type_}")
    tags = [f"tag {n}" for n in range(500)]
    given = "(SELECT array_agg('tag ' || n) FROM generate_series(0, 499) n)"
    cast = given if type_ == "text[]" else f"to_json({given})::text::{type_}"
    await pool.execute(f"INSERT INTO public.conversation_index (tags) VALUES ({cast})")  # noqa: S608 - ours
    found = json.loads((await read(pool, CONVERSATION))["tags"])
    assert found == tags[: len(found)]
    assert len(found) > 300


async def test_of_large_metadata_the_names_are_read(pool: Pool) -> None:
    """What a chunk is called by, and its lines."""
    facts = {"function_name": "build", "start_line": 7, "end_line": 9, "signature": "s" * 2_000}
    await insert(pool, CHUNK.name, {"chunk_metadata": json.dumps(facts | {"other": "x" * 12_000})})
    row = await read(pool, CHUNK)
    assert json.loads(row["chunk_metadata"]) == {"function_name": "build", "start_line": 7, "end_line": 9}
    assert (row["start_line"], row["end_line"]) == (7, 9)


async def test_metadata_that_postgres_cannot_read_breaks_nothing(pool: Pool) -> None:
    """A column of `json` may hold the character that `jsonb` refuses."""
    await pool.execute("ALTER TABLE public.code_index ALTER COLUMN chunk_metadata TYPE json")
    await insert(pool, CHUNK.name, {"chunk_metadata": '{"function_name": "a\\u0000", "start_line": 1}'})
    row = await read(pool, CHUNK)
    assert "function_name" in row["chunk_metadata"]
    assert row["start_line"] is None


@pytest.mark.parametrize(
    "items",
    [
        "SELECT repeat('tag', 3000000)",
        "SELECT md5(n::text) FROM generate_series(1, 100000) n",
        "SELECT 'tag' FROM generate_series(1, 100000)",
    ],
    ids=["one", "many", "compressed"],
)
async def test_megabytes_of_json_show_nothing(pool: Pool, items: str) -> None:
    """However well they are compressed: to write them as text takes seconds, so it is not begun."""
    insert_all = """
        WITH many AS (SELECT jsonb_agg(item) AS list FROM ({items}) AS every (item)), list AS (
            INSERT INTO public.conversation_index (tags, key_entities) SELECT list, list FROM many)
        INSERT INTO public.code_index (chunk_metadata) SELECT jsonb_build_object('name', list) FROM many
    """
    await pool.execute(insert_all.format(items=items))
    talk, code = await read(pool, CONVERSATION), await read(pool, CHUNK)
    assert (talk["tags"], talk["key_entities"], code["chunk_metadata"]) == (None, None, None)


X, Y = Analysed(encode_terms("x"), 1), Analysed(encode_terms("y"), 2)
KEPT = "SELECT kind, id, seen, tokens FROM ibid.project_words ORDER BY kind, id"


def test_writers_analyse_rows_by_their_columns() -> None:
    """The same terms as are made of a row that another tool wrote; of dreams the short summary is shown."""
    row = {"file_path": "a.py", "chunk_metadata": {"function_name": "walk"}, "chunk_text": "pass"}
    assert chunk_analysed(row) == (encode_terms("a.py\nwalk\npass", chunk_shown(row)), 1)
    names = ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet")
    talk = dict.fromkeys(names, None) | {"summary_detailed": "sea of sand", "summary_short": "sea"}
    for brief, tokens in ((False, 3), (True, 1)):
        analysed = conversation_analysed(talk, brief=brief)
        shown = conversation_text(talk, brief=brief)
        assert analysed == (encode_terms("sea of sand\nsea", shown), tokens)


async def test_terms_are_kept_with_the_revision_written(pool: Pool) -> None:
    """In the transaction of the row; of a row that is not there nothing is kept."""
    row, stranger = (await chunked(pool, Scope(), "THN", ["x"]))[0], "7" * 8 + "-7777" * 3 + "-" + "7" * 12
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("UPDATE public.code_index SET chunk_text = 'y' WHERE id = $1::uuid", row)
        await keep(connection, CHUNK, {row: Y, stranger: X})
    seen = await pool.fetchval("SELECT xmin::text FROM public.code_index")
    assert [tuple(kept) for kept in await pool.fetch(KEPT)] == [("code", row, seen, 2)]


async def test_terms_of_another_revision_are_not_kept(pool: Pool) -> None:
    """What was read before somebody changed the row."""
    row = (await chunked(pool, Scope(), "THN", ["x"]))[0]
    await keep(pool, CHUNK, {row: X}, {row: "1"})
    assert await pool.fetch(KEPT) == []


async def test_terms_are_dropped_by_kind(pool: Pool) -> None:
    [chunk], [talk] = (
        await chunked(pool, Scope(), "THN", ["x"]),
        await told(pool, Scope(), "THN", ["x"]),
    )
    await keep(pool, CHUNK, {chunk: X})
    await keep(pool, CONVERSATION, {talk: X})
    await forget(pool, CHUNK, [chunk, talk])
    assert [row["kind"] for row in await pool.fetch(KEPT)] == ["conversations"]


async def test_the_nearest_of_a_filter(pool: Pool) -> None:
    """Best first with exact cosines, ties by id; limited; nulls are the tenant's and shared."""
    near, far = await chunked(pool, Scope(), "THN", ["sea", "sea river"])
    await chunked(pool, Scope(owner="ann"), "THN", ["sea"])
    await chunked(pool, Scope(tenant="u"), "THN", ["sea"])
    await pool.execute("ALTER TABLE public.code_index ALTER owner DROP NOT NULL, ALTER tenant DROP NOT NULL")
    [nobodys] = await insert(pool, "public.code_index", chunk(Scope(), "X", "sea", owner=None, tenant=None))
    asked = bag("sea")
    found = await nearest(pool, SPACE, CHUNK, ProjectPart("default", "", "THN"), asked, 9)
    assert [(key, round(score, 6)) for key, score in found] == [(near, 1.0), (far, round(0.5**0.5, 6))]
    assert await nearest(pool, SPACE, CHUNK, ProjectPart("default", "", "THN"), asked, 1) == found[:1]
    [(key, _)] = await nearest(pool, SPACE, CHUNK, ProjectPart("default", "", "X"), asked, 9)
    assert key == nobodys
    assert await nearest(pool, SPACE, CONVERSATION, ProjectPart("default", "", "THN"), asked, 9) == []


async def test_only_retrieval_errors(pool: Pool) -> None:
    await pool.close()
    with pytest.raises(RetrievalError):
        await nearest(pool, SPACE, CHUNK, ProjectPart("t", "", ""), bag("sea"), 1)
