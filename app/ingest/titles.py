"""The title of a document: what it is about, as its metadata or its first page says.

The title is shown in citations, embedded with every chunk, and tells which company or person a document is
about. Titles that only a program chose (`Microsoft Word - F20.docx`, `untitled`, a number) do not count.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath

from app.ingest.lines import Line, body_style
from app.ingest.tables import is_entry, is_row

TITLE_CHARS = 160
PROGRAM_PREFIX = re.compile(
    r"^(?:microsoft (?:word|powerpoint|excel)|powerpoint presentation) - ", re.IGNORECASE
)
DEFAULT_TITLE = re.compile(
    r"untitled|document\d*|title|presentation\d*|book\d*|slide 1|\(?anonymous\)?", re.IGNORECASE
)
FILE_NAME = re.compile(r"\S+\.\w{2,5}")
PLAIN_WORD = re.compile(r"[^\W_]+")

NAME_WORDS = 12
"""Maximum words of a name."""
NAME_PAGES = 3
"""Minimum pages beside the first one that have a heading or running head which begins with the name."""
NAME_SIZE = 0.8
"""A name is at least so large, compared with the largest line of its page."""
LARGE = 1.2
"""Times the size of the body text, from which a line may be a title without recurring."""
DATE = re.compile(r"(?P<date>[^\W\d_]{3,} \d{1,2}, (?:19|20)\d\d|\d{1,2}\.? [^\W\d_]{3,} (?:19|20)\d\d)")
"""`August 29, 2021`, `31. Dezember 2016`."""
DATELINE = re.compile(rf"[^().!?]{{1,20}}(?:\.[^().!?]{{1,20}}){{0,4}}\({DATE.pattern}\) ?[-–—]")
DATED_WORDS = 16
"""Maximum words of a line whose date is the document's: longer ones are prose about something else."""


def document_title(metadata: str, lines: Sequence[Line], filename: str, heads: Sequence[Line] = ()) -> str:
    """The title of the metadata, else what the first page says, else the file name; at most 160 characters.
    `heads`: all lines, the running heads included, in which a name of the first page recurs. A title in the
    metadata that only copies a line of the first page gives way to a name that recurs."""
    stem = " ".join(PurePath(filename).stem.replace("_", " ").split())
    title = PROGRAM_PREFIX.sub("", metadata)
    if not is_chosen_title(title) or plain(title) == plain(stem):
        title = ""
    first, every = [line for line in lines if line.page == lines[0].page], heads or lines
    if not title or plain(title) in plain(" ".join(line.text for line in first)):
        title = dated(recurring_name(first, every), first) or title
    title = title or dated(largest_line(first, lines) or top_name(first, every), first)
    return (title or stem)[:TITLE_CHARS].strip()


def is_chosen_title(text: str) -> bool:
    """True if a person may have written a title."""
    letters = sum(char.isalpha() for char in text)
    if letters < 3 or 2 * letters < len(text):
        return False
    return not DEFAULT_TITLE.fullmatch(text) and not FILE_NAME.fullmatch(text)


def plain(text: str) -> str:
    """Its words in lower case, one space before and after each."""
    return f" {' '.join(PLAIN_WORD.findall(text.casefold()))} "


def recurring_name(first: Sequence[Line], lines: Sequence[Line]) -> str:
    """The large line of the first page with which most later headings and running heads begin; "" if there
    are fewer than NAME_PAGES of them. A company's name heads its statements; the name of a form or of an
    authority does not."""
    largest = max((line.style.size for line in first), default=0.0)
    names = {
        plain(line.text): line
        for line in reversed(first)
        if line.style.size >= NAME_SIZE * largest and is_name(line.text)
    }
    pages: Counter[str] = Counter()
    for name, _ in {(name, line.page) for line in lines for name in names_at_start(line, names, first)}:
        pages[name] += 1
    found = max(names, key=lambda name: (pages[name], names[name].style.size), default="")
    return names[found].text if pages[found] >= NAME_PAGES else ""


def names_at_start(line: Line, names: dict[str, Line], first: Sequence[Line]) -> Iterator[str]:
    if line.page != first[0].page and is_name(line.text):
        text = plain(line.text)
        yield from (name for name in names if text.startswith(name))


def is_name(text: str) -> bool:
    return len(text.split()) <= NAME_WORDS and is_chosen_title(text) and not is_row(text)


def top_name(first: Sequence[Line], lines: Sequence[Line]) -> str:
    """The line at the top of most later pages, at least NAME_PAGES, whose first words the first page has too:
    a company's name heads its statements where the first page shows it as a picture."""
    opening = plain(" ".join(line.text for line in first))
    tops: dict[int, Line] = {}
    for line in lines:
        if line.page != first[0].page and (line.page not in tops or line.top > tops[line.page].top):
            tops[line.page] = line
    names = Counter(line.text for line in tops.values() if is_name(line.text))
    for name, pages in names.most_common():
        if pages >= NAME_PAGES and f" {' '.join(plain(name).split()[:2])} " in opening:
            return name
    return ""


def largest_line(first: Sequence[Line], lines: Sequence[Line]) -> str:
    """The first line of a page in its largest type, if that is clearly larger than the text's, and does not
    head a list of pages."""
    chosen = [line for line in first if is_chosen_title(line.text)]
    size = max((line.style.size for line in chosen), default=0.0)
    if size < LARGE * body_style(lines).size:
        return ""
    largest = next(line for line in chosen if line.style.size == size)
    after = next((below.text for line, below in pairwise(first) if line is largest), "")
    is_listed = (is_row(after) or is_entry(after)) and not DATE.search(after)
    return "" if is_listed else largest.text


def is_short(line: Line) -> bool:
    return len(line.text.split()) <= DATED_WORDS


def dated(title: str, first: Sequence[Line]) -> str:
    """A title of the first page with the first date of that page: in a short line, or in brackets at the
    start of prose, as in `New York (May 5, 2023) –`."""
    lines = (DATELINE.match(line.text) or (is_short(line) and DATE.search(line.text)) for line in first)
    date = next((found["date"] for found in lines if found), "")
    return f"{title}, {date}" if title and date and date not in title else title
