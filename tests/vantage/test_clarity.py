"""What a message is like beside its risk: clarity, specificity, affect, breadth."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.clarity import Reading, describe
from app.vantage.decision import UNCLEAR
from app.vantage.text import read
from app.vantage.weigh import weigh
from tests.vantage.requests import AGAIN_CLEAR, CLEAR

ASKS = Path(__file__).parent / "sets" / "asks.jsonl"
BITS = "can|you|fix|it|there|the|of|mean|is|a|how|what|?|!|:|\n|7|my|“|”|'|i'd|but|Zürich|это|帮我"
TEXTS = st.text(max_size=400) | st.lists(st.sampled_from(BITS.split("|")), max_size=60).map(" ".join)


def of(message: str, *thread: str) -> Reading:
    """A message behind the asker's earlier turns, read."""
    return describe(message, read(message), thread)


def unclear(message: str, *thread: str) -> bool:
    """True if the policy asks back."""
    return of(message, *thread).clarity < UNCLEAR


@pytest.mark.parametrize(
    "message",
    [
        "fix it", "which is better?", "the other one", "Can you make it shorter?", "Help!", "tell me more",
        "What should I do?", "Is it?", "it doesn't work", "Should I use this one or that one?", "And?", "?",
        "", "...", "how do I do that", "I have a question.", "Mach das bitte nochmal", "est-ce mieux ?",
        "¿Puedes hacerlo otra vez?",
    ],
)  # fmt: skip
def test_a_message_that_names_nothing_is_asked_back(message: str) -> None:
    """In the languages that have a word list; the finding says why."""
    assert unclear(message)
    assert [finding.evidence for finding in of(message).findings] == ["clarity.unnamed"]
    assert "unclear" in weigh(message).decision.rules


@pytest.mark.parametrize(
    "message",
    [
        "fix the door", "Which is better, tea?", "2+2?", "translate \"it\"", "Oslo?", "why is grass green",
        "What is It about, the film It?", "Where is my order?", "list the moons", "Better call Saul",
    ],
)  # fmt: skip
def test_one_word_that_names_something_is_enough(message: str) -> None:
    """A content word, a name, a number, a quotation."""
    assert of(message).clarity == 1


@pytest.mark.parametrize(
    "message",
    [
        "hello", "ok, thanks!", "how are you?", "😀", "yes", "Who am I?", "What did I say yesterday?",
        "what do you know about me?", "Who are you?", "what can you do", "when did we talk?", "Wer bin ich?",
        "¿Quién soy yo?", "Qui suis-je ?",
    ],
)  # fmt: skip
def test_small_talk_and_what_memory_knows_is_clear(message: str) -> None:
    """Greetings and reactions; questions about the asker or the assistant."""
    assert of(message).clarity == 1


@pytest.mark.parametrize(
    "message",
    [
        "почини это",
        "帮我修一下",
        "これは何ですか",
        "ساعدني من فضلك",
        "bunu düzelt",
        "popraw to",
        "isso é melhor?",
        "यह क्या है",
    ],
)
def test_a_language_without_a_word_list_is_never_asked_back(message: str) -> None:
    """Nobody could tell that it names nothing."""
    assert not unclear(message)


def test_requests_that_say_what_they_want_are_clear() -> None:
    """Of every register; those of the blind set as well."""
    rows = [json.loads(line) for line in ASKS.read_text(encoding="utf-8").splitlines()]
    blind = [(row["prompt"], row.get("thread", [])[::2]) for row in rows if row["label"] == "clear"]
    asked = [*((request.message, request.thread[::2]) for request in (*CLEAR, *AGAIN_CLEAR)), *blind]
    assert [message for message, thread in asked if unclear(message, *thread)] == []


def test_a_thread_that_names_something_makes_it_clear() -> None:
    """The asker's own turns; one of small talk does not."""
    assert not unclear("fix it", "My tap drips.")
    assert unclear("fix it", "hello there!")
    assert [finding.evidence for finding in of("fix it", "My tap drips.").findings] == ["clarity.recalled"]


@given(TEXTS, st.lists(st.text(max_size=50), max_size=3))
def test_every_text_has_descriptors(message: str, thread: list[str]) -> None:
    """In [0, 1], the same each time, and a thread only ever makes a message clearer."""
    reading = of(message, *thread)
    values = (reading.clarity, reading.specificity, reading.affect, reading.breadth)
    assert all(0 <= value <= 1 for value in values)
    assert of(message, *thread) == reading
    assert reading.clarity >= of(message).clarity


@pytest.mark.parametrize(
    ("loose", "narrow"),
    [
        ("the rent of a flat", "the rent of a flat in Bergen"),
        ("the rent in Bergen", "the rent in Bergen 1987"),
        ("who said so", 'who said "so"'),
        ("call me", "call me if unless"),
        ("write words", "write exactly words"),
        ("what is due", "what is due in march"),
        ("Bread is good. Rice is good.", "Bread is good in Rome. Rice is good."),
    ],
)
def test_each_sign_narrows(loose: str, narrow: str) -> None:
    """Names, numbers, quotations, conditions, constraints, months; a sentence's first word is no name."""
    assert of(narrow).specificity > of(loose).specificity
    assert of("Rice").specificity == of("rice").specificity < 0.1


@pytest.mark.parametrize(
    ("calm", "moved"),
    [
        ("the dog is here", "the dog is here!"),
        ("the dog died yesterday", "the dog DIED YESTERDAY"),
        ("i am happy", "i am so happy"),
        ("i am here", "i am afraid"),
        ("it is late", "it is late 😭"),
        ("it is late", "it is laaaate"),
        ("ich bin hier", "ich bin verzweifelt"),
        ("NASA launch date", "NASA launch date :)"),
    ],
)
def test_each_sign_of_feeling_counts(calm: str, moved: str) -> None:
    """Marks, capitals, emphasis, words, pictures, stretched letters; acronyms do not shout."""
    assert of(moved).affect > of(calm).affect
    assert of("What is the capital of Peru, NASA or ISO codes?").affect == 0


@pytest.mark.parametrize(
    ("asks", "message"),
    [
        (1, "What is the capital of Peru?"),
        (1, "capital of peru"),
        (1, "Compare Rust and Go."),
        (1, "Explain salt and pepper to me"),
        (1, "I moved. I am tired. What should I eat?"),
        (1, "What is it? What is it?"),
        (2, "What is the capital of Peru and how many people live there?"),
        (2, "List the planets and explain their names."),
        (2, "Was ist das und wer hat es gebaut?"),
        (2, "Write a poem. Then translate it."),
        (3, "When? Where? Why?"),
        (3, "1) fix the door\n2) paint the wall\n3) sweep the floor"),
        (3, "1. one horse\n2. two cows\n3. three hens"),
        (2, "1. fix the door\n2. paint the wall"),
        (3, "- one horse\n- two cows\n- three hens"),
    ],
)
def test_asks_are_counted(asks: int, message: str) -> None:
    """Questions, orders, items of a list; each once."""
    assert of(message).breadth == pytest.approx(1 - 1 / asks, abs=1e-4)
