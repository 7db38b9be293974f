"""Cleaning: unreadable characters are removed, broken words joined."""

import pytest

from app.ingest.lines import BREAK, clean
from tests.fakes.lines import line


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a\x00b\x07c\x1bd", "abcd"),
        ("so\u00adft\u200b\ufeff", "soft"),
        ("safe\u202etxt.exe\u202c \u2066x\u2069", "safetxt.exe x"),
        ("tag\U000e0041\U000e0042ged", "tagged"),
        ("glyph \ue000\uf8ff\U000f0000 gone", "glyph gone"),
        ("\uf0b7 point", "• point"),
        ("\u00a0wide\u2003\u3000 space\t", "wide space"),
        ("e\u0301tude", "étude"),
        ("nu\ufb03cient \ufb01re", "nufficient fire"),
        ("\ufee3\ufeae\ufea3\ufe92\ufe8e", "مرحبا"),
        ("\u2f00\u2f08", "一人"),
        ("m² x³ 10⁻⁶ ½ ™ ① Ａ", "m² x³ 10⁻⁶ ½ ™ ① Ａ"),
        ("می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"),
        ("lone \ud83d half", "lone half"),
    ],
    ids=[
        "controls", "invisible", "directions", "tags", "private", "bullet", "spaces", "composed",
        "ligatures", "arabic-forms", "radicals", "meaning-kept", "joiners-kept", "surrogate",
    ],
)  # fmt: skip
def test_characters_that_cannot_be_read_go(written: str, read: str) -> None:
    """Letters written in other forms are folded; marks that mean something stay."""
    assert [found.text for found in clean([line(written)])] == [read]


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        ([f"an exam{BREAK}ple of it"], ["an example of it"]),
        ([f"a well{BREAK}known fact", "Well-known indeed."], ["a well-known fact", "Well-known indeed."]),
        ([f"state{BREAK}of-the-art"], ["state-of-the-art"]),
        ([f"the co{BREAK}operation", "the cooperation"], ["the cooperation", "the cooperation"]),
        ([f"fiscal 2020{BREAK}2021"], ["fiscal 2020-2021"]),
        ([f"the Anglo{BREAK}Saxon"], ["the Anglo-Saxon"]),
        (["it was an exam-", "ple of it"], ["it was an example", "of it"]),
        (["a range 10-", "20 of it"], ["a range 10-", "20 of it"]),
        (["a dash -", "then more"], ["a dash -", "then more"]),
        ([f"at the end{BREAK}"], ["at the end"]),
    ],
    ids=[
        "joined", "known-compound", "compound", "known-word", "digits", "capital", "over-lines",
        "range", "dash", "nothing-behind",
    ],
)  # fmt: skip
def test_words_broken_at_a_line_end_are_whole(texts: list[str], joined: list[str]) -> None:
    """A hyphen stays where it belongs to the word: as the document writes it elsewhere, else by its looks."""
    lines = [line(text, row=row) for row, text in enumerate(texts)]
    assert [found.text for found in clean(lines)] == joined
