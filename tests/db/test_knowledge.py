"""What is told of a project, in the record."""

import asyncio
from dataclasses import replace

import pytest

from app.db.pool import Pool
from app.db.projects import MOST_NOTES, Knowledge, KnowledgeChange, KnowledgeNote, KnowledgeStore
from app.errors import RetrievalError, TooMany, Unavailable
from app.types import Scope

THN = Scope("acme", project="THN")
STYLE = KnowledgeNote("Style", "Be brief.")
ALL = Knowledge("A home network.", "Name devices in full.", (STYLE, KnowledgeNote("Hours", "9 to 5.")))


@pytest.fixture
def store(pool: Pool) -> KnowledgeStore:
    """A fresh one."""
    return KnowledgeStore(pool)


async def test_what_is_put_is_there(store: KnowledgeStore) -> None:
    """Notes in their order; put again it replaces, whole."""
    assert await store.get(THN) is None
    await store.put(THN, ALL)
    assert await store.get(THN) == ALL

    await store.put(THN, Knowledge(rules="None."))

    assert await store.get(THN) == Knowledge(rules="None.")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(THN, tenant="other"), id="another tenant"),
        pytest.param(replace(THN, project="DAAS"), id="another project"),
        pytest.param(replace(THN, project="thn"), id="a name in other letters"),
        pytest.param(replace(THN, project=None), id="no project"),
    ],
)
async def test_a_project_s_knowledge_is_its_own(store: KnowledgeStore, other: Scope) -> None:
    """Neither read, nor replaced, nor removed from elsewhere."""
    await store.put(THN, ALL)

    assert await store.get(other) is None
    assert not await store.remove(other)
    await store.put(other, Knowledge("Another."))
    assert await store.get(THN) == ALL


async def test_a_user_reads_what_the_tenant_wrote(store: KnowledgeStore) -> None:
    """It has no owner."""
    await store.put(THN, ALL)

    assert await store.get(replace(THN, owner="ada", user_id="ada")) == ALL


async def test_a_part_is_written_beside_the_others(store: KnowledgeStore) -> None:
    """A note takes the place of the one of its title; what is not named stays; "" empties."""
    await store.put(THN, ALL)
    more = (KnowledgeNote("Hours", "10 to 6."), KnowledgeNote("Units", "Metric."))

    merged = await store.merge(THN, KnowledgeChange(overview="", notes=more))

    assert merged == Knowledge("", ALL.rules, (STYLE, *more))
    assert await store.get(THN) == merged


async def test_parts_that_race_are_all_kept(store: KnowledgeStore) -> None:
    """Each writer sees what the one before has written, also where there was no row yet."""
    notes = [KnowledgeNote(f"Note {n}", "Text.") for n in range(8)]

    await asyncio.gather(*(store.merge(THN, KnowledgeChange(notes=(note,))) for note in notes))

    kept = await store.get(THN)
    assert kept is not None
    assert {note.title for note in kept.notes} == {note.title for note in notes}


async def test_a_project_has_so_many_notes(store: KnowledgeStore) -> None:
    """One more is refused, and nothing of that request is kept."""
    full = Knowledge(notes=tuple(KnowledgeNote(str(n), "Text.") for n in range(MOST_NOTES)))
    await store.put(THN, full)

    with pytest.raises(TooMany, match="50 notes"):
        await store.merge(THN, KnowledgeChange(overview="New.", notes=(STYLE,)))
    assert await store.get(THN) == full


async def test_what_postgres_cannot_hold_is_replaced(store: KnowledgeStore) -> None:
    """NUL and halves of characters."""
    await store.put(THN, Knowledge("a\0b", "c\ud800d", (KnowledgeNote("e\0", "f\udc00"),)))

    kept = Knowledge("a\ufffdb", "c\ufffdd", (KnowledgeNote("e\ufffd", "f\ufffd"),))
    assert await store.get(THN) == kept


async def test_it_can_be_removed(store: KnowledgeStore) -> None:
    """Once; and the list of projects follows."""
    await store.put(THN, ALL)
    await store.put(replace(THN, project="DAAS"), ALL)
    assert await store.projects(THN) == ["DAAS", "THN"]

    assert await store.remove(THN)
    assert not await store.remove(THN)
    assert await store.projects(THN) == ["DAAS"]


async def test_a_postgres_that_is_gone_is_told(store: KnowledgeStore, pool: Pool) -> None:
    """What an answer can do without, as that."""
    await pool.close()

    with pytest.raises(RetrievalError):
        await store.get(THN)
    for asked in (store.put(THN, ALL), store.merge(THN, KnowledgeChange()), store.remove(THN)):
        with pytest.raises(Unavailable):
            await asked
