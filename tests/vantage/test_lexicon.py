"""app/vantage/lexicon.py: the tables as one dictionary."""

import pytest

from app.vantage.lexicon import BITS, TABLES, WORDS, bits, forms, plural
from app.vantage.words import read


@pytest.mark.parametrize(
    ("verb", "all_forms"),
    [
        ("rob", "rob robs robbed robbing"),
        ("poison", "poison poisons poisoned poisoning"),
        ("forge", "forge forges forged forging"),
        ("bully", "bully bullies bullied bullying"),
        ("steal", "steal steals stole stolen stealing"),
        ("punch", "punch punches punched punching"),
        ("blow_up", "blow_up blows_up blew_up blown_up blowing_up"),
    ],
)
def test_a_verb_has_its_forms(verb: str, all_forms: str) -> None:
    """Regular by rule, the rest by the list."""
    assert forms(verb) == tuple(all_forms.split())


def test_a_noun_has_its_plural() -> None:
    """With -s, -es, -ies."""
    assert [plural(noun)[1] for noun in ("gun", "box", "city", "boy")] == ["guns", "boxes", "cities", "boys"]


def test_every_class_has_a_bit_of_its_own() -> None:
    """And no class is without words."""
    assert len(set(BITS.values())) == len(BITS)
    assert [name for table, _ in TABLES for name, words in table.items() if not words.split()] == []
    assert "" not in BITS


def test_every_entry_is_written_as_texts_are_read() -> None:
    """Folded, lower case: otherwise no text would ever hold it."""
    entries = [word for table, _ in TABLES for words in table.values() for word in words.split()]
    odd = [word for word in entries if any(ord(char) > 127 or char.isupper() for char in word)]
    assert [word for word in odd if word not in "。？！…¿¡•"] == []
    assert all(read(word.replace("_", " ")).tokens[0] in WORDS for word in entries)


def test_a_word_of_two_senses_has_both() -> None:
    """Which one is meant, the clause decides."""
    mask = WORDS["weed"][0]
    assert mask & bits("drug")
    assert mask & bits("safe")


def test_the_longest_phrase_comes_first() -> None:
    """Behind one first word and second word."""
    lengths = [[len(rest) for rest, _ in same] for _, phrases in WORDS.values() for same in phrases.values()]
    assert all(found == sorted(found, reverse=True) for found in lengths)


def test_a_frame_that_begins_with_a_thing_still_names_it() -> None:
    """`letter to` is a request for a text, and the text."""
    phrases = dict(WORDS["letter"][1]["to"])
    assert phrases[()] & bits("make_me")
    assert phrases[()] & bits("message")
