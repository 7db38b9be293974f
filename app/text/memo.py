"""Strings that remember what was computed from them: hash, quotation, tokens.

The same passages are packed for many questions, so their costs are paid once; for everyone else a `Text` is a
plain string.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

Result = TypeVar("Result")


class Text(str):
    """A string with a memory. Equal to, and hashed like, the plain one."""

    __slots__ = ("memo",)

    memo: dict[Hashable, Any]
    """What was worked out, by what it is; for as long as somebody holds the text."""

    def __new__(cls, text: str) -> "Text":
        """With nothing remembered yet."""
        made = super().__new__(cls, text)
        made.memo = {}
        return made


def kept(text: str) -> Text:
    """The same one, if it remembers already."""
    return text if isinstance(text, Text) else Text(text)


def once(work: Callable[[str], Result]) -> Callable[[str], Result]:
    """`work` on a text, done once for each `Text`; on a plain string as ever."""

    @wraps(work)
    def known(text: str) -> Result:
        if not isinstance(text, Text):
            return work(text)
        try:
            found: Result = text.memo[work]
        except KeyError:
            found = text.memo[work] = work(text)
        return found

    return known


def remembered(text: str, name: Hashable, work: Callable[[], Result]) -> Result:
    """What `work` gives, kept with the text under `name` if it is one that remembers."""
    if not isinstance(text, Text):
        return work()
    if name not in text.memo:
        text.memo[name] = work()
    found: Result = text.memo[name]
    return found


def known(text: str, name: Hashable) -> Any:  # noqa: ANN401 - whatever was worked out
    """What is kept with the text under `name`; None: nothing is."""
    return text.memo.get(name) if isinstance(text, Text) else None
