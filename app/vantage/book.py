"""The rules of harm by what a clause holds: found by dictionary, never by going through the table.

Rules are compiled to bits once at import; sets of classes that were met are kept, `MOST` at the most.
Nothing here raises.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.vantage.acts import VERBS
from app.vantage.harms import CLAUSES, PAIRS, Harm
from app.vantage.lexicon import BITS, bits

OPEN, COVERT = 1.0, 1.1
"""The highest factors of a weight, without and with the class `covert` (app/vantage/manner.py)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its classes as bits."""

    harm: Harm
    category: str
    most: float
    """The highest risk that it may give…"""
    covert: float
    """… and where it is to be done in secret."""
    acts: int
    objects: int
    groups: tuple[int, ...]
    unless: int

    def holds(self, whole: int, risk: float) -> bool:
        """Whether a clause has what the rule needs besides the act, and it may give more than this risk."""
        if risk >= self.most and (risk >= self.covert or not whole & _COVERT):
            return False
        if whole & self.unless:
            return False
        # A loop, not `all` of an expression: this is the hot path.
        for group in self.groups:  # noqa: SIM110
            if not whole & group:
                return False
        return True


def _rule(harm: Harm) -> Rule:
    groups = tuple(bits(group) for group in harm.groups)
    acts, objects, unless = bits(harm.acts), bits(harm.objects), bits(harm.unless)
    weight = harm.weight
    return Rule(harm, harm.category, weight * OPEN, weight * COVERT, acts, objects, groups, unless)


_PAIRS = tuple(_rule(harm) for harm in PAIRS)
_CLAUSES = tuple(_rule(harm) for harm in CLAUSES)
ACTS = bits(" ".join(VERBS))
_FRAMES = bits("how how_i want make_me know covert learn make spread recipe")
_COVERT = BITS["covert"]
MOST = 4096
"""Sets of classes whose rules are kept, those met last."""


def _telling(rule: Rule) -> int:
    """The group that few clauses have: not a frame."""
    return next((group for group in rule.groups if not group & _FRAMES), rule.groups[0])


TELLING = 0
for _compiled in _CLAUSES:
    TELLING |= _telling(_compiled)


@lru_cache(maxsize=MOST)
def taken(acts: int, head: int) -> tuple[Rule, ...]:
    """The rules for acts on an object of these classes."""
    return tuple([rule for rule in acting(acts)[1] if _takes(rule, head)])


@lru_cache(maxsize=MOST)
def acting(acts: int) -> tuple[int, tuple[Rule, ...]]:
    """The rules for acts on anything, and whatever one of them is done to: all classes, where one needs no
    object."""
    rules = tuple([_PAIRS[place] for place in _places(_ACTED, acts)])
    things = 0
    for rule in rules:
        things |= rule.objects or ~0
    return things, rules


def _takes(rule: Rule, head: int) -> bool:
    if rule.objects:
        return bool(head & rule.objects)
    return rule.harm.category == "selfharm" or not head & (BITS["safe"] | BITS["self"])


@lru_cache(maxsize=MOST)
def told(whole: int) -> tuple[tuple[Rule, int, int], ...]:
    """The rules that a clause of these telling classes may meet, each with what tells it, and with what it
    needs besides: most fail by that."""
    return tuple([_TOLD[place] for place in _places(_TELLS, whole)])


def _told(rule: Rule) -> tuple[Rule, int, int]:
    telling = _telling(rule)
    return rule, telling, next((group for group in rule.groups if group != telling), telling)


def _by(classes: Iterable[int]) -> Mapping[int, Sequence[int]]:
    """By class, the places of those that have it."""
    found: dict[int, list[int]] = {}
    for place, mask in enumerate(classes):
        for bit in _each(mask):
            found.setdefault(bit, []).append(place)
    return found


def _each(mask: int) -> Iterator[int]:
    """Its bits."""
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


def _places(by: Mapping[int, Sequence[int]], mask: int) -> Sequence[int]:
    """In the tables' order, those that have one of the classes."""
    found = [by[bit] for bit in _each(mask) if bit in by]
    return found[0] if len(found) == 1 else sorted({place for places in found for place in places})


_TOLD = tuple(map(_told, _CLAUSES))
_TELLS = _by(telling for _, telling, _ in _TOLD)
_ACTED = _by(rule.acts for rule in _PAIRS)
