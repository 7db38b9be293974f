"""Conversations and dreams summed up by their own sentences."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answering.summaries import Sentences, made
from app.db.conversations import DETAILED, SHORT, SNIPPET, TITLE, ConversationDraft, SaidTurn

ASKED = "Hi! How do I keep the IoT devices apart from the Mac Mini? The Firewalla should do it."
TOLD = """## Plan

1. Create VLAN 20 for the IoT devices.
2. Put the Mac Mini into **VLAN 10**.

```sh
ip link add link eth0 name eth0.20 type vlan id 20
```

The Firewalla blocks traffic from VLAN 20 to VLAN 10."""
TALK = ConversationDraft(
    said=(
        SaidTurn("system", "Obey."),
        SaidTurn("user", ASKED),
        SaidTurn("assistant", TOLD),
        SaidTurn("user", "Thanks."),
    )
)
DREAM = ConversationDraft(
    text="I was flying over a vast ocean, and felt free. Then the sky turned green, and I woke."
)


async def test_a_conversation_is_told_by_its_sentences() -> None:
    """The first question is the title; what was found the summary; what the user said what is remembered."""
    told = await Sentences().digest(TALK)

    assert told.title == "How do I keep the IoT devices apart from the Mac Mini?"
    assert told.summary_short == (
        "The Firewalla should do it. Create VLAN 20 for the IoT devices. Put the Mac Mini into VLAN 10."
        " The Firewalla blocks traffic from VLAN 20 to VLAN 10."
    )
    assert told.summary_detailed == told.summary_short
    assert told.memory_snippet == "The Firewalla should do it."


async def test_a_dream_is_told_by_its_sentences() -> None:
    """In their order."""
    told = await Sentences().digest(DREAM)

    assert told.title == "I was flying over a vast ocean, and felt free"
    assert told.summary_short == told.memory_snippet == DREAM.text


def test_neither_code_nor_markup_nor_the_system_is_quoted() -> None:
    """Nor greetings, nor headings."""
    whole = " ".join((made(TALK).summary_detailed, made(TALK).memory_snippet, made(TALK).title))

    assert not [
        word for word in ("`", "ip link", "#", "**", "Obey", "Hi!", "Thanks", "Plan") if word in whole
    ]


def test_where_all_are_questions_they_are_told() -> None:
    """There is nothing else."""
    talk = ConversationDraft(said=(SaidTurn("user", "Where is the router? Which port is free?"),))

    assert made(talk).summary_short == "Where is the router? Which port is free?"


def test_what_comes_again_and_again_is_chosen() -> None:
    """And said once."""
    words = map("".join, product("bcdfghjk", "aeiou", "lmnprst"))
    filler = " ".join(f"{' '.join(four)}." for four in zip(*[words] * 4, strict=True))
    text = f"{filler} The garden needs water. The garden gate is open. The garden gate is open. {filler}"

    assert made(ConversationDraft(text=text)).summary_short.count("The garden gate is open.") == 1


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("```\ncode\n```", "``` code ```", id="code alone"),
        pytest.param("???", "???", id="marks alone"),
        pytest.param("ok", "ok", id="a word"),
        pytest.param("海の上を飛んでいた。とても自由だった。", "海の上を飛んでいた", id="without blanks"),
        pytest.param(" \n ", "", id="nothing"),
    ],
)
def test_little_is_told_as_it_is(text: str, title: str) -> None:
    """Its beginning; of nothing nothing."""
    assert made(ConversationDraft(text=text)).title == title


@given(st.lists(st.builds(SaidTurn, st.sampled_from(["user", "assistant", "tool"]), st.text())), st.text())
def test_what_is_made_is_short_and_on_one_line(said: list[SaidTurn], text: str) -> None:
    """Whatever was said."""
    told = made(ConversationDraft(said=tuple(said), text=text))

    for part, most in (
        (told.title, TITLE),
        (told.summary_short, SHORT),
        (told.summary_detailed, DETAILED),
        (told.memory_snippet, SNIPPET),
    ):
        assert len(part) <= most
        assert "\n" not in part
