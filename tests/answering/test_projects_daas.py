"""DAAS' section to the byte; and how many tokens it takes."""

import json
from functools import cache

import pytest

from app.answering.projects import DAAS_SECTIONS, DREAM, entry, fitted
from app.models.tokens import O200k

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
    """The counter, its ranks read once."""
    return O200k()


def test_a_dream_is_written_as_the_seed_writes_it() -> None:
    """A title in bold, then two fields."""
    row = {
        "title": "Flying Over Ocean",
        "summary_short": "Dreamed of flying over a vast ocean, feeling free and unburdened...",
        "memory_snippet": "Ocean represented emotional depth, flying symbolized liberation from...",
    }

    assert entry(DREAM, row) == (
        "**Dream: Flying Over Ocean**\n"
        "- **Summary**: Dreamed of flying over a vast ocean, feeling free and unburdened...\n"
        "- **Key Details**: Ocean represented emotional depth, flying symbolized liberation from..."
    )


@pytest.mark.parametrize(
    ("column", "name", "cut"), [("summary_short", "Summary", 300), ("memory_snippet", "Key Details", 200)]
)
def test_dreams_are_cut(column: str, name: str, cut: int) -> None:
    """Where the format says, and no earlier."""
    assert entry(DREAM, {column: "d" * cut}) == f"- **{name}**: {'d' * cut}"
    assert entry(DREAM, {column: "d" * (cut + 1)}) == f"- **{name}**: {'d' * cut}..."


@pytest.mark.parametrize(
    ("top_k", "wanted"),
    [(None, 3), (3, 3), (1, 1), (5, 5), (6, 5), (10**30, 5), (0, 3), (-1, 3), (-(10**30), 3)],
)
def test_any_count_is_taken(top_k: int | None, wanted: int) -> None:
    """Over 5 is 5, under 1 is 3, none is 3."""
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
