"""In which tables each word of a text stands: a byte a word, looked up once for all who count words.

Whoever counts words of a table keeps a `Table` of it; the words of all tables together are indexed when the
first text is read. A word that no table has is told by its look. What else is `kept` of words is found by the
same look-up. Linear; nothing here raises but `_Index`, should more than 256 sets of tables ever be told apart
(a test builds it).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as Words
from itertools import compress, repeat
from operator import itemgetter, not_
from string import ascii_lowercase, punctuation
from typing import Any, TypeAlias

ALNUM, APOSTROPHE, PART, DECIMAL, LETTER = 1, 2, 4, 8, 16
"""Letters and digits alone; begins with an apostrophe, and goes on (`'s`); a number; one letter."""
UNKNOWN = 0
"""The byte of an ordinary word that no table has."""
SEEN = ("word", "…", "'", "'x", "1", "é")
"""All the looks that a word of no table may have."""
PARTS, MANY = ("'s", "'t", "'m", "'re", "'ve", "'ll", "'d"), 2_100
"""Told by their look as well, but once for all: what follows an apostrophe, numbers up to a year."""
_OTHERS = bytes(0 if chr(code) in ascii_lowercase else 255 for code in range(256))


Entry: TypeAlias = tuple[Any, ...]
"""Of a word: its byte, and what is kept of it."""
kept: dict[str, tuple[Any, ...]] = {}
"""By word; who fills it keeps a `Table` of the words as well."""


class Table:
    """Words, and which bytes stand for one of them."""

    every: tuple["Table", ...] = ()
    """All of them: who adds one has the index made anew."""

    def __init__(self, words: Words[str] = frozenset(), look: int = 0) -> None:
        """`look`: and all words of one of these looks."""
        self.words, self.look = words, look
        self._index: _Index | None = None
        self._picks = self._own = self._others = b""
        Table.every = (*Table.every, self)

    def own(self) -> bytes:
        """The bytes of its words."""
        if self._index is not indexed():
            self._renewed(indexed())
        return self._own

    def marks(self, kinds: bytes) -> bytes:
        """1 where a word of it stands, else 0."""
        if self._index is not indexed():
            self._renewed(indexed())
        return kinds.translate(self._picks)

    def without(self, kinds: bytes) -> bytes:
        """The bytes of all other words."""
        if self._index is not indexed():
            self._renewed(indexed())
        return kinds.translate(None, self._own)

    def only(self, kinds: bytes) -> bytes:
        """The bytes of its words."""
        if self._index is not indexed():
            self._renewed(indexed())
        return kinds.translate(None, self._others)

    def count(self, kinds: bytes) -> int:
        """How many words of it there are."""
        return self.marks(kinds).count(1)

    def places(self, kinds: bytes) -> Iterator[int]:
        """Where they stand."""
        return compress(range(len(kinds)), self.marks(kinds))

    def _renewed(self, index: "_Index") -> None:
        """With the bytes of today's index."""
        held = [bool(self.look & look) or self in own for look, own in index.sets]
        self._picks = bytes(held).ljust(256, b"\0")
        self._own = bytes(compress(range(256), held))
        self._others = bytes(compress(range(256), map(not_, held)))
        self._index = index


class Shape:
    """A pattern of words, looked for among their bytes in C; compiled when it is first asked for."""

    def __init__(self, text: str, own: Mapping[str, Table], others: Mapping[str, Sequence[Table]]) -> None:
        """`text`: a pattern that begins with a capital of `own`; a capital stands for a word of its table, or
        of none of its tables."""
        self.text, self.own, self.others = text, own, others
        self._index: _Index | None = None
        self._patterns: list[tuple[int, re.Pattern[bytes]]] = []

    def found(self, kinds: bytes) -> Iterator[re.Match[bytes]]:
        """Where it is met, in no order."""
        if self._index is not indexed():
            self._renewed()
        for head, pattern in self._patterns:
            if head in kinds:
                yield from pattern.finditer(kinds)

    def _renewed(self) -> None:
        """With the bytes of today's index: a pattern for each that it may begin with, for one byte is looked
        for in a tenth of the time that a class of bytes takes."""
        behind = re.sub(rb"[A-Z]", self._class, self.text[1:].encode())
        heads = self.own[self.text[0]].own()
        self._patterns = [(head, re.compile(re.escape(bytes([head])) + behind)) for head in heads]
        self._index = indexed()

    def _class(self, found: re.Match[bytes]) -> bytes:
        letter = found[0].decode()
        if letter in self.own:
            return b"[%b]" % re.escape(self.own[letter].own())
        return b"[^%b]" % re.escape(b"".join(table.own() for table in self.others[letter]))


class _Index:
    """Each word's byte, which stands for a look and a set of tables."""

    def __init__(self, tables: tuple[Table, ...]) -> None:
        self.tables = tables
        self.entries: dict[str, Entry] = {}
        self.looks: dict[int, int] = {}
        self.sets: list[tuple[int, frozenset[Table]]] = []
        made: dict[tuple[int, frozenset[Table]], int] = {}
        for word in SEEN:
            kind = (_look(word), frozenset[Table]())
            self.looks[kind[0]] = made.setdefault(kind, len(made))
        shared: dict[tuple[int, int], Entry] = {}
        for word, own in self._owners().items():
            code, more = made.setdefault((_look(word), own), len(made)), kept.get(word, ())
            # One entry for all words that have the same: what is often looked at lies together.
            self.entries[word] = shared.setdefault((code, id(more)), (code, *more))
        self.sets += made
        bytes([len(made) - 1])  # at most 256 of them

    def _owners(self) -> dict[str, frozenset[Table]]:
        """By word, the tables that have it; letters, marks and common numbers are words as well."""
        owners: dict[str, frozenset[Table]] = dict.fromkeys(
            (*ascii_lowercase, *punctuation, "\n", *PARTS, *map(str, range(MANY))), frozenset()
        )
        met: dict[tuple[frozenset[Table], Table], frozenset[Table]] = {}
        for table in self.tables:
            for word in table.words:
                own = owners.get(word, frozenset())
                owners[word] = met.setdefault((own, table), own | {table})
        return owners


_made: list[_Index] = []


def indexed() -> _Index:
    """Of all tables there are."""
    if not _made or _made[0].tables is not Table.every:
        _made[:] = [_Index(Table.every)]
    return _made[0]


def of(tokens: Sequence[str]) -> bytes:
    """A byte a word, in lower case."""
    return told(tokens, entries(tokens))


def entries(tokens: Sequence[str]) -> list[Entry]:
    """Of each word, in lower case; of one that no table has, UNKNOWN alone."""
    return list(map(indexed().entries.get, tokens, repeat(_NONE)))


def told(tokens: Sequence[str], known: Iterable[Entry]) -> bytes:
    """A byte a word, by its entry or its look."""
    index = indexed()
    found = bytes(map(_BYTE, known))
    if UNKNOWN not in found:
        return found
    others = list(unknown(tokens, found))
    written = "".join(others)
    if not written or (written.isascii() and written.isalpha()):
        return found
    told = bytearray(found)
    # Letters alone look like any other word.
    looks: dict[str, int] = {}
    for place, word in zip(compress(range(len(tokens)), found.translate(_UNKNOWN)), others, strict=True):
        if len(word) == 1 or not word.isalpha():
            if word not in looks:
                looks[word] = index.looks[_look(word)]
            told[place] = looks[word]
    return bytes(told)


def unknown(tokens: Iterable[str], kinds: bytes) -> Iterator[str]:
    """The ordinary words that no table has."""
    return compress(tokens, kinds.translate(_UNKNOWN))


_NONE, _BYTE = (UNKNOWN,), itemgetter(0)
_UNKNOWN = bytes(code == UNKNOWN for code in range(256))


def drawn(text: str) -> bool:
    """Whether one of a-z stands three times in a row, in either case."""
    written = text.encode("utf-8", "surrogatepass").lower()
    # Shifted against itself, a run of three leaves two zeros: a third of the time of a pattern.
    number = int.from_bytes(written)
    again = number ^ number >> 8
    if b"\0\0" not in again.to_bytes(len(written)):
        return False
    # The zeros of digits and blanks are set aside.
    return b"\0\0" in (again | int.from_bytes(written.translate(_OTHERS))).to_bytes(len(written))


def _look(word: str) -> int:
    """What a word looks like."""
    if word.isalnum():
        return ALNUM | (DECIMAL if word.isdecimal() else LETTER if len(word) == 1 and word.isalpha() else 0)
    if word[0] == "'":
        return APOSTROPHE | (PART if len(word) > 1 else 0)
    return 0
