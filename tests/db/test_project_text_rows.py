"""Rows as plain text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db import project_text

EMPTY: dict[str, Any] = dict.fromkeys(
    ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet")
)
FULL: dict[str, Any] = {
    "title": "Network",
    "tags": ["vlan", "wifi"],
    "key_entities": '["Firewalla"]',
    "summary_short": "short",
    "summary_detailed": "long",
    "memory_snippet": "snippet",
}


def test_a_conversation_shows_its_columns() -> None:
    """In their order, the detailed summary before the short one."""
    told = "Network\nTags: vlan, wifi\nKey entities: Firewalla\nlong\nsnippet"
    assert project_text.conversation_text(**FULL) == told
    assert project_text.conversation_text(**FULL | {"summary_detailed": " "}) == told.replace("long", "short")


def test_a_dream_shows_its_short_summary() -> None:
    """And the detailed one where there is no other."""
    assert "\nshort\n" in project_text.conversation_text(**FULL, brief=True)
    assert "\nlong\n" in project_text.conversation_text(**FULL | {"summary_short": None}, brief=True)


def test_a_conversation_is_found_by_all_of_it() -> None:
    """Both summaries too."""
    words = project_text.conversation_words(**FULL).split()
    assert words == ["Network", "vlan,", "wifi", "Firewalla", "long", "short", "snippet"]


def test_code_is_embedded_below_its_path() -> None:
    """What is missing is left out, what is long cut."""
    assert project_text.code_text(file_path="a.py", chunk_text="x = 1") == "a.py\nx = 1"
    assert project_text.code_text(file_path=None, chunk_text=None) == ""
    assert len(project_text.code_text(file_path="a", chunk_text="x" * 10_000)) == project_text.EMBEDDED


@pytest.mark.parametrize(
    "facts",
    [{"function_name": "walk", "signature": "walk(n)"}, '{"function_name": "walk", "signature": "walk(n)"}'],
    ids=["a value", "its text"],
)
def test_code_is_found_by_its_names(facts: object) -> None:
    """However the metadata is given."""
    found = project_text.code_words(file_path="a.py", chunk_metadata=facts, chunk_text="pass")
    assert found == "a.py\nwalk\nwalk(n)\npass"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, ""),
        ("", ""),
        ("[]", ""),
        ('["a", null, 3, true, "b"]', "a, 3, b"),
        ('{"a": 1, "b": ["x", "y"]}', "1"),
        ('[{"name": "ann", "age": 3}]', "ann, 3"),
        ('"one"', "one"),
        ('["broken', '["broken'),
        ("a, b", "a, b"),
        (["two\nlines\0"], "two lines"),
        ('["\\ud800"]', "?"),
    ],
    ids=["null", "nothing", "none", "list", "object", "objects", "text", "broken", "plain", "value", "lone"],
)
def test_json_of_any_kind_is_told(value: object, told: str) -> None:
    """Comma-joined where it can be, else as it stands."""
    assert project_text.listed(value) == told


@given(st.dictionaries(st.sampled_from(sorted(EMPTY)), st.text() | st.none()))
def test_anything_can_be_written_down(columns: dict[str, str | None]) -> None:
    """No NUL, no surrogate, whatever stands in the columns."""
    for text in (
        project_text.conversation_text(**EMPTY | columns),
        project_text.conversation_words(**EMPTY | columns),
    ):
        assert "\0" not in text
        assert text.encode().decode() == text


def test_megabytes_are_cut() -> None:
    """A row that another tool filled with them makes a passage like others."""
    huge = "x" * 1_000_000
    row: dict[str, Any] = dict.fromkeys(EMPTY, huge) | {"tags": json.dumps([huge])}
    assert len(project_text.conversation_text(**row)) < 10_000
    assert len(project_text.conversation_words(**row)) < 20_000
