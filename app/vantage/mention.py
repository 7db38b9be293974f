"""Words that are meant as words: `what is the difference between that and which?`, `who or whom?`.

A pronoun or a question word that is spoken about points at nothing. Lower-case words without marks, as
`domain/followup.py` cuts them; English. In doubt none is meant. Nothing here raises.
"""

from collections.abc import Sequence

from app.domain.tongue import words

MENTIONED = words(
    "who whom whose which when where why how than then to too of off an and or but if whether because"
    " since although though there their its your me myself was were shall will can may must do does"
)
"""Where a noun should stand, these can only be words."""
NUMBERS = (frozenset(("this", "these")), frozenset(("that", "those")))
"""The same word, once for one and once for many; `this and that` are two things."""
USING = words("use spell pronounce")
GRAMMAR = words(
    "pronoun pronouns noun nouns verb verbs adverb adverbs adjective adjectives conjunction conjunctions"
    " preposition prepositions article articles plural singular speech tense spelled spelt pronounced"
    " syllables syllable grammar grammatical"
)
"""Who speaks of these speaks of words."""
CHOOSING = words("use say write correct right proper better put") | GRAMMAR
NAMING = words("word words term terms synonym synonyms antonym antonyms opposite rhyme rhymes")
LINKING = words("for of with")
OPEN = words("this that it these those them him her he she they one ones something a an the my your when")
"""After `a word for` these still point, or open a longer phrase."""
JOINS = words("and or vs versus")
THINGS = words("it them one ones him her not so")
"""Beside a joining word these are no words: `use it or when`."""
AFTER = words("in when and or vs versus for")
"""What may follow a pair of words."""


def worded(lower: Sequence[str]) -> bool:
    """Whether one of a message's words is spoken about."""
    return _paired(lower) or _used(lower) or _named(lower) or _asked(lower)


def _paired(lower: Sequence[str]) -> bool:
    """`Between that and which`, `between it's and its` (cut: `it is and its`), `who or whom`."""
    compared = "between" in lower
    joins = JOINS if compared else JOINS - {"and"}
    if joins.isdisjoint(lower) or (not compared and CHOOSING.isdisjoint(lower)):
        return False
    plain = [word for n, word in enumerate(lower) if word != "is" or n == 0 or lower[n - 1] != "it"]
    return any(_pair(plain, n) for n, word in enumerate(plain) if word in joins)


def _pair(lower: Sequence[str], n: int) -> bool:
    """Whether the words around a joining word are meant; what is compared ends there."""
    if not 2 < n < len(lower) - 1 or not AFTER.issuperset(lower[n + 2 : n + 3]):
        return False
    one, other = lower[n - 1], lower[n + 1]
    if {one, other} == {"it", "its"}:
        return True
    if one == other or one in THINGS or other in THINGS:
        return False
    return {one, other} in NUMBERS or one in MENTIONED or other in MENTIONED


def _used(lower: Sequence[str]) -> bool:
    """`When do I use than?`; `which do I use?` asks for a thing."""
    at = next((n + 1 for n, word in enumerate(lower) if word in USING), len(lower))
    if at >= len(lower) or lower[at] not in MENTIONED - {"which"}:
        return False
    return JOINS.issuperset(lower[at + 1 : at + 2])


def _named(lower: Sequence[str]) -> bool:
    """`Another word for good`; `another word for this` has no word."""
    triples = zip(lower, lower[1:], lower[2:], strict=False)
    return any(noun in NAMING and link in LINKING and word not in OPEN for noun, link, word in triples)


def _asked(lower: Sequence[str]) -> bool:
    """`What part of speech is because?`, `is which a pronoun?`: a question of its last or its second."""
    if GRAMMAR.isdisjoint(lower) or len(lower) < 3:
        return False
    return lower[-1] in MENTIONED or (lower[0] in ("is", "are") and lower[1] in MENTIONED)
