"""Expressions of time in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.almanac import KNOWN
from app.domain.when import MOST, expressions


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        pytest.param("What did I do last spring?", ["LS"], id="season"),
        pytest.param("in May 2023, or on 7 May?", ["MY", "DM"], id="two"),
        pytest.param("May 7th, 2023", ["MDY"], id="American"),
        pytest.param("the 7th of May, 2023", ["DMY"], id="British"),
        pytest.param("am 7. Mai 2023", ["DMY"], id="German"),
        pytest.param("el 7 de mayo de 2023", ["DMY"], id="Spanish"),
        pytest.param("le 7 février 2023", ["DMY"], id="French"),
        pytest.param("2023-05-07 and 7.5.2023", ["I", "I"], id="digits"),
        pytest.param("il y a deux semaines", ["VNU"], id="il y a"),
        pytest.param("a couple of weeks ago", ["NUA"], id="ago"),
        pytest.param("in 1999", ["PY"], id="year"),
        pytest.param("two weeks before 11 August 2023", ["NUbDMY"], id="beside"),
    ],
)
def test_an_expression_is_told_by_the_kinds_of_its_words(text: str, letters: list[str]) -> None:
    """Whatever stands between them."""
    assert [found.letters for found in expressions(text)] == letters


@pytest.mark.parametrize(
    "text",
    [
        "this may be so",
        "the fall of Rome",
        "they march on",
        "I paid 2000 dollars",
        "Ich bin hier",
        "May is my sister",
        "2023-02-30",
        "half past 3",
        "day by day",
        "",
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    """Words that are something else as well, and days that there are not."""
    assert expressions(text) == ()


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("since 2021", "s", id="since"),
        pytest.param("seit Mai 2021", "s", id="seit"),
        pytest.param("before 7 May 2021", "B", id="before"),
        pytest.param("bis Mai", "b", id="bis"),
        pytest.param("después de mayo", "a", id="after"),
        pytest.param("in May", "", id="in"),
    ],
)
def test_a_word_before_it_bounds_it(text: str, bound: str) -> None:
    """From then on, until then, or afterwards."""
    (found,) = expressions(text)
    assert found.bound == bound


@given(
    st.lists(st.sampled_from([*sorted(KNOWN), "cat", "99", ",", "é"]), max_size=30).map(" ".join) | st.text()
)
def test_any_text_is_read(text: str) -> None:
    """An expression has a number for each of its letters, and at least one word of time."""
    for found in expressions(text):
        assert len(found.letters) == len(found.numbers)
        assert set(found.letters) & set("MmSWURYI")


def test_of_a_long_text_the_beginning_is_read() -> None:
    """The rest costs nothing."""
    assert expressions("x " * MOST + "yesterday") == ()
