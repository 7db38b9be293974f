"""The words of retrieval: values that can key a cache."""

import dataclasses

import pytest

from app.domain.passage import DEFAULT_TENANT, Candidate, Hit, Legs, Passage, Query, Scope


def test_equal_queries_are_one_key() -> None:
    """A query is hashable, and its scope is part of it."""
    scope = Scope(session_id="s1")
    assert len({Query("text", scope), Query("text", Scope(session_id="s1"))}) == 1
    assert len({Query("text", scope), Query("text", Scope(session_id="s2"))}) == 2
    assert len({Query("text", scope), Query("text", Scope("other", session_id="s1"))}) == 2


def test_an_asker_without_keys_belongs_to_the_default_tenant() -> None:
    """And to nobody in particular."""
    assert (Scope().tenant, Scope().owner, Scope().user_id) == (DEFAULT_TENANT, "", None)


@pytest.mark.parametrize(
    "value", [Scope(), Query("q", Scope()), Passage("documents", "1", "t", 1, "a#1"), Hit("1", 1.0)]
)
def test_the_words_are_frozen(value: object) -> None:
    """A value that was passed on is what it was."""
    name = dataclasses.fields(value)[0].name  # type: ignore[arg-type] # every case is a dataclass
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "other")


def test_what_was_not_found_by_meaning_has_no_similarity() -> None:
    """None, not 0, which would be a figure."""
    assert Passage("documents", "1", "t", 1, "a#1").similarity is None
    assert Candidate(Passage("documents", "1", "t", 1, "a#1")).words is None


def test_legs_without_hits_hold_nothing() -> None:
    """An empty source: nothing stored, nothing found."""
    assert (Legs("documents").stored, Legs("documents").words, dict(Legs("documents").passages)) == (
        0,
        (),
        {},
    )
