"""Texts whose only aim is to keep a reader busy: the longest message there is, of one kind of mark."""

LONG = 32_000
HOSTILE = {
    "one word": "a" * LONG,
    "one letter words": "a " * (LONG // 2),
    "no": "no " * (LONG // 3),
    "spaces": " " * LONG,
    "lines": "\n" * LONG,
    "hashes": "#" * LONG,
    "hashtags begun": "#a" * (LONG // 2),
    "apostrophes": "'" * LONG,
    "clitics": "a'" * (LONG // 2),
    "brackets": "[" * LONG,
    "heads begun": "[system\n" * (LONG // 8),
    "template marks begun": "<|a" * (LONG // 3),
    "heads set in": "> " * (LONG // 2),
    "phrases begun": "ignore all previous " * (LONG // 20),
    "overlapping phrases": "how do i " * (LONG // 9),
    "ligatures of eighteen letters": "\ufdfa" * LONG,
    "marks above marks": "e" + "\u0301" * (LONG - 1),
    "thumbs": "👍" * LONG,
    "characters without spaces": "你" * LONG,
    "smileys begun": ":-" * (LONG // 2),
}
