"""Texts of which each match of a pattern holds one: where none stands, no pattern need be tried.

Reads the patterns of this room's tables alone: words, `(?:a|b)`, lookaheads, classes, `?`, `*`, `+`, `{m,n}`.
What it does not know of a pattern makes it say less, never more. Linear in the pattern; nothing here raises.
"""

import re
from collections.abc import Iterator

PIECE = re.compile(
    r"(?P<open>\((?:\?[:=!])?)|(?P<shut>\))|(?P<or>\|)|(?P<any>\[[^\]]*\]|\\[dwsDWSb]|[.^$])|\\?(?P<char>.)",
    re.DOTALL,
)
REPEATED = re.compile(r"[?*+]|\{(\d+)[,}][\d,}]*")
Needles = frozenset[str]
"""None in it: nothing is known."""
NOTHING: Needles = frozenset()


def needles(pattern: str) -> Needles:
    """Of each match one stands in the text; none: it cannot be told."""
    found, _ = _branches(pattern, 0)
    return frozenset(one for one in found if not any(other != one and other in one for other in found))


def _branches(pattern: str, at: int) -> tuple[Needles, int]:
    """Of what stands up to the closing bracket, and where that is."""
    told: list[Needles] = []
    while True:
        found, at = _row(pattern, at)
        told.append(found)
        if at >= len(pattern) or pattern[at] == ")":
            return (frozenset().union(*told) if all(told) else NOTHING), at
        at += 1


def _row(pattern: str, at: int) -> tuple[Needles, int]:
    """The best of what follows one another, up to `|` or a bracket."""
    best, run, end = NOTHING, "", at
    for found, text, behind in _pieces(pattern, at):
        run = run + text if text else ""
        best = max(best, found, frozenset({run}) if run else NOTHING, key=_worth)
        end = behind
    return best, end


def _worth(found: Needles) -> tuple[int, int]:
    """Long ones are rare, few are quickly looked for."""
    return min(map(len, found), default=0), -len(found)


def _pieces(pattern: str, at: int) -> Iterator[tuple[Needles, str, int]]:
    """Each piece of a row: a group's needles, or a character that must stand there; and where it ends."""
    while at < len(pattern) and pattern[at] not in "|)":
        piece = PIECE.match(pattern, at)
        assert piece  # noqa: S101 - any character is one
        at = piece.end()
        found, text = NOTHING, piece["char"] or ""
        if piece["open"]:
            found, at = _branches(pattern, at)
            found, at = (NOTHING if piece["open"] in ("(?=", "(?!") else found), at + 1
        if often := REPEATED.match(pattern, at):
            at = often.end() + (pattern[often.end() : often.end() + 1] in ("?", "+"))
            never = often[0] in ("?", "*") or often[1] == "0"
            yield (NOTHING if never else found), "", at
        else:
            yield found, text, at
