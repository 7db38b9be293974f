"""What is asked about people: private facts of somebody private, and what is said of a whole group.

Order counts here, so these are rules of their own: whose fact it is stands before it (`Ann's address`) or
behind (`the address of Ann`); a trait is said of a group when it stands behind it. Nothing here raises.
"""

from itertools import compress
from operator import ne
from typing import Protocol

from app.vantage.clause import POSSESSED, Clause
from app.vantage.lexicon import BITS, bits
from app.vantage.words import Text

FACTS = bits("private home fact trait dwell")
DWELL, WHERE = BITS["dwell"], BITS["where"]
FOUND_BY = bits("home fact dwell")
_PRIVATE, _GUARD, _GROUP, _HOME, _PERSON = map(bits, ("private", "guard", "group", "home", "person"))
_COVERT, _PAST, _TALE, _DEMEAN, _LEARN = map(bits, ("covert", "past", "tale", "demean", "learn"))
LOOKED = FACTS | _DEMEAN
"""Without one of these nothing is asked about people."""
OFFICES = BITS["public"]
CLOSE = bits("relation name")
TOLD = bits("relation name others")
TALKED, OPENED = BITS["talking"], BITS["opening"]
"""Spoken of with whom it is about, or made for them: nothing is found out."""
AGAINST = bits("guard wrong learn")
WHY = bits("know whether")
ASKING = bits("how want know make_me covert whether looking where")
BEGUN = frozenset("is does has did are do find look get search locate track".split())  # noqa: SIM905
"""How a question or a command about somebody begins."""

WHOSE = (
    (bits("relation"), (0.75, 0.6, 0.6)),
    (bits("name"), (0.75, 0.6, 0.4)),
    (bits("public"), (0.45, 0.0, 0.0)),
    (bits("others"), (0.7, 0.55, 0.5)),
    (bits("person"), (0.7, 0.55, 0.0)),
)
"""Whose the fact is → how surely asking for it harms: a private fact, where to find them, a trait."""

COPULA = frozenset("are is be being as so were was such".split())  # noqa: SIM905


class Keeper(Protocol):
    """Who keeps the strongest."""

    def take(self, category: str, rule: str, weight: float) -> None:
        """Keep it if none was stronger."""


def weigh(found: Keeper, text: Text, clause: Clause, pressed: bool) -> None:
    """Both kinds, for one clause."""
    if clause.whole & FACTS:
        _facts(found, text, clause, pressed)
    if clause.whole & _DEMEAN and clause.whole & _GROUP:
        _traits(found, text, clause, pressed)


def _facts(found: Keeper, text: Text, clause: Clause, pressed: bool) -> None:
    whole = clause.whole
    asked = whole & ASKING or not BEGUN.isdisjoint(text.tokens[clause.start : clause.start + 1])
    guarded = whole & _GUARD and not pressed
    for index, mask in enumerate(clause.masks):
        if not mask & FACTS or text.tokens[clause.at[index] - 1] in POSSESSED:
            continue
        weight = _whose(text, clause, index) * (1.0 if asked else 0.6)
        if weight and guarded and clause.before(index, _GUARD, 6):
            weight *= 0.3
        if weight:
            found.take("privacy", "private-fact" if mask & _PRIVATE else "personal-fact", weight)


def _whose(text: Text, clause: Clause, index: int) -> float:
    """By what the fact is, and whose: somebody near, somebody named, an office, a figure of a tale."""
    whole, mask = clause.whole, clause.masks[index]
    column = 0 if mask & _PRIVATE else 1 if mask & FOUND_BY else 2
    if _dwells(text, clause, mask) or _told(text, clause, column):
        return 0.0
    for classes, weights in WHOSE:
        if whole & ~(mask & _GROUP) & classes:
            if mask & _HOME and classes == OFFICES and whole & _PERSON:
                return 0.55
            return weights[column] + (0.15 if whole & _COVERT else 0.0)
    return _unknown(text, clause, index)[column]


def _dwells(text: Text, clause: Clause, mask: int) -> bool:
    """Whether it is a word of living somewhere that does not ask where."""
    if not mask & DWELL:
        return False
    whole = clause.whole
    return not whole & WHERE or bool(whole & _PAST) or (not mask & ~DWELL and not _near(text, clause))


def _told(text: Text, clause: Clause, column: int) -> bool:
    """Whether the fact is told, opened or made up, and not looked for."""
    whole = clause.whole
    if whole & (OPENED | _TALE) or (column and whole & TALKED):
        return True
    return column == 2 and not whole & TOLD and not _pair(text, clause)


def _unknown(text: Text, clause: Clause, index: int) -> tuple[float, float, float]:
    """`my roofer's` is somebody near; two words written as a name are somebody."""
    at = clause.at[index]
    before = text.cased[max(clause.start, at - 4) : at]
    if before[-1:] == ("'s",) and not any(at - 4 < place < at for place in clause.at):
        if before[-3:-2] and before[-3].lower() in POSSESSED | {"this", "that", "his", "her", "their"}:
            return (0.75, 0.6, 0.6)
        if len(before) > 2 and before[-2].istitle() and before[-3].istitle():
            return (0.6, 0.45, 0.0)
    return (0.6, 0.45, 0.4) if _pair(text, clause) and not clause.whole & _PAST else (0.0, 0.0, 0.0)


def _near(text: Text, clause: Clause) -> bool:
    return bool(clause.whole & CLOSE) or _pair(text, clause)


def _pair(text: Text, clause: Clause) -> bool:
    """Two words that no table knows, side by side, both written as names; the first word is always so."""
    begun, stop = clause.start + 1, clause.ends[-1] + 4
    cased = text.cased[begun:stop]
    written = compress(range(len(cased) - 1), map(ne, cased, text.tokens[begun:stop]))
    return any(
        len(cased[n + 1]) > 1
        and cased[n].istitle()
        and cased[n + 1].istitle()
        and {begun + n, begun + n + 1}.isdisjoint(clause.at)
        for n in written
    )


def _traits(found: Keeper, text: Text, clause: Clause, pressed: bool) -> None:
    groups = [place for place, mask in enumerate(clause.masks) if mask & _GROUP]
    first = clause.ends[groups[0]]
    said = [place for place, mask in enumerate(clause.masks) if mask & _DEMEAN and clause.at[place] >= first]
    if not said or clause.at[said[0]] - first > 8:
        if not clause.whole & AGAINST and _beside(clause, groups):
            found.take("hate", "group-trait", 0.45)
        return
    between = text.tokens[max(clause.start, clause.at[groups[0]] - 4) : clause.at[said[0]]]
    weight = 0.75 if COPULA.intersection(between) else 0.45
    if not pressed and _opposed(clause, groups[0]):
        weight *= 0.4
    found.take("hate", "group-trait", weight)


def _opposed(clause: Clause, group: int) -> bool:
    """Whether something stands against it, or somebody wants to learn of it; what stands before a question
    that comes before the group is a preface."""
    asked = next((place for place, mask in enumerate(clause.masks[:group]) if mask & WHY), 0)
    return bool(clause.whole & _LEARN) or any(mask & AGAINST for mask in clause.masks[asked:])


def _beside(clause: Clause, groups: list[int]) -> bool:
    """`lazy Swedes`: said right before the group, which is what the words beside it make it."""
    return any(
        place and clause.masks[place - 1] & _DEMEAN and clause.ends[place - 1] == clause.at[place]
        for place in groups
    )
