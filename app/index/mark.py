"""What a label shows of an id: short, always the same, and no two of a list alike. Pure."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable

HEAD = 5
"""Bytes of a digest that a label shows, as 8 characters; all 16 where two would look alike."""


def short(source: str, keys: Iterable[str]) -> dict[str, str]:
    """Each id as its label shows it: always the same, and no two alike."""
    digests = {key: digest(f"{source}\x1f{key}") for key in keys}
    alike = Counter(found[:HEAD] for found in digests.values())
    return {key: letters(full[:HEAD] if alike[full[:HEAD]] == 1 else full) for key, full in digests.items()}


def digest(text: str) -> bytes:
    """80 bits."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()


def letters(found: bytes) -> str:
    """Small letters and digits: 8 of 5 bytes."""
    return base64.b32hexencode(found).decode().lower()
