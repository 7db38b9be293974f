"""How surely a message asks for harm, by category: the rules of `data/risk.txt` over its clauses.

A rule is an act on an object (`kill > PEOPLE`) or classes that meet in one clause (`images & shaming`). The
object is the noun that the verb takes, so it decides the verb's sense: killing a process is no harm. How it
is asked scales the rule's weight: wanted and commanded in full, told as a fact, asked about the world or
guarded against less. The strongest rule of each category counts. Weights are in [0, 1]. Linear in the text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.vantage.lexicon import KINDS, LEXICON, Classes, Hit, sections
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
KNOWN, WRITTEN, TOLD, GUARDED = 0.3, 0.5, 0.4, 0.3
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
"""Behind these a verb's form is a noun."""
SUFFERED = _words("is was has keeps kept been")
"""`somebody is stalking me`: told of another, not asked for."""
DOING = _words("to i you we can should could would will and")
"""Behind these a deed's name is a verb."""
GOAL = _words("to for of by")
NEARBY = _words("my our ex his her their")
BESIDE = _words("from about in on at with without during while because when")
"""Prepositions that end an object, if a word stands between the verb and them."""
OWNERS = _words("my our own")
BODY = _words("head face throat neck arm leg hand finger eye eyes back chest heart skull body")
BETWEEN = _words(
    "are is do does don can can't should shouldn't must so be was were have has had not all always never and"
    " or who from because to in at by as than with for on deserve deserves lack need"
)
"""Behind these no noun follows that a nation's adjective describes."""
PEOPLE = _words("person minor group kin demean")
"""A nation's adjective in front of these names a group."""
THEIRS = _words("'s his her their someone's")
PRIVATE = _words("private home trait")
VERBS = frozenset(KINDS["verbs"])
WHO = _words("person relation minor name group")
THINGS = frozenset(KINDS["nouns"]) - _words("game tale idiom figure world past")
CARRIED = _words("weapon bomb toxin drug hard_drug malware contraband lock system person relation minor")
"""Objects that `it` and `them` of a later clause may mean."""
DANGER = _words("weapon bomb toxin noxious drug hard_drug medicine malware contraband relation minor group")
PLACED = _words("guard learn wrong game")
"""Classes whose place in a clause counts."""
OPERATIVE = _words("how want covert recipe")
PERSONAL = _words("how_i want covert")


@dataclass(frozen=True, slots=True)
class Rule:
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
    """Of known, written, told, guarded: where the weight is not lowered."""

    def factor(self, manner: str, lowered: float) -> float:
        """What the weight is multiplied by."""
        return 1.0 if manner in self.full else lowered


@dataclass(slots=True)
class Clause:
    """Its hits in order; tokens from `start` on."""

    start: int
    hits: list[Hit] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)

    def before(self, index: int, classes: Classes, asked: Classes = ALIASES["ASKED"] | {"how_i"}) -> bool:
        """Whether one of the classes stands at most NEAR tokens before a hit; what stands before `how do I`
        or `write` is a preface."""
        here = self.hits[index].start
        for hit in reversed(self.hits[max(0, index - NEAR) : index]):
            if here - hit.start > NEAR:
                return False
            if hit.classes & classes:
                return True
            if hit.classes & asked:
                return False
        return False


@dataclass(slots=True)
class Found:
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


FLAGS = _words("known written told guarded")
KNOWN_CLASSES = frozenset().union(*KINDS.values()) | {"theirs"}


def _load() -> Iterator[Rule]:
    """The rules of `risk.txt`: `id weight acts > objects & classes ! unless + flags` under a `[category]`."""
    for category, lines in sections("risk.txt").items():
        if category not in RISKS:
            raise ValueError(f"risk.txt: no category [{category}]")
        for line in lines:
            name, weight, rest = line.split(None, 2)
            rest, _, full = rest.partition(" + ")
            rest, _, unless = rest.partition(" ! ")
            acts, objects, groups = _classes(""), _classes(""), list[Classes]()
            for part in rest.split(" & "):
                if ">" in part:
                    acts, objects = map(_classes, part.split(">"))
                else:
                    groups.append(_classes(part))
            for one in (acts, objects, _classes(unless), *groups):
                if missing := one - KNOWN_CLASSES | _words(full) - FLAGS:
                    raise ValueError(f"risk.txt: {name}: no class or flag {', '.join(sorted(missing))}")
            yield Rule(
                name, category, float(weight), acts, objects, tuple(groups), _classes(unless), _words(full)
            )


def _classes(text: str) -> Classes:
    """The classes that a part of a line names; ANY is no class."""
    names = text.split()
    return frozenset().union(*(ALIASES.get(name, {name}) for name in names if name != "ANY"))


RULES = tuple(_load())


def _telling(rule: Rule) -> Classes:
    """The rule's first group that is not only about how it is asked."""
    frames = ALIASES["ASKED"] | _words("know how_i covert learn make spread recipe")
    return next((group for group in rule.groups if not group <= frames), rule.groups[0])


ON_OBJECTS = tuple([rule for rule in RULES if rule.acts])
TOGETHER = tuple([(rule, _telling(rule)) for rule in RULES if not rule.acts])


def clauses(text: Text, known: Iterable[Hit]) -> list[Clause]:
    """The clauses that have a known word (`lexicon.hits`). A clause ends at a mark, or where `how do I …`
    begins after LONG tokens that named no danger."""
    found: list[Clause] = []
    clause = Clause(0)
    for hit in known:
        cut = "cut" in hit.classes
        if cut or ("how" in hit.classes and hit.start - clause.start > LONG and not clause.classes & DANGER):
            if clause.hits:
                found.append(clause)
            clause = Clause(hit.end if cut else hit.start)
            if cut:
                continue
        classes = _in_place(clause, text, hit)
        if classes:
            clause.hits.append(Hit(hit.start, hit.end, classes))
            clause.classes |= classes
    return [*found, clause] if clause.hits else found


def _in_place(clause: Clause, text: Text, hit: Hit) -> Classes:
    """A hit's classes, as the words beside it leave them."""
    tokens = text.tokens
    classes, before = hit.classes, tokens[hit.start - 1] if hit.start else ""
    if classes & VERBS:
        last = clause.hits[-1] if clause.hits else None
        if before in SUFFERED and last and last.end == hit.start - 1 and last.classes & WHO:
            classes -= VERBS | DEEDS
        elif before in DETERMINERS:
            classes = classes - VERBS or classes
        elif before in DOING:
            classes = classes - DEEDS or classes
        if before in GOAL:
            classes |= {"doing"}
    if "person" in classes and NEARBY.intersection(tokens[max(0, hit.start - 2) : hit.start]):
        classes |= {"relation"}
    if "knowing" in classes and any("without" in one.classes for one in clause.hits[-3:]):
        classes |= {"covert"}
    if classes & PRIVATE and _is_theirs(tokens, hit):
        classes |= {"theirs"}
    if "name" in classes and not text.cased[hit.start].istitle():
        classes -= {"name"}  # `bill` is due
    if "kin" in classes:
        behind = tokens[hit.end] if hit.end < len(tokens) else ""
        entry = LEXICON.get(behind)
        if not behind.isalpha() or behind in BETWEEN or (entry and entry.classes & PEOPLE):
            classes |= {"group"}
    return classes


def _is_theirs(tokens: Sequence[str], hit: Hit) -> bool:
    """Whether a private thing is said to be another's: `his passcode`, `the passcode of …`."""
    before = tokens[max(0, hit.start - 2) : hit.start]
    return bool(THEIRS.intersection(before)) or tokens[hit.end : hit.end + 1] == ("of",)


DEEDS = frozenset(name for name in KINDS["nouns"] if name.startswith("d_"))


def weigh(text: Text, known: Iterable[Hit], pressed: bool) -> Found:
    """The risk of a text whose known words are given. `pressed`: it tries to override the rules, so that
    nothing lowers a weight."""
    found, carried, seen = Found(), frozenset[str](), set[tuple[object, ...]]()
    for clause in clauses(text, known):
        key = (carried, *text.cased[clause.start : clause.hits[-1].end + 3])
        if key not in seen:
            seen.add(key)
            _weigh(found, text, clause, carried, pressed)
        carried = CARRIED & clause.classes or carried
    return found


def _weigh(found: Found, text: Text, clause: Clause, carried: Classes, pressed: bool) -> None:
    """Applies all rules to one clause."""
    acting = [index for index, hit in enumerate(clause.hits) if hit.classes & VERBS]
    if acting:
        rules = [rule for rule in ON_OBJECTS if rule.acts & clause.classes and _met(rule, clause)]
        plain, done = not clause.classes & PLACED, set[tuple[Classes, Classes, bool]]()
        for index in acting if rules else ():
            head, own = _object(text, clause, index, carried)
            key = (clause.hits[index].classes, head, own)
            if not plain or key not in done:
                done.add(key)
                _act(found, clause, index, rules, head, own, pressed)
    for rule, telling in TOGETHER:
        if telling & clause.classes and _met(rule, clause):
            place = next(at for at, hit in enumerate(clause.hits) if hit.classes & telling)
            found.take(
                rule.category, rule.id, rule.weight * _manner(rule, clause, place, pressed), clause.start
            )


def _met(rule: Rule, clause: Clause) -> bool:
    """Whether the clause has what the rule needs beside an act and its object."""
    classes = clause.classes
    return not rule.unless & classes and all(group & classes for group in rule.groups)


def _act(  # noqa: PLR0917 - what one act needs
    found: Found, clause: Clause, index: int, rules: Iterable[Rule], head: Classes, own: bool, pressed: bool
) -> None:
    """One act on its object."""
    for rule in rules:
        if not rule.acts & clause.hits[index].classes:
            continue
        if (
            rule.objects & head
            if rule.objects
            else (rule.category == "selfharm" or not head & {"safe", "self"})
        ):
            weight = rule.weight * _manner(rule, clause, index, pressed)
            weight *= OWN if own and rule.category in OWNABLE else 1.0
            found.take(rule.category, rule.id, weight, clause.start)


def _object(text: Text, clause: Clause, index: int, carried: Classes) -> tuple[Classes, bool]:
    """The classes of an act's object, and whether it is the asker's own thing."""
    act = clause.hits[index]
    end, own, head = act.end, False, frozenset[str]()
    for hit in clause.hits[index + 1 : index + 2 + REACH]:
        if hit.start > act.end + REACH or (head and hit.start != end and text.tokens[hit.start - 1] != "'s"):
            break
        if not head and BESIDE.intersection(text.tokens[act.end + 1 : hit.start]):
            break  # `exterminate feedback from clients`: the object is a word that no class knows
        if things := hit.classes & THINGS:
            own = own or (not head and text.tokens[hit.start - 1] in OWNERS and not hit.classes & WHO)
            # Whose it is stays known with what it is: a neighbour's car is a car, and the neighbour's.
            head, end = things if things == {"safe"} else things | (head & {"relation", "group"}), hit.end
        elif "it" in hit.classes and not head:
            head, end = carried, hit.end
    behind = text.tokens[end] if end < len(text.tokens) else ""
    if head & WHO and behind == "'s" and not BODY.intersection(text.tokens[end + 1 : end + 2]):
        head -= WHO  # something of theirs that no class knows
    elif (not head and behind in {"me", "us"}) or (
        head & WHO and behind in {"a", "an"} and _is_sent(clause, end)
    ):
        return frozenset({"safe"}), own
    return head or _passive(clause, index, behind), own


def _is_sent(clause: Clause, end: int) -> bool:
    """`shoot my boss an email`."""
    return any("message" in hit.classes for hit in clause.hits if hit.start == end + 1)


def _passive(clause: Clause, index: int, behind: str) -> Classes:
    """The object of a verb without one: what was just said of (`have my boss killed`), or itself a noun."""
    if behind == "to":
        return frozenset()
    act = clause.hits[index]
    if (
        index
        and act.start - clause.hits[index - 1].end <= 1
        and (before := clause.hits[index - 1].classes & THINGS)
    ):
        return before
    return act.classes & THINGS - {"safe"}


def _manner(rule: Rule, clause: Clause, index: int, pressed: bool) -> float:
    """How it is asked, as a factor of the rule's weight."""
    classes = clause.classes
    told = classes & {"past", "tale", "notes"} and not classes & (OPERATIVE - {"covert", "want"} | {"how_i"})
    if "covert" in classes and not told:
        return SECRETLY
    factor = _asked(rule, clause, index)
    if pressed:
        return max(factor, rule.factor("written", WRITTEN))
    if "guard" in classes and clause.before(index, frozenset({"guard"})):
        factor *= rule.factor("guarded", GUARDED)
    elif "wrong" in classes and not classes & (PERSONAL | {"make_me"}) and _condemned(clause, index):
        factor *= rule.factor("guarded", CONDEMNED)
    if told and rule.category in PLAYABLE - {"weapons"}:
        wanted = classes & {"make_me", "want"} and "text" not in classes
        factor = min(factor, PRETEXT / rule.weight if wanted else KNOWN)
    if "game" in classes and "relation" not in classes and rule.category in PLAYABLE:
        factor = _played(rule, clause, index, factor)
    return factor


def _asked(rule: Rule, clause: Clause, index: int) -> float:
    """The factor for how a deed is asked for: to learn about it, as a story, to do it, or as a fact."""
    classes = clause.classes
    if "learn" in classes and clause.before(index, frozenset({"learn"})):
        return rule.factor("known", KNOWN)
    story = classes & {"text", "tale"} and "recipe" not in classes
    if "make_me" in classes and (story or not classes & OPERATIVE):
        return rule.factor("written", WRITTEN)
    if classes & OPERATIVE:
        return rule.factor("known", KNOWN) if "past" in classes and not classes & PERSONAL else 1.0
    first = clause.hits[0]
    if first.start == clause.start and first.classes & VERBS:
        return 1.0
    if "know" in classes:
        known = rule.factor("known", KNOWN)
        return (
            max(known, UNSAID) if "doing" in clause.hits[index].classes and "world" not in classes else known
        )
    return rule.factor("told", TOLD)


def _condemned(clause: Clause, index: int) -> bool:
    """`is it wrong to kill`, `why is killing wrong`."""
    if clause.before(index, frozenset({"wrong"}), frozenset({"know"})):
        return True
    asked = next((at for at, hit in enumerate(clause.hits) if "know" in hit.classes), len(clause.hits))
    return any("wrong" in hit.classes for hit in clause.hits[max(index, asked) :])


def _played(rule: Rule, clause: Clause, index: int, factor: float) -> float:
    """`rob a bank in GTA` is what games are about; a game's name in front may be a pretext."""
    lowered = factor * (FOUGHT if rule.category in BODILY or rule.category == "weapons" else PLAYED)
    named_behind = any("game" in hit.classes for hit in clause.hits[index:])
    if rule.category in BODILY and named_behind:
        return lowered
    return max(lowered, min(factor, PRETEXT / rule.weight))
