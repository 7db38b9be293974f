"""The published policy, and its version."""

import ast
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.vantage import version as versions
from app.vantage.decision import RULES
from app.vantage.policy import policy
from app.vantage.terms import ResponseClass
from app.vantage.version import LENT, content, deciding, digests, sha256, version

HASH = "from app.vantage.policy import policy; print(policy()['sha256'])"
PLACES = (
    ((), {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"}),
    (("-OO",), {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Marquesas"}),
)
HANDED = {"answer.py", "answering/prompt.py", "text/labels.py"}
"""Files that the package does not import, but that prepare the overlay it reads."""


def test_it_says_what_an_auditor_asks() -> None:
    """Rules in order with their conditions, thresholds, parameters, contracts, tables."""
    told = policy()
    shown = told["rules"]
    assert isinstance(shown, list)
    assert [(rule["id"], rule["class"], rule["when"]) for rule in shown] == [
        (rule.id, rule.gives, rule.text()) for rule in RULES
    ]
    assert {"version", "sha256", "classes", "order", "rules", "thresholds", "detours", "params"} <= set(told)
    assert {"contracts", "descriptors", "emergencies", "hedges", "lenses", "tables"} <= set(told)
    thresholds = told["thresholds"]
    assert isinstance(thresholds, dict)
    assert thresholds["SURE"] == 0.7
    assert {
        "DOUBTFUL",
        "NOT_HELD",
        "NEGOTIATED",
        "HINTED",
        "EXTRACTED",
        "DESPAIR_TOLD",
        "DESPAIR_ASKED",
    } <= set(thresholds)
    assert {"en", "de", "es", "fr", "*"} == set(told["languages"])  # type: ignore[call-overload]
    assert "not a moderation service" in str(told["scope"])
    assert told["classes"] == list(ResponseClass)


def test_whoever_has_the_document_can_compute_its_hash() -> None:
    """SHA-256 over the digests of all files as canonical JSON."""
    tables = json.dumps(policy()["tables"], sort_keys=True, separators=(",", ":"))
    assert policy()["sha256"] == sha256() == hashlib.sha256(tables.encode()).hexdigest()
    assert policy()["version"] == version()
    assert version().endswith(sha256()[:12])


def test_processes_agree_on_the_hash() -> None:
    """Whatever their hash seed, locale and time zone, and with or without assertions and docstrings."""
    started = [
        subprocess.Popen([sys.executable, *how, "-c", HASH], env=os.environ | place, stdout=subprocess.PIPE)
        for how, place in PLACES
    ]
    found = [process.communicate(timeout=60)[0].decode().strip() for process in started]
    assert found == [sha256()] * len(PLACES)


@pytest.mark.parametrize("name", ["vantage/decision.py", "vantage/data/score.bin", "text/languages.py"])
def test_whoever_changes_a_file_that_decides_changes_the_hash(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code, weights, and the modules that messages are read with."""
    before = sha256()
    monkeypatch.setattr(
        versions, "content", lambda file: content(file) + (b" " if f"/{file}".endswith(name) else b"")
    )
    digests.cache_clear()
    sha256.cache_clear()
    try:
        assert sha256() != before
    finally:
        digests.cache_clear()
        sha256.cache_clear()


def test_everything_that_decides_is_hashed() -> None:
    """Every source and data file of the package, and every module of `app.text` that it imports, however
    far that reaches."""
    package = Path(versions.__file__).parent
    own = {f"vantage/{path.name}" for path in package.glob("*.py")}
    data = {f"vantage/data/{path.name}" for path in (package / "data").iterdir()}
    assert {name for name, _ in deciding()} == own | data | set(LENT)
    waiting = list(package.glob("*.py"))
    reached: set[str] = set()
    while waiting:
        new = imported(waiting.pop()) - reached
        reached |= new
        waiting += [package.parent / name for name in new]
    assert reached | HANDED == set(LENT)


def imported(path: Path) -> set[str]:
    """The modules of `app.text` that one imports."""
    nodes = (
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
    )
    names = (node.module or "" for node in nodes)
    return {
        f"{name.removeprefix('app.').replace('.', '/')}.py" for name in names if name.startswith("app.text.")
    }
