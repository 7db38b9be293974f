"""A pattern against a text: git's own signs, and no more time than the text has length."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.wildcard import ways


def match(pattern: str, text: str) -> bool:
    """Whether git would say so."""
    way = ways(pattern.encode())
    return way is not None and way.match(text.encode())


@pytest.mark.parametrize(
    ("pattern", "taken", "not_taken"),
    [
        ("a", "a", "b ab / ba"),
        ("*", "a abc", "a/b /"),
        ("a*", "a ab", "ba a/b"),
        ("?.py", "x.py", "é.py .py /.py"),
        ("[!a].py", "b.py", "a.py é.py /.py"),
        ("**", "a a/b", ""),
        ("**/b", "b a/b a/c/b /b", "ab a/cb"),
        ("**/**/b", "b a/b a/c/b", "ab"),
        ("a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb"),
        ("a/**", "a/b a/b/c", "a ab"),
        ("a**b", "ab axb", "a/b"),
        ("a/*/b", "a/x/b", "a/b a/x/y/b"),
        (r"\*", "*", "a"),
        ("[[:digit:]x]", "1 x", "a :"),
        ("[]a]", "] a", "b"),
        ("[a-c]", "a b c", "d -"),
        (r"[a\-c]", "a - c", "b"),
        ("[a-]", "a -", "b"),
        (r"[\]]", "]", "a"),
        ("[^a-y]", "z", "a y"),
        ("[[:digit]", "[ : d", "1"),
    ],
)
def test_what_a_pattern_takes(pattern: str, taken: str, not_taken: str) -> None:
    """As git does: bytes, and a slash by `**` alone."""
    assert [text for text in taken.split() if not match(pattern, text)] == []
    assert [text for text in not_taken.split() if match(pattern, text)] == []


@pytest.mark.parametrize(
    "pattern", ["\\", "a\\", "[", "[a", "[!", "[a\\", "[[:odd:]]", "[[::]]", "[a-\\", "[[:"]
)
def test_what_cannot_be_read_takes_nothing(pattern: str) -> None:
    """And raises nothing."""
    assert ways(pattern.encode()) is None


def test_a_range_the_wrong_way_is_empty() -> None:
    """It is read, and takes nothing."""
    assert not match("[z-a]", "m")
    assert not match("[9-0]", "5")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*a" * 60 + "b", "a" * 4_000),
        ("**/a/" * 900 + "x*y", "a/" * 1_900 + "z"),
        ("?*" * 900 + "b", "a" * 2_000),
    ],
    ids=["stars", "folders", "any"],
)
def test_no_pattern_takes_long(pattern: str, text: str) -> None:
    """However often one may begin anew."""

    assert not match(pattern, text)


@pytest.mark.parametrize("sign", ["?", "a", "*a", "[!a]", "\\a"])
def test_a_pattern_is_read_in_no_time(sign: str) -> None:
    """What is longer than a path can be matches nothing, and is not read."""

    assert ways((sign * (4_096 // len(sign))).encode()) is not None
    assert ways((sign * (65_536 // len(sign))).encode()) is None


@given(st.lists(st.sampled_from("ab/?*"), max_size=8), st.text("ab/", max_size=10))
def test_without_double_stars_it_is_a_regular_expression(signs: list[str], text: str) -> None:
    """`*` and `?` are what they are there, but for the slash."""
    pattern = re.sub(r"\*+", "*", "".join(signs))
    shape = pattern.replace("?", "[^/]").replace("*", "[^/]*")

    assert match(pattern, text) == bool(re.fullmatch(shape, text))
