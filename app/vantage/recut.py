"""The words of a text of which little was changed: only what lies between two blanks is cut anew.

A blank parts what is before it from what is behind (app/vantage/words.py looks at one character before). In
doubt the whole is cut. Linear; nothing here raises.
"""

from app.vantage.words import Text, cut

SEVERAL = 8
"""Letters that were left out, and places at which what was changed may begin: with more it is cut whole."""
Tokens = tuple[str, ...]


def recut(text: Text, folded: str) -> Text:
    """The tokens of a text that `text` was changed into, most of which it had."""
    if abs(len(text.folded) - len(folded)) > SEVERAL:
        return cut(folded)
    begin, left = _shared(text.folded, folded)
    old, new = text.folded[begin : len(text.folded) - left], folded[begin : len(folded) - left]
    if 2 * len(old) > len(text.folded):
        return cut(folded)
    row = cut(old).cased
    at = _place(text.cased, row)
    if at < 0:
        return cut(folded)
    part, behind = cut(new), at + len(row)
    found = Text(
        text.cased[:at] + part.cased + text.cased[behind:],
        text.tokens[:at] + part.tokens + text.tokens[behind:],
        folded,
    )
    # What is known of the other words need not be looked up again.
    vars(found)["entries"] = [*text.entries[:at], *part.entries, *text.entries[behind:]]
    vars(found)["kinds"] = text.kinds[:at] + part.kinds + text.kinds[behind:]
    return found


def _shared(one: str, other: str) -> tuple[int, int]:
    """How many characters both begin with, up to a blank, and end with, from one on."""
    if not (one.isascii() and other.isascii()):
        return 0, 0
    size = min(len(one), len(other))
    head = tail = _number(one[:size]) ^ _number(other[:size])
    if len(one) != len(other):
        tail = _number(one[len(one) - size :]) ^ _number(other[len(other) - size :])
    begin = size - (head.bit_length() + 7) // 8
    end = min(((tail & -tail).bit_length() - 1) // 8 if tail else size, size - begin)
    blank = one.find(" ", len(one) - end)
    return one.rfind(" ", 0, begin) + 1, len(one) - blank if blank >= 0 else 0


def _number(text: str) -> int:
    """A byte a character: numbers are compared in C."""
    return int.from_bytes(text.encode("ascii"))


def _place(tokens: Tokens, row: Tokens) -> int:
    """The one place where a row of tokens stands; -1 where there are more, or it is not looked for."""
    often = tokens.count(row[0]) if row else 0
    found: list[int] = []
    at = -1
    for _ in range(often if often <= SEVERAL else 0):
        at = tokens.index(row[0], at + 1)
        if tokens[at : at + len(row)] == row:
            found.append(at)
    return found[0] if len(found) == 1 else -1
