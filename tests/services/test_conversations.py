"""Conversations and dreams, written over a record in memory and the real one; a session removed, with
what still waits to be written of it."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from app.answering import recorder as recorder_
from app.answering.recorder import Recorder
from app.db.conversations import ConversationDraft, ConversationStore, SaidTurn
from app.db.sessions import Session, SessionStore, Utterance
from app.errors import Forbidden, KeptElsewhere, Missing, RetrievalError, Unavailable
from app.services.conversations import ConversationService
from app.services.sessions import SessionService
from app.types import Scope
from tests.answering.test_stream import kept
from tests.fakes.answering import NOW, FakeLog
from tests.fakes.services import FakeVectors
from tests.fakes.talks import NOON, FakeDigest, FakeTalks

THN = Scope("acme", project="THN")
ADA = replace(THN, owner="ada", user_id="ada")
ROW = ConversationDraft(id="a", title="Network", tags=("vlan",), summary_short="Short.")
TALK = ConversationDraft(said=(SaidTurn("user", "Which VLAN?"),))


@dataclass
class House:
    record: ConversationStore = field(default_factory=FakeTalks)
    digest: FakeDigest = field(default_factory=FakeDigest)
    embedder: FakeVectors = field(default_factory=FakeVectors)

    @property
    def service(self) -> ConversationService:
        return ConversationService(self.record, self.digest, self.embedder, {"DAAS"}.__contains__)

    async def kept(
        self, *drafts: ConversationDraft, scope: Scope = THN, kind: str = "conversations"
    ) -> list[str]:
        return [str(outcome) for _, outcome in await self.service.keep(scope, kind, drafts)]


@pytest.fixture
def house() -> House:
    return House()


async def test_a_row_is_embedded_as_what_it_says(house: House) -> None:
    """Nothing that is given is made; a row of turns is made of them."""
    assert await house.kept(ROW, TALK) == ["created", "created"]

    assert house.embedder.asked == [
        "Network\nTags: vlan\nShort.",
        "plain title\nplain detailed\nplain snippet",
    ]
    assert house.digest.asked == [TALK]


async def test_what_is_there_already_costs_nothing(house: House) -> None:
    """No model, no embedding, no write; what is new beside it does, and the order stays."""
    await house.kept(ROW, TALK)
    house.embedder.asked.clear()
    house.digest.asked.clear()

    assert await house.kept(TALK, ROW) == ["unchanged", "unchanged"]
    assert (house.embedder.asked, house.digest.asked) == ([], [])
    assert await house.kept(ROW, replace(ROW, title="Other"), TALK) == ["replaced", "replaced", "unchanged"]
    assert house.embedder.asked == ["Other\nTags: vlan\nShort."]


async def test_an_owner_who_is_erased_meanwhile_is_told_of(house: House) -> None:
    await house.kept(ROW)

    assert isinstance(house.record, FakeTalks)
    assert house.record.since == [NOON]


@pytest.mark.parametrize(
    ("project", "kind"), [("DAAS", "conversations"), ("THN", "dreams"), ("daas", "dreams")]
)
async def test_a_project_keeps_one_of_both(house: House, project: str, kind: str) -> None:
    """The other's path is refused, whatever is asked; the detail names the right one."""
    scope, service = replace(THN, project=project), house.service

    for asked in (
        service.keep(scope, kind, [ROW]),
        service.list(scope, kind, cursor=None, limit=1),
        service.get(scope, kind, "a"),
        service.remove(scope, kind, "a"),
        service.remove_all(scope, kind),
    ):
        with pytest.raises(KeptElsewhere, match="/dreams" if project == "DAAS" else "/conversations"):
            await asked
    assert isinstance(house.record, FakeTalks)
    assert house.record.scopes == []


async def test_what_is_shared_is_the_tenant_s_to_remove(house: House) -> None:
    """A user key reads it; a row that is not there, or another's, is missing."""
    service = house.service
    await house.kept(ROW)

    assert (await service.get(ADA, "conversations", "a")).title == "Network"
    with pytest.raises(Forbidden):
        await service.remove(ADA, "conversations", "a")
    with pytest.raises(Missing):
        await service.remove_all(ADA, "conversations")
    with pytest.raises(Missing):
        await service.get(replace(THN, tenant="other"), "conversations", "a")
    await service.remove(THN, "conversations", "a")
    for asked in (service.remove(THN, "conversations", "a"), service.remove_all(THN, "conversations")):
        with pytest.raises(Missing):
            await asked


@pytest.mark.parametrize(
    "embedder",
    [
        pytest.param(FakeVectors(error=RetrievalError("embedding")), id="fails"),
        pytest.param(FakeVectors(delay=30), id="silent"),
    ],
)
async def test_without_a_vector_nothing_is_kept(house: House, embedder: FakeVectors) -> None:
    house.embedder = embedder

    with pytest.raises(Unavailable, match="embedding"):
        await house.service.keep(THN, "conversations", [ROW], seconds=0.05)
    assert isinstance(house.record, FakeTalks)
    assert house.record.rows == {}


async def test_one_who_leaves_leaves_nothing(house: House) -> None:
    house.embedder.delay = 30
    task = asyncio.create_task(house.kept(ROW))
    await asyncio.sleep(0.05)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(house.record, FakeTalks)
    assert house.record.rows == {}


HERE = Scope(owner="ada", session_id="s")


@dataclass
class Store(SessionStore):
    there: bool = True
    down: bool = False
    removed: list[Scope] = field(default_factory=list)

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int, containing: str | None = None
    ) -> tuple[list[Session], str | None]:
        return [Session("s", 1, 2, NOW, NOW)][:limit], cursor

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        return [Utterance("s", "user", "why", NOW, None)][:limit], cursor

    async def remove(self, scope: Scope) -> bool:
        if self.down:
            raise Unavailable
        self.removed.append(scope)
        return self.there


async def test_what_waits_is_written_before_the_turns_are_read() -> None:
    """Whoever left an answer finds its turn; another's is not waited for."""
    log = FakeLog()
    recorder = Recorder(log)
    for n, scope in enumerate((HERE, replace(HERE, owner="bob"), replace(HERE, session_id="t"))):
        recorder.later(replace(kept(f"a{n}"), scope=scope))
    await SessionService(Store(), recorder).turns(HERE, cursor=None, limit=9)
    assert ([answer.id for answer in log.answers], recorder.waiting) == (["a0"], 2)


@pytest.mark.parametrize("log", [FakeLog(down=True), FakeLog(hang=60)], ids=["down", "hangs"])
async def test_a_store_that_takes_nothing_holds_up_no_reader(
    log: FakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_, "PATIENCE", 0.05)
    recorder = Recorder(log)
    recorder.later(replace(kept(), scope=HERE))
    async with asyncio.timeout(10):
        turns, _ = await SessionService(Store(), recorder).turns(HERE, cursor=None, limit=9)
    assert ([turn.content for turn in turns], recorder.waiting) == (["why"], 1)


async def test_what_waits_to_be_written_goes_too() -> None:
    """Else the session would come back with it; another's record stays."""
    log = FakeLog()
    recorder = Recorder(log)
    for n, scope in enumerate((HERE, replace(HERE, owner="bob"), replace(HERE, session_id="t"))):
        recorder.later(replace(kept(f"a{n}"), scope=scope))
    await SessionService(Store(), recorder).remove(HERE)
    await recorder.drain()
    assert [answer.id for answer in log.answers] == ["a1", "a2"]
