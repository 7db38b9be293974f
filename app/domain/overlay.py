"""A request's overlay as instructions for the system prompt: a role, a tone, a form, or plain text.

The asker's own words: they may span lines, but hold no marks of a chat template and no control characters.
Source: CONTRACT §2 (Query body), seed 003 (3.1.1). Nothing here raises.
"""

from collections.abc import Mapping

from app.domain.prompt import UNSAFE

FIELDS = {"role": "Role", "tone": "Tone", "format": "Format", "instructions": "Instructions"}
LONGEST = 8_000
"""Characters taken at most."""
HEADS = ("[system]", "[context]", "[memory]", "[persona]", "[user]", "[assistant]", "[gravity-note]")
"""Lines that the prompt itself writes: an overlay's are set in."""


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
    lines = (" ".join(UNSAFE.sub(" ", line).split()) for line in text[:LONGEST].splitlines())
    return "\n".join(_set_in(line) for line in lines if line)


def _set_in(line: str) -> str:
    """A line that cannot be taken for one of the prompt's own."""
    return f"> {line}" if line.lower().startswith(HEADS) else line
