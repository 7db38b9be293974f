"""What git would not look at: `.gitignore` of every folder, and `.git/info/exclude` of the repository.

The nearest list that says anything about a path decides, and in it the last line that does; nothing below an
ignored folder comes back (gitignore(5)). Files that are tracked although a line of these ignores them are
ignored here, and lists outside of the repository (core.excludesFile) are not read. Lines are `pathspec`'s;
which of them decides is found here, since it takes what is said of a folder to be said of the files in it
too: `*`, `!*/`, `!*.py` would ignore all.
"""

from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec, RegexPattern

LONGEST = 1 << 20
"""Bytes that are read of a list."""
FOLDER = "ps_d"
"""What pathspec calls the slash behind a folder."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The lines that hold in a folder: those of the root first, its own last."""

    layers: tuple[tuple[str, tuple[RegexPattern, ...]], ...] = ()
    """(path of its folder from the root, with a slash at its end or "", the lines)."""

    def inside(self, folder: Path, path: str) -> "Rules":
        """With the folder's own; `path` is its from the root, "" for the root itself."""
        prefix = f"{path}/" if path else ""
        lists = ([folder / ".git" / "info" / "exclude"] if not path else []) + [folder / ".gitignore"]
        found = [(prefix, lines) for each in lists if (lines := listed(each))]
        return Rules((*self.layers, *found)) if found else self

    def ignore(self, path: str, *, folder: bool) -> bool:
        """Whether git would pass over a path (from the root), in a folder that it does not pass over."""
        for prefix, lines in reversed(self.layers):
            name = path[len(prefix) :] + ("/" if folder else "")
            for line in reversed(lines):
                if said(line, name):
                    return bool(line.include)
        return False


def said(line: RegexPattern, name: str) -> bool:
    """Whether a line speaks of a path itself, and not of a folder that it lies in."""
    if line.regex is None:
        return False
    for found in line.regex.finditer(name):
        if found.groupdict().get(FOLDER) is None:
            # `a/**` speaks of all that lies in it, and not of `a/`.
            return not (str(line.pattern).rstrip().endswith("/**") and found.end() == len(name))
        if found.end(FOLDER) == len(name):
            return True
    return False


def listed(path: Path) -> tuple[RegexPattern, ...]:
    """The lines of a list that say anything; none, where there is none, or a link (git follows none)."""
    try:
        if path.is_symlink() or not path.is_file():
            return ()
        with path.open("rb") as file:
            lines = file.read(LONGEST).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ()
    patterns = GitIgnoreSpec.from_lines(lines).patterns
    return tuple(each for each in patterns if isinstance(each, RegexPattern) and each.include is not None)
