"""Selects the files of a repository for `ibid index code`, with reasons for those left out.

`.gitignore` files and `.git/info/exclude` are read with pathspec. Links are not followed; folders that tools
fill (node_modules, caches, virtual environments) and secrets are left out. Paths are relative to the root,
joined by `/`. Blocking; unreadable files raise nothing.
"""

import os
import re
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from app.ingest.secrets import is_secret, mask
from app.ingest.syntax import language_of

MOST_BYTES = 512 << 10
"""Longer files are mostly generated."""
LONG_LINES, FROM = 500, 8 << 10
"""Average bytes per line, in a file of at least FROM bytes, that also indicate generated text."""
MOST_PATH = 900
CONTROLS = 0.02
"""Share of control characters above which a file is binary."""
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


class SkipReason(StrEnum):
    """Why a file or a folder is left out."""

    IGNORED = "ignored by git"
    FOLDER = "folder of a tool"
    LINK = "link"
    SECRET = "secret by its name"  # noqa: S105 - a reason for skipping, no password
    UNKNOWN = "neither code nor text"
    MADE = "made by a machine"
    LARGE = "too large"
    BINARY = "binary"
    EMPTY = "empty"
    NAME = "name that cannot be kept"
    UNREADABLE = "cannot be read"


@dataclass(frozen=True, slots=True)
class Skipped:
    path: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text as it is sent, secrets replaced."""

    path: str
    text: str
    masked: tuple[str, ...] = ()
    """Kinds of the secrets that were replaced."""


@dataclass(frozen=True, slots=True)
class Root:
    """The folder that paths are relative to, and the part of it to index."""

    folder: Path
    part: str
    """"" means all of it, `app` a folder, `app/main.py` a file."""
    alone: bool = False
    """True if not in a repository: other folders may have paths of the same names."""

    def holds(self, path: str) -> bool:
        return not self.part or path == self.part or path.startswith(f"{self.part}/")


def rooted(path: Path) -> Root:
    """The root of a path: its repository, unless that ignores the path; else the folder itself."""
    path = path.resolve()
    folder = path if path.is_dir() else path.parent
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if top == path:
        return Root(top, "")
    if top is None or is_ignored(top, path):
        return Root(folder, "" if path.is_dir() else path.name, alone=True)
    return Root(top, path.relative_to(top).as_posix())


def is_ignored(top: Path, path: Path) -> bool:
    """True if the rules of a repository exclude a path, or a folder above it."""
    rules = Rules(top)
    for above in reversed(path.parents[: path.parents.index(top)]):
        if rules.ignore(above, folder=True):
            return True
        rules.read(above)
    return rules.ignore(path, folder=path.is_dir())


def walk(root: Root) -> Iterator[str | Skipped]:
    """Paths of all files that may be taken, and skipped ones; a skipped folder is one entry. A repository
    inside this one has rules of its own."""
    place = root.folder / root.part
    if not place.is_dir():
        reason = unwanted(root.part)
        yield Skipped(root.part, reason) if reason else root.part
        return
    rules = Rules(root.folder)
    for above in reversed(place.parents[: place.relative_to(root.folder).as_posix().count("/")]):
        rules.read(above)
    waiting = [(place, rules)]
    while waiting:
        folder, rules = waiting.pop()
        rules.read(folder)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            yield Skipped(folder.relative_to(root.folder).as_posix(), SkipReason.UNREADABLE)
            continue
        for entry in entries:
            path = Path(entry.path)
            found = path.relative_to(root.folder).as_posix()
            if reason := left_out(entry, found, rules):
                yield Skipped(found, reason)
            elif not entry.is_dir(follow_symlinks=False):
                yield found
            else:
                waiting.append((path, Rules(path) if (path / ".git").exists() else rules))


def left_out(entry: os.DirEntry[str], found: str, rules: "Rules") -> SkipReason | None:
    path, is_folder = Path(entry.path), entry.is_dir(follow_symlinks=False)
    if is_folder and (entry.name in FOLDERS or (path / "pyvenv.cfg").exists()):
        return SkipReason.FOLDER
    if rules.ignore(path, folder=is_folder):
        return SkipReason.IGNORED
    if is_folder:
        return None
    if entry.is_symlink():
        return SkipReason.LINK
    return unwanted(found) if entry.is_file(follow_symlinks=False) else SkipReason.UNKNOWN


class Rules:
    """The `.gitignore` files of a repository and its folders, and the user's own (`~/.config/git/ignore`).
    The nearest that has a rule for a path decides."""

    def __init__(self, root: Path) -> None:
        self._specs: dict[Path, GitIgnoreSpec] = {}
        self._negated = False
        own = (Path.home() / ".config" / "git" / "ignore").resolve()
        self.read(root, str(own), ".git/info/exclude", ".gitignore")

    def read(self, folder: Path, *names: str) -> None:
        lines = list[str]()
        for file in (folder / name for name in names or [".gitignore"]):
            try:
                data = b"" if file.is_symlink() else file.read_bytes().removeprefix(b"\xef\xbb\xbf")
            except OSError:
                continue
            lines += os.fsdecode(data).split("\n")
        rules = [line for line in (each.removesuffix("\r") for each in lines) if compiled([line])]
        self._negated |= any(line.startswith("!") for line in rules)
        if rules and folder not in self._specs and (spec := compiled(rules)):
            self._specs[folder] = spec

    def ignore(self, path: Path, *, folder: bool) -> bool:
        """True if a path is ignored, provided that the folders above it are not. If there are `!` rules, only
        files are ignored: such a rule may be about a file in the folder."""
        if folder and self._negated:
            return False
        for above in path.parents:
            if spec := self._specs.get(above):
                below = path.relative_to(above).as_posix()
                found = spec.check_file(f"{below}/" if folder else below).include
                if found is not None:
                    return found
        return False


def compiled(lines: list[str]) -> GitIgnoreSpec | None:
    """None if pathspec cannot read a line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about regular expressions made from lines
            return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        return None


def unwanted(path: str) -> SkipReason | None:
    """Why a file is left out because of its name."""
    name = PurePosixPath(path).name.lower()
    if is_secret(path):
        return SkipReason.SECRET
    if name in MADE or name.endswith(MADE_ENDINGS):
        return SkipReason.MADE
    if language_of(path) is None:
        return SkipReason.UNKNOWN
    return None if len(path) <= MOST_PATH and path.isprintable() else SkipReason.NAME


def read(root: Root, path: str) -> FileText | Skipped:
    """A file's text, its secrets replaced. Opened without following links or waiting for a pipe."""
    try:
        handle = os.open(root.folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Skipped(path, SkipReason.UNREADABLE)
    try:
        with open(handle, "rb") as file:  # noqa: PTH123 - of a handle that followed no link
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Skipped(path, SkipReason.UNKNOWN)
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return Skipped(path, SkipReason.UNREADABLE)
    return file_text(path, data)


def file_text(path: str, data: bytes) -> FileText | Skipped:
    if len(data) > MOST_BYTES:
        return Skipped(path, SkipReason.LARGE)
    text = decoded(data)
    if text is None:
        return Skipped(path, SkipReason.BINARY)
    if not text.strip():
        return Skipped(path, SkipReason.EMPTY)
    if len(data) >= FROM and len(data) > LONG_LINES * (text.count("\n") + text.count("\r") + 1):
        return Skipped(path, SkipReason.MADE)
    return FileText(path, *mask(text))


def decoded(data: bytes) -> str | None:
    """UTF-8, UTF-16 with its mark, else Windows-1252; None if binary."""
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
