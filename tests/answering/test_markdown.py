"""Where a reader sees code: told line by line, held against a real CommonMark parser."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.answering.citations import Code, Mode

TOKEN = re.compile(r"\n|`+|~+|[^\n`~]+")


def modes(text: str) -> list[tuple[str, Mode]]:
    """Each token with where the reader stood when it came."""
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
    """The words that we take for fenced code."""
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
    """At the `x` or the end of the text."""
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
