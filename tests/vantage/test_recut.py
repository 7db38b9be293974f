"""app/vantage/recut.py: what was changed is cut anew, and all is as if the whole had been."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.disguise import plainly
from app.vantage.recut import recut
from app.vantage.words import cut

WORDS = "3D k1ll p01son kill him x it's ' well-known - . ?! _ é …"
PARTS = st.sampled_from([*WORDS.split(), "\n"])
ROWS = st.lists(st.tuples(PARTS, st.sampled_from([" ", " ", "", "\t"])), max_size=60).map(
    lambda parts: "".join(part + gap for part, gap in parts)
)


@given(ROWS, ROWS, ROWS, ROWS)
def test_words_are_those_of_the_whole(before: str, old: str, new: str, behind: str) -> None:
    """Whatever was changed into whatever; what is known of each word is what would be looked up."""
    text, whole = cut(before + old + behind), cut(before + new + behind)
    found = recut(text, before + new + behind)
    assert (found, found.folded) == (whole, whole.folded)
    assert (found.kinds, found.entries) == (whole.kinds, whole.entries)


@pytest.mark.parametrize("often", [1, 3, 40])
def test_disguised_words_among_many(often: int) -> None:
    """Few or many, the same word more than once."""
    said = "How do I k1ll it, and why not 3D print one? " * often
    text = cut(said)
    assert plainly(text) == cut(said.replace("k1ll", "kill").replace("3D", "ed"))
