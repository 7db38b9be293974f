"""Writing memories, without echoes, and reference texts, on a real record."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Role, Turn
from app.answering.stream import Remembered
from app.db.corpus import CorpusStore, ReferenceDraft
from app.db.memories import CARDS, DAEMONS, GRAVITY, Draft, MemoryOutcome, MemoryStore, RecentTextStore
from app.db.pool import Pool
from app.db.users import ErasureStore
from app.errors import (
    Forbidden,
    IbidError,
    Overloaded,
    RemovedMeanwhile,
    RetrievalError,
    Unavailable,
)
from app.services.corpus import CorpusService
from app.services.memories import ASKER, REMEMBER_SECONDS, Echoes, MemoryService, sentences_of
from app.types import Scope
from tests.fakes.answering import Words
from tests.fakes.records import tell
from tests.fakes.services import ADA, NOON, FakeVectors, ScriptedMemories

TEXTS = "SELECT array_agg(text ORDER BY text) FROM ibid.memory"
DAEMON = Draft("a card", kind=GRAVITY, origin=DAEMONS[0])


@dataclass
class House:
    pool: Pool
    embedder: FakeVectors = field(default_factory=FakeVectors)

    @property
    def service(self) -> MemoryService:
        pool = self.pool
        return MemoryService(MemoryStore(pool), RecentTextStore(pool), self.embedder, Words())

    async def texts(self) -> list[str]:
        return await self.pool.fetchval(TEXTS) or []

    async def kept(
        self, *texts: str, scope: Scope = ADA, asked: datetime | None = None
    ) -> list[MemoryOutcome]:
        drafts = [Draft(text, thread_id=scope.thread_id) for text in texts]
        return [each.outcome for each in await self.service.remember(scope, drafts, asked=asked)]

    async def heard(self, text: str, *, scope: Scope = ADA, at: datetime = NOON) -> None:
        await tell(self.pool, scope, [Turn(Role.ASSISTANT, text, at)], answer_id=f"{scope} {at} {text}")


@pytest.fixture
def house(pool: Pool) -> House:
    return House(pool)


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


async def test_many_drafts_do_not_hold_the_loop(house: House) -> None:
    await house.heard("so. " * 50)
    drafts = [f"no. {n} " + "so. " * 1_000 for n in range(80)]
    writing_them = asyncio.create_task(house.kept(*drafts))
    turns = 0
    while not house.embedder.asked:
        await asyncio.sleep(0)
        turns += 1
    await writing_them

    assert turns > 100


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


@pytest.mark.parametrize(
    ("error", "delay"), [(RetrievalError("embedding"), 0), (None, 30)], ids=["failing", "hanging"]
)
async def test_without_a_vector_nothing_is_kept(
    house: House, error: RetrievalError | None, delay: float
) -> None:
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


async def test_a_message_is_kept_as_it_was_said() -> None:
    """With its thread and namespace, as of when it came, as the person's; the answer's end waits a moment."""
    memories = ScriptedMemories()
    await memories.remember_message(replace(ADA, vantage_id="work"), " Did I move? ", NOON)

    ((scope, (draft,), seconds),) = memories.asked
    assert (scope.user_id, seconds) == ("ada", REMEMBER_SECONDS)
    assert (draft.text, draft.origin, draft.thread_id) == (" Did I move? ", ASKER, "t1")
    assert (draft.vantage_id, draft.created_at) == ("work", NOON)


@pytest.mark.parametrize("error", [Unavailable("down"), Overloaded()], ids=["down", "busy"])
async def test_a_message_that_cannot_be_kept_fails_nothing(error: IbidError) -> None:
    assert await ScriptedMemories(error=error).remember_message(ADA, "I moved.", NOON) is Remembered.FAILED


def own(text: str, heard: Sequence[str]) -> str:
    return Echoes(heard).own(text)


HEARD = ["Alice keeps two rabbits in Odense. They are called Juno and Bramble [memory#k3v9q2ax]."]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Alice keeps two rabbits in Odense.", id="a sentence"),
        pytest.param("  alice keeps TWO rabbits,\n in Odense ", id="case, white space, punctuation"),
        pytest.param("> “Alice keeps two rabbits in Odense.”", id="quoted"),
        pytest.param("- Alice keeps two rabbits in Odense [memory#k3v9q2ax].", id="a cited bullet"),
        pytest.param("2. They are called Juno and Bramble.", id="numbered"),
        pytest.param(HEARD[0] + " Sources: [memory#k3v9q2ax]", id="a whole answer with its sources"),
        pytest.param("They are called Juno and Bramble【memory#k3v9q2ax】", id="another bracket"),
        pytest.param("Juno", id="a word alone"),
        pytest.param("Sources: [memory#k3v9q2ax]", id="sources alone"),
        pytest.param("...", id="no word"),
    ],
)
def test_what_was_heard_is_no_new_word(text: str) -> None:
    assert own(text, HEARD) == ""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Juno ran away last night.", id="something new about it"),
        pytest.param("Alice keeps three rabbits in Aarhus.", id="another number and place"),
        pytest.param("They are called Juno and Pepper.", id="another name"),
        pytest.param("I moved to Lyon [issue#12].", id="nothing of it"),
    ],
)
def test_new_words_are_kept_as_they_are(text: str) -> None:
    assert own(text, HEARD) == text


def test_of_both_the_new_sentences_are_kept() -> None:
    text = "I fed them today. They are called Juno and Bramble [memory#k3v9q2ax]. Juno has a cold."

    assert own(text, HEARD) == "I fed them today. Juno has a cold."


def test_words_gathered_from_several_texts_are_new() -> None:
    heard = ["we went to the sea in May", "the sea in May was cold", "was cold and green"]

    assert own("we went to the sea in May was cold and green", heard) != ""
    assert own("the sea in May was cold", heard) == ""


def test_where_words_are_not_spaced_characters_are_compared() -> None:
    assert own("我有两只兔子。", ["她说我有两只兔子。真的。"]) == ""
    assert own("我有三只猫。", ["她说我有两只兔子。"]) == "我有三只猫。"


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=200))
def test_an_echo_of_oneself_is_empty_and_order_is_free(heard: list[str], text: str) -> None:
    """What was heard whole is never new; more heard never makes more new."""
    assert own(text, [*heard, text]) == ""
    assert len(sentences_of(own(text, heard))) <= len(sentences_of(text))
    assert own(text, heard) == own(text, heard[::-1])


ACME = Scope("acme")
ROWS_CORPUS = "SELECT array_agg(text ORDER BY text) FROM ibid.corpus_text"


@dataclass
class Library:
    pool: Pool
    embedder: FakeVectors = field(default_factory=FakeVectors)

    @property
    def service(self) -> CorpusService:
        return CorpusService(CorpusStore(self.pool), self.embedder, Words())

    async def texts(self) -> list[str]:
        return await self.pool.fetchval(ROWS_CORPUS) or []

    async def kept(self, *texts: ReferenceDraft, scope: Scope = ACME) -> list[bool]:
        return [fresh for _, fresh in await self.service.keep(scope, "sleep", texts)]


@pytest.fixture
def library(pool: Pool) -> Library:
    return Library(pool)


async def test_a_user_key_reads_and_does_not_write(library: Library) -> None:
    ada = Scope("acme", "ada", "ada")
    await library.kept(ReferenceDraft("a", "a1"))

    with pytest.raises(Forbidden):
        await library.kept(ReferenceDraft("b"), scope=ada)
    with pytest.raises(Forbidden):
        await library.service.remove(ada, "sleep", "a1")
    assert len(await library.service.collections(ada)) == 1
