"""Clients as people have them, against the whole app: unchanged packages, and the examples of the guide."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.conftest import host, house, talk

__all__ = ["host", "house", "talk"]

HERE = Path(__file__).parent
MISSING = "install node and npm, and let npm reach its registry, to run these"
PROGRAM = shutil.which("npm") and shutil.which("node")
SECONDS = 100


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the locked packages. Without node or the registry tests are skipped, but not in CI."""
    folder = tmp_path_factory.mktemp("npm")
    for name in ("package.json", "package-lock.json", "responses.mjs"):
        shutil.copy(HERE / name, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = PROGRAM and subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if not done or done.returncode:
        message = f"{MISSING}: {done.stderr}" if done else MISSING
        pytest.fail(message) if "CI" in os.environ else pytest.skip(message)
    return folder
