"""A file's name as it is kept: what the client sent, without path parts and without what no store can hold.

Characters are Unicode code points, the limit is UTF-8 bytes. The name is for people and for telling that two
uploads are the same file; it never becomes a path. Citations use `label.label_name` of it. Never raises.
"""

import re
import unicodedata

NAME_BYTES = 1_000
"""Most bytes of a name: with tenant, owner and session it must fit an index row of Postgres (2,704)."""
FALLBACK = "document.pdf"

SEPARATORS = re.compile(r"[/\\]")
EXTENSION = re.compile(r"\.[0-9A-Za-z]{1,10}$")


def clean(filename: str) -> str:
    """The last part of a path in NFC, never empty. Idempotent.

    Controls (NUL, line breaks) go; a lone surrogate, which has no UTF-8 form, becomes `_`. Browsers on
    macOS send decomposed letters: NFC makes the same name the same name.
    """
    parts = [part for part in SEPARATORS.split(filename) if part.strip()]
    shown = "".join(map(_kept, parts[-1] if parts else ""))
    name = _cut(unicodedata.normalize("NFC", shown).strip())
    return name if name.strip(". ") else FALLBACK


def _kept(sign: str) -> str:
    """A character as a name may hold it."""
    category = unicodedata.category(sign)
    return {"Cc": "", "Cs": "_"}.get(category, sign)


def _cut(name: str) -> str:
    """At most NAME_BYTES, cut between characters; the extension stays."""
    if len(name.encode()) <= NAME_BYTES:
        return name
    found = EXTENSION.search(name)
    ending = found.group() if found else ""
    room = NAME_BYTES - len(ending)
    return name[: len(name) - len(ending)].encode()[:room].decode(errors="ignore").rstrip() + ending
