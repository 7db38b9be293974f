"""Text cut into what can be quoted."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answering.extractive import LONGEST, quotable


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It rose by 3.5 percent. Then it fell.", ["It rose by 3.5 percent.", "Then it fell."]),
        ("Dr. Smith of Acme Inc. met J. R. Jones.", ["Dr. Smith of Acme Inc. met J. R. Jones."]),
        ("See Fig. 3 and p. 12. Next.", ["See Fig. 3 and p. 12.", "Next."]),
        ("The U.S. economy grew. Prices did not.", ["The U.S. economy grew.", "Prices did not."]),
        ("Das gilt z.B. hier. Und am 3. Mai.", ["Das gilt z.B. hier.", "Und am 3.", "Mai."]),
        ("He said “Stop.” Then he left.", ["He said “Stop.”", "Then he left."]),
        ("Wait... no. Yes.", ["Wait... no.", "Yes."]),
        ("第一句。第二句！第三句？", ["第一句。", "第二句！", "第三句？"]),
        ("هل هذا صحيح؟ نعم.", ["هل هذا صحيح؟", "نعم."]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("Revenue 1,200 1,100\nCosts 900 800", ["Revenue 1,200 1,100", "Costs 900 800"]),
        ("A line that was\nwrapped goes on.", ["A line that was wrapped goes on."]),
        ("hyphen-\nated words", ["hyphen-ated words"]),
        ("First para.\n\nSecond  para.", ["First para.", "Second para."]),
        ("", []),
        (" \n . — \n", []),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_cuts(text: str, parts: list[str]) -> None:
    """Sentences of many scripts, rows of tables and wrapped lines come out as a reader sees them."""
    assert quotable(text) == parts


text_like = st.text(st.sampled_from("ab Z9.,!?\n。؟“”-\t()日"), max_size=600) | st.text(max_size=200)


@given(text_like)
def test_quotes_are_the_texts_own_words(text: str) -> None:
    """White space apart, every quote stands in the text, in order, and is short enough to quote."""
    bare = re.sub(r"\s", "", text)
    at = 0
    for quote in quotable(text):
        assert 0 < len(quote) <= LONGEST
        place = bare.find(re.sub(r"\s", "", quote), at)
        assert place >= at
        at = place + 1


@given(text_like)
def test_no_word_is_lost(text: str) -> None:
    """Every letter and digit of the text is in a quote."""
    kept = "".join(quotable(text))
    assert re.sub(r"\W", "", kept) == re.sub(r"\W", "", text)


@pytest.mark.parametrize("unit", ["x", "x ", ".", "?", "a.", ". ", "\n", "日", "(", "1,", '."'], ids=ascii)
def test_half_a_megabyte_of_anything_is_cut(unit: str) -> None:
    """A rule that takes quadratic time runs into the suite's timeout."""
    pieces = quotable((unit * 500_000)[:500_000])
    assert max(map(len, pieces), default=0) <= LONGEST
