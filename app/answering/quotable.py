"""What of a passage can be quoted alone: sentences, rows of tables with their head, and lists of short lines.

A table is as `ingest/columns.py` writes it: cells between ` | `, and a rule below each head. Quotes are
verbatim but for white space and for what ` … ` leaves out, at most `LONGEST`. Raises nothing.
Source: docs/adr/0007.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.text.sentences import END, split

LONGEST = 360
"""Characters of a quote: three lines on a page, and under sixty words."""
ROW_WORDS = 60
"""Words of a row with its head and section, bars counted."""

WRAPPED = re.compile(r"[^\s.!?:;。！？]\n(?:[a-zß-öø-ÿа-яα-ω]|\((?!\w{1,3}\)))")
"""A line end inside a sentence: no mark before it, a small letter after it, and no number of an item."""
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n[ \t]*(?=[a-zß-öø-ÿа-яα-ω])")
CUT = re.compile(r"[,;:–—]\s|\s|[，、；：،؛]")
WORD = re.compile(r"\w")
ENDED = re.compile(r"[.!?:;…。！？：؟۔।][\"'”’»)\]」』]*$")
PROSE_WORDS, LONG_LINE = 6, 160
"""A line of more words is prose if it ends like a sentence; one of more characters is prose anyway."""
WINDOW = 3
"""Short lines that are quoted together at most, such as a name above its title."""
BAR, GAP = " | ", " … "
"""Between the cells of a row; for what a quote leaves out."""
RULE = re.compile(r"---(?: \| ---)*")


@dataclass(frozen=True, slots=True)
class Quotable:
    text: str
    """The quote, with ` … ` where it is cut."""
    context: str = ""
    """What introduces it in its passage: the line above a table."""
    alone: bool = True
    """False for several lines of a list."""


def quotable(text: str) -> list[Quotable]:
    """The parts of a text that can be quoted, in order."""
    found: list[Quotable] = []
    before, rows = "", TableRows()
    for kind, group in groupby(lines(text), kind_of):
        run = list(group)
        if kind == "table":
            found += rows.quotable(run, before)
        elif kind == "list":
            found += listing(run)
            rows.section = run[-1] if rows.head else ""
        else:
            found += prose(run)
            rows = TableRows(section=run[-1] if run[-1].endswith(":") else "")
        before = run[-1]
    return [part for part in found if WORD.search(part.text)]


def sentences(text: str) -> list[str]:
    """All sentences of a text, and the pieces of those that are longer than `LONGEST`."""
    return [part.text for part in prose(lines(text)) if WORD.search(part.text)]


def lines(text: str) -> list[str]:
    """The lines of a text, without wraps inside sentences."""
    found: list[str] = []
    for line in (" ".join(line.split()) for line in HYPHEN.sub("-", text).splitlines()):
        if found and BAR not in found[-1] and WRAPPED.search(f"{found[-1][-1]}\n{line}"):
            found[-1] += f" {line}"
        elif line:
            found.append(line)
    return found


def kind_of(line: str) -> str:
    if BAR in line or RULE.fullmatch(line):
        return "table"
    is_sentence = ENDED.search(line) and line.count(" ") >= PROSE_WORDS
    several = END.search(line, 0, len(line) - 1)
    return "prose" if is_sentence or several or len(line) > LONG_LINE else "list"


def prose(run: Sequence[str]) -> Iterator[Quotable]:
    for line in run:
        for sentence in split(line):
            yield from map(Quotable, bounded(sentence))


@dataclass(slots=True)
class TableRows:
    """The head and section that hold for the rows of a table. Short lines between rows are sections of it
    (`ASSETS`, a product above its regions); prose ends it, or is a section if it ends with a colon."""

    head: str = ""
    section: str = ""

    def quotable(self, run: Sequence[str], before: str) -> Iterator[Quotable]:
        """Each row below its head and section, as far as there is room for them."""
        for line, after in zip(run, [*run[1:], ""], strict=True):
            if RULE.fullmatch(after):
                self.head, self.section = line, ""
            elif not RULE.fullmatch(line):
                yield from (Quotable(piece, before) for piece in bounded(self.whole(line)))

    def whole(self, line: str) -> str:
        for parts in ((self.head, self.section, line), (self.section, line)):
            whole = GAP.join(filter(None, parts))
            if len(whole) <= LONGEST and len(whole.split()) <= ROW_WORDS:
                return whole
        return line


def listing(run: Sequence[str]) -> Iterator[Quotable]:
    """Short lines, each alone and with those after it."""
    for at in range(len(run)):
        for end in range(at + 1, min(at + WINDOW, len(run)) + 1):
            joined = " ".join(run[at:end])
            if len(joined) <= LONGEST:
                yield Quotable(joined, alone=end == at + 1)


def bounded(sentence: str) -> Iterator[str]:
    """Pieces of at most `LONGEST`, cut after a clause or at least a word, with an ellipsis there."""
    start = ""
    while len(start) + len(sentence) > LONGEST:
        most = LONGEST - len(start) - len(GAP)
        places = [found.end() for found in CUT.finditer(sentence, most // 2, most)]
        at = places[-1] if places else most
        yield f"{start}{sentence[:at].strip()}{GAP.rstrip()}"
        sentence, start = sentence[at:].strip(), GAP.lstrip()
    yield start + sentence
