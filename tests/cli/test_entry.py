"""The program's first step: all is loaded without looking for garbage, and nothing that is not needed."""

import gc
import subprocess
import sys

import pytest

from app.cli import program
from app.cli.entry import main

LATE = (
    *("aiohttp", "alembic", "chromadb", "chromadb_rust_bindings", "httpx", "httpx2", "onnxruntime", "openai"),
    *("pypdfium2", "qdrant_client", "redis", "sqlalchemy", "tokenizers"),
)
"""Half a second of a processor and more each, with what they bring; opened when they are used."""

EVERY = "from app.cli.program import COMMANDS, own; [own(name) for name in COMMANDS]"
"""All commands, and with them a whole service."""


def test_heavy_vendors_wait_until_they_are_used() -> None:
    """Whatever a command imports, it does not pay for what its settings do not ask for."""
    code = f"import sys; {EVERY}; print(sorted(set({LATE!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_collector_rests_until_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """And works again when the program begins."""
    seen: list[bool] = []
    monkeypatch.setattr(program, "main", lambda: seen.append(gc.isenabled()))
    main()
    assert seen == [True]
