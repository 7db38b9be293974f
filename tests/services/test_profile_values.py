"""The cards that are computed from what a person says."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.db.memories import DAEMONS, DESIRE, GRAVITY, UNTOLD, Memory
from app.db.votes import OwnMessage
from app.retrieval.tags import card_weights, vb_desire_bias_map
from app.services.profiles import ORIGINS, PERSONA, STYLE, draft, drafts, named, portrait

NOW = datetime(2026, 5, 1, tzinfo=UTC)
TEXTS = ("I need rest", "My workout as a list", "Why?", "Compare squats", "The boat is blue", "")


def said(*texts: str) -> list[OwnMessage]:
    """A message a day, the last of today."""
    return [OwnMessage(text, NOW - timedelta(days=len(texts) - at)) for at, text in enumerate(texts, 1)]


def test_each_card_is_a_daemon_s() -> None:
    """So that it is no memory, and the next one replaces it."""
    made = drafts(portrait(said("I need rest after my workout", "Squats as a list"), NOW))
    assert [card.kind for card in made] == [GRAVITY, DESIRE, STYLE, PERSONA]
    assert [card.origin for card in made] == [*DAEMONS, DAEMONS[2]]
    assert all(card.origin in UNTOLD for card in made)


def test_gravity_holds_all_tags_and_desire_the_values() -> None:
    """With their weights, and the heaviest of them in words."""
    gravity, desire, *_ = drafts(portrait(said("I need rest", "My workout, then rest"), NOW))
    assert gravity.fields["weights"] == {"vb:rest": 1.0, "topic:workout": 0.505776}
    assert gravity.text == "Turns to rest (100%), workout (51%)."
    assert desire.fields["weights"] == {"vb:rest": 1.0}
    assert desire.text == "Keeps asking for rest (100%)."


def test_the_weights_are_read_as_they_were_written() -> None:
    """What answers look at is what profiles wrote."""
    _, desire, *_ = drafts(portrait(said("I need rest", "Just for fun"), NOW))
    card = Memory("a", "u", desire.text, 1, NOW, kind=desire.kind, fields=desire.fields)
    assert card_weights(card) == desire.fields["weights"]
    assert vb_desire_bias_map(card)["vb:play"] == 1.0


def test_who_says_nothing_in_particular_has_empty_profiles() -> None:
    """And no persona card."""
    made = drafts(portrait(said("The boat is blue."), NOW))
    assert [card.kind for card in made] == [GRAVITY, DESIRE, STYLE]
    assert made[0].text == "Turns to nothing in particular."
    assert made[0].fields["weights"] == {}


def test_five_tags_are_named() -> None:
    """The heaviest; the weights hold the others."""
    assert named({f"vb:v{n}": n / 10 for n in range(8)}) == "v7 (70%), v6 (60%), v5 (50%), v4 (40%), v3 (30%)"
    assert named({"garden": 0.5}) == "garden (50%)"


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12), st.integers(0, 3_000))
def test_cards_do_not_change_with_time_alone(texts: list[str], days: int) -> None:
    """Texts at least: nothing is written anew for somebody who said nothing more."""
    before, after = portrait(said(*texts), NOW), portrait(said(*texts), NOW + timedelta(days=days))
    assert [card.text for card in drafts(before)] == [card.text for card in drafts(after)]


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12))
def test_no_message_is_told(texts: list[str]) -> None:
    """Cards hold measures and tags."""
    told = " ".join(card.text for card in drafts(portrait(said(*texts), NOW)))
    assert not any(text in told for text in texts if len(text) > 5)


def test_every_card_has_its_daemon() -> None:
    """The four there are."""
    assert set(ORIGINS) == {GRAVITY, DESIRE, STYLE, PERSONA}
    assert draft(STYLE, "Short.").origin == "persona_daemon"
