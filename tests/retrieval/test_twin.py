"""Near duplicates: the same said with other marks."""

from datetime import UTC, datetime
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.ranking import (
    COMPARED_CHARACTERS,
    LONGEST_COMPARED,
    NOTED,
    begun,
    normalised,
    noted,
    notes,
    without_duplicates,
    without_near_duplicates,
)
from app.types import Candidate, Passage

MAY = datetime(2023, 5, 8, tzinfo=UTC)


def found(*texts: str, source: str = "memories", at: datetime | None = MAY) -> list[Candidate]:
    """Memories with these texts, best first."""
    return [
        Candidate(Passage(source, str(n), text, 1, f"memory#{n}", created_at=at))
        for n, text in enumerate(texts)
    ]


def kept(*texts: str) -> int:
    """How many of them are told."""
    return len(without_near_duplicates(found(*texts))[0])


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(("I love hiking in the Alps.", "i love  hiking\nin the Alps!!!"), id="end"),
        pytest.param(("I love hiking.", "Oh, I love hiking"), id="interjection"),
        pytest.param(("I'm allergic to nuts", "I am allergic to nuts."), id="contraction"),
        pytest.param(("I don\u2019t eat meat", "I do not eat meat"), id="not"),
        pytest.param(("They've gone, we'll see", "They have gone, we will see"), id="auxiliaries"),
        pytest.param(("\u201cTea\u201d, he said", '"Tea", he said'), id="quotes"),
        pytest.param(("It was \u20135 degrees", "It was -5 degrees"), id="dash"),
        pytest.param(("J'aime le th\u00e9", "J'aime le the\u0301 !"), id="French"),
    ],
)
def test_the_same_said_twice_is_told_once(texts: tuple[str, str]) -> None:
    """The best stays, the other is a duplicate of it."""
    items = found(*texts)
    assert without_near_duplicates(items) == (items[:1], [(items[1], items[0])])


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
        pytest.param(("I took .5 mg", "I took 5 mg"), id="point"),
        pytest.param(("Balance: -$50", "Balance: $50"), id="sign before a sign"),
        pytest.param(("It was \u20135 degrees", "It was 5 degrees"), id="en dash"),
        pytest.param(("- 5 C", "5 C"), id="sign alone"),
        pytest.param(("x is (5)", "x is 5"), id="brackets"),
        pytest.param(("assert a != b", "assert a = b"), id="code"),
        pytest.param(("It is 6'", "It is 6"), id="feet"),
        pytest.param(("It is 6'", 'It is 6"'), id="inches"),
        pytest.param(("The exam went :)", "The exam went :("), id="face"),
        pytest.param(("No, money is here", "No money is here"), id="comma"),
        pytest.param(("It's not just a toy", "It's not a toy"), id="not just"),
        pytest.param(("It is not very hard", "It is not hard"), id="not very"),
        pytest.param(("Das war nicht einfach", "Das war nicht"), id="nicht einfach"),
        pytest.param(("An called me", "Le called me"), id="name like an article"),
        pytest.param(("Les: I moved out", "I moved out"), id="speaker"),
        pytest.param(("Plan A is cancelled", "The plan is cancelled"), id="letter"),
        pytest.param(("Vitamin A helps", "Vitamin helps"), id="letter left out"),
        pytest.param(("Je la d\u00e9teste", "Je le d\u00e9teste"), id="French pronoun"),
        pytest.param(("Ich habe dem geholfen", "Ich habe der geholfen"), id="German pronoun"),
        pytest.param(("J'ai v\u00e9cu un an \u00e0 Lyon", "J'ai v\u00e9cu \u00e0 Lyon"), id="a year"),
        pytest.param(("Ich komme am 5.", "Ich komme am 5"), id="ordinal"),
        pytest.param(("Oh, no", "no"), id="interjection alone"),
        pytest.param(("He said 'remember' twice", "He said aremember' twice"), id="no contraction"),
        pytest.param(("Ma\u00dfe z\u00e4hlen", "Masse z\u00e4hlen!"), id="sharp s"),
        pytest.param(("...", "!"), id="marks alone"),
    ],
)
def test_what_differs_in_anything_that_counts_is_told_twice(texts: tuple[str, str]) -> None:
    """However alike the rest is."""
    assert kept(*texts) == 2


def test_yesterday_of_two_days_is_two_days() -> None:
    """The words are the same, what they mean is not; said on the same day it is."""
    one, other = "I ran 5 km yesterday", "I ran 5 km  yesterday!"
    apart = [*found(one), *found(other, at=MAY.replace(day=9))]
    assert without_duplicates(apart) == (apart, [], [])
    assert without_duplicates([apart[0], *found(one, at=MAY.replace(day=9))])[1] == []
    assert kept(one, other) == 1
    assert len(without_near_duplicates([*found("I run"), *found("I run!", at=MAY.replace(day=9))])[0]) == 1


def test_each_namespace_and_kind_is_apart() -> None:
    """A card and a note, or what two spaces keep, are two things; so are other sources' texts."""
    texts = ("I run", "I run!")
    for name in ("vantage_id", "kind"):
        pair = [
            Candidate(Passage("memories", text, text, 1, text, fields={name: text}, created_at=MAY))
            for text in texts
        ]
        assert without_near_duplicates(pair) == (pair, [])
    assert len(without_near_duplicates(found(*texts, source="documents"))[0]) == 2


def test_long_texts_are_not_compared() -> None:
    """They are seldom said twice, and cost the more."""
    assert kept("run " * LONGEST_COMPARED, "run " * LONGEST_COMPARED + "!") == 2


TEXTS = st.lists(
    st.lists(st.sampled_from(["the", "I", "not", "7", "run", "run!", "couldn't", "."])).map(" ".join)
)


@given(TEXTS)
def test_of_each_content_the_first_stays(texts: list[str]) -> None:
    """Nothing is lost, and no two that stay say the same."""
    items = found(*texts)
    stay, pairs = without_near_duplicates(items)
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(normalised(text), text)
    assert [item.passage.text for item in stay] == list(first.values())
    every = sorted(int(item.passage.id) for item in (*stay, *(one for one, _ in pairs)))
    assert every == list(range(len(texts)))
    assert all(normalised(one.passage.text) == normalised(best.passage.text) for one, best in pairs)


SIGN = st.characters(exclude_categories=("Z", "Cc", "Cs")) | st.sampled_from(
    list("0159.,-+!'\"()$%:a\u2013\u2019\u0301")
)
WORDY = st.text(st.sampled_from(list("aeimnrtv 059.,-!'()$\u2013\u2019\u0301")), max_size=12) | st.text(
    max_size=12
)


@given(WORDY, SIGN, WORDY, st.sampled_from("xz7"))
def test_law_a_sign_more_or_less_is_another_thing(before: str, sign: str, behind: str, last: str) -> None:
    """Any digit, letter or mark before the last word's end, whatever stands beside it."""
    assert normalised(f"{before}{sign}{behind}{last}") != normalised(f"{before}{behind}{last}")


SAYINGS = st.sampled_from(["oh,", "Well,", "don't", "I’m", "run", "É", ".", "!", "7", "ok,", "run!!", "…"])


@given(st.lists(SAYINGS, max_size=14).map(" ".join) | WORDY)
def test_law_twins_begin_alike(text: str) -> None:
    """So that of texts that begin otherwise no more is read."""
    assert begun(text) == " ".join(normalised(text).split()[:COMPARED_CHARACTERS])


@given(st.text(max_size=20))
def test_law_how_a_text_is_written_makes_no_difference(text: str) -> None:
    """Its white space and the form of its accents."""
    assert normalised(f" {text}\n") == normalised(text)
    assert normalised(normalize("NFD", text)) == normalised(normalize("NFC", text))


def test_duplicates_of_both_kinds_are_told_apart_from_the_rest() -> None:
    """Equal texts first; what stays for a twin is named, and not for more than a few."""
    items = found("I run", "i  RUN", "I run!", "I walk")
    assert without_duplicates(items) == (
        [items[0], items[3]],
        items[1:3],
        ["memory#2 is a duplicate of memory#0"],
    )
    assert len(notes([(items[2], items[0])] * (NOTED + 1))) == NOTED


def test_identical_content_is_told_once_whatever_its_kind() -> None:
    """The prompt has identical content once; only near duplicates are kept apart by kind."""
    pair = [Candidate(Passage("memories", kind, "I run", 1, kind, fields={"kind": kind})) for kind in "ab"]
    assert without_duplicates(pair) == (pair[:1], pair[1:], [])


def test_a_note_is_known_by_its_labels() -> None:
    """Other notes may have the same words."""
    (told_so,) = notes([tuple(found("I run", "I run!"))])  # type: ignore[list-item]
    assert noted(told_so, {"memory#0", "memory#1"})
    assert not noted(told_so, {"memory#0"})
    assert not noted("memory#0", {"memory#0", ""})
