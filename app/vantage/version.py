"""The version of the policy: one hash over everything that decides.

SHA-256 of each source and data file of this package and of the modules that it reads messages with:
thresholds, word lists, weights, code. Nobody has to remember to raise a version; editing a comment raises it
too. Line ends are normalised, so every platform and Python agrees. Read once per process.
"""

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

MAJOR = 1
"""Of the published document's form."""
LENT = (
    "answer.py",
    "answering/prompt.py",
    "text/greeting.py",
    "text/labels.py",
    "text/languages.py",
    "text/phrases.py",
    "text/sanitise.py",
)
"""Files outside of this package that take part in deciding."""


@cache
def digests() -> dict[str, str]:
    """SHA-256 of each file, by its path within the application."""
    return {name: hashlib.sha256(content(file)).hexdigest() for name, file in sorted(deciding())}


@cache
def sha256() -> str:
    """The policy's hash: SHA-256 of `digests` as canonical JSON."""
    return hashlib.sha256(json.dumps(digests(), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def version() -> str:
    """What every decision names: MAJOR and the beginning of the hash."""
    return f"{MAJOR}.{sha256()[:12]}"


def deciding() -> Iterator[tuple[str, Traversable]]:
    """Every file that decides, with its path."""
    package, app = files("app.vantage"), files("app")
    yield from ((f"vantage/{file.name}", file) for file in package.iterdir() if file.name.endswith(".py"))
    yield from ((f"vantage/data/{file.name}", file) for file in (package / "data").iterdir())
    yield from ((name, app / name) for name in LENT)


def content(file: Traversable) -> bytes:
    """A file's bytes; a text's with `\\n` at each line's end."""
    data = file.read_bytes()
    return data if file.name.endswith(".bin") else data.replace(b"\r\n", b"\n")
