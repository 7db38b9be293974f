"""What a message says of itself, on the hundred and hundred requests and on whatever may come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage import words
from app.vantage.clarity import Reading, read
from tests.vantage import families, pointers, probes, relooks
from tests.vantage.requests import AGAIN_CLEAR, AGAIN_VAGUE, CLEAR, VAGUE, Request

THRESHOLD = 0.35
"""Below it the policy asks back (app/vantage/rules.py)."""
LONG = 32_000
HOSTILE = {
    "words": "word ",
    "pronouns": "it, ",
    "questions": "a? ",
    "marks": "! ",
    "quotes": '"`',
    "openings": "and what ",
    "mash": "asdfg ",
    "items": "\n- ",
    "one letter": "a",
    "pictures": "😀",
    "accents": "é",
    "curly quotes": "“",
    "colons": ":\n",
    "capitals": "Aa ",
    "clitics": "a's",
    "so": "so it ",
    "between": "between a and ",
    "opposites": "make short but ",
    "commas": "is it, the ",
    "clauses": "it when a ",
    "sentences": "fix it. ",
    "mentions": "use then or ",
}


def of(request: Request) -> Reading:
    """A request, read."""
    return read(request.message, words.read(request.message), request.thread)


def test_requests_that_say_what_they_want_are_clear() -> None:
    """They are never asked back."""
    assert [request for request in (*CLEAR, *AGAIN_CLEAR) if of(request).clarity < THRESHOLD] == []


def test_requests_that_nobody_could_answer_are_not() -> None:
    """Everyone of them is asked back."""
    assert [request for request in (*VAGUE, *AGAIN_VAGUE) if of(request).clarity >= THRESHOLD] == []


def test_the_findings_say_what_took_from_clarity() -> None:
    """The heaviest of them."""
    reading = of(Request("can you fix it?"))
    assert len(reading.findings) > 1
    assert reading.clarity == pytest.approx(1 - max(finding.weight for finding in reading.findings))


def test_short_messages_are_told_but_for_the_doubtful() -> None:
    """None of the doubtful is excused any longer than it must be."""
    unclear = {
        message for message in (*probes.VAGUE, *probes.CLEAR) if of(Request(message)).clarity < THRESHOLD
    }
    assert unclear ^ set(probes.VAGUE) == probes.DOUBTFUL


@pytest.mark.parametrize(
    ("clear", "missed"),
    [
        (families.REVIEWED, frozenset()),
        (families.FAMILIES, frozenset()),
        (relooks.SECOND + relooks.THIRD, relooks.MISSED),
    ],
    ids=["reviewed", "families", "relooks"],
)
def test_what_is_told_behind_is_not_asked_back(clear: tuple[str, ...], missed: frozenset[str]) -> None:
    """A clause, a noun beside, a text, a word, the asker himself."""
    assert {message for message in clear if of(Request(message)).clarity < THRESHOLD} == missed


def test_what_is_told_nowhere_is() -> None:
    """The same questions without it."""
    clear = {message for message in pointers.POINTERS if of(Request(message)).clarity >= THRESHOLD}
    assert clear == pointers.MISSED


def test_the_sets_are_whole() -> None:
    """A hundred each, no request in both, none twice."""
    assert len(set(CLEAR)) == len(set(VAGUE)) == 100
    assert set(CLEAR + AGAIN_CLEAR).isdisjoint(VAGUE + AGAIN_VAGUE)


BITS = (
    "can|you|fix|it|there|so|the|of|to|than|mean|between|is|are|a|b|how"
    "|what|?|!|:|\n|7|my|“|”|'|dr|i'd|time|but|short|long"
)
texts = st.text(max_size=400) | st.lists(st.sampled_from(BITS.split("|")), max_size=60).map(" ".join)


@given(texts, st.lists(st.text(max_size=50), max_size=3))
def test_every_text_has_descriptors(message: str, thread: list[str]) -> None:
    """In [0, 1], the same each time, and nothing raises."""
    reading = read(message, words.read(message), thread)
    values = (reading.clarity, reading.specificity, reading.affect, reading.breadth)
    assert all(0.0 <= value <= 1.0 for value in values)
    assert read(message, words.read(message), thread) == reading


@given(texts)
def test_a_thread_never_makes_a_message_less_clear(message: str) -> None:
    """What was said before can only tell more."""
    text = words.read(message)
    assert read(message, text, ["Who built the Forth bridge?"]).clarity >= read(message, text).clarity
