"""Rows of conversation_index before they are kept: names, hashes, what is missing, cuts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.conversations import Draft, Made, Said, derived, entry, names, shortened
from app.types import Scope

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DRAFT = Draft(
    "a", "Title", ("x",), ("y",), "Short.", "Detailed.", "Snippet.", NOON, (Said("user", "Hi"),), "Text"
)
MADE = Made("made title", "made short", "made detailed", "made snippet")
THN = Scope("acme", project="THN")


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Other"},
        {"title": None},
        {"title": ""},
        {"tags": ()},
        {"tags": None},
        {"key_entities": ("x",)},
        {"summary_short": "Detailed."},
        {"indexed_at": NOON + timedelta(microseconds=1)},
        {"said": (Said("assistant", "Hi"),)},
        {"text": ""},
    ],
    ids=str,
)
def test_the_hash_is_of_all_that_was_given(change: dict[str, object]) -> None:
    """Whatever differs makes another."""
    assert entry(replace(DRAFT, **change)).sha256 != entry(DRAFT).sha256  # type: ignore[arg-type]


def test_the_hash_is_of_what_was_meant() -> None:
    """Not of what a row is called, nor of how its time was written; halves of characters do not break it."""
    local = NOON.astimezone(timezone(timedelta(hours=2)))

    assert entry(replace(DRAFT, id="b", indexed_at=local)).sha256 == entry(DRAFT).sha256
    assert len(entry(Draft(title="\ud800")).sha256) == 64


def test_what_is_missing_is_made_where_something_was_said() -> None:
    """An empty text is a text; of nothing nothing is made."""
    assert not DRAFT.wanting
    assert not replace(DRAFT, title=None, said=(), text="").wanting
    bare = replace(DRAFT, title=None, summary_short="")

    assert bare.wanting
    assert bare.completed(MADE) == replace(DRAFT, title="made title", summary_short="")
    assert bare.completed(Made()) == bare


@pytest.mark.parametrize(
    "other",
    [
        replace(THN, tenant="b"),
        replace(THN, project="b"),
        replace(THN, owner="b"),
        replace(THN, project=None),
    ],
    ids=["tenant", "project", "owner", "no project"],
)
def test_a_name_means_another_row_elsewhere(other: Scope) -> None:
    """Of another tenant, project or owner."""
    assert derived(other, "a") != derived(THN, "a")


def test_parts_of_a_name_do_not_run_together() -> None:
    """Nor is an unnamed row ever that of a name."""
    assert derived(Scope("a", project="bc"), "d") != derived(Scope("ab", project="c"), "d")
    unnamed = entry(replace(DRAFT, id=None))
    assert names(THN, unnamed)[1] != names(THN, entry(replace(DRAFT, id=unnamed.sha256)))[1]


def test_a_given_id_may_stand_where_nobody_else_s_can_be() -> None:
    """In the tenant `default`, without an owner."""
    assert names(Scope(project="THN"), entry(DRAFT))[0] == "a"
    assert names(THN, entry(DRAFT))[0] is None
    assert names(Scope(owner="ada", project="THN"), entry(DRAFT))[0] is None
    assert names(Scope(project="THN"), entry(replace(DRAFT, id=None)))[0] is None


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        pytest.param("Short.", 6, "Short.", id="it fits"),
        pytest.param("One. Two. Three is long.", 12, "One. Two.", id="whole sentences"),
        pytest.param("A. Then comes a long sentence", 20, "A. Then comes a…", id="one that says too little"),
        pytest.param("Version 3.11 is out now", 14, "Version 3.11…", id="a point inside of a number"),
        pytest.param("x" * 30, 10, "x" * 9 + "…", id="one word"),
        pytest.param("雨が降った。そして止んだ。", 8, "雨が降った。", id="without blanks"),
    ],
)
def test_texts_are_cut_where_something_ends(text: str, most: int, cut: str) -> None:
    """A sentence, else a word."""
    assert shortened(text, most) == cut


@given(st.text(), st.integers(2, 40))
def test_a_cut_text_is_short_and_a_beginning(text: str, most: int) -> None:
    """Whatever it holds."""
    cut = shortened(text, most)

    assert len(cut) <= most
    assert text.startswith((cut, cut.removesuffix("…")))
