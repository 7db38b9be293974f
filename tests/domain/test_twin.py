"""Near duplicates: the same said with other marks and fillers."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.passage import Candidate, Passage
from app.domain.twin import FILLERS, LONGEST, NOTED, PAIRS, SHORT, marked, notes, single, told, twins

MAY = datetime(2023, 5, 8, tzinfo=UTC)


def found(*texts: str, source: str = "memories", at: datetime | None = MAY) -> list[Candidate]:
    """Memories with these texts, best first."""
    return [
        Candidate(Passage(source, str(n), text, 1, f"memory#{n}", created_at=at))
        for n, text in enumerate(texts)
    ]


def kept(*texts: str) -> int:
    """How many of them are told."""
    return len(twins(found(*texts))[0])


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(("I love hiking in the Alps.", "i really love hiking in the Alps!"), id="fillers"),
        pytest.param(("I'm allergic to nuts", "I am allergic to nuts."), id="contraction"),
        pytest.param(("I don’t eat meat", "I do not eat meat"), id="not"),
        pytest.param(("Ich mag den Tee sehr", "Ich mag Tee"), id="German"),
        pytest.param(("J'aime le thé", "J'aime vraiment le thé !"), id="French"),
        pytest.param(("Me gusta mucho el té.", "me gusta mucho té"), id="Spanish"),
    ],
)
def test_the_same_said_twice_is_told_once(texts: tuple[str, str]) -> None:
    """The best stays, the other is a duplicate of it."""
    items = found(*texts)
    assert twins(items) == (items[:1], [(items[1], items[0])])


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(("I weigh 80 kg", "I weigh 81 kg"), id="number"),
        pytest.param(("It is 3.5 km", "It is 35 km"), id="decimal"),
        pytest.param(("It was -5 degrees", "It was 5 degrees"), id="sign"),
        pytest.param(("It costs 5 €", "It costs 5 $"), id="currency"),
        pytest.param(("We met on 7 May", "We met on 8 May"), id="date"),
        pytest.param(("Anna is my sister", "Hanna is my sister"), id="name"),
        pytest.param(("I eat meat", "I do not eat meat"), id="negation"),
        pytest.param(("I can swim", "I can't swim"), id="contracted negation"),
        pytest.param(("I take the red pill daily", "I take the blue pill daily"), id="one word"),
        pytest.param(("She loves dogs", "He loves dogs"), id="pronoun"),
        pytest.param(("from Rome to Paris", "from Paris to Rome"), id="order"),
        pytest.param(("Das ist schon gut", "Das ist schön gut"), id="accent"),
        pytest.param(("You like tea?", "You like tea."), id="question"),
        pytest.param(("Coffee 👍", "Coffee 👎"), id="sign of the hand"),
        pytest.param(("ok", "hey"), id="fillers alone"),
    ],
)
def test_what_differs_in_anything_that_counts_is_told_twice(texts: tuple[str, str]) -> None:
    """However alike the rest is."""
    assert kept(*texts) == 2


def test_yesterday_of_two_days_is_two_days() -> None:
    """The words are the same, what they mean is not; said on the same day it is."""
    one, other = "I ran 5 km yesterday", "I really ran 5 km yesterday"
    apart = [*found(one), *found(other, at=MAY.replace(day=9))]
    assert twins(apart) == (apart, [])
    assert kept(one, other) == 1
    assert len(twins([*found("I run"), *found("I really run", at=MAY.replace(day=9))])[0]) == 1


def test_each_namespace_and_kind_is_apart() -> None:
    """A card and a note, or what two spaces keep, are two things; so are other sources' texts."""
    texts = ("I run", "I really run")
    for name in ("vantage_id", "kind"):
        pair = [
            Candidate(Passage("memories", text, text, 1, text, fields={name: text}, created_at=MAY))
            for text in texts
        ]
        assert twins(pair) == (pair, [])
    assert len(twins(found(*texts, source="documents"))[0]) == 2


def test_long_texts_are_not_compared() -> None:
    """They are seldom said twice, and cost the more."""
    assert kept("run " * LONGEST, "run " * LONGEST + "!") == 2


WORDS = st.sampled_from(["the", "really", "I", "not", "7", "8", "run", "couldn't", "x", "wrong"])
TEXTS = st.lists(st.lists(WORDS, max_size=5).map(" ".join), max_size=8)


@given(TEXTS)
def test_of_each_content_the_first_stays(texts: list[str]) -> None:
    """Nothing is lost, and no two that stay say the same."""
    items = found(*texts)
    stay, pairs = twins(items)
    first: dict[tuple[str, ...], str] = {}
    for text in texts:
        first.setdefault(told(text), text)
    assert [item.passage.text for item in stay] == list(first.values())
    assert sorted(int(item.passage.id) for item in (*stay, *(one for one, _ in pairs))) == list(
        range(len(texts))
    )
    assert all(told(one.passage.text) == told(best.passage.text) for one, best in pairs)


@given(st.lists(WORDS, max_size=6))
def test_twins_are_marked_alike(words: list[str]) -> None:
    """Fillers, marks and contractions leave the mark as it is."""
    full = " ".join(words)
    assert marked(full) == marked(" ".join(word for word in words if word not in FILLERS).upper() + "!")
    assert marked(full) == marked(full.replace("n't", " not"))


def test_no_filler_holds_what_texts_are_marked_by() -> None:
    """Else twins would not be compared."""
    held = [*FILLERS, *(text for pair in SHORT for text in pair)]
    assert [pair for pair in PAIRS if any(pair in word for word in held)] == []


def test_duplicates_of_both_kinds_are_told_apart_from_the_rest() -> None:
    """Equal texts first; what stays for a twin is named, and not for more than a few."""
    items = found("I run", "i  RUN", "I really run", "I walk")
    assert single(items) == ([items[0], items[3]], items[1:3], ["memory#2 is a duplicate of memory#0"])
    assert len(notes([(items[2], items[0])] * (NOTED + 1))) == NOTED
