"""Which lines are headings, and how deep each stands.

The outline of the PDF is believed where there is one. Beside it, a heading is a short line that is larger
than the text, in bold, italics or capitals, or that begins like one (`Item 7.`, `2.1 Methods`). Lines set
alike stand equally deep, larger ones higher. Levels count from 0; those of the outline come before.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from app.intake.emphasis import body_style, is_apart
from app.intake.line import Bookmark, Line, Style
from app.intake.table import FIGURE, YEAR, is_row

MAX_WORDS, MAX_CHARS = 45, 300
"""Of a heading: one that is set apart may be a whole sentence."""
MAX_TITLE_WORDS = 16
"""Of one that can stand above others."""
MAX_PLAIN_WORDS = 8
"""Of a heading that is as large as the text and not bold."""
BELOW_OUTLINE = 100
"""Added to the level of a heading that is not in the outline."""
RUNNING, TOP = 3, 2
"""Pages that begin, within so many lines, with the same heading: from the second on it is a running head."""
MAX_MARKS = 200
"""Bookmarks of one page that are looked at."""

NUMBER = re.compile(r"^[\d.]+\s+")
NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[IVXLC]+\.|[A-Z]\.)\s+\w")
NAMED = re.compile(
    r"(part|book|chapter|title|item|section|article|appendix|annex|schedule|note)\s+[\divxlc]+\b",
    re.IGNORECASE,
)
RANKS = {"part": 0, "book": 0, "chapter": 1, "title": 1, "item": 1, "section": 2, "article": 2}
FINISHED = re.compile(r"[\w.!?)\]”’»\"'®™。！？）」』]$")

Key: TypeAlias = tuple[bool, float, int, int, bool, bool, bool]
"""Headings with the same key stand equally deep; a smaller key stands higher."""


def plain(text: str) -> str:
    """A title as it is compared: letters and digits alone, without a number in front."""
    unnumbered = NUMBER.sub("", text, count=1) or text
    return "".join(char for char in unnumbered.casefold() if char.isalnum())


def begins(text: str) -> bool:
    """Whether a text begins as headings do: `Item 7.`, `2.1 Methods`."""
    return bool(NAMED.match(text) or NUMBERED.match(text))


def is_titled(text: str) -> bool:
    """Whether its words allow it to be a heading, however it is set."""
    if not is_worded(text) or text[0].islower() or text[0] in "(•*–—-[" or not FINISHED.search(text):
        return False
    last = text.rsplit(maxsplit=1)[-1]
    return (
        bool(NAMED.fullmatch(text)) or bool(YEAR.fullmatch(last)) or not FIGURE.fullmatch(last.lstrip("._…"))
    )


def is_worded(text: str) -> bool:
    """Whether it is no longer than a heading may be, and half of it or more is letters."""
    letters, marks = sum(map(str.isalpha, text)), len(text) - text.count(" ")
    return len(text) <= MAX_CHARS and len(text.split()) <= MAX_WORDS and letters >= max(2, marks / 2)


def stands_out(line: Line, body: Style) -> bool:
    """Whether a line is a heading by its type or its words, in a document whose text is set in `body`."""
    if line.style.size < 0.9 * body.size or is_row(line.text):
        return False
    return (is_apart(line, body) or is_marked(line, body)) and is_titled(line.text)


def is_marked(line: Line, body: Style) -> bool:
    """Whether a line that is as large as the text and not bold is set or worded as short headings are."""
    text = line.text
    if len(text.split()) > MAX_PLAIN_WORDS or text[-1] == ".":
        return False
    italic = line.style.italic and not body.italic
    capitals = text.isupper() and len(text) > 6
    return italic or capitals or bool(NAMED.match(text))


def key(line: Line) -> Key:
    """How deep a heading stands, relative to the others of its document. A sentence heads no titles."""
    named, number, style = NAMED.match(line.text), NUMBERED.match(line.text), line.style
    long = len(line.text.split()) > MAX_TITLE_WORDS
    if named:
        return long, -style.size, RANKS.get(named[1].lower(), 3), 0, False, False, False
    depth = number[0].split()[0].strip(".").count(".") if number else 0
    return long, -style.size, 4, depth, not line.text.isupper(), not style.bold, style.italic


class Headings:
    """The headings of one document, asked line by line in order."""

    def __init__(self, lines: Sequence[Line], outline: Sequence[Bookmark]) -> None:
        self.body = body_style(lines)
        self.first = lines[0].page if lines else 1
        heads = [line for line in lines if stands_out(line, self.body)]
        self.levels = {each: BELOW_OUTLINE + n for n, each in enumerate(sorted(set(map(key, heads))))}
        self.lasting = {self.levels[each] for each in lasting(heads, self.first)}
        """Levels of headings that are set like others after the first page. What is not is a title,
        and heads nothing beyond its page."""
        self.running = running(heads)
        self.said: set[str] = set()
        """Tops of pages so far."""
        self.above: set[str] = set()
        """What the page at hand begins with that it shares with others, and that was said before."""
        self.marks = by_page(outline)
        self.path: list[tuple[int, str]] = []
        """(level, text) of the headings above the current line, outermost first."""

    def turn(self, page: int, lines: Sequence[Line]) -> None:
        """Begin a page: bookmarks that name none of its lines hold from its top."""
        if page != self.first:
            self.path = [each for each in self.path if each[0] < BELOW_OUTLINE or each[0] in self.lasting]
        first = sorted(lines, key=lambda line: -line.top)[:TOP]
        self.above = {line.text for line in first if line.text in self.running} & self.said
        self.said |= {line.text for line in first}
        self.head(page, lines)

    def head(self, page: int, lines: Sequence[Line]) -> None:
        """Stand under the bookmarks of a page that name none of its lines."""
        marks = self.marks.get(page, [])
        said = [plain(line.text) for line in lines] if marks else []
        for wanted, mark in marks:
            if not any(names(wanted, text) for text in said):
                self.enter(mark.level, mark.title)

    def level(self, line: Line) -> int | None:
        """How deep a line stands as a heading; None: it is none."""
        if line.text in self.above:
            return None
        marks = self.marks.get(line.page, [])
        said = plain(line.text) if marks else ""
        for wanted, mark in marks:
            if names(wanted, said):
                return mark.level
        return self.levels[key(line)] if stands_out(line, self.body) else None

    def enter(self, level: int, text: str) -> None:
        """Stand under a heading: it ends those as deep as itself and deeper."""
        while self.path and self.path[-1][0] >= level:
            self.path.pop()
        self.path.append((level, text))


def lasting(heads: Sequence[Line], first: int) -> set[Key]:
    """Those set like a heading after the first page."""
    styles = {line.style for line in heads if line.page != first}
    return {key(line) for line in heads if line.style in styles}


def running(heads: Sequence[Line]) -> set[str]:
    """Texts that stand on many pages."""
    pages = Counter(text for _, text in {(line.page, line.text) for line in heads})
    return {text for text, count in pages.items() if count >= RUNNING}


def by_page(outline: Sequence[Bookmark]) -> dict[int, list[tuple[str, Bookmark]]]:
    """Bookmarks with their plain titles, by page. An outline with a single root says with it what the
    document is called: that heads nothing."""
    root = sum(mark.level == 0 for mark in outline) == 1
    marks: defaultdict[int, list[tuple[str, Bookmark]]] = defaultdict(list)
    for mark in outline:
        if not (root and mark.level == 0) and len(marks[mark.page]) < MAX_MARKS:
            marks[mark.page].append((plain(mark.title), mark))
    return marks


def names(wanted: str, said: str) -> bool:
    """Whether a bookmark names a line: it says the same, or (a long one) begins with it."""
    return bool(wanted) and (said == wanted or (len(said) >= 20 and wanted.startswith(said)))
