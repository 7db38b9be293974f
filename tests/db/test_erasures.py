"""The marks of erasures: what was asked for before leaves nothing, and what is still to be rewritten."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.answer import Answer, Role, Turn, new_id
from app.answering.recorder import Recorder
from app.db.answers import AnswerStore
from app.db.documents import Part
from app.db.pool import Pool
from app.db.rows import transaction
from app.db.users import LOCK, Belongings, Due, ErasureStore, evict_erased
from app.retrieval.index_cache import IndexCache, Key
from app.services.users import Caching, UserService
from app.types import Scope
from tests.db.test_answers import ANSWER
from tests.fakes.holdings import FakeFiles, FakeHolding
from tests.fakes.uploads import ALICE, ready, upload

ADA = Scope(tenant="acme", user_id="ada")
NAMES = ("memories", "answers")
MEMORY = """
    INSERT INTO ibid.memory (id, tenant, user_id, text, kind, origin, place, tokens, space, embedding)
    VALUES ('m', 'acme', $1, 'words', 'note', 'api', 1, 1, 's', '[1]')
"""
ASKERS = [
    pytest.param(ADA, id="in his name"),
    pytest.param(Scope(tenant="acme", owner="ada"), id="with his key"),
]
STRANGERS = [
    pytest.param(replace(ADA, tenant="other"), id="another tenant's of the name"),
    pytest.param(replace(ADA, user_id="bob"), id="another user"),
    pytest.param(Scope(tenant="acme"), id="nobody in particular"),
]


def asked(at: datetime) -> Answer:
    """An answer to a question of that time."""
    return replace(ANSWER, id=new_id(), created_at=at)


def clean(due: list[Due]) -> list[Due]:
    """All of their files were rewritten."""
    return [replace(each, dirty=()) for each in due]


async def stands(pool: Pool, answer: Answer) -> bool:
    """True if it was written."""
    return bool(await pool.fetchval("SELECT true FROM ibid.answer WHERE id = $1", answer.id))


@pytest.mark.parametrize("asker", ASKERS)
async def test_what_was_asked_before_is_not_written_after(pool: Pool, asker: Scope) -> None:
    """Neither the answer nor its turns nor an activity; what is asked later is kept again."""
    before = asked(datetime.now(UTC) - timedelta(seconds=1))
    await ErasureStore(pool).begin(ADA, NAMES)
    after = asked(datetime.now(UTC) + timedelta(seconds=1))

    for answer in (before, after):
        await AnswerStore(pool).keep(asker, answer, [Turn(Role.USER, "canary")])

    assert (await stands(pool, before), await stands(pool, after)) == (False, True)
    assert await pool.fetchval("SELECT count(*) FROM public.chat_log") == 1


@pytest.mark.parametrize("asker", STRANGERS)
async def test_others_answers_are_written(pool: Pool, asker: Scope) -> None:
    """An erasure is one user's of one tenant."""
    before = asked(datetime.now(UTC) - timedelta(seconds=1))
    await ErasureStore(pool).begin(ADA, NAMES)

    await AnswerStore(pool).keep(asker, before)

    assert await stands(pool, before)


@pytest.mark.parametrize("asker", ASKERS)
async def test_an_answer_that_waits_elsewhere_is_known_to_be_gone(pool: Pool, asker: Scope) -> None:
    """Another replica asks before it tells one of its backlog."""
    began = datetime.now(UTC) - timedelta(seconds=1)
    store = AnswerStore(pool)
    known = await store.removed(asker, began)

    mark = await ErasureStore(pool).begin(ADA, NAMES)

    assert (known, await store.removed(asker, began)) == (False, True)
    assert not await store.removed(asker, mark.erased_at)


async def test_an_answer_being_written_is_waited_for(pool: Pool) -> None:
    """Or the erasure would delete what is there, and the answer come after."""
    async with transaction(pool) as connection:
        await connection.fetchval("SELECT ibid.user_stands('acme', 'ada', now())")
        begun = asyncio.create_task(ErasureStore(pool).begin(ADA, NAMES))
        await asyncio.sleep(0.2)
        waited = not begun.done()

    await begun
    assert waited


async def test_writers_of_memories_are_waited_for(pool: Pool) -> None:
    """They decide under the lock of the user's memories."""
    async with transaction(pool) as connection:
        await connection.execute(LOCK, "\x1f".join(("ibid.memory", "acme", "ada")))
        begun = asyncio.create_task(ErasureStore(pool).begin(ADA, NAMES))
        await asyncio.sleep(0.2)
        waited = not begun.done()

    await begun
    assert waited


async def test_an_erasure_is_seen_by_caches(pool: Pool) -> None:
    """At its beginning and at its end: what was searched in between is not asked for again."""
    version = "SELECT version FROM ibid.memory_user"
    store = ErasureStore(pool)

    mark = await store.begin(ADA, NAMES)
    first = await pool.fetchval(version)
    await store.end(ADA, mark, [])

    assert await pool.fetchval(version) > first > 0


async def test_files_are_dirty_with_what_was_erased(pool: Pool) -> None:
    """And due, until they are rewritten."""
    store = ErasureStore(pool)

    mark = await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    due = await store.due()
    await store.compacted(clean(due))

    assert mark.dirty == ("answers",)
    assert mark.dirty_at
    assert mark.dirty_at > mark.erased_at
    assert [(each.tenant, each.user_id, each.dirty) for each in due] == [("acme", "ada", ("answers",))]
    assert await store.due() == []


async def test_nothing_erased_makes_nothing_dirty(pool: Pool) -> None:
    """To ask again tells when the files were rewritten."""
    store = ErasureStore(pool)
    await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    await store.compacted(clean(await store.due()))

    again = await store.end(ADA, await store.begin(ADA, NAMES), [])

    assert again.dirty == ()
    assert again.compacted_at is not None
    assert await store.due() == []


async def test_what_was_dirty_before_stays_so(pool: Pool) -> None:
    """Asked again before the files are rewritten, they are still due, by the same time."""
    store = ErasureStore(pool)
    first = await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])

    again = await store.end(ADA, await store.begin(ADA, NAMES), [])
    more = await store.end(ADA, await store.begin(ADA, NAMES), ["memories"])

    assert (again.dirty, again.dirty_at) == (("answers",), first.dirty_at)
    assert more.dirty == ("answers", "memories")
    assert more.dirty_at
    assert more.dirty_at > more.erased_at


async def test_an_erasure_that_broke_off_is_due_whole(pool: Pool) -> None:
    """A crash between beginning and end: nobody knows what was there. Not before it must have been one."""
    await ErasureStore(pool).begin(ADA, NAMES)
    at_once = await ErasureStore(pool).due()
    await pool.execute("UPDATE ibid.memory_user SET due_at = due_at - interval '10 minutes'")

    assert at_once == []
    assert [each.dirty for each in await ErasureStore(pool).due()] == [NAMES]


async def test_files_are_not_called_clean_by_a_compaction_that_came_too_early(pool: Pool) -> None:
    """It began before the erasure's deletes, whatever it was told then."""
    store = ErasureStore(pool)
    mark = await store.begin(ADA, NAMES)
    await pool.execute("UPDATE ibid.memory_user SET due_at = now()")
    early = await store.due()

    ended = await store.end(ADA, mark, ["answers"])
    await store.compacted(clean(early))

    assert [each.dirty for each in await store.due()] == [ended.dirty] == [("answers",)]


async def test_files_wait_for_a_slow_holding(pool: Pool) -> None:
    """A look for what is to be compacted, while a holding is at its deletes, finds nothing to do; the receipt
    does not call clean what was rewritten before them."""
    going, gone = asyncio.Event(), asyncio.Event()

    class Slow(FakeHolding):
        async def erase(self, scope: Scope) -> int:
            going.set()
            await gone.wait()
            return await super().erase(scope)

    files, holding = FakeFiles(), Slow("answers", {("acme", "ada"): [{"id": 1}]})
    subject = UserService([holding], [files], ErasureStore(pool), Recorder(AnswerStore(pool)), Caching())
    erasing = asyncio.create_task(subject.erase(ADA))
    await going.wait()
    early = await subject.compact()
    gone.set()

    receipt = await erasing

    assert (early, receipt.compacted, receipt.pending) == (False, False, ())
    assert await subject.compact()
    assert (await subject.erase(ADA)).compacted


async def test_an_earlier_erasure_that_ends_later_counts(pool: Pool) -> None:
    """Two at once: what the first dropped is dirty, though the second found nothing and is rewritten; and
    nothing is due while one of them is at it."""
    store = ErasureStore(pool)
    first = await store.begin(ADA, NAMES)
    second = await store.begin(ADA, NAMES)
    await store.end(ADA, first, ["answers"])
    meanwhile = await store.due()
    await store.end(ADA, second, [])

    assert meanwhile == []
    assert "answers" in (await store.due())[0].dirty


async def test_what_could_not_be_rewritten_is_looked_at_again_later(pool: Pool) -> None:
    """And stays dirty, also when asked again; nothing else does."""
    store = ErasureStore(pool)
    await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    await store.compacted([replace(each, dirty=("chroma",)) for each in await store.due()])
    at_once = await store.due()

    again = await store.end(ADA, await store.begin(ADA, NAMES), [])

    assert at_once == []
    assert (again.dirty, again.compacted_at) == (("chroma",), None)


async def test_names_of_whom_nothing_was_kept_leave_no_mark_for_long(pool: Pool) -> None:
    """It guards what is under way, and goes. Marks of others stay, and of who came back."""
    store = ErasureStore(pool)
    for user in ("ada", "bob", "eve"):
        scope = replace(ADA, user_id=user)
        await store.end(scope, await store.begin(scope, NAMES), ["answers"] if user == "bob" else [])
    await pool.execute(MEMORY, "eve")
    await store.sweep()
    at_once = await pool.fetchval("SELECT count(*) FROM ibid.memory_user")
    await pool.execute("UPDATE ibid.memory_user SET ended_at = ended_at - interval '49 hours'")

    await store.sweep()

    left = await pool.fetch("SELECT user_id FROM ibid.memory_user ORDER BY user_id")
    assert (at_once, [row["user_id"] for row in left]) == (3, ["bob", "eve"])


async def test_an_erasure_is_whole_when_the_last_of_two_has_ended(pool: Pool) -> None:
    """Until then searches are told what was written since (`retrieval/memories.py`)."""
    ended = "SELECT ended_at IS NOT NULL FROM ibid.memory_user"
    store = ErasureStore(pool)
    first = await store.begin(ADA, NAMES)
    second = await store.begin(ADA, NAMES)

    states = []
    for mark in (first, second):
        await store.end(ADA, mark, [])
        states.append(await pool.fetchval(ended))

    assert states == [False, True]


async def test_an_erasure_while_files_are_rewritten_is_due_again(pool: Pool) -> None:
    """What it dropped may be in files that were done already."""
    store = ErasureStore(pool)
    await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    due = await store.due()

    await store.end(ADA, await store.begin(ADA, NAMES), ["memories"])
    await store.compacted(clean(due))

    assert [each.dirty for each in await store.due()] == [("answers", "memories")]


async def test_files_rewritten_while_somebody_asks_how_they_stand_are_clean(pool: Pool) -> None:
    """To ask is to erase again. Having found nothing, that does not undo what was done meanwhile."""
    store = ErasureStore(pool)
    await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    due = await store.due()
    asking = await store.begin(ADA, NAMES)

    await store.compacted(clean(due))
    told = await store.end(ADA, asking, [])

    assert (told.dirty, told.compacted_at is not None) == ((), True)
    assert await store.due() == []


async def test_an_answer_about_files_never_forgets_what_was_dropped_meanwhile(pool: Pool) -> None:
    """Rewritten while two erasures are under way, one of which drops something: that is still to be done."""
    store = ErasureStore(pool)
    await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    due = await store.due()
    first, second = await store.begin(ADA, NAMES), await store.begin(ADA, NAMES)

    await store.end(ADA, first, ["memories"])
    await store.compacted(clean(due))
    told = await store.end(ADA, second, [])

    assert "memories" in told.dirty
    assert "memories" in (await store.due())[0].dirty


async def test_documents_are_cleared_away_first(pool: Pool, tmp_path: Path) -> None:
    """Removed but not yet purged, their bytes are rows like any other; and out of the engine."""
    await ready(pool, ALICE, upload(tmp_path))
    alice, store = Scope(tenant="acme", user_id="alice"), ErasureStore(pool)
    mark = await store.begin(alice, ["documents"])
    count = await Belongings(pool).erase(alice)
    await store.end(alice, mark, ["documents"])
    waiting = await store.due()

    await pool.execute("DELETE FROM ibid.document WHERE removed_at IS NOT NULL")
    still = await store.due()
    await pool.execute("UPDATE ibid.outbox SET engine = 'qdrant', collection = 'sleep'")

    assert (count, waiting, still) == (1, [], [])
    assert len(await store.due()) == 1


async def test_an_erasure_names_its_user(pool: Pool) -> None:
    """Else it would be everybody's."""
    with pytest.raises(ValueError, match="names its user"):
        await ErasureStore(pool).begin(Scope(tenant="acme"), NAMES)


async def test_every_replica_drops_the_indexes_of_an_erased_user(pool: Pool) -> None:
    """Whatever their scopes are called by; nobody else's."""
    predicates: list[Callable[[Key], bool]] = []

    class Indexes(IndexCache):
        """Notes what is to go."""

        def evict(self, chosen: Callable[[Key], bool]) -> None:
            predicates.append(chosen)

    listening = asyncio.create_task(evict_erased(pool, Indexes(8)))
    store, alice = ErasureStore(pool), Scope(tenant="acme", user_id="alice")
    for _ in range(100):  # until it listens
        await store.end(alice, await store.begin(alice, NAMES), ())
        await asyncio.sleep(0.05)
        if predicates:
            break
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)

    goes = [("memories", ("acme", "alice")), ("documents", Part("acme", "alice", "s1"))]
    stays = [("memories", ("acme", "bob")), ("memories", ("other", "alice")), ("documents", Part("acme"))]
    assert [predicates[0](key) for key in (*goes, *stays)] == [True, True, False, False, False]
