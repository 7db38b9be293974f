"""Legs over what was seen: labels that never look alike, ties by id. The engine's part: tests/sources."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.points import Collection
from app.domain.passage import Hit, Passage
from app.index import legs
from app.index.legs import Seen, assembled, short, worded


def made(marks: Mapping[str, str]) -> dict[str, Passage]:
    """Passages of nothing but their labels."""
    return {key: Passage("s", key, key, 1, f"s#{mark}") for key, mark in marks.items()}


def test_equal_scores_stand_in_the_order_of_their_ids() -> None:
    """In both legs and among the passages, whatever order they were seen in."""
    hits = {key: Hit(key, 1.0, 0.5, True) for key in "cab"}
    seen = Seen(hits=hits, similarities=dict.fromkeys("bca", 0.5), nearest=("b", "c", "a"))
    found = assembled("s", seen, dict.fromkeys("bca", 1.0), made, limit=2)
    assert [hit.key for hit in found.words] == [hit.key for hit in found.meaning] == ["a", "b"]
    assert list(found.passages) == ["a", "b"]


def test_a_passage_that_meaning_alone_chose_keeps_its_words_beside() -> None:
    """With the score it has now, and what it covers by itself; without a score it has no words."""
    seen = Seen(
        hits={"a": Hit("a", 2.0, 0.5, True), "b": Hit("b", 1.0, 0.25)},
        similarities={"b": 0.9, "c": 0.8},
        nearest=("b", "c"),
    )
    found = assembled("s", seen, {"a": 2.0, "b": 1.5, "c": 0.0}, made, limit=1)
    assert found.words == (Hit("a", 2.0, 0.5, True),)
    assert found.meaning == (Hit("b", 0.9),)
    assert found.beside == {"b": Hit("b", 1.5, 0.25)}
    assert [*found.passages] == ["a", "b"]


@given(st.sets(st.text(max_size=8), max_size=30))
def test_short_forms_are_stable_and_different(keys: set[str]) -> None:
    """Eight letters and digits, the same whatever stands beside them; another source's are others."""
    found = short("s", keys)
    assert len(set(found.values())) == len(keys)
    assert all(re.fullmatch("[0-9a-v]{8}", mark) for mark in found.values())
    assert all(short("s", [key])[key] == mark for key, mark in found.items())
    assert not set(short("t", keys).values()) & set(found.values())


def test_those_that_would_look_alike_are_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of them, and nobody else."""
    monkeypatch.setattr(legs, "digest", lambda text: ("x" if text[-1] in "ab" else "y") * 8 + text[-1] * 8)
    assert short("s", "abc") == {"a": "x" * 8 + "a" * 8, "b": "x" * 8 + "b" * 8, "c": "y" * 8}


@pytest.mark.parametrize(
    ("shape", "ours"),
    [
        (Collection("a", 8, "meaning", "words"), True),
        (Collection("a", 8), False),
        (Collection("a", 8, "", "words"), False),
        (Collection("a", 8, "meaning", "bm25"), False),
    ],
    ids=["ours", "no words", "another's dense", "another's words"],
)
def test_word_vectors_of_others_are_left_alone(shape: Collection, ours: bool) -> None:
    """Their terms are not hashed as ours are."""
    assert worded(shape) is ours
