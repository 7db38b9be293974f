"""The cards of a person, computed and written."""

import pytest

from app.db.memories import DESIRE, GRAVITY
from app.errors import RemovedMeanwhile, Unavailable
from app.services import profiles
from app.services.profiles import MESSAGES, PAGE, Profiled, ProfileService, Summary
from app.types import Scope
from tests.fakes.answering import NOW
from tests.fakes.speaking import FakeKeeping, FakeUtterances, said

ACME = Scope("acme")
ADA = Scope("acme", user_id="ada")
WORDS = said("My workout as a list", "Squats, then rest")
ALL = (GRAVITY, DESIRE, "style", "persona")


def service(own: FakeUtterances, kept: FakeKeeping) -> ProfileService:
    """Without a model."""
    return ProfileService(own, kept, Summary(None, "m"), lambda: NOW)


async def test_all_cards_are_written() -> None:
    """From the newest messages, as of when the work began."""
    own, kept = FakeUtterances({"ada": WORDS}), FakeKeeping()
    assert await service(own, kept).profile(ADA) == Profiled("ada", 2, ALL)
    assert kept.kinds("ada") == set(ALL)
    assert own.asked == [(ADA, MESSAGES)]
    assert kept.asked == [NOW]


async def test_again_replaces() -> None:
    """There is one card of each kind, however often it is computed."""
    own, kept = FakeUtterances({"ada": WORDS}), FakeKeeping()
    work = service(own, kept)
    await work.profile(ADA)
    await work.profile(ADA)
    assert len(kept.cards) == len(ALL)


async def test_nothing_left_to_say_leaves_no_card() -> None:
    """Cards do not outlive what they were made of."""
    own, kept = FakeUtterances({"ada": WORDS}), FakeKeeping()
    work = service(own, kept)
    await work.profile(ADA)
    own.words = {"ada": said("The boat is blue.")}
    assert (await work.profile(ADA)).kinds == (GRAVITY, DESIRE, "style")
    assert kept.kinds("ada") == {GRAVITY, DESIRE, "style"}
    own.words = {}
    assert await work.profile(ADA) == Profiled("ada", 0)
    assert kept.kinds("ada") == set()


async def test_all_users_of_a_tenant_page_by_page() -> None:
    """Each once, in order, whoever comes after a full page too."""
    users = [f"u{n:03}" for n in range(PAGE + 2)]
    work = service(FakeUtterances(dict.fromkeys(users, WORDS)), FakeKeeping())
    first, after = await work.page(ACME, "")
    second, end = await work.page(ACME, after or "")
    assert [item.user_id for item in (*first, *second)] == users
    assert (len(first), end) == (PAGE, None)
    assert await work.users(ACME) == len(users)


async def test_a_page_that_takes_too_long_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never before its first user is done: the next call goes on."""
    monkeypatch.setattr(profiles, "PAGE_SECONDS", 0)
    work = service(FakeUtterances({"ada": WORDS, "bob": WORDS}), FakeKeeping())
    first, after = await work.page(ACME, "")
    assert ([item.user_id for item in first], after) == (["ada"], "ada")
    second, after = await work.page(ACME, "ada")
    assert ([item.user_id for item in second], after) == (["bob"], None)


async def test_nobody_said_anything() -> None:
    """An empty page."""
    assert await service(FakeUtterances(), FakeKeeping()).page(ACME, "") == ([], None)


async def test_who_is_erased_meanwhile_gets_no_card() -> None:
    """Alone it is told, among others they are passed."""
    own = FakeUtterances({"ada": WORDS})
    work = service(own, FakeKeeping(RemovedMeanwhile()))
    with pytest.raises(RemovedMeanwhile):
        await work.profile(ADA)
    assert await work.page(ACME, "") == ([Profiled("ada", 0)], None)


async def test_a_store_that_is_away_is_told() -> None:
    """Nothing is acknowledged that was not written."""
    with pytest.raises(Unavailable):
        await service(FakeUtterances({"ada": WORDS}), FakeKeeping(Unavailable())).profile(ADA)
