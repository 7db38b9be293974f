"""How surely a message asks for harm, by category: the rules of `data/risk.txt` over its clauses.

A rule is an act on an object (`kill > PEOPLE`) or classes that meet in one clause (`images & shaming`). The
object is the noun that the verb takes, so it decides the verb's sense: killing a process is no harm. How it
is asked scales the rule's weight: wanted and commanded in full, told as a fact, asked about the world or
guarded against less. The strongest rule of each category counts. Weights are in [0, 1]. Linear in the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from app.vantage.lexicon import IRREGULAR, KINDS, LEXICON, NO_CLASSES, Classes, Hit, Line, sections
from app.vantage.terms import Finding
from app.vantage.text import Text

RISKS = (
    "violence", "weapons", "drugs", "selfharm", "sexual", "minors", "hate", "harassment", "privacy", "theft",
    "fraud", "cyber", "extremism", "misinformation", "advice", "secrets", "extraction",
)  # fmt: skip
"""The categories, each in every `Descriptors.risk`."""
ALIASES = {
    "PEOPLE": frozenset(["person", "relation", "minor", "group", "name"]),
    "ASKED": frozenset(["how", "want", "make_me"]),
}
"""Short names of sets of classes in `risk.txt`."""
KNOWN, WRITTEN, STATED, GUARDED = 0.3, 0.5, 0.4, 0.3
"""Factors where a deed is asked about, wanted as a text, stated, or guarded against."""
CONDEMNED, FOUGHT, PLAYED, OWN = 0.4, 0.4, 0.5, 0.35
"""Factors where it is called wrong, where games are about it, where a game's name is near, and where it is
done to the asker's own thing."""
SECRETLY = 1.1
UNSAID = 0.65
"""Factor of a question of fact in which the asker may be the one who acts (`what … to poison a man`)."""
PRETEXT = 0.45
"""Risk that a game's name leaves where it may be a pretext: negotiated."""
LEAST = 0.05
NEAR = 6
"""Tokens within which what stands against a deed bears on it."""
REACH = 8
"""Tokens within which a verb finds its object."""
LONG = 10
"""Tokens after which `how do I …` begins a clause of its own."""
BODILY = frozenset({"violence", "theft"})
PLAYABLE = frozenset({"violence", "theft", "weapons", "drugs", "fraud", "cyber", "extremism"})
"""Categories that games are about, and those that they have."""
OWNABLE = frozenset({"theft", "cyber", "harassment", "privacy"})
"""What one may do to one's own."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS = _words("a an the my your his our their 's of no some any")
"""Behind these a verb's form is a noun: `the attack`."""
SUFFERED = _words("is was has keeps kept been")
"""`somebody is stalking me`: told of another, not asked for."""
DOING = _words("to i you we can should could would will and")
"""Behind these a deed's name is a verb."""
GOAL = _words("to for of by")
NEARBY = _words("my our ex his her their")
BESIDE = _words("from about in on at with without during while because when")
"""Prepositions that end an object, if a word stands between the verb and them."""
QUESTIONS = _words("how what why when where who can could should")
"""Behind a comma these begin a sentence of their own."""
OWNERS = _words("my our own")
MINE = _words("my our")
PART_OF, OTHERS = _words("of on to in for"), ALIASES["PEOPLE"] | {"public"}
BODY = _words("head face throat neck arm leg hand finger eye eyes back chest heart skull body")
BETWEEN = _words(
    "are is do does don can can't should shouldn't must so be was were have has had not all always never and"
    " or who from because to in at by as than with for on deserve deserves lack need"
)
"""Behind these no noun follows that a nation's adjective describes."""
DESCRIBED = _words("person minor group group_adjective demean")
"""A nation's adjective in front of these names a group."""
THEIRS = _words("'s his her their someone's")
PRIVATE = _words("private home personal_fact")
VERBS = frozenset(KINDS["verbs"])
WHO = ALIASES["PEOPLE"]
THINGS = frozenset(KINDS["nouns"]) - _words("game tale idiom world past")
CARRIED = _words("weapon bomb toxin drug hard_drug malware contraband lock system person relation minor")
"""Objects that `it` and `them` of a later clause may mean."""
DANGER = _words("weapon bomb toxin noxious drug hard_drug medicine malware contraband relation minor group")
PLACED = _words("guard learn wrong game")
"""Classes whose place in a clause counts."""
OPERATIVE = _words("how want covert recipe")
"""Steps are asked for."""
PERSONAL = _words("how_i want covert")
"""The asker is the one who acts."""
WANTED = PERSONAL | {"make_me"}
TELLING, INSTRUCTING = _words("past tale notes"), _words("how recipe how_i detailed")
"""It happened, in the world or in a tale, unless steps are asked for besides."""
STAGED = _words("tale game")
TOLD_OF = PLAYABLE - {"weapons"}
"""Categories that tales and history are about."""
ASKING = ALIASES["ASKED"] | {"how_i"}
LEARN, GUARD, SAFE = _words("learn"), _words("guard"), _words("safe")
HARMLESS, OWNING, MINOR = SAFE | {"self"}, _words("relation group"), _words("minor")
DEEDS = frozenset(name for name in KINDS["nouns"] if name.startswith("deed_"))
TELLERS = _words("voices they he she it who demons head")
"""Behind these `tell me` is told, not asked."""
CONTESTED, RIVALS = (
    _words("beat crush destroy defeat outdo attack smash"),
    _words("competitor competitors competition rivals opponents"),
)
"""What is done to these in markets and matches."""
DISMISSED, STAFF = (
    _words("terminate terminating fire dismiss"),
    _words("employee employees contractor contractors worker workers tenant"),
)
BODILY_ENDS = _words("to up with 's into in until")
"""Behind the noun these may tell that a body is meant."""
CONTACTS = _words(
    "reach email call contact meet message text ask write mail phone named called mr mrs ms dr Mr Mrs Ms Dr"
)
"""Behind these words two capitals are a person's name."""
PARTICIPLE, NO_PARTICIPLES = re.compile(r"[^e]ed$"), _words("embed shed shred wed")
IRREGULAR_PARTICIPLES = frozenset().union(*(forms[1:-1] for forms in IRREGULAR.values()))
FLAGS = _words("known written told guarded past")
KNOWN_CLASSES = frozenset().union(*KINDS.values()) | {"theirs", "own_people"}


@dataclass(frozen=True, slots=True)
class HarmRule:
    """One line of `risk.txt`."""

    id: str
    category: str
    weight: float
    acts: Classes
    objects: Classes
    """Of an act; none: any object but a safe one."""
    groups: tuple[Classes, ...]
    """One class of each has to be in the clause."""
    unless: Classes
    full: Classes
    """Those of `FLAGS` that keep the full weight."""

    def factor(self, manner: str, lowered: float) -> float:
        """What the weight is multiplied by."""
        return 1.0 if manner in self.full else lowered

    def owned(self, own: bool) -> float:
        """The weight where its object is, or is not, the asker's own thing."""
        return self.weight * OWN if own and self.category in OWNABLE else self.weight

    def takes(self, head: Classes) -> bool:
        """True if its act may have an object of these classes."""
        if self.objects:
            return not self.objects.isdisjoint(head)
        return self.category == "selfharm" or HARMLESS.isdisjoint(head)


@dataclass(slots=True)
class Clause:
    """A part of a sentence: its hits in order; tokens from `start` on."""

    start: int
    hits: list[Hit] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)

    def before(self, index: int, classes: Classes, stops: Classes = ASKING) -> bool:
        """True if one of the classes is at most NEAR tokens before a hit; what is before one of `stops` (`how
        do I`, `write`) is a preface."""
        here = self.hits[index].start
        for hit in reversed(self.hits[max(0, index - NEAR) : index]):
            if here - hit.start > NEAR:
                return False
            if hit.classes & classes:
                return True
            if hit.classes & stops:
                return False
        return False


@dataclass(slots=True)
class Harm:
    """The strongest weight of each category so far, and the rule that gave it."""

    risk: dict[str, float] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)
    """The token at which the clause begins."""

    def take(self, category: str, rule: str, weight: float, at: int = 0) -> None:
        """Keep it if none was stronger."""
        if weight >= LEAST and weight > self.risk.get(category, 0.0):
            self.risk[category], self.by[category], self.at[category] = min(1.0, round(weight, 4)), rule, at

    def settle(self, category: str, rule: str, weight: float) -> None:
        """Keep it, whatever was found before."""
        self.risk[category], self.by[category] = weight, rule

    def findings(self) -> tuple[Finding, ...]:
        """One a category, by name."""
        return tuple(Finding(f"risk.{name}", self.by[name], self.risk[name]) for name in sorted(self.risk))

    def levels(self) -> Mapping[str, float]:
        """Every category, 0 where nothing was found."""
        return {name: self.risk.get(name, 0.0) for name in RISKS}


# The table


def rules(table: Mapping[str, Iterable[Line]]) -> Iterator[HarmRule]:
    """Those of a table like `risk.txt`: `id weight acts > objects & classes ! unless + full` under a
    `[category]`. Raises ValueError with the line's number."""
    seen = set[str]()
    for category, lines in table.items():
        if category not in RISKS:
            raise ValueError(f"risk.txt: no category [{category}]")
        for line in lines:
            try:
                rule = _rule(category, line)
            except ValueError as error:
                raise ValueError(f"risk.txt:{line.number}: {error}") from None
            if rule.id in seen:
                raise ValueError(f"risk.txt:{line.number}: a second rule {rule.id}")
            seen.add(rule.id)
            yield rule


def _rule(category: str, line: Line) -> HarmRule:
    """Raises ValueError for what is no rule."""
    name, weight, rest = line.split(None, 2)
    if not 0 < float(weight) <= 1:  # NaN neither
        raise ValueError(f"{weight} is no weight above 0 and at most 1")
    rest, _, full = rest.partition(" + ")
    rest, _, unless = rest.partition(" ! ")
    acts, objects, groups = _classes(""), _classes(""), list[Classes]()
    for part in rest.split(" & "):
        if ">" in part:
            if acts:
                raise ValueError("more than one part with `>`")
            acts, objects = map(_classes, part.split(">"))
            if not acts:
                raise ValueError("no act before `>`")
        elif group := _classes(part):
            groups.append(group)
        else:
            raise ValueError("a part without a class")
    for one in (acts, objects, _classes(unless), *groups):
        if missing := one - KNOWN_CLASSES | _words(full) - FLAGS:
            raise ValueError(f"no class or flag {', '.join(sorted(missing))}")
    return HarmRule(
        name, category, float(weight), acts, objects, tuple(groups), _classes(unless), _words(full)
    )


def _classes(text: str) -> Classes:
    """The classes that a part of a line names; ANY is no class."""
    names = text.split()
    return frozenset().union(*(ALIASES.get(name, {name}) for name in names if name != "ANY"))


def _telling(rule: HarmRule) -> Classes:
    """The rule's first group that is not only about how it is asked."""
    frames = ALIASES["ASKED"] | _words("know how_i covert learn make spread recipe")
    return next((group for group in rule.groups if not group <= frames), rule.groups[0])


RULES = tuple(rules(sections("risk.txt")))
ON_OBJECTS = tuple([(rule, rule.acts) for rule in RULES if rule.acts])
TOGETHER = tuple([(rule, _telling(rule)) for rule in RULES if not rule.acts])
ACTING = frozenset().union(*(acts for _, acts in ON_OBJECTS))
TELLING_CLASSES = frozenset().union(*(telling for _, telling in TOGETHER))


@lru_cache(maxsize=4_096)
def _acting(classes: Classes) -> Sequence[HarmRule]:
    """The rules on objects that have an act among these classes."""
    return [rule for rule, acts in ON_OBJECTS if not acts.isdisjoint(classes)]


@lru_cache(maxsize=4_096)
def _told_by(classes: Classes) -> Sequence[tuple[HarmRule, Classes]]:
    """The rules of classes that meet whose telling group has one of these, with that group."""
    return [(rule, telling) for rule, telling in TOGETHER if not telling.isdisjoint(classes)]


def _met(rule: HarmRule, classes: AbstractSet[str]) -> bool:
    """True if a clause of these classes has what the rule needs beside an act and its object."""
    if not rule.unless.isdisjoint(classes):
        return False
    return not any(map(classes.isdisjoint, rule.groups))


# Clauses, and what their words are in their places

Holds: TypeAlias = Callable[[Clause, Text, Hit], bool]
"""Tells whether the words beside a hit add a class to it."""


def clauses(text: Text, known: Iterable[Hit]) -> list[Clause]:
    """The clauses that have a known word (`lexicon.hits`). A clause ends at a mark, or where `how do I …`
    begins after LONG tokens that named no danger."""
    found: list[Clause] = []
    clause = Clause(0)
    for hit in known:
        cut = "cut" in hit.classes
        if cut or ("how" in hit.classes and _is_preface(clause, hit.start)):
            if clause.hits:
                found.append(clause)
            clause = Clause(hit.end if cut else hit.start)
            if cut:
                continue
        if hit.classes.isdisjoint(AMBIGUOUS):
            clause.hits.append(hit)
            clause.classes |= hit.classes
        elif classes := _in_place(clause, text, hit):
            clause.hits.append(hit if classes is hit.classes else Hit(hit.start, hit.end, classes))
            clause.classes |= classes
    return [*found, clause] if clause.hits else found


def _is_preface(clause: Clause, at: int) -> bool:
    """True if a clause is long at a token, and named no danger so far."""
    return at - clause.start > LONG and DANGER.isdisjoint(clause.classes)


def _in_place(clause: Clause, text: Text, hit: Hit) -> Classes:
    """A hit's classes, as the words beside it leave them."""
    classes = hit.classes
    ambiguity = _ambiguity(classes)
    if ambiguity.verb:
        classes = _verb_in_place(clause, text, hit)
    if "want" in classes and _is_told(text, hit):
        return NO_CLASSES  # `voices tell me to …`
    for holds, name in ambiguity.added:
        if holds(clause, text, hit):
            classes |= {name}
    if "name" in classes and not text.cased[hit.start].istitle():
        classes -= {"name"}  # `bill` is due
    return classes


class Ambiguity(NamedTuple):
    """How the words beside a hit may change its classes."""

    verb: bool
    """It may be a verb or a noun."""
    added: Sequence[tuple[Holds, str]]
    """Classes that it may have besides, each with what tells."""


@cache
def _ambiguity(classes: Classes) -> Ambiguity:
    """Of a hit of these classes."""
    added = [(holds, name) for having, holds, name in ADDED if not having.isdisjoint(classes)]
    return Ambiguity(not VERBS.isdisjoint(classes), added)


def _verb_in_place(clause: Clause, text: Text, hit: Hit) -> Classes:
    """A verb's classes without those of the noun that it may be, or the other way round."""
    classes, before = hit.classes, text.tokens[hit.start - 1] if hit.start else ""
    if _is_surname(clause, text, hit):
        return classes - VERBS
    if before in SUFFERED and _follows_a_person(clause, hit):
        classes -= VERBS | DEEDS  # `somebody is stalking me`
    elif before in DETERMINERS:
        classes = classes - VERBS or classes  # `the attack`
    elif before in DOING:
        classes = classes - DEEDS or classes  # `to attack`
    return classes | {"doing"} if before in GOAL else classes


def _is_told(text: Text, hit: Hit) -> bool:
    """`tell me` with a subject of its own."""
    before = text.tokens[hit.start - 1] if hit.start else ""
    return text.tokens[hit.start : hit.end] == ("tell", "me") and before in TELLERS


def _follows_a_person(clause: Clause, hit: Hit) -> bool:
    """`somebody is stalking`: one token from the person to the verb."""
    last = clause.hits[-1] if clause.hits else None
    return last is not None and last.end == hit.start - 1 and not WHO.isdisjoint(last.classes)


def _is_surname(clause: Clause, text: Text, hit: Hit) -> bool:
    """`email Emma Stone`: a capital behind a first name, or in a name behind a verb of contact. A message in
    capitals tells nothing."""
    at = hit.start
    if not at or not text.cased[at].istitle() or hit.end != at + 1:
        return False
    last = clause.hits[-1] if clause.hits else None
    if last is not None and last.end == at and "name" in last.classes and text.cased[at - 1].istitle():
        return True
    behind = text.cased[at + 1 : at + 2]
    return text.cased[at - 1] in CONTACTS and bool(behind) and behind[0].istitle()


def _is_near_the_asker(_clause: Clause, text: Text, hit: Hit) -> bool:
    """`my old boss`, `her sister`."""
    return not NEARBY.isdisjoint(text.tokens[max(0, hit.start - 2) : hit.start])


def is_the_askers(text: Text, hit: Hit) -> bool:
    """True for a person of the asker's: `my neighbour Peter`, `our boss`; not `my boss's birthday`."""
    owned = not MINE.isdisjoint(text.tokens[max(0, hit.start - 2) : hit.end])
    return owned and text.tokens[hit.end : hit.end + 1] != ("'s",)


def _is_own_person(_clause: Clause, text: Text, hit: Hit) -> bool:
    return is_the_askers(text, hit)


def _is_own_child(_clause: Clause, text: Text, hit: Hit) -> bool:
    """A child of the asker's: `my 13 year old`, not `my 13 year old student`."""
    before, behind = text.tokens[max(0, hit.start - 2) : hit.start], text.tokens[hit.end : hit.end + 1]
    entry = LEXICON.get(behind[0]) if behind else None
    owned = not OWNERS.isdisjoint(before) and "others_child" not in hit.classes and behind != ("'s",)
    return owned and (entry is None or WHO.isdisjoint(entry.classes))


def _is_denied(clause: Clause, _text: Text, _hit: Hit) -> bool:
    return any("without" in one.classes for one in clause.hits[-3:])


def _is_anothers(_clause: Clause, text: Text, hit: Hit) -> bool:
    """A private thing that is said to be somebody's: `his passcode`, `the passcode of …`."""
    before = text.tokens[max(0, hit.start - 2) : hit.start]
    return not THEIRS.isdisjoint(before) or text.tokens[hit.end : hit.end + 1] == ("of",)


def _is_a_group(_clause: Clause, text: Text, hit: Hit) -> bool:
    """A nation's adjective without a noun, or before people: `the Chinese are`, not `Chinese food`."""
    behind = text.tokens[hit.end] if hit.end < len(text.tokens) else ""
    entry = LEXICON.get(behind)
    described = entry is not None and not DESCRIBED.isdisjoint(entry.classes)
    return described or behind in BETWEEN or not behind.isalpha()


ADDED: Sequence[tuple[Classes, Holds, str]] = (
    (_words("person"), _is_near_the_asker, "relation"),
    (_words("person relation minor"), _is_own_person, "own_people"),
    (_words("child infant young"), _is_own_child, "own_child"),
    (_words("noticing"), _is_denied, "covert"),
    (PRIVATE, _is_anothers, "theirs"),
    (_words("group_adjective"), _is_a_group, "group"),
)
"""Classes to which the words beside them add another."""
AMBIGUOUS = VERBS.union(*(having for having, _, _ in ADDED), {"name", "want"})
"""Classes that the words beside them may change."""


# Weighing


def find_harm(text: Text, known: Iterable[Hit], pressed: bool) -> Harm:
    """The risk of a text whose known words are given. `pressed`: it tries to override the rules, so that
    nothing lowers a weight."""
    found, carried, seen = Harm(), frozenset[str](), set[tuple[object, ...]]()
    for clause in clauses(text, known):
        key = (carried, text.cased[clause.start : clause.hits[-1].end + 3])
        if key not in seen:  # what is said again weighs the same
            seen.add(key)
            _find_acts(found, text, clause, carried, pressed)
            _find_meetings(found, text, clause, pressed)
        carried = CARRIED & clause.classes or carried
    return found


def _find_acts(found: Harm, text: Text, clause: Clause, carried: Classes, pressed: bool) -> None:
    """Takes the weights of the rules `act > object` of each act of a clause and the object that it has there.
    `carried`: the classes that `it` and `them` may mean, from earlier clauses."""
    classes = clause.classes
    met = _rules_met(classes, carried)
    if not met:
        return
    placed, done = not PLACED.isdisjoint(classes), set[tuple[Classes, Classes, bool]]()
    acts = NO_CLASSES.union(*[rule.acts for rule in met])
    for index, hit in enumerate(clause.hits):
        if acts.isdisjoint(hit.classes):
            continue
        head, own = _object(text, clause, index, carried)
        key = (hit.classes, head, own)
        if key in done and not placed:
            continue
        done.add(key)
        for rule in met:
            if rule.takes(head) and not rule.acts.isdisjoint(hit.classes):
                weight = rule.owned(own) * _phrasing_factor(rule, clause, text, index, pressed)
                found.take(rule.category, rule.id, weight, clause.start)


def _rules_met(classes: AbstractSet[str], carried: Classes) -> Sequence[HarmRule]:
    """The rules whose act, object and further groups a clause of these classes has."""
    acting = ACTING & classes
    if not acting:
        return ()
    there = classes | carried
    found = [rule for rule in _acting(acting) if not (rule.objects and rule.objects.isdisjoint(there))]
    return [rule for rule in found if _met(rule, classes)]


def _find_meetings(found: Harm, text: Text, clause: Clause, pressed: bool) -> None:
    """Applies the rules of classes that meet in one clause."""
    classes = clause.classes
    for rule, telling in _told_by(TELLING_CLASSES & classes):
        if _met(rule, classes):
            place = next(at for at, hit in enumerate(clause.hits) if hit.classes & telling)
            weight = rule.weight * _phrasing_factor(rule, clause, text, place, pressed)
            found.take(rule.category, rule.id, weight, clause.start)


def _object(text: Text, clause: Clause, index: int, carried: Classes) -> tuple[Classes, bool]:
    """The classes of an act's object, and whether it is the asker's own thing."""
    head, end, own = _noun_behind(text, clause, index, carried)
    behind = text.tokens[end] if end < len(text.tokens) else ""
    if _is_work(text, clause.hits[index], end):
        return SAFE, own
    persons = not WHO.isdisjoint(head)
    if persons and behind == "'s" and BODY.isdisjoint(text.tokens[end + 1 : end + 2]):
        head -= WHO  # something of theirs that no class knows
    elif _is_given(clause, end, behind) if persons else (not head and behind in {"me", "us"}):
        return SAFE, own
    return head or _passive(clause, index, behind), own


def _is_work(text: Text, act: Hit, end: int) -> bool:
    """`beat my competitors`, `terminate an employee`: a contest, a contract; not `beat my rival to death`."""
    said, behind = text.tokens[act.start : end], text.tokens[end : end + 1]
    contest = said[0] in CONTESTED and said[-1] in RIVALS
    worked = contest or (said[0] in DISMISSED and said[-1] in STAFF)
    return worked and BODILY_ENDS.isdisjoint(behind)


def _noun_behind(text: Text, clause: Clause, index: int, carried: Classes) -> tuple[Classes, int, bool]:
    """The noun that a verb takes: its classes, the token where it ends, and whether it is the asker's own. In
    a row of nouns (`my boss's car`) the last one is it."""
    act, head, own = clause.hits[index], NO_CLASSES, False
    end = act.end
    for hit in clause.hits[index + 1 : index + 2 + REACH]:
        if hit.start > act.end + REACH or not _continues(text, act, hit, end, head):
            break
        if things := hit.classes & THINGS:
            own = own or (not head and _is_own_thing(text, hit))
            # Whose it is stays known with what it is: a neighbour's car is a car, and the neighbour's. A
            # cousin of ten years is a child.
            kept = OWNING if WHO.isdisjoint(things) else OWNING | MINOR
            head, end = things if things == SAFE else things | (head & kept), hit.end
        elif "pronoun" in hit.classes and not head:
            head, end = carried, hit.end
    return head, end, own or _is_part_of_own(text, clause, index, end)


def _is_own_thing(text: Text, hit: Hit) -> bool:
    """True for `my car`: a thing, not a person, of the asker's."""
    return text.tokens[hit.start - 1] in OWNERS and WHO.isdisjoint(hit.classes)


def _is_part_of_own(text: Text, clause: Clause, index: int, end: int) -> bool:
    """`the lock of my flat`: behind the noun follows what is the asker's, and neither a person nor theirs."""
    said = text.tokens[end : end + 4]
    if len(said) < 3 or said[0] not in PART_OF or said[1] not in OWNERS or said[3:] == ("'s",):
        return False
    whose = [hit.classes for hit in clause.hits[index:] if end < hit.start <= end + 2]
    return OTHERS.isdisjoint(NO_CLASSES.union(*whose))


def _continues(text: Text, act: Hit, hit: Hit, end: int, head: Classes) -> bool:
    """True if a hit may belong to the object of an act, whose noun so far is `head`, up to token `end`."""
    if head:
        return hit.start == end or text.tokens[hit.start - 1] == "'s"
    between = text.tokens[act.end : hit.start]
    if "," in between and not QUESTIONS.isdisjoint(between[between.index(",") + 1 :][:2]):
        return False  # `the demo bombed, how do I tell the client`
    # `exterminate feedback from clients`: the object is a word that no class knows
    return BESIDE.isdisjoint(text.tokens[act.end + 1 : hit.start])


def _is_given(clause: Clause, end: int, behind: str) -> bool:
    """True if a person is sent something: `shoot my boss an email`."""
    return behind in {"a", "an"} and any(
        "message" in hit.classes for hit in clause.hits if hit.start == end + 1
    )


def _passive(clause: Clause, index: int, behind: str) -> Classes:
    """The object of a verb without one: what was just said of (`have my boss killed`), or itself a noun."""
    if behind == "to":
        return NO_CLASSES
    act, last = clause.hits[index], clause.hits[index - 1] if index else None
    if last and act.start - last.end <= 1 and (before := last.classes & THINGS):
        return before
    return act.classes & THINGS - SAFE


# How it is asked, as a factor of the rule's weight


def _phrasing_factor(rule: HarmRule, clause: Clause, text: Text, index: int, pressed: bool) -> float:
    """Of a rule that is met at a hit of a clause."""
    classes = clause.classes
    tells = _tells(clause, index)
    if "covert" in classes and not tells:
        return SECRETLY
    factor = _how_asked(rule, clause, text, index)
    if pressed:
        return max(factor, rule.factor("written", WRITTEN))
    factor *= _guarded_or_condemned(rule, clause, index)
    if tells and rule.category in TOLD_OF:
        wanted = classes & {"make_me", "want"} and ("text" not in classes or "own_people" in classes)
        factor = min(factor, PRETEXT / rule.weight if wanted else rule.factor("past", KNOWN))
    if "game" in classes and "relation" not in classes and rule.category in PLAYABLE:
        factor = _in_a_game(rule, clause, index, factor)
    return factor


def _tells(clause: Clause, index: int) -> bool:
    """True if a deed happened, in the world or in a tale: no way of doing it is asked for, in detail or in
    steps, and the asker does not want to do it to their own people (`I want to poison my rival as in …`)."""
    classes = clause.classes
    if TELLING.isdisjoint(classes) or not INSTRUCTING.isdisjoint(classes):
        return False
    return not ("own_people" in classes and index and _is_next(clause.hits[index - 1], clause.hits[index]))


def _is_next(want: Hit, act: Hit) -> bool:
    """True for `I want to kill`: a wish of the asker, directly followed by the deed."""
    return "want" in want.classes and act.start - want.end <= 1


def _how_asked(rule: HarmRule, clause: Clause, text: Text, index: int) -> float:
    """To learn about it, as a text, to do it, out of curiosity, or told as a fact."""
    classes = clause.classes
    if "learn" in classes and clause.before(index, LEARN):
        return rule.factor("known", KNOWN)
    if "make_me" in classes and _is_written(classes):
        return rule.factor("written", WRITTEN)
    if _wants_a_way(classes):
        past = "past" in classes and PERSONAL.isdisjoint(classes)
        return rule.factor("known", KNOWN) if past else 1.0
    if _is_order(clause, text):
        return 1.0
    if "know" in classes:
        known = rule.factor("known", KNOWN)
        doing = "doing" in clause.hits[index].classes and "world" not in classes
        return max(known, UNSAID) if doing else known
    return rule.factor("told", STATED)


def _wants_a_way(classes: AbstractSet[str]) -> bool:
    """True if steps are asked for, or details of what is done in a tale."""
    return not OPERATIVE.isdisjoint(classes) or ("detailed" in classes and not STAGED.isdisjoint(classes))


def _is_written(classes: AbstractSet[str]) -> bool:
    """True if a text is wanted: a story, or anything but steps."""
    story = ("text" in classes or "tale" in classes) and "recipe" not in classes
    return story or OPERATIVE.isdisjoint(classes)


def _is_order(clause: Clause, text: Text) -> bool:
    """True if it begins with a verb: `kill him`; a participle is no order: `burned baby`, `hit by …`."""
    first = clause.hits[0]
    if first.start != clause.start or VERBS.isdisjoint(first.classes):
        return False
    word, behind = text.tokens[first.start], text.tokens[first.end : first.end + 1]
    participle = PARTICIPLE.search(word) is not None and word not in NO_PARTICIPLES
    return not participle and word not in IRREGULAR_PARTICIPLES and behind != ("by",)


def _guarded_or_condemned(rule: HarmRule, clause: Clause, index: int) -> float:
    """Lower where it is guarded against (`protect her from …`), or called wrong."""
    classes = clause.classes
    if "guard" in classes and clause.before(index, GUARD):
        return rule.factor("guarded", GUARDED)
    if "wrong" in classes and WANTED.isdisjoint(classes) and _condemned(clause, index):
        return rule.factor("guarded", CONDEMNED)
    return 1.0


def _condemned(clause: Clause, index: int) -> bool:
    """`is it wrong to kill`, `why is killing wrong`."""
    if clause.before(index, frozenset({"wrong"}), frozenset({"know"})):
        return True
    asked = next((at for at, hit in enumerate(clause.hits) if "know" in hit.classes), len(clause.hits))
    return any("wrong" in hit.classes for hit in clause.hits[max(index, asked) :])


def _in_a_game(rule: HarmRule, clause: Clause, index: int, factor: float) -> float:
    """`rob a bank in GTA` is what games are about; a game's name in front may be a pretext."""
    lowered = factor * (FOUGHT if rule.category in BODILY or rule.category == "weapons" else PLAYED)
    named_behind = any("game" in hit.classes for hit in clause.hits[index:])
    if rule.category in BODILY and named_behind:
        return lowered
    return max(lowered, min(factor, PRETEXT / rule.weight))
