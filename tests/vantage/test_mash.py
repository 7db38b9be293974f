"""Keys struck at random, told from words."""

import pytest

from app.vantage.mash import mashed


@pytest.mark.parametrize(
    "text",
    ["asdfghjkl", "lkjhgfd", "sdkjfh", "xkcvbn sdfkjh wqerpo", "aaaaaaaa", "фывапр", "qwertz poiuzt yxcvbn"],
)
def test_struck_keys_are_mash(text: str) -> None:
    """A walk along a row, letters that never meet, one letter alone."""
    assert mashed(text)


@pytest.mark.parametrize(
    "text",
    [
        "property",
        "brewery",
        "Wertung",
        "strengths",
        "Angstschweiß",
        "szczęście",
        "Rhythmusgitarre",
        "https",
        "sparql",
        "SELECT",
        "HDFS",
        "getElementById",
        "hmmm",
        "hahaha",
        "Вопрос",
        "日本語",
        "bcrypt vs scrypt",
        "3.14159",
        "",
        "!!!",
    ],
)
def test_words_of_any_language_are_none(text: str) -> None:
    """Nor acronyms, names in code, laughter, numbers."""
    assert not mashed(text)


def test_a_struck_word_in_a_sentence_is_forgiven() -> None:
    """Most of the letters must be mash."""
    assert not mashed("what does the package xkcvbn do?")
    assert mashed("xkcvbnsdf so sdfkjhsdf")


def test_its_beginning_decides_for_a_long_text() -> None:
    """Mash to its end, or prose with mash behind it."""
    assert mashed("sdkjfh wqxzk " * 2000)
    assert not mashed("a plain sentence about nothing much " * 10 + "sdkjfh " * 2000)
