"""What git would not look at: `.gitignore` of every folder, and `info/exclude` of the repository.

The nearest list that says anything about a path decides, and in it the last line that does; nothing below an
ignored folder comes back (gitignore(5); git's dir.c). Files that are tracked although a line of these ignores
them are ignored here, and lists outside of the repository (core.excludesFile) are not read. A repository
inside of another is a folder with rules of its own alone. Lines that git cannot read say nothing. Paths are
compared as bytes. Raises nothing.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from app.cli.wildcard import LONG, ways

LONGEST = 256 << 10
"""Bytes that are read of a list; git's own limit is a denial of service."""
MARK = b"\xef\xbb\xbf"
"""UTF-8's byte order mark."""
PARTS = re.compile(rb"[*?\[\]\\/]")
"""A slash too: that of `**/` may be none."""
LITERAL = re.compile(rb"[^*?\[\\]*")
POINTER = re.compile(rb"gitdir: ([^\n\0]{1,4000})\n?")
"""`.git` of a worktree or a submodule."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a list, read as git's dir.c does."""

    pattern: bytes
    negated: bool
    folders: bool
    """It speaks of folders alone."""
    named: bool
    """Of names, in whatever folder; else of paths from the list's folder."""
    literal: int
    """Bytes at the beginning without a sign of a pattern."""
    ending: bytes
    """`.py` of `*.py`; else nothing."""
    needed: bytes
    """What stands in all that it speaks of: looked for first, since that takes no time."""

    def says(self, path: bytes, name: bytes, *, folder: bool) -> bool:
        """Whether it speaks of a path, whose last part is the name."""
        if self.folders and not folder:
            return False
        text = name if self.named else path
        if self.literal == len(self.pattern):
            return text == self.pattern
        if self.ending:
            return text.endswith(self.ending)
        if self.needed not in text or not text.startswith(self.pattern[: self.literal]):
            return False
        return self.matches(text)

    def matches(self, text: bytes) -> bool:
        """Whether its pattern does. What is before the first sign is not part of it to git either: `a/x**` is
        `a/x`, `**`."""
        way = ways(self.pattern if self.named else self.pattern[self.literal :])
        return way is not None and way.match(text if self.named else text[self.literal :])


@dataclass(frozen=True, slots=True)
class Rules:
    """The lines that hold in a folder: those of the root first, its own last."""

    layers: tuple[tuple[int, tuple[Line, ...]], ...] = ()
    """(how many bytes of a path are its folder's, the lines)."""

    def inside(self, folder: Path, path: str) -> "Rules":
        """With the folder's own; `path` is its from the root, "" for the root itself."""
        length = len(os.fsencode(path)) + 1 if path else 0
        exclude = excluded(folder / ".git")
        lists = ([exclude] if exclude else []) + [folder / ".gitignore"]
        found = [(length, lines) for each in lists if (lines := listed(each))]
        above = () if exclude else self.layers
        return Rules((*above, *found)) if found or exclude else self

    def ignore(self, path: str, *, folder: bool) -> bool:
        """Whether git would pass over a path (from the root), in a folder that it does not pass over."""
        whole = os.fsencode(path)
        name = whole.rpartition(b"/")[2]
        for length, lines in reversed(self.layers):
            below = whole[length:]
            for line in reversed(lines):
                if line.says(below, name, folder=folder):
                    return not line.negated
        return False


def excluded(git: Path) -> Path | None:
    """The list of a repository itself, where there is one; a worktree's is that of the whole repository."""
    try:
        if git.is_dir():
            return git / "info" / "exclude"
        found = POINTER.fullmatch(git.read_bytes()[:5_000]) if git.is_file() else None
        if found is None:
            return None
        place = git.parent / os.fsdecode(found[1])
        shared = place / "commondir"
        common = os.fsdecode(shared.read_bytes()[:5_000].strip()) if shared.is_file() else "."
        return place / common / "info" / "exclude"
    except (OSError, ValueError):  # a path with a NUL
        return None


def listed(path: Path) -> tuple[Line, ...]:
    """The lines of a list that say anything; none, where there is none, or a link (git follows none)."""
    try:
        if path.is_symlink() or not path.is_file():
            return ()
        with path.open("rb") as file:
            data = file.read(LONGEST)
    except (OSError, ValueError):
        return ()
    if len(data) == LONGEST:
        data = data[: data.rfind(b"\n") + 1]  # half a line would say something else
    return tuple(line for each in data.removeprefix(MARK).split(b"\n") if (line := lined(each)))


def lined(text: bytes) -> Line | None:
    """A line as git reads it; None: it says nothing."""
    if text.startswith(b"#") or len(text) > LONG:
        return None
    text = trimmed(text.removesuffix(b"\r").partition(b"\0")[0])
    negated = text.startswith(b"!")
    text = text[negated:]
    folders = text.endswith(b"/")
    text = text[: len(text) - folders]
    named = b"/" not in text
    pattern = text.removeprefix(b"/")
    if not pattern:
        return None
    found = LITERAL.match(pattern)
    literal = found.end() if found else 0
    ending = pattern[1:] if named and pattern[:1] == b"*" and LITERAL.fullmatch(pattern, 1) else b""
    return Line(pattern, negated, folders, named, literal, ending, needed(pattern))


def needed(pattern: bytes) -> bytes:
    """The longest part that stands for itself; the last one, where brackets or backslashes hide it."""
    parts = PARTS.split(pattern)
    return parts[-1] if b"[" in pattern or b"\\" in pattern else max(parts, key=len)


def trimmed(text: bytes) -> bytes:
    """Without the blanks at its end; one behind a backslash stays, unless that stands for itself."""
    bare = text.rstrip(b" ")
    escaped = (len(bare) - len(bare.rstrip(b"\\"))) % 2
    return text[: len(bare) + escaped]
