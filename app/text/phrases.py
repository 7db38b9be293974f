"""Finds the phrases of a table in a text: whole words, whatever their case, longest first.

`word*` stands for every word that begins so. A text is read once, word by word, so the time grows with its
length alone, whoever wrote it. Nothing here raises.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

LONGEST = 32_000
"""Characters looked at: the longest message there is."""
SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that put no space between words: each character is a word of its own."""
# No class holds the mark that opens the next, so a scan that fails is not begun again inside.
WORD = re.compile(rf"[^\W{SINGLE}]+(?:'[^\W{SINGLE}]+)*|[{SINGLE}]|[.,;:!?\n]")
ENDS = frozenset(".,;:!?\n")
"""Marks that end a clause; they are words here, so that no phrase reaches across one."""
APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})


@dataclass(slots=True)
class Node:
    """A place in the tree of phrases."""

    next: dict[str, "Node"]
    names: tuple[str, ...] = ()
    """What the phrase that ends here is called."""


@dataclass(frozen=True, slots=True)
class Found:
    """A phrase of the table: its names, and the words `start:end` that it stands at."""

    names: tuple[str, ...]
    start: int
    end: int


Ways: TypeAlias = dict[str, tuple[Node, ...]]


def words(text: str) -> list[str]:
    """Its words and the marks between clauses, folded: NFKC, without case, straight apostrophes."""
    plain = unicodedata.normalize("NFKC", text[:LONGEST]).casefold().translate(APOSTROPHES)
    return WORD.findall(plain[:LONGEST])  # again: one ligature may stand for eighteen letters


class Phrases:
    """A table of phrases by name, separated by `|`. The name "" is for phrases that mean nothing: what stands
    in them is not found."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._root = Node({})
        self._prefixes: tuple[int, ...] = ()
        lengths = set()
        for name, phrases in table.items():
            for phrase in phrases.split("|"):
                parts = _written(phrase)
                lengths |= {len(part) - 1 for part in parts if part.endswith("*")}
                self._add(parts, name)
        self._prefixes = tuple(sorted(lengths))

    def found(self, text: str) -> Iterator[Found]:
        """Every phrase in reading order, none inside another."""
        return self.among(words(text))

    def among(self, said: Sequence[str]) -> Iterator[Found]:
        """The same, in `words` of a text."""
        first: Ways = {}
        at = 0
        while at < len(said):
            word = said[at]
            if word not in first:
                first[word] = tuple(self._steps(self._root, word))
            end = at + 1
            if first[word]:
                best, names = max(self._longest(node, said, end) for node in first[word])
                if best:
                    yield Found(names, at, best)
                    end = best
            at = end

    def names(self, text: str) -> set[str]:
        """The names of all phrases in a text."""
        return {name for found in self.found(text) for name in found.names if name}

    def _add(self, parts: Sequence[str], name: str) -> None:
        """Grow the tree by a phrase."""
        node = self._root
        for part in parts:
            node = node.next.setdefault(part, Node({}))
        if parts and name not in node.names:
            node.names = (*node.names, name)

    def _steps(self, node: Node, word: str) -> Iterator[Node]:
        """Where a word leads: as it is, and as the beginning it has."""
        keys = (word, *(word[:length] + "*" for length in self._prefixes if length <= len(word)))
        return (node.next[key] for key in keys if key in node.next)

    def _longest(self, node: Node, said: Sequence[str], at: int) -> tuple[int, tuple[str, ...]]:
        """(end, names) of the longest phrase from here; (0, ()) if none ends."""
        best: tuple[int, tuple[str, ...]] = (at, node.names) if node.names else (0, ())
        if at < len(said) and node.next:
            best = max([best, *(self._longest(step, said, at + 1) for step in self._steps(node, said[at]))])
        return best


def _written(phrase: str) -> list[str]:
    """A phrase of a table as words, its stars kept."""
    return [part for piece in phrase.split() for part in _starred(piece)]


def _starred(piece: str) -> list[str]:
    """`summari*` is one word; `can't` and `tl;dr` are read as in a text."""
    found = words(piece.removesuffix("*"))
    return [*found[:-1], found[-1] + "*"] if piece.endswith("*") and found else found
