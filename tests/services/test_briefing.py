"""What is settled before anything is searched: which turns and cards are shown, and what the features see."""

from typing import Any

import pytest

from app.answer import Role, Turn
from app.answering.budget import Meter
from app.answering.budget import PromptLimits as Room
from app.db.cards import CardDraft, Shape
from app.db.sessions import Threads
from app.errors import InvalidField, RetrievalError
from app.services import vantage
from app.services.vantage import Briefing, Given, House, Inquiry
from app.types import Degraded, Scope
from app.vantage.terms import Mix, ResponseClass, Routing
from app.vantage.weigh import weigh
from tests.fakes.answering import NOW, FakeLog
from tests.fakes.noted import FakeCards

ADA = Scope(user_id="ada", thread_id="t", vantage_id="clinic")
TALK = [Turn(role, f"{role} said {n}", NOW) for n in range(6) for role in (Role.USER, Role.ASSISTANT)]


async def settled(log: FakeLog | None = None, cards: FakeCards | None = None, **fields: Any) -> Given:
    """What comes of a message."""
    house = House("m", Room(50_000, 40, 0.3, fields.pop("window", 10_000), 0, 100))
    threads = Threads(log or FakeLog([(ADA, turn) for turn in TALK]))
    meter = Meter(lambda text: len(text.split()))
    ask = Inquiry(fields.pop("scope", ADA), fields.pop("message", "What helped me sleep?"), **fields)
    return await Briefing(threads, cards or FakeCards(), house).given(ask, NOW, meter)


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
    shown = (await settled(mix=Mix(conversation=count))).thread.turns
    assert shown == tuple(TALK[-count:] if count else ())


async def test_the_features_see_the_askers_turns_of_those_shown(seen: list[tuple[Any, ...]]) -> None:
    """Not the answers, which may quote what somebody else wrote."""
    await settled(mix=Mix(conversation=4), overlay="Be brief.")
    await settled()
    assert [args[:3] for args in seen] == [
        ("What helped me sleep?", ("user said 4", "user said 5"), "Be brief."),
        ("What helped me sleep?", (), ""),
    ]


async def test_cards_of_the_namespace_are_shown() -> None:
    """And of no other."""
    cards = FakeCards()
    for namespace in ("clinic", "bakery"):
        await cards.put(ADA, CardDraft(Shape.CARD, namespace, f"The {namespace} is closed."))
    told = await settled(cards=cards)
    assert "The clinic is closed." in told.cards.text
    assert "bakery" not in told.cards.text
    assert (await settled(cards=cards, scope=Scope(user_id="ada"))).cards.text == ""


async def test_in_a_small_window_they_give_way() -> None:
    """The message has what it needs."""
    cards = FakeCards()
    await cards.put(ADA, CardDraft(Shape.CARD, "clinic", "word " * 200))
    told = await settled(cards=cards, window=400, mix=Mix(conversation=12))
    assert (told.cards.text, len(told.thread.turns) < 12) == ("", True)


async def test_what_cannot_be_read_is_told() -> None:
    """The decision is taken without it."""
    told = await settled(cards=FakeCards(error=RetrievalError("unavailable")))
    assert told.lost == (Degraded("vantage_cards", "unavailable"),)
    assert told.weighed.decision.rules


@pytest.mark.parametrize(
    ("routing", "greets"),
    [(Routing(), True), (Routing(ResponseClass.REFUSE), False), (Routing(ResponseClass.CLARIFY), False)],
    ids=["answered", "refused", "asked back"],
)
async def test_for_a_greeting_that_is_answered_no_store_is_asked(routing: Routing, greets: bool) -> None:
    """One that routing gives another class is treated as any message."""
    log, cards = FakeLog([(ADA, turn) for turn in TALK]), FakeCards()
    await cards.put(ADA, CardDraft(Shape.CARD, "clinic", "Closed."))
    cards.scopes.clear()
    told = await settled(log, cards, message="hey again!", routing=routing, mix=Mix(conversation=4))
    assert (told.greets, bool(told.thread.turns), bool(cards.scopes)) == (greets, not greets, not greets)


async def test_a_lens_that_is_not_there_is_told_first(seen: list[tuple[Any, ...]]) -> None:
    """Nothing is asked before."""
    cards = FakeCards()
    with pytest.raises(InvalidField, match="lenses are"):
        await settled(cards=cards, mix=Mix(lens_fm="rose"))
    assert (cards.scopes, seen) == ([], [])
