"""A row of a store as a section shows it: the one engine of all projects.

A row is its columns by name, each a text, a list, a mapping or None; JSON may come as text. Broken JSON and
empty columns give nothing. Time is bounded: columns are cut before anything else is done to them. Nothing
here raises. Source: seed 001 (2, 3), seed 002 (Data Transformations), CONTRACT §4.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from app.projects import escape
from app.projects.section import NAME_CUT, Form, Kind, Line

JSON_MOST = 100_000
"""Characters of JSON that are read; more are nobody's tags."""
ITEMS_MOST = 200
"""Items of a list that are looked at: more than NAME_CUT characters hold."""
STEPS = 6
"""Halvings in search of the longest cut that is allowed; each counts an entry."""

Row = Mapping[str, object]


def entry(form: Form, row: Row, share: float = 1.0) -> str:
    """The row's lines, without a line break at either end; "" where nothing is to be shown. `share`: of
    each cut."""
    return "\n".join(line for each in form if (line := written(each, row, int(each.cut * share))))


def fitted(form: Form, row: Row, most: int, count: Callable[[str], int]) -> str:
    """The same in at most `most` tokens, all cuts shortened alike where it takes more; 0: as it is."""

    def fits(text: str) -> bool:
        # A token is a byte at least: what is short enough is not even counted.
        return len(text.encode(errors="replace")) <= most or count(text) <= most

    text = entry(form, row)
    if not most or fits(text):
        return text
    least, share = 0.0, 1.0
    for _ in range(STEPS):
        middle = (least + share) / 2
        least, share = (middle, share) if fits(entry(form, row, middle)) else (least, middle)
    return entry(form, row, least)


def written(line: Line, row: Row, cut: int) -> str:
    """One line, or several of prose or code; "" where the column holds nothing."""
    if line.kind is Kind.CODE:
        return block(row.get(line.column), row, cut)
    shown = told(line.kind, row.get(line.column), cut)
    if not shown and line.instead:
        other = Kind.NAME if line.kind is Kind.SYMBOL else line.kind
        shown = told(other, row.get(line.instead), cut)
    return line.shown.format(shown) if shown else ""


def told(kind: Kind, value: object, cut: int) -> str:
    """A column that is no code; "" where it holds nothing."""
    if kind is Kind.NAMES:
        return names(value, cut)
    if kind is Kind.SYMBOL:
        return symbol(value, cut)
    if kind is Kind.PROSE:
        return escape.prose(value, cut) if isinstance(value, str) else ""
    return text(value, cut)


def text(value: object, cut: int) -> str:
    """A text on one line."""
    return escape.name(value, cut) if isinstance(value, str) and not value[: cut + 1].isspace() else ""


def block(value: object, row: Row, cut: int) -> str:
    """Code in its fence."""
    if not isinstance(value, str) or not value[: cut + 1].strip():
        return ""
    return escape.code(value, cut, text(row.get("language"), min(cut, NAME_CUT)))


def names(value: object, cut: int) -> str:
    """A list's items, joined by commas."""
    found = parsed(value)
    items = found if isinstance(found, list | tuple) else ()
    return escape.cut(", ".join(listed(islice(items, ITEMS_MOST), cut)), cut)


def listed(items: Iterator[object], cut: int) -> Iterator[str]:
    """Those that are texts or numbers, each on one line; of an object its name."""
    for each in items:
        item = each.get("name") if isinstance(each, Mapping) else each
        if isinstance(item, str | int | float) and not isinstance(item, bool) and str(item).strip():
            yield escape.name(str(item), cut)


def symbol(value: object, cut: int) -> str:
    """The function, or else the class, that code metadata names."""
    found = parsed(value)
    told = found if isinstance(found, Mapping) else {}
    return text(told.get("function_name"), cut) or text(told.get("class_name"), cut)


def parsed(value: object) -> object:
    """JSON that came as text, written once or twice over; None: it is broken. Other values as they are."""
    for _ in range(2):
        if not isinstance(value, str):
            return value
        if len(value) > JSON_MOST:
            return None
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value
