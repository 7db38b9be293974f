"""Whether a text is a keyboard struck at random: `asdfgh`, `xkcvbn`, `aaaaaaa`.

Words in plain Latin letters are judged by letters that no language we know puts side by side, any by walks
along a row of the keyboard. Names of programs, acronyms and addresses are no words. Nothing here raises.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from operator import add

from app.domain.tongue import words

MANY = 12
"""Words looked at: who strikes keys does it from the beginning."""
LENGTH = 40
"""Letters of a word looked at."""
SHARE = 0.6
"""Of the letters: a text of more mash than that is mash."""
WALK = 5
"""Neighbours on a row, one after another and one way: `asdfg`; `wert` has four, `brewery` turns."""
ROWS = (
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiop",
    "azertyuiop",
    "йцукенгшщзхъ",
    "фывапролджэ",
    "ячсмитьбю",
)
STEPS = {pair: 1 for row in ROWS for pair in map("".join, pairwise(row))} | {
    pair[::-1]: -1 for row in ROWS for pair in map("".join, pairwise(row))
}
"""Two neighbouring letters: 1 to the right, -1 to the left."""
RARE = 0.2
"""Of a word's pairs of letters: more than that, and at least two, and nobody means it."""
APART: Mapping[str, str] = {
    "b": "fgkpqwxz",
    "c": "bdfgjmpvwx",
    "d": "bcfkpqx",
    "f": "bcdghjkmpqvwxz",
    "g": "bcdfjkpqvx",
    "h": "bcdfghjkpqvxz",
    "i": "y",
    "j": "bcfghmpqrwxz",
    "k": "bcdfgjpqvxz",
    "l": "qx",
    "m": "dghjkqvwxz",
    "p": "bcdgjkmqvwxz",
    "q": "bcdefghjklmnpqrstvwxyz",
    "r": "jx",
    "s": "x",
    "t": "bdgjkpqvx",
    "v": "bcdfghjkmpqtwxz",
    "w": "bfgjmpqvx",
    "x": "bdgjkmnqrsvwz",
    "y": "hjq",
    "z": "cfjpqx",
}
"""By letter, those that do not follow it within a word, but where two words were put together."""
BITS = words(
    "asd qwe zxc sdf dfg fgh ghj hjk jkl xcv cvb vbn asdf sdfg dfgh fghj ghjk hjkl zxcv xcvb cvbn qwer"
)
"""Short walks that are no word."""
STRANGERS = frozenset(letter + after for letter, others in APART.items() for after in others)
KNOWN = words(
    "https xhtml shtml dvds pdfs csvs hmmm pfft tldr kthx lgbtq qwerty qwertz azerty lxml hdfs pyqt httpd"
    " xmlrpc duckduckgo tcpdump sparql cmds cmdline"
)
"""No mash, however they are spelt."""


def mashed(text: str) -> bool:
    """Whether most of a text's letters are mash."""
    chunks = [chunk.strip(".,;:!?()\"'…") for chunk in text[: MANY * LENGTH].split()[:MANY]]
    words = sorted((chunk for chunk in chunks if len(chunk) > 2), key=len, reverse=True)
    whole = left = sum(map(len, words))
    struck: dict[str, bool] = {}  # of this message: nothing keeps one (docs/decisions/0048)
    for word in words:
        # The longest first: a few that are none decide it.
        begun = word[:LENGTH]
        if begun not in struck:
            struck[begun] = _struck(begun)
        if not struck[begun]:
            left -= len(word)
            if left < SHARE * whole:
                return False
    return left > 0


def _struck(word: str) -> bool:
    """Whether one word is mash."""
    lower = word.lower()
    if word in BITS:
        return True
    if not word.isalpha() or len(word) < 4 or lower in KNOWN:
        return False
    pairs = list(map(add, lower, lower[1:]))
    if len(set(lower)) == 1 or _walk(pairs) >= WALK:
        return True
    named = word.isupper() or word[1:] != word[1:].lower()
    return not named and word.isascii() and _odd(lower, pairs)


def _odd(lower: str, pairs: Sequence[str]) -> bool:
    """Whether too many of its letters do not go together."""
    rare = sum(map(STRANGERS.__contains__, pairs))
    if rare == 0:
        return False
    spoken = any(letter in "aeiouy" for letter in lower)
    return (rare > 1 and rare >= RARE * len(pairs)) or (not spoken and len(lower) > 4)


def _walk(pairs: Sequence[str]) -> int:
    """Letters of its longest walk along a row, one way."""
    if sum(map(STEPS.__contains__, pairs)) < WALK - 1:
        return 0
    ways = groupby(STEPS.get(pair, 0) for pair in pairs)
    return 1 + max(len(list(run)) for way, run in ways if way)
