"""The folder of the embedded Chroma: looked at, tidied, opened, tried; all in the child process that has it.

Chroma is an index of what Postgres has, so a folder that cannot be used may be lost: `put_aside` moves it
away as `chroma.broken-<time>`, and an empty one takes its place. Raises `OSError` for what is no fault of
the folder's content (rights, a full disk), `Lost` for what is.
"""

import re
import shutil
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from app.clients.collection import Client, Lost, Matrix, VendorClient, VendorCollection
from app.clients.engine import Engine

REMADE_MOST = 50_000
"""Live vectors up to which a folder is made anew: no part is then too large to be searched exactly without
Chroma, so the answers are the same while it fills again."""
SLOTS_SPARE = 200
"""Places that two fresh collections set aside."""
ROOM = 1 << 20
"""Bytes that must fit: a full disk is no fault of the folder."""
HEADER = struct.Struct("<i6QiI3QdQ")
"""Of a saved index, version 1 (hnswlib, saveIndex): [3] elements, [4] bytes of each at the lowest level."""
LINKS = struct.Struct("<I")
"""Before the links of each element at the levels above: how many bytes they are."""
SAMPLE = 8
"""Vectors read from either end of a collection."""
UNFILLED = "unfilled"
"""A file in a folder that began empty, until the record has given back what it lacks: a refill that was
interrupted is begun anew."""
CANARY = "ibid:canary"
"""Id of a vector written and deleted at each start; no document's (`<document>:<ordinal>`)."""
SCARCE = re.compile(r"disk is full|No space left|locked|readonly|Permission denied|Too many open files")
"""What the vendor says where the machine is at fault. Moving the folder would mend nothing."""


def open_folder(folder: Path, *, look: bool = False) -> tuple[Client, bool]:
    """The vendor's client on a folder that works, tidied; whether it began empty and was not filled since.
    `look`: nothing is tidied, and nothing written in trying it."""
    make_room(folder)
    if not look and (done := tidy(folder)):
        sys.stderr.write(f"{done}\n")
    folder.mkdir(exist_ok=True)
    begin(folder, look=look)
    for header in folder.glob("*/header.bin"):
        measure(header)
    client = Client(partial(embedded, folder))
    for name in client.names():
        client.use(name, hum if look else sing)
    return client, (folder / UNFILLED).exists()


def begin(folder: Path, *, look: bool) -> None:
    """Note that a folder begins empty. `Lost` where it is only looked at."""
    database = folder / "chroma.sqlite3"
    if database.exists() and database.stat().st_size:
        return
    if look:
        raise Lost(f"{database} is missing")
    (folder / UNFILLED).touch()


def embedded(folder: Path) -> VendorClient:
    """The vendor's engine on a folder."""
    return Engine(folder)


def make_room(folder: Path) -> None:
    """A folder that can be written to. `OSError`; `Lost` if something else has its place."""
    if folder.exists() and not folder.is_dir():
        raise Lost(f"{folder} is no folder")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(ROOM))
        file.flush()
    database = folder / "chroma.sqlite3"
    if database.exists():
        database.open("r+b").close()


def measure(header: Path) -> None:
    """Hold an index's files against its header: one that was cut still opens, and finds less. `Lost`."""
    content = header.read_bytes()
    if len(content) != HEADER.size or content[:4] != LINKS.pack(1):
        return  # not as we know it: to be tried, like all else
    fields = HEADER.unpack(content)
    data = header.with_name("data_level0.bin")
    if not data.exists() or data.stat().st_size < fields[3] * fields[4]:
        raise Lost(f"{data} is cut")
    follow(header.with_name("link_lists.bin"), fields[3])


def follow(links: Path, elements: int) -> None:
    """Hold the links of the levels above against the number of elements. `Lost`."""
    found, at = links.read_bytes() if links.exists() else b"", 0
    for _ in range(elements):
        if at + LINKS.size > len(found):
            raise Lost(f"{links} is cut")
        at += LINKS.size + LINKS.unpack_from(found, at)[0]
    if at > len(found):
        raise Lost(f"{links} is cut")


def sing(store: VendorCollection) -> None:
    """Try what a collection is used for: damaged files are opened without a word, and fail, or end the
    process, when they are first read or written."""
    row = hum(store)
    if row is not None:
        store.upsert(ids=[CANARY], embeddings=row, metadatas=[{"document": CANARY}])
        store.delete(ids=[CANARY])


def hum(store: VendorCollection) -> Matrix | None:
    """Try to read it; a row of it, None: it has none."""
    count = store.count()
    if count == 0:
        return None
    store.get(limit=SAMPLE, offset=max(0, count - SAMPLE), include=["embeddings"])
    found = store.get(limit=SAMPLE, include=["embeddings"])
    row = np.asarray(found["embeddings"][:1], dtype=np.float32)
    store.query(query_embeddings=row, n_results=1, include=[])
    return row


def put_aside(folder: Path) -> None:
    """Move the folder out of the way, in place of one moved earlier. Nothing there is no error."""
    for older in folder.parent.glob(f"{folder.name}.broken-*"):
        shutil.rmtree(older, ignore_errors=True)
    if folder.exists():
        folder.rename(folder.with_name(f"{folder.name}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S}"))


def tidy(folder: Path) -> str:
    """Give back what the vendor never does: files of dropped collections, and places of deleted vectors.

    The folder must be ours alone and not open. Where most places are of the dead it is removed whole:
    Postgres is the record, and what is missing is given back. Says so.
    """
    try:
        with closing(
            sqlite3.connect(f"{(folder / 'chroma.sqlite3').absolute().as_uri()}?mode=rw", uri=True)
        ) as db:
            segments = {row[0] for row in db.execute("SELECT id FROM segments")}
            live = db.execute("SELECT count(*) FROM embeddings").fetchone()[0]
    except sqlite3.Error:
        return ""  # none yet, or not as we know it: the vendor will say what is wrong
    sizes = list(folder.glob("*/length.bin"))
    drop([size.parent for size in sizes if size.parent.name not in segments])
    # Four bytes a place, of the living and the dead.
    dead = sum(size.stat().st_size for size in sizes if size.exists()) // 4 - live
    if dead <= live + SLOTS_SPARE or live > REMADE_MOST:
        return ""
    shutil.rmtree(folder)
    return f"the folder is made anew: {dead} places of the dead, {live} of the living"


def drop(folders: Sequence[Path]) -> None:
    """Remove folders, as far as it goes."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
