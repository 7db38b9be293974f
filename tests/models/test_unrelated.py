"""The unrelated pairs."""

from app.answering.extractive import FUNCTION_WORDS
from app.models.spaces import QUESTIONS, TEXTS
from app.retrieval.terms import terms


def test_there_are_enough_pairs_and_none_twice() -> None:
    """A median needs many pairs, and each question and text counts once."""
    assert len(set(QUESTIONS)) == len(QUESTIONS)
    assert len(set(TEXTS)) == len(TEXTS)
    assert len(QUESTIONS) * len(TEXTS) >= 48


def test_texts_are_of_many_lengths() -> None:
    """From a line to a paragraph, as chunks are."""
    sizes = sorted(len(text) for text in TEXTS)
    assert sizes[0] < 80
    assert sizes[-1] > 400


def test_no_pair_shares_its_subject() -> None:
    """A question and a text share at most two words that say what they are about."""
    subjects = [frozenset(terms(text)) - FUNCTION_WORDS for text in TEXTS]
    for question in QUESTIONS:
        asked = frozenset(terms(question)) - FUNCTION_WORDS
        assert all(len(asked & subject) <= 2 for subject in subjects), question
