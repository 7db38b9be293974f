"""A text as its words: folded (compatibility forms, accents, look-alike letters, case), cut at marks.

One pass by character, one by token; no normalisation of the text as a whole, whose reordering of combining
marks is quadratic. Positions are token indices. Unicode as this Python has it. Nothing here raises.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from operator import ne

from app.vantage import kinds
from app.vantage.kinds import Entry

TOKEN = re.compile(
    r"[^\W_]+|(?<=[^\W_])'[^\W_]+|[\n!-,./:-@\[-^{-~…。？！¿¡]|(?<![^\W_])-|[^\w\s!-~…。？！¿¡]+"
)
"""A word, what follows an apostrophe (`'s`, `'t`), a line's end, one mark, or a run of others.
A hyphen inside a word parts it and is no token. Classes disjoint: linear."""
PLAIN = re.compile(
    r" ?([a-zA-Z0-9]+|[\n!-&(-,./:-@\[-^{-~]|'(?:(?<=[a-zA-Z0-9]')[a-zA-Z0-9]+)?"
    r"|(?<![a-zA-Z0-9])-|[\x00-\x08\x0e-\x1b\x7f]+)"
)
"""The same of a text in ASCII, in half the time: classes are bitmaps, a blank is passed with its word."""
JOINING = re.compile(r"-(?<=[a-zA-Z0-9]-)")
"""A hyphen inside or behind a word."""
INNER = re.compile(r"'(?<=[a-zA-Z0-9]')(?=[a-zA-Z0-9])")
"""An apostrophe inside a word."""
STANDS_IN = "\x00"
"""For a line's end, and for INNER, while a text is cut at blanks."""
BEYOND = re.compile(r"[…。？！¿¡]|[^\w\x00-\x7f…。？！¿¡]+")
"""One mark that is not ASCII, or a run of others."""
JOINS, WITHIN = re.compile(r"-(?<=[^\W_]-)"), re.compile(r"'(?<=[^\W_]')(?=[^\W_])")
"""JOINING and INNER of letters that are not ASCII."""
SEVERAL = 4
"""Marks that are looked for one by one."""
_ASCII = bytes(range(128))
_PLAIN = bytes(range(32, 127)) + b"\n"
BRIEF = 400
"""Characters: a shorter text is cut by the pattern in less time."""
_BLANKS = "\t\x0b\x0c\r\x1c\x1d\x1e\x1f_"
_MARKS = tuple((mark, f" {mark} ") for mark in '!"#$%&()*+,./:;<=>?@[\\]^{|}~')
ENDS = frozenset(".?!\n…。？！¿¡")
"""Marks that end a sentence."""
CUTS = ENDS | frozenset(";:[]{}<>|•#")
"""Marks that end a clause: what stands behind them stands for itself."""
CAPITALS = 1000
"""Tokens whose capitals are looked at: whoever shouts or names does it by then."""
_APART = "\x1f"
_LOOKALIKE = {
    ord(letter): plain
    for plain, letters in {
        "a": "аαɑ", "b": "вβʙ", "c": "сϲ", "d": "ԁđ", "e": "еεё", "g": "ɡɢ", "h": "һнʜ", "i": "іїιıɪ",
        "j": "ј", "k": "кκ", "l": "ʟł", "m": "м", "n": "ɴп", "o": "оοø", "p": "рρ", "q": "ԛ", "r": "гʀ",
        "s": "ѕ", "t": "тτ", "u": "υц", "v": "ѵν", "w": "ԝω", "x": "хχ", "y": "уγ", "A": "АΑ", "B": "ВΒ",
        "C": "С", "E": "ЕΕ", "H": "НΗ", "I": "ІΙ", "J": "Ј", "K": "КΚ", "M": "М", "N": "Ν", "O": "ОΟØ",
        "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "УΥ", "Z": "Ζ", "ss": "ß", "ae": "æ", "th": "þð",
        "'": "’‘ʼ´＇", '"': "“”„«»",
    }.items()
    for letter in letters
}  # fmt: skip
"""Letters of other alphabets that pass for Latin ones (Unicode TR39, the common part), and quotes."""

WIDEST = 4
"""Letters that one character may stand for; a ligature of a sentence stays as it is (time, not sense)."""

_SIGNS = frozenset({"So", "Sk", "Co", "Cn", "Cs"})
"""Categories that only part words: emoji, private and unassigned characters."""

_SILENT = frozenset({"Mn", "Me", "Cf"})
"""Categories that are dropped: marks set on a letter, and what has no width."""

FAR, TAGS = 0x40000, range(0xE0000, 0xE0200)
"""From here on nothing is assigned but the tags, and private characters."""


class _Folds(dict[int, str | None]):
    """A character's plain form; found when first met. Kept for the planes that have characters."""

    def __missing__(self, code: int) -> str | None:
        """None drops it."""
        if code >= FAR and code not in TAGS:
            return " "
        plain = self[code] = _plain(chr(code))
        return plain


def _plain(char: str) -> str | None:
    kind = unicodedata.category(char)
    if kind in _SIGNS:
        return " "
    if not unicodedata.decomposition(char) and not "\uac00" <= char < "\ud7a4":
        # It stands for itself; but Hangul, which is taken apart by rule. A look-alike is in the table.
        return None if kind in _SILENT else char
    parts = unicodedata.normalize("NFKD", char)
    kept = "".join(
        _LOOKALIKE.get(ord(part), part) for part in parts if unicodedata.category(part) not in _SILENT
    )
    return (kept if len(kept) <= WIDEST else char) or None


SOME = 16
"""Characters that are not ASCII and differ: so few are replaced one by one."""
_FOLDS = _Folds(_LOOKALIKE | {code: chr(code) for code in range(128)} | {ord("`"): "'", ord("\r"): "\n"})


@dataclass(frozen=True)
class Text:
    """A text's tokens; `cased[i]` and `tokens[i]` are the same word, as written and without case."""

    cased: tuple[str, ...]
    tokens: tuple[str, ...]
    """Words and marks in order, lower case."""
    folded: str = field(default="", compare=False, repr=False)
    """What was cut."""

    @cached_property
    def kinds(self) -> bytes:
        """A byte a token (app/vantage/kinds.py)."""
        return kinds.told(self.tokens, self.entries)

    @cached_property
    def entries(self) -> list[Entry]:
        """What is kept of each token."""
        return kinds.entries(self.tokens)

    @cached_property
    def written(self) -> tuple[int, ...]:
        """Where a word of the first CAPITALS is not in lower case: a pass in C spares most words a look."""
        return tuple(compress(range(CAPITALS), map(ne, self.cased, self.tokens)))

    @cached_property
    def drawn(self) -> bool:
        """Whether a letter of a-z stands three times in a row."""
        return kinds.drawn(self.folded)

    @property
    def words(self) -> tuple[str, ...]:
        """Without the marks; `'s` and `'t` stand apart."""
        return tuple([token for token in self.tokens if token.isalnum() or token[0] == "'"])

    @property
    def sentences(self) -> tuple[tuple[str, ...], ...]:
        """The tokens between marks that end a sentence, those marks included; none is empty."""
        tokens = self.tokens
        found: list[tuple[str, ...]] = []
        begun = 0
        for index in compress(range(len(tokens)), map(ENDS.__contains__, tokens)):
            if index > begun:
                found.append(tokens[begun : index + 1])
            begun = index + 1
        if begun < len(tokens):
            found.append(tokens[begun:])
        return tuple(found)


def fold(text: str) -> str:
    """Its plain letters, case kept."""
    if text.isascii():
        return text if "`" not in text else text.translate(_FOLDS)
    few = 16 * (len(text.encode("utf-8", "surrogatepass")) - len(text)) < len(text)
    odd = set(beyond(text)) if few else set[str]()
    if not 0 < len(odd) <= SOME or not all(map(_flattened, odd)):
        return text.translate(_FOLDS)
    # A table of all characters costs more than a pass for each of the few that are not ASCII.
    folded = text.replace("`", "'").replace("\r", "\n")
    for char in odd:
        folded = folded.replace(char, _FOLDS[ord(char)] or "")
    return folded


def _flattened(char: str) -> bool:
    """Whether it is its own plain form, or has one in ASCII, which no other character's pass looks for."""
    plain = _FOLDS[ord(char)] or ""
    return plain == char or plain.isascii()


def beyond(text: str, plain: bytes = _ASCII, halves: str = "surrogatepass") -> str:
    """Its characters that are not ASCII, or not these of it, in order. `halves`: how surrogates are taken."""
    return text.encode("utf-8", halves).translate(None, plain).decode("utf-8", halves)


def read(text: str) -> Text:
    """Its tokens."""
    return cut(fold(text))


def cut(folded: str) -> Text:
    """The tokens of a text that is folded already."""
    flat = _flat(folded) if len(folded) > BRIEF else ""
    if flat:
        return _parted(folded, flat)
    cased = (PLAIN if folded.isascii() else TOKEN).findall(folded)
    lower = _APART.join(cased).lower().split(_APART) if cased else []
    return Text(tuple(cased), tuple(lower), folded)


def _flat(folded: str) -> str:
    """It, with blanks for all that is one; "" where it holds what a pattern alone can cut."""
    flat = folded
    for blank in _BLANKS:
        if blank in flat:
            flat = flat.replace(blank, " ")
    # All but plain ASCII has to be printable, and little.
    odd = beyond(flat, _PLAIN)
    return flat if not odd or (odd.isprintable() and len(odd) < len(flat) // 16) else ""


def _apart(flat: str) -> str:
    """With blanks around each mark, or run of marks, that is not ASCII."""
    marks = {sign for sign in beyond(flat) if not sign.isalnum()}
    if len(marks) > SEVERAL or any(one + other in flat for one in marks for other in marks):
        return BEYOND.sub(r" \g<0> ", flat)
    for mark in marks:
        flat = flat.replace(mark, f" {mark} ")
    return flat


def _parted(folded: str, flat: str) -> Text:
    """The same by blanks set around each mark, at a third of what a pattern takes: `flat` is printable but
    for the ends of lines, has little that is not ASCII, and no `_`."""
    plain = flat.isascii()
    if not plain:
        flat = _apart(flat)
    if "-" in flat:
        flat = (JOINING if plain else JOINS).sub(" ", flat).replace("-", " - ")
    if "'" in flat:
        inner = INNER if plain else WITHIN
        flat = inner.sub(f" {STANDS_IN}", flat).replace("'", " ' ").replace(STANDS_IN, "'")
    for mark, apart in _MARKS:
        if mark in flat:
            flat = flat.replace(mark, apart)
    if "\n" not in flat:
        return Text(tuple(flat.split()), tuple(flat.lower().split()), folded)
    flat = flat.replace("\n", f" {STANDS_IN} ")
    return Text(*_lined(flat.split(), flat.lower().split(), flat.count(STANDS_IN)), folded)


def _lined(cased: list[str], lower: list[str], count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """With the ends of so many lines that something stands in for; few are sought one by one."""
    if count > len(cased) // 4:
        cased, lower = (["\n" if token == STANDS_IN else token for token in row] for row in (cased, lower))
        return tuple(cased), tuple(lower)
    at = -1
    for _ in range(count):
        at = cased.index(STANDS_IN, at + 1)
        cased[at] = lower[at] = "\n"
    return tuple(cased), tuple(lower)
