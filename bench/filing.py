"""Files the corpus without its PDFs: in a data folder of Ibid's, or in a Chroma folder for the by-hand app.

usage: python -m bench.filing ibid|byhand FOLDER ROWS [LAYOUT]
A process of its own, before the service starts.
Goes through the very stores that an upload ends in (record, Chroma, words); only reading and embedding are
left out. LAYOUT: `bench/layout.py`.
"""

import asyncio
import hashlib
import sys
import time
from pathlib import Path

from app.db.documents import DocumentStore, Upload
from app.models.tokens import O200k
from app.settings import load
from app.types import Chunk, ParsedDocument, Scope
from app.wiring import Resources, open_resources
from bench.byhand import collection
from bench.corpus import text
from bench.layout import EVERYBODYS, File, files
from bench.vectors import Vectors, centres, vectors


def parsed(file: File) -> ParsedDocument:
    """As the parser would give it: two passages a page."""
    count = O200k().count
    texts = [text(row) for row in file.rows]
    chunks = tuple(
        Chunk(n, body, (n + 1) // 2, (n + 1) // 2, "", count(body)) for n, body in enumerate(texts, 1)
    )
    return ParsedDocument(len(texts) // 2, "", chunks)


async def file_one(parts: Resources, record: DocumentStore, file: File, around: Vectors, path: Path) -> None:
    """Admits and ingests, with vectors from the corpus. `path` holds the file's bytes."""
    scope = Scope(tenant=file.home.tenant, session_id=file.home.session)
    content = file.name.encode()
    await asyncio.to_thread(path.write_bytes, content)
    upload = Upload(path, file.name, len(content), hashlib.sha256(content).hexdigest(), file.home.session)
    document, _ = await record.admit(scope, upload)
    placed = await record.placed(document.id)
    assert placed is not None
    read = await asyncio.to_thread(parsed, file)
    embeddings = [row.astype("<f4").tobytes() for row in vectors(file.rows, around)]
    await record.keep_chunks(document.id, read, embeddings, parts.embedder.space)
    await record.make_ready(document.id)


async def file_ibid(rows: int, layout: str) -> None:
    """Into the data folder that IBID_DATA_DIR names. The jobs that stay behind find their work done."""
    settings, _ = load(None)
    around = centres()
    async with open_resources(settings) as parts:
        record = DocumentStore(parts.pool)
        for file in files(rows, layout):
            await file_one(parts, record, file, around, settings.scratch / "bench.pdf")
        await parts.chroma_outbox.drain()


def file_byhand(folder: Path, rows: int, layout: str) -> None:
    """Into a Chroma folder, as the by-hand app wants it: it knows sessions, but no tenants."""
    found, around = collection(folder), centres()
    count = O200k().count
    for file in files(rows, layout):
        texts = [text(row) for row in file.rows]
        shared = file.home == EVERYBODYS
        where = {
            "scope": "global" if shared else "session",
            "session_id": file.home.session or file.home.tenant,
        }
        found.add(
            ids=[f"{file.name}#{n}" for n in range(1, len(texts) + 1)],
            documents=texts,
            embeddings=vectors(file.rows, around),
            metadatas=[
                where | {"label": f"{file.name}#{n}", "page": (n + 1) // 2, "tokens": count(body)}
                for n, body in enumerate(texts, 1)
            ],
        )


def main() -> None:
    """File, and say how long it took."""
    kind, folder, rows, layout = sys.argv[1], sys.argv[2], int(sys.argv[3]), (*sys.argv[4:], "shared")[0]
    began = time.perf_counter()
    if kind == "ibid":
        asyncio.run(file_ibid(rows, layout))
    else:
        file_byhand(Path(folder), rows, layout)
    print(f"{rows} passages filed for {kind} in {time.perf_counter() - began:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
