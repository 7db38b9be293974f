"""Citation labels, `[report.pdf#3]`, and file names.

A label has at most 160 characters and is unique in what the asker can reach; its name has no brackets, no
`#`, no line break and no invisible characters. A file name is kept as the client sent it, without path parts
and without what a store cannot hold; it never becomes a path. Pure; raises nothing.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from app.text.sanitise import JOINERS, NAME_MOST, sanitise_name

LABEL_MAX = 160
"""Characters of `[name#id]`, brackets included."""
NAME_MAX = NAME_MOST
"""Characters of a name: leaves 17 for the id, as in `#L100000-100042`."""
NAMES = 1_024
"""Names that are remembered as labels show them: every passage of a document asks for its own."""
FALLBACK = "document"

SELECTORS = range(0xFE00, 0xFE10)
EXTENSION = re.compile(r"\.[0-9A-Za-z]{1,10}$")
SUFFIX = re.compile(r"[0-9A-Za-z-]{1,17}")


def label(name: str, suffix: str) -> str:
    """A citation without its brackets: `report.pdf#3`."""
    return f"{name}#{suffix}"


def is_label(text: str) -> bool:
    """True if `label` can have made it: a name that citations can hold, and an id."""
    name, _, suffix = text.rpartition("#")
    if not name or not SUFFIX.fullmatch(suffix) or len(text) > LABEL_MAX - len("[]"):
        return False
    return sanitise_name(name, LABEL_MAX) == name


@lru_cache(maxsize=NAMES)
def label_name(filename: str) -> str:
    """A file's name as citations can hold it: never empty, NFC, the extension kept. Idempotent."""
    parts = [part for part in re.split(r"[/\\]", filename) if part.strip()]
    name = parts[-1] if parts else ""
    stem, extension = _split(sanitise_name(name, None))
    stem = stem.strip(JOINERS + " ")
    if not stem.strip("."):
        stem = FALLBACK
    return _fitted(stem, extension)


def path_name(path: str) -> str:
    """A file's whole path as citations can hold it; of one too long the end, which tells more."""
    return sanitise_name(path, None)[-NAME_MAX:].strip(JOINERS + " ") or FALLBACK


def unique(name: str, taken: Iterable[str]) -> str:
    """`name`, or `name-2.pdf`, `name-3.pdf`, …: the first that none of `taken` looks like."""
    return _free(name, {key(other) for other in taken})


def distinct(own: Sequence[str], shared: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names as the asker sees them: (own, shared), each in the order given (creation order).

    The session's documents keep their names and a shared one of the same name shows as `name-2.pdf`. A
    shared one that stands in nobody's way keeps its name whatever else is numbered.
    """
    names, taken = [*own, *shared], set[str]()
    first = [_claim(name, taken) for name in names]
    seen = [name if free else _number(name, taken) for name, free in zip(names, first, strict=True)]
    return seen[: len(own)], seen[len(own) :]


def key(name: str) -> str:
    """What two names that look alike have in common: case, width and invisible characters do not count."""
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(
        sign for sign in folded if unicodedata.category(sign) != "Cf" and ord(sign) not in SELECTORS
    )


def _claim(name: str, taken: set[str]) -> bool:
    """True if `name` is the first of its look; its look is taken from now on."""
    look = key(name)
    free = look not in taken
    taken.add(look)
    return free


def _number(name: str, taken: set[str]) -> str:
    """A free name for `name`, taken from now on."""
    found = _free(name, taken)
    taken.add(key(found))
    return found


def _free(name: str, taken: set[str]) -> str:
    """The first of `name`, `name-2`, … whose look is not taken."""
    stem, extension = _split(name)
    number, tried = 1, name
    while key(tried) in taken:
        number += 1
        tried = _fitted(stem, f"-{number}{extension}")
    return tried


def _split(name: str) -> tuple[str, str]:
    """(stem, extension with its dot or "")."""
    found = EXTENSION.search(name)
    return (name[: found.start()], found.group()) if found else (name, "")


def _fitted(stem: str, ending: str) -> str:
    """The two joined, the stem cut so that the whole has at most NAME_MAX characters."""
    return stem[: NAME_MAX - len(ending)].rstrip(JOINERS + " ") + ending


NAME_BYTES = 1_000
"""Most bytes of a name: with tenant, owner and session it must fit an index row of Postgres (2,704)."""
UNNAMED_FILE = "document.pdf"

SEPARATORS = re.compile(r"[/\\]")


def clean(filename: str) -> str:
    """The last part of a path in NFC, never empty. Idempotent.

    Controls (NUL, line breaks) go; a lone surrogate, which has no UTF-8 form, becomes `_`. Browsers on
    macOS send decomposed letters: NFC makes the same name the same name.
    """
    parts = [part for part in SEPARATORS.split(filename) if part.strip()]
    shown = "".join(map(_kept, parts[-1] if parts else ""))
    name = _cut(unicodedata.normalize("NFC", shown).strip())
    return name if name.strip(". ") else UNNAMED_FILE


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
