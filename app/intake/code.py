"""Source text into chunks: functions and classes where the language has a grammar, else sections and windows.

A chunk is a run of a file's own lines. A class that fits is one chunk; of a larger one the head is one, and
each method; what stands between (imports, constants) is held together; what is tiny joins its neighbour. What
is too long is divided where a blank line or little indentation says that something ends, a line that is too
long itself within it. Every character but white space is in exactly one chunk, in order. Sizes are word
pieces of the bundled embedder (1.2 an o200k token). Raises nothing. Figures: docs/adr/0019.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.db.code import CodeFile, Cut, CutFile
from app.domain.secret import keepable
from app.index.pieces import pieces
from app.intake.language import GRAMMARS, TEXT, language_of
from app.intake.lines import Lines
from app.intake.section import sections
from app.intake.syntax import Unit, units

LIMIT = 440
"""Pieces of the largest chunk. The bundled embedder reads 510; the path above the text has the rest."""
TARGET = 330
"""Pieces that parts of something longer, and neighbours held together, are filled to."""
TINY = 40
"""Pieces below which a definition is no chunk of its own, if its neighbour is as small."""
ENOUGH = 120
"""The same for a section of a text."""
GROUP = 3
"""Times as much as either is what small definitions may come to together."""
PLAIN = "cut by lines: its syntax takes too much time or memory to read"
NAMES = 200
"""Most characters of the names of definitions that share a chunk."""


@dataclass(frozen=True, slots=True)
class Span:
    """Lines that belong together, from and to (from 0, both included), and what they are called."""

    first: int
    last: int
    weight: int
    function: str | None = None
    owner: str | None = None
    """The class."""
    signature: str | None = None
    heading: str | None = None

    between: bool = False
    """It is no definition, but what stands between them, or the head of a class."""
    small: bool = False
    """It may share a chunk."""


def cut_file(file: CodeFile, seconds: float) -> CutFile:
    """A file without its secrets, in chunks: by its syntax if it can be read in so much processor time."""
    language = file.language or language_of(file.path) or TEXT
    lines = Lines(keepable(file.path, file.text).removeprefix("\ufeff"), pieces)
    found = units(language, lines.code, lines.of_byte, seconds)
    late = found is None and language in GRAMMARS
    return CutFile(language, tuple(chunks(lines, language, found)), PLAIN if late else "")


def cut(text: str, language: str) -> list[Cut]:
    """The chunks of a text."""
    lines = Lines(text.removeprefix("\ufeff"), pieces)
    return list(chunks(lines, language, units(language, lines.code, lines.of_byte)))


def chunks(lines: Lines, language: str, found: Sequence[Unit] | None) -> Iterator[Cut]:
    """The chunks of lines in which these definitions were found; None: their syntax is not known."""
    if found is None:
        spans = joined(titled(lines, language), ENOUGH)
    else:
        spans = joined(arranged(lines, found, Span(0, len(lines) - 1, 0, between=True)), TINY)
    for span in spans:
        for part in divided(lines, span):
            yield from emitted(lines, part)


def titled(lines: Lines, language: str) -> list[Span]:
    """A text's sections."""
    return [
        Span(first, last, lines.weight(first, last), heading=heading, between=True)
        for first, last, heading in sections(lines.all, language)
    ]


def arranged(lines: Lines, found: Sequence[Unit], inside: Span) -> Iterator[Span]:
    """Definitions and what stands between, so that each line of `inside` is in one of them. Where two share a
    line it is the first one's."""
    at = inside.first
    for unit in found:
        if unit.last < at:
            continue
        first, last = max(unit.first, at), min(unit.last, inside.last)
        if first > at:
            yield replace(inside, first=at, last=first - 1, weight=lines.weight(at, first - 1))
            inside = replace(inside, signature=None)
        yield from of_unit(lines, unit, first, last, inside.owner)
        at = last + 1
    if at <= inside.last:
        yield replace(inside, first=at, weight=lines.weight(at, inside.last))


def of_unit(lines: Lines, unit: Unit, first: int, last: int, owner: str | None) -> Iterator[Span]:
    """One definition's, or a class's."""
    weight, name, signature = lines.weight(first, last), unit.name or None, unit.signature or None
    if not unit.is_class:
        yield Span(first, last, weight, name, owner or unit.owner or None, signature)
        return
    named = ".".join(filter(None, (owner, name))) or None
    yield from of_class(lines, unit.inner, Span(first, last, weight, None, named, signature))


def of_class(lines: Lines, members: Sequence[Unit], whole: Span) -> Iterator[Span]:
    """One class; of a large one its head and its members."""
    if whole.weight <= LIMIT or not members:
        yield whole
    else:
        yield from arranged(lines, members, replace(whole, between=True))


def joined(spans: Iterable[Span], least: int) -> list[Span]:
    """Small neighbours held together; what is between definitions, and small, goes with what follows it."""
    found: list[Span] = []
    for span in (replace(span, small=span.weight < least) for span in spans):
        if found and fits(found[-1], span, least):
            found[-1] = union(found[-1], span)
        elif span.weight:
            found.append(span)
    if len(found) > 1 and trails(*found[-2:]):
        found[-2:] = [union(*found[-2:])]
    return found


def trails(last: Span, rest: Span) -> bool:
    """Whether what ends a file is no definition, and small, and fits with the last one."""
    return rest.between and rest.small and together([last, rest]) <= LIMIT


def fits(one: Span, other: Span, least: int) -> bool:
    """Whether two neighbours are one chunk, or begin one that is divided anyway."""
    if one.owner != other.owner or not one.small:
        return False
    if one.between:
        return other.weight > LIMIT or together([one, other]) <= LIMIT
    return other.small and together([one, other]) <= min(TARGET, GROUP * least)


def together(spans: Iterable[Span]) -> int:
    """What they weigh."""
    return sum(span.weight for span in spans)


def union(one: Span, other: Span) -> Span:
    """Two neighbours as one."""
    names = [each for each in (one.function, other.function) if each]
    return replace(
        one,
        last=other.last,
        weight=one.weight + other.weight,
        function=", ".join(dict.fromkeys(names))[:NAMES] or None,
        signature=one.signature or other.signature,
        heading=one.heading or other.heading,
        between=one.between and other.between,
        small=one.small and other.small,
    )


def divided(lines: Lines, span: Span) -> Iterator[Span]:
    """A span, or parts of it that fit."""
    at = span.first
    while span.weight > LIMIT and lines.weight(at, span.last) > LIMIT:
        end = lines.breaking(at, span.last, TARGET)
        yield replace(span, first=at, last=end)
        at = end + 1
        if at > span.last:
            return
    yield replace(span, first=at)


def emitted(lines: Lines, span: Span) -> Iterator[Cut]:
    """A span as a chunk, without the blank lines around it; of a line that is too long, several."""
    first, last = lines.trimmed(span.first, span.last)
    if first > last:
        return
    named = (span.function, span.owner, span.signature, span.heading)
    for text in lines.texts(first, last, LIMIT):
        yield Cut(text, first + 1, last + 1, *named)
