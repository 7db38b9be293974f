"""Export and erasure of all that is kept of a person."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import cast

import pytest

from app.answering.recorder import Recorder
from app.db.outbox import Outbox
from app.db.users import Memories
from app.errors import IbidError, Unavailable
from app.retrieval.cache import Cache
from app.services import users
from app.services.users import WITHIN, MirroredHolding, OthersUnseen, UserService
from app.types import Found, Scope
from tests.answering.test_stream import kept
from tests.fakes.answering import FakeLog
from tests.fakes.holdings import AT, FakeErasures, FakeFiles, FakeHolding

ADA = Scope(user_id="ada")
WHO = ("default", "ada")


def some() -> list[FakeHolding]:
    bob = ("default", "bob")
    return [
        FakeHolding("memories", {WHO: [{"id": 1}, {"id": 2}], bob: [{"id": 3}]}),
        FakeHolding("answers", {WHO: [{"id": 4}], bob: [{"id": 5}]}),
    ]


def service(
    holdings: Sequence[FakeHolding],
    *,
    files: Sequence[FakeFiles] = (),
    erasures: FakeErasures | None = None,
    recorder: Recorder | None = None,
    cache: Cache | None = None,
    engines: Sequence["Slow"] = (),
) -> UserService:
    backlog = recorder or Recorder(FakeLog())
    return UserService(
        holdings,
        files,
        erasures or FakeErasures(),
        backlog,
        cache,
        shared_cache_seconds=300 if cache else 0,
        engines=cast(Sequence[Outbox], engines),
    )


async def test_an_export_walks_every_holding() -> None:
    """In their order, each row with its holding's name; another's rows are not there."""
    told = [item async for item in service(some()).export(ADA)]

    assert told == [("memories", {"id": 1}), ("memories", {"id": 2}), ("answers", {"id": 4})]


@dataclass
class Slow:
    name: str
    follows: bool | IbidError
    asked: int = 0

    async def wait_drained(self, seconds: float) -> bool:
        self.asked += 1
        if isinstance(self.follows, IbidError):
            raise self.follows
        return self.follows


async def test_a_receipt_names_the_engines_that_have_not_followed() -> None:
    """Until they have, what they hold of the user is there; of nobody's nothing is asked."""
    qdrant, chroma = Slow("qdrant", follows=False), Slow("chroma", follows=True)
    subject = service(some(), engines=[qdrant, chroma])

    assert (await subject.erase(ADA)).engines == ("qdrant",)
    assert (await subject.erase(ADA)).engines == ("qdrant",)  # its files are not rewritten yet
    qdrant.follows = Unavailable("Postgres is down")
    assert (await subject.erase(ADA)).engines == ("qdrant",)
    qdrant.follows = True
    assert (await subject.erase(ADA)).engines == ()
    asked = qdrant.asked
    assert (await service(some(), engines=[qdrant]).erase(replace(ADA, user_id="carol"))).engines == ()
    assert qdrant.asked == asked


async def test_an_erasure_is_marked_before_anything_goes() -> None:
    """Or an answer under way could be written after its holding was emptied."""
    erasures = FakeErasures()

    class Watching(FakeHolding):
        async def erase(self, scope: Scope) -> int:
            erasures.log.append("erase")
            return await super().erase(scope)

    await service([Watching("answers")], erasures=erasures).erase(ADA)

    assert erasures.log == ["begin", "erase", "end"]


@pytest.mark.parametrize(
    ("asked", "gone"),
    [
        pytest.param(Scope(user_id="ada"), True, id="in his name"),
        pytest.param(Scope(owner="ada"), True, id="with his key"),
        pytest.param(Scope(user_id="bob"), False, id="another user's"),
        pytest.param(Scope(tenant="other", user_id="ada"), False, id="another tenant's"),
        pytest.param(Scope(), False, id="nobody's"),
    ],
)
async def test_what_waits_to_be_written_goes_too(asked: Scope, gone: bool) -> None:
    recorder = Recorder(FakeLog())
    recorder.later(replace(kept(), scope=asked))

    receipt = await service(some(), recorder=recorder).erase(ADA)

    assert recorder.waiting == (0 if gone else 1)
    assert receipt.counts["answers"] == (2 if gone else 1)


async def test_a_holding_that_fails_keeps_no_other_from_going() -> None:
    """It is told which one; until all is gone the files count as dirty, and asking again goes on."""
    holdings, erasures = some(), FakeErasures()
    holdings[0].error = Unavailable("down")
    subject = service(holdings, erasures=erasures)

    with pytest.raises(Unavailable, match="memories") as raised:
        await subject.erase(ADA)
    holdings[0].error = None
    receipt = await subject.erase(ADA)

    assert raised.value.retry_after
    assert receipt.counts == {"memories": 2, "answers": 0}
    assert receipt.by is not None


async def test_results_in_this_process_are_forgotten() -> None:
    """They hold texts. Whoever erases nothing takes nothing from others."""
    found = Found(stored=1)

    async def search() -> Found:
        return found

    async with Cache(60) as cache:
        await cache.get("key", search, seconds=1)
        subject = service(some(), cache=cache)

        receipt = await subject.erase(ADA)
        again = await cache.get("key", search, seconds=1)

        nothing = await subject.erase(ADA)
        kept = await cache.get("key", search, seconds=1)

    assert again is not None
    assert kept is not None
    assert (again.cached, kept.cached) == (False, True)
    assert set(nothing.counts.values()) == {0}
    assert receipt.cached_until == receipt.erased_at + timedelta(seconds=300)


async def test_a_receipt_says_when_files_will_be_clean() -> None:
    files, erasures = FakeFiles(), FakeErasures()
    subject = service(some(), files=[files], erasures=erasures)

    first = await subject.erase(ADA)
    rewritten = await subject.compact()
    second = await subject.erase(ADA)

    assert (first.compacted, first.at, first.by) == (False, None, first.erased_at + WITHIN)
    assert rewritten
    assert (second.compacted, second.at, second.by) == (True, AT, None)


async def test_files_are_rewritten_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Soon after an erasure, once what is removed is cleared away; an engine that is away is tried again."""
    monkeypatch.setattr(users, "SOON", 0.01)
    monkeypatch.setattr(users, "EVERY", 0.01)
    files, erasures = FakeFiles(error=Unavailable("busy")), FakeErasures(waiting=True)
    subject = service(some(), files=[files], erasures=erasures)
    task = asyncio.create_task(subject.run())
    await asyncio.sleep(0)

    await subject.erase(ADA)
    await asyncio.sleep(0.05)
    erasures.waiting = False
    await asyncio.sleep(0.05)
    before = list(files.rewritten)
    files.error = None
    async with asyncio.timeout(5):
        await files.done.wait()
    task.cancel()

    assert before == []
    assert erasures.log.count("compacted") <= 1
    assert files.rewritten == [{"memories", "answers"}]


async def test_what_an_earlier_service_left_is_done_at_the_start() -> None:
    files, erasures = FakeFiles(), FakeErasures()
    mark = await erasures.begin(ADA, ["memories"])
    await erasures.end(ADA, mark, ["memories"])
    task = asyncio.create_task(service(some(), files=[files], erasures=erasures).run())

    async with asyncio.timeout(5):
        await files.done.wait()
    task.cancel()

    assert files.rewritten == [{"memories"}]


async def test_what_cannot_be_rewritten_is_told() -> None:
    """Not called clean, nor promised by a time; the rest is done once."""
    ours, large = FakeFiles("postgres"), FakeFiles("chroma", stuck={"answers", "chroma"})
    subject = service(some(), files=[ours, large])

    first = await subject.erase(ADA)
    await subject.compact()
    second = await subject.erase(ADA)
    large.stuck.clear()
    await subject.compact()
    third = await subject.erase(ADA)

    assert (first.pending, first.by is None) == ((), False)
    assert (second.compacted, second.pending, second.by) == (False, ("chroma",), None)
    assert (third.compacted, third.pending) == (True, ())


@pytest.mark.parametrize(
    ("share", "times"),
    [
        pytest.param(1e-9, users.BURST, id="a long one: once in a while"),
        pytest.param(1.0, 3 * users.BURST, id="one that takes no time: for each"),
    ],
)
async def test_files_are_rewritten_for_a_part_of_the_time(
    monkeypatch: pytest.MonkeyPatch, share: float, times: int
) -> None:
    """Tables are locked for all: whoever erases himself again and again is one among many in the next, unless
    nobody notices."""
    monkeypatch.setattr(users, "SOON", 0.001)
    monkeypatch.setattr(users, "SHARE", share)
    files, holdings = FakeFiles(), some()
    subject = service(holdings, files=[files])
    task = asyncio.create_task(subject.run())

    for _ in range(3 * users.BURST):
        holdings[:] = [FakeHolding("answers", {WHO: [{"id": 1}]})]
        await subject.erase(ADA)
        await asyncio.sleep(0.005)
    task.cancel()

    assert len(files.rewritten) == times


@dataclass
class Record(Memories):
    """Rows, and whether the engine was given back what was written meanwhile."""

    rows: list[Mapping[str, object]] = field(default_factory=lambda: [{"id": "a"}, {"id": "b"}])
    entered: bool = False
    others_later: bool = False

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        for row in self.rows:
            yield row

    async def erase(self, scope: Scope) -> int:
        count = len(self.rows)
        self.rows.clear()
        return count

    async def enter(self, scope: Scope) -> None:
        self.entered = True

    async def erase_others(self, scope: Scope) -> None:
        self.others_later = True


async def test_points_that_others_wrote_are_told_too() -> None:
    index = FakeHolding("memories", {WHO: [{"id": "b", "of": "index"}, {"id": "z"}]})

    told = [row async for row in MirroredHolding(Record(), index).export(ADA)]

    assert told == [{"id": "a"}, {"id": "b"}, {"id": "z"}]


@pytest.mark.parametrize(
    ("points", "count"),
    [pytest.param(5, 5, id="others' points too"), pytest.param(0, 2, id="an index that lost them")],
)
async def test_what_either_had_counts(points: int, count: int) -> None:
    index = FakeHolding("memories", {WHO: [{"id": str(n)} for n in range(points)]})
    record = Record()

    assert await MirroredHolding(record, index).erase(ADA) == count
    assert (record.rows, record.entered) == ([], True)


async def test_an_engine_that_is_away_keeps_no_row() -> None:
    record = Record()

    with pytest.raises(OthersUnseen):
        await MirroredHolding(record, FakeHolding("memories", error=Unavailable("down"))).erase(ADA)

    assert (record.rows, record.entered, record.others_later) == ([], False, True)


async def test_who_asks_while_an_engine_is_away_need_not_ask_again() -> None:
    """A second time would take what was written since; nor is a client told to try again by itself."""
    holding = FakeHolding("memories", error=OthersUnseen("down", retry_after=2))
    erasures = FakeErasures()

    with pytest.raises(Unavailable, match="no need to ask again") as raised:
        await service([holding], erasures=erasures).erase(ADA)

    assert raised.value.retry_after is None
    assert erasures.log == ["begin"]  # under way: what others wrote is not shown
