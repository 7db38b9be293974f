"""Sections of texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.intake.section import heading, sections

MARKDOWN = """intro

# Title
text
## Part
```sh
# no heading
```
## Other ##

Under
=====
end"""


def headings(text: str, language: str) -> list[tuple[int, str | None]]:
    """(first line, heading) of each."""
    return [(first, heading) for first, _, heading in sections(text.split("\n"), language)]


def test_markdown_by_its_headings() -> None:
    """With those above; not by what stands in a fence."""
    assert headings(MARKDOWN, "markdown") == [
        (0, None),
        (2, "Title"),
        (4, "Title › Part"),
        (8, "Title › Other"),
        (10, "Under"),
    ]


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("rst", "Title\n=====\n\ntext\n\nPart\n----\nmore", [(0, "Title"), (5, "Title › Part")]),
        ("toml", "a = 1\n[tool.x]\nb = 2\n[[y]]\nc = 3", [(0, None), (1, "tool.x"), (3, "y")]),
        ("yaml", "on: push\njobs:\n  test: 1\n# a: b", [(0, "on"), (1, "jobs")]),
        ("sql", "CREATE TABLE a (\n  b int);\nselect 1", [(0, "CREATE TABLE a"), (2, "select 1")]),
        ("ini", "; note\n[core]\nx=1", [(0, None), (1, "core")]),
        ("json", '{\n"a": 1}', [(0, None)]),
    ],
)
def test_other_texts_by_what_begins_their_parts(
    language: str, text: str, found: list[tuple[int, str | None]]
) -> None:
    """What has no such beginnings is one section."""
    assert headings(text, language) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("# a  ", (1, "a")),
        ("### a b ## ", (3, "a b")),
        ("# a # #", (1, "a #")),
        ("# ##", (1, "#")),
        ("#\ta", (1, "a")),
        ("#  ", None),
        ("#a", None),
        ("####### a", None),
    ],
)
def test_a_heading_without_its_signs(line: str, found: tuple[int, str] | None) -> None:
    """Those in front and at the end are not its words."""
    assert heading([line], 0) == found


@given(
    st.lists(
        st.sampled_from(["# a", "## b", "a", "===", "---", "", "```", "[x]", "k: v", "  z"]), min_size=1
    ),
    st.sampled_from(["markdown", "rst", "toml", "yaml", "text", "json"]),
)
def test_every_line_is_in_one_section(lines: list[str], language: str) -> None:
    """In order, without a gap."""
    found = list(sections(lines, language))

    assert [line for first, last, _ in found for line in range(first, last + 1)] == list(range(len(lines)))
