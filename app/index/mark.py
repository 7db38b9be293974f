"""What a label shows of an id: short, always the same, and no two of a list alike. Pure."""

import base64
import hashlib
from collections.abc import Iterable

SHORT, LONGER = 8, 16
"""Characters of a label's id: 40 bits; 80 where two would look alike."""


def short(source: str, keys: Iterable[str]) -> dict[str, str]:
    """Each id as its label shows it: always the same, and no two alike."""
    digests = {key: digest(f"{source}\x1f{key}") for key in keys}
    taken: dict[str, int] = {}
    for found in digests.values():
        taken[found[:SHORT]] = taken.get(found[:SHORT], 0) + 1
    return {key: found[: SHORT if taken[found[:SHORT]] == 1 else LONGER] for key, found in digests.items()}


def digest(text: str) -> str:
    """80 bits as 16 small letters and digits."""
    found = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return base64.b32hexencode(found).decode().lower()
