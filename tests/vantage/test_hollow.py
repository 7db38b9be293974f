"""Words that do not say what is wanted."""

import pytest

from app.vantage.hollow import EITHER, EMPTY, LANGUAGES, VERBS, empty, hollow


@pytest.mark.parametrize(
    "text",
    [
        "can you fix it",
        "which is better",
        "i have a problem",
        "the thing",
        "kannst du das reparieren",
        "c'est quoi ça",
        "qué es esto",
        "помогите",
        "wat is dit",
        "7",
    ],
)
def test_a_message_of_empty_words_is_hollow(text: str) -> None:
    """In every language that has a table, or as a whole phrase."""
    assert hollow(text.split())


@pytest.mark.parametrize(
    "text", ["fix the roof", "wo ist der bahnhof", "où est la gare", "7 apples", "что нового"]
)
def test_one_word_with_a_meaning_is_enough(text: str) -> None:
    """To be about something."""
    assert not hollow(text.split())


def test_nothing_is_not_hollow() -> None:
    """It is silence, which has its own rule."""
    assert not hollow([])


def test_languages_are_not_mixed() -> None:
    """Empty words of two languages together are no message of either."""
    assert not hollow(["kannst", "ayúdame"])


def test_a_verb_that_is_a_noun_too_has_a_meaning_behind_an_article() -> None:
    """`Run it`, but `a run`."""
    verbs = EITHER - EMPTY
    assert [verb for verb in verbs if not empty([verb, "it"], 0)] == []
    assert [verb for verb in verbs if empty(["a", verb], 1)] == []


def test_a_time_is_empty_as_a_moment_only() -> None:
    """`Like last time`; `does time exist` is about time."""
    assert empty(["last", "time"], 1)
    assert not empty(["does", "time"], 1)


def test_tables_hold_lower_case_words() -> None:
    """As the messages are cut."""
    for table in (VERBS, EITHER, *LANGUAGES):
        assert [word for word in table if word != word.lower()] == []
