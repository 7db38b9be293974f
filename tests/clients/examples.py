"""Runs the examples of a guide page: its `sh` and `python` blocks, in order, as written but for the URL."""

import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
ADDRESS = "http://127.0.0.1:8000"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 90


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, text) of each example of a page of the guide."""
    return BLOCK.findall((GUIDE / page).read_text(encoding="utf-8"))


def run_examples(page: str, url: str, folder: Path) -> list[str]:
    """The output of each; they run in `folder`, against the service at `url`. Raises `AssertionError` for one
    that fails."""
    return [run_example(language, text.replace(ADDRESS, url), folder) for language, text in blocks(page)]


def run_example(language: str, text: str, folder: Path) -> str:
    command = ["/bin/sh", "-ec", text] if language == "sh" else [sys.executable, "-c", text]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "HOME": str(folder), "NO_PROXY": "*", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout
