"""The record of code: in our table, and in one that another tool made."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from app.db.code import (
    TABLE,
    CodeCut,
    CodeEntry,
    CodeFile,
    CodeOutcome,
    CodeRow,
    CodeStore,
    chunk_ids,
    drop_rows,
    find_ids,
    free_ids,
    prepared,
    row_id,
    write_chunks,
)
from app.db.pool import Pool
from app.db.projects import links, shape
from app.db.rows import transaction
from app.db.users import ErasureStore
from app.errors import InvalidField, KeptElsewhere, RemovedMeanwhile
from app.types import Embedding, Scope

SPACE, OTHER = "fake@8", "other@8"
HERE = Scope("acme", project="hello")
PLAIN = Scope(project="hello")
ADA = replace(HERE, owner="ada", user_id="ada")
UUID = "0c9d1a52-3e5f-4d0f-9a53-5d0e8a432c0f"
TEXTS = "SELECT array_agg(chunk_text ORDER BY chunk_text) FROM public.code_index"
COUNT = "SELECT count(*) FROM public.code_index"
WORDS = "SELECT count(*) FROM ibid.project_words WHERE kind = 'code'"
VERSION = "SELECT max(version) FROM ibid.project_part WHERE kind = 'code'"
FOREIGN = """
    INSERT INTO public.code_index (id, tenant, project, file_path, chunk_text)
    VALUES (gen_random_uuid(), 'acme', 'hello', 'a.py', 'theirs')
"""


def vector(seed: int, dim: int = 8) -> Embedding:
    values = np.random.default_rng(seed).normal(size=dim)
    return (values / np.linalg.norm(values)).astype("<f4").tobytes()


def entry(text: str, scope: Scope = HERE, *, dim: int = 8, **more: object) -> CodeEntry:
    row = CodeRow(**({"file_path": "a.py", "language": "python", "chunk_text": text} | more))  # type: ignore[arg-type]
    return CodeEntry(row_id(scope, row), row, vector(len(text), dim))


async def put(
    pool: Pool, *entries: CodeEntry, scope: Scope = HERE, space: str = SPACE
) -> list[tuple[str, bool]]:
    store = CodeStore(pool)
    return list(await store.put(scope, entries, space, await store.clock()))


async def kept(
    pool: Pool, path: str, *texts: str, scope: Scope = HERE, space: str = SPACE, dim: int = 8
) -> CodeOutcome:
    store = CodeStore(pool)
    entries = [entry(text, scope, dim=dim, file_path=path, id=f"{path} {text}") for text in texts]
    pair = (CodeFile(path, "\n".join(texts)), entries)
    (outcome,) = await store.replace(scope, [pair], space, await store.clock())
    return outcome


async def told(pool: Pool, scope: Scope = HERE, space: str = SPACE) -> list[tuple[str, int]]:
    found, _ = await CodeStore(pool).files(scope, space, after="", limit=100)
    return [(file.path, file.chunks) for file in found]


async def test_a_chunk_is_kept_with_all_it_came_with(pool: Pool) -> None:
    facts = {"function_name": "greet", "start_line": 3, "odd": "a\0b"}
    ((name, fresh),) = await put(pool, entry("def greet(): pass\0", chunk_metadata=facts))

    found = await CodeStore(pool).get(HERE, name)

    assert fresh
    assert found is not None
    assert (found.file_path, found.language, found.chunk_text) == (
        "a.py",
        "python",
        "def greet(): pass\ufffd",
    )
    assert found.chunk_metadata == facts | {"odd": "a\ufffdb"}
    assert found.indexed_at is not None
    assert await pool.fetchval("SELECT space FROM public.code_index") == SPACE
    assert await pool.fetchval(WORDS) == 1


async def test_an_id_again_replaces(pool: Pool) -> None:
    await put(pool, entry("old", id="a"))

    outcomes = await put(pool, entry("new", id="a"), entry("newest", id="a"))

    assert [fresh for _, fresh in outcomes] == [False, False]
    assert await pool.fetchval(TEXTS) == ["newest"]
    assert await pool.fetchval(WORDS) == 1


async def test_a_uuid_that_is_free_is_the_id(pool: Pool) -> None:
    """Of the default tenant; one that is another's is not: that row stays as it is."""
    assert await put(pool, entry("mine", PLAIN, id=UUID), scope=PLAIN) == [(UUID, True)]
    ((theirs, fresh),) = await put(pool, entry("theirs", ADA, id=UUID), scope=ADA)

    assert fresh
    assert theirs != UUID
    assert await put(pool, entry("again", PLAIN, id=UUID), scope=PLAIN) == [(UUID, False)]
    assert await put(pool, entry("and again", ADA, id=theirs), scope=ADA) == [(theirs, False)]
    assert await pool.fetchval(TEXTS) == ["again", "and again"]


@pytest.mark.parametrize(
    "thief", [Scope("evil", project="x"), replace(HERE, owner="eve"), Scope(project="x")]
)
async def test_nobody_claims_an_id_that_another_will_need(pool: Pool, thief: Scope) -> None:
    """Ids of chunks are made of public facts: what stands there already is in nobody's way, and stays."""
    cut = CodeCut("MIT License", 1, 1)
    (name,) = chunk_ids(HERE, "LICENSE", [cut])
    await put(pool, entry("claimed", thief, id=name), scope=thief)
    chunk = CodeEntry(name, CodeRow("LICENSE", "text", cut.text), vector(1))
    store, file = CodeStore(pool), CodeFile("LICENSE", cut.text)

    for text in (cut.text, "another", cut.text):
        await store.replace(HERE, [(replace(file, text=text), [chunk])], SPACE, await store.clock())

    assert await told(pool) == [("LICENSE", 1)]
    assert await pool.fetchval(TEXTS) == ["MIT License", "claimed"]


async def test_a_chunk_of_a_file_does_not_leave_it(pool: Pool) -> None:
    """By its id it is not written over, and the file can be put again and again."""
    await kept(pool, "a.py", "one")
    name = await pool.fetchval("SELECT id::text FROM public.code_index")

    with pytest.raises(InvalidField, match="whole file"):
        await put(pool, entry("mine", id=name))
    assert await kept(pool, "a.py", "two") == CodeOutcome.CHANGED
    assert await pool.fetchval(TEXTS) == ["two"]


@pytest.mark.parametrize("adopted", [False, True], ids=["as it was", "adopted"])
async def test_what_another_tool_wrote_is_only_read(pool: Pool, *, adopted: bool) -> None:
    """Neither written over under its id, nor removed, by name or with all; what is ours is."""
    await pool.execute("ALTER TABLE public.code_index ALTER id DROP DEFAULT, ALTER id TYPE text")
    await pool.execute("ALTER TABLE public.code_index ADD stars int")
    await pool.execute(
        "INSERT INTO public.code_index (id, project, chunk_text, stars, space)"
        " VALUES ('21', 'hello', 'theirs', 5, $1)",
        SPACE if adopted else None,
    )
    store = CodeStore(pool)

    ((name, fresh),) = await put(pool, entry("mine", PLAIN, id="21"), scope=PLAIN)
    await pool.execute("UPDATE public.code_index SET stars = 7 WHERE chunk_text = 'mine'")
    again = await put(pool, entry("mine too", PLAIN, id="21"), scope=PLAIN)
    stars = await pool.fetch("SELECT stars FROM public.code_index ORDER BY chunk_text")

    assert fresh
    assert again == [(name, False)]
    assert [row["stars"] for row in stars] == [7, 5]
    with pytest.raises(KeptElsewhere):
        await store.remove(PLAIN, "21")
    assert await store.clear(PLAIN) == 1
    assert await pool.fetchval(TEXTS) == ["theirs"]


async def test_a_row_that_another_tool_wrote_over_is_still_by_itself(pool: Pool) -> None:
    await put(pool, entry("mine", id="a"))
    await pool.execute("UPDATE public.code_index SET chunk_text = 'changed'")

    assert await told(pool) == []
    ((_, fresh),) = await put(pool, entry("mine", id="a"))
    assert not fresh
    assert await pool.fetchval("SELECT space FROM public.code_index") == SPACE


async def test_a_file_s_chunks_take_the_place_of_those_it_had(pool: Pool) -> None:
    assert await kept(pool, "a.py", "one", "two") == CodeOutcome.ADDED
    assert await kept(pool, "a.py", "one", "three") == CodeOutcome.CHANGED
    version = await pool.fetchval(VERSION)
    assert await kept(pool, "a.py", "one", "three") == CodeOutcome.UNCHANGED

    assert await pool.fetchval(TEXTS) == ["one", "three"]
    assert await pool.fetchval(WORDS) == 2
    assert await pool.fetchval(VERSION) == version
    assert await told(pool) == [("a.py", 2)]


@pytest.mark.parametrize("texts", [["one"], ["one", "two"]], ids=["its only chunk", "one of two"])
async def test_a_file_that_another_tool_has_written_over_is_written_again(
    pool: Pool, texts: list[str]
) -> None:
    await kept(pool, "a.py", *texts)
    await pool.execute("UPDATE public.code_index SET chunk_text = 'sourdough' WHERE chunk_text = 'one'")

    assert await kept(pool, "a.py", *texts) == CodeOutcome.CHANGED

    assert await pool.fetchval(TEXTS) == texts
    assert await told(pool) == [("a.py", len(texts))]


async def test_a_file_that_another_tool_has_written_over_is_listed(pool: Pool) -> None:
    await kept(pool, "h.py", "one")
    await kept(pool, "k.py", "two", "three")
    await kept(pool, "l.py", "four")
    await pool.execute("UPDATE public.code_index SET chunk_text = 'x' WHERE chunk_text IN ('one', 'two')")

    found, _ = await CodeStore(pool).files(HERE, SPACE, after="", limit=9)

    assert [(file.path, file.sha256) for file in found] == [
        ("h.py", ""),
        ("k.py", ""),
        ("l.py", CodeFile("", "four").sha256),
    ]
    assert await CodeStore(pool).remove_files(HERE, ["h.py"]) == 1


async def test_rows_of_others_stay_theirs(pool: Pool) -> None:
    await pool.execute(FOREIGN)
    await put(pool, entry("alone"))
    await kept(pool, "a.py", "ada's", scope=ADA)
    await kept(pool, "a.py", "elsewhere", scope=replace(HERE, project="bye"))

    await kept(pool, "a.py", "one")
    await kept(pool, "a.py", "two")
    assert await pool.fetchval(TEXTS) == ["ada's", "alone", "elsewhere", "theirs", "two"]
    assert await told(pool) == [("a.py", 1)]
    assert await CodeStore(pool).remove_files(HERE, ["a.py", "b.py"]) == 1
    assert await pool.fetchval(TEXTS) == ["ada's", "alone", "elsewhere", "theirs"]
    assert await CodeStore(pool).clear(HERE) == 1
    assert await pool.fetchval(TEXTS) == ["ada's", "elsewhere", "theirs"]


async def test_files_are_listed_by_path(pool: Pool) -> None:
    for path in ("b.py", "a/z.py", "B.py", "é.py"):
        await kept(pool, path, "x")
    store = CodeStore(pool)

    found, after = await store.files(HERE, SPACE, after="", limit=3)
    rest, end = await store.files(HERE, SPACE, after=after or "", limit=3)

    assert [file.path for file in (*found, *rest)] == ["B.py", "a/z.py", "b.py", "é.py"]
    assert (after, end) == ("b.py", None)
    assert found[0].sha256 == CodeFile("", "x").sha256
    assert found[0].language == "python"


async def test_vectors_of_another_space_are_none(pool: Pool) -> None:
    await kept(pool, "a.py", "one", space=OTHER)
    store = CodeStore(pool)

    found, _ = await store.files(HERE, SPACE, after="", limit=1)
    assert [(file.path, file.sha256) for file in found] == [("a.py", "")]
    assert await store.hashes(HERE, ["a.py"], SPACE) == {}
    assert await store.vectors(HERE, ["a.py"], [], SPACE) == []
    assert await kept(pool, "a.py", "one") == CodeOutcome.CHANGED


async def test_vectors_are_found_by_path_and_by_hash(pool: Pool) -> None:
    await kept(pool, "a.py", "one")
    await kept(pool, "b.py", "two")
    await kept(pool, "c.py", "three", scope=ADA)
    sha256 = CodeFile("", "two").sha256

    found = await CodeStore(pool).vectors(HERE, ["a.py", "c.py"], [sha256], SPACE)

    assert [(each.file_path, each.chunk_text) for each in found] == [("a.py", "one"), ("b.py", "two")]
    assert found[1].sha256 == sha256
    assert found[0].embedding == vector(3)


async def test_a_row_is_read_in_reach_and_removed_by_its_owner(pool: Pool) -> None:
    ((shared, _),) = await put(pool, entry("shared"))
    ((own, _),) = await put(pool, entry("own", ADA), scope=ADA)
    store = CodeStore(pool)

    assert await store.get(ADA, shared)
    assert await store.get(HERE, own) is None
    assert await store.get(HERE, "no id at all") is None
    assert not await store.remove(ADA, shared)
    assert await store.remove(ADA, own)
    assert await pool.fetchval(TEXTS) == ["shared"]
    assert await pool.fetchval(WORDS) == 1


async def test_of_somebody_erased_meanwhile_nothing_is_kept(pool: Pool) -> None:
    store, since = CodeStore(pool), datetime.now(UTC) - timedelta(seconds=1)
    await ErasureStore(pool).begin(ADA, ())

    with pytest.raises(RemovedMeanwhile):
        await store.put(ADA, [entry("own", ADA)], SPACE, since)
    with pytest.raises(RemovedMeanwhile):
        await store.replace(ADA, [(CodeFile("a.py", "x"), [])], SPACE, since)
    assert await pool.fetchval(COUNT) == 0


THEIRS: dict[str, Sequence[str]] = {
    "vectors of their own length": ["ALTER TABLE public.code_index ALTER embedding TYPE vector(3)"],
    "metadata as text": ["ALTER TABLE public.code_index ALTER chunk_metadata TYPE text"],
    "metadata as json": ["ALTER TABLE public.code_index ALTER chunk_metadata TYPE json"],
    "no key": ["ALTER TABLE public.code_index DROP CONSTRAINT code_index_pkey"],
    "ids as text": ["ALTER TABLE public.code_index ALTER id DROP DEFAULT, ALTER id TYPE text"],
    "ids as numbers": [
        "ALTER TABLE public.code_index DROP id",
        "ALTER TABLE public.code_index ADD id bigserial PRIMARY KEY",
    ],
    "columns that must have something": [
        "ALTER TABLE public.code_index ADD repo text NOT NULL, ADD stars int NOT NULL"
    ],
    "no column may be empty": [
        (
            "ALTER TABLE public.code_index ALTER embedding TYPE vector(3), ALTER embedding SET NOT NULL,"
            " ALTER language SET NOT NULL, ALTER file_path SET NOT NULL"
        )
    ],
}


@pytest.mark.parametrize("statements", THEIRS.values(), ids=THEIRS)
async def test_another_tool_s_table_takes_our_rows(pool: Pool, statements: Sequence[str]) -> None:
    for statement in statements:
        await pool.execute(statement)
    store = CodeStore(pool)

    ((name, _),) = await put(pool, entry("alone", language=None, chunk_metadata={"start_line": 1}))
    await kept(pool, "a.py", "one", "two")
    assert await kept(pool, "a.py", "one", "three") == CodeOutcome.CHANGED
    found = await store.get(HERE, name)

    assert found is not None
    assert found.chunk_metadata == {"start_line": 1}
    vectors = await store.vectors(HERE, ["a.py"], [], SPACE)
    assert sorted(each.embedding for each in vectors) == sorted([vector(3), vector(5)])
    assert await store.remove(HERE, name)
    assert await told(pool) == [("a.py", 2)]


IDS = [f"0c9d1a52-3e5f-4d0f-9a53-5d0e8a432c0{at}" for at in range(3)]
NEXT = "INSERT INTO ibid.text_next (space, kind, id, embedding) VALUES ('new@1', 'code', $1, '[1]')"


def entry_of_chunk(at: int, *, given: str | None = None) -> CodeEntry:
    return CodeEntry(IDS[at], CodeRow(f"{at}.py", None, f"text {at}", {"a": "\0"}, given), b"\0\0\x80?")


async def written(pool: Pool, *entries: CodeEntry, sha256: str | None = None) -> None:
    rows = {each.id: (each, words) for each, words in await prepared(entries)}
    async with transaction(pool) as connection:
        columns = await shape(connection, TABLE)
        await write_chunks(connection, columns, HERE, rows, "s@1", sha256=sha256)


async def test_what_is_dropped_leaves_nothing_behind(pool: Pool) -> None:
    """Neither its words nor its vector of a space in the making; what stays keeps its own."""
    await written(pool, entry_of_chunk(0), entry_of_chunk(1))
    for name in IDS[:2]:
        await pool.execute(NEXT, name)

    async with transaction(pool) as connection:
        count, paths = await drop_rows(connection, "file_path = $1", "0.py")

    assert (count, paths) == (1, {"0.py"})
    assert await pool.fetchval("SELECT array_agg(id) FROM ibid.project_words") == [IDS[1]]
    assert await pool.fetchval("SELECT array_agg(id) FROM ibid.text_next") == [IDS[1]]


async def test_a_row_has_the_id_it_was_given_if_it_is_its_writer_s(pool: Pool) -> None:
    await written(pool, entry_of_chunk(0))
    asked = [entry_of_chunk(0), entry_of_chunk(1, given=IDS[2]), entry_of_chunk(1, given=IDS[0])]
    async with transaction(pool) as connection:
        columns = await shape(connection, TABLE)
        own = await find_ids(connection, columns, HERE, asked)
        other = await find_ids(connection, columns, Scope("other"), asked[2:])

        plain = await find_ids(connection, columns, Scope(project="hello"), asked[1:])

    assert own == [(IDS[0], True), (IDS[1], False), (IDS[0], True)]
    assert other == [(IDS[1], False)]
    assert plain == [(IDS[2], False), (IDS[1], False)]


async def test_what_is_another_s_is_in_nobody_s_way(pool: Pool) -> None:
    """A row of another tenant, of another tool, one by itself where a file's chunk would be: the next id."""
    await written(pool, entry_of_chunk(0))
    await pool.execute(
        "INSERT INTO public.code_index (id, tenant, project) VALUES ($1, 'acme', 'hello')", IDS[1]
    )
    async with transaction(pool) as connection:
        columns = await shape(connection, TABLE)
        other = await find_ids(connection, columns, Scope("other"), [entry_of_chunk(0)])
        tool = await find_ids(connection, columns, HERE, [entry_of_chunk(1), entry_of_chunk(2, given=IDS[1])])
        file = await free_ids(connection, columns, [entry_of_chunk(0), entry_of_chunk(2)])

    assert other == [(links("uuid", IDS[0])[1], False)]
    assert tool == [(links("uuid", IDS[1])[1], False), (IDS[2], False)]
    assert file == [links("uuid", IDS[0])[1], IDS[2]]
