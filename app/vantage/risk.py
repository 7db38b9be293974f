"""How surely harm is asked for: the strongest rule over all clauses, by category.

A clause's act takes the object that stands nearest behind it, which decides the verb's sense; how it is
asked scales the weight (app/vantage/harms.py). Nothing around a clause lowers it. Weights in [0, 1]. Nothing
raises.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.vantage import book, people
from app.vantage.acts import DEEDS
from app.vantage.clause import POSSESSED, Clause
from app.vantage.harm import OWNED, Harm
from app.vantage.lexicon import BITS, bits
from app.vantage.manner import manner
from app.vantage.matters import MATTERS
from app.vantage.objects import THINGS
from app.vantage.targets import WHOM
from app.vantage.terms import Finding
from app.vantage.words import Text

REACH = 8
"""Tokens within which a verb finds its object."""

MANY = 100
"""Clauses: among so many it pays to look for those that say the same again."""

OBJECTS = bits(" ".join((*THINGS, *MATTERS, *WHOM, *DEEDS))) | BITS["safe"]
CHAIN = 5
"""Nouns that may belong to one object."""

_TAKEN = OBJECTS | BITS["it"]
CARRIED = bits(
    "weapon bomb toxin drug hard_drug malware d_suicide contraband lock system person relation minor"
)
WHO = bits("person relation minor name group")
WHOSE = bits("relation group")
"""What a thing keeps of whose it is."""

_WEIGHED = book.ACTS | book.TELLING | people.LOOKED
"""Of a clause without one of these nothing is found."""
_IDIOM, _SAFE = BITS["idiom"], BITS["safe"]
_LOCAL = bits("guard learn")
"""Classes whose place in the clause counts."""

_PARTS = "head face throat neck arm leg hand finger eye eyes back chest heart skull body"
BODY = {(part,) for part in _PARTS.split()}
"""What is done to these is done to whose they are."""

SPEAKER = frozenset({"me", "us"})
"""Who asks is the one it is done to."""


@dataclass(slots=True)
class Found:
    """The strongest of each category so far, and the rule that gave it."""

    risk: dict[str, float] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)

    def take(self, category: str, rule: str, weight: float) -> None:
        """Keep it if none was stronger."""
        if weight > self.risk.get(category, 0.0):
            self.risk[category] = min(1.0, round(weight, 4))
            self.by[category] = rule

    def settle(self, category: str, rule: str, weight: float) -> None:
        """It, whatever was found before; what is found later may be stronger."""
        self.risk[category], self.by[category] = weight, rule

    def findings(self) -> tuple[Finding, ...]:
        """One a category, in the order of the categories' names."""
        return tuple(Finding(f"risk.{name}", self.by[name], self.risk[name]) for name in sorted(self.risk))


def weigh(text: Text, clauses: list[Clause], pressed: bool) -> Found:
    """The risk of the whole text; `pressed`: somebody tries to override the rules, so nothing lowers it."""
    found = Found()
    carried = 0
    seen: set[tuple[object, ...]] | None = set() if len(clauses) > MANY else None
    for clause in clauses:
        if seen is not None and _again(seen, carried, text.cased[clause.start : clause.ends[-1] + 3]):
            continue
        whole = clause.whole
        if whole & _WEIGHED:
            _weigh(found, text, clause, carried, pressed)
        carried = whole & CARRIED or carried
    return found


def _again(seen: set[tuple[object, ...]], carried: int, said: tuple[str, ...]) -> bool:
    """Whether the same was said before, of the same."""
    size = len(seen)
    seen.add((carried, *said))
    return len(seen) == size


def _weigh(found: Found, text: Text, clause: Clause, carried: int, pressed: bool) -> None:
    """One clause."""
    whole = clause.whole
    acts = whole & book.ACTS
    if acts and not whole & _IDIOM and _may(found, acts, whole, carried):
        _acts(found, text, clause, carried, pressed)
    if telling := whole & book.TELLING:
        risk = found.risk
        for rule, tells, besides in book.told(telling):
            if whole & besides and rule.holds(whole, risk.get(rule.category, 0.0)):
                _keep(found, rule.harm, clause, _place(clause, tells), pressed, False)
    if whole & people.LOOKED:
        people.weigh(found, text, clause, pressed)


def _may(found: Found, acts: int, whole: int, carried: int) -> bool:
    """Whether a rule for one of the acts could give more than there is, whatever it is done to: no clause can
    have another object than those in it, and the one before."""
    objects, rules = book.acting(acts)
    things = whole | carried | _SAFE
    if not objects & things:
        return False
    risk = found.risk
    for rule in rules:
        if (rule.objects & things or not rule.objects) and rule.holds(whole, risk.get(rule.category, 0.0)):
            return True
    return False


def _acts(found: Found, text: Text, clause: Clause, carried: int, pressed: bool) -> None:
    things = [place for place, mask in enumerate(clause.masks) if mask & _TAKEN]
    seen = 0
    done: set[tuple[int, int, bool]] = set()
    still, whole = not clause.whole & _LOCAL, clause.whole & book.ACTS
    for index, mask in enumerate(clause.masks):
        if acts := mask & book.ACTS:
            while seen < len(things) and things[seen] <= index:
                seen += 1
            if acts != whole and not _may(found, acts, clause.whole, carried):
                continue
            head, own = _object(text, clause, index, things[seen : seen + CHAIN], carried)
            key = (mask, head, own)
            if still and key in done:
                continue
            done.add(key)
            _done(found, clause, index, book.taken(acts, head), pressed, own)


def _done(  # noqa: PLR0917 - the hot path
    found: Found, clause: Clause, index: int, rules: Iterable[book.Rule], pressed: bool, own: bool
) -> None:
    """One act on its object."""
    for rule in rules:
        if rule.holds(clause.whole, found.risk.get(rule.category, 0.0)):
            _keep(found, rule.harm, clause, index, pressed, own)


def _object(text: Text, clause: Clause, index: int, things: list[int], carried: int) -> tuple[int, bool]:
    """The classes of the object's last noun, and whether it is the asker's own thing."""
    end, own, head = clause.ends[index], False, 0
    limit = end + REACH
    for place in things:
        at, mask = clause.at[place], clause.masks[place]
        if at > limit or (head and text.tokens[at - 1] != "'s" and at != end):
            break
        if mask & OBJECTS:
            own = own or (not head and text.tokens[at - 1] in POSSESSED and not mask & WHO)
            head, end = _joined(head, mask), clause.ends[place]
        elif not head:
            head, end = carried, clause.ends[place]
    return _settled(text, clause, index, head, end), own


def _settled(text: Text, clause: Clause, index: int, head: int, end: int) -> int:
    """The object's classes, by what stands behind it."""
    behind = text.tokens[end] if end < len(text.tokens) else ""
    if head & WHO and behind == "'s" and text.tokens[end + 1 : end + 2] not in BODY:
        # Something of theirs that no table knows: it is not they.
        head &= OBJECTS & ~WHO
    elif _spared(clause, head, end, behind):
        return BITS["safe"]
    return head or (0 if behind == "to" else _behind(clause, index))


def _spared(clause: Clause, head: int, end: int, behind: str) -> bool:
    """Whether the speaker is the object, or somebody is only sent something."""
    if not head:
        return behind in SPEAKER
    return bool(head & WHO) and behind in {"a", "an"} and _sent(clause, end)


def _sent(clause: Clause, end: int) -> bool:
    """`shoot my boss an email`: what is handed over stands right behind who gets it."""
    place = next((place for place, at in enumerate(clause.at) if at == end + 1), None)
    return place is not None and bool(clause.masks[place] & BITS["message"])


def _joined(head: int, mask: int) -> int:
    """Whose it is stays known with what it is: a neighbour's car is a car, and the neighbour's."""
    if mask & BITS["safe"] and not mask & ~BITS["safe"] & OBJECTS:
        return mask
    return mask | (head & WHOSE)


def _behind(clause: Clause, index: int) -> int:
    """Of a verb without an object: what it was just said of (`have my boss killed`), or itself a noun."""
    if index and clause.at[index] - clause.ends[index - 1] <= 1 and clause.masks[index - 1] & OBJECTS:
        return clause.masks[index - 1]
    return clause.masks[index] & OBJECTS & ~BITS["safe"]


def _place(clause: Clause, mask: int) -> int:
    return next(index for index, have in enumerate(clause.masks) if have & mask)


def _keep(  # noqa: PLR0917 - the hot path: by name it costs a third more
    found: Found, harm: Harm, clause: Clause, index: int, pressed: bool, own: bool
) -> None:
    weight = harm.weight * manner(harm, clause, index, pressed)
    if own and harm.category in OWNED:
        weight *= 0.35
    if weight >= 0.05:
        found.take(harm.category, harm.id, weight)


def mapping(found: Found, categories: tuple[str, ...]) -> Mapping[str, float]:
    """Every category, 0 where nothing was found."""
    return {name: found.risk.get(name, 0.0) for name in categories}
