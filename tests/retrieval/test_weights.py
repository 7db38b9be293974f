"""Tag weights, computed and read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.memories import DESIRE, GRAVITY, Memory
from app.db.votes import OwnMessage
from app.retrieval.tags import HALF_LIFE_DAYS, card_weights, decay, newest, tag_weights

NOW = datetime(2026, 5, 1, tzinfo=UTC)
DAYS = st.floats(0, 400)


def card(kind: str = GRAVITY, *, at: datetime = NOW, name: str = "c", **fields: object) -> Memory:
    """A card with these fields."""
    return Memory(name, "u", "text", 1, at, kind=kind, fields=fields)


def letters(text: str) -> list[str]:
    """Each letter a tag."""
    return sorted(set(text))


def said(*messages: tuple[str, float]) -> list[OwnMessage]:
    """Messages with their age in days."""
    return [OwnMessage(text, NOW - timedelta(days=age)) for text, age in messages]


def test_a_message_counts_half_after_thirty_days() -> None:
    """And a quarter after sixty."""
    assert decay(NOW - timedelta(days=HALF_LIFE_DAYS), NOW) == 0.5
    assert decay(NOW - timedelta(days=2 * HALF_LIFE_DAYS), NOW) == 0.25


def test_a_message_from_the_future_counts_as_now() -> None:
    """A clock that is wrong makes nothing heavier than the newest."""
    assert decay(NOW + timedelta(days=90), NOW) == 1


def test_a_weight_is_a_share_of_the_messages() -> None:
    """By their decay: one of now and one of thirty days ago weigh two to one."""
    assert tag_weights(said(("a", 0), ("b", 30)), letters, NOW) == {"a": 0.666667, "b": 0.333333}


def test_heaviest_first() -> None:
    """And by name where they weigh the same: a card is the same on every machine."""
    found = tag_weights(said(("b", 0), ("ac", 0), ("c", 0)), letters, NOW)
    assert list(found) == ["c", "a", "b"]


def test_nobody_said_anything() -> None:
    """No weights."""
    assert tag_weights([], letters, NOW) == {}


@given(st.lists(st.tuples(st.text("abc", max_size=3), DAYS), min_size=1, max_size=20))
def test_weights_are_shares(messages: list[tuple[str, float]]) -> None:
    """In [0, 1], whoever says how much."""
    assert all(0 <= weight <= 1 for weight in tag_weights(said(*messages), letters, NOW).values())


@given(st.lists(st.tuples(st.text("abc", max_size=3), DAYS), min_size=1, max_size=20), DAYS)
def test_time_alone_changes_nothing(messages: list[tuple[str, float]], later: float) -> None:
    """Who says nothing more keeps their weights: all messages grow old alike."""
    before = tag_weights(said(*messages), letters, NOW)
    after = tag_weights(said(*messages), letters, NOW + timedelta(days=later))
    assert after.keys() == before.keys()
    assert all(abs(after[tag] - before[tag]) < 1e-5 for tag in before)


@given(st.lists(st.tuples(st.text("abc", max_size=3), DAYS), max_size=20))
def test_the_order_does_not_matter(messages: list[tuple[str, float]]) -> None:
    """Newest or oldest first."""
    there, back = said(*messages), said(*reversed(messages))
    first, second = tag_weights(there, letters, NOW), tag_weights(back, letters, NOW)
    assert first.keys() == second.keys()
    assert all(abs(first[tag] - second[tag]) < 1e-5 for tag in first)


@pytest.mark.parametrize(
    ("fields", "weights"),
    [
        pytest.param({"weights": {"vb:rest": 0.5, "odd": -2}}, {"vb:rest": 0.5, "odd": -2.0}, id="numbers"),
        pytest.param({"weights": {"a": True, "b": "1", "c": None}}, {}, id="no numbers"),
        pytest.param({"weights": {"a": float("nan"), "b": float("inf"), "c": 10**400}}, {}, id="not finite"),
        pytest.param({"weights": ["a"]}, {}, id="no mapping"),
        pytest.param({}, {}, id="no weights"),
    ],
)
def test_a_card_s_weights_are_read(fields: dict[str, object], weights: dict[str, float]) -> None:
    """Finite numbers; whatever else an older tool wrote is passed over."""
    assert card_weights(replace(card(), fields=fields)) == weights


def test_no_card_has_no_weights() -> None:
    """Not an error."""
    assert card_weights(None) == {}


def test_the_newest_card_of_a_kind_counts() -> None:
    """Others, and older ones, do not; of two at once the one with the greater id."""
    old, new, twin = card(at=NOW - timedelta(1)), card(name="d"), card(name="e")
    assert newest([new, twin, old, card(DESIRE, at=NOW + timedelta(1))], GRAVITY) is twin
    assert newest([old], DESIRE) is None
