"""A message as the policy reads it: folded to plain letters, cut into tokens, disguises undone.

Folding maps compatibility forms, accents and look-alike letters (Unicode TR39, the common part) to plain
ones and drops blank lines and what has no width; ages are written in one way. Everything is linear in the
text. Positions are token indices. Nothing here raises.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

TOKEN = re.compile(
    r"[^\W_]+|(?<=[^\W_])'[^\W_]+|[\n!-,./:-@\[-^{-~…。？！¿¡]|(?<![^\W_])-|[^\w\s!-~…。？！¿¡]+"
)
"""A word, what follows an apostrophe (`'s`), the end of a line, one mark, or a run of other signs. A hyphen
inside a word separates it and is no token."""
ENDS = frozenset(".?!\n…。？！¿¡")
"""Tokens that end a sentence."""
CUTS = ENDS | frozenset(";:[]{}<>|•#")
"""Tokens that end a clause."""
LOOKALIKES = {
    ord(letter): plain
    for plain, letters in {
        "a": "аαɑᴀ", "b": "вβʙ", "c": "сϲᴄ", "d": "ԁđᴅ", "e": "еεёᴇ", "g": "ɡɢ", "h": "һнʜ", "i": "іїιıɪ",
        "j": "ј", "k": "кκᴋ", "l": "ʟł", "m": "мᴍ", "n": "ɴп", "o": "оοøᴏ", "p": "рρᴘ", "q": "ԛ", "r": "гʀ",
        "s": "ѕ", "t": "тτᴛ", "u": "υц", "v": "ѵνᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уγ", "A": "АΑ", "B": "ВΒ",
        "C": "С", "E": "ЕΕ", "H": "НΗ", "I": "ІΙ", "J": "Ј", "K": "КΚ", "M": "М", "N": "Ν", "O": "ОΟØ",
        "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "УΥ", "Z": "Ζ", "ss": "ß", "ae": "æ", "th": "þð",
        "'": "’‘ʼ´＇`", '"': "“”„«»", "\n": "\r",
    }.items()
    for letter in letters
}  # fmt: skip
"""Letters of other alphabets that pass for Latin ones, and quotation marks."""
WIDTHLESS = frozenset({"Mn", "Me", "Cf"})
"""Categories of accents and of characters without width."""
WIDEST = 4
"""Letters that one character may become; a ligature of a whole sentence stays as it is."""

BLANK_LINES = re.compile(r"\n\s*\n")
AGE = re.compile(
    r"(\d(?<![^\W_]\d)\d?)(?:(st|nd|rd|th)[ -]?grader|[ -]?(?:yo|y/o|y\.o\.|(?:yrs?|years?)[ -]olds?))"
    r"(?![^\W_])",
    re.IGNORECASE,
)
"""`13yo`, `13 y/o`, `13-years-old`, and the grade of a school."""
SUM = re.compile(r"(\d(?<![^\W_]\d)\d+)[kK](?![^\W_])")
"""`200k`, as the lexicon has it: `200 grand`. Both begin with a digit, which the engine finds fast."""
STARTS_SCHOOL = 5
"""Years of age that a grade is added to."""

LEET = str.maketrans("013456789@$!|+", "oieashtbgasiit")
"""Digits and signs that stand in for letters."""
LEETED = re.compile(r"[a-zA-Z][0-9@$!|+]|[0-9@$!|+][a-zA-Z]")
DISGUISED = re.compile(rf"{LEETED.pattern}|([^\W\d_])\1\1")
WORD = re.compile(r"\S+")
THRICE = re.compile(r"(.)\1\1")
DRAWN_OUT = re.compile(r"([^\W\d_])\1\1+")
APART = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\-_*]{1,3}[^\W\d_](?![^\W_])){2,60}+")
"""Three or more single letters with one to three blanks or marks between them."""
APART_PERHAPS = re.compile(r"[ .\-_*][^\W\d_][ .\-_*]{1,3}[^\W\d_](?![^\W_])")
"""The second and third of them: sought first, for it is twice as fast."""
GAP = re.compile(r"[ .\-_*]{2,3}")
BETWEEN = str.maketrans(dict.fromkeys(" .-_*"))
FILLERS = frozenset(
    ["a", "i", "do", "to", "how", "is", "my", "me", "you", "can", "make", "of", "in", "on", "for", "and"]
)
SPELLED_SO = 2
"""Words written with digits from which short words are read so, too."""
LONGEST = 40
"""Characters of a word that may hide one of the lexicon."""
LONGEST_JOINED = 14
EDGES = ".,!?;:\"'()[]"


@dataclass(frozen=True)
class Text:
    """`tokens[i]` is `cased[i]` in lower case."""

    folded: str
    cased: tuple[str, ...]
    tokens: tuple[str, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Tokens that are words; `'s` and `'t` are separate."""
        return tuple(
            [token for token in self.tokens if token[0].isalnum() or (token[0] == "'" and len(token) > 1)]
        )


class _Folds(dict[int, str | None]):
    """The plain form of a character, found when it is first met; None drops it."""

    def __missing__(self, code: int) -> str | None:
        plain = self[code] = _plain(chr(code))
        return plain


def _plain(char: str) -> str | None:
    kind = unicodedata.category(char)
    if kind in {"So", "Sk", "Co", "Cn", "Cs"}:  # emoji, private and unassigned characters only separate words
        return " "
    if not unicodedata.decomposition(char) and not "\uac00" <= char < "\ud7a4":
        return None if kind in WIDTHLESS else char
    parts = unicodedata.normalize("NFKD", char)
    kept = "".join(
        LOOKALIKES.get(ord(part), part) for part in parts if unicodedata.category(part) not in WIDTHLESS
    )
    return (kept if len(kept) <= WIDEST else char) or None


_FOLDS = _Folds(LOOKALIKES | {code: chr(code) for code in range(128) if chr(code) not in "`\r"})


def fold(text: str) -> str:
    """The text in plain letters, case kept."""
    plain = BLANK_LINES.sub("\n", text.translate(_FOLDS))
    return SUM.sub(r"\1 grand", AGE.sub(_age, plain))


def _age(found: re.Match[str]) -> str:
    """An age as the lexicon has it."""
    return f"{int(found[1]) + (STARTS_SCHOOL if found[2] else 0)} year old"


def read(text: str) -> Text:
    """The tokens of a text."""
    return cut(fold(text))


def cut(folded: str) -> Text:
    """The tokens of a text that is folded already."""
    cased = tuple(TOKEN.findall(folded))
    return Text(folded, cased, tuple(map(str.lower, cased)))


def between_marks(tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The sentences, each with the mark that ends it; a line's end is one."""
    begun = 0
    for n, token in enumerate(tokens):
        if token in ENDS:
            yield tuple(tokens[begun : n + 1])
            begun = n + 1
    if begun < len(tokens):
        yield tuple(tokens[begun:])


def reveal(text: Text, known: Collection[str]) -> Text:
    """The text with disguised words written plainly: `k1ll`, `k i l l`, `kiiill`.

    A word is replaced only if its plain form is `known`, so that ordinary words stay as they are."""
    shown, rows = text.folded, dict[str, str]()

    def joined(found: re.Match[str]) -> str:
        if found[0] not in rows:
            rows[found[0]] = _joined(found[0], known)
        return rows[found[0]]

    if APART_PERHAPS.search(shown):
        shown = APART.sub(joined, shown)
    plain = {word: _plainly(word, known) for word in _suspects(shown)}
    disguised = [word for word, revealed in plain.items() if word != revealed]
    if len(disguised) >= SPELLED_SO:
        plain |= {word: _filler(word) for word, revealed in plain.items() if word == revealed}
    if disguised:
        shown = WORD.sub(lambda found: plain.get(found[0], found[0]), shown)
    return text if shown == text.folded else cut(shown)


def _filler(word: str) -> str:
    """A function word that is written with digits, as its neighbours are: `h0w d0 1`."""
    plain = word.lower().translate(LEET)
    return plain if plain in FILLERS else word


def _suspects(shown: str) -> list[str]:
    """The words that may be written with digits for letters, or with drawn-out letters."""
    words = set(shown.split())
    if THRICE.search(shown) and DRAWN_OUT.search(shown):
        return list(words)
    return [word for word in words if not word.strip(EDGES).isalpha()]


def _plainly(word: str, known: Collection[str]) -> str:
    """One word without digits for letters and drawn-out letters."""
    if len(word) > LONGEST or not DISGUISED.search(word):
        return word
    core = word.strip(EDGES)
    for plain in _candidates(core.lower()):
        if plain in known and plain.isalpha():
            return word.replace(core, plain)
    return word


def _candidates(core: str) -> Iterator[str]:
    """Plain forms that a word may stand for."""
    for plain in dict.fromkeys((core, core.translate(LEET))):
        if plain != core:
            yield plain
        if DRAWN_OUT.search(plain):
            yield DRAWN_OUT.sub(r"\1\1", plain)
            yield DRAWN_OUT.sub(r"\1", plain)


def _joined(row: str, known: Collection[str]) -> str:
    """Letters set apart as words: where wider gaps separate groups the groups are words, else known words are
    looked for, longest first."""
    parts = [part.translate(BETWEEN) for part in GAP.split(row)]
    if len(parts) > 1 and max(map(len, parts)) > 2:
        return " ".join(parts)
    letters, found, at = row.translate(BETWEEN).lower(), list[str](), 0
    while at < len(letters):
        sizes = range(min(LONGEST_JOINED, len(letters) - at), 1, -1)
        words = (letters[at : at + size] for size in sizes)
        word = next(
            (word for word in words if word in FILLERS or (len(word) > 2 and word in known)), letters[at]
        )
        found.append(word)
        at += len(word)
    return " ".join(found) if max(map(len, found)) > 2 else row
