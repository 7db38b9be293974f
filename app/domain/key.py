"""An API key as lists show it: the key itself is shown once, when it is made, and never kept. And how hard it
is to guess a key that a person chose."""

import math
import re
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key."""

    id: str
    tenant: str
    user: str | None
    """The one user it acts for; None: a tenant key."""
    name: str
    prefix: str
    """Its first characters, to tell keys apart."""
    created_at: datetime
    revoked_at: datetime | None = None


CLASSES = {r"[a-z]": 26, r"[A-Z]": 26, r"\d": 10, r"[^A-Za-z\d]": 10}
"""Kinds of characters, and how many of each an attacker tries."""
WORD = re.compile(r"[A-Za-z]?[a-z]{3,}|[A-Z]{4,}")
WORD_BITS = 2.0
"""Of a letter in a word. English has 1 to 1.5 (Shannon 1951); random letters seldom stand so."""
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop")


def guess_bits(key: str) -> float:
    """Estimate of the key's entropy in bits. Repeated or consecutive characters (aaa, 345, a row of the
    keyboard, a pair that occurred before) count 0, letters of a word WORD_BITS."""
    each = math.log2(sum(size for kind, size in CLASSES.items() if re.search(kind, key)) or 1)
    bits = [each] * len(key)
    for word in WORD.finditer(key):
        bits[slice(*word.span())] = [WORD_BITS] * len(word[0])
    pairs: set[str] = set()
    for at, pair in enumerate(map("".join, zip(key.lower(), key.lower()[1:], strict=False)), 1):
        if pair in pairs or abs(ord(pair[0]) - ord(pair[1])) <= 1 or any(pair in row for row in ROWS):
            bits[at] = 0.0
        pairs.add(pair)
    return sum(bits)
