"""A text as its words: folded (compatibility forms, accents, look-alike letters, case), cut at marks.

One pass by character, one by token; no normalisation of the text as a whole, whose reordering of combining
marks is quadratic. Positions are token indices. Unicode as this Python has it. Nothing here raises.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import compress

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

ENDS = frozenset(".?!\n…。？！¿¡")
"""Marks that end a sentence."""

CUTS = ENDS | frozenset(";:[]{}<>|•#")
"""Marks that end a clause: what stands behind them stands for itself."""

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


_FOLDS = _Folds(_LOOKALIKE | {code: chr(code) for code in range(128)} | {ord("`"): "'", ord("\r"): "\n"})


@dataclass(frozen=True, slots=True)
class Text:
    """A text's tokens; `cased[i]` and `tokens[i]` are the same word, as written and without case."""

    cased: tuple[str, ...]
    tokens: tuple[str, ...]
    """Words and marks in order, lower case."""

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
    return text if text.isascii() and "`" not in text else text.translate(_FOLDS)


def read(text: str) -> Text:
    """Its tokens."""
    return cut(fold(text))


def cut(folded: str) -> Text:
    """The tokens of a text that is folded already."""
    cased = (PLAIN if folded.isascii() else TOKEN).findall(folded)
    lower = _APART.join(cased).lower().split(_APART) if cased else []
    return Text(tuple(cased), tuple(lower))
