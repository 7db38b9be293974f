"""Dying: what was acknowledged is there afterwards. Stopping and starting: `test_replay.py`."""

import os
import signal
import time

import pytest

from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, service

QUESTION = "What does the ferry carry?"


def text(n: int) -> bytes:
    """A document of its own."""
    return text_pdf(f"The ferry number {n} carries {n} barrels of herring.")


def killed(running: Service) -> None:
    """kill -9, as power loss would leave it."""
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()


def test_kill_9_loses_no_acknowledged_document(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Killed with a 202 just given: after the start the document becomes ready; a 201 is still ready."""
    folder = tmp_path_factory.mktemp("killed") / "data"
    with service(folder) as running:
        assert running.upload("done.pdf", text(7)).status_code == 201
        accepted = running.upload("pending.pdf", text(8), wait="0")
        assert accepted.status_code in (201, 202)
        killed(running)
    with service(folder) as running:
        path = f"/api/documents/{accepted.json()['id']}"
        patience = time.monotonic() + 60
        while running.client.get(path).json()["state"] == "processing" and time.monotonic() < patience:
            time.sleep(0.2)
        assert running.client.get(path).json()["state"] == "ready"
        labels = {item["label"].split("#")[0] for item in running.chat(QUESTION)["citations"]}
    assert labels == {"done.pdf", "pending.pdf"}
