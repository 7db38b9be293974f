"""Does the evidence reach the model? Asks every question of a folder, through HTTP, and looks at the pages.

usage: python -m bench.quality FOLDER [CACHE]     (make eval DATA=FOLDER)
FOLDER/questions.jsonl has {file, question, pages}; files are PDFs relative to FOLDER. A question counts as a
hit when a packed passage of its file covers one of its evidence pages (physical, from 1). Measured twice:
in a session that holds the question's file alone, and with all files global. Intervals are Wilson's, 95 %.
Vectors are kept in the folder CACHE for the next run, where `ibid eval` keeps them if left out.
"""

import asyncio
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from bench.memo import remembering

Question = Mapping[str, Any]
PAUSE_SECONDS = 1.0
"""Between looks at a file that takes long."""


def questions(folder: Path) -> list[Question]:
    """The questions of a folder."""
    lines = (folder / "questions.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def session(file: str) -> str:
    """A session's name for a file."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in file)[:200]


async def upload(client: httpx.AsyncClient, name: str, content: bytes, form: Mapping[str, str]) -> str:
    """Make a file searchable; its id."""
    files = {"file": (name, content, "application/pdf")}
    response = await client.post("/api/documents", data={**form, "wait": "300"}, files=files)
    told = response.json()
    while response.status_code == httpx.codes.ACCEPTED or told.get("state") == "processing":
        await asyncio.sleep(PAUSE_SECONDS)
        response = await client.get(f"/api/documents/{told['id']}", params=dict(form))
        told = response.json()
    if response.is_error or told["state"] != "ready":
        raise SystemExit(f"{name}: {response.status_code} {response.text}")
    return str(told["id"])


async def rank(client: httpx.AsyncClient, question: Question, name: str) -> int | None:
    """Position of the first packed passage on an evidence page, from 1; None: none."""
    body = {"message": question["question"], "session_id": name, "stream": False, "history": []}
    reply = (await client.post("/api/chat", json=body)).raise_for_status().json()
    file, pages = Path(question["file"]).name, set(question["pages"])
    for position, citation in enumerate(reply["citations"], 1):
        covered = range(citation["page"], citation["page_end"] + 1)
        if citation["label"].rpartition("#")[0] == file and pages.intersection(covered):
            return position
    return None


def interval(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval of a share (Wilson 1927)."""
    if not total:
        return 0.0, 1.0
    share, spread = hits / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    return middle - half, middle + half


async def measure(folder: Path, cache: Path | None, *, shared: bool) -> dict[str, Any]:
    """Hits over all questions: with every file global, or each in a session of its own."""
    asked = questions(folder)
    async with remembering(cache) as client:
        for file in sorted({question["file"] for question in asked}):
            form = {"scope": "global"} if shared else {"session_id": session(file)}
            await upload(client, Path(file).name, (folder / file).read_bytes(), form)
        found = [
            await rank(client, each, "everything" if shared else session(each["file"])) for each in asked
        ]
    return told(found, "global" if shared else "own session")


def told(found: Sequence[int | None], files: str) -> dict[str, Any]:
    """The figures of a run. `positions`: a question each, as they are in the file."""
    positions = [position for position in found if position]
    low, high = interval(len(positions), len(found))
    return {
        "files": files,
        "questions": len(found),
        "hits": len(positions),
        "interval": [round(low, 3), round(high, 3)],
        **{f"hits@{most}": sum(position <= most for position in positions) for most in (5, 10, 20)},
        "positions": list(found),
    }


def main() -> None:
    """Print one JSON line a measurement."""
    if len(sys.argv) not in (2, 3) or not (Path(sys.argv[1]) / "questions.jsonl").is_file():
        raise SystemExit(__doc__)
    cache = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    for shared in (False, True):
        print(json.dumps(asyncio.run(measure(Path(sys.argv[1]), cache, shared=shared))), flush=True)


if __name__ == "__main__":
    main()
