"""Markers: what a pair of brackets cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answering.citations import Marker, catalogue, read
from app.text.labels import label, label_name

PACKED = ("a.pdf#1", "a.pdf#2", "b c.pdf#7", "memory#k3v9q2ax", "Smith, Jones.pdf#3", "'70s.pdf#1")
KNOWN = catalogue(PACKED)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "issue #12",
        "#12",
        "C#",
        "C#.NET",
        "F# 4",
        "1",
        "see",
        "text # 3",
        "String#length()",
        "a [b",
        "重要",
        "x#y#z",
    ],
)
def test_what_has_no_labels_form_is_no_citation(content: str) -> None:
    """A space beside the `#`, no name, no id, an id that is no word, two `#`: the text passes."""
    assert read(content, KNOWN) is None


@pytest.mark.parametrize(
    "content",
    ["report.pdf#3", "memory#k3v9q2ay", "recipes#k3v9q2ax", "app/main.py#L10-42", "conversation#k3v9q2ax",
     "dream#k3v9q2ax", "two words.pdf#12", "PR#12", "日本.pdf#3"],
)  # fmt: skip
def test_what_has_a_labels_form_is_one(content: str) -> None:
    """Every kind of label there is, packed or not."""
    assert read(content, KNOWN) == Marker((), (content,))


@pytest.mark.parametrize(
    ("content", "sure"),
    [
        ("report.pdf#3", True), ("memory#x", True), ("recipes#k3v9q2ax", True), ("src/main#L10-42", True),
        ("a.pdf#1", True), ("PR#12", False), ("Array#map", False), ("chapter#overview", False),
    ],
)  # fmt: skip
def test_some_forms_can_be_nothing_but_citations(content: str, sure: bool) -> None:
    """A file's name, a kind of ours, an id8, lines of code; `[PR#12](http://…)` may be a plain link."""
    marker = read(content, KNOWN)
    assert marker is not None
    assert marker.sure is sure


@pytest.mark.parametrize(
    ("content", "text", "unknown"),
    [
        pytest.param("a.pdf#1, a.pdf#2", "[a.pdf#1] [a.pdf#2]", [], id="comma"),
        pytest.param("a.pdf#1;b c.pdf#7", "[a.pdf#1] [b c.pdf#7]", [], id="semicolon"),
        pytest.param("a.pdf#1、a.pdf#2", "[a.pdf#1] [a.pdf#2]", [], id="ideographic comma"),
        pytest.param("a.pdf#1 a.pdf#2", "[a.pdf#1] [a.pdf#2]", [], id="a space"),
        pytest.param("a.pdf#1 & a.pdf#2 and b c.pdf#7", "[a.pdf#1] [a.pdf#2] [b c.pdf#7]", [], id="and"),
        pytest.param("a.pdf#1, a.pdf#1", "[a.pdf#1]", [], id="twice"),
        pytest.param("a.pdf#1, #2", "[a.pdf#1] [a.pdf#2]", [], id="the name once"),
        pytest.param("a.pdf#1, 2020", "[a.pdf#1] (2020)", [], id="a number that was not packed"),
        pytest.param("a.pdf#1, p. 3; issue #4", "[a.pdf#1] (p. 3; issue #4)", [], id="remarks"),
        pytest.param("p. 3, a.pdf#1", "[a.pdf#1]", [], id="a lead-in"),
        pytest.param("issue #12, bad.pdf#9", "", ["bad.pdf#9"], id="an unknown one behind a remark"),
        pytest.param("bad.pdf#9, a.pdf#2, bad.pdf#8", "[a.pdf#2]", ["bad.pdf#9", "bad.pdf#8"], id="mixed"),
        pytest.param(
            "Smith, Jones.pdf#3; a.pdf#1", "[Smith, Jones.pdf#3] [a.pdf#1]", [], id="a comma in a name"
        ),
        pytest.param("'70s.pdf#1", "['70s.pdf#1]", [], id="a quote in a name"),
        pytest.param('"a.pdf#1"', "[a.pdf#1]", [], id="quoted"),
        pytest.param("my\\_a.pdf#1", "", ["my_a.pdf#1"], id="escaped"),
        pytest.param("ａ.pdf#1", "[a.pdf#1]", [], id="full width"),
        pytest.param("my a.pdf#1", "", ["my a.pdf#1"], id="another document that ends alike"),
    ],
)
def test_a_group_leaves_one_pair_of_brackets_a_label(content: str, text: str, unknown: list[str]) -> None:
    """Packed ones as they were packed, remarks behind them, the others listed."""
    marker = read(content, KNOWN)
    assert marker is not None
    assert (marker.text, list(marker.unknown)) == (text, unknown)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6), st.integers(1, 10**6))
def test_every_label_that_a_document_may_get_is_read(names: list[str], ordinal: int) -> None:
    """Whatever the files are called, their labels are known as they are spelt."""
    labels = [label(label_name(name), str(ordinal)) for name in names]
    known = catalogue(labels)
    for one in labels:
        marker = read(one, known)
        assert marker is not None
        assert marker.cited == (one,)


@given(st.text("ab#,;. [1L-\u200b＃†'", max_size=60))
def test_what_leaves_was_packed(content: str) -> None:
    """Nothing in brackets but packed labels, whatever stood between them."""
    marker = read(content, KNOWN)
    assert marker is None or set(marker.cited) <= set(PACKED)
    assert marker is None or "[" not in marker.remark
