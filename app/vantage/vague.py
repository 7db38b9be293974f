"""The rules by which nobody could tell what a message wants, each with its weight on clarity.

A rule that fires makes an answer of questions only, so they are narrow: what is about something, feels
something, greets or thanks is clear. What the thread may tell (`it`, `the second one`) weighs less behind one
that is about something. Short messages alone are read word by word. Nothing here raises.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from app.domain.followup import refers
from app.domain.tongue import (
    ENGLISH,
    MONTHS,
    PRONOUNS,
    SOCIAL,
    TIMES,
    words,
)
from app.vantage.argument import cut, missing, onesided
from app.vantage.cataphor import follows
from app.vantage.clash import clashes
from app.vantage.hollow import empty, hollow
from app.vantage.mash import mashed
from app.vantage.message import PERSONS, Message, lowered
from app.vantage.names import named
from app.vantage.settled import settled
from app.vantage.terms import Finding

LONGEST = 300
"""Characters: a longer message says what it wants, unless it is mash."""
TURNS = 6
"""The newest turns that may tell what a word stands for."""
RESOLVED = 0.4
"""What is left of a rule's weight behind such a turn."""
FEW = 2
"""Words of its own: a message with more of them brings what its pronouns stand for, or does without."""
BEING = words("is are was were be been")
CHAT = words("day days chat")
"""A turn of these and the like is about nothing."""
OPENING = words("open close start begin end finish stop shut leave arrive come go depart land air run happen")
"""What a place or an event does at its time."""
FOLDED = 3_000
"""Characters: a text no longer than this is read without what it says twice."""
BEGUN, POURED = 60, 1_000
"""Characters: no longer text without a mark is read whole, and none whose beginning is about something."""
SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]+|[^.!?\n]+$")
BRIEF = 12
"""Sentences that are met one by one."""
PART = 6
"""Words of a fragment."""
SUBORDINATE = words("because if while although though unless until instead except rather whereas")
OWNING = words("my our your his her their the that this")
"""A fragment of two words begins with one of these: `my sister`."""
WHEN = (
    TIMES
    | MONTHS
    | words("today tomorrow yesterday tonight noon midnight weekend monday tuesday wednesday thursday friday")
    | words("saturday sunday")
)
"""A time by itself asks nothing."""
TIMED = WHEN | ENGLISH.bare


def _silent(message: Message) -> bool:
    return not message.lower


def _mash(message: Message) -> bool:
    return mashed(message.text)


def _name(message: Message) -> bool:
    return named(message.lower)


def _hollow(message: Message) -> bool:
    return message.hollow


def _dangling(message: Message) -> bool:
    whole = message.given or message.own > FEW or message.meant
    return message.asks and not whole and (_clocked(message) or refers(_present(message)))


def _clocked(message: Message) -> bool:
    """`What time does it open?`; `what time does it get dark?` is asked of the day."""
    lower = message.lower
    begun = lower[:2] == ["what", "time"] and lower[3:4] == ["it"] and lower[2] in ENGLISH.verbs
    rest = lower[4:]
    return begun and OPENING.issuperset(rest[:1]) and all(_when(rest, n) for n in range(1, len(rest)))


def _when(lower: Sequence[str], n: int) -> bool:
    """Whether a word names a time, or nothing."""
    return lower[n] in WHEN or empty(lower, n)


def _present(message: Message) -> str:
    """Without what only looks like pointing: `how many are there?`"""
    lower, text = message.lower, message.text
    if lower[-1:] == ["there"] and not BEING.isdisjoint(lower[-2:-1]):
        return text[: text.lower().rindex("there")]
    if _formula(message) or follows(lower, message.tokens):
        return ""
    if "so" in lower[2:] and any(not empty(lower, n) for n in range(lower.index("so", 2))):
        return ""
    return text


def _formula(message: Message) -> bool:
    """`Is it best for children not to …`, `why is it a good idea that …`: no pronoun but that `it`."""
    lower = message.lower
    at = lower.index("it") if "it" in lower else len(lower)
    if BEING.isdisjoint((*lower[max(0, at - 1) : at], *lower[at + 1 : at + 2])):
        return False
    clause = next((n for n in range(at + 2, len(lower)) if lower[n] in ("to", "that")), len(lower))
    others = PRONOUNS.intersection((*lower[:at], *lower[at + 1 :])) - {"that"}
    return not others and any(not empty(lower, n) for n in range(clause, len(lower)))


def _fragment(message: Message) -> bool:
    """`Because of the weather`, `next week`, `my sister`: a part of a sentence, and nothing asked."""
    lower = message.lower
    if "?" in message.text or message.given or not 0 < len(lower) <= PART:
        return False
    if lower[0] in SUBORDINATE:
        return True
    return _owned(message) or (not WHEN.isdisjoint(lower) and TIMED.issuperset(lower))


def _owned(message: Message) -> bool:
    """`My sister`; with a capital it is a name."""
    lower = message.lower
    if len(lower) != 2 or lower[0] not in OWNING or message.own != 1:
        return False
    return not any(token[:1].isupper() for token in message.tokens[1:])


def _missing(message: Message) -> bool:
    return missing(message.lower, message.given) or onesided(message.lower)


def _cut(message: Message) -> bool:
    begun = message.asks or (message.lower and message.lower[0] in PERSONS)
    return bool(begun) and not message.given and cut(message.lower)


def _clash(message: Message) -> bool:
    return clashes(message.lower)


@dataclass(frozen=True, slots=True)
class Rule:
    """One way not to say what is wanted."""

    id: str
    weight: float
    """What it takes from clarity."""
    resolved: bool
    """Whether earlier turns may tell what is missing."""
    fires: Callable[[Message], bool]


MASH = Rule("clarity.mash", 0.95, False, _mash)
RULES = (
    Rule("clarity.silent", 0.9, True, _silent),
    MASH,
    Rule("clarity.name", 0.8, True, _name),
    Rule("clarity.hollow", 0.85, True, _hollow),
    Rule("clarity.fragment", 0.7, True, _fragment),
    Rule("clarity.dangling", 0.75, True, _dangling),
    Rule("clarity.missing", 0.75, True, _missing),
    Rule("clarity.cut", 0.75, False, _cut),
    Rule("clarity.clash", 0.7, False, _clash),
)


def vague(message: str, thread: Sequence[str]) -> Iterator[Finding]:
    """The rules that fire, with what each takes from clarity."""
    if len(message) <= LONGEST:
        yield from _found(message, thread)
    elif mashed(message):
        yield Finding("clarity", MASH.id, MASH.weight)
    elif said := folded(message):
        yield from _found(said, thread)


def _found(message: str, thread: Sequence[str]) -> Iterator[Finding]:
    """Of a short message."""
    read = Message(message)
    fired = [rule for rule in RULES if rule.fires(read)]
    if fired and read.lower and settled(message, read.lower):
        return
    known = any(rule.resolved for rule in fired) and told(thread)
    for rule in fired:
        yield Finding("clarity", rule.id, rule.weight * RESOLVED if rule.resolved and known else rule.weight)


def folded(message: str) -> str:
    """What a long text says when each of its sentences, or of its words where none is about anything, is
    read once; "" where that is long still."""
    if len(message) > FOLDED:
        return ""
    once: dict[str, str] = {}
    length = 0
    for said in _said(message):
        key = said.strip().casefold()
        if key not in once:
            once[key] = said.strip()
            length += len(said)
            if length > LONGEST:
                return _hollowed(message)
    return " ".join(once.values())


def _said(message: str) -> Iterator[str]:
    """Its sentences; behind the first, which tell of most texts that they are long, each once."""
    begun = 0
    for found in islice(SENTENCE.finditer(message), BRIEF):
        begun = found.end()
        yield found[0]
    yield from dict.fromkeys(SENTENCE.findall(message, begun))


def _hollowed(message: str) -> str:
    """The words of a text none of which is about anything, each once."""
    if len(message) > POURED or not hollow(lowered(message[:BEGUN].rpartition(" ")[0])):
        return ""
    lower = lowered(message)
    return " ".join(dict.fromkeys(lower))[:LONGEST] if hollow(lower) else ""


def told(thread: Sequence[str]) -> bool:
    """Whether one of the newest turns is about something."""
    return any(_substance(turn) for turn in thread[-TURNS:])


def _substance(turn: str) -> bool:
    """Whether a turn names anything."""
    lower = lowered(turn[:LONGEST])
    return any(
        word not in SOCIAL and word not in WHEN and word not in CHAT and not empty(lower, n)
        for n, word in enumerate(lower)
    )
