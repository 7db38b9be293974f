"""The policy's data files."""

import pytest

from app.vantage.lexicon import entries, parsed, phrases, sections
from app.vantage.risk import rules


def test_a_table_is_read_by_heading_and_name() -> None:
    """Lines that go on are joined, comments and empty lines are none."""
    found = {heading: entries(lines) for heading, lines in sections("answers.txt").items()}
    assert {"hedges", "contact", "refusal, English", "refusal, French"} <= set(found)
    assert "as far as i know" in found["hedges"]["en"]
    assert not any(
        phrase.startswith("#") or not phrase
        for table in found.values()
        for row in table.values()
        for phrase in row
    )


def test_phrases_under_none_keep_others_from_being_found() -> None:
    """`may i` asks, and hedges nothing."""
    table = phrases(entries(["hedge: may", "none: may i, may we"]))
    assert table.names("It may rain. May I come in?") == {"hedge"}
    assert table.names("May we come in?") == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# words\n\n  more words\n", "made.txt:3: an entry before the first"),
        ("[nouns]\n\n  more words\n", "made.txt:3: nothing above that this line could continue"),
        ("gun: pistol\n", "made.txt:1: an entry before the first"),
    ],
    ids=["continues nothing at all", "continues a heading", "no heading"],
)
def test_a_broken_table_names_the_line(text: str, said: str) -> None:
    """The start stops there."""
    with pytest.raises(ValueError, match=said):
        parsed("made.txt", text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[weapons]\nbuy 0.5 buy > bomb\n\nbuy 0.6 buy > weapon\n", "risk.txt:4: a second rule buy"),
        ("[weapons]\nbuy 0.5 buy > bombs\n", "risk.txt:2: no class or flag bombs"),
        ("[weather]\nbuy 0.5 buy > bomb\n", r"risk.txt: no category \[weather\]"),
    ],
    ids=["rule twice", "unknown class", "unknown category"],
)
def test_a_broken_rule_names_the_line(text: str, said: str) -> None:
    """A rule's id is in the trace of an answer, so no two rules share one."""
    with pytest.raises(ValueError, match=said):
        list(rules(parsed("risk.txt", text)))
