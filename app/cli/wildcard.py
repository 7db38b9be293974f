"""A line of `.gitignore` against a path, as git matches it (git's wildmatch.c and dir.c), byte by byte.

All the ways in which a line may match go on side by side, a bit of a number each: the time is that of the
path, whatever the line, where a search that tries one way after another takes for ever. What git cannot read
matches nothing. Without core.ignoreCase. Pure; raises nothing.
"""

import string
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

SLASH, STAR, ANY, OPEN, ESCAPE = b"/*?[\\"
CLOSE, COLON = b"]:"
LONG = 4_096
"""Bytes of a pattern, as of a path on Linux; a longer one matches nothing: each step costs as many bits."""
ALL = frozenset(range(256)) - {SLASH}
NAMED = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, [*range(32), 127])),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\v\f\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
CLASSES = {name.encode(): frozenset(signs.encode()) for name, signs in NAMED.items()}


@dataclass(slots=True)
class Ways:
    """A pattern: what each step takes, and where it may stay. Bit n: n steps are done."""

    steps: int = 0
    taken: dict[int, int] = field(default_factory=dict)
    """By byte: the steps that take it."""
    open: int = 0
    """The steps that take anything but a slash: 255 bytes' worth of the above."""
    stay: int = 0
    """Where `*` takes anything but a slash."""
    roam: int = 0
    """Where `**` takes anything."""
    skip: int = 0
    """Where `**/` may be nothing, if nothing of it was taken yet."""

    def take(self, signs: frozenset[int] | set[int]) -> None:
        """One step more, which takes these."""
        if signs is ALL:
            self.open |= 1 << self.steps
            signs = frozenset()
        for sign in signs:
            self.taken[sign] = self.taken.get(sign, 0) | 1 << self.steps
        self.steps += 1

    def match(self, text: bytes) -> bool:
        """All of a text."""
        if self.steps - self.skip.bit_count() > len(text):
            return False
        at = self.entered(1)
        for sign in text:
            kept = at & (self.roam if sign == SLASH else self.stay | self.roam)
            takes = self.taken.get(sign, 0) | (0 if sign == SLASH else self.open)
            at = kept | self.entered((at & takes) << 1)
            if not at:
                return False
        return bool(at >> self.steps & 1)

    def entered(self, at: int) -> int:
        """With what may be passed over: two of them never follow each other."""
        return at | (at & self.skip) << 1


@lru_cache(4_096)
def ways(pattern: bytes) -> Ways | None:
    """A pattern as git reads it; None: it matches nothing."""
    if len(pattern) > LONG:
        return None
    made, at = Ways(), 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == STAR:
            at = starred(made, pattern, at)
            continue
        signs, at = one(pattern, at)
        if signs is None:
            return None
        made.take(signs)
    return made


def starred(made: Ways, pattern: bytes, at: int) -> int:
    """A run of stars; where the rest begins. `**` is more than `*` only between slashes, or ends."""
    end = len(pattern) - len(pattern[at:].lstrip(b"*"))
    bit = 1 << made.steps
    if end - at == 1 or not alone(pattern[:at], pattern[end:]):
        made.stay |= bit
        return end
    if pattern[end : end + 1] != b"/":
        made.roam |= bit
        return end
    if not made.skip & bit >> 1:  # `**/**/` says no more than one of them
        made.roam |= bit
        made.skip |= bit
        made.take({SLASH})
    return end + 1


def alone(before: bytes, rest: bytes) -> bool:
    """Whether nothing but slashes, or the ends, are beside what stands between."""
    return (not before or before.endswith(b"/")) and (not rest or rest.startswith((b"/", b"\\/")))


def one(pattern: bytes, at: int) -> tuple[frozenset[int] | set[int] | None, int]:
    """(the bytes that a step takes, where the next begins); None: it is none that git can read."""
    sign = pattern[at]
    if sign == ANY:
        return ALL, at + 1
    if sign == OPEN:
        return bracket(pattern, at + 1)
    if sign == ESCAPE:
        return ({pattern[at + 1]}, at + 2) if at + 1 < len(pattern) else (None, at)
    return {sign}, at + 1


def bracket(pattern: bytes, at: int) -> tuple[frozenset[int] | set[int] | None, int]:
    """What `[…]` takes; `at` is behind its first sign. A slash never."""
    signs: set[int] = set()
    negated = pattern[at : at + 1] in {b"!", b"^"}
    at += negated
    before, first = 0, True
    while first or pattern[at] != CLOSE:
        first = False
        found, before, at = member(pattern, at, before)
        if found is None or at >= len(pattern):
            return None, at
        signs |= found
    return ALL - signs if negated else signs - {SLASH}, at + 1


Part: TypeAlias = tuple[frozenset[int] | set[int] | None, int, int]
"""(what a part of `[…]` takes, the sign a range may begin with or 0, where the next begins)."""


def member(pattern: bytes, at: int, before: int) -> Part:
    """One part."""
    sign, after = pattern[at : at + 1], pattern[at + 1 : at + 2]
    if sign == b"-" and before and after not in {b"", b"]"}:
        return span(pattern, at + 1, before)
    if sign == b"[" and (found := named(pattern, at)):
        return found
    if sign == b"\\":
        sign, at = after, at + 1
    return ({sign[0]}, sign[0], at + 1) if sign else (None, 0, at)


def span(pattern: bytes, at: int, before: int) -> Part:
    """`a-z`; `at` is behind the dash."""
    at += pattern[at : at + 1] == b"\\"
    last = pattern[at : at + 1]
    return (set(range(before, last[0] + 1)) if last else None), 0, at + 1


def named(pattern: bytes, at: int) -> Part | None:
    """`[:alpha:]`; None: a bracket that names nothing."""
    if pattern[at + 1 : at + 2] != b":":
        return None
    end = pattern.find(b"]", at + 2)
    if end < 0:
        return None, 0, at
    if end > at + 2 and pattern[end - 1] == COLON:
        return CLASSES.get(pattern[at + 2 : end - 1]), 0, end + 1
    return None
