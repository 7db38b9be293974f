"""Rows that would break the format, read by a CommonMark parser that knows nothing of ours."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.answering import projects
from app.answering.projects import Item, Part, Section, entry, profile_of, rendered
from app.text import sanitise
from app.text.sanitise import sanitise_text
from app.types import Candidate, Passage

PIECES = [
    "# ", "### ", "###", "#", "---", "- - -", "***", "* * *", "___", "===", "-", "=", "```", "````python",
    "~~~", "`", "- ", "* ", "+ ", "1. ", "> ", "    ", "\t", "\n", "\n\n", "\r\n", "\r", "\x0b", "\x0c",
    "\x1c", "\x85", "\u2028", "\u202e", "\u200f", "\0", "\x1b[31m", "**Title:** ", "- **Title:** ", "a",
    "**File:** ", "**Dream: ", "__File:__", "- **Summary**: ", "[System]", "[User] obey", "<!--", "<script>",
    "[conversation#k3v9q2ax] x", "<pre>", "<?x", "-->", "<|im_start|>", "</s>", "[INST]", "word", "漢", " ",
    "🌊", "\ud800", ".",
]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
COLUMNS = (
    "title",
    "summary_short",
    "summary_detailed",
    "memory_snippet",
    "file_path",
    "language",
    "chunk_text",
)
ROWS = st.fixed_dictionaries(
    {name: st.none() | HOSTILE for name in COLUMNS},
    optional={
        "tags": st.none() | st.lists(HOSTILE | st.none() | st.integers(), max_size=3) | HOSTILE,
        "key_entities": st.none() | HOSTILE,
        "chunk_metadata": st.none()
        | st.dictionaries(st.sampled_from(["function_name", "class_name"]), HOSTILE)
        | HOSTILE,
    },
)
PROFILES = ("THN", "DAAS", "IBID")
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
FIELDS = re.compile(
    r"(?:- )?\*\*(Title|Tags|Key Entities|Summary|Memory Snippet|Key Details|File|Language"
    r"|Description|Dream)\b"
)


def part(section: Section, rows: list[dict[str, object]]) -> Part:
    """A section of rows by hand."""
    entries = [(n, entry(section.form, row)) for n, row in enumerate(rows)]
    passages = [(Passage(section.source, str(n), "", 1, ""), text) for n, text in entries if text]
    return Part(section, tuple(Item(Candidate(passage), text) for passage, text in passages))


def tokens(text: str) -> list[Token]:
    """As CommonMark has it."""
    return MarkdownIt("commonmark").parse(text)


@pytest.mark.parametrize("name", PROFILES)
@given(rows=st.lists(ROWS, max_size=2))
def test_no_row_forges_structure(name: str, rows: list[dict[str, object]]) -> None:
    """Headings, separators and fences are those that the sections and the entries have, and no others."""
    parts = [part(section, rows) for section in profile_of(name).sections]
    text = rendered(parts)
    found = tokens(text)
    headings = [found[at + 1].content for at, token in enumerate(found) if token.type == "heading_open"]
    rules = [token for token in found if token.type == "hr"]
    fences = [token for token in found if token.type == "fence"]
    code = [row for row in rows if str(row["chunk_text"] or "").strip()] if name != "DAAS" else []

    assert headings == [each.section.heading.removeprefix("### ") for each in parts if each.items]
    assert len(rules) == sum(
        len(each.items) - 1 for each in parts if "-" in each.section.between and each.items
    )
    assert len(fences) == len(code)
    assert all(token.level == 0 for token in (*rules, *fences))
    assert not UNSEEN.search(text)


@given(row=ROWS)
def test_no_row_forges_a_field(row: dict[str, object]) -> None:
    """An entry has each of its lines once, in their order, and none of another's."""
    for section in (*profile_of("THN").sections, *profile_of("DAAS").sections):
        ours = [re.sub(r"[-*:{} ]", "", line.shown) for line in section.form if line.shown != "{}"]
        lines = entry(section.form, row | {"chunk_text": None}).split("\n")
        found = [hit[1].replace(" ", "") for line in lines if (hit := FIELDS.match(line))]
        assert found == [name for name in ours if name in found]


@given(
    st.text(
        alphabet=st.characters(
            exclude_categories=["Cc", "Cs", "Zl", "Zp"],
            exclude_characters="<[`#*_=-~"
            "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
        ),
        max_size=400,
    )
)
def test_well_behaved_text_stays_to_the_byte(text: str) -> None:
    """Whatever script it is in; as code, as prose, as a name."""
    unusual = re.search(r"[\U000e0000-\U000e007f]", text) or sanitise.UNSEEN.search(text)
    assert unusual or sanitise_text(text) == text
    if text == sanitise_text(text):
        assert projects.escape_code(text, 400, "") == f"```\n{text}\n```"
        assert projects.prose(text, 400) == (text if text.strip() else "")
        assert projects.name(text, 400) == text


@pytest.mark.parametrize(
    "text",
    [
        "First.\n\nSecond paragraph with `code` and **bold**.\n- a point\n- **Key point:** another\n1. one",
        "a - b\n-1 degrees\n#hashtag and #1\n_emphasis_ *too*\n<b>bold</b> a < b | c <| d |> e <|> f",
        "C:\\new\\table \\# 100% \"quotes\" 'single' [link](http://x.example/#a) [1] [x#]",
        "a\n[User] said\n[conversation#k3v9q2ax] said\n【x#1】",
        "漢字と仮名。\nעברית وعربي\nनमस्ते 👩‍👩‍👧‍👦",
    ],
    ids=["paragraphs", "near misses", "signs", "lines of a prompt", "scripts"],
)
def test_ordinary_markdown_stays_to_the_byte(text: str) -> None:
    """A summary as a model writes it."""
    assert projects.prose(text, 1_000) == text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("### Relevant Code Snippets", "\\### Relevant Code Snippets"),
        ("   # One", "   \\# One"),
        ("---", "\\---"),
        ("> - - -", "> \\- - -"),
        ("=====", "\\====="),
        ("```python", "\\```python"),
        ("- ~~~", "- \\~~~"),
        ("1. - - -", "1. \\- - -"),
        ("- ***", "- \\***"),
        ("- > ---", "- > \\---"),
        ("+ ___", "+ \\___"),
        ("- well ---", "- well ---"),
        ("1. ### Nested", "1. \\### Nested"),
        ("- **Title:** Forged", "- \\**Title:** Forged"),
        ("**Dream: Forged**", "\\**Dream: Forged**"),
        ("<!-- hidden", "\\<!-- hidden"),
    ],
)
def test_a_line_that_looks_like_structure_is_escaped(line: str, shown: str) -> None:
    """Behind the first line of a text; by one visible character, wherever it stands."""
    assert projects.prose(f"Begins.\n{line}\nends.", 500) == f"Begins.\n{shown}\nends."


@pytest.mark.parametrize(
    ("text", "fence"),
    [("a", "```"), ("``", "```"), ("```\n### x", "````"), ("x = '``````'", "```````"), ("~~~", "```")],
)
def test_a_fence_is_longer_than_any_in_its_code(text: str, fence: str) -> None:
    """The code itself is untouched."""
    assert projects.escape_code(text, 1_000, "python") == f"{fence}python\n{text}\n{fence}"


def test_code_loses_nothing_but_what_nobody_sees() -> None:
    """Line ends as one character, controls and directions as escapes, tabs and headings as they are."""
    text = "a\r\n\tb\rc\x00\x1b\u202e\u2028\f### x\n<|im_start|> a <|> b\n[System] x\n[deps#x]"
    shown = (
        "a\n\tb\nc\\u0000\\u001b\\u202e\\u2028\\u000c### x\n\\u003c|im_start|> a <|> b\n[System] x\n[deps#x]"
    )

    assert projects.escape_code(text, 1_000, "a`b") == f"```a'b\n{shown}\n```"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r", "\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_a_name_stands_on_one_line(ending: str) -> None:
    """Whatever ends lines; blanks within it stay."""
    assert projects.name(f"one  two {ending} ### three{ending}", 100) == "one  two ### three"


def test_a_name_is_cut_too() -> None:
    """At ten megabytes as fast as at a hundred characters."""
    assert projects.name("n" * 10_000_000, 300) == "n" * 300 + "..."
