"""What a document is called: its own title where it says one, else its largest line, else its file name.

The title stands in citations and is embedded before every chunk, so titles that only a program chose
(`Microsoft Word - F20.docx`, `untitled`, a number) are not taken.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath

from app.intake.emphasis import body_style
from app.intake.line import Line

MAX_CHARS = 160
PREFIX = re.compile(r"^(?:microsoft (?:word|powerpoint|excel)|powerpoint presentation) - ", re.IGNORECASE)
CHOSEN = re.compile(
    r"untitled|document\d*|title|presentation\d*|book\d*|slide 1|\(?anonymous\)?", re.IGNORECASE
)
FILE = re.compile(r"\S+\.\w{2,5}")


def title_of(given: str, lines: Sequence[Line], filename: str) -> str:
    """At most 160 characters, on one line."""
    found = PREFIX.sub("", given)
    if not is_title(found):
        found = largest(lines)
    return (found or spoken(filename))[:MAX_CHARS].strip()


def is_title(text: str) -> bool:
    """Whether a person may have written it."""
    letters = sum(char.isalpha() for char in text)
    return (
        letters >= 3 and 2 * letters >= len(text) and not CHOSEN.fullmatch(text) and not FILE.fullmatch(text)
    )


def largest(lines: Sequence[Line]) -> str:
    """The first line on the first page in its largest type, if that is clearly larger than the text's."""
    first = [line for line in lines if line.page == lines[0].page and is_title(line.text)]
    size = max((line.style.size for line in first), default=0.0)
    if size < 1.2 * body_style(lines).size:
        return ""
    return next(line.text for line in first if line.style.size == size)


def spoken(filename: str) -> str:
    """A file's name without its ending, in words."""
    return " ".join(PurePath(filename).stem.replace("_", " ").split())
