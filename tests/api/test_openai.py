"""Marks and annotations of OpenAI's protocol, whatever the split of the model's text."""

from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answering.citations import CitationFilter, CitationMark
from app.api.openai import Marks, Placed, without_numbers

LABELS = ["a.pdf#1", "b.pdf#12", "memory#k3v9q2ax", "app/main.py#L10-42"]
PIECES = st.sampled_from(
    [
        *(f"[{label}]" for label in LABELS),
        *("[a.pdf#1, b.pdf#12]", "【a.pdf#1】", "[a.pdf#1](http://x.y)", "`[a.pdf#1]`", "[z.pdf#9]", "[1]"),
        *(" ", "\n", "\n\n", ". ", "`", "```\n", "[", "]", "(", "\\", "word", "é", "🍎", "\ud83c", "\udf4e"),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)
Style = Literal["number", "label", "none"]


def sent(deltas: list[str], style: Style) -> tuple[str, list[Placed]]:
    """The text that a client joins, and the citations in it."""
    return read(deltas, style)[:2]


def read(deltas: list[str], style: Style) -> tuple[str, list[Placed], list[CitationMark]]:
    """And what the filter says of them."""
    checked, marks = CitationFilter(LABELS), Marks(style)
    text, found = "", list[Placed]()
    for piece in [*map(checked.feed, deltas), checked.end()]:
        shown, here = marks.feed(piece, checked.marks)
        text += shown
        found += here
    return joined(text), found, checked.marks


def joined(text: str) -> str:
    """Halves of a character that meet are that character, as a client reads them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def split(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


@given(TEXTS, st.lists(st.integers(0, 500), max_size=12))
def test_annotations_point_at_their_marks(text: str, cuts: list[int]) -> None:
    """In the text as sent, whatever the model wrote and however it was split; numbers count from 1."""
    told, found = sent(split(text, cuts), "number")

    assert (told, found) == sent([text], "number")
    for place in found:
        shown = told[place.start : place.end]
        assert shown[0] + shown[-1] == "[]"
        assert str(place.n) in shown[1:-1].split(", ")
    assert list(dict.fromkeys(place.n for place in found)) == [*range(1, len({p.n for p in found}) + 1)]
    assert len({(place.n, place.label) for place in found}) == len({place.label for place in found})


@given(TEXTS, st.lists(st.integers(0, 500), max_size=12))
def test_labels_stay_where_they_are_wanted(text: str, cuts: list[int]) -> None:
    """And without marks nothing else is lost, but for inline code that is empty then."""
    labelled, places, marks = read(split(text, cuts), "label")
    as_is = [mark.written == "link" for mark in marks]
    bare, gone = sent(split(text, cuts), "none")

    assert (bare, gone) == sent([text], "none")
    assert [place.label for place in places] == [place.label for place in gone]
    for place in places:
        assert place.label.split("#")[0] in labelled[place.start : place.end]
    kept, at = "", 0
    removed = [place for place, stays in zip(places, as_is, strict=True) if not stays]
    for start, end in dict.fromkeys((place.start, place.end) for place in removed):
        before = labelled[at:start]
        kept, at = kept + before.removesuffix(" ") if before.endswith(" ") else kept + before, end
    if not any(mark.written == "code" for mark in marks):
        assert bare == joined(kept + labelled[at:])
    for place, stays in zip(gone, as_is, strict=True):
        assert (place.start < place.end) is stays
        assert place.end <= len(bare)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("It rose `[a.pdf#1]` again [a.pdf#1].", "It rose again."),
        ("It rose `` [a.pdf#1], [b.pdf#12] ``.", "It rose."),
        ("`[a.pdf#1]` `[b.pdf#12, a.pdf#1]` It rose", " It rose"),
        ("It rose `by 3 [a.pdf#1]` and `x[0]`.", "It rose `by 3` and `x[0]`."),
        ("```\nx [a.pdf#1]\n```", "```\nx [a.pdf#1]\n```"),
        ("It [rose [a.pdf#1]](http://x.y) `[`", "It [rose](http://x.y) `[`"),
    ],
)
def test_without_marks_inline_code_has_none(said: str, shown: str) -> None:
    """And there is none that holds nothing else. Fenced code does not cite."""
    assert sent([said], "none")[0] == sent(list(said), "none")[0] == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("It gave 412 [1], and cider [2] [3].", "It gave 412, and cider."),
        ("Both [1, 2].", "Both."),
        ("`a [1]` and ```\nb [2]\n``` stay [1]", "`a [1]` and ```\nb [2]\n``` stay"),
        ("x = [1]; f([2]); see [3](http://x)", "x = [1]; f([2]); see [3](http://x)"),
    ],
)
def test_numbers_of_earlier_answers_are_left_out(said: str, shown: str) -> None:
    """Where they are marks."""
    assert without_numbers(said) == shown


def test_a_long_run_of_backticks_is_one_run() -> None:
    """Reading it takes linear time; its inside is no code, as nothing closes it."""
    assert without_numbers("`" * 200_000 + "x [1]") == "`" * 200_000 + "x"
    assert without_numbers("``a [1]`` b [1] `c [2]` d") == "``a [1]`` b `c [2]` d"
