"""Which files of a repository `ibid index code` takes, and why it leaves out the others.

Git lists the files where it is installed and the folder is a repository; else `.gitignore` files are read
with pathspec. Links are not followed, folders that tools fill (node_modules, caches, virtual environments)
and secrets are left out. Paths are relative to the root, joined by `/`. Blocking; raises nothing for what
cannot be read.
"""

import os
import re
import shutil
import stat
import subprocess
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
"""Bytes a line on average, in a file of at least so many, that mark generated text too."""
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


INHERITED = ("-uGIT_DIR", "-uGIT_WORK_TREE", "-uGIT_INDEX_FILE")
"""What a hook sets, for another repository perhaps."""
CLOSED = re.compile(rb"could not open directory '(.*)': ")
"""git's warning about a folder that it cannot read."""


class Reason(StrEnum):
    """Why a file or a folder is left out."""

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
    path: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Text:
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
    """Not in a repository: other folders may have paths of the same names."""

    def holds(self, path: str) -> bool:
        """True if a path is in the part."""
        return not self.part or path == self.part or path.startswith(f"{self.part}/")


def rooted(path: Path) -> Root:
    """The root of a path: its repository, unless that ignores the path; else the folder itself."""
    path = path.resolve()
    folder = path if path.is_dir() else path.parent
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if top == path:
        return Root(top, "")
    if top is None or is_ignored(top, path.relative_to(top).as_posix(), folder=path.is_dir()):
        return Root(folder, "" if path.is_dir() else path.name, alone=True)
    return Root(top, path.relative_to(top).as_posix())


def is_ignored(top: Path, part: str, *, folder: bool) -> bool:
    done = git(top, "check-ignore", "-q", "--", part)
    if done and done.returncode in (0, 1):
        return done.returncode == 0
    rules = Rules(top)
    parents = [str(each) for each in PurePosixPath(part).parents][-2::-1]
    for each in parents:
        if rules.ignore(each, folder=True):
            return True
        rules.read(each)
    return rules.ignore(part, folder=folder)


def walk(root: Root) -> Iterator[str | Skipped]:
    """The paths of all files that may be taken, and what is left out; folders that are left out are one
    entry."""
    if not (root.folder / root.part).is_dir():
        reason = unwanted(root.part)
        yield Skipped(root.part, reason) if reason else root.part
        return
    listed = None if root.alone else listed_by_git(root.folder, root.part)
    tools, reported = dict[str, str | None](), set[str]()
    for each in listed_by_rules(root.folder, root.part) if listed is None else listed:
        if isinstance(each, Skipped):
            yield each
            continue
        folder = str(PurePosixPath(each).parent)
        if folder not in tools:
            tools[folder] = tool_folder(root, folder)
        if tool := tools[folder]:
            if tool not in reported:
                reported.add(tool)
                yield Skipped(tool, Reason.FOLDER)
            continue
        try:
            mode = (root.folder / each).lstat().st_mode
        except FileNotFoundError:
            continue  # deleted, and still known to git
        except OSError:
            yield Skipped(each, Reason.UNREADABLE)
            continue
        if stat.S_ISDIR(mode):  # a repository inside this one
            for inner in walk(Root(root.folder / each, "")):
                if isinstance(inner, Skipped):
                    yield Skipped(f"{each}/{inner.path}", inner.reason)
                else:
                    yield f"{each}/{inner}"
            continue
        reason = unwanted(each) if stat.S_ISREG(mode) else Reason.UNKNOWN
        reason = Reason.LINK if stat.S_ISLNK(mode) else reason
        yield Skipped(each, reason) if reason else each


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes] | None:
    """Run git on the repository of a folder; None without git, or if the folder is no repository."""
    program = shutil.which("git")
    if program is None or not (folder / ".git").exists():
        return None
    env = ("/usr/bin/env", *INHERITED, "LC_ALL=C", f"GIT_CEILING_DIRECTORIES={folder.parent}")
    # A repository's own configuration may name a program as its file watcher.
    options = ("--literal-pathspecs", "-c", "core.fsmonitor=false", "-C", str(folder))
    command = (*env, program, *options, *arguments)
    return subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - fixed arguments


def listed_by_git(folder: Path, part: str) -> list[str | Skipped] | None:
    """Tracked files and those that are not ignored; None if git does not work there."""
    found: list[str | Skipped] = []
    for arguments, ignored in ((["--cached"], False), (["--ignored", "--directory"], True)):
        listing = ("ls-files", "-z", "--others", "--exclude-standard", *arguments)
        done = git(folder, *listing, *(["--", part] if part else []))
        if done is None or done.returncode:
            return None
        names = sorted({name.rstrip("/") for name in os.fsdecode(done.stdout).split("\0")} - {""})
        for name in names:
            tool = ignored and is_tool_folder(folder / name)
            reason = Reason.FOLDER if tool else Reason.IGNORED
            found.append(Skipped(name, reason) if ignored else name)
    unread = CLOSED.findall(done.stderr) if done else []
    return found + [Skipped(os.fsdecode(name).rstrip("/"), Reason.UNREADABLE) for name in unread]


class Rules:
    """The `.gitignore` files of a root and its folders; the nearest that has a rule for a path decides."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._specs: dict[str, GitIgnoreSpec] = {}
        self._negated = False
        self.read("")

    def read(self, folder: str) -> None:
        """Add the rules of a folder; "" is the root."""
        lines = list[str]()
        for name in ([".git/info/exclude"] if not folder else []) + [".gitignore"]:
            try:
                file = self._root / folder / name
                data = b"" if file.is_symlink() else file.read_bytes().removeprefix(b"\xef\xbb\xbf")
                lines += os.fsdecode(data).split("\n")
            except OSError:
                continue
        rules = [line for line in (each.removesuffix("\r") for each in lines) if compiled([line])]
        self._negated |= any(line.startswith("!") for line in rules)
        if rules and (spec := compiled(rules)):
            self._specs[folder] = spec

    def ignore(self, path: str, *, folder: bool) -> bool:
        """True if a path is ignored, provided that the folders above it are not. If there are `!` rules, only
        files are ignored: such a rule may be about a file in the folder."""
        if folder and self._negated:
            return False
        for above in map(str, PurePosixPath(path).parents):
            spec = self._specs.get("" if above == "." else above)
            if spec:
                below = path if above == "." else path[len(above) + 1 :]
                found = spec.check_file(f"{below}/" if folder else below).include
                if found is not None:
                    return found
        return False


def compiled(lines: list[str]) -> GitIgnoreSpec | None:
    """None if pathspec cannot read a line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of regular expressions that lines become
            return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        return None


def listed_by_rules(folder: Path, part: str) -> Iterator[str | Skipped]:
    """As `listed_by_git`, without git. Repositories inside are listed as one path, as git does."""
    rules = Rules(folder)
    for parent in [str(each) for each in PurePosixPath(part).parents][-2::-1]:
        rules.read(parent)
    waiting = [part]
    while waiting:
        path = waiting.pop()
        if path:
            rules.read(path)
        try:
            entries = sorted(os.scandir(folder / path), key=lambda entry: entry.name)
        except OSError:
            yield Skipped(path, Reason.UNREADABLE)
            continue
        for entry in entries:
            found = f"{path}/{entry.name}" if path else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and is_tool_folder(Path(entry.path)):
                yield Skipped(found, Reason.FOLDER)
            elif rules.ignore(found, folder=is_folder):
                yield Skipped(found, Reason.IGNORED)
            elif is_folder and not Path(entry.path, ".git").exists():
                waiting.append(found)
            else:
                yield found


def tool_folder(root: Root, folder: str) -> str | None:
    """The outermost folder of a tool that a folder is, or is in, below the part."""
    path = PurePosixPath(folder)
    above = [str(each) for each in (path, *path.parents) if each.name and len(str(each)) > len(root.part)]
    return next((each for each in reversed(above) if is_tool_folder(root.folder / each)), None)


def is_tool_folder(path: Path) -> bool:
    return path.name in FOLDERS or (path / "pyvenv.cfg").exists()


def unwanted(path: str) -> Reason | None:
    """Why a file is left out because of its name."""
    name = PurePosixPath(path).name.lower()
    if is_secret(path):
        return Reason.SECRET
    if name in MADE or name.endswith(MADE_ENDINGS):
        return Reason.MADE
    if language_of(path) is None:
        return Reason.UNKNOWN
    return None if len(path) <= MOST_PATH and path.isprintable() else Reason.NAME


def read(root: Root, path: str) -> Text | Skipped:
    """A file's text, its secrets replaced. Opened without following links or waiting for a pipe."""
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
    """Bytes as a text, or why they are not one."""
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
