"""Rows made harmless to the format they are shown in: headings, separators, fences and fields are ours alone.

Only what would break the format is escaped, visibly; everything else stays to the byte. Lines of prose that
look like structure get a backslash (CommonMark §2.4), control characters are written as JSON writes them, a
fence is longer than any in its code. Linear in the text. Nothing here raises. Source: CONTRACT §4, DESIGN §7.
"""

import re

from app.domain.sanitise import sanitise_text

LEAD = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t][ \t>]*+)*+")
"""Indentation, quotes and list marks: structure behind them still is."""
TAIL = re.compile(r"[ \t]*+(?:-(?:[ \t]*+-){2,}+|\*(?:[ \t]*+\*){2,}+|_(?:[ \t]*+_){2,}+)")
"""A separator at the end of a line, read backwards; behind a list mark it still separates."""
RULE = re.compile(r"[ \t>]*+(?:(?:[-=][ \t]*+)++|(?:[*_][ \t]*+){3,}+)$")
"""A line that separates, or makes a heading of the one above it (CommonMark §4.1, §4.3)."""
STRUCTURE = re.compile(
    r"#{1,6}(?:[ \t]|$)|`{3}|~{3}|<(?:[!?]|(?:script|pre|style|textarea)\b)"
    r"|(?:\*\*|__)(?:Title|Tags|Key Entities|Summary|Memory Snippet|File|Language|Description)\b"
    r"|(?:\*\*|__)(?:Dream|Key Details)\b",
    re.IGNORECASE,
)
"""Headings, fences, HTML that swallows what follows (§4.2, §4.5, §4.6), our fields. Blocks of a prompt and
its labels' lines are no part of this format: the chat, which has such, escapes them (domain/sections.py)."""
TICKS = re.compile(r"`{3,}+")


def cut(text: str, most: int) -> str:
    """The first `most` characters and `...`; untouched if it has no more."""
    return text if len(text) <= most else text[:most] + "..."


def name(text: str, most: int) -> str:
    """On one line."""
    short = cut(text, most)
    lines = short.splitlines()
    return sanitise_text(
        short if lines == [short] else " ".join(line.strip() for line in lines if line.strip())
    )


def prose(text: str, most: int) -> str:
    """Its lines, none of which can be taken for ours. The first stands behind a field's name."""
    lines = sanitise_text(broken(cut(text, most))).split("\n")
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if not filled:
        return ""
    first, *rest = lines[filled[0] : filled[-1] + 1]
    return "\n".join([first, *map(tame, rest)])


def code(text: str, most: int, language: str) -> str:
    """A fenced block that nothing in it can close."""
    shown = sanitise_text(broken(cut(text, most)))
    fence = "`" * max(3, 1 + max(map(len, TICKS.findall(shown)), default=0))
    # A backtick behind the fence would make it none (CommonMark §4.5).
    info = language.replace("`", "'")
    return f"{fence}{info}\n{shown}\n{fence}"


def tame(line: str) -> str:
    """A line of prose that cannot be taken for structure."""
    lead = LEAD.match(line)
    at = lead.end() if lead else 0
    if RULE.match(line):
        at = len(line) - len(line.lstrip(" \t>"))
    elif (tail := TAIL.match(line[::-1])) and LEAD.fullmatch(line, 0, len(line) - tail.end()):
        at = len(line) - tail.end()
    elif not STRUCTURE.match(line, at):
        return line
    return f"{line[:at]}\\{line[at:]}"


def broken(text: str) -> str:
    """Its line breaks as one character."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
