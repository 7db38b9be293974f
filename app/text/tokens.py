"""Token counts of a text's middle, which are stored when it is written."""

from collections.abc import Callable


def inner(count: Callable[[str], int], shown: str) -> int:
    """Tokens of the middle of a text (`cuts`); 0: it has none."""
    first, last = cuts(shown)
    return count(shown[first:last])


def cuts(text: str) -> tuple[int, int]:
    """The first and the last place between a letter and a blank, where o200k always ends a piece, so that the
    parts' tokens add up (`text/vocabulary.py`). Equal places if there are not two."""
    first, last = text.find(" "), text.rfind(" ")
    while first > 0 and not text[first - 1].isalpha():
        first = text.find(" ", first + 1)
    while last > 0 and not text[last - 1].isalpha():
        last = text.rfind(" ", 0, last)
    return (first, last) if first > 0 else (0, 0)
