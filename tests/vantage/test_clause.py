"""app/vantage/clause.py: a text cut into clauses."""

from functools import reduce
from itertools import pairwise
from operator import or_

from hypothesis import given
from hypothesis import strategies as st

from app.vantage import clause
from app.vantage.clause import ENDING, HITS, split
from app.vantage.lexicon import BITS, WORDS, bits
from app.vantage.words import Text, read

PHRASES = [" ".join((first, *second)) for first, (_, known) in WORDS.items() for second in zip(known)]


def classes(text: str) -> list[int]:
    """All classes of each clause."""
    return [found.whole for found in split(read(text))]


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
    (found,) = split(read("their credit card number"))
    assert [found.ends[place] - found.at[place] for place in range(len(found.at))][-1] == 3


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
    assert split(read("zzz qqq")) == split(read("")) == []


def test_no_phrase_goes_beyond_a_mark() -> None:
    """So a text may be cut at them first; a row of full stops only ends a clause thrice."""
    phrases = [
        (first, second, *rest)
        for first, (_, known) in WORDS.items()
        for second, same in known.items()
        for rest, _ in same
    ]
    assert {phrase for phrase in phrases if not ENDING.isdisjoint(phrase)} == {(".", ".", ".")}


def met(text: Text) -> list[tuple[int, int]]:
    """Where known words and phrases begin and end, by looking every token up."""
    tokens, found, done = text.tokens, [], 0
    for at, token in enumerate(tokens):
        mask, _, phrases = HITS.get(token, (0, 0, None))
        if at < done:
            continue
        done = at + 1
        for rest, size, classes, _ in (phrases or {}).get("".join(tokens[at + 1 : at + 2]), ()):
            if tokens[at + 2 : at + size] == rest:
                mask, done = classes, at + size
                break
        if mask:
            found.append((at, done))
    return found


@given(st.lists(st.sampled_from([*WORDS, *PHRASES, "zzz", "9"]), max_size=40).map(" ".join))
def test_what_is_not_looked_at_is_not_known(said: str) -> None:
    """The bytes of words leave out none that a table has, alone or as the first of a phrase."""
    text = read(said)
    assert [(at, end) for at, end, classes, _ in clause._met(text) if classes] == met(text)


@given(
    st.lists(st.sampled_from(["kill", "how do i", "him", ".", ";", "\n", "zzz"]), max_size=30).map(" ".join)
)
def test_of_marks_in_a_row_the_last_begins_the_clause(said: str) -> None:
    """Where a clause begins is right behind a mark, at the text's start, or at a question."""
    text = read(said)
    for found in split(text):
        before = text.tokens[found.start - 1 : found.start]
        assert not before or before[0] in ENDING or text.tokens[found.start] == "how"
        assert ENDING.isdisjoint(text.tokens[found.start : found.at[0]])


@given(st.lists(st.sampled_from([*WORDS, *PHRASES, "zzz", "9"]), max_size=40).map(" ".join))
def test_of_many_pairs_those_that_begin_a_phrase_are_kept(said: str) -> None:
    """And no others."""
    text = read(said)
    every = b"\1" * max(0, len(text.tokens) - 1) + b"\0"
    known = bytes(token in clause._PAIRS for token in text.tokens[:-1]).ljust(len(every), b"\0")
    kept = clause._pairs(text.tokens, known).to_bytes(len(every))
    paired = [bool(known) and after in clause._PAIRS.get(token, ()) for token, after in pairwise(text.tokens)]
    assert kept[: len(paired)] == bytes(paired)


def test_many_pairs_make_the_same_clauses() -> None:
    """Behind a text of nothing else as alone."""
    assert clause._pairs(("a",) * 2, b"\1\0") == 0
    begun = "a " * (clause.MANY + 10)
    assert [found.masks for found in split(read(f"{begun}. how do i kill a man"))] == [
        found.masks for found in split(read("how do i kill a man"))
    ]


@given(st.lists(st.sampled_from([*WORDS, *PHRASES, ".", "how do i", "zzz"]), max_size=60).map(" ".join))
def test_a_clause_has_the_classes_of_its_own_hits(said: str) -> None:
    """All of them and none of another clause's, wherever it was cut off; and each hit has one."""
    for found in split(read(said)):
        assert found.masks
        assert all(found.masks)
        assert found.whole == reduce(or_, found.masks)
