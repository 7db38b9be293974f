"""The write side of memories, on a real record."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from app.answer import Role, Turn
from app.db.memories import CARDS, DAEMONS, GRAVITY, Draft, MemoryOutcome, MemoryStore, RecentTextStore
from app.db.pool import Pool
from app.db.users import ErasureStore
from app.errors import Missing, RemovedMeanwhile, RetrievalError, Unavailable
from app.services import memories as writing
from app.services.memories import MemoryService
from app.types import Scope
from tests.fakes.answering import Words
from tests.fakes.keeping import ADA, NOON, FakeVectors
from tests.fakes.turns import tell

ROWS = "SELECT count(*) FROM ibid.memory"
TEXTS = "SELECT array_agg(text ORDER BY text) FROM ibid.memory"
DAEMON = Draft("a card", kind=GRAVITY, origin=DAEMONS[0])


@dataclass
class House:
    """A service and what it stands on."""

    pool: Pool
    embedder: FakeVectors = field(default_factory=FakeVectors)

    @property
    def service(self) -> MemoryService:
        """As wiring builds it."""
        pool = self.pool
        return MemoryService(MemoryStore(pool), RecentTextStore(pool), self.embedder, Words())

    async def texts(self) -> list[str]:
        """All that are kept, of any user."""
        return await self.pool.fetchval(TEXTS) or []

    async def kept(
        self, *texts: str, scope: Scope = ADA, asked: datetime | None = None
    ) -> list[MemoryOutcome]:
        """What becomes of words said in the scope's thread."""
        drafts = [Draft(text, thread_id=scope.thread_id) for text in texts]
        return [each.outcome for each in await self.service.remember(scope, drafts, asked=asked)]

    async def heard(self, text: str, *, scope: Scope = ADA, at: datetime = NOON) -> None:
        """The assistant says it in the scope's thread."""
        await tell(self.pool, scope, [Turn(Role.ASSISTANT, text, at)], answer_id=f"{scope} {at} {text}")


@pytest.fixture
def house(pool: Pool) -> House:
    """Where everything works."""
    return House(pool)


async def test_what_is_acknowledged_is_kept_and_found(house: House) -> None:
    """Durable and searchable, its tokens counted, in the thread it was said in."""
    (written,) = await house.service.remember(ADA, [Draft("I moved to Lyon", thread_id="t1")])

    assert written.outcome is MemoryOutcome.CREATED
    assert written.memory
    assert (written.memory.tokens, written.memory.thread_id, written.memory.place) == (4, "t1", 1)
    assert await MemoryStore(house.pool).get(ADA, written.memory.id) == written.memory


async def test_words_that_are_kept_are_not_kept_twice(house: House) -> None:
    """Nor embedded again; told in order with what is new beside them."""
    await house.kept("I moved.")
    house.embedder.asked.clear()

    assert await house.kept("I slept.", " i MOVED. ", "I ate.") == [
        MemoryOutcome.CREATED,
        MemoryOutcome.REPEATED,
        MemoryOutcome.CREATED,
    ]
    assert house.embedder.asked == ["I slept.", "I ate."]


async def test_an_echo_of_the_assistant_is_not_kept(house: House) -> None:
    """Nor what is cited of it; of half an echo the new half is."""
    await house.heard("You moved to Lyon in May [memory#k3v9q2ax]. It rained.")

    (echo, half) = await house.service.remember(
        ADA,
        [
            Draft("You moved to Lyon in May [memory#k3v9q2ax].", thread_id="t1"),
            Draft("You moved to Lyon in May. I miss the sea.", thread_id="t1"),
        ],
    )

    assert (echo.outcome, echo.memory) == (MemoryOutcome.ECHO, None)
    assert half.memory
    assert half.memory.text == "I miss the sea."
    assert await house.texts() == ["I miss the sea."]


async def test_what_is_heard_elsewhere_or_later_makes_no_echo(house: House) -> None:
    """Another thread, another user; the answer to these very words."""
    await house.heard("You moved to Lyon.", scope=replace(ADA, thread_id="t2"))
    await house.heard("You moved to Lyon.", scope=replace(ADA, user_id="bob"))
    await house.heard("You moved to Lyon.", at=NOON + timedelta(seconds=1))

    assert await house.kept("You moved to Lyon.", asked=NOON) == [MemoryOutcome.CREATED]


async def test_what_a_daemon_writes_is_nobody_s_echo(house: House) -> None:
    """A card is kept though the assistant said it, and replaces itself."""
    await house.heard("a card")
    for text in ("a card", "another"):
        (written,) = await house.service.remember(ADA, [replace(DAEMON, text=text)])
        assert written.outcome is MemoryOutcome.CREATED

    assert await house.texts() == ["another"]


async def test_a_long_conversation_is_compared_off_the_loop(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same end."""
    monkeypatch.setattr(writing, "MOMENT", 3)
    await house.heard("You moved to Lyon.")
    done: list[object] = []
    to_thread = asyncio.to_thread

    async def noted(work: Callable[..., object], *args: object) -> object:
        """As it is, and noted."""
        done.append(work)
        return await to_thread(work, *args)

    monkeypatch.setattr(asyncio, "to_thread", noted)

    assert await house.kept("You moved to Lyon.", "I slept.") == [MemoryOutcome.ECHO, MemoryOutcome.CREATED]
    assert len(done) == 3  # the drafts with all that was heard; their tokens; their terms


async def test_many_drafts_do_not_hold_the_loop(house: House) -> None:
    """Whoever writes them, others are answered meanwhile."""
    await house.heard("b. " * 50)
    drafts = [f"a. {n} " + "b. " * 1_000 for n in range(80)]
    writing_them = asyncio.create_task(house.kept(*drafts))
    turns = 0
    while not house.embedder.asked:
        await asyncio.sleep(0)
        turns += 1
    await writing_them

    assert turns > 100


@pytest.mark.parametrize("text", ["...", "  !  "])
async def test_words_without_a_word_are_kept_where_nothing_was_heard(house: House, text: str) -> None:
    """Nothing was heard that they could repeat."""
    assert await house.kept(text) == [MemoryOutcome.CREATED]


@pytest.mark.parametrize("kind", CARDS)
async def test_a_card_is_its_writer_s_own(house: House, kind: str) -> None:
    """Though a note has the same words, and though the assistant has said them; again it is a repeat."""
    await house.heard("I like green tea.")
    await house.kept("I like green tea.", scope=replace(ADA, thread_id="t2"))
    card = Draft("I like green tea. Also I hate peas.", kind=kind, thread_id="t1")
    same = replace(card, text="I like green tea.")

    written = await house.service.remember(ADA, [card, same])
    (again,) = await house.service.remember(ADA, [same])

    assert [(each.outcome, each.memory and each.memory.kind) for each in (*written, again)] == [
        (MemoryOutcome.CREATED, kind),
        (MemoryOutcome.CREATED, kind),
        (MemoryOutcome.REPEATED, kind),
    ]
    assert written[0].memory
    assert written[0].memory.text == card.text


async def test_echo_turns_leave_no_recall_loop(house: House) -> None:
    """The service's answers, fed back again and again: memories grow by the person's new words alone."""
    scope, said = ADA, ["I keep two rabbits in Odense.", "They are called Juno and Bramble."]
    assert await house.kept(*said) == [MemoryOutcome.CREATED] * 2
    for turn in range(40):
        answer = f"“{said[turn % 2]}” [memory#k3v9q2ax] Sources: [memory#k3v9q2ax]"
        new = f"Today, day {turn}, one of them ate {turn * 3} carrots." if turn % 10 == 0 else ""
        await house.heard(answer, at=NOON + timedelta(minutes=turn))
        asked = NOON + timedelta(minutes=turn, seconds=30)
        outcomes = await house.kept(f"{answer} {new}", scope=scope, asked=asked)
        assert outcomes == [MemoryOutcome.CREATED if new else MemoryOutcome.ECHO]

    texts = await house.texts()
    assert len(texts) == 2 + 4
    assert all("[memory#" not in text for text in texts)


@pytest.mark.parametrize(
    ("error", "delay"), [(RetrievalError("embedding"), 0), (None, 30)], ids=["failing", "hanging"]
)
async def test_without_a_vector_nothing_is_kept(
    house: House, error: RetrievalError | None, delay: float
) -> None:
    """The record is not even asked."""
    house.embedder.error, house.embedder.delay = error, delay

    with pytest.raises(Unavailable):
        await house.service.remember(ADA, [Draft("I moved.")], seconds=0.2)

    assert await house.pool.fetchval("SELECT count(*) FROM ibid.memory") == 0


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(hours=1)], ids=["asked", "by a clock ahead"])
@pytest.mark.parametrize("told", [False, True], ids=["when it came", "when it was said"])
async def test_nothing_is_kept_that_an_erasure_overtook(house: House, told: bool, ahead: timedelta) -> None:
    """One that came while the words were embedded: whoever's clock says when they were said."""
    house.embedder.delay = 0.1
    asked = datetime.now(UTC) + ahead if told else None
    keeping = asyncio.create_task(house.kept("I moved.", asked=asked))
    while not house.embedder.asked:  # noqa: ASYNC110 - nobody tells us
        await asyncio.sleep(0.01)
    await ErasureStore(house.pool).begin(ADA, [])

    with pytest.raises(RemovedMeanwhile):
        await keeping

    house.embedder.delay = 0
    assert await house.texts() == []
    assert await house.kept("I moved.") == [MemoryOutcome.CREATED]


async def test_two_who_say_the_same_at_once_both_succeed(house: House) -> None:
    """One memory, found."""
    house.embedder.delay = 0.05

    outcomes = await asyncio.gather(*(house.kept("I moved.") for _ in range(4)))

    assert sorted(outcome for (outcome,) in outcomes) == [
        MemoryOutcome.CREATED,
        *[MemoryOutcome.REPEATED] * 3,
    ]
    assert await house.pool.fetchval("SELECT place FROM ibid.memory") == 1
    assert await house.pool.fetchval(ROWS) == 1
    assert await house.texts() == ["I moved."]


async def test_a_removed_memory_is_gone(house: House) -> None:
    """A second time it is not there."""
    (written,) = await house.service.remember(ADA, [Draft("I moved.")])
    assert written.memory

    await house.service.remove(Scope("acme"), written.memory.id)

    assert await house.pool.fetchval("SELECT count(*) FROM ibid.memory") == 0
    with pytest.raises(Missing):
        await house.service.remove(Scope("acme"), written.memory.id)
