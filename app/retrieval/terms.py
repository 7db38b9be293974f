"""Text to terms, the same way for passages and for queries.

NFKC and casefold; Unicode words with one Snowball stemmer a script; compounds (`10-K`, `AT&T`, `e-mail`,
`getUserName`, `FY2022`) written together and in parts; decimals and years kept; scripts that write no
spaces as character bigrams. Signs that make a name stay (`C++`, `C#`, `.NET`), and capitals that tell a name
from a common word (`US`, `IT`, `WHO`), each beside the plain word, in compounds too (`C/C++`, `US-based`). No
list of stop words: BM25's IDF knows them. A term is 64 bits of its BLAKE2b hash: postings are plain numbers.

`encode_terms` writes a passage's terms as the record keeps them, so that loading an index analyses nothing.
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

from app.retrieval.vocabulary import count
from app.text.sanitise import one_line, quote
from app.text.tokens import inner

VERSION = 4
"""Kept with the postings: after a change here, documents are analysed anew from their chunks."""

MAGIC = b"IT"
HEADER = struct.Struct("<2sHIIII")
"""MAGIC, the version of the analysis, the length of the passage in terms, then of its text (`Shown`)."""
TERM_BYTES, COUNT_BYTES = 8, 2
MAX_COUNT = np.iinfo(np.uint16).max

LONGEST = 64
"""Characters of a word that count; what is longer is not a word but data."""

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
"""A name's dot inside of a compound: `ASP.NET`, but neither `a.b` nor `Foo.Bar`."""
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
JOINT = re.compile(rf"[{JOINTS}]|(?<!\d)\.|\.(?!\d)")
INNER = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
ACCENTS = re.compile("[\u0300-\u036f]")

CAPITALS = ("AIDS", "IT", "US", "WHO")
"""Another, common word in small letters. No more: capitals are often mere emphasis (`OR`, `10 AM`)."""
CAPITAL = re.compile(rf"(?<!\w)(?:{'|'.join(CAPITALS)})(?!\w)")
HYPHENS = re.compile(f"[{JOINTS.replace('_', '')}]")
"""What joins a name to others. Not `_`: constants (`TRUST_US`) are written in capitals whatever they mean."""
CAPS = re.compile(r"[A-Z]{2,}")
LONG, MANY = 5, 6
"""Letters that few acronyms have, and words that few lines of mere acronyms have (`US EPA CO2`)."""

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
"""First and last code point of a script, and the stemmer its words get; other scripts get none."""


class Stemmers(threading.local):
    """One set a thread: Snowball's objects have inner state."""

    def __init__(self) -> None:
        self.by_name = {name: Stemmer(name) for _, _, name in STEMMERS}


stemmers = Stemmers()


def terms(text: str) -> list[int]:
    """Hashes of the terms of a text in order, repeats included."""
    found: list[int] = []
    for word in words(calmed(unicodedata.normalize("NFKC", text))):
        found += word_terms(word[:LONGEST])
    return found


def calmed(text: str) -> str:
    """The text with its shouted lines in small letters: where all is in capitals, they mean nothing."""
    if not CAPITAL.search(text):
        return text
    return "\n".join(line.lower() if shouted(line) else line for line in text.split("\n"))


def shouted(line: str) -> bool:
    """True if a line without small letters has several words, and they cannot all be acronyms."""
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
    """A word's terms, each once."""
    return tuple(dict.fromkeys(map(hashed, (*map(stem, forms(word)), *names(word)))))


def names(word: str) -> list[str]:
    """What it and its parts are called besides: with a sign, or in capitals, as no stem is written."""
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
    """The word itself; a compound written together, its parts, and their parts. Without its signs."""
    if RUN.match(word):
        return [word[at : at + 2] for at in range(len(word) - 1)] or [word]
    parts = [part for part in JOINT.split(SIGN.sub("", word)) if part]
    if not parts:
        return []
    return ["".join(parts), *pieces(parts), *(parts[-1:] if SIGN.search(word, 1) else [])]


def pieces(parts: Sequence[str]) -> list[str]:
    """The parts, and theirs. A single letter beside a joint ("l'eau", "10-K") says little alone, unless it
    has a sign (`C/C++`); a single digit says much."""
    inner = [piece for part in parts for piece in INNER.split(part)]
    return [piece for piece in (*parts, *inner) if len(piece) > 1 or piece.isdigit()]


def stem(form: str) -> str:
    """Casefolded, Latin accents off, stemmed by its script. Words with digits stay as they are."""
    folded = form.casefold()
    if folded.isascii() and not folded.isalpha():
        return folded
    name = next((name for first, last, name in STEMMERS if first <= ord(folded[0]) <= last), "")
    if name == "english" and not folded.isascii():
        folded = ACCENTS.sub("", unicodedata.normalize("NFKD", folded))
    return stemmers.by_name[name].stemWord(folded) if name else folded


def hashed(term: str) -> int:
    """64 bits that are the same on every machine and run."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def encode_terms(words: str, text: str | None = None) -> bytes:
    """The terms of one passage as they are stored, of all the words that it is found by;
    `text`: what is shown of it, where that is less. CPU: about 0.7 ms for 300 words."""
    text = words if text is None else text
    bag = Counter(terms(words))
    ordered = sorted(bag)
    shown = (inner(count, show(text)) for show in (quote, one_line))
    header = HEADER.pack(MAGIC, VERSION, bag.total(), len(text), *shown)
    counts = [min(bag[term], MAX_COUNT) for term in ordered]
    return header + np.array(ordered, dtype="<u8").tobytes() + np.array(counts, dtype="<u2").tobytes()


def is_current(packed: bytes | None) -> bool:
    """True if `encode_terms` of this version of the analysis wrote it."""
    if (
        packed is None
        or len(packed) < HEADER.size
        or (len(packed) - HEADER.size) % (TERM_BYTES + COUNT_BYTES)
    ):
        return False
    magic, version, *_ = HEADER.unpack_from(packed)
    return bool(magic == MAGIC and version == VERSION)
