"""What each project shows: profiles, sections, and rows rendered as Markdown entries."""

import json
import re
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answering import projects
from app.answering.projects import (
    CONVERSATION,
    DAAS_SECTIONS,
    DREAM,
    DREAMING,
    SHOWN,
    SNIPPET,
    SectionChoice,
    default_of,
    entry,
    fitted,
    names,
    parsed,
    profile_of,
)
from app.models.tokens import O200k
from app.text import sanitise
from app.text.sanitise import sanitise_text
from app.types import CODE, CONVERSATIONS, DREAMS


def test_a_profile_is_found_by_its_name() -> None:
    assert profile_of("THN").sources == (CONVERSATIONS, CODE)
    assert profile_of("DAAS").sources == (DREAMS,)
    assert profile_of("thn").sources == (CONVERSATIONS, CODE)
    assert profile_of("thn").name == "thn"


def test_an_unknown_project_shows_its_conversations_and_its_code() -> None:
    talk, code = profile_of("garden").sections

    assert (talk.source, talk.choice) == (CONVERSATIONS, SectionChoice.FUSED)
    assert (code.source, code.choice) == (CODE, SectionChoice.FUSED)


def test_this_repository_is_a_project_of_one_line() -> None:
    code, talk = profile_of("IBID").sections

    assert (code.source, code.choice, code.limit) == (CODE, SectionChoice.FUSED, 8)
    assert (talk.source, talk.choice) == (CONVERSATIONS, SectionChoice.FUSED)


def test_only_daas_keeps_dreams() -> None:
    assert DREAMING == ("DAAS",)


@pytest.mark.parametrize(("name", "source"), [("THN", CONVERSATIONS), ("DAAS", DREAMS)])
def test_the_default_is_a_project_s_own_conversations(name: str, source: str) -> None:
    """By words and meaning; those of a project that keeps dreams are dreams."""
    [section] = default_of(profile_of(name)).sections

    assert (section.source, section.choice) == (source, SectionChoice.FUSED)


def test_a_short_summary_stands_in_for_a_long_one() -> None:
    assert entry(SHOWN, {"summary_short": "brief"}) == "- **Summary:** brief"
    assert entry(SHOWN, {"summary_short": "brief", "summary_detailed": "long"}) == "- **Summary:** long"


TAGS = ["networking", "vlan", "firewall"]
ENTITIES = ["Firewalla", "Mac Mini"]
ENTRY = """\
- **Title:** THN Network Setup
- **Tags:** networking, vlan, firewall
- **Key Entities:** Firewalla, Mac Mini
- **Summary:** Long summary text...
- **Memory Snippet:** Memory text..."""
CHUNK = {
    "file_path": "brain_core/context_builder.py",
    "language": "python",
    "chunk_text": "def build_project_context(...):\n    ...",
    "chunk_metadata": {"function_name": "build_project_context"},
}
SHOWN_SNIPPET = """\
**File:** brain_core/context_builder.py
**Language:** python
**Description:** build_project_context
```python
def build_project_context(...):
    ...
```"""


def conversation(row: Sequence[object]) -> str:
    return entry(CONVERSATION, dict(zip((line.column for line in CONVERSATION), row, strict=True)))


@pytest.mark.parametrize(
    ("tags", "entities"),
    [(TAGS, ENTITIES), (json.dumps(TAGS), json.dumps(ENTITIES)), (json.dumps(json.dumps(TAGS)), ENTITIES)],
    ids=["lists", "JSON", "JSON in JSON"],
)
def test_a_conversation_is_written_as_the_seed_writes_it(tags: object, entities: object) -> None:
    row = ("THN Network Setup", tags, entities, "Long summary text...", "Memory text...")

    assert conversation(row) == ENTRY


@pytest.mark.parametrize(
    "broken", ["[1, ", "", "null", "{}", '{"a": 1}', '"x', "networking, vlan", "[]", "[" * 9_999]
)
def test_broken_tags_give_nothing(broken: str) -> None:
    row = ("THN Network Setup", broken, ENTITIES, "Long summary text...", "Memory text...")
    lines = ENTRY.split("\n")

    assert conversation(row) == "\n".join([lines[0], *lines[2:]])


@pytest.mark.parametrize(
    ("metadata", "description"),
    [
        ({"class_name": "Builder"}, "Builder"),
        ({"function_name": "build", "class_name": "Builder"}, "build"),
        ({"function_name": None, "class_name": "Builder"}, "Builder"),
        ({"function_name": ["x"]}, "brain_core/context_builder.py"),
        ({}, "brain_core/context_builder.py"),
        (None, "brain_core/context_builder.py"),
        ("{broken", "brain_core/context_builder.py"),
        ("[1]", "brain_core/context_builder.py"),
    ],
    ids=["class", "both", "null function", "no text", "empty", "null", "broken", "list"],
)
def test_the_description_is_a_name_or_the_path(metadata: object, description: str) -> None:
    """Function before class; the path where the metadata names neither."""
    shown = entry(SNIPPET, CHUNK | {"chunk_metadata": metadata})

    assert shown == SHOWN_SNIPPET.replace(
        "**Description:** build_project_context", f"**Description:** {description}"
    )


[SECTION] = DAAS_SECTIONS
LONGEST = {
    "english": "I walked through the old house again and every door led back to the same quiet garden. " * 9,
    "chinese": "我梦见自己在海上飞翔，天空是深蓝色的，远处有一座沉没的城市，钟声从水底传来，没有人回答我。"
    * 20,
    "japanese": "夢の中で私は古い家を歩いていて、どの扉も同じ静かな庭へと続いていた。海の匂いがした。" * 20,
    "rare": "龘靐齉爩鱻麤龗灪吁龖厵滟爨癵籱饢驫鲡鹂鸾麣纞虋讟钃鸜麷鞻韽顟顠饙饳騳騾驤" * 20,
    "emoji": "🧜🏽‍♀️🌊🕯️🗝️👁️‍🗨️🫧" * 60,
    "noise": "q7Zx!p0#Kd9@vB3$hN8%yT5^wL2&mR6*" * 20,
    "control": "\x01\x02\x03\x04" * 200,
    "lines": "#\n" * 400,
}
"""Texts longer than any cut; the last ones cost more than they show."""


@cache
def tokens() -> O200k:
    return O200k()


@pytest.mark.parametrize(
    ("top_k", "wanted"),
    [(None, 3), (3, 3), (1, 1), (5, 5), (6, 5), (10**30, 5), (0, 3), (-1, 3), (-(10**30), 3)],
)
def test_any_count_is_taken(top_k: int | None, wanted: int) -> None:
    assert SECTION.wanted(top_k) == wanted


@pytest.mark.parametrize("script", LONGEST)
def test_three_dreams_stay_under_1000_tokens(script: str) -> None:
    """At the longest cuts, title too, in any script; English is not cut shorter for it."""
    text = LONGEST[script]
    row = {"title": text, "summary_short": text, "memory_snippet": text}
    shown = fitted(DREAM, row, SECTION.tokens, tokens().count)
    three = f"{SECTION.heading}\n\n{SECTION.between.join([shown] * 3)}"

    assert tokens().count(three) < 1_000, json.dumps(shown)
    assert (shown == entry(DREAM, row)) is (script == "english")
    assert shown.startswith("**Dream: ")
    assert "- **Key Details**: " in shown


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
COLUMNS = ("title", "tags", "key_entities", "summary_detailed", "memory_snippet", "file_path", "chunk_text")


@given(row=st.fixed_dictionaries(dict.fromkeys(COLUMNS, ANYTHING)))
def test_any_value_gives_an_entry(row: dict[str, object]) -> None:
    """JSON columns may hold whatever JSON can say, and an older tool's text columns too."""
    for form in (CONVERSATION, SNIPPET, DREAM):
        text = entry(form, row)
        assert text == text.strip("\n") or "```" in text
        assert "None" not in text or "None" in str(row)


@pytest.mark.parametrize("value", ["", " ", "\n\t ", None, 3, [], {}, b"bytes"], ids=repr)
def test_what_says_nothing_is_no_line(value: object) -> None:
    row = dict.fromkeys((*COLUMNS, "language", "summary_short", "chunk_metadata"), value)

    assert [entry(form, row) for form in (CONVERSATION, SNIPPET, DREAM)] == ["", "", ""]


def test_a_list_s_items_are_texts_or_numbers() -> None:
    """Nulls, truths, blanks and what is nested are left out; each stands on its line."""
    assert names(["a", None, True, 7, 2.5, " ", ["x"], {"y": 1}, "b\nc"], 300) == "a, 7, 2.5, b c"


@pytest.mark.parametrize("value", [None, "", " ", " \n\t", 3], ids=repr)
def test_the_second_column_stands_where_the_first_shows_nothing(value: object) -> None:
    assert entry(SHOWN, {"summary_detailed": value, "summary_short": "short"}) == "- **Summary:** short"


@pytest.mark.parametrize("broken", ["[1,", "", "[" * 200_000, "[" * 90_000, '"[1"'])
def test_json_that_cannot_be_read_is_nothing(broken: str) -> None:
    assert parsed(broken) is None


def test_an_entry_over_its_tokens_is_cut_shorter() -> None:
    """All its columns alike, as little as need be; what fits is untouched."""
    row = {"title": "t" * 10, "summary_short": "s" * 100, "memory_snippet": "m" * 100}
    whole = entry(DREAM, row)

    assert fitted(DREAM, row, len(whole), len) == whole
    shorter = fitted(DREAM, row, len(whole) - 20, len)
    assert len(whole) - 40 < len(shorter) <= len(whole) - 20
    assert shorter.count("...") >= 1
    assert fitted(DREAM, row, 0, len) == whole


UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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
    assert projects.escape_code(text, 1_000, "python") == f"{fence}python\n{text}\n{fence}"


def test_code_loses_nothing_but_what_nobody_sees() -> None:
    """Line ends as one character, controls and directions as escapes, tabs and headings as they are."""
    text = "a\r\n\tb\rc\x00\x1b\u202e\u2028\f### x\n<|im_start|> a <|> b\n[System] x\n[deps#x]"
    shown = (
        "a\n\tb\nc\\u0000\\u001b\\u202e\\u2028\\u000c### x\n\\u003c|im_start|> a <|> b\n[System] x\n[deps#x]"
    )

    assert projects.escape_code(text, 1_000, "a`b") == f"```a'b\n{shown}\n```"


THN = profile_of("THN")
