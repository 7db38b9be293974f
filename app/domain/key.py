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


LETTERS = {r"[a-z]": 26, r"[A-Z]": 26, r"\d": 10}
"""Kinds of letters and digits, and how many of each an attacker tries."""
WORD = re.compile(r"[A-Za-z]?[a-z]{3,}|[A-Z]{4,}|(?<![A-Za-z\d])[A-Za-z]{2,3}(?![A-Za-z\d])")
WORD_BITS, WORD_MOST = 2.0, 11.0
"""Of a letter in a word (English has 1 to 1.5, Shannon 1951; random letters seldom stand so), and of a whole
word: an attacker's list has some thousands."""
NUMBER = re.compile(r"(?<![A-Za-z\d])\d{2,4}(?![A-Za-z\d])|(?<=[a-z]{3})\d{2,4}(?!\d|[A-Za-z])")
"""A year, a count behind a word."""
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop")


def guess_bits(key: str) -> float:
    """Estimate of the key's entropy in bits. Signs count 0, as do repeated or consecutive characters (aaa,
    345, a row of the keyboard, a pair that occurred before). A word has WORD_MOST at the most."""
    each = math.log2(sum(size for kind, size in LETTERS.items() if re.search(kind, key)) or 1)
    bits = [each if char.isalnum() else 0.0 for char in key]
    for word in WORD.finditer(key):
        size = len(word[0])
        bits[slice(*word.span())] = [min(WORD_BITS, WORD_MOST / size)] * size
    for number in NUMBER.finditer(key):
        bits[slice(*number.span())] = [WORD_BITS] * len(number[0])
    pairs: set[str] = set()
    for at, pair in enumerate(map("".join, zip(key.lower(), key.lower()[1:], strict=False)), 1):
        if pair in pairs or abs(ord(pair[0]) - ord(pair[1])) <= 1 or any(pair in row for row in ROWS):
            bits[at] = 0.0
        pairs.add(pair)
    return sum(bits)
