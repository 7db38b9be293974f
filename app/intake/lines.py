"""A text as lines that are weighed: where it may be divided, and what stands where. Lines count from 0.

A line ends with a line feed; in a text without any, with a carriage return. Raises nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

CHARACTERS = 6
"""Characters that weigh 1 at least, whatever they are: data in one long word are text for no model."""
EARLIEST = 0.4
"""Share of a part's size from which it may end."""
FARTHEST = 16
"""Columns of indentation beyond which one is as good as another."""


class Lines:
    """See the module."""

    def __init__(self, text: str, weigh: Callable[[str], int]) -> None:
        self.weigh = weigh
        self.all = (text if "\n" in text else text.replace("\r", "\n")).split("\n")
        """Without what ends them."""
        self.data = text.encode("utf-8", "replace")
        """The text in UTF-8."""
        self.code = self.data if b"\n" in self.data else self.data.replace(b"\r", b"\n")
        """The same as a parser reads it: no grammar knows lines that end with a carriage return alone."""
        ends = [found.start() + 1 for found in re.finditer(b"\n" if b"\n" in self.data else b"\r", self.data)]
        self.starts = [0, *ends]
        """In bytes."""
        self.sums = [0, *accumulate(map(self.heavy, self.all))]

    def __len__(self) -> int:
        return len(self.all)

    def heavy(self, line: str) -> int:
        """What a line weighs: 0 only if it is blank."""
        said = line.strip()
        return max(self.weigh(said), -(-len(said) // CHARACTERS)) if said else 0

    def of_byte(self, offset: int) -> int:
        """The line of a byte."""
        return bisect_right(self.starts, offset) - 1

    def weight(self, first: int, last: int) -> int:
        """Of a run of lines."""
        return self.sums[last + 1] - self.sums[first]

    def trimmed(self, first: int, last: int) -> tuple[int, int]:
        """The run without blank lines at its ends; of nothing but those, first > last."""
        while first <= last and not self.all[first].strip():
            first += 1
        while last > first and not self.all[last].strip():
            last -= 1
        return first, last

    def slice(self, first: int, last: int) -> str:
        """The text of a run, without what ends its last line."""
        end = self.starts[last + 1] if last + 1 < len(self.starts) else len(self.data)
        return self.data[self.starts[first] : end].decode().rstrip("\r\n")

    def breaking(self, first: int, last: int, target: int) -> int:
        """The last line of a part that begins a run: at the best place before `target` is passed, of equal
        ones the latest; at least one line."""
        end = max(first, min(last, bisect_right(self.sums, self.sums[first] + target) - 2))
        least = self.sums[first] + EARLIEST * target
        best, found = -1.0, end
        for line in range(end, first - 1, -1):
            if self.sums[line + 1] < least:
                break
            if (worth := self.worth(line)) > best:
                best, found = worth, line
        return found

    def worth(self, line: int) -> float:
        """How well a part ends behind a line: before a blank one, or where the next is little indented."""
        if line + 1 >= len(self.all) or not self.all[line + 1].strip():
            return 2.0
        following = self.all[line + 1]
        return 1 - min(FARTHEST, len(following) - len(following.lstrip())) / FARTHEST

    def texts(self, first: int, last: int, limit: int) -> Iterator[str]:
        """A run's text; of one line that is too heavy, pieces of it."""
        text = self.slice(first, last)
        if first < last or self.weight(first, last) <= limit:
            yield text
            return
        yield from self.pieces(text, limit)

    def pieces(self, text: str, limit: int) -> Iterator[str]:
        """A long line in pieces, cut behind a sign or a space where there is one near."""
        room = max(1, len(text) * limit // max(1, self.heavy(text)))
        at = 0
        while at < len(text):
            end = self.near(text, at, at + room)
            while end - at > 1 and self.heavy(text[at:end]) > limit:
                end = self.near(text, at, at + (end - at) * 3 // 4)
            if text[at:end].strip():
                yield text[at:end]
            at = end

    def near(self, text: str, at: int, end: int) -> int:
        """A place at or shortly before `end`, behind what ends something."""
        if end >= len(text):
            return len(text)
        for place in range(end, max(at, end - 80), -1):
            if text[place - 1] in ";},) \t":
                return place
        return max(at + 1, end)
