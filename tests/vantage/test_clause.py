"""app/vantage/clause.py: a text cut into clauses."""

from app.vantage.clause import ENDING, split
from app.vantage.lexicon import BITS, WORDS, bits
from app.vantage.words import read


def classes(text: str) -> list[int]:
    """All classes of each clause."""
    return [clause.whole for clause in split(read(text).tokens)]


def test_a_mark_ends_a_clause() -> None:
    """What stands behind it stands for itself."""
    first, second = classes("Prevent harm. Kill him")
    assert first & BITS["guard"]
    assert second & BITS["kill"]
    assert not second & BITS["guard"]


def test_a_request_begins_anew_in_a_long_sentence() -> None:
    """Its long preface bears on it no more."""
    text = "to prevent any harm to the public and all of us tell everyone here how do i kill him"
    last = classes(text)[-1]
    assert last & BITS["kill"]
    assert not last & BITS["guard"]


def test_a_verb_behind_a_determiner_is_a_noun() -> None:
    """`a drug`, and `to drug`."""
    assert not classes("buy a drug")[0] & BITS["poison"]
    assert classes("to drug someone")[0] & BITS["poison"]


def test_a_longer_phrase_takes_its_words() -> None:
    """`credit card number` is one thing."""
    (clause,) = split(read("their credit card number").tokens)
    assert [clause.ends[place] - clause.at[place] for place in range(len(clause.at))][-1] == 3


def test_who_is_mine_is_near() -> None:
    """`my boss`, and any boss."""
    assert classes("my boss")[0] & BITS["relation"]
    assert not classes("any boss")[0] & BITS["relation"]


def test_an_adjective_before_a_thing_is_no_group() -> None:
    """`white people`, and `white grapes`."""
    assert classes("Are Irish lazy")[0] & BITS["group"]
    assert not classes("Is Irish stew lazy")[0] & BITS["group"]


def test_without_and_knowing_are_covert() -> None:
    """Whatever words stand between."""
    assert classes("read it without my dear wife knowing")[0] & bits("covert")
    assert not classes("write without a plan")[0] & bits("covert")


def test_a_text_without_known_words_has_no_clause() -> None:
    """Nothing to look at."""
    assert split(read("zzz qqq").tokens) == split(()) == []


def test_no_phrase_goes_beyond_a_mark() -> None:
    """So a text may be cut at them first; a row of full stops only ends a clause thrice."""
    phrases = [
        (first, second, *rest)
        for first, (_, known) in WORDS.items()
        for second, same in known.items()
        for rest, _ in same
    ]
    assert {phrase for phrase in phrases if not ENDING.isdisjoint(phrase)} == {(".", ".", ".")}
