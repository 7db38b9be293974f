"""The policy as a document (`GET /vantage/policy`): rules in order, thresholds, a digest of each module
and each data file that decides, and one hash.

The hash is SHA-256 over the document as canonical JSON. In it stands a digest of what is written in every
module of this room and in those of `app.domain` that it reads messages with: a word of a table, a threshold,
a line of a function. So nobody has to remember to raise a version. Comments, docstrings, annotations and
layout do not count, nor how Python was started. A tenth of a second, once a process. Nothing here raises.
"""

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import app.vantage as room
from app.vantage import contract, params, rivals, rules, score
from app.vantage.emergencies import EMERGENCIES
from app.vantage.features import STAKES
from app.vantage.harms import RISKS
from app.vantage.hedges import HEDGES
from app.vantage.mix import LENSES
from app.vantage.routes import DETOURS, ORDER
from app.vantage.rules import RULES
from app.vantage.terms import ResponseClass

MAJOR = 1
"""Of the document's form."""
LENT = (
    "greeting",
    "label",
    "overlay",
    "phrases",
    "prompt",
    "sanitise",
    "tongue",
)
"""Modules of `app.domain` that decide with this room: what greets, what a word is, and what of an asker's
overlay is read."""
UNREAD = frozenset({"annotation", "returns", "type_comment", "kind", "ctx"})
"""Fields of a syntax tree that decide nothing, or say again what its form says."""


@cache
def policy() -> Mapping[str, object]:
    """JSON-ready; the same mapping for all, not to be written to."""
    body = _body()
    digest = _sha256(body)
    return {"version": f"{MAJOR}.{digest[:12]}", "sha256": digest, **body}


def version() -> str:
    """What every decision names: MAJOR and the beginning of the hash."""
    return str(policy()["version"])


def _body() -> dict[str, object]:
    """Everything but its own hash."""
    return {
        "classes": list(ResponseClass),
        "order": ORDER,
        "rules": [
            {"id": rule.id, "when": rule.text(), "class": rule.gives, "says": rule.says, "final": rule.final}
            for rule in RULES
        ],
        "thresholds": {name: of for name, of in sorted(vars(rules).items()) if isinstance(of, float)},
        "rivals": {name: of for name, of in sorted(vars(rivals).items()) if isinstance(of, float | int)},
        "detours": DETOURS,
        "params": {
            "bounds": {name: {"least": low, "most": high} for name, (low, high) in params.BOUNDS.items()},
            "table": {name: asdict(line) for name, line in params.TABLE.items()},
        },
        "contracts": {
            kind: {clause: contract.CLAUSES[clause] for clause in clauses}
            for kind, clauses in contract.CONTRACTS.items()
        },
        "descriptors": {"risk": RISKS, "stakes": STAKES},
        "emergencies": EMERGENCIES,
        "hedges": {name: len(phrases.split("|")) for name, phrases in HEDGES.items() if name},
        "lenses": list(LENSES),
        "scores": {"heads": list(score.Scores._fields), "sha256": score.digest()},
        "data": data(),
        "tables": tables(),
    }


def data() -> dict[str, str]:
    """SHA-256 of each data file, by name: word lists and weights."""
    folder = Path(__file__).parent / "data"
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def tables() -> dict[str, str]:
    """SHA-256 of what is written in each module that decides, by name: its tables and its rules."""
    names = sorted(found.name for found in iter_modules(room.__path__))
    own = {name: f"{room.__name__}.{name}" for name in names}
    lent = {f"domain.{name}": f"app.domain.{name}" for name in LENT}
    return {name: digest(source(module)) for name, module in {**own, **lent}.items()}


def source(module: str) -> str:
    """The text of a module as it is installed; "" where it is there without one."""
    spec = find_spec(module)
    read = getattr(spec and spec.loader, "get_source", None)
    return (read(module) if read else None) or ""


def digest(text: str) -> str:
    """SHA-256 of what a module's text says to Python, the same for every Python that reads it."""
    return hashlib.sha256("".join(_signs(ast.parse(text))).encode()).hexdigest()


class Sign(str):
    """Punctuation of a tree: no word of a module can be taken for it."""

    __slots__ = ()


OPEN, SHUT, END = Sign("["), Sign("]"), Sign(")")


def _signs(tree: ast.AST) -> Iterator[str]:
    """The tree in reading order, each node with its name and its fields; a text that only documents is left
    out, and so are empty fields, since every Python adds some of its own."""
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AST):
            yield f"({type(node).__name__}"
            waiting.append(END)
            if not isinstance(node, ast.Expr) or not _documents(node):
                waiting += _fields(node)
        elif isinstance(node, list):
            waiting += (SHUT, *reversed(node), OPEN)
        else:
            yield node if isinstance(node, Sign) else f"{node!a},"


def _documents(node: ast.Expr) -> bool:
    """Whether a statement is a text that nobody takes."""
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _fields(node: ast.AST) -> list[object]:
    """What a node holds, last first."""
    held: list[object] = []
    for name in reversed(_read(node._fields)):
        value = getattr(node, name, None)
        if value is not None and value != []:
            held += (value, Sign(f" {name}="))
    return held


@cache
def _read(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Those fields of a node that count."""
    return tuple(name for name in fields if name not in UNREAD)


def _sha256(value: object) -> str:
    """Of its canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
