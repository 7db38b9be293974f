"""Runs a script of `tests/clients` with packages of npm as they are, which the first run installs."""

import fcntl
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

CLIENTS = Path(__file__).parents[1] / "clients"
INSTALL_SECONDS, RUN_SECONDS = 300, 120


def node(script: str, *arguments: str, said: str = "") -> Any:
    """What the script prints, as JSON. Skips the test where node or its packages are missing, but not in
    CI."""
    if why := missing():
        if "CI" in os.environ:
            pytest.fail(why)
        pytest.skip(why)
    done = run("node", script, *arguments, said=said, seconds=RUN_SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@cache
def missing() -> str:
    if not (shutil.which("node") and shutil.which("npm")):
        return "install node and npm to run these"
    lock, installed = CLIENTS / "package-lock.json", CLIENTS / "node_modules" / ".package-lock.json"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
            return ""
        done = run("npm", "ci", "--no-audit", "--no-fund", seconds=INSTALL_SECONDS)
        return f"npm ci failed: {done.stderr[-500:]}" if done.returncode else ""


def run(*command: str, said: str = "", seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=CLIENTS, input=said, capture_output=True, text=True, timeout=seconds, check=False
    )
