"""Rows that older tools wrote, on a database that they made; whether two models' vectors are of one
space; the move from one embedding space to another, whole and interrupted."""

import json
import random
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from app.db.embedded import Cluster
from app.db.outbox import Outbox
from app.db.pool import Pool, open_pool
from app.db.project_tables import DISTANCE
from app.db.vectors import SpaceStore, VectorStore
from app.errors import RetrievalError
from app.services import reembed as moving
from app.services.adopt import AdoptionStore, ForeignRow, is_same_space
from app.services.reembed import Reembed
from app.types import Embedding, Space
from tests.fakes.answering import FakeEmbedder
from tests.fakes.elder import DIM, Elder, elder
from tests.fakes.uploads import ALICE, SPACE, ready, upload, vector

WIDE = Space("wide@1536", "wide", DIM, 0.0)
CONVERSATIONS, CODE = "public.conversation_index", "public.code_index"
SPACES = """
    SELECT json_object_agg(coalesce(space, '-'), count)
    FROM (SELECT space, count(*) FROM conversation_index GROUP BY 1) AS counted
"""


@pytest.fixture
async def old(cluster: Cluster) -> AsyncIterator[Elder]:
    """A database as it was before Ibid came, brought up to date."""
    async with elder(cluster, migrated=True) as made:
        yield made


@pytest.fixture
async def store(old: Elder) -> AsyncIterator[AdoptionStore]:
    async with open_pool(old.dsn, max_size=3) as pool:
        yield AdoptionStore(pool)


async def rows(store: AdoptionStore, table: str, space: Space = SPACE) -> list[ForeignRow]:
    return [row async for page in store.open(table, space) for row in page]


def vectors(found: list[ForeignRow]) -> list[Embedding | None]:
    return [vector(row.text) for row in found]


async def test_figures_tell_what_is_to_be_done(store: AdoptionStore) -> None:
    """By width: zeros and no vector fit nothing, rows without a word are silent."""
    wide, narrow = await store.stands(CONVERSATIONS, WIDE), await store.stands(CONVERSATIONS, SPACE)
    assert (wide.rows, wide.ours, wide.elsewhere, wide.fitting, wide.strange, wide.silent) == (
        37,
        0,
        0,
        31,
        4,
        2,
    )
    assert (narrow.fitting, narrow.strange, narrow.open) == (0, 35, 35)
    assert (await store.stands(CODE, WIDE)).fitting == 20
    assert store.tables == (CONVERSATIONS, CODE)


async def test_each_row_that_says_something_is_read_once(store: AdoptionStore) -> None:
    """With what would be embedded of it, of megabytes as much as an embedder reads."""
    found = await rows(store, CONVERSATIONS, WIDE)
    assert len({row.place for row in found}) == len(found) == 35
    assert sum(row.fits for row in found) == 31
    assert max(len(row.text) for row in found) <= 40_000
    assert "Harbour number 1\nTags: sea, ships\nKey entities: Esbjerg" in found[0].text


async def test_what_is_taken_is_ours_and_still_theirs(store: AdoptionStore, old: Elder) -> None:
    """Our vector beside, or the word that theirs is ours; no column of theirs has changed; done is done."""
    before = await old.told()
    found = await rows(store, CONVERSATIONS)
    assert await store.take(CONVERSATIONS, SPACE, found[:10], vectors(found[:10])) == 10
    assert await store.take(CONVERSATIONS, WIDE, found[10:12], [None, None]) == 2
    assert await old.told() == before
    assert len(await rows(store, CONVERSATIONS)) == 23
    assert json.loads(await old.run(SPACES)) == {"-": 25, SPACE.name: 10, WIDE.name: 2}
    assert (
        await old.run("SELECT count(*) FROM conversation_index WHERE vector_dims(embedding_ibid) = 8") == 10
    )
    assert (await store.stands(CONVERSATIONS, SPACE)).elsewhere == 2


async def test_a_row_written_meanwhile_is_not_what_it_was(store: AdoptionStore, old: Elder) -> None:
    """It stays open, and is taken over as it is now."""
    found = await rows(store, CODE)
    await old.run("UPDATE code_index SET chunk_text = 'def quay(): pass' WHERE file_path = 'app/pier1.py'")
    assert await store.take(CODE, SPACE, found, vectors(found)) == 19
    [left] = await rows(store, CODE)
    assert left.text == "app/pier1.py\ndef quay(): pass"


@pytest.mark.parametrize(
    "change",
    ["summary_short = 'other words'", "tags = '[]'", "title = NULL", "embedding = embedding, title = 'new'"],
)
async def test_what_its_tool_writes_anew_is_open_again(store: AdoptionStore, old: Elder, change: str) -> None:
    """The vector beside it was of other words."""
    found = await rows(store, CONVERSATIONS)
    await store.take(CONVERSATIONS, SPACE, found, vectors(found))
    await old.run(f"UPDATE conversation_index SET {change} WHERE title = 'Harbour number 3'")  # noqa: S608
    assert len(await rows(store, CONVERSATIONS)) == 1
    await old.run("UPDATE conversation_index SET indexed_at = now()")
    assert len(await rows(store, CONVERSATIONS)) == 1
    await old.run(
        "UPDATE conversation_index SET title = 'ours', sha256 = 'x' WHERE title = 'Harbour number 4'"
    )
    assert len(await rows(store, CONVERSATIONS)) == 1


@pytest.mark.parametrize("ours", [True, False], ids=["Ibid's row", "an adopted row"])
async def test_a_vector_of_older_words_is_nobody_s(store: AdoptionStore, old: Elder, *, ours: bool) -> None:
    """It is neither searched nor taken for what the row says now, until its tool writes another; the column
    stays as it is."""
    await old.run("ALTER TABLE code_index ALTER COLUMN embedding TYPE vector")
    await old.run("UPDATE code_index SET embedding = '[1,2,3,4,5,6,7,8]'")
    await old.run("UPDATE code_index SET space = 'fake@8', sha256 = $1", "x" if ours else None)
    await old.run("UPDATE code_index SET chunk_text = 'def f(): pass' WHERE file_path = 'app/pier1.py'")
    await old.run("UPDATE code_index SET file_path = 'app/quay.py' WHERE file_path = 'app/pier2.py'")
    assert [row.fits for row in await rows(store, CODE)] == [False, False]
    assert (await store.stands(CODE, SPACE)).strange == 2
    assert await old.run("SELECT count(*) FROM code_index WHERE embedding = '[1,2,3,4,5,6,7,8]'") == 20
    near = DISTANCE.format(space="'fake@8'", dim=8, vector="'[1,2,3,4,5,6,7,8]'")
    searched = f"SELECT count({near}) FROM code_index"  # noqa: S608 - constants of ours
    assert await old.run(searched) == 18
    await old.run("UPDATE code_index SET embedding = '[8,7,6,5,4,3,2,1]' WHERE space IS NULL")
    assert [row.fits for row in await rows(store, CODE)] == [True, True]
    assert await old.run(searched) == 20


async def test_a_role_of_its_own_goes_on_writing(store: AdoptionStore, old: Elder, cluster: Cluster) -> None:
    """It has rights on its tables alone, and none on ours."""
    found = await rows(store, CODE)
    await store.take(CODE, SPACE, found, vectors(found))
    database = old.dsn.split("?")[0].rpartition("/")[2]
    admin = await asyncpg.connect(cluster.places.dsn("postgres", database))
    try:
        await admin.execute(f"""
            CREATE ROLE {database}; GRANT ALL ON public.code_index TO {database}; SET ROLE {database};
            UPDATE public.code_index SET chunk_text = 'def f(): pass' WHERE file_path = 'app/pier1.py';
            INSERT INTO public.code_index (id, file_path, chunk_text) VALUES (gen_random_uuid(), 'a.py', 'x');
            DELETE FROM public.code_index WHERE file_path = 'app/pier2.py';
            RESET ROLE; DROP OWNED BY {database}; DROP ROLE {database};
        """)  # noqa: S608 - a name of ours
    finally:
        await admin.close()
    assert sorted(row.text[:4] for row in await rows(store, CODE)) == ["a.py", "app/"]


async def test_rows_that_were_moved_about_are_not_mistaken(store: AdoptionStore, old: Elder) -> None:
    """Written together they have one version, and a packed table puts one where another was."""
    found = await rows(store, CODE)
    assert len({row.seen for row in found}) == 1
    await old.run("DELETE FROM code_index WHERE file_path = 'app/pier1.py'")
    await old.run("VACUUM FULL code_index")
    assert await store.take(CODE, SPACE, found, vectors(found)) == 0
    assert len(await rows(store, CODE)) == 19


def drawn(seed: str, *, wide: int = 256, noise: float = 0.0) -> Embedding:
    """A direction of its own for each seed, with some noise."""
    chance, blur = random.Random(seed), random.Random(f"{seed}!")  # noqa: S311 - noise
    return struct.pack(f"<{wide}f", *(chance.gauss(0, 1) + noise * blur.gauss(0, 1) for _ in range(wide)))


@pytest.mark.parametrize(
    ("noise", "others", "verdict"),
    [(0.0, 0, True), (0.7, 0, True), (0.0, 3, True), (0.0, 4, False), (3.0, 0, False), (0.0, 32, False)],
    ids=["equal", "of a part of the text", "a tenth others", "more others", "too far", "another model"],
)
def test_a_space_is_told_by_most_of_a_sample(noise: float, others: int, verdict: bool) -> None:
    """A text's two vectors are near where one model made both, whatever it was given of the text."""
    pairs = [(drawn(str(n)), drawn(str(n), noise=noise)) for n in range(32 - others)]
    pairs += [(drawn(str(n)), drawn(f"another {n}")) for n in range(others)]
    assert is_same_space(pairs, 0.0) is verdict


NEXT = Space("fake@2", "fake", 2, 0.0)


class Engine(Outbox):
    def __init__(self, fault: RetrievalError | None = None) -> None:
        self.filled = 0
        self._fault = fault

    async def drain(self) -> None:
        self.filled += 1
        if self._fault:
            raise self._fault

    async def pending(self) -> str:
        return "qdrant has yet to take a refill"


async def run(work: Reembed) -> int:
    return sum([taken async for taken in work.run()])


async def test_everything_is_embedded_and_swapped(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches, title and heading in front; then the space is current and each engine is filled, though
    another does not answer."""
    monkeypatch.setattr(moving, "BATCH", 2)
    await ready(pool, ALICE, upload(tmp_path, "a\nb\nc"), "a\nb\nc")
    embedder, engine = FakeEmbedder(), Engine()
    away = Engine(RetrievalError("unavailable"))
    work = Reembed(VectorStore(pool), embedder, (away, engine), NEXT)
    assert (await work.total(), work.space) == (3, NEXT.name)
    assert await run(work) == 3
    assert embedder.asked == [f"Title\nHeading\n{name}" for name in "abc"]
    assert (await SpaceStore(pool).current(), engine.filled) == (NEXT, 1)
    assert work.waiting == ["qdrant has yet to take a refill"] * 2


async def test_an_interrupted_move_goes_on(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was embedded before the fault is not embedded again; the old space serves until the swap."""
    monkeypatch.setattr(moving, "BATCH", 1)
    await ready(pool, ALICE, upload(tmp_path, "a\nb"), "a\nb")
    embedder = FakeEmbedder()
    work = Reembed(VectorStore(pool), embedder, (Engine(),), NEXT)
    steps = work.run()
    await anext(steps)
    embedder.error = RetrievalError("embedding")
    with pytest.raises(RetrievalError):
        await anext(steps)
    assert await SpaceStore(pool).vectors_in(NEXT.name) == 0
    embedder.error = None
    assert await run(work) == 1
    assert await SpaceStore(pool).vectors_in(NEXT.name) == 2
