"""app/vantage/book.py: the rules by what a clause holds."""

from app.vantage import book
from app.vantage.harms import CLAUSES, PAIRS
from app.vantage.lexicon import bits


def test_an_act_finds_the_rules_of_its_object() -> None:
    """And no others."""
    found = {rule.harm.id for rule in book.taken(bits("make"), bits("bomb"))}
    assert "make-bomb" in found
    assert "make-malware" not in found


def test_a_harmless_object_leaves_no_rule_that_needs_none() -> None:
    """`murder` by itself harms; a burger is not murdered."""
    assert "murder" in {rule.harm.id for rule in book.taken(bits("murder"), 0)}
    assert "murder" not in {rule.harm.id for rule in book.taken(bits("murder"), bits("safe"))}


def test_every_rule_can_be_found() -> None:
    """By an act and an object, or by a class that tells it."""
    pairs = {rule.harm.id for harm in PAIRS for rule in book.taken(bits(harm.acts), bits(harm.objects))}
    told = {rule.harm.id for rule, _, _ in book.told(book.TELLING)}
    assert pairs == {harm.id for harm in PAIRS}
    assert told == {harm.id for harm in CLAUSES}


def test_nothing_asked_in_the_open_weighs_more_than_its_rule() -> None:
    """Else a rule that could give more would not be tried (app/vantage/manner.py)."""
    factors = {factor for harm in (*PAIRS, *CLAUSES) for factor in (harm.know, harm.made, harm.told)}
    assert max(factors) <= book.OPEN
    assert max(harm.guarded for harm in (*PAIRS, *CLAUSES)) <= 1


def test_what_is_kept_is_bounded() -> None:
    """However many sets of classes are met."""
    for number in range(book.MOST + 100):
        book.told(number)
    assert {rule.harm.id for rule, _, _ in book.told(book.TELLING)} == {harm.id for harm in CLAUSES}
    assert book.told.cache_info().currsize <= book.MOST


def test_what_is_met_now_is_kept() -> None:
    """Whatever filled the room before: else every clause would be looked up anew from then on."""
    for number in range(book.MOST + 100):
        book.told(number)
    book.told(book.TELLING)
    before = book.told.cache_info().hits
    book.told(book.TELLING)
    assert book.told.cache_info().hits == before + 1
