"""A text cut into clauses, each as the classes of its known words: what the rules of harm look at.

Positions are token indices; bytes (app/vantage/kinds.py) tell which need a look. A clause ends at a mark, at
a line's end, or where a request begins anew after `LONG` tokens. A verb behind a determiner is a noun and
loses its verb classes. Linear in the tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import compress
from operator import contains
from typing import TypeAlias

from app.vantage.acts import DEEDS, VERBS
from app.vantage.kinds import Table, kept
from app.vantage.lexicon import BITS, WORDS, bits
from app.vantage.words import Text

MANY = 1_000
"""Places where a phrase may begin: of so many, if most are such, it pays to look where one does."""

LONG = 10
"""Tokens after which `how do I …` stands for itself, whatever the sentence said before."""

NAMED = frozenset({"a", "an", "the", "my", "your", "his", "our", "their", "'s", "of", "no", "some", "any"})
"""Behind these stands a noun."""

SUFFERED = frozenset({"is", "was", "has", "keeps", "kept", "been"})
"""`somebody is stalking …`: told of another, not asked for."""

DOING = frozenset("to i you we can should could would will and".split())  # noqa: SIM905
"""Behind these stands a verb, not the deed's name."""

GOAL = frozenset({"to", "for", "of", "by"})
"""Behind these a verb has no subject of its own: somebody is to do it."""

DANGER = bits("weapon bomb toxin noxious drug hard_drug medicine malware contraband relation minor group")
"""Whom or what a question that follows may be about."""

DEED = bits(" ".join(DEEDS))
WHO = bits("person relation minor")
ACTS = bits(" ".join(VERBS))
ASKED = bits("how_i want make_me")
PERSON, RELATION = BITS["person"], BITS["relation"]
NEAR = frozenset({"my", "our", "ex", "his", "her", "their"})
WITHOUT, KNOWING, COVERT = BITS["without"], BITS["knowing"], BITS["covert"]
GROUP, KIN = BITS["group"], BITS["kin"]
WIDE = PERSON | KNOWING | KIN
"""Classes that depend on the words beside them, as those of verbs do."""
NO_ACT, NO_DEED, DOES = ~ACTS, ~DEED, BITS["doing"]

PEOPLE = bits("person minor group kin demean")
_BETWEEN = """
    are is do does don can can't should shouldn't must so be was were have has had not all always never
    and or who from because to in at by as than with for on deserve deserves lack need
"""
BETWEEN = frozenset(_BETWEEN.split())
"""Words behind which no noun of the group's adjective follows."""

POSSESSED = frozenset({"my", "our", "own"})


@dataclass(slots=True)
class Clause:
    """Hits in order: where each begins, where it ends, what it is."""

    start: int
    at: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    masks: list[int] = field(default_factory=list)
    whole: int = 0
    """All classes together."""

    def before(self, index: int, mask: int, reach: int, asked: int = 0) -> bool:
        """Whether a hit of these classes stands at most `reach` tokens before hit `index`.

        What stands before `how do I` or `write`, or before the classes `asked`, is a preface.
        """
        here = self.at[index] if index < len(self.at) else self.ends[-1] if self.ends else 0
        while index > 0:
            index -= 1
            found = self.masks[index]
            if here - self.at[index] > reach:
                return False
            if found & (mask | ASKED | asked):
                return bool(found & mask)
        return False


TURNS = _HOWS, _ACTING, _WIDENED = 1, 2, 4
"""What of a word's classes may begin a clause, or depends on the words beside it."""
_BENT, _CUT, _PAIRED = _ACTING | _WIDENED, 8, 2
Phrases: TypeAlias = dict[str, tuple[tuple[tuple[str, ...], int, int, int], ...]]
"""By second word: the rest, how many tokens there are in all, classes, turns; longest first."""
Hit: TypeAlias = tuple[int, int, Phrases]
"""Classes, turns, the phrases that begin with the word."""


@cache
def _turns(mask: int) -> int:
    """Looked at once for all: an `&` of 280 bits costs as much as a dictionary."""
    turning = zip((BITS["how"], ACTS, WIDE), TURNS, strict=True)
    return sum(turn for classes, turn in turning if mask & classes)


_BEGINS_NONE: Phrases = {}
_shared: dict[int, Hit] = {}
"""One entry for all words of the same classes: what is often looked at lies together."""


def _hit(mask: int, phrases: Mapping[str, Sequence[tuple[tuple[str, ...], int]]]) -> Hit:
    """An entry of WORDS, ready for the hot path."""
    begun = {
        second: tuple([(rest, 2 + len(rest), classes, _turns(classes)) for rest, classes in same])
        for second, same in phrases.items()
    }
    found = (mask, _turns(mask), begun or _BEGINS_NONE)
    return found if begun else _shared.setdefault(mask, found)


ENDING = frozenset(word for word, (mask, _) in WORDS.items() if mask & BITS["cut"])
"""Marks and the line's end; no phrase goes beyond one (a test holds it to that)."""
HITS = {
    word: (0, _CUT, _BEGINS_NONE) if word in ENDING else _hit(mask, phrases)
    for word, (mask, phrases) in WORDS.items()
}
kept.update(HITS)
_SUFFERED, _NAMED, _DOING, _GOAL = 1, 2, 4, 8
_SETS = ((SUFFERED, _SUFFERED), (NAMED, _NAMED), (DOING, _DOING), (GOAL, _GOAL))
BESIDE = {word: sum(bit for own, bit in _SETS if word in own) for words, _ in _SETS for word in words}
"""By the word before a verb, what stands there."""
_ALONE = Table(frozenset(word for word, (mask, turn, _) in HITS.items() if mask | turn))
_FIRST = Table(frozenset(word for word, (_, _, phrases) in HITS.items() if phrases))
_SECOND = Table(frozenset(word for _, _, phrases in HITS.values() for word in phrases))
_CUTS = Table(ENDING)
_PAIRS = {word: frozenset(phrases) for word, (_, _, phrases) in HITS.items() if phrases}
"""By first word, the second ones."""


def split(text: Text) -> list[Clause]:
    """The clauses with at least one known word."""
    found: list[Clause] = []
    clause, whole = Clause(0, [], [], []), 0
    # Lists in local names, no calls for a common word: this loop is the hot path.
    ats, ends, masks = clause.at, clause.ends, clause.masks
    for at, done, mask, turn in _met(text):
        if turn:
            if turn & _CUT or (turn & _HOWS and at - clause.start > LONG and not whole & DANGER):
                clause.whole, whole = whole, 0
                if ats:
                    found.append(clause)
                    clause = Clause(0, [], [], [])
                    ats, ends, masks = clause.at, clause.ends, clause.masks
                clause.start = done if turn & _CUT else at
            if turn & _BENT:
                mask = _bent(clause, text.tokens, at, done, mask, turn)  # noqa: PLW2901 - the hot path
            if not mask:
                continue
        ats.append(at)
        ends.append(done)
        masks.append(mask)
        whole |= mask
    clause.whole = whole
    return [*found, clause] if ats else found


def _met(text: Text) -> Iterator[tuple[int, int, int, int]]:
    """Known words, the longest phrases and marks in order: where each begins and ends, classes, turns."""
    tokens, looked, done = text.tokens, _looked(text), 0
    places = compress(range(len(tokens)), looked)
    entries = compress(text.entries, looked)
    for at, sort, entry in zip(places, looked.translate(None, b"\0"), entries, strict=True):
        if at < done:
            continue
        _, mask, turn, phrases = entry
        done = at + 1
        if sort & _PAIRED:
            for rest, size, whole, turns in phrases.get(tokens[done], ()):
                if not rest or tokens[at + 2 : at + size] == rest:
                    mask, turn, done = whole, turns, at + size
                    break
        if mask or turn:
            yield at, done, mask, turn


def _looked(text: Text) -> bytes:
    """A byte a token: 1 where a word has classes or is a mark, `_PAIRED` where it and the next may begin a
    phrase, 0 where nothing need be looked at, and at a mark before another: the last tells where a clause
    begins."""
    kinds = text.kinds
    cuts = int.from_bytes(_CUTS.marks(kinds))
    alone = int.from_bytes(_ALONE.marks(kinds)) ^ (cuts & cuts << 8)
    paired = int.from_bytes(_FIRST.marks(kinds)) & int.from_bytes(_SECOND.marks(kinds)[1:] + b"\0")
    if paired.bit_count() > max(MANY, 0.75 * len(kinds)):
        paired = _pairs(text.tokens, paired.to_bytes(len(kinds)))
    return (alone | paired << 1).to_bytes(len(kinds))


def _pairs(tokens: Sequence[str], paired: bytes) -> int:
    """Those of the places where a phrase does begin: of many, most of hostile texts are none."""
    seconds = map(_PAIRS.__getitem__, compress(tokens, paired))
    begun = map(contains, seconds, compress(tokens[1:], paired))
    found = bytearray(len(paired))
    for at in compress(compress(range(len(paired)), paired), begun):
        found[at] = 1
    return int.from_bytes(found)


def _bent(  # noqa: PLR0917 - the hot path
    clause: Clause, tokens: Sequence[str], at: int, end: int, mask: int, turn: int
) -> int:
    """The classes, by the words beside it."""
    if turn & _ACTING and at and (beside := BESIDE.get(tokens[at - 1])):
        mask = _acted(clause, at, mask, beside)
    return _widened(clause, tokens, at, end, mask) if turn & _WIDENED else mask


def _acted(clause: Clause, at: int, mask: int, beside: int) -> int:
    """A verb's classes, by the word before it."""
    if beside & _SUFFERED and clause.ends and clause.ends[-1] == at - 1 and clause.masks[-1] & WHO:
        mask &= NO_ACT & NO_DEED
    elif beside & _NAMED:
        mask = mask & NO_ACT or mask
    elif beside & _DOING:
        mask = mask & NO_DEED or mask
    return mask | DOES if beside & _GOAL else mask


def _widened(clause: Clause, tokens: Sequence[str], at: int, end: int, mask: int) -> int:
    """`my friend` is somebody near; `Irish` alone or before people is a group, before stew it is none."""
    if mask & PERSON and at and (tokens[at - 1] in NEAR or (at > 1 and tokens[at - 2] in NEAR)):
        mask |= RELATION
    if mask & KNOWING and clause.before(len(clause.at), WITHOUT, 6):
        mask |= COVERT
    return mask | GROUP if mask & KIN and _grouped(tokens, end) else mask


def _grouped(tokens: Sequence[str], end: int) -> bool:
    """Whether what stands behind a nation's adjective makes it a group."""
    behind = tokens[end] if end < len(tokens) else ""
    return not behind.isalpha() or behind in BETWEEN or bool(WORDS.get(behind, (0,))[0] & PEOPLE)
