"""Does the evidence reach the model? Asks every question of a folder, through HTTP, and looks at the pages.

usage: python -m bench.quality FOLDER     (make eval DATA=FOLDER)
FOLDER/questions.jsonl has {file, question, pages}; files are PDFs relative to FOLDER. A question counts as a
hit when a packed passage of its file covers one of its evidence pages (physical, from 1). Measured twice:
in a session that holds the question's file alone, and with all files global. Intervals are Wilson's, 95 %.
"""

import asyncio
import json
import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from bench.service import service

Question = Mapping[str, Any]


def questions(folder: Path) -> list[Question]:
    """The questions of a folder."""
    lines = (folder / "questions.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def session(file: str) -> str:
    """A session's name for a file."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in file)[:200]


async def upload(client: httpx.AsyncClient, name: str, content: bytes, form: Mapping[str, str]) -> float:
    """Seconds until a file is searchable."""
    began = time.perf_counter()
    files = {"file": (name, content, "application/pdf")}
    response = await client.post("/api/documents", data={**form, "wait": "300"}, files=files)
    if response.status_code not in (200, 201):
        raise SystemExit(f"{name}: {response.status_code} {response.text}")
    return time.perf_counter() - began


async def rank(client: httpx.AsyncClient, question: Question, name: str) -> tuple[int | None, int]:
    """Position of the first packed passage on an evidence page, from 1 (None: none), and the milliseconds
    that retrieval took."""
    body = {"message": question["question"], "session_id": name, "stream": False, "history": []}
    reply = (await client.post("/api/chat", json=body)).raise_for_status().json()
    file, pages = Path(question["file"]).name, set(question["pages"])
    for position, citation in enumerate(reply["citations"], 1):
        covered = range(citation["page"], citation["page_end"] + 1)
        if citation["label"].rpartition("#")[0] == file and pages.intersection(covered):
            return position, reply["rag"]["took_ms"]
    return None, reply["rag"]["took_ms"]


def interval(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval of a share (Wilson 1927)."""
    if not total:
        return 0.0, 1.0
    share, spread = hits / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    return middle - half, middle + half


async def measure(folder: Path, *, shared: bool) -> dict[str, Any]:
    """Hits over all questions: with every file global, or each in a session of its own."""
    asked = questions(folder)
    files = sorted({question["file"] for question in asked})
    async with service(RAG_CACHE_TTL_SECONDS="0") as client:
        forms = [{"scope": "global"} if shared else {"session_id": session(file)} for file in files]
        contents = {file: (folder / file).read_bytes() for file in files}
        seconds = [
            await upload(client, Path(file).name, contents[file], form)
            for file, form in zip(files, forms, strict=True)
        ]
        names = ["everything" if shared else session(question["file"]) for question in asked]
        found = [await rank(client, question, name) for question, name in zip(asked, names, strict=True)]
    positions = [position for position, _ in found if position]
    low, high = interval(len(positions), len(asked))
    return {
        "files": "global" if shared else "own session",
        "questions": len(asked),
        "hits": len(positions),
        "interval": [round(low, 3), round(high, 3)],
        "hits@5": sum(position <= 5 for position in positions),
        "hits@10": sum(position <= 10 for position in positions),
        "hits@20": sum(position <= 20 for position in positions),
        "retrieval_ms_median": sorted(took for _, took in found)[len(found) // 2],
        "slowest_upload_s": round(max(seconds), 1),
        "uploads_s": round(sum(seconds), 1),
    }


def main() -> None:
    """Print one JSON line a measurement."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "questions.jsonl").is_file():
        raise SystemExit(__doc__)
    for shared in (False, True):
        print(json.dumps(asyncio.run(measure(Path(sys.argv[1]), shared=shared))), flush=True)


if __name__ == "__main__":
    main()
