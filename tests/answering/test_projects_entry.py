"""The engine: whatever a column holds, an entry comes of it, in time."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answering.projects import CONVERSATION, DREAM, SHOWN, SNIPPET, entry, fitted, names, parsed

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
COLUMNS = ("title", "tags", "key_entities", "summary_detailed", "memory_snippet", "file_path", "chunk_text")
HUGE: dict[str, Callable[[int], object]] = {
    "blanks": lambda n: " " * n,
    "lines": lambda n: "\n" * n,
    "ticks": lambda n: "`" * n,
    "rules": lambda n: "- " * n,
    "quotes": lambda n: "> " * n,
    "marks": lambda n: "<|" * n,
    "labels": lambda n: "[a" * n,
    "lists": lambda n: "[" * n,
    "tags": lambda n: json.dumps(["tag"] * (n // 8)),
    "many": lambda n: ["tag"] * n,
}
"""Shapes that make careless patterns take forever."""


@given(row=st.fixed_dictionaries(dict.fromkeys(COLUMNS, ANYTHING)))
def test_any_value_gives_an_entry(row: dict[str, object]) -> None:
    """JSON columns may hold whatever JSON can say, and an older tool's text columns too."""
    for form in (CONVERSATION, SNIPPET, DREAM):
        text = entry(form, row)
        assert text == text.strip("\n") or "```" in text
        assert "None" not in text or "None" in str(row)


@pytest.mark.parametrize("value", ["", " ", "\n\t ", None, 3, [], {}, b"bytes"], ids=repr)
def test_what_says_nothing_is_no_line(value: object) -> None:
    """Blank texts, and values that are no texts."""
    row = dict.fromkeys((*COLUMNS, "language", "summary_short", "chunk_metadata"), value)

    assert [entry(form, row) for form in (CONVERSATION, SNIPPET, DREAM)] == ["", "", ""]


def test_a_list_s_items_are_texts_or_numbers() -> None:
    """Nulls, truths, blanks and what is nested are left out; each stands on its line."""
    assert names(["a", None, True, 7, 2.5, " ", ["x"], {"y": 1}, "b\nc"], 300) == "a, 7, 2.5, b c"


def test_of_an_object_the_name_is_shown() -> None:
    """As it is found by it; what has none is left out."""
    assert names([{"name": "Firewalla", "type": "device"}, {"type": "x"}, "b", {"name": {}}], 300) == (
        "Firewalla, b"
    )


@pytest.mark.parametrize("value", [None, "", " ", " \n\t", 3], ids=repr)
def test_the_second_column_stands_where_the_first_shows_nothing(value: object) -> None:
    """Not only where it is null."""
    assert entry(SHOWN, {"summary_detailed": value, "summary_short": "short"}) == "- **Summary:** short"


def test_a_long_list_is_cut() -> None:
    """As a title is."""
    assert names([f"tag {n}" for n in range(10_000)], 20) == "tag 0, tag 1, tag 2,..."


@pytest.mark.parametrize("broken", ["[1,", "", "[" * 200_000, "[" * 90_000, '"[1"'])
def test_json_that_cannot_be_read_is_nothing(broken: str) -> None:
    """Neither broken, nor deep, nor megabytes long."""
    assert parsed(broken) is None


def test_an_entry_over_its_tokens_is_cut_shorter() -> None:
    """All its columns alike, as little as need be; what fits is untouched."""
    row = {"title": "t" * 10, "summary_short": "s" * 100, "memory_snippet": "m" * 100}
    whole = entry(DREAM, row)

    assert fitted(DREAM, row, len(whole), len) == whole
    shorter = fitted(DREAM, row, len(whole) - 20, len)
    assert len(whole) - 40 < len(shorter) <= len(whole) - 20
    assert shorter.count("...") >= 1
    assert fitted(DREAM, row, 0, len) == whole
