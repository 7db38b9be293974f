"""gather(): everything that knows a person, beside each other, under one deadline."""

import asyncio

import pytest

from app.answering.question import Question
from app.answering.recall import CANDIDATES, Recall, Recalled, Split, Weighing, timely
from app.db.memories import Tally
from app.errors import RetrievalError
from app.retrieval.search import Retrieval
from app.types import Degraded, Scope
from tests.fakes.answering import NOW, FakeEmbedder, FakeSource
from tests.fakes.remembering import FakeCards, FakeTemporal, FakeVotes, card, memory, reference

ADA = Scope(user_id="ada")
SECONDS = 0.4


def parts(delay: float = 0) -> tuple[Recall, dict[str, FakeSource], FakeCards, FakeVotes]:
    """A recall over hand-written parts, each of which takes so long."""
    sources = {
        "memories": FakeSource([memory("m", "I walk")], name="memories", delay=delay),
        "corpus": FakeSource([reference("c", "Walking")], name="corpus", delay=delay),
    }
    cards, votes = FakeCards([card("persona", "Ada")], delay), FakeVotes({"m": Tally(1)}, delay)
    retrieval = Retrieval(sources, FakeEmbedder(), seconds=SECONDS)
    return Recall(retrieval, cards, votes, FakeTemporal(delay=delay)), sources, cards, votes


async def gathered(
    recall: Recall, personal: int = 8, corpus: int = 8, kinds: tuple[str, ...] = ("persona",)
) -> Recalled:
    """So many of each."""
    by = Weighing(Split(personal, corpus), 0.3, None, NOW)
    return await recall.gather(Question(ADA, "where do I walk"), by, kinds)


async def test_everything_is_fetched_for_one_message() -> None:
    """Passages, cards, votes of what may be told, and when the user was last here."""
    recall, _, cards, votes = parts()
    known = await gathered(recall)
    assert {item.passage.id for item in known.found.candidates} == {"m", "c"}
    assert [held.text for held in known.cards] == ["Ada"]
    assert known.tallies == {"m": Tally(1)}
    assert (known.moment and known.moment.bucket, known.degraded) == ("days", ())
    assert (cards.asked, votes.asked) == ([(ADA, ("persona",))], [("m",)])


async def test_all_hung_parts_together_cost_one_deadline() -> None:
    """Each is named, and what was missed is empty."""
    known = await gathered(parts(delay=30)[0])
    assert {item.source for item in known.degraded} == {"memories", "corpus", "cards", "temporal"}
    assert {item.reason for item in known.degraded} == {"timeout"}
    assert (known.found.candidates, known.cards, known.moment) == ((), (), None)


@pytest.mark.parametrize(("personal", "corpus", "asked"), [(0, 3, "corpus"), (3, 0, "memories")])
async def test_a_split_of_nothing_asks_nobody(personal: int, corpus: int, asked: str) -> None:
    """Of a source that is to give nothing nothing is searched; nor are cards that nobody wants."""
    recall, sources, cards, _ = parts()
    await gathered(recall, personal, corpus, kinds=())
    assert [name for name, source in sources.items() if source.queries] == [asked]
    assert cards.asked == []


async def test_enough_is_looked_at_to_leave_some_out() -> None:
    """So many a leg, or what is wanted if that is more."""
    recall, sources, *_ = parts()
    await gathered(recall, 8, 50)
    await gathered(recall, 3, 3)
    assert [query.limit for query in sources["memories"].queries] == [50, CANDIDATES]


async def test_a_late_part_is_a_word_and_not_an_error() -> None:
    """Its reason too; what comes in time is given as it is."""
    lost: list[Degraded] = []
    until = asyncio.get_running_loop().time() + 0.05

    async def fails() -> int:
        raise RetrievalError("overloaded")

    assert await timely("slow", asyncio.sleep(30, 1), until, lost) is None
    assert await timely("full", fails(), until + 1, lost) is None
    assert await timely("well", asyncio.sleep(0, 7), until + 1, lost) == 7
    assert lost == [Degraded("slow", "timeout"), Degraded("full", "overloaded")]


async def test_who_leaves_is_not_waited_for() -> None:
    """Cancellation passes through, and no task is left."""
    recall, *_ = parts(delay=30)
    before = asyncio.all_tasks()
    task = asyncio.create_task(gathered(recall))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
