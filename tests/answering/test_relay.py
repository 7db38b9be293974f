"""A reply that another replica gives: two relays on one Postgres."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.answer import new_id
from app.answering.live import Live, LiveReply, lengths
from app.answering.recorder import Recorder
from app.answering.relay import WAITING, Relay, Remote
from app.db.answers import AnswerStore
from app.db.pool import Pool
from app.db.rows import storable
from app.tasks import crew
from app.types import Scope

ADA = Scope("acme", "ada", "ada", thread_id="t")


def progress(live: Live) -> LiveReply:
    """One in progress, of Ada."""
    begun = LiveReply(new_id(), "/api/chat", ADA)
    begun.tell("meta", {"answer_id": begun.answer_id})
    live.add(begun)
    return begun


@asynccontextmanager
async def relays(pool: Pool, live: Live) -> AsyncIterator[Relay]:
    """A replica with these replies, and another one, which asks."""
    recorder = Recorder(AnswerStore(pool))
    owner, asker = Relay(pool, live, recorder), Relay(pool, Live(), recorder)
    async with crew({"owner": owner.run, "asker": asker.run}):
        yield asker


async def asked(relay: Relay, begun: LiveReply, after: int = 0) -> Remote:
    """Both listen after a moment."""
    while True:
        if found := await relay.ask(ADA, answer_id=begun.answer_id, after=after, seconds=0.5):
            return found


async def test_a_reader_that_falls_behind_loses_nothing(pool: Pool) -> None:
    """More parts than wait for it: the missing ones are asked for again."""
    live = Live()
    begun = progress(live)
    said = [f"{n} {'ä' * 2_000}" for n in range(WAITING + 100)]
    async with relays(pool, live) as relay:
        found = await asked(relay, begun)
        first = await anext(found.events)
        for text in said:
            begun.token(text)
        await asyncio.sleep(0.5)  # it reads nothing meanwhile
        events = [first, *[await anext(found.events) for _ in said]]
        live.end(begun)
        assert [event async for event in found.events] == []
    assert [n for n, *_ in events] == [*range(1, len(said) + 2)]
    assert [data["text"] for _, name, data in events if name == "token"] == said


async def test_a_reply_is_stopped_and_a_strangers_is_not_found(pool: Pool) -> None:
    live, stopped = Live(), asyncio.Event()
    begun = progress(live)
    begun.stop = stopped.set
    async with relays(pool, live) as relay:
        await asked(relay, begun)
        for stranger in (Scope("acme", "bob", "bob"), Scope("other"), Scope("acme", "", "bob")):
            assert await relay.ask(stranger, answer_id=begun.answer_id, stop=True, seconds=0.2) is None
            assert await relay.ask(stranger, thread="t", stop=True, seconds=0.2) is None
        assert not stopped.is_set()
        found = await relay.ask(ADA, answer_id=begun.answer_id, stop=True)
        assert found
        async with asyncio.timeout(5):
            await stopped.wait()
        live.end(begun)
        assert [event async for event in found.events] == []


async def test_what_no_replica_has_is_known_at_once(pool: Pool) -> None:
    """And while it is not known who listens, after a silence."""
    live = Live()
    begun = progress(live)
    async with relays(pool, live) as relay:
        await asked(relay, begun)
        async with asyncio.timeout(20):
            assert await relay.ask(ADA, answer_id=new_id(), seconds=60) is None
            assert await relay.ask(ADA, thread="another", seconds=60) is None
            assert await relay.ask(Scope("acme", "bob", "bob"), answer_id=begun.answer_id, seconds=60) is None
    assert await relay.ask(ADA, answer_id=begun.answer_id, seconds=0.2) is None


async def test_a_reader_that_leaves_is_let_go(pool: Pool) -> None:
    """So that an answer that nobody else reads ends."""
    live = Live()
    begun = progress(live)
    async with relays(pool, live) as relay:
        found = await asked(relay, begun)
        assert (await anext(found.events))[1] == "meta"
        await found.events.aclose()
        async with asyncio.timeout(5):
            await begun.unfollowed()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(categories=("L", "Cs", "Cc")), min_size=1, max_size=4)))
def test_pieces_of_a_stored_text_are_as_long_as_it_is(pieces: list[str]) -> None:
    """Also where a pair of surrogates was split between two."""
    found = lengths(pieces)
    assert sum(found) == len(storable("".join(pieces)))
    assert [n for n, text in zip(found, pieces, strict=True) if text.isascii()] == [
        len(text) for text in pieces if text.isascii()
    ]
