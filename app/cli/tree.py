"""A repository as `ibid index code` sees it: which files are taken, and why the others are not.

Links are not followed, folders that tools fill (node_modules, caches, virtual environments) not entered,
secrets not read. A file is opened without following links or waiting, so that one that changes meanwhile into
a pipe does no harm. Paths are from the root, joined by `/`. Blocking; raises nothing for what cannot be read.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from app.cli.ignore import Rules
from app.ingest.secrets import is_secret, mask
from app.ingest.syntax import language_of

MOST_BYTES = 512 << 10
"""Of a file: what is longer is made by a machine, mostly."""
LONG_LINES, FROM = 500, 8 << 10
"""Bytes a line on average, in a file of so many, by which it was made by a machine too."""
MOST_PATH = 900
CONTROLS = 0.02
"""Share of control characters over which a file is no text."""
TOOLS = """
    .git .hg .svn .jj .bzr node_modules bower_components jspm_packages __pycache__ .venv .tox .nox .eggs
    .mypy_cache .pytest_cache .ruff_cache .hypothesis .ipynb_checkpoints .gradle .terraform .next .nuxt
    .svelte-kit .parcel-cache .turbo .yarn .pnpm-store .dart_tool .stack-work .bundle .sass-cache .idea .vs
    .ibid .import_linter_cache
"""
FOLDERS = frozenset(TOOLS.split())
LOCKS = """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lockb poetry.lock uv.lock pdm.lock
    pipfile.lock cargo.lock composer.lock gemfile.lock go.sum flake.lock packages.lock.json requirements.lock
"""
MADE = frozenset(LOCKS.split())
MADE_ENDINGS = (".min.js", ".min.mjs", ".min.css", ".bundle.js", ".map", "_pb2.py", ".pb.go")


class Reason(StrEnum):
    """Why a file, or a folder, is left out."""

    IGNORED = "ignored by git"
    FOLDER = "folder of a tool"
    LINK = "link"
    SECRET = "secret by its name"  # noqa: S105 - the reason, not one
    UNKNOWN = "neither code nor text"
    MADE = "made by a machine"
    LARGE = "too large"
    BINARY = "binary"
    EMPTY = "empty"
    NAME = "name that cannot be kept"
    UNREADABLE = "cannot be read"


@dataclass(frozen=True, slots=True)
class Skipped:
    """What is left out."""

    path: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text, as it is sent."""

    path: str
    text: str
    masked: tuple[str, ...] = ()
    """The kinds of secrets that were written over."""


@dataclass(frozen=True, slots=True)
class Root:
    """Where paths begin, and the part of it that is looked at."""

    folder: Path
    part: str
    """From the folder: "" all of it, `app` a folder, `app/main.py` a file."""
    alone: bool = False
    """No repository's: other folders may have paths of the same names."""

    def holds(self, path: str) -> bool:
        """Whether a path lies in the part."""
        return not self.part or path == self.part or path.startswith(f"{self.part}/")


def rooted(path: Path) -> Root:
    """A path's root: the repository's that it is in, unless git ignores it there; else the folder itself."""
    path = path.resolve()
    folder = path if path.is_dir() else path.parent
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if top == path:
        return Root(top, "")
    part = path.relative_to(top).as_posix() if top else ""
    if top is None or reached(top, part, folder=path.is_dir()) is None:
        return Root(folder, "" if path.is_dir() else path.name, alone=True)
    return Root(top, part)


def reached(top: Path, part: str, *, folder: bool) -> Rules | None:
    """The rules that hold in the folder of a part; None: it is ignored."""
    rules, path = Rules().inside(top, ""), ""
    names = part.split("/")
    for at, name in enumerate(names):
        path = below(path, name)
        last = at == len(names) - 1
        if rules.ignore(path, folder=folder or not last):
            return None
        if folder or not last:
            rules = rules.inside(top / path, path)
    return rules


def walk(root: Root) -> Iterator[str | Skipped]:
    """The paths of all files that may be taken, and what is left out on the way; folders by name."""
    if not (root.folder / root.part).is_dir():
        reason = unwanted(root.part)
        yield Skipped(root.part, reason) if reason else root.part
        return
    waiting = [(root.part, ruled(root))]
    while waiting:
        path, rules = waiting.pop()
        try:
            entries = sorted(os.scandir(root.folder / path), key=lambda entry: entry.name)
        except OSError:
            yield Skipped(path, Reason.UNREADABLE)
            continue
        for entry in entries:
            found = below(path, entry.name)
            reason = refused(entry, found, rules)
            if reason is not None:
                yield Skipped(found, reason)
            elif entry.is_dir(follow_symlinks=False):
                waiting.append((found, rules.inside(root.folder / found, found)))
            else:
                yield found


def ruled(root: Root) -> Rules:
    """What holds in the folder where it begins; one that is ignored begins anew."""
    rules = reached(root.folder, root.part, folder=True) if root.part else None
    return rules or Rules().inside(root.folder, "")


def below(path: str, name: str) -> str:
    """The path of what lies in a folder; "" is the root."""
    return f"{path}/{name}" if path else name


def refused(entry: os.DirEntry[str], path: str, rules: Rules) -> Reason | None:
    """Why an entry is left out, as far as its name tells."""
    folder = entry.is_dir(follow_symlinks=False)
    if entry.is_symlink():
        return Reason.LINK
    if folder and (entry.name in FOLDERS or Path(entry.path, "pyvenv.cfg").exists()):
        return Reason.FOLDER
    if rules.ignore(path, folder=folder):
        return Reason.IGNORED
    if folder:
        return None
    if not entry.is_file(follow_symlinks=False):
        return Reason.UNKNOWN
    return unwanted(path)


def unwanted(path: str) -> Reason | None:
    """Why a file is left out by its name."""
    name = PurePosixPath(path).name.lower()
    if is_secret(path):
        return Reason.SECRET
    if name in MADE or name.endswith(MADE_ENDINGS):
        return Reason.MADE
    if language_of(path) is None:
        return Reason.UNKNOWN
    return None if len(path) <= MOST_PATH and path.isprintable() else Reason.NAME


def read(root: Root, path: str) -> Text | Skipped:
    """A file's text, its secrets written over."""
    try:
        handle = os.open(root.folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Skipped(path, Reason.UNREADABLE)
    try:
        with open(handle, "rb") as file:  # noqa: PTH123 - of a handle that followed no link
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Skipped(path, Reason.UNKNOWN)
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return Skipped(path, Reason.UNREADABLE)
    return told(path, data)


def told(path: str, data: bytes) -> Text | Skipped:
    """Bytes as a text, or why they are none."""
    if len(data) > MOST_BYTES:
        return Skipped(path, Reason.LARGE)
    text = decoded(data)
    if text is None:
        return Skipped(path, Reason.BINARY)
    if not text.strip():
        return Skipped(path, Reason.EMPTY)
    if len(data) >= FROM and len(data) > LONG_LINES * (text.count("\n") + text.count("\r") + 1):
        return Skipped(path, Reason.MADE)
    return Text(path, *mask(text))


def decoded(data: bytes) -> str | None:
    """UTF-8, UTF-16 with its mark, else Latin (Windows-1252); None: binary."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    elif b"\0" in data:
        return None
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
    odd = sum(text.count(chr(sign)) for sign in range(32) if chr(sign) not in "\t\n\r\f\x1b")
    return None if "\0" in text or odd > CONTROLS * len(text) else text
