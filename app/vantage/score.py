"""Two logistic regressions over hashed features: how much a message reads like an attack on the prompt, and
like a request for help in harm.

Features are words, neighbouring words, and the lexicon's classes: each class, a class beside a word, pairs
of classes within a few words; the risk score also sees which rules of `risk.txt` fired. Each counts once,
hashed into buckets. The sum of int8 weights is an integer, so that processors agree; it is divided by the
root of the number of features, and the logistic is rounded to three digits. Linear in the text.
`training/train.py` makes the weights. Nothing here raises.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from math import exp, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.vantage.lexicon import DATA, Classes, Hit
from app.vantage.text import Text

Symbols = NDArray[np.uint32]
Buckets = NDArray[np.intp]

BUCKETS: Mapping[str, int] = {"attack": 1 << 16, "risk": 1 << 17}
HEADER = struct.Struct("<dd")
"""Scale and bias of a head, in front of its weights."""
WINDOW = 6
"""Tokens from one class of a pair to the other."""
WORD, NEXT, CLASS, PAIR, BEFORE, AFTER = (np.uint32(n * 0x27D4EB2F & 0xFFFFFFFF) for n in range(1, 7))
LEFT, RIGHT, LAST = np.uint32(0x9E3779B1), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
MARKS = frozenset({"cut"})
"""Classes that mark a place and are no features."""
LEVELS = (0.1, 0.2, 0.4, 0.55, 0.7)
"""The rules' highest risk, as features."""


class Head(NamedTuple):
    """A regression: logistic(scale * sum of weights / sqrt(number of features) + bias)."""

    weights: NDArray[np.int8]
    scale: float
    bias: float

    def score(self, buckets: Buckets) -> float:
        """Of a message's buckets, in [0, 1]."""
        total = int(self.weights[buckets].sum(dtype=np.int64))
        value = self.scale * total / sqrt(max(1, len(buckets))) + self.bias
        return round(1 / (1 + exp(-max(-50.0, min(50.0, value)))), 3)


def score(text: Text, known: Sequence[Hit], rules: Mapping[str, float]) -> dict[str, float]:
    """Both scores of a text whose disguises are undone. `known`: its known words (`lexicon.hits`); `rules`:
    those that fired, with their risk."""
    seen = zip(heads().items(), features(text, known, rules), strict=True)
    return {name: head.score(buckets) for (name, head), buckets in seen}


def features(text: Text, known: Sequence[Hit], rules: Mapping[str, float]) -> tuple[Buckets, Buckets]:
    """The buckets of each head: attack, risk."""
    seen = np.zeros(BUCKETS["risk"], np.bool_)
    seen[_words_and_classes(text, known) % np.uint32(len(seen))] = True
    low, high = seen.reshape(2, BUCKETS["attack"])
    attack = (low | high).nonzero()[0]
    risk = max(rules.values(), default=0.0)
    fired = [f"rule {rule}" for rule in rules] + [f"risk {level}" for level in LEVELS if risk >= level]
    seen[[symbol(name) % len(seen) for name in fired]] = True
    return attack, seen.nonzero()[0]


def _words_and_classes(text: Text, known: Sequence[Hit]) -> Symbols:
    """The features that both heads read: words and neighbouring words; classes, pairs of them, and classes
    beside words."""
    tokens = np.zeros(len(text.tokens) + 4, np.uint32)
    tokens[2:-2] = np.fromiter(map(symbol, text.tokens), np.uint32, len(text.tokens))
    begins, stops, classes = zip(*known, strict=True) if known else ((), (), ())
    marked = list(map(class_symbols, classes))
    counts = np.fromiter(map(len, marked), np.intp, len(marked))
    starts = np.fromiter(begins, np.intp, len(known)).repeat(counts)
    ends = np.fromiter(stops, np.intp, len(known)).repeat(counts)
    names = np.fromiter(chain.from_iterable(marked), np.uint32)
    first, second = _within(starts, ends)
    word, name = tokens * LEFT, names * LEFT
    alone = np.concatenate([word[2:-2] ^ WORD, name ^ CLASS])
    before, after = name ^ BEFORE, name ^ AFTER
    left = np.concatenate([word[1:-2] ^ NEXT, before, before, after, after, name[first] ^ PAIR])
    places = np.concatenate([starts, starts + 1, ends + 2, ends + 3])
    right = np.concatenate([tokens[2:-1], tokens[places], names[second]])
    return np.concatenate([_mixed(alone), _mixed((left ^ left >> np.uint32(15)) * LAST + right * RIGHT)])


def _within(starts: Buckets, ends: Buckets) -> tuple[Buckets, Buckets]:
    """The places of all pairs whose second starts at most WINDOW tokens behind the end of the first."""
    begins, stops = np.searchsorted(starts, ends), np.searchsorted(starts, ends + WINDOW, "right")
    counts = stops - begins
    first = np.repeat(np.arange(len(starts)), counts)
    skipped = np.repeat(np.cumsum(counts) - counts - begins, counts)
    return first, np.arange(len(first)) - skipped


def _mixed(hashed: Symbols) -> Symbols:
    """Multiplied and shifted modulo 2^32, as in xxHash, so that every bit depends on all."""
    mixed = (hashed ^ hashed >> np.uint32(16)) * LAST
    return mixed ^ mixed >> np.uint32(13)


@cache
def class_symbols(classes: Classes) -> tuple[int, ...]:
    """The numbers of classes of the lexicon, which no word has; a mark has none."""
    return tuple([symbol(f"#{name}") for name in sorted(classes - MARKS)])


@lru_cache(maxsize=8192)
def symbol(token: str) -> int:
    """A token's number; the same in every process."""
    return zlib.crc32(token[:40].encode("utf-8", "surrogatepass"))


@cache
def heads() -> Mapping[str, Head]:
    """By name: for each a header, and one byte a bucket."""
    data, start, found = (DATA / "score.bin").read_bytes(), 0, dict[str, Head]()
    for name, count in BUCKETS.items():
        scale, bias = HEADER.unpack_from(data, start)
        found[name] = Head(np.frombuffer(data, np.int8, count, start + HEADER.size), scale, bias)
        start += HEADER.size + count
    return found
