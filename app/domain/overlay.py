"""A request's overlay as instructions for the system prompt: a role, a tone, a form, or plain text.

The asker's own words: they may span lines, but hold no marks of a chat template and no control characters,
and no line that reads as one of the prompt's own. Source: CONTRACT §2 (Query body), seed 003 (3.1.1). Nothing
here raises.
"""

import re
import unicodedata
from collections.abc import Mapping

from app.domain.sanitise import PLAIN, sanitise_text

FIELDS = {"role": "Role", "tone": "Tone", "format": "Format", "instructions": "Instructions"}
UNSEEN = frozenset({"Cf", "Mn", "Me"})
"""Categories of what has no width: joiners, marks over letters."""
LONGEST = 8_000
"""Characters taken at most."""
HEADS = (
    *("[system]", "[context]", "[memory]", "[persona]", "[user]", "[assistant]", "[gravity-note]"),
    *("[cards]", "[thread]", "[lens]", "[policy]"),
)
"""Lines that the prompt itself writes: an overlay's are set in."""
NAMES = tuple("".join(filter(str.isalpha, head)) for head in HEADS)
"""Their letters."""
ALIKE = {
    ord(letter): plain
    for plain, letters in {
        "a": "аαɑАΑ", "c": "сϲСϹ", "d": "ԁ", "e": "еεЕΕ", "g": "ɡɢ", "h": "һнʜНΗ", "i": "іιıɪӏІΙ",
        "k": "кκКΚ", "l": "ʟⅼ", "m": "мМΜ", "n": "пηɴΝ", "o": "оοσОΟ", "p": "рρРΡ", "r": "гʀ", "s": "ѕꜱЅ",
        "t": "тτТΤ", "u": "υцս", "v": "ѵνᴠ", "x": "хχХΧ", "y": "уγУΥҮү",
    }.items()
    for letter in letters
}  # fmt: skip
"""Letters of other alphabets that pass for those of the heads (Unicode TR39, the common part)."""
OPENING, CLOSING = "[【［〔﹇〖〘〚⟦⁅❲⟬", "]】］〕﹈〗〙〛⟧⁆❳⟭"
SQUARE = str.maketrans(OPENING + CLOSING, "[" * len(OPENING) + "]" * len(CLOSING))
ROUND = SQUARE | PLAIN | {ord(sign): "()"[sign in CLOSING] for sign in OPENING + CLOSING}
"""Square brackets of any kind become round ones, and what parts a label from its number a dash."""
NO_LETTER = rf"(?:(?![{re.escape(OPENING)}])[\W\d_])*+"
MARK = re.compile(rf"{NO_LETTER}(?:(?:[a-z]|[ivx]+)[.)]{NO_LETTER})?", re.IGNORECASE)
"""What a line begins with before its first letter or bracket: `- `, `1. `, `a) `, `> `, `**`."""
QUOTED = re.compile(r"from\W[^:]*#[^:]*:|(?:user|assistant|system)\s*:\s*\"")
"""So goes a passage's line, or a turn's, behind its mark."""
LOOKED_AT = 400
"""Characters of a line that are compared: a label has 160 at most."""


def overlay_to_instructions(overlay: str | Mapping[str, object] | None) -> str:
    """Lines for the system prompt; "" if there is nothing to say."""
    if overlay is None:
        return ""
    if isinstance(overlay, str):
        return _plain(overlay)
    told = ((name, _plain(str(overlay[key]))) for key, name in FIELDS.items() if overlay.get(key))
    return "\n".join(f"{name}: {text}" for name, text in told if text)


def _plain(text: str) -> str:
    """The text as it may stand in a prompt."""
    lines = (" ".join(line.split()) for line in text[:LONGEST].splitlines())
    return sanitise_text("\n".join(_set_in(line) for line in lines if line))


def own_words(text: str) -> str:
    """A text that the asker wrote, its lines as they are but for those that read as one of the prompt's."""
    return sanitise_text("\n".join(map(_set_in, text.split("\n"))))


def _set_in(line: str) -> str:
    """A line that cannot be taken for one of the prompt's own: without its mark, its brackets round."""
    return f"> {line[_marked(line) :].translate(ROUND)}" if forges(line) else line


def forges(line: str) -> bool:
    """Whether a line reads as one that the prompt writes: by its letters alone, whatever mark of a list, a
    quotation or a heading it begins with, whatever its brackets are, and however its letters are written."""
    if len(line) > LOOKED_AT:  # what nobody sees must not push a head out of sight
        line = "".join(sign for sign in line if unicodedata.category(sign) not in UNSEEN)
    begins = _marked(line)
    seen = plain(line[begins : begins + LOOKED_AT])
    inner = _marked(seen)
    rest = seen[inner:]
    if not rest.startswith("["):
        return QUOTED.match(rest) is not None
    letters = "".join(filter(str.isalpha, rest))
    return begins + inner > 0 or "#" in rest.partition("]")[0] or letters.startswith(NAMES)


def _marked(line: str) -> int:
    """Where a line begins behind its mark."""
    found = MARK.match(line)
    return found.end() if found else 0


def plain(line: str) -> str:
    """As a reader takes it: wide, accented and foreign letters are the plain ones they look like, brackets
    are square, and what nobody sees is not there."""
    folded = unicodedata.normalize("NFKD", line).translate(ALIKE).casefold()
    seen = "".join(sign for sign in folded if unicodedata.category(sign) not in UNSEEN)
    return " ".join(seen.translate(SQUARE).split())
