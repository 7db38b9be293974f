"""Uploads a file and waits until it is searchable, in a process of its own so that its work is nobody else's.

usage: python -m bench.upload PORT PATH SESSION. Prints {seconds, document}.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import httpx

PATIENCE_SECONDS = 900


def main(port: int, path: Path, session: str) -> None:
    """One upload; 300 s is the longest that the service lets one wait."""
    began = perf_counter()
    with httpx.Client(
        base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS, trust_env=False
    ) as client:
        with path.open("rb") as file:
            form = {"session_id": session, "wait": "300"}
            reply = client.post("/api/documents", data=form, files={"file": (path.name, file)})
        document = reply.raise_for_status().json()
    told = {"status": reply.status_code, "seconds": perf_counter() - began, "document": document}
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
