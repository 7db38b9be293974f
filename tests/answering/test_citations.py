"""The citation filter and its reading of Markdown."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.answering.citations import CitationFilter, Code, Mode, appended, catalogue, closing, read
from app.text.labels import LABEL_MAX, label, label_name
from app.types import Passage

PACKED = ("a.pdf#1", "a.pdf#2", "b c.pdf#7", "memory#k3v9q2ax", "app/main.py#L10-42", "Smith, Jones.pdf#3")
INNER = r"\[\]【】［］#＃\ufffc"
LINK = (
    r"\(https?://|\([ \t]*(?:[^\s()]|\([^\s()]*\))*[ \t]*\)|\[(?!\^)[^\[\]\n#]*\]|:[ \t]+(?:https?:|[/#.<])"
)
FORM = re.compile(
    rf"\[[^\S\n]*([^{INNER}\n]*[^{INNER}\s]#\w[^\s{INNER},;†(){{}}<>|\"=/`]*)[^\S\n]*\](?!{LINK})"
)
"""A label in brackets, but for a link's text, by reference too; the object character stands where `shown` saw
code."""
PIECES = st.sampled_from(
    ["[", "]", "[a.pdf#1]", "[bad.pdf#9]", "a.pdf#1", ".pdf#3", "#", "x", "9", " ", "  ", ", ", "; ", "\\",
     "[issue #12]", "(/a)", ")",
     "[r]", ": ", "【", "】", "［", "＃", "\u200b", "(http://x)", "(", "é", "\x00", "\ud83d", "y" * 150,
     "1†s"]
)  # fmt: skip
CODE = st.sampled_from(
    ["`", "``", "```", "````", "~~~", "~~~~", "\n", "\n", "\n\n", "\n```\n", "    ", "\\", "\t", "\n\n    ",
     "\n- ", "\n1. ", "> ", "\n# ", "*"]
)  # fmt: skip
PROSE = st.lists(PIECES, max_size=24).map(lambda parts: "x" + "".join(parts))
"""A line that begins with a word: it is no code."""
MARKUP = st.lists(PIECES | CODE, max_size=30).map("".join)


def filtered(deltas: Sequence[str], labels: Sequence[str] = PACKED) -> tuple[str, list[str], list[str]]:
    one = CitationFilter(labels)
    text = "".join(map(one.feed, deltas)) + one.end()
    return text, one.cited, one.unknown


def split(text: str, places: Sequence[int]) -> list[str]:
    cuts = sorted({place % (len(text) + 1) for place in places})
    return [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def labels_in(text: str) -> set[str]:
    return {found[1] for found in FORM.finditer(text) if len(found[0]) <= LABEL_MAX}


def shown(tokens: Sequence[Token]) -> str:
    """The text a CommonMark reader shows outside code; a link's text in brackets, as it was written."""
    marks = {
        "link_open": "[",
        "link_close": "](http://",
        "softbreak": "\n",
        "hardbreak": "\n",
        "code_inline": "\ufffc",
    }
    parts: list[str] = []
    for token in tokens:
        if token.type in {"text", "text_special"}:
            parts.append(token.content)
        parts += [marks.get(token.type, "\n" if token.block else ""), shown(token.children or [])]
    return "".join(parts)


@pytest.mark.parametrize(
    ("text", "left", "cited", "unknown"),
    [
        pytest.param("So [a.pdf#1].", "So [a.pdf#1].", ["a.pdf#1"], [], id="packed"),
        pytest.param("So [bad.pdf#9].", "So.", [], ["bad.pdf#9"], id="not packed, its space goes"),
        pytest.param("So [memory#k3v9q2ay].", "So.", [], ["memory#k3v9q2ay"], id="a memory"),
        pytest.param("[app/main.py#L10-42] [app/main.py#L1]", "[app/main.py#L10-42]",
                     ["app/main.py#L10-42"], ["app/main.py#L1"], id="code"),
        pytest.param("[a.pdf#1, a.pdf#2]", "[a.pdf#1] [a.pdf#2]", ["a.pdf#1", "a.pdf#2"], [], id="comma"),
        pytest.param("[a.pdf#1;a.pdf#2]", "[a.pdf#1] [a.pdf#2]", ["a.pdf#1", "a.pdf#2"], [], id="semicolon"),
        pytest.param("[a.pdf#2 and a.pdf#1]", "[a.pdf#2] [a.pdf#1]", ["a.pdf#2", "a.pdf#1"], [], id="and"),
        pytest.param("[a.pdf#1, 2]", "[a.pdf#1] [a.pdf#2]", ["a.pdf#1", "a.pdf#2"], [], id="short second"),
        pytest.param("[Smith, Jones.pdf#3, a.pdf#1]", "[Smith, Jones.pdf#3] [a.pdf#1]",
                     ["Smith, Jones.pdf#3", "a.pdf#1"], [], id="a comma in a name"),
        pytest.param("x [bad.pdf#9, a.pdf#1]", "x [a.pdf#1]", ["a.pdf#1"], ["bad.pdf#9"], id="one of two"),
        pytest.param("x [bad.pdf#9, worse.pdf#1].", "x.", [], ["bad.pdf#9", "worse.pdf#1"], id="none of two"),
        pytest.param("[a.pdf#1, page 3]", "[a.pdf#1] (page 3)", ["a.pdf#1"], [], id="a remark stays"),
        pytest.param("x [bad.pdf#9, page 3].", "x.", [], ["bad.pdf#9"], id="a remark on nothing goes"),
        pytest.param("【a.pdf#1】", "[a.pdf#1]", ["a.pdf#1"], [], id="lenticular"),
        pytest.param("【a.pdf#1†source】", "[a.pdf#1]", ["a.pdf#1"], [], id="with source"),
        pytest.param("x【bad.pdf#9†source】.", "x.", [], ["bad.pdf#9"], id="lenticular, not packed"),
        pytest.param("［a.pdf＃1］ ［bad.pdf＃9］", "[a.pdf#1]", ["a.pdf#1"], ["bad.pdf#9"], id="full width"),
        pytest.param("[ a.pdf#1 ] [ bad.pdf#9 ]", "[a.pdf#1]", ["a.pdf#1"], ["bad.pdf#9"], id="inner space"),
        pytest.param("[A.PDF#1]", "[a.pdf#1]", ["a.pdf#1"], [], id="case"),
        pytest.param("[a.\u200bpdf#1] [b\u200bad.pdf#9]", "[a.pdf#1]", ["a.pdf#1"], ["bad.pdf#9"],
                     id="zero width"),
        pytest.param("\\[a.pdf#1\\] \\[bad.pdf#9\\]", "[a.pdf#1]", ["a.pdf#1"], ["bad.pdf#9"], id="escaped"),
        pytest.param("[**a.pdf#1**] [`bad.pdf#9`]", "[a.pdf#1]", ["a.pdf#1"], ["bad.pdf#9"], id="emphasis"),
        pytest.param("[Source: a.pdf#1]", "[a.pdf#1]", ["a.pdf#1"], [], id="a lead-in"),
        pytest.param("[[a.pdf#1]] [[bad.pdf#9]]", "[[a.pdf#1]]", ["a.pdf#1"], ["bad.pdf#9"], id="doubled"),
        pytest.param("[x[bad.pdf#9].pdf#3]", "", [], ["bad.pdf#9", "x.pdf#3"], id="made by taking one out"),
        pytest.param("y [bad.pdf#9](see page 3)", "y(see page 3)", [], ["bad.pdf#9"], id="a remark, no link"),
        pytest.param("y [bad.pdf#9](never " + "x" * 200, "y(never " + "x" * 200, [], ["bad.pdf#9"],
                     id="no link ends"),
        pytest.param("y [bad.pdf#9](" + "x" * 200 + ")", "y(" + "x" * 200 + ")", [], ["bad.pdf#9"],
                     id="an address too long to wait for"),
        pytest.param("y [bad.pdf#9] (http://x)", "y (http://x)", [], ["bad.pdf#9"], id="a blank between"),
        pytest.param("[bad.pdf#9][1] [bad.pdf#8][a.pdf#1]", "[1][a.pdf#1]", ["a.pdf#1"],
                     ["bad.pdf#9", "bad.pdf#8"], id="marks in a row"),
        pytest.param("[a.pdf#1](http://x)", "[a.pdf#1](http://x)", ["a.pdf#1"], [], id="a packed link"),
        pytest.param("[A.pdf#1](/a)", "[A.pdf#1](/a)", ["a.pdf#1"], [], id="a packed link stays as it is"),
        pytest.param("x [PR#12].", "x.", [], ["PR#12"], id="a label's form"),
        pytest.param("[bad.pdf#9]: http://x", ": http://x", [], ["bad.pdf#9"], id="a reference"),
        pytest.param("[a.pdf#1] [a.pdf#2] [a.pdf#1]", "[a.pdf#1] [a.pdf#2] [a.pdf#1]",
                     ["a.pdf#1", "a.pdf#2"], [], id="cited once, in order"),
    ],
)  # fmt: skip
def test_a_marker_leaves_only_if_packed(text: str, left: str, cited: list[str], unknown: list[str]) -> None:
    """A packed label leaves as it was packed; any other goes with its leading space and is listed."""
    assert filtered([text]) == (left, cited, unknown)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("No marker at all; 1 < 2, a_b * c.", id="prose"),
        pytest.param("[issue #12] and [#12] and [C#] and [C#.NET]", id="not a label's form"),
        pytest.param("a[0]#1 = b[i][j] # 3", id="indexing"),
        pytest.param("[text #3](http://x/y#3) [PR#12](https://x)", id="links"),
        pytest.param("![alt #1](http://x/a#1) ![bad.pdf#9](http://x)", id="image"),
        pytest.param(
            "[bad.pdf#9](http://x) [x#1](https://e.com/a_(b)?c=1#d)", id="a link called like a label"
        ),
        pytest.param(
            "[x#1](/docs/a.html) [y.py#2](#top) [z#3](../a) [C#guide]()", id="addresses of all kinds"
        ),
        pytest.param('[x#1](<a b>) [y#2](mailto:a@b.c) [z#3](/a "A title") [w#4]( /b )', id="their forms"),
        pytest.param(
            "[PR#12][pr] and [C#guide][] and\n\n[PR#12]: http://x\n[C#guide]: /docs", id="by reference"
        ),
        pytest.param("Run:\n\n    x = [bad.pdf#9]\n\n    y `[a.pdf#1, a.pdf#2]\n\nDone.", id="indented code"),
        pytest.param("\tx [bad.pdf#9]\n  \t[bad.pdf#8]\n", id="indented by tabulators"),
        pytest.param("- a\n- b\n\nSo:\n\n    ```\n    [bad.pdf#9]", id="indented code behind a list"),
        pytest.param("**Run:**\n\n    [bad.pdf#9]\n", id="indented code behind a bold line"),
        pytest.param("[String#length()] [see] [^1] [x] []", id="other brackets"),
        pytest.param("[1]: http://x/#a\n[^1]: a note", id="references and footnotes"),
        pytest.param("```\n[bad.pdf#9]\n```\n", id="fence"),
        pytest.param("  ~~~ python\n  x[bad.pdf#9]\n\n  [a.pdf#1, a.pdf#2]\n  ~~~\n", id="tilde fence"),
        pytest.param("````\n```\n[bad.pdf#9]\n````", id="longer fence"),
        pytest.param("1. Do\n   ```py\n   [bad.pdf#9]\n   ```\n", id="fence in a list"),
        pytest.param("```\n[bad.pdf#9] never closed", id="open fence"),
        pytest.param("Use `[bad.pdf#9]` or ``x ` [bad.pdf#9]`` here.", id="inline code"),
        pytest.param("```[bad.pdf#9]```", id="three backticks in a line"),
        pytest.param("[never closed " + "x" * 400, id="open bracket"),
        pytest.param("[" + "x" * 200 + ".pdf#3]", id="longer than any label"),
        pytest.param("[line\nbreak.pdf#3]", id="over a line's end"),
        pytest.param("\\[ x^2 \\] and \\(y\\) \\\\ ", id="formulas"),
        pytest.param("nul \x00 half \ud83d pair", id="NUL and a lone surrogate"),
        pytest.param("【重要】 ［注］", id="brackets of other scripts"),
        pytest.param(" \t ", id="blanks"),
        pytest.param("", id="nothing"),
    ],
)
def test_all_else_passes_untouched(text: str) -> None:
    """Links, code, indexing, issue numbers: not a character changes, nothing is counted."""
    assert filtered([text]) == filtered(list(text)) == (text, [], [])


def test_a_packed_label_in_inline_code_counts_as_cited() -> None:
    """It leaves as it came; some models write all their citations so."""
    text = "So `[a.pdf#1]`, and ``x [a.pdf#2] [bad.pdf#9]``."
    assert filtered([text]) == filtered(list(text)) == (text, ["a.pdf#1", "a.pdf#2"], [])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("`[bad.pdf#9] open\n", "` open\n", id="backtick never closed"),
        pytest.param("`open\nb` [bad.pdf#9] `x`", "`open\nb` `x`", id="closed a line later"),
        pytest.param("\\`[bad.pdf#9]`", "\\` `", id="escaped backtick"),
        pytest.param("`x`[bad.pdf#9]`[bad.pdf#8] y", "`x` ` y", id="backticks kept apart"),
        pytest.param(
            "[bad.pdf#9]```\n[bad.pdf#8]\n```\n[bad.pdf#7]", "```\n[bad.pdf#8]\n```\n", id="fence uncovered"
        ),
        pytest.param("```\nx\n``` [bad.pdf#9]", "```\nx\n```", id="behind a fence's end"),
        pytest.param(
            "- ```\n[bad.pdf#9]\n```\n[bad.pdf#8]", "- ```\n\n```\n", id="a list ends, its fence too"
        ),
        pytest.param(" - x\n   ```\n[bad.pdf#9]", " - x\n   ```\n", id="a line too far left"),
        pytest.param("    ```\n[bad.pdf#9]", "    ```\n", id="too far right for a fence"),
        pytest.param("So\n    [bad.pdf#9] it is", "So\n    it is", id="a paragraph goes on"),
        pytest.param("- a\n\n    [bad.pdf#9] b", "- a\n\n    b", id="a list's item goes on"),
        pytest.param("1. a\n\n    [bad.pdf#9] b", "1. a\n\n    b", id="a numbered item goes on"),
        pytest.param("[^1]: a\n\n    [bad.pdf#9] b", "[^1]: a\n\n    b", id="a footnote goes on"),
        pytest.param("   [bad.pdf#9] b", "   b", id="three blanks are no code"),
        pytest.param("`open\r\rx [bad.pdf#9]`", "`open\r\rx`", id="old line ends"),
        pytest.param("`" + "[" + "x" * 200 + " [bad.pdf#9]`", "`[" + "x" * 200 + "`", id="long inline code"),
        pytest.param(
            "`open [bad.pdf#9]\n\n`[bad.pdf#8]`", "`open\n\n`[bad.pdf#8]`", id="a blank line mends it"
        ),
    ],
)
def test_what_only_looks_like_code_hides_nothing(text: str, left: str) -> None:
    assert filtered([text])[0] == filtered(list(text))[0] == left


@given(MARKUP, st.lists(st.integers(0, 5_000), max_size=12))
def test_the_output_does_not_depend_on_the_deltas(text: str, places: list[int]) -> None:
    """For any text split anywhere, what leaves, is cited and is unknown is as for the text unsplit."""
    assert filtered(split(text, places)) == filtered([text]) == filtered(list(text))


@given(PROSE, st.lists(st.integers(0, 5_000), max_size=8))
def test_no_label_outside_the_packed_leaves(text: str, places: list[int]) -> None:
    """For any text outside code, split anywhere, every label in what leaves was packed."""
    left, cited, unknown = filtered(split(text, places))
    assert labels_in(left) <= set(PACKED)
    assert set(cited) <= set(PACKED)
    assert not set(unknown) & set(PACKED)


@settings(max_examples=200)
@given(MARKUP)
def test_no_label_outside_the_packed_is_shown(text: str) -> None:
    """What a CommonMark reader shows outside code holds no label that was not packed."""
    left, _, _ = filtered([text])
    assert labels_in(shown(MarkdownIt("commonmark").parse(left))) <= set(PACKED)


@given(PROSE)
def test_filtering_again_changes_nothing(text: str) -> None:
    once, cited, _ = filtered([text])
    again, cited_again, unknown = filtered([once])
    assert (again, cited_again, unknown) == (once, cited, [])


def test_an_open_bracket_holds_the_stream_no_longer_than_a_label() -> None:
    one = CitationFilter(PACKED)
    held = sent = ""
    for sign in "a [" + "x" * 500:
        sent += sign
        held += one.feed(sign)
        assert len(sent) - len(held) <= LABEL_MAX + 1


def test_a_long_group_is_settled_on_the_way() -> None:
    """Twenty labels in one pair of brackets: the unknown stay, the packed leave, none waits for the end."""
    text = "So [" + ", ".join(["b c.pdf#7", "bad.pdf#9", "a.pdf#1"] * 20) + "]."
    left, cited, unknown = filtered(list(text))
    assert labels_in(left) == {"b c.pdf#7", "a.pdf#1"}
    assert "bad" not in left
    assert (cited, unknown) == (["b c.pdf#7", "a.pdf#1"], ["bad.pdf#9"])
    assert filtered([text])[0] == left


def test_exact_spelling_goes_before_looks() -> None:
    """Two files of code may differ by case alone: each label cites its own."""
    labels = ["app/Main.py#L1", "app/main.py#L1"]
    assert filtered(["[app/Main.py#L1] [app/main.py#L1]"], labels)[1] == labels


@pytest.mark.parametrize(
    ("packed", "labels"),
    [
        pytest.param([("a.pdf#1", 0.4), ("b.pdf#4", 0.9)], ["b.pdf#4", "a.pdf#1"], id="most similar first"),
        pytest.param(
            [(f"a.pdf#{n}", 0.5) for n in range(1, 6)], ["a.pdf#1", "a.pdf#2", "a.pdf#3"], id="three"
        ),
        pytest.param(
            [("w.pdf#1", None), ("m.pdf#1", -0.2)], ["m.pdf#1", "w.pdf#1"], id="by words alone: last"
        ),
        pytest.param([("a.pdf#1", 0.5), ("a.pdf#1", 0.4)], ["a.pdf#1"], id="distinct"),
    ],
)
def test_sources_are_appended(packed: list[tuple[str, float | None]], labels: list[str]) -> None:
    """Where nothing was cited: the most similar of what was packed, three at most, prompt order if equal."""
    passages = [Passage("documents", label, "text", 1, label, similarity) for label, similarity in packed]
    assert appended(passages) == (" Sources: " + " ".join(f"[{label}]" for label in labels), labels)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("", ""),
        ("Text with `code`.", ""),
        ("```\na\n```", ""),
        ("```\na", "\n```\n"),
        ("```python", "\n```\n"),
        ("~~~~\na\n~~~", "\n~~~~\n"),
        ("```\na\n~~~", "\n```\n"),
        ("```\na\n``` b", "\n```\n"),
        ("``` a ``` b", ""),
        ("1. Run:\n   ```\n   a", "\n   ```\n"),
        ("- ```\n  a", "\n  ```\n"),
        ("> ```\n> a", "\n> ```\n"),
        ("Run:\n\n    ls -l", "\n\n"),
        ("Run:\n\n\tls -l\n", ""),
        ("```\na\n```\n```\nb", "\n```\n"),
    ],
)
def test_an_open_fence_is_closed_where_it_stands(text: str, closed: str) -> None:
    assert closing(text) == closed
    assert closing(text + closed) == ""


LABELS = ("a.pdf#1", "a.pdf#2", "b c.pdf#7", "memory#k3v9q2ax", "Smith, Jones.pdf#3", "'70s.pdf#1")
CATALOGUE = catalogue(LABELS)


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
    assert read(content, CATALOGUE) is None


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
    marker = read(content, CATALOGUE)
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
    marker = read(content, CATALOGUE)
    assert marker is None or set(marker.cited) <= set(LABELS)
    assert marker is None or "[" not in marker.remark


TOKEN = re.compile(r"\n|`+|~+|[^\n`~]+")


def modes(text: str) -> list[tuple[str, Mode]]:
    code, head, before, seen = Code(), "", "", []
    for token in TOKEN.findall(text):
        if token[0] not in "\n`~":
            code.text(token)
        code.token(token, head)
        if code.mode is Mode.SPAN and token == "\n" and not code.fence:
            code.doubt()
        seen.append((token, code.mode))
        if token == "\n":
            code.newline(head)
        elif token[0] in "`~":
            code.ticks(token, head, before)
        head, before = ("" if token == "\n" else head + token), before + token
    return seen


def words_in_fences(text: str) -> list[str]:
    return [word for token, mode in modes(text) if mode is Mode.FENCE for word in re.findall(r"w\d+", token)]


def fenced(tokens: list[Token]) -> set[str]:
    """The words that CommonMark takes for code, fence's info included."""
    kinds = {"fence", "code_block", "code_inline"}
    found = {
        word
        for token in tokens
        if token.type in kinds
        for word in re.findall(r"w\d+", token.content + token.info)
    }
    return found.union(*(fenced(token.children or []) for token in tokens))


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        pytest.param("plain", Mode.PLAIN, id="text"),
        pytest.param("a ` x", Mode.SPAN, id="backtick"),
        pytest.param("a ` b ` x", Mode.PLAIN, id="closed"),
        pytest.param("a `` b ` x", Mode.SPAN, id="another number"),
        pytest.param("a ` b\nx", Mode.WARY, id="not closed on its line"),
        pytest.param("a ` b\n\nx", Mode.PLAIN, id="a blank line"),
        pytest.param("a \\` x", Mode.PLAIN, id="escaped"),
        pytest.param("a \\\\` x", Mode.SPAN, id="an escaped backslash"),
        pytest.param("```\nx", Mode.FENCE, id="fence"),
        pytest.param("```py\nx", Mode.FENCE, id="with a language"),
        pytest.param("```\na\n```\nx", Mode.PLAIN, id="its end"),
        pytest.param("````\n```\nx", Mode.FENCE, id="a shorter one within"),
        pytest.param("~~~\n```\nx", Mode.FENCE, id="another kind within"),
        pytest.param("``` a ``` x", Mode.PLAIN, id="inline"),
        pytest.param("~~~\nx", Mode.FENCE, id="tildes"),
        pytest.param("a ~~~\nx", Mode.PLAIN, id="tildes within a line"),
        pytest.param("```\na\n``` b\nx", Mode.WARY, id="text behind the end"),
        pytest.param("    ```\nx", Mode.PLAIN, id="in indented code"),
        pytest.param("a\n    ```\nx", Mode.WARY, id="too far right"),
        pytest.param("- ```\nx", Mode.WARY, id="in a list"),
        pytest.param("> ```\nx", Mode.WARY, id="in a quote"),
        pytest.param("- a\n  ```\nx", Mode.WARY, id="a line left of its fence"),
        pytest.param("- ```\na\n\n```\nx", Mode.WARY, id="lost for good"),
    ],
)
def test_the_reader_stands(text: str, mode: Mode) -> None:
    assert modes(text)[-1][1] is mode


LINES = st.lists(
    st.sampled_from(
        ["w{}", "```", "````", "~~~", "", "  ```", "    ```", "- w{}", "- ```", "> w{}", "``` w{}", "~~~ w{}"]
    ),
    max_size=14,
)


@settings(max_examples=300)
@given(LINES)
def test_what_counts_as_fenced_is_code_to_a_reader(lines: list[str]) -> None:
    """Every word that may pass unread is code to CommonMark: we may doubt code, never trust text."""
    text = "\n".join(line.format(number) for number, line in enumerate(lines))
    assert set(words_in_fences(text)) <= fenced(MarkdownIt("commonmark").parse(text))
