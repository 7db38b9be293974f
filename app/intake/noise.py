"""Whether a page's text can be read at all, or is what a font without a usable character map leaves of it.

Three kinds of noise, none of them by language:
- Characters that mean nothing to anybody: controls, private use, unassigned, the replacement character.
- Numbers of glyphs taken for characters, where the font maps them to none (PDFium knows which). With some old
  fonts, whose glyphs are numbered as in ASCII, they are right: so the text must look like no language too.
- Other letters in the place of those that are seen.

What looks like a language is measured by o200k, in bytes of letters a token: it has long tokens for the words
of languages, short ones alone for arbitrary letters. Texts of 40 languages and code: from 2.3; shifted
alphabets: up to 2.1; arbitrary ideographs: 1.6.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable

from app.intake.line import BREAK
from app.retrieval.vocabulary import count

LETTERS = re.compile(r"[^\W\d_]{2,}")
LOWERCASE_WORD = re.compile(r"(?<!\w)[A-Z]?[a-z]{2,24}(?!\w)")
"""A lower-case ASCII word; its first letter may be a capital. Codes and abbreviations do not match."""
BULLETS = frozenset("\uf0b7\uf0a7\uf0d8\uf076")
UNMAPPED = 0.5
"""Share of unmapped characters above which a page may be noise."""
GLYPHS, GLYPH_BYTES = 2.4, 20
"""Threshold in bytes per token for unmapped glyphs, and the least number of bytes to judge."""
WRITTEN, WRITTEN_BYTES, ALPHABET = 1.95, 200, 12
"""The same for letters that the font does map, and how many different ones: a sequence of bases has four."""
MOST = 4_000
"""Characters of a page whose words are measured."""


def is_noise(text: str, unmapped: Callable[[], int]) -> bool:
    """Whether a page's text is noise. `unmapped` counts the characters that its fonts do not map. It takes
    longer than the rest, so it is called only where the letters look like no language."""
    seen = Counter("".join(text.replace(BREAK, "").split()))
    if 2 * sum(times for char, times in seen.items() if is_meaningless(char)) > seen.total():
        return True
    text = text[:MOST]
    if is_arbitrary(LETTERS.findall(text), GLYPHS, GLYPH_BYTES) and unmapped() > UNMAPPED * seen.total():
        return True
    words = LOWERCASE_WORD.findall(text)
    return len(set("".join(words))) >= ALPHABET and is_arbitrary(words, WRITTEN, WRITTEN_BYTES)


def is_meaningless(char: str) -> bool:
    """Whether nobody can know what a character says."""
    if char.isascii():
        return not char.isprintable()
    return char == "\ufffd" or (
        unicodedata.category(char) in {"Cc", "Cn", "Co", "Cs"} and char not in BULLETS
    )


def is_arbitrary(words: list[str], least: float, enough: int) -> bool:
    """Whether words have fewer than `least` bytes a token, as in no language; False if there are fewer than
    `enough` bytes."""
    size = sum(len(word.encode("utf-8", "replace")) for word in words)
    return size >= enough and size < least * count(" ".join(words))
