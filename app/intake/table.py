"""Which lines are rows of tables. By their words alone: most PDFs draw tables as loose pieces of text.

A run of lines with figures, the short lines between them (labels that wrap) and those above (the heads
of columns) make a table. Only shapes are looked at, so it works in every language with digits.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from app.intake.line import Line

FIGURE = re.compile(
    r"[($€£¥+\-–—−~<>≤≥]*\d[\d.,:/'’]*[)%†*‡¹²³⁴⁵€$£¥]*|[-–—−]+[$€£¥%]?|[$€£¥%)]+|[nN]/?[aAmM]\.?"
)
YEAR = re.compile(r"(?:19|20)\d\d")
DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{2,4}")
DAY = re.compile(r"(?:[0-2]?\d|3[01])[.,:]?")
BEFORE = re.compile(r"(?<=[$€£¥]) (?=[(\d—–-])|(?<=[\d)]) (?=[%)])")
BEHIND = re.compile(r"(?<=[\d)—–-]) (?=[$€£¥%)](?!\S))")
"""Space between a figure and its sign: `$ 512`, `12 %`, and in other countries `512 €`."""
SIGN = re.compile(r"(?<!\S)[$€£¥](?!\S)")
SENTENCE_END = re.compile(r"[.;!?。！？؟۔।]['\"”’)]*$")

LABEL_WORDS = 12
"""Words of the longest line that can be a label rather than prose."""
LONG_WORDS = 24
"""Words of a label that fills its line and goes on in the next, or that a colon ends."""
WRAPS = 3
"""Lines of the longest label that is put together again."""
NARROW = 0.75
"""Of the next line's label: a line that with its first word is shorter did not wrap before it."""
GAP = 3
"""Lines without figures between two rows of one table."""
ENOUGH = 3
"""Of what makes a table: a row counts two, an entry one."""
HEADS = 16
"""Lines above the first row that can be heads of columns."""


def figures(text: str) -> tuple[int, int]:
    """(figures, words) of a line; a currency sign or a dash stands for a figure."""
    words = text.split()
    return sum(1 for word in words if FIGURE.fullmatch(word)), len(words)


def is_row(text: str) -> bool:
    """At least two figures, and enough of them, or at its end, not to be prose about figures."""
    count, words = figures(text)
    if count < 2 or not any(char.isdigit() for char in text):
        return False
    last = text.rsplit(maxsplit=1)[-1]
    enough = count >= 0.3 * words or (count >= 0.2 * words and bool(FIGURE.fullmatch(last)))
    return enough or (words <= LONG_WORDS and ends_in_cells(text))


def cells(text: str) -> list[str]:
    """The figures at the end of a line, last first; a sign is no figure of its own."""
    return list(takewhile(FIGURE.fullmatch, reversed(signed(text).split())))


def signed(text: str) -> str:
    """A row whose figures stand with their signs: those behind, where the first one does and the last."""
    first = SIGN.search(text)
    behind = first and SIGN.search(text, len(text) - 1) and bool(BEHIND.match(text, first.start() - 1))
    return (BEHIND if behind else BEFORE).sub("", text)


def ends_in_cells(text: str) -> bool:
    """Whether a line, be its label ever so long, ends in figures of two columns; a date's are none."""
    last = cells(text)[:2]
    return len(last) == 2 and not any(YEAR.fullmatch(each) or each[-1] in ",:" for each in last)


def is_column_head(text: str) -> bool:
    """Whether a line of a table says what its columns are: no figures, or nothing but dates."""
    return not is_row(text) or is_dated(text)


def is_dated(text: str) -> bool:
    """Whether all figures of a line are years, dates, or days beside the name of a month."""
    words = [word.strip(",;:()") for word in text.split()]
    figures = [n for n, word in enumerate(words) if any(map(str.isdigit, word))]
    years = [n for n in figures if YEAR.fullmatch(words[n]) or DATE.fullmatch(words[n])]
    days = [n for n in figures if DAY.fullmatch(words[n]) and is_beside_word(words, n)]
    return bool(years) and len(years) + len(days) == len(figures)


def is_of_columns(text: str) -> bool:
    """Whether a line below the dates is of the columns too: it repeats itself from column to column, or says
    in brackets what they count."""
    words = text.split()
    return len(set(words)) < len(words) or (text.lstrip()[:1] == "(" and text[-1] == ")")


def are_columns(dates: Sequence[str], row: str) -> bool:
    """Whether lines of dates name the columns of a row: each of its figures has one, or in the last line each
    of as many figures."""
    years = [len(re.findall(r"\b(?:19|20)\d\d\b", line)) for line in dates]
    values = len(cells(row))
    return sum(years) == values or (years[-1] > 1 and values % years[-1] == 0)


def is_beside_word(words: Sequence[str], n: int) -> bool:
    """Whether a word, as a month's name is one, stands right before or behind."""
    return any(0 <= at < len(words) and words[at].isalpha() for at in (n - 1, n + 1))


def is_entry(text: str) -> bool:
    """A label and one figure at its end, as in a table of one column or of contents."""
    words = text.split()
    return 1 < len(words) <= LABEL_WORDS and words[-1][-1:].isdigit() and bool(FIGURE.fullmatch(words[-1]))


def is_label(text: str) -> bool:
    """Short, and not the end of a sentence."""
    return len(text.split()) <= LABEL_WORDS and not SENTENCE_END.search(text)


def is_between(lines: Sequence[Line], n: int) -> bool:
    """Whether a line between two rows can be of their table: a label, be it a long one that goes on in the
    next line or that a colon ends."""
    text = lines[n].text
    if is_label(text):
        return True
    unfinished = text.endswith(":") or goes_on([text], lines[n + 1].text)
    return unfinished and len(text.split()) <= LONG_WORDS and not SENTENCE_END.search(text)


def rowed(lines: Sequence[Line]) -> list[str]:
    """A table's rows: a label that wraps in one line with the rest of it, figures with their signs."""
    small = begins_small([line.text for line in lines])
    rows: list[list[str]] = []
    for line in lines:
        if rows and goes_on(rows[-1], line.text, small):
            rows[-1].append(line.text)
        else:
            rows.append([line.text])
    joined = [" ".join(row) for row in rows]
    return [signed(row) if is_row(row) else row for row in joined]


def begins_small(lines: Sequence[str]) -> bool:
    """Whether rows of their own begin with small letters: half of those that do, or more, are below a row."""
    above = [before for before, line in pairwise(lines) if line[:1].islower() and is_row(line)]
    after_rows = sum(is_row(line) for line in above)
    return 0 < len(above) <= 2 * after_rows


def goes_on(above: Sequence[str], text: str, small: bool = False) -> bool:
    """Whether a line of a table is the rest of a label above it, which has no figures of its own yet: it
    closes a bracket, or begins with a small letter, as rows of their own do not (`small`: do)."""
    last = above[-1]
    if len(above) == WRAPS or len(" ".join(above).split()) > 2 * LONG_WORDS:
        return False
    if is_bracketed(above, text):
        return True
    finished = is_row(last) or is_entry(last) or last.endswith(":")
    return text[:1].islower() and not finished and not is_of_its_own(last, text, small)


def is_bracketed(above: Sequence[str], text: str) -> bool:
    """Whether a line closes the bracket that a label above it left open, or is inside of it."""
    closes = ")" in text.partition("(")[0]
    return is_open(above) and (closes or not (is_row(text) or is_row(above[-1])))


def is_open(above: Sequence[str]) -> bool:
    """Whether a label has a bracket left open; those of figures at its end are not its own."""
    brackets = sum(line.count("(") - line.count(")") for line in above)
    return brackets > sum(each.count("(") > each.count(")") for each in cells(above[-1]))


def is_of_its_own(above: str, text: str, small: bool) -> bool:
    """Whether a line with figures is a row below heads of columns or a label: as its table's rows are, or as
    its first word has a capital inside, or would have fitted in above, or as heads stand above."""
    if not (is_row(text) or is_entry(text)):
        return False
    first = text.split(maxsplit=1)[0]
    own = " ".join(takewhile(str.islower, text.split()))
    fits = len(above) + 1 + len(first) < NARROW * len(own)
    return small or fits or not first.islower() or are_heads(above.split(), len(cells(text)))


def are_heads(words: Sequence[str], columns: int) -> bool:
    """Whether each word names a column: it has a figure, or there are as many, none of them small."""
    if all(any(map(str.isdigit, word)) for word in words):
        return True
    return len(words) == columns > 1 and not any(word[0].islower() for word in words)


def tables(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """The tables of one page, as (first line, line after the last)."""
    weights = [2 if is_row(line.text) else 1 if is_entry(line.text) else 0 for line in lines]
    rows = [n for n, weight in enumerate(weights) if weight]
    floor = at = 0
    while at < len(rows):
        start, after = rows[at], run(lines, rows, at)
        if sum(weights[n] for n in rows[at:after]) >= ENOUGH:
            yield heads(lines, floor, start), rows[after - 1] + 1
            floor = rows[after - 1] + 1
        at = after


def run(lines: Sequence[Line], rows: Sequence[int], at: int) -> int:
    """The index in `rows` after the last row of the table that begins with `rows[at]`."""
    for n in range(at + 1, len(rows)):
        between = range(rows[n - 1] + 1, rows[n])
        if len(between) > GAP or not all(is_between(lines, line) for line in between):
            return n
    return len(rows)


def heads(lines: Sequence[Line], floor: int, start: int) -> int:
    """The first line of a table whose first row is `start`: its columns' heads and its caption."""
    first = start
    while first > max(floor, start - HEADS) and is_head(lines, first - 1):
        first -= 1
    return first


def is_head(lines: Sequence[Line], n: int) -> bool:
    """Whether a line above a table belongs to it: a label, not the end of a sentence begun above."""
    text = lines[n].text
    broken = n > 0 and not is_label(lines[n - 1].text) and not SENTENCE_END.search(lines[n - 1].text)
    return is_label(text) and not broken


def beside_labels(line: Line, rows: Sequence[Line]) -> bool:
    """Whether a line stands over the figures of these rows alone: the head of a column, not a caption."""
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    width = right - left
    return line.left > left + 0.2 * width and line.left + line.right > left + right + 0.16 * width
