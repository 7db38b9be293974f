"""The table of node kinds, against the grammars that are installed."""

import pytest

from app.intake import nodes
from app.intake.language import GRAMMARS, grammar

TABLES = ("FUNCTIONS", "CLASSES", "LAMBDAS", "AROUND", "SPACES", "COMMENTS")


@pytest.fixture(scope="module")
def kinds() -> set[str]:
    """Every kind of every grammar."""
    languages = [found for name in GRAMMARS if (found := grammar(name))]
    return {str(each.node_kind_for_id(at)) for each in languages for at in range(each.node_kind_count)}


@pytest.mark.parametrize("table", TABLES)
def test_every_kind_is_one_of_a_grammar(kinds: set[str], table: str) -> None:
    """A misspelt one would never be found, and nobody would hear of it."""
    assert sorted(getattr(nodes, table) - kinds - {"ERROR"}) == []
