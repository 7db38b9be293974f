"""What an answer of /vantage/query rests on: which turns and cards are shown, and what the features see."""

from typing import Any

import pytest

from app.answer import Role, Turn
from app.answering.question import Question
from app.answering.stream import Reply
from app.db.cards import CardDraft, Shape
from app.errors import InvalidField, RetrievalError
from app.services import vantage
from app.types import Scope
from app.vantage.terms import Mix, ResponseClass, Routing
from app.vantage.weigh import weigh
from tests.fakes.answering import NOW, FakeLog
from tests.fakes.noted import FakeCards
from tests.services.test_vantage import House

ADA = Scope(user_id="ada", thread_id="t", vantage_id="clinic")
TALK = [Turn(role, f"{role} said {n}", NOW) for n in range(6) for role in (Role.USER, Role.ASSISTANT)]
SAID = "What helped me sleep?"


async def prepared(
    log: FakeLog | None = None,
    cards: FakeCards | None = None,
    *,
    scope: Scope = ADA,
    message: str = SAID,
    window: int = 10_000,
    **fields: Any,
) -> Reply:
    """Everything but the answer."""
    log = log or FakeLog([(ADA, turn) for turn in TALK])
    house = House(log=log, namespace=cards or FakeCards(), window=window)
    return await house.vantage.prepare(Question(scope, message, inspect_only=True, **fields))


def system(reply: Reply) -> str:
    """What the model would be told."""
    return reply.context.prompt.messages()[0]["content"]


def turns(reply: Reply) -> list[str]:
    """The turns that it would be shown."""
    return [turn.content for turn in TALK if turn.content in system(reply)]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the policy was asked."""
    asked = list[tuple[Any, ...]]()

    def noting(*args: Any, **named: Any) -> Any:
        asked.append(args)
        return weigh(*args, **named)

    monkeypatch.setattr(vantage, "weigh", noting)
    return asked


@pytest.mark.parametrize("count", [0, 1, 4, 200])
async def test_so_many_turns_are_shown(count: int) -> None:
    """The newest; none unless they are asked for."""
    reply = await prepared(mix=Mix(conversation=count))
    assert turns(reply) == [turn.content for turn in (TALK[-count:] if count else ())]


async def test_the_features_see_the_askers_turns_of_those_shown(seen: list[tuple[Any, ...]]) -> None:
    """Not the answers, which may quote what somebody else wrote."""
    await prepared(mix=Mix(conversation=4), overlay="Be brief.")
    await prepared()
    assert [args[:3] for args in seen] == [
        (SAID, ("user said 4", "user said 5"), "Be brief."),
        (SAID, (), ""),
    ]


async def test_cards_of_the_namespace_are_shown() -> None:
    """And of no other."""
    cards = FakeCards()
    for namespace in ("clinic", "bakery"):
        await cards.put(ADA, CardDraft(Shape.CARD, namespace, f"The {namespace} is closed."))
    told = system(await prepared(cards=cards))
    assert "The clinic is closed." in told
    assert "bakery" not in told
    assert "[Cards]\n" not in system(await prepared(cards=cards, scope=Scope(user_id="ada")))


async def test_in_a_small_window_they_give_way() -> None:
    """The message has what it needs."""
    cards = FakeCards()
    await cards.put(ADA, CardDraft(Shape.CARD, "clinic", "word " * 400))
    reply = await prepared(cards=cards, window=460, mix=Mix(conversation=12))
    assert "word word" not in system(reply)
    assert len(turns(reply)) < 12


async def test_what_cannot_be_read_is_told() -> None:
    """The decision is taken without it."""
    told = (await prepared(cards=FakeCards(error=RetrievalError("unavailable")))).meta
    assert told["degraded"] == [{"source": "vantage_cards", "reason": "unavailable"}]
    assert told["response_class"] == "COMPLY"


@pytest.mark.parametrize(
    ("routing", "greets"),
    [(Routing(), True), (Routing(ResponseClass.REFUSE), False), (Routing(ResponseClass.CLARIFY), False)],
    ids=["answered", "refused", "asked back"],
)
async def test_for_a_greeting_that_is_answered_no_store_is_asked(routing: Routing, greets: bool) -> None:
    """One that routing gives another class is treated as any message."""
    cards = FakeCards()
    await cards.put(ADA, CardDraft(Shape.CARD, "clinic", "Closed."))
    cards.scopes.clear()
    reply = await prepared(cards=cards, message="hey again!", routing=routing, mix=Mix(conversation=4))
    assert (reply.meta["bypass"] == "greeting", bool(cards.scopes)) == (greets, not greets)


async def test_a_lens_that_is_not_there_is_told_first(seen: list[tuple[Any, ...]]) -> None:
    """Nothing is asked before."""
    cards = FakeCards()
    with pytest.raises(InvalidField, match="lenses are"):
        await prepared(cards=cards, mix=Mix(lens_fm="rose"))
    assert (cards.scopes, seen) == ([], [])
