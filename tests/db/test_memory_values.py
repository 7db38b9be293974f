"""Whose words are the same memory."""

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.memories import CARDS, DAEMONS, GRAVITY, Draft, Tally, memory_id

DRAFT = Draft("I moved to Lyon.")
CARD = Draft("likes rest", kind=GRAVITY, origin=DAEMONS[0])


@pytest.mark.parametrize(
    "draft",
    [
        pytest.param(replace(DRAFT, text=" i moved\n\tTO lyon. "), id="case and white space"),
        pytest.param(
            replace(DRAFT, kind="diary", tags=("a",), thread_id="t", origin="journal"), id="the rest"
        ),
    ],
)
def test_the_same_words_are_the_same_memory(draft: Draft) -> None:
    """On every replica, in every thread."""
    assert memory_id("acme", "ada", draft) == memory_id("acme", "ada", DRAFT)


@pytest.mark.parametrize(
    ("tenant", "user", "draft"),
    [
        pytest.param("acme", "ada", replace(DRAFT, text="I moved to Lyon!"), id="words"),
        pytest.param("acme", "ada", replace(DRAFT, vantage_id="work"), id="namespace"),
        pytest.param("acme", "bob", DRAFT, id="user"),
        pytest.param("other", "ada", DRAFT, id="tenant"),
    ],
)
def test_any_other_is_another(tenant: str, user: str, draft: Draft) -> None:
    """Two people who say the same share nothing."""
    assert memory_id(tenant, user, draft) != memory_id("acme", "ada", DRAFT)


def test_a_daemon_s_card_is_known_by_its_kind() -> None:
    """Whatever it says by now; a person's card of that kind is another."""
    mine = memory_id("acme", "ada", CARD)

    assert memory_id("acme", "ada", replace(CARD, text="likes play")) == mine
    assert memory_id("acme", "ada", replace(CARD, kind="style")) != mine
    assert memory_id("acme", "ada", replace(CARD, origin="api")) != mine


@pytest.mark.parametrize("kind", CARDS)
def test_a_person_s_card_is_known_by_its_words_and_its_kind(kind: str) -> None:
    """A note of the same words is another; kinds that make no block are no name."""
    card = replace(DRAFT, kind=kind)

    assert memory_id("acme", "ada", card) != memory_id("acme", "ada", DRAFT)
    assert memory_id("acme", "ada", replace(card, text="another")) != memory_id("acme", "ada", card)
    assert memory_id("acme", "ada", replace(DRAFT, kind="diary")) == memory_id("acme", "ada", DRAFT)


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_id_is_a_uuid_of_the_fifth_kind(user: str, text: str) -> None:
    """As every engine takes it."""
    made = uuid.UUID(
        memory_id("acme", user.encode("utf-8", "replace").decode(), Draft(text.replace("\ud800", "")))
    )

    assert made.version == 5


def test_the_net_of_votes() -> None:
    """More good than bad."""
    assert (Tally(3, 1).net, Tally().net) == (2, 0)
