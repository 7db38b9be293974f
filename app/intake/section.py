"""Texts that are no code into sections: each begins with its heading. Lines count from 0.

Markdown and reStructuredText by their headings (not those inside of fences), settings by their tables and
top-level keys, SQL by its statements; what has none is one section. A heading is told with those above it.
"""

import re
from collections.abc import Iterator, Sequence

MOST = 200
"""Characters of a path of headings."""
JOINT = " › "
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
ATX = re.compile(r" {0,3}(#{1,6})\s")
UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:])\1{2,}\s*$")
BEGINNINGS = {
    "toml": re.compile(r"\[{1,2}([^\[\]]+)\]"),
    "ini": re.compile(r"\[([^\[\]]+)\]"),
    "yaml": re.compile(r"([A-Za-z_\"'][^:#]{0,100}):(?:\s|$)"),
    "sql": re.compile(
        r"(?i)((?:create|alter|drop|insert|update|delete|with|select|grant|comment|merge)\b[^(;]{0,100})"
    ),
    "makefile": re.compile(r"([A-Za-z0-9_.%/$(){} -]+):(?!=)"),
    "dockerfile": re.compile(r"(?i)(from\s.{0,100})"),
    "terraform": re.compile(r"([a-z_]+(?:\s+\"[^\"]*\"){0,2})\s*\{"),
    "protobuf": re.compile(r"((?:message|service|enum)\s+\w+)"),
    "graphql": re.compile(r"((?:type|interface|enum|input|union|query|mutation|fragment)\s+\w+)"),
}
"""What a line begins with that begins a section, by language; the group is its heading."""
HEADED = frozenset({"markdown", "rst", "text"})


def sections(lines: Sequence[str], language: str) -> Iterator[tuple[int, int, str | None]]:
    """(first line, last line, heading), together all lines."""
    marks = headings(lines) if language in HEADED else beginnings(lines, BEGINNINGS.get(language))
    first, heading = 0, None
    for line, said in marks:
        if line > first:
            yield first, line - 1, heading
        first, heading = line, said
    yield first, len(lines) - 1, heading


def beginnings(lines: Sequence[str], begins: re.Pattern[str] | None) -> Iterator[tuple[int, str]]:
    """Lines that begin a section, and what it is called."""
    for at, line in enumerate(lines):
        if begins and (found := begins.match(line)):
            yield at, found[1].strip()[:MOST]


def headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines of headings, each with its path."""
    path: list[tuple[int, str]] = []
    for at in unfenced(lines):
        if found := heading(lines, at):
            level, said = found
            path = [*(each for each in path if each[0] < level), (level, said)]
            yield at, JOINT.join(each for _, each in path)[-MOST:]


def unfenced(lines: Sequence[str]) -> Iterator[int]:
    """Lines outside of fences, and those that close one."""
    fence = ""
    for at, line in enumerate(lines):
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if not fence:
            yield at


def heading(lines: Sequence[str], at: int) -> tuple[int, str] | None:
    """(level, words) of a heading that begins on a line."""
    line = lines[at]
    if (found := ATX.match(line)) and (said := line[found.end() :].strip()):
        return len(found[1]), (said.rstrip("#").rstrip() or "#")[:MOST]
    return underlined(lines, at) if titled(lines, at) else None


def titled(lines: Sequence[str], at: int) -> bool:
    """Whether a line can be one that is underlined: words at its beginning, nothing right above."""
    line = lines[at]
    if at + 1 >= len(lines) or not line.strip() or line[:1].isspace() or UNDERLINE.match(line):
        return False
    return at == 0 or not lines[at - 1].strip() or bool(UNDERLINE.match(lines[at - 1]))


def underlined(lines: Sequence[str], at: int) -> tuple[int, str] | None:
    """(level, words) if the next line underlines it, for most of its length."""
    words, below = lines[at].strip(), lines[at + 1]
    under = UNDERLINE.match(below)
    if under is None or len(below.strip()) < min(3, len(words)):
        return None
    return 1 + "=-~^\"'`#*+.:".index(under[1]), words[:MOST]
