"""Two logistic regressions over hashed words: how much a message reads like an attack on the prompt, and
like a request for help in harm.

Features are symbols hashed into buckets: words, neighbouring words, classes of words (`data/classes.txt`),
pairs of classes within a few words, and a class beside a word. Each counts once. The sum of int8 weights is
an integer, so that processors agree; it is divided by the root of the number of features, and the logistic
is rounded to four digits. Linear in the text. `training/train.py` makes the weights. Nothing here raises.
"""

import hashlib
import re
import struct
import zlib
from functools import lru_cache
from math import exp, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Symbols = NDArray[np.uint32]
Buckets = NDArray[np.intp]

DATA = Path(__file__).parent / "data"
BITS = 16
BUCKETS = 1 << BITS
HEADER = struct.Struct("<dd")
"""Scale and bias of a head, in front of its weights."""
TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[?!:\"]")
WINDOW = 6  # words from one class of a pair to the other
BESIDE = (-2, -1, 1, 2)  # where a word stands from the class that it is paired with
WORD, NEXT, CLASS, PAIR, BEFORE, AFTER = (np.uint32(n * 0x27D4EB2F & 0xFFFFFFFF) for n in range(1, 7))
LEFT, RIGHT, LAST = np.uint32(0x9E3779B1), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
VOWELS = frozenset("aeiou")


class Scores(NamedTuple):
    """Each in [0, 1], four digits."""

    attack: float
    risk: float


class Head(NamedTuple):
    """A regression: logistic(scale * sum of weights / sqrt(number of features) + bias)."""

    weights: NDArray[np.int8]
    scale: float
    bias: float

    def score(self, buckets: Buckets) -> float:
        """Of a message's buckets."""
        total = int(self.weights[buckets].sum(dtype=np.int64))
        value = self.scale * total / sqrt(max(1, len(buckets))) + self.bias
        return round(1 / (1 + exp(-max(-50.0, min(50.0, value)))), 4)


def score(folded: str) -> Scores:
    """Both scores of a text that `words.fold` has folded."""
    return Scores(*(head.score(seen) for head, seen in zip(heads(), features(folded), strict=True)))


def features(folded: str) -> tuple[Buckets, Buckets]:
    """What each head sees of a text: words and neighbours; for risk, classes too."""
    tokens = TOKEN.findall(folded.lower())
    ends = np.array([0, *map(symbol, tokens), 0], np.uint32)
    lexical = [_mixed(WORD, ends[1:-1]), _mixed(NEXT, ends[:-1], ends[1:])]
    return _buckets(lexical), _buckets(lexical + _classed(tokens, ends[1:-1]))


def _classed(tokens: list[str], words: Symbols) -> list[Symbols]:
    """Classes, pairs of them, and classes beside words."""
    known = classes()
    seen = [(index, kind) for index, token in enumerate(tokens) for kind in known.get(token, ())]
    where = np.array([index for index, _ in seen], np.intp)
    which = np.array([kind for _, kind in seen], np.uint32)
    found = [_mixed(CLASS, which)]
    for gap in range(1, len(where)):
        apart = where[gap:] - where[:-gap]
        if apart.min() > WINDOW:
            break
        first = np.flatnonzero((apart > 0) & (apart <= WINDOW))
        found.append(_mixed(PAIR, which[first], which[first + gap]))
    for step in BESIDE:
        at = where + step
        inside = (at >= 0) & (at < len(words))
        found.append(_mixed(BEFORE if step < 0 else AFTER, which[inside], words[at[inside]]))
    return found


def _buckets(found: list[Symbols]) -> Buckets:
    """Each once, in order."""
    return np.unique(np.concatenate(found) >> np.uint32(32 - BITS)).astype(np.intp)


def _mixed(relation: np.uint32, left: Symbols, right: Symbols | None = None) -> Symbols:
    """A hash of a relation and one or two symbols (multiplication modulo 2^32, as in xxHash)."""
    mixed = left * LEFT ^ relation
    if right is not None:
        mixed = (mixed ^ mixed >> np.uint32(15)) * LAST + right * RIGHT
    mixed = (mixed ^ mixed >> np.uint32(16)) * LAST
    return mixed ^ mixed >> np.uint32(13)


@lru_cache(maxsize=8192)
def symbol(token: str) -> int:
    """A word's number; the same in every process."""
    return zlib.crc32(token[:40].encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1)
def classes() -> dict[str, tuple[int, ...]]:
    """The numbers of the classes of each word form of `classes.txt`."""
    found: dict[str, list[int]] = {}
    for line in (DATA / "classes.txt").read_text(encoding="utf-8").splitlines():
        name, colon, words = line.partition(":")
        if colon and name[0] != "#":
            for form in {form for word in words.split() for form in forms(word)}:
                found.setdefault(form, []).append(symbol(f"#{name}"))
    return {form: tuple(kinds) for form, kinds in found.items()}


def forms(word: str) -> set[str]:
    """A word and the plurals and verb forms that it may have; some do not exist and do no harm."""
    if len(word) < 3:
        return {word}
    dropped = word[-1] == "e" or (word[-1] == "y" and word[-2] not in VOWELS)
    stem = word[:-1] if dropped else word
    found = {word, f"{word}s", f"{word}'s", f"{word}ing"}
    found |= {stem + end for end in ("es", "ed", "ing", "er", "ers", "ies", "ied")}
    if word[-1] not in "aeiouwxy" and word[-2] in VOWELS and word[-3] not in VOWELS:
        found |= {word + word[-1] + end for end in ("ed", "ing", "er", "ers")}
    return found


@lru_cache(maxsize=1)
def heads() -> tuple[Head, ...]:
    """Attack and risk: for each a header, and one byte a bucket."""
    data = (DATA / "score.bin").read_bytes()
    found = []
    for start in (0, HEADER.size + BUCKETS):
        weights = np.frombuffer(data, np.int8, BUCKETS, start + HEADER.size)
        found.append(Head(weights, *HEADER.unpack_from(data, start)))
    return tuple(found)


def digest() -> str:
    """SHA-256 of weights and classes, for the policy's hash."""
    return hashlib.sha256(b"".join((DATA / n).read_bytes() for n in ("score.bin", "classes.txt"))).hexdigest()
