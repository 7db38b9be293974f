"""Table detection from the words of lines alone, since most PDFs draw tables as loose pieces of text.

A run of lines with figures, the short lines between them (labels that wrap) and those above (the header) make
a table. Only the shape of words counts, so it works in every language that writes digits. A figure is a word
such as `1,234`, `(12)`, `5%`, `$`, `—` or `n/a`.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from app.ingest.lines import Line

FIGURE = re.compile(
    r"[($€£¥+\-–—−~<>≤≥]*\d[\d.,:/'’]*[)%†*‡¹²³⁴⁵€$£¥]*|[-–—−]+[$€£¥%]?|[$€£¥%)]+|[nN]/?[aAmM]\.?"
)
YEAR = re.compile(r"(?:19|20)\d\d")
DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{2,4}")
DAY = re.compile(r"(?:[0-2]?\d|3[01])[.,:]?")
SPACE_AFTER_SIGN = re.compile(r"(?<=[$€£¥]) (?=[(\d—–-])|(?<=[\d)]) (?=[%)])")
"""The space in `$ 512` and `12 %`."""
SPACE_BEFORE_SIGN = re.compile(r"(?<=[\d)—–-]) (?=[$€£¥%)](?!\S))")
"""The space in `512 €`."""
SIGN = re.compile(r"(?<!\S)[$€£¥](?!\S)")
DASH_IN_TEXT = re.compile(r" [-–—−]+(?= [^\W\d_])")
SENTENCE_END = re.compile(r"[.;!?。！？؟۔।]['\"”’)]*$")

LABEL_WORDS = 12
"""Maximum words of a label; longer lines are prose."""
LONG_LABEL_WORDS = 24
"""Maximum words of a label that wraps, or that ends in a colon."""
LABEL_LINES = 3
"""Maximum lines of a label that are joined."""
MUCH_NARROWER = 0.75
"""A line that together with the first word of the next one would be narrower than this share of the next
line's label did not wrap there."""
MAX_GAP = 3
"""Maximum lines without figures between two rows of one table."""
MIN_WEIGHT = 3
"""Minimum weight of a table: a row weighs 2, an entry 1."""
HEADER_LINES = 16
"""Maximum lines of a header."""


def tables(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """The tables of one page, as (first line, line after the last). Dates at the end of a run are the head of
    the table right below."""
    found: list[tuple[int, int]] = []
    for first, end in figure_runs(lines):
        if found and found[-1][1] == first and has_only_dates(lines[first - 1].text):
            found[-1] = (found[-1][0], end)
        else:
            found.append((first, end))
    return iter(found)


def figure_runs(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """(first line, line after the last) of rows with the lines between them and the header above."""
    weights = [2 if is_row(line.text) else 1 if is_entry(line.text) else 0 for line in lines]
    rows = [n for n, weight in enumerate(weights) if weight]
    previous_end = at = 0
    while at < len(rows):
        after = end_of_rows(lines, rows, at)
        if sum(weights[n] for n in rows[at:after]) >= MIN_WEIGHT:
            first, end = rows[at], rows[after - 1] + 1
            floor = max(previous_end, first - HEADER_LINES)
            while first > floor and is_header(lines, first - 1):
                first -= 1
            yield first, end
            previous_end = end
        at = after


def end_of_rows(lines: Sequence[Line], rows: Sequence[int], at: int) -> int:
    """The index in `rows` after the last row of the table that begins with `rows[at]`."""
    for n in range(at + 1, len(rows)):
        between = range(rows[n - 1] + 1, rows[n])
        if len(between) > MAX_GAP or not all(is_between_rows(lines, line) for line in between):
            return n
    return len(rows)


def is_between_rows(lines: Sequence[Line], n: int) -> bool:
    """True if a line without figures may be part of a table: a label, or a long one that wraps or ends in a
    colon."""
    text = lines[n].text
    if is_label(text):
        return True
    unfinished = text.endswith(":") or continues_label([text], lines[n + 1].text)
    return unfinished and len(text.split()) <= LONG_LABEL_WORDS and not SENTENCE_END.search(text)


def is_header(lines: Sequence[Line], n: int) -> bool:
    """True for a label above the rows that does not end a sentence begun above."""
    if n > 0 and not is_label(lines[n - 1].text) and not SENTENCE_END.search(lines[n - 1].text):
        return False
    return is_label(lines[n].text)


def is_row(text: str) -> bool:
    """True if a line has at least two figures, and too large a share of them, or too many at its end, to be
    prose about figures."""
    words = DASH_IN_TEXT.sub(" ", text).split()
    count = sum(1 for word in words if FIGURE.fullmatch(word))
    if count < 2 or not any(char.isdigit() for char in text):
        return False
    if count >= 0.3 * len(words) or (count >= 0.2 * len(words) and FIGURE.fullmatch(words[-1])):
        return True
    return len(words) <= LONG_LABEL_WORDS and ends_in_cells(text)


def is_entry(text: str) -> bool:
    words = text.split()
    return 1 < len(words) <= LABEL_WORDS and words[-1][-1:].isdigit() and bool(FIGURE.fullmatch(words[-1]))


def is_label(text: str) -> bool:
    return len(text.split()) <= LABEL_WORDS and not SENTENCE_END.search(text)


def cells(text: str) -> list[str]:
    return list(takewhile(FIGURE.fullmatch, reversed(join_signs(text).split())))


def ends_in_cells(text: str) -> bool:
    """True if a line ends in figures of two columns. A date at the end does not count."""
    last = cells(text)[:2]
    return len(last) == 2 and not any(YEAR.fullmatch(each) or each[-1] in ",:" for each in last)


def join_signs(text: str) -> str:
    """A row without the spaces between figures and their signs. Signs follow their figures if both the first
    and the last one do."""
    first = SIGN.search(text)
    after = first and SIGN.search(text, len(text) - 1) and SPACE_BEFORE_SIGN.match(text, first.start() - 1)
    return (SPACE_BEFORE_SIGN if after else SPACE_AFTER_SIGN).sub("", text)


def is_column_header(text: str) -> bool:
    """True for a line of a table without figures, or with no figures but dates."""
    return not is_row(text) or has_only_dates(text)


def has_only_dates(text: str) -> bool:
    """True if all figures of a line are years, dates, or days next to a word (the name of a month)."""
    words = [word.strip(",;:()") for word in text.split()]
    figures = [n for n, word in enumerate(words) if any(map(str.isdigit, word))]
    years = [n for n in figures if YEAR.fullmatch(words[n]) or DATE.fullmatch(words[n])]
    days = [n for n in figures if DAY.fullmatch(words[n]) and is_next_to_word(words, n)]
    return bool(years) and len(years) + len(days) == len(figures)


def is_next_to_word(words: Sequence[str], n: int) -> bool:
    return any(0 <= at < len(words) and words[at].isalpha() for at in (n - 1, n + 1))


def describes_columns(text: str) -> bool:
    """True if a line below the dates belongs to the header too: it repeats a word for each column, or gives
    the unit in brackets."""
    words = text.split()
    return len(set(words)) < len(words) or (text.lstrip()[:1] == "(" and text[-1] == ")")


def are_columns_of(dates: Sequence[str], row: str) -> bool:
    """True if lines of dates are the columns of a row: it has a figure for each year, or for each year of the
    last line the same number of figures."""
    years = [len(re.findall(r"\b(?:19|20)\d\d\b", line)) for line in dates]
    values = len(cells(row))
    return sum(years) == values or (years[-1] > 1 and values % years[-1] == 0)


def table_rows(lines: Sequence[Line]) -> list[str]:
    joined = [" ".join(line.text for line in row) for row in row_groups(lines)]
    return [join_signs(row) if is_row(row) else row for row in joined]


def row_groups(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each row: a label may wrap."""
    lowercase = has_lowercase_rows([line.text for line in lines])
    rows: list[list[Line]] = []
    for line in lines:
        if rows and continues_label([each.text for each in rows[-1]], line.text, lowercase):
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def has_lowercase_rows(lines: Sequence[str]) -> bool:
    """True if rows of this table may begin with lower-case letters: at least half of those that do follow
    another row."""
    above = [before for before, line in pairwise(lines) if line[:1].islower() and is_row(line)]
    return 0 < len(above) <= 2 * sum(map(is_row, above))


def continues_label(above: Sequence[str], text: str, lowercase: bool = False) -> bool:
    """True if a line continues the label on the lines above it, which have no figures yet: it closes a
    bracket, or begins with a lower-case letter. `lowercase`: complete rows may begin with one too."""
    last = above[-1]
    if len(above) == LABEL_LINES or len(" ".join(above).split()) > 2 * LONG_LABEL_WORDS:
        return False
    if is_in_brackets(above, text):
        return True
    finished = is_row(last) or is_entry(last) or last.endswith(":")
    return text[:1].islower() and not finished and not is_complete_row(last, text, lowercase)


def is_in_brackets(above: Sequence[str], text: str) -> bool:
    """True if the label above has an open bracket and this line closes it or is inside it."""
    opened = sum(line.count("(") - line.count(")") for line in above)
    # Brackets of figures at the end of a line are not the label's.
    if opened <= sum(each.count("(") > each.count(")") for each in cells(above[-1])):
        return False
    return ")" in text.partition("(")[0] or not (is_row(text) or is_row(above[-1]))


def is_complete_row(above: str, text: str, lowercase: bool) -> bool:
    """True if a line with figures has a label of its own, although it begins with a lower-case letter: other
    rows of its table do, or its first word has a capital inside, or would have fitted on the line above, or
    column names are above it."""
    if not (is_row(text) or is_entry(text)):
        return False
    first = text.split(maxsplit=1)[0]
    label = " ".join(takewhile(str.islower, text.split()))
    fits_above = len(above) + 1 + len(first) < MUCH_NARROWER * len(label)
    return lowercase or fits_above or not first.islower() or are_column_names(above.split(), len(cells(text)))


def are_column_names(words: Sequence[str], columns: int) -> bool:
    """True if each word names a column: all have digits, or one per column, none lower-case."""
    if all(any(map(str.isdigit, word)) for word in words):
        return True
    return len(words) == columns > 1 and not any(word[0].islower() for word in words)


def is_over_figures(line: Line, rows: Sequence[Line]) -> bool:
    """True if a line is placed over the figures of these rows: a column header, not a caption."""
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    width = right - left
    return line.left > left + 0.2 * width and line.left + line.right > left + right + 0.16 * width
