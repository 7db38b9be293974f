"""Text to terms, the same way for passages and queries.

NFKC and casefold; Unicode words with one Snowball stemmer a script; compounds (`10-K`, `AT&T`, `getUserName`)
joined and in parts; decimals and years kept; scripts without spaces as character bigrams. Signs and capitals
that make a name (`C++`, `US`, `IT`) are kept beside the plain word. No stop words: BM25's IDF covers them. A
term is 64 bits of its BLAKE2b hash. `encode_terms` serialises a passage's terms for Postgres, so that loading
an index analyses nothing.
"""

import re
import struct
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from Stemmer import Stemmer

from app.text.sanitise import one_line, quote
from app.text.tokens import inner
from app.text.vocabulary import count

VERSION = 4
"""Stored with the terms: after a change here, texts are analysed again."""

MAGIC = b"IT"
HEADER = struct.Struct("<2sHIIII")
"""MAGIC, version of the analysis, length of the passage in terms, then of its text (`Shown`)."""
TERM_BYTES, COUNT_BYTES = 8, 2
MAX_COUNT = np.iinfo(np.uint16).max

WORD_CHARACTERS = 64
"""Most characters of a word; longer ones are data."""

# Python's \w leaves out combining marks; without them Hindi and pointed Arabic fall to pieces.
MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u200c\u200d"
SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
JOINTS = "-‐‑–'’&_/+"

RUN = re.compile(f"[{SPACELESS}]+")
BEFORE, AFTER = r"(?<![\w.)\]])\.(?=[^\W\d_])", r"\+\+|(?<=\b[A-Za-z])#(?![^\W\d_])"
"""Signs of a name. `a.b`, `f().b`, `...and` and `page#part` have none."""
WORD = re.compile(f"(?:{BEFORE})?[\\w{MARKS}]+(?:[{JOINTS}.][\\w{MARKS}]+)*(?:{AFTER})?")
SIGN = re.compile(r"^\.|(?:\+\+|#)$")
DOTTED = re.compile(r"(?<=\w)\.[A-Z]{2,}(?!\w)")
"""A name's dot within a compound: `ASP.NET`, but neither `a.b` nor `Foo.Bar`."""
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
JOINT = re.compile(rf"[{JOINTS}]|(?<!\d)\.|\.(?!\d)")
INNER = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
ACCENTS = re.compile("[\u0300-\u036f]")

CAPITALS = ("AIDS", "IT", "US", "WHO")
"""Different, common words in lower case. No more: capitals are often mere emphasis (`OR`, `10 AM`)."""
CAPITAL = re.compile(rf"(?<!\w)(?:{'|'.join(CAPITALS)})(?!\w)")
HYPHENS = re.compile(f"[{JOINTS.replace('_', '')}]")
"""Joins a name to others. Not `_`: constants (`TRUST_US`) are in capitals whatever they mean."""
CAPS = re.compile(r"[A-Z]{2,}")
LONG, MANY = 5, 6
"""More letters than most acronyms have, and more words than most lines of acronyms have (`US EPA CO2`)."""

STEMMERS = (
    (0x0000, 0x024F, "english"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
    (0x1E00, 0x1EFF, "english"),
)
"""First and last code point of a script, and its stemmer; other scripts have none."""


class Stemmers(threading.local):
    """One set per thread: Snowball's objects have inner state."""

    def __init__(self) -> None:
        self.by_name = {name: Stemmer(name) for _, _, name in STEMMERS}


stemmers = Stemmers()


def terms(text: str) -> list[int]:
    """Hashes of the terms of a text in order, repeats included."""
    found: list[int] = []
    for word in words(calmed(unicodedata.normalize("NFKC", text))):
        found += word_terms(word[:WORD_CHARACTERS])
    return found


def calmed(text: str) -> str:
    """Lines in all capitals become lower case: there, capitals carry no meaning."""
    if not CAPITAL.search(text):
        return text
    return "\n".join(line.lower() if shouted(line) else line for line in text.split("\n"))


def shouted(line: str) -> bool:
    """True if a line without lower case has several words that cannot all be acronyms."""
    if any(sign.islower() for sign in line):
        return False
    found = CAPS.findall(line)
    return len(found) >= MANY or (len(found) > 1 and max(map(len, found)) >= LONG)


def words(text: str) -> list[str]:
    """Words as written, compounds whole; a run of a script without spaces is one word."""
    spaced = text if text.isascii() else RUN.sub(r" \g<0> ", text)
    return WORD.findall(THOUSANDS.sub("", spaced))


@lru_cache(maxsize=1 << 16)
def word_terms(word: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(map(hashed, (*map(stem, forms(word)), *names(word)))))


def names(word: str) -> list[str]:
    """Extra terms of a name, with its sign or in capitals; no stem looks like them."""
    bare = SIGN.sub("", word)
    parts = [part for part in JOINT.split(bare) if part]
    signed = DOTTED.findall(bare)
    if parts and word.startswith("."):
        signed.append(f".{parts[0]}")
    if parts and (sign := SIGN.search(word, 1)):
        signed.append(f"{parts[-1]}{sign[0]}")
    plain = (part.replace(".", "") for part in HYPHENS.split(bare))
    return [*map(str.casefold, signed), *(part for part in plain if part in CAPITALS)]


def forms(word: str) -> list[str]:
    """The word; a compound joined, its parts, and their parts. Without signs."""
    if RUN.match(word):
        return [word[at : at + 2] for at in range(len(word) - 1)] or [word]
    parts = [part for part in JOINT.split(SIGN.sub("", word)) if part]
    if not parts:
        return []
    return ["".join(parts), *pieces(parts), *(parts[-1:] if SIGN.search(word, 1) else [])]


def pieces(parts: Sequence[str]) -> list[str]:
    """The parts, and their parts. A single letter beside a joint ("l'eau", "10-K") is dropped unless it has a
    sign (`C/C++`); a single digit is kept."""
    inner = [piece for part in parts for piece in INNER.split(part)]
    return [piece for piece in (*parts, *inner) if len(piece) > 1 or piece.isdigit()]


def stem(form: str) -> str:
    """Casefolded, without Latin accents, stemmed by its script. Words with digits are not stemmed."""
    folded = form.casefold()
    if folded.isascii() and not folded.isalpha():
        return folded
    name = next((name for first, last, name in STEMMERS if first <= ord(folded[0]) <= last), "")
    if name == "english" and not folded.isascii():
        folded = ACCENTS.sub("", unicodedata.normalize("NFKD", folded))
    return stemmers.by_name[name].stemWord(folded) if name else folded


def hashed(term: str) -> int:
    """64 bits, the same on every machine and run."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def encode_terms(words: str, text: str | None = None) -> bytes:
    """The stored form of one passage's terms. `words`: all its searchable text; `text`: the shown part, if
    that is less. About 0.7 ms of CPU for 300 words."""
    text = words if text is None else text
    bag = Counter(terms(words))
    ordered = sorted(bag)
    shown = (inner(count, show(text)) for show in (quote, one_line))
    header = HEADER.pack(MAGIC, VERSION, bag.total(), len(text), *shown)
    counts = [min(bag[term], MAX_COUNT) for term in ordered]
    return header + np.array(ordered, dtype="<u8").tobytes() + np.array(counts, dtype="<u2").tobytes()


def is_current(packed: bytes | None) -> bool:
    """True if written by this version of the analysis."""
    if (
        packed is None
        or len(packed) < HEADER.size
        or (len(packed) - HEADER.size) % (TERM_BYTES + COUNT_BYTES)
    ):
        return False
    magic, version, *_ = HEADER.unpack_from(packed)
    return bool(magic == MAGIC and version == VERSION)
