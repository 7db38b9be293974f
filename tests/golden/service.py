"""`ibid serve` of any checkout, started as its users start it and spoken to over HTTP alone."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

START_SECONDS, STOP_SECONDS = 120.0, 20.0
BOOTSTRAP = "golden-bootstrap-key-2f9c1e7a40d5"
"""The tenant key of the tenant `default`, whose name in the script is home."""


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The machine's, with no setting but the given."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONWARNINGS": "", **settings}


@contextmanager
def service(program: Path, folder: Path, settings: Mapping[str, str]) -> Iterator[httpx.Client]:
    """A client of the service on a data folder; stopped by SIGTERM, and dead after the block in any case."""
    port = free_port()
    command = [str(program), "serve", f"--port={port}", f"--data-dir={folder}"]
    written = folder.with_suffix(".log")
    with written.open("ab") as log:
        process = subprocess.Popen(
            command, env=environment(settings), stdout=log, stderr=log, cwd=folder.parent
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120, trust_env=False) as client:
            wait_for(client, process, written)
            yield client
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def wait_for(client: httpx.Client, process: subprocess.Popen[bytes], written: Path) -> None:
    """Until the service answers; what it wrote if it does not come to that."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.get("/healthz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"the service did not start: {written.read_text()}")


def made_key(program: Path, folder: Path, tenant: str, *, user: str | None = None) -> str:
    """A key made by the command line while the service runs."""
    command = [str(program), "keys", "create", "--json", f"--data-dir={folder}"]
    whose = [f"--tenant={tenant}", *([f"--user={user}"] if user else [])]
    done = subprocess.run(
        [*command, *whose], env=environment({}), cwd=folder.parent, capture_output=True, check=True
    )
    return str(json.loads(done.stdout)["key"])
