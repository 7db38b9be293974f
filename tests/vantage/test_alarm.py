"""Who is in danger now, and what only sounds so."""

import pytest

from app.vantage.alarm import LOOKED, alarmed, needed, pattern, warm
from app.vantage.emergencies import EMERGENCIES
from app.vantage.topics import terms
from app.vantage.weigh import weigh
from tests.vantage.danger import CALLS, NONE


@pytest.mark.parametrize("message", CALLS)
def test_a_call_is_heard(message: str) -> None:
    """Whatever its marks and case."""
    assert alarmed(terms(message))
    assert alarmed(terms(message.upper().replace("'", "’")))
    assert alarmed(terms(message.replace("'", "")))


@pytest.mark.parametrize("message", CALLS)
def test_who_calls_is_sent_to_help(message: str) -> None:
    """By the rule that says so; nothing laxer is given."""
    decision = weigh(message).decision
    assert "emergency" in decision.rules
    assert decision.response_class in {"REDIRECT", "NEGOTIATE", "REFUSE"}


@pytest.mark.parametrize("message", NONE)
def test_what_only_sounds_so_is_none(message: str) -> None:
    """Nobody is sent to the emergency services for it."""
    assert not alarmed(terms(message))


@pytest.mark.parametrize("message", CALLS)
def test_a_case_thought_of_is_none(message: str) -> None:
    """The same words in a translation."""
    assert not alarmed(terms(f"Translate into Dutch: {message.replace('.', ',')}"))


def test_a_call_within_a_longer_message_is_heard() -> None:
    """Before and behind other sentences."""
    assert alarmed(terms("We were cooking. My wife fainted, she isn't breathing! What do I do?"))
    assert not alarmed(terms("We were cooking, my wife and I. What may we drink with it?"))


def test_a_family_is_compiled_once_it_is_asked_for() -> None:
    """No start pays for patterns that no message has called for; `warm` makes them all, each once."""
    pattern.cache_clear()
    needed.cache_clear()
    assert not alarmed(terms("My father breathes well, thank you."))
    assert pattern.cache_info().misses == 0
    assert alarmed(terms("My father can't breathe!"))
    assert 0 < pattern.cache_info().misses < len(EMERGENCIES)
    warm()
    assert pattern.cache_info().misses == needed.cache_info().misses == len(EMERGENCIES)


def test_time_is_bounded() -> None:
    """Texts made of nothing but telling words, within a few milliseconds, once the patterns are made."""
    warm()
    for word in ("breathe", "my", "someone stroke", "i took 20 pills", "my my my a breathing", "bleeding. i"):
        said = terms(f"{word} " * (32_000 // len(word)))
        alarmed(said)
    assert not alarmed(("breathe",) * LOOKED + ("i", "cant", "breathe"))
