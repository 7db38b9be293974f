"""A request's overlay as instructions for the system prompt: a role, a tone, a form, or plain text.

The asker's own words: they may span lines, but hold no marks of a chat template and no control characters.
Source: CONTRACT §2 (Query body), seed 003 (3.1.1). Nothing here raises.
"""

import re
import unicodedata
from collections.abc import Mapping

from app.domain.prompt import CONTROL, UNSAFE

FIELDS = {"role": "Role", "tone": "Tone", "format": "Format", "instructions": "Instructions"}
UNSEEN = frozenset({"Cf", "Mn", "Me"})
"""Categories of what has no width: joiners, marks over letters."""
LONGEST = 8_000
"""Characters taken at most."""
HEADS = ("[system]", "[context]", "[memory]", "[persona]", "[user]", "[assistant]", "[gravity-note]")
"""Lines that the prompt itself writes: an overlay's are set in."""
BULLET = re.compile(r"[-\u2010-\u2015\u2212*+\u2022] ?\[")
"""So begins a memory's, whatever the dash."""


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
    lines = (CONTROL.sub(" ", UNSAFE.sub(" ", line)).split() for line in text[:LONGEST].splitlines())
    return "\n".join(_set_in(" ".join(words)) for words in lines if words)


def _set_in(line: str) -> str:
    """A line that cannot be taken for one of the prompt's own."""
    seen = plain(line)
    return f"> {line}" if seen.startswith(HEADS) or BULLET.match(seen) else line


def plain(line: str) -> str:
    """As a reader takes it: wide letters are letters, and what nobody sees is not there."""
    folded = unicodedata.normalize("NFKC", line).casefold()
    return " ".join("".join(sign for sign in folded if unicodedata.category(sign) not in UNSEEN).split())
