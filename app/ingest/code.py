"""Source text into chunks: functions and classes where the language has a grammar, else sections.

A chunk is a run of whole lines; every character but white space is in exactly one, in order. A class that
fits is one chunk, of a larger one the head and each method; what is between definitions is kept together,
tiny ones share a chunk. Overlong code is divided at blank lines or little indentation. Other texts are cut at
headings, settings at tables and top-level keys, SQL at statements. Sizes are word pieces of the bundled
embedder (1.2 per o200k token); lines count from 0, in `Cut` from 1. Figures: docs/adr/0019.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from app.db.code import CodeCut, CodeFile, CutFile
from app.ingest.secrets import mask_file
from app.ingest.syntax import GRAMMARS, TEXT, Definition, definitions, language_of
from app.text.vocabulary import pieces

LIMIT = 440
"""Maximum pieces of a chunk. The bundled embedder reads 510; the file path above the text takes the rest."""
TARGET = 330
"""Pieces to which the parts of something longer, and neighbours that share a chunk, are filled."""
TINY = 40
"""Pieces below which a definition shares a chunk with a neighbour that is as small."""
SHORT_SECTION = 120
"""The same for a section of a text."""
GROUP = 3
"""Small definitions that share a chunk may have so many times TINY pieces together, sections
SHORT_SECTION."""
CUT_BY_LINES = "cut by lines: its syntax takes too much time or memory to read"
NAMES_CHARS = 200
"""Maximum characters of the names of definitions that share a chunk."""

CHARS_PER_PIECE = 6
"""A line has at least one piece for so many characters: data in one long word are words for no model."""
MIN_FILL = 0.4
"""Minimum share of the target that the part of a divided run has."""
MAX_INDENT = 16
"""Columns of indentation; deeper ones count the same."""
LINE_END_CHARS = 80
"""Characters before the end of a part of a long line in which a good place to end it is searched."""

PATH_CHARS = 200
"""Maximum characters of a path of headings."""
PATH_SEPARATOR = " › "
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
ATX_HEADING = re.compile(r" {0,3}(#{1,6})\s")
UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:])\1{2,}\s*$")
SECTION_STARTS = {
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
"""The start of a section by language; the group is its heading."""
WITH_HEADINGS = frozenset({"markdown", "rst", "text"})


class Lines:
    """The lines of a text and their sizes. Lines end with a line feed, or with a carriage return in a text
    without any line feed."""

    def __init__(self, text: str, count: Callable[[str], int]) -> None:
        self.count = count
        self.all = (text if "\n" in text else text.replace("\r", "\n")).split("\n")
        self.data = text.encode("utf-8", "replace")
        self.code = self.data if b"\n" in self.data else self.data.replace(b"\r", b"\n")
        """The text for a parser: no grammar knows lines that end with a carriage return only."""
        ends = [found.start() + 1 for found in re.finditer(b"\n" if b"\n" in self.data else b"\r", self.data)]
        self.starts = [0, *ends]
        """Byte offsets."""
        self.sums = [0, *accumulate(map(self.size_of, self.all))]

    def __len__(self) -> int:
        return len(self.all)

    def size_of(self, line: str) -> int:
        """The pieces of a line; 0 only if it is blank."""
        text = line.strip()
        return max(self.count(text), -(-len(text) // CHARS_PER_PIECE)) if text else 0

    def at_byte(self, offset: int) -> int:
        return bisect_right(self.starts, offset) - 1

    def size(self, first: int, last: int) -> int:
        return self.sums[last + 1] - self.sums[first]

    def strip(self, first: int, last: int) -> tuple[int, int]:
        """The run without blank lines at its ends; first > last if there are only those."""
        while first <= last and not self.all[first].strip():
            first += 1
        while last > first and not self.all[last].strip():
            last -= 1
        return first, last

    def text(self, first: int, last: int) -> str:
        end = self.starts[last + 1] if last + 1 < len(self.starts) else len(self.data)
        return self.data[self.starts[first] : end].decode().rstrip("\r\n")

    def best_end(self, first: int, last: int, target: int) -> int:
        """The last line of the first part of a run: at the best place within `target` pieces, the latest of
        equal ones; at least one line."""
        end = max(first, min(last, bisect_right(self.sums, self.sums[first] + target) - 2))
        minimum = self.sums[first] + MIN_FILL * target
        best, found = -1.0, end
        for line in range(end, first - 1, -1):
            if self.sums[line + 1] < minimum:
                break
            if (score := self.end_score(line)) > best:
                best, found = score, line
        return found

    def end_score(self, line: int) -> float:
        """How good it is to end a part with a line: best before a blank one, else before little
        indentation."""
        if line + 1 >= len(self.all) or not self.all[line + 1].strip():
            return 2.0
        following = self.all[line + 1]
        return 1 - min(MAX_INDENT, len(following) - len(following.lstrip())) / MAX_INDENT

    def texts(self, first: int, last: int, limit: int) -> Iterator[str]:
        """The text of a run; a single line over the limit is divided."""
        text = self.text(first, last)
        if first < last or self.size(first, last) <= limit:
            yield text
        else:
            yield from self.divide_line(text, limit)

    def divide_line(self, text: str, limit: int) -> Iterator[str]:
        """Parts of a long line within the limit, ending after punctuation or a space if there is one near."""
        chars = max(1, len(text) * limit // max(1, self.size_of(text)))
        at = 0
        while at < len(text):
            end = line_part_end(text, at, at + chars)
            while end - at > 1 and self.size_of(text[at:end]) > limit:
                end = line_part_end(text, at, at + (end - at) * 3 // 4)
            if text[at:end].strip():
                yield text[at:end]
            at = end


def line_part_end(text: str, start: int, end: int) -> int:
    """`end`, or shortly before it, after punctuation or a space."""
    if end >= len(text):
        return len(text)
    for at in range(end, max(start, end - LINE_END_CHARS), -1):
        if text[at - 1] in ";},) \t":
            return at
    return max(start + 1, end)


def sections(lines: Sequence[str], language: str) -> Iterator[tuple[int, int, str | None]]:
    """(first line, last line, heading) of each section; together all lines. Headings of Markdown and
    reStructuredText include those above them."""
    starts = headings(lines) if language in WITH_HEADINGS else section_starts(lines, language)
    first, heading = 0, None
    for line, following in starts:
        if line > first:
            yield first, line - 1, heading
        first, heading = line, following
    yield first, len(lines) - 1, heading


def section_starts(lines: Sequence[str], language: str) -> Iterator[tuple[int, str]]:
    if pattern := SECTION_STARTS.get(language):
        for at, line in enumerate(lines):
            if found := pattern.match(line):
                yield at, found[1].strip()[:PATH_CHARS]


def headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(line, path of headings) of each heading."""
    path: list[tuple[int, str]] = []
    for at in lines_outside_fences(lines):
        if found := heading_at(lines, at):
            path = [*(each for each in path if each[0] < found[0]), found]
            yield at, PATH_SEPARATOR.join(text for _, text in path)[-PATH_CHARS:]


def lines_outside_fences(lines: Sequence[str]) -> Iterator[int]:
    """Includes the lines that close a fence."""
    fence = ""
    for at, line in enumerate(lines):
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if not fence:
            yield at


def heading_at(lines: Sequence[str], at: int) -> tuple[int, str] | None:
    line = lines[at]
    if (found := ATX_HEADING.match(line)) and (text := line[found.end() :].strip()):
        return len(found[1]), (text.rstrip("#").rstrip() or "#")[:PATH_CHARS]
    return underlined_heading(lines, at)


def underlined_heading(lines: Sequence[str], at: int) -> tuple[int, str] | None:
    """(level, text) if a line is underlined for most of its length, not indented, and below a blank line or
    another underline."""
    line = lines[at]
    if at + 1 >= len(lines) or not line.strip() or line[:1].isspace() or UNDERLINE.match(line):
        return None
    if at > 0 and lines[at - 1].strip() and not UNDERLINE.match(lines[at - 1]):
        return None
    text, below = line.strip(), lines[at + 1]
    underline = UNDERLINE.match(below)
    if underline is None or len(below.strip()) < min(3, len(text)):
        return None
    return 1 + "=-~^\"'`#*+.:".index(underline[1]), text[:PATH_CHARS]


@dataclass(frozen=True, slots=True)
class LineRun:
    first: int
    last: int
    size: int
    function: str | None = None
    class_name: str | None = None
    signature: str | None = None
    heading: str | None = None

    is_between: bool = False
    """It is not a definition but the text between two, or the head of a class."""
    is_small: bool = False
    """It may share a chunk."""


def cut_file(file: CodeFile, seconds: float) -> CutFile:
    """The chunks of a file without its secrets: by syntax if it can be parsed in so much processor time, else
    by lines."""
    language = file.language or language_of(file.path) or TEXT
    lines = Lines(mask_file(file.path, file.text).removeprefix("\ufeff"), pieces)
    found = definitions(language, lines.code, lines.at_byte, seconds)
    is_late = found is None and language in GRAMMARS
    return CutFile(language, tuple(chunks(lines, language, found)), CUT_BY_LINES if is_late else "")


def chunks(lines: Lines, language: str, found: Sequence[Definition] | None) -> Iterator[CodeCut]:
    """The chunks of a file with these definitions; None: its syntax is not known."""
    if found is None:
        spans = join_small(section_spans(lines, language), SHORT_SECTION)
    else:
        whole = LineRun(0, len(lines) - 1, 0, is_between=True)
        spans = join_small(definition_spans(lines, found, whole), TINY)
    for span in spans:
        for part in divide(lines, span):
            yield from cuts(lines, part)


def section_spans(lines: Lines, language: str) -> Iterator[LineRun]:
    for first, last, heading in sections(lines.all, language):
        yield LineRun(first, last, lines.size(first, last), heading=heading, is_between=True)


def definition_spans(lines: Lines, found: Sequence[Definition], inside: LineRun) -> Iterator[LineRun]:
    """Definitions and the text between them: each line of `inside` is in one span. A line that two
    definitions share belongs to the first one."""
    at = inside.first
    for each in found:
        if each.last < at:
            continue
        first, last = max(each.first, at), min(each.last, inside.last)
        if first > at:
            yield replace(inside, first=at, last=first - 1, size=lines.size(at, first - 1))
            inside = replace(inside, signature=None)
        yield from spans_of(lines, each, first, last, inside.class_name)
        at = last + 1
    if at <= inside.last:
        yield replace(inside, first=at, size=lines.size(at, inside.last))


def spans_of(
    lines: Lines, found: Definition, first: int, last: int, class_name: str | None
) -> Iterator[LineRun]:
    """A function or a class; a large class is its head and its members."""
    size, name, signature = lines.size(first, last), found.name or None, found.signature or None
    if not found.is_class:
        yield LineRun(first, last, size, name, class_name or found.owner or None, signature)
        return
    full_name = ".".join(filter(None, (class_name, name))) or None
    whole = LineRun(first, last, size, None, full_name, signature)
    if size <= LIMIT or not found.members:
        yield whole
    else:
        yield from definition_spans(lines, found.members, replace(whole, is_between=True))


def join_small(spans: Iterable[LineRun], small: int) -> list[LineRun]:
    """Join neighbours of less than `small` pieces. Small text between definitions is joined to what follows
    it."""
    joined: list[LineRun] = []
    for span in (replace(span, is_small=span.size < small) for span in spans):
        if joined and may_join(joined[-1], span, small):
            joined[-1] = join(joined[-1], span)
        elif span.size:
            joined.append(span)
    if len(joined) > 1:
        before, last = joined[-2:]
        if last.is_between and last.is_small and before.size + last.size <= LIMIT:
            joined[-2:] = [join(before, last)]
    return joined


def may_join(one: LineRun, other: LineRun, small: int) -> bool:
    """True if two neighbours fit into one chunk, or the second one is divided anyway."""
    if one.class_name != other.class_name or not one.is_small:
        return False
    size = one.size + other.size
    if one.is_between:
        return other.size > LIMIT or size <= LIMIT
    return other.is_small and size <= min(TARGET, GROUP * small)


def join(one: LineRun, other: LineRun) -> LineRun:
    names = [name for name in (one.function, other.function) if name]
    return replace(
        one,
        last=other.last,
        size=one.size + other.size,
        function=", ".join(dict.fromkeys(names))[:NAMES_CHARS] or None,
        signature=one.signature or other.signature,
        heading=one.heading or other.heading,
        is_between=one.is_between and other.is_between,
        is_small=one.is_small and other.is_small,
    )


def divide(lines: Lines, span: LineRun) -> Iterator[LineRun]:
    """A span, or parts of it within the limit."""
    at = span.first
    while span.size > LIMIT and lines.size(at, span.last) > LIMIT:
        end = lines.best_end(at, span.last, TARGET)
        yield replace(span, first=at, last=end)
        at = end + 1
        if at > span.last:
            return
    yield replace(span, first=at)


def cuts(lines: Lines, span: LineRun) -> Iterator[CodeCut]:
    """A span as a chunk without blank lines around it; a single overlong line as several."""
    first, last = lines.strip(span.first, span.last)
    if first > last:
        return
    for text in lines.texts(first, last, LIMIT):
        yield CodeCut(text, first + 1, last + 1, span.function, span.class_name, span.signature, span.heading)
