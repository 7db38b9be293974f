"""Columns of a table, found by where its words are on the page, and the table as text:

    table = {caption LF} [head LF rule LF] {row LF | caption LF}
    head  = [unit or label] " | " name {" | " name}       a name for each column
    rule  = "---" {" | ---"}                              below each head, as in Markdown
    row   = [label] " | " value {" | " value}             as many values as names; "" for an empty cell

A head holds until the next one. Captions have no ` | `. A table whose columns are not clear keeps its lines.
Figures in one row overlap those of their column in other rows; that alone makes a column. Names above are
those of the columns whose middle they cover.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from math import inf
from statistics import median

from app.ingest.lines import Line, clean_text
from app.ingest.tables import FIGURE, has_only_dates, join_signs, row_groups, table_rows

CELL_GAP = 0.42
"""A wider space begins another cell, in heights of the line. Between words it is about 0.25."""
SAME_ROW = 0.5
"""Words whose base lines differ by less are beside each other, in heights of the line."""
VALUE = re.compile(rf"(?:{FIGURE.pattern})|[$€£¥][-–—−]+")
LOWER = 1.3
"""Heights of the line by which the figures of a row are at most lower than its label."""
MIN_ROWS = 2
MIN_SHARE = 0.1
"""Share of the rows that have a figure in a column."""
MAX_COLUMNS = 16
MAX_PARTS = 40
HEAD_CHARS = 300
"""Maximum characters of a head: of a longer one the lowest name of each column is kept."""
SPAN_WORDS = 3
"""Maximum words of a head that is alone above some of the columns."""
SAME_LEVEL = 2.5
"""Points by which the base lines of heads beside each other differ at most."""
NEAR = 6.0
"""Points by which things that are in line with each other may differ."""
VALUE_WORDS = 4
"""Maximum words of a value that is no figure."""
SIGNS = frozenset("$€£¥")
CLOSING = frozenset({")", "%", ")%", "pts", "x"})
BAR = " | "
RULE = "---"


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    left: float
    right: float
    base: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def is_figure(self) -> bool:
        return self.text not in SIGNS and all(map(VALUE.fullmatch, self.text.split()))


@dataclass(frozen=True, slots=True)
class TableRow:
    lines: Sequence[str]
    cells: Sequence[Cell]

    @property
    def text(self) -> str:
        return " ".join(self.lines)

    @property
    def figures(self) -> list[Cell]:
        """None for a row of dates."""
        return [] if has_only_dates(self.text) else [cell for cell in self.cells if cell.is_figure]


def table_text(lines: Sequence[Line]) -> list[str]:
    """The rows of a table as lines of text."""
    groups = beside(row_groups(lines))
    rows = rows_of(groups)
    found: list[str] = []
    for start, end, columns in parts(rows):
        if columns.are_clear:
            found += columns.text(rows[start:end])
        else:
            found += table_rows([line for group in groups[start:end] for line in group])
    return found


def parts(rows: Sequence[TableRow]) -> Iterator[tuple[int, int, "Columns"]]:
    """(first, end, columns) of the tables in these rows: all of them if the columns are clear, else as many
    as share columns. A table begins where rows without figures, or with dates alone, follow others."""
    whole = Columns(rows)
    valued = [bool(row.figures) for row in rows]
    starts = [n for n in range(1, len(rows)) if valued[n - 1] and not valued[n]]
    if whole.are_clear or not starts or len(starts) > MAX_PARTS:
        yield 0, len(rows), whole
        return
    start = 0
    columns = Columns(rows[: starts[0]])
    for end, after in pairwise([*starts, len(rows)]):
        more = Columns(rows[start:after])
        if more.are_clear and columns.are_clear:
            columns = more
        else:
            yield start, end, columns
            start, columns = end, Columns(rows[end:after])
    yield start, len(rows), columns


def beside(groups: Sequence[list[Line]]) -> list[list[Line]]:
    """The rows; one that begins to the right of the end of the row before, hardly lower, belongs to it."""
    found: list[list[Line]] = []
    for group in groups:
        above = found[-1][-1].words if found else ()
        first = group[0].words
        below = LOWER * group[0].style.size
        if (
            above
            and first
            and first[0].left > above[-1].right
            and abs(first[0].base - above[-1].base) < below
        ):
            found[-1] = found[-1] + group
        else:
            found.append(group)
    return found


def rows_of(groups: Sequence[Sequence[Line]]) -> list[TableRow]:
    return [TableRow([line.text for line in group], list(cells_of(group))) for group in groups]


def cells_of(group: Sequence[Line]) -> Iterator[Cell]:
    """The cells of the lines of a row, from left to right; none if the place of a word is not known."""
    for line in group:
        if " ".join(clean_text(word.text) for word in line.words) != line.text:
            return
    for line in group:
        size = line.style.size
        places = sorted(line.words, key=lambda word: -word.base)
        starts = [n for n, (a, b) in enumerate(pairwise(places), 1) if a.base - b.base > SAME_ROW * size]
        for start, end in pairwise([0, *starts, len(places)]):
            words = sorted(places[start:end], key=lambda word: word.left)
            yield from joined([Cell(clean_text(text), *place) for text, *place in words], size)


def joined(words: Sequence[Cell], size: float) -> Iterator[Cell]:
    """The cells of words beside each other: a sign belongs to the figure next to it."""
    cell: Cell | None = None
    for word in words:
        if cell and (continues_cell(cell, word, size)):
            cell = Cell(join_signs(f"{cell.text} {word.text}"), cell.left, word.right, cell.base)
        else:
            if cell:
                yield cell
            cell = word
    if cell:
        yield cell


def continues_cell(cell: Cell, word: Cell, size: float) -> bool:
    space = word.left - cell.right
    if cell.text in SIGNS or word.text in CLOSING:
        return True
    return space < CELL_GAP * size and word.text not in SIGNS


class Columns:
    """The columns of a table, from the figures of its rows."""

    def __init__(self, rows: Sequence[TableRow]) -> None:
        valued = [row.figures for row in rows if row.figures]
        if len(valued) == 1:
            valued += [list(row.cells) for row in rows if has_only_dates(row.text)]
        found = overlapping([cell for cells in valued for cell in cells if cell.is_figure])
        least = max(MIN_ROWS, MIN_SHARE * len(valued))
        first = next((n for n, (_, _, count) in enumerate(found) if count >= least), len(found))
        self.edges = [(left, right) for left, right, _ in found[first:]]
        """(left, right) of the columns; figures before the first one that several rows have are of labels."""
        self.labels = self.end_of_labels(rows) if self.edges else 0.0
        self.are_clear = 0 < len(self.edges) <= MAX_COLUMNS and self.fit(rows)
        self.heads = self.with_names(rows) if self.are_clear else self.edges
        """(left, right) of the columns with the names above them, which may be beside the figures."""

    @property
    def left(self) -> float:
        return self.edges[0][0]

    def end_of_labels(self, rows: Sequence[TableRow]) -> float:
        """Where half of the labels end; 0 without labels."""
        ends = [min(row.cells[0].right, self.left) for row in rows if len(row.cells) > 1]
        return median(ends) if ends else 0.0

    def with_names(self, rows: Sequence[TableRow]) -> list[tuple[float, float]]:
        """The columns, as wide as the names above them: where there is one between the neighbours of each."""
        found = self.edges
        for valued, run in groupby(rows, lambda row: bool(row.figures)):
            cells = [cell for row in run for cell in row.cells if cell.left >= self.labels - NEAR]
            for level in [] if valued or len(self.edges) < 2 else levels_of(cells):
                if len(level) == len(self.edges) and all(map(self.is_between, level, range(len(level)))):
                    both = zip(found, level, strict=True)
                    found = [(min(left, cell.left), max(right, cell.right)) for (left, right), cell in both]
        return found

    def is_between(self, cell: Cell, n: int) -> bool:
        """True if a name is between the neighbours of a column."""
        before = self.edges[n - 1][1] if n else self.labels
        after = self.edges[n + 1][0] if n + 1 < len(self.edges) else inf
        return before - NEAR <= cell.left and cell.right <= after + NEAR and not cell.is_figure

    def fit(self, rows: Sequence[TableRow]) -> bool:
        """True if hardly any row has two figures in one column, or figures without a column."""
        places = [[self.index(cell) for cell in row.cells if cell.is_figure] for row in rows]
        valued = [each for each in places if set(each) - {None}]
        doubled = sum(len(set(each)) < len(each) for each in valued)
        return len(valued) >= MIN_ROWS and 10 * doubled <= len(valued)

    def index(self, cell: Cell) -> int | None:
        """The column that a cell overlaps most; None: it is left of all."""
        if cell.right <= self.left:
            return None
        overlaps = [min(cell.right, right) - max(cell.left, left) for left, right in self.edges]
        return max(range(len(overlaps)), key=overlaps.__getitem__)

    def covered(self, cell: Cell) -> list[int]:
        """The columns under a head: those whose middle it covers, else the nearest."""
        for edges in (self.edges, self.heads):
            middles = [(left + right) / 2 for left, right in edges]
            if within := [n for n, middle in enumerate(middles) if cell.left <= middle <= cell.right]:
                return within
        return [min(range(len(middles)), key=lambda n: abs(middles[n] - cell.middle))]

    def values(self, row: TableRow) -> list[str] | None:
        """[label, value of each column]; None if the row has no figure in a column, or prose."""
        found: list[list[str]] = [[] for _ in range(len(self.edges) + 1)]
        for cell in row.cells:
            place = self.index(cell)
            if place is not None and not cell.is_figure and len(cell.text.split()) > VALUE_WORDS:
                return None
            found[0 if place is None else place + 1].append(cell.text)
        has_figure = any(cell.is_figure and self.index(cell) is not None for cell in row.cells)
        return [" ".join(texts) for texts in found] if has_figure else None

    def is_head(self, row: TableRow) -> bool:
        """True if the cells of a row without figures are above columns, or beside them on the left."""
        above = self.over_columns(row.cells)
        return bool(above) and all(self.is_above(cell) for cell in above)

    def over_columns(self, cells: Sequence[Cell]) -> list[Cell]:
        return [cell for cell in cells if cell.right > self.heads[0][0]]

    def is_above(self, cell: Cell) -> bool:
        """True if a cell is right above the columns that it covers: in line with them, and over no label and
        no part of another column. A caption of the table is not."""
        covered = self.covered(cell)
        first, last = covered[0], covered[-1]
        left, right = self.heads[first][0], self.heads[last][1]
        before = self.edges[first - 1][1] if first else min(self.labels, self.left)
        after = self.edges[last + 1][0] if last + 1 < len(self.edges) else inf
        if cell.left < before - NEAR or cell.right > after + NEAR:
            return False
        in_line = abs(cell.left - left) < NEAR or abs(cell.right - right) < NEAR
        return in_line or left - NEAR <= cell.middle <= right + NEAR

    def text(self, rows: Sequence[TableRow]) -> list[str]:
        """The table as lines of text."""
        kinds = [self.kind(row) for row in rows]
        found: list[str] = []
        at = 0
        for kind, group in groupby(kinds, lambda kind: kind == "row"):
            run = rows[at : at + len(list(group))]
            found += map(self.line, run) if kind else self.above_rows(run, kinds[at : at + len(run)])
            at += len(run)
        return found

    def kind(self, row: TableRow) -> str:
        if has_only_dates(row.text):
            right = all(cell.left >= self.labels - NEAR and cell.right > self.left for cell in row.cells)
            return "head" if self.is_head(row) or (row.cells and right) else "caption"
        if self.values(row):
            return "row"
        return "head" if not row.figures and self.is_head(row) else "caption"

    def line(self, row: TableRow) -> str:
        return BAR.join(self.values(row) or [row.text]).strip()

    def above_rows(self, run: Sequence[TableRow], kinds: Sequence[str]) -> list[str]:
        """Captions and heads between two rows: the heads make one head, at the place of the last."""
        heads = [n for n, kind in enumerate(kinds) if kind == "head"]
        if not heads:
            return [line for row in run for line in row.lines]
        last = heads[-1]
        before = [
            line for row, kind in zip(run[:last], kinds, strict=False) if kind != "head" for line in row.lines
        ]
        after = [line for row in run[last + 1 :] for line in row.lines]
        return [*before, *self.head([run[n] for n in heads]), *after]

    def head(self, rows: Sequence[TableRow]) -> list[str]:
        """The head and the rule below it. Names above all columns are captions before it, labels below the
        names are captions after it."""
        names: list[list[str]] = [[] for _ in range(len(self.edges) + 1)]
        before: list[str] = []
        after: list[str] = []
        levels = levels_of([cell for row in rows for cell in row.cells])
        above = list(map(self.over_columns, levels))
        lowest = max(n for n, level in enumerate(above) if level)
        for n, level in enumerate(levels):
            spans = self.spans_of_level(above, n)
            for cell in level:
                columns = spans.get(cell, [])
                if not columns:
                    (after if n > lowest else names[0]).append(cell.text)
                elif self.is_caption(cell, columns, names, is_alone=len(level) == 1):
                    before.append(cell.text)
                else:
                    for column in columns:
                        names[column + 1].append(cell.text)
        return [*before, *head_lines(names), *after]

    def spans_of_level(self, above: Sequence[Sequence[Cell]], n: int) -> dict[Cell, list[int]]:
        """The columns under each head of a level. Dates may stand below it, down to the lowest head."""
        below = above[n + 1 :]
        is_dated = are_dates(above[n]) or (any(below) and all(map(are_dates, below)))
        return dict(zip(above[n], self.spans(above[n], is_dated), strict=True))

    def spans(self, level: Sequence[Cell], is_dated: bool) -> list[list[int]]:
        """The columns under each of the heads beside each other: those that it covers. Dates and what is
        above dates are often narrower than their columns: as many for each, if it is in their middle."""
        usual = [self.covered(cell) for cell in level]
        if len(level) < 2 or not is_dated:
            return usual
        return self.in_the_middle(level, usual) or (are_dates(level) and self.even(level)) or usual

    def in_the_middle(self, level: Sequence[Cell], usual: Sequence[list[int]]) -> list[list[int]]:
        """As many columns as possible for each head that is in their middle, if these are half of the heads,
        and the `usual` ones for the others; none if a column would be of two."""
        for size in range(-(-len(self.edges) // len(level)), 1, -1):
            centred = [self.centred(cell, size) for cell in level]
            wide = [more or own for more, own in zip(centred, usual, strict=True)]
            every = list(chain.from_iterable(wide))
            if 2 * sum(map(bool, centred)) >= len(level) and len(set(every)) == len(every):
                return wide
        return []

    def even(self, level: Sequence[Cell]) -> list[list[int]]:
        """As many columns for each head, if each is above its own; none if not."""
        size, rest = divmod(len(self.heads), len(level))
        groups = [list(range(n, n + size)) for n in range(0, len(self.heads), size)] if size > 1 else []
        within = (
            self.heads[group[0]][0] - NEAR < cell.left and cell.right < self.heads[group[-1]][1] + NEAR
            for group, cell in zip(groups, level, strict=False)
        )
        return groups if not rest and all(within) else []

    def centred(self, cell: Cell, size: int) -> list[int]:
        """So many columns that have a cell in their middle; none if there are no such."""
        for first in range(len(self.heads) - size + 1):
            left, right = self.heads[first][0], self.heads[first + size - 1][1]
            if (
                abs(cell.middle - (left + right) / 2) < NEAR
                and left - NEAR < cell.left
                and cell.right < right + NEAR
            ):
                return list(range(first, first + size))
        return []

    def is_caption(
        self, cell: Cell, columns: Sequence[int], names: Sequence[Sequence[str]], *, is_alone: bool
    ) -> bool:
        """True for a head above all columns, a long one without another beside it, or a unit in brackets."""
        is_unit = cell.text[0] == "(" and " " in cell.text and not any(names[n + 1] for n in columns)
        if len(self.edges) == 1 or is_unit:
            return is_unit
        centred = abs(cell.middle - (self.left + self.edges[-1][1]) / 2) < 2 * NEAR
        is_long = len(cell.text.split()) > SPAN_WORDS
        if len(columns) == 1 and not is_long and self.is_part_of_name(cell, columns[0]):
            return False
        return len(columns) == len(self.edges) or (is_alone and (centred or is_long))

    def is_part_of_name(self, cell: Cell, column: int) -> bool:
        """True for a head within the name of its column, which is wider than the figures."""
        left, right = self.heads[column]
        return (
            self.heads[column] != self.edges[column] and left - NEAR < cell.left and cell.right < right + NEAR
        )


def are_dates(level: Sequence[Cell]) -> bool:
    return has_only_dates(" ".join(cell.text for cell in level))


def levels_of(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells by their base lines, the highest first."""
    levels: list[list[Cell]] = []
    for cell in sorted(cells, key=lambda cell: -cell.base):
        if levels and levels[-1][0].base - cell.base < SAME_LEVEL:
            levels[-1].append(cell)
        else:
            levels.append([cell])
    return [sorted(level, key=lambda cell: cell.left) for level in levels]


def head_lines(names: Sequence[Sequence[str]]) -> list[str]:
    """The head and its rule; without a name the label alone."""
    if not any(names[1:]):
        return [" ".join(names[0])] if names[0] else []
    captions: list[str] = []
    if sum(len(text) for texts in names for text in texts) > HEAD_CHARS:
        captions = list(dict.fromkeys(text for texts in names for text in texts[:-1]))
        names = [texts[-1:] for texts in names]
    head = BAR.join(" ".join(texts) for texts in names).strip()
    return [*captions, head, BAR.join([RULE] * len(names))]


def overlapping(cells: Sequence[Cell]) -> list[tuple[float, float, int]]:
    """(left, right, number) of groups of cells that overlap, from left to right."""
    found: list[tuple[float, float, int]] = []
    for cell in sorted(cells, key=lambda cell: cell.left):
        if found and cell.left < found[-1][1]:
            left, right, count = found[-1]
            found[-1] = (left, max(right, cell.right), count + 1)
        else:
            found.append((cell.left, cell.right, 1))
    return found
