"""Expressions of time in a text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.text.dates import (
    FORMS,
    HINTS,
    KNOWN,
    MANY,
    MOST,
    NEAR,
    NOTHING,
    PHRASES,
    WORD,
    WORDS,
    bare,
    excerpt,
    expressions,
    joined,
    plain,
    reads,
    timeless,
    written,
)


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
        pytest.param("2023-05-07 and 8.5.2023", ["I", "I"], id="digits"),
        pytest.param("il y a deux semaines", ["VNU"], id="il y a"),
        pytest.param("a couple of weeks ago", ["NUA"], id="ago"),
        pytest.param("twenty-two days ago", ["NUA"], id="two words of one number"),
        pytest.param("45 days ago, in the last 90 days", ["CUA", "LCU"], id="large numbers"),
        pytest.param("il y a sept jours", ["VDU"], id="sept"),
        pytest.param("*yesterday*", ["R"], id="marked"),
        pytest.param("on Monday, am Dienstag", ["OW", "OW"], id="on a weekday"),
        pytest.param("last march, last may", ["Lm", "Lm"], id="small months"),
        pytest.param("between May and July 2023", ["QM&MY"], id="between"),
        pytest.param("from 2021 to 2023", ["QY&Y"], id="from"),
        pytest.param("7 mar 2023, on 7 may", ["DwY", "Dm"], id="months that are words"),
        pytest.param("in 1999", ["PY"], id="year"),
        pytest.param("two weeks before 11 August 2023", ["NUbDMY"], id="beside"),
        pytest.param("on the Sunday before 11 August 2023", ["WbDMY"], id="on a day beside"),
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
        "Quels sont mes derniers projets ?",
        "en el mar",
        "al mar",
        "life on Mars",
        "How long did the summer last?",
        "How long does a day last?",
        "Which of the 10 may be used?",
        "section 5 may be",
        "the 10 may start",
        "I am May",
        "for April",
        "a poem written by May",
        "during the fall of Rome",
        "for spring rolls",
        "in 2000 words",
        "after 2000 meters",
        "1.5 years ago",
        "2,5 weeks ago",
        "one hundred two days ago",
        "we have not met in a few days",
        "drawings inspired by autumn",
        "the last day of school",
        "0001-01-01 or 9999-12-30 of a day",
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
        pytest.param("vor 2020", "B", id="vor"),
        pytest.param("by 7 May 2021", "b", id="by"),
        pytest.param("for the summer", "", id="for the summer"),
        pytest.param("since Monday", "s", id="since a weekday"),
        pytest.param("from May until July", "", id="both"),
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
        assert set(found.letters) & set("MmwSWURYI")


def test_of_a_long_text_the_beginning_is_read() -> None:
    """The rest costs nothing."""
    assert expressions("x " * MOST + "yesterday") == ()


def test_a_ligature_makes_no_text_longer() -> None:
    """What it is without accents is cut again."""
    assert expressions("\ufdfa " * (MOST // 2 - 5) + "yesterday") == ()


def test_of_many_expressions_the_first_are_read() -> None:
    """And those that are the same, once."""
    assert len(expressions(" ".join(f"7 May {year}" for year in range(1950, 2000)))) == MANY
    assert len(expressions("yesterday and yesterday")) == 1


def test_of_a_long_text_what_is_near_a_time_is_read() -> None:
    """Wherever that is; what did not stand together does not."""
    filler = "so " * WORDS
    (found,) = expressions(f"{filler} two weeks ago {filler}")
    assert found.letters == "NUA"
    assert expressions(f"last {filler} May {filler} ago") == ()
    assert len(excerpt("7 may " * WORDS).split()) <= WORDS + 20


MARKED = st.sampled_from(["", "", "", ",", ".", "!", "-", "'", "…", "_", "1.5", "7.5.2023.", "x²", "٧", "’s"])
PIECES = st.tuples(MARKED, st.sampled_from([*sorted(KNOWN), *PHRASES, "cat", "so", "the"]), MARKED).map(
    "".join
)
READ = st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=40)


@settings(max_examples=40)
@given(READ)
def test_law_word_by_word_all_is_read(text: str) -> None:
    """What is read at a glance is what the pattern of a word tells of it."""
    found = (KNOWN.get(word) or (written(word) if word[0] <= "9" else NOTHING) for word in WORD.findall(text))
    least, most = (
        ("".join(kind for kind, _ in each)) for each in (reads(text), joined([*filter(kind_of, found)]))
    )
    assert [*filter(None, least.split("."))] == [*filter(None, most.split("."))]


def kind_of(read: tuple[str, int]) -> str:
    """ "": it means nothing."""
    return read[0]


@settings(max_examples=20)
@given(st.lists(PIECES | st.sampled_from(["so", "we"]), min_size=WORDS + 1, max_size=2 * WORDS))
def test_law_the_excerpt_is_what_stands_near_words_of_time(words: list[str]) -> None:
    """The first that are enough, in their order."""
    text = bare(" ".join(words)).lower()
    words = text.split()
    near: dict[int, str] = {}
    for at, word in enumerate(words):
        if word in HINTS or not (word.isalnum() or timeless(word)):
            near |= {
                n: words[n] for n in range(max(0, at - NEAR), min(len(words), at + NEAR)) if n not in near
            }
            if len(near) > WORDS:
                break
    assert (
        excerpt(text).split()
        == " ".join(word if at - 1 in near else f"x {word}" for at, word in sorted(near.items())).split()
    )


@settings(max_examples=40)
@given(READ)
def test_law_no_expression_is_missed_for_what_it_begins_with(text: str) -> None:
    """What is looked at first of it says as much as all of it."""
    letters = "".join(letter for letter, _ in reads(plain(bare(text))))
    whole = FORMS.pattern.partition(")")[2]
    assert [found[0] for found in FORMS.finditer(letters)] == [
        found[0] for found in re.finditer(whole, letters)
    ]
