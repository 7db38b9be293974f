"""The table of emergencies, read as data."""

import re

import pytest

from app.vantage.alarm import _WORDS, _filled, pattern, spoken
from app.vantage.emergencies import EMERGENCIES, SLOTS
from app.vantage.topics import terms
from tests.vantage.danger import CALLS

LINES = [line for _, lines in EMERGENCIES.values() for line in lines]


def test_lines_name_slots_that_there_are() -> None:
    """Each slot is used, and none is left in a pattern."""
    named = {name for line in LINES for name in re.findall(r"\{([a-z]+)\}", line)}
    assert named == set(SLOTS)
    assert all(re.search(r"\{[a-z]", _filled(line)) is None for line in LINES)


@pytest.mark.parametrize("family", EMERGENCIES)
def test_a_family_is_called_for(family: str) -> None:
    """By a sentence of the table that holds a telling word."""
    telling = _WORDS[family]
    rows = [f" {' '.join(words)} " for call in CALLS for words in spoken(terms(call), telling)]
    assert any(pattern(family).search(row) and not telling.isdisjoint(row.split()) for row in rows)
