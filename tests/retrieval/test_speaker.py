"""Who says a text, and whom a question names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.fusion import HEADINGS, WORDS, named, speaker


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("Anna: I swam", "Anna", id="name"),
        pytest.param("  Jean-Luc O. Picard : Engage", "Jean-Luc O. Picard", id="long name"),
        pytest.param("Олег: привет", "Олег", id="Cyrillic"),
        pytest.param("Will: I swam", "Will", id="a name that is a verb"),
        pytest.param("at 10:30 I swam", "", id="hour"),
        pytest.param("https://example.org", "", id="address"),
        pytest.param("I swam. And then: nothing", "I swam. And then", id="a sentence"),
        pytest.param("a" * 60 + ": x", "", id="too long"),
        pytest.param("no colon", "", id="none"),
        pytest.param("Summary: x", "", id="heading"),
        pytest.param("Zusammenfassung: x", "", id="German heading"),
        pytest.param("What: x", "", id="closed class"),
        pytest.param("I: x", "", id="pronoun"),
    ],
)
def test_a_speaker_is_named_before_a_colon(text: str, name: str) -> None:
    """As in transcripts; headings and words that name nothing are nobody."""
    assert speaker(text) == name


@pytest.mark.parametrize(
    ("question", "name", "is_named"),
    [
        pytest.param("What did Anna swim?", "Anna", True, id="as it is"),
        pytest.param("What did ANNA swim?", "Anna", True, id="in capitals"),
        pytest.param("what did anna swim", "Anna", True, id="no capitals at all"),
        pytest.param("What does anna mean?", "Anna", False, id="no name here"),
        pytest.param("What did Annabel swim?", "Anna", False, id="a part of another"),
        pytest.param("Annabel, or Anna?", "Anna", True, id="behind another"),
        pytest.param("Anna swam?", "Anna", True, id="first"),
        pytest.param("What will I do?", "Will", False, id="a verb"),
        pytest.param("what will i do", "Will", False, id="a verb, no capitals"),
        pytest.param("So. Will I do it?", "Will", False, id="a verb, first"),
        pytest.param("What did Will do?", "Will", True, id="a verb as a name"),
        pytest.param("Give me a summary", "Summary", False, id="not as a name"),
        pytest.param("小明说了什么? 小明", "小明", True, id="no such thing as capitals"),
        pytest.param("", "Anna", False, id="nothing"),
        pytest.param("Who?", "", False, id="nobody"),
    ],
)
def test_who_is_named_is_written_as_a_name(question: str, name: str, is_named: bool) -> None:
    """As a whole word and with a capital, if the question has any."""
    assert named(name, question) is is_named


def test_tables_are_read_as_texts_are() -> None:
    """In lower case; no name is a heading."""
    assert [word for word in HEADINGS | WORDS if word != word.lower()] == []
    assert not HEADINGS & WORDS


@given(st.text(), st.text())
def test_any_text_is_read(text: str, question: str) -> None:
    """Nothing raises, and nobody is named by nothing."""
    assert named(speaker(text), question) in (True, False)
    assert not named("", question)
