"""A line of a page as it was set: text, place and type. What all of intake works on.

Places are in points with y growing upwards, as in PDF; pages are physical, from 1. Lines stand in the
order of the file, which for nearly all writers is the order of reading.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """The type of a line; equal for lines set alike."""

    size: float = 10.0
    """Height of the type in points, in steps of a half."""
    bold: bool = False
    """First and last letter are: a bold word within a sentence is not meant."""
    italic: bool = False
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. PDFium joins a word broken at a line's end: such a line is two lines high."""

    text: str
    page: int
    left: float = 0.0
    right: float = 0.0
    top: float = 0.0
    bottom: float = 0.0
    style: Style = Style()


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the PDF's own outline."""

    title: str
    level: int
    """From 0."""
    page: int
    top: float | None
    """Where on the page it points; None: to the page."""


BREAK = "\ufffe"
"""PDFium's mark where it joined a word over a line's end: a hyphen that may or may not belong to the word."""
