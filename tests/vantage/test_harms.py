"""app/vantage/harms.py: the rules of harm, held against the tables they name."""

from collections import Counter

from app.vantage.acts import VERBS
from app.vantage.harms import CLAUSES, PAIRS, RISKS
from app.vantage.lexicon import BITS


def test_every_rule_names_classes_that_there_are() -> None:
    """In every field."""
    rules = (*PAIRS, *CLAUSES)
    named = {
        name
        for rule in rules
        for part in (rule.acts, rule.objects, rule.unless, *rule.groups)
        for name in part.split()
    }
    assert named - set(BITS) == set()
    assert {name for rule in PAIRS for name in rule.acts.split()} - set(VERBS) == set()


def test_every_rule_has_an_id_of_its_own_and_a_known_category() -> None:
    """Findings are told by them."""
    counted = Counter(rule.id for rule in (*PAIRS, *CLAUSES))
    assert [name for name, count in counted.items() if count > 1] == []
    assert {rule.category for rule in (*PAIRS, *CLAUSES)} | {"privacy"} == set(RISKS)


def test_pairs_take_acts_and_clauses_groups() -> None:
    """A rule without either would always hold."""
    assert all(rule.acts for rule in PAIRS)
    assert all(rule.groups and not rule.acts for rule in CLAUSES)


def test_weights_and_factors_are_shares() -> None:
    """In [0, 1]."""
    shares = [share for r in (*PAIRS, *CLAUSES) for share in (r.weight, r.know, r.made, r.told, r.guarded)]
    assert all(0 <= share <= 1 for share in shares)


def test_no_family_of_acts_is_without_a_rule() -> None:
    """A verb that no rule looks at would only take time."""
    used = {
        name for rule in (*PAIRS, *CLAUSES) for part in (rule.acts, *rule.groups) for name in part.split()
    }
    assert set(VERBS) - used == set()
