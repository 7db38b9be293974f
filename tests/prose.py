"""Plain English in docstrings, comments and documentation: `python -m tests.prose`, a part of `make check`.

Reports phrases that say too little or in private words, with file, line and what to write instead. Text in
backticks, code blocks and headings is not checked. `prose_allowed.txt` lists how many phrases a folder of
Python may still have; documentation may have none, nor may any file cite one outside the project. After
moving or mending text, `--write` records today's numbers; it refuses to let their sum grow. Exits with 1 if
there are findings.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ALLOWED = Path(__file__).with_name("prose_allowed.txt")
PYTHON = ("app", "tests", "bench", "alembic", "training")
SPARED = frozenset({"tests/prose.py", "tests/test_prose.py"})


class Rule(NamedTuple):
    """A phrase, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


CITE = "a reference to a file of the project"
RULES = (
    Rule(
        re.compile(r"\b(?:is|are|was|were|be|been|being) told\b"),
        "an active verb: returns, reports, receives, shows",
    ),
    Rule(re.compile(r"\b(?:[Ss]tands?|[Ss]tood)\b(?!-)"), "is, appears, remains; `stands in for`: replaces"),
    Rule(re.compile(r"\blies?\b"), "is"),
    Rule(re.compile(r"\bof (?:ours|theirs)\b"), "our, their; or name the owner"),
    Rule(
        re.compile(r"(?:^|[.;:] )(?:What|Who|Whoever|Whatever|Whose|Whom)\b(?![^.]*\?)"),
        "the noun as the subject: `The text that …`, `Callers …`",
    ),
    Rule(re.compile(r"^Whether\b"), "`True if …`"),
    Rule(re.compile(r"\bas ever\b"), "as usual, unchanged"),
    Rule(re.compile(r"\bat hand\b"), "available"),
    Rule(re.compile(r"\blet go\b"), "released, closed"),
    Rule(re.compile(r"\banew\b"), "again"),
    Rule(re.compile(r"\b(?:by|of) (?:words and )?meaning\b|\bby words\b"), "lexical and dense retrieval"),
    Rule(
        re.compile(r"\b(?:word|meaning|both|dense|retrieval) legs?\b|\blegs\b"), "lexical and dense retrieval"
    ),
    Rule(
        re.compile(
            r"(?i)\b(?:bookcases?|shelf|shelves|lodged|parcels?|keepers?|strays?|twofold|tally|tallies|upkeep)\b"
        ),
        "the textbook word: index cache, alias, codec, child process, cache, repair",
    ),
    Rule(
        re.compile(r"\b[A-Z]{5,}(?:\.md)? §|\bseeds? 0\d\d\b|\b[Ii]ssue \d|docs/decisions"),
        CITE,
    ),
)


class Finding(NamedTuple):
    """A phrase in a file of the project, with its line from 1."""

    file: str
    line: int
    phrase: str
    instead: str


def markdown(text: str) -> Iterator[tuple[int, str]]:
    """Lines of prose: no code, no headings."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.startswith("```")
        if not code and not line.startswith(("```", "    ", "#")):
            yield number, re.sub(r"^[-*0-9.| ]+", "", line)


def python(text: str) -> Iterator[tuple[int, str]]:
    """Lines of docstrings, also of attributes, and comments."""
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield from enumerate(map(str.strip, value.value.split("\n")), value.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def found_in(file: str, text: str) -> Iterator[Finding]:
    """Findings in the text of a file; its name tells which kind it is."""
    for number, line in markdown(text) if file.endswith(".md") else python(text):
        plain = re.sub(r"`[^`]*`", "`", line)
        for rule in RULES:
            if match := rule.pattern.search(plain):
                yield Finding(file, number, match[0].strip(" .;:"), rule.instead)


def findings() -> list[Finding]:
    files = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    files += [file for folder in PYTHON for file in (ROOT / folder).rglob("*.py")]
    names = sorted(str(file.relative_to(ROOT)) for file in files)
    return [
        finding
        for name in names
        if name not in SPARED
        for finding in found_in(name, (ROOT / name).read_text(encoding="utf-8"))
    ]


def place(finding: Finding) -> str:
    """The first two folders of a Python file; the file itself where nothing is allowed."""
    never = finding.file.endswith(".md") or finding.instead == CITE
    return finding.file if never else "/".join(finding.file.split("/")[:-1][:2])


def allowed() -> Counter[str]:
    """Findings that each folder may still have."""
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    return Counter({name: int(number) for number, name in (line.split() for line in lines)})


def write(today: Counter[str]) -> None:
    """Record today's numbers. Raises `SystemExit` if there are more than before."""
    if today.total() > allowed().total() or any(name.endswith((".md", ".py")) for name in today):
        sys.exit(
            f"{today.total()} findings, {allowed().total()} are allowed; documentation and citations none"
        )
    ALLOWED.write_text("".join(f"{today[name]:5} {name}\n" for name in sorted(today)), encoding="utf-8")


def main() -> None:
    every = findings()
    today, most = Counter(place(finding) for finding in every), allowed()
    if "--write" in sys.argv:
        write(today)
        return
    over = {name for name, number in today.items() if number > most[name]}
    for finding in every:
        if place(finding) in over:
            sys.stdout.write(f"{finding.file}:{finding.line}: {finding.phrase!r}: write {finding.instead}\n")
    if over:
        sys.exit(
            "Prose (moved text? python -m tests.prose --write): "
            + ", ".join(f"{name} {today[name]} (allowed {most[name]})" for name in sorted(over))
        )


if __name__ == "__main__":
    main()
