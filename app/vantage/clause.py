"""A text cut into clauses, each as the classes of its known words: what the rules of harm look at.

Positions are token indices. A clause ends at a mark, at a line's end, or where a request begins anew after
`LONG` tokens. A verb behind a determiner is a noun and loses its verb classes. Linear in the tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.vantage.acts import DEEDS, VERBS
from app.vantage.lexicon import BITS, WORDS, bits

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
CUT = BITS["cut"]
ASKED = bits("how_i want make_me")
BREAKS = CUT | BITS["how"]
"""What ends a clause, and what may begin one."""

PERSON, RELATION = BITS["person"], BITS["relation"]
NEAR = frozenset({"my", "our", "ex", "his", "her", "their"})
WITHOUT, KNOWING, COVERT = BITS["without"], BITS["knowing"], BITS["covert"]
GROUP, KIN = BITS["group"], BITS["kin"]
WIDE = PERSON | KNOWING | KIN
BENT = WIDE | ACTS
"""Classes that depend on the words beside them."""
TURNING = BREAKS | BENT
"""What is more than one hit among others."""
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


def split(tokens: Sequence[str]) -> list[Clause]:
    """The clauses with at least one known word."""
    found: list[Clause] = []
    clause = Clause(0)
    # Lists in local names, no calls for a common word: this loop is the hot path.
    ats, ends, masks = clause.at, clause.ends, clause.masks
    done, last = 0, len(tokens)
    for at, entry in enumerate(map(WORDS.get, tokens)):
        if entry is None or at < done:
            continue
        mask, phrases = entry
        done = at + 1
        if phrases and done < last and tokens[done] in phrases:
            mask, done = _longest(tokens, at, mask, phrases[tokens[done]])
        if mask & TURNING:
            if mask & BREAKS:
                clause = _broken(found, clause, at, done, mask)
                ats, ends, masks = clause.at, clause.ends, clause.masks
            mask = 0 if mask & CUT else _bent(clause, tokens, at, done, mask)
        if mask:
            ats.append(at)
            ends.append(done)
            masks.append(mask)
            clause.whole |= mask
    return [*found, clause] if clause.at else found


def _broken(found: list[Clause], clause: Clause, at: int, done: int, mask: int) -> Clause:
    """The clause that a hit belongs to which may end the one before it."""
    if not mask & CUT and (at - clause.start <= LONG or clause.whole & DANGER):
        return clause
    begun = done if mask & CUT else at
    if clause.at:
        found.append(clause)
        return Clause(begun)
    clause.start = begun
    return clause


def _bent(clause: Clause, tokens: Sequence[str], at: int, end: int, mask: int) -> int:
    """The classes, by the words beside it."""
    if mask & ACTS and at:
        before = tokens[at - 1]
        if before in SUFFERED and clause.ends and clause.ends[-1] == at - 1 and clause.masks[-1] & WHO:
            mask &= NO_ACT & NO_DEED
        elif before in NAMED:
            mask = mask & NO_ACT or mask
        elif before in DOING:
            mask = mask & NO_DEED or mask
        if before in GOAL:
            mask |= DOES
    return _widened(clause, tokens, at, end, mask) if mask & WIDE else mask


def _widened(clause: Clause, tokens: Sequence[str], at: int, end: int, mask: int) -> int:
    """`my friend` is somebody near; `Irish` alone or before people is a group, before stew it is none."""
    if mask & PERSON and at and (tokens[at - 1] in NEAR or (at > 1 and tokens[at - 2] in NEAR)):
        mask |= RELATION
    if mask & KNOWING and clause.before(len(clause.at), WITHOUT, 6):
        mask |= COVERT
    if mask & KIN:
        behind = tokens[end] if end < len(tokens) else ""
        if not behind.isalpha() or behind in BETWEEN or (behind in WORDS and WORDS[behind][0] & PEOPLE):
            mask |= GROUP
    return mask


def _longest(
    tokens: Sequence[str], at: int, mask: int, phrases: Sequence[tuple[tuple[str, ...], int]]
) -> tuple[int, int]:
    """Classes of the longest phrase that begins here, or of the word alone; and the token behind it."""
    for rest, classes in phrases:
        end = at + 2 + len(rest)
        if not rest or tuple(tokens[at + 2 : end]) == rest:
            return classes, end
    return mask, at + 1
