"""multipart/form-data with one file (RFC 7578), parsed by Starlette and copied into the data folder.

The temporary file is in the data folder's `tmp`, which every start empties; copying and hashing happen in a
thread. Sizes are bytes. Raises `WrongType`, `BadInput` for a broken form, `TooLarge`, `InvalidField` for
missing or extra parts, `NoRoom`, and `Unavailable` if the disk fails.
"""

import asyncio
import errno
import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from app import disk
from app.api.middleware import MIB
from app.errors import InvalidField, NoRoom, TooLarge, Unavailable, WrongType
from app.settings import OURS, Settings
from app.text.labels import clean

BLOCK = 1 << 20
FIELD_BYTES = 1_024
"""Limit of a field that is not the file."""
FIELDS = 16
"""Limit of fields of one form."""


@dataclass(frozen=True, slots=True)
class Received:
    """A whole form."""

    fields: dict[str, str]
    path: Path
    """The temporary file; deleted when the block ends."""
    filename: str
    size: int
    sha256: str


@asynccontextmanager
async def received(request: Request, limit: int) -> AsyncIterator[Received]:
    """Receive a form whose file has at most `limit` bytes; the file is deleted when the block ends."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "multipart/form-data":
        raise WrongType("Send multipart/form-data with a part called file.")
    settings: Settings = request.app.state.settings
    path: Path | None = None
    try:
        with room():
            async with request.form(max_files=1, max_fields=FIELDS, max_part_size=FIELD_BYTES) as form:
                file, fields = parts(form)
                if (file.size or 0) > limit:
                    raise TooLarge(f"A file has at most {limit // MIB} MiB.")
                path = await asyncio.to_thread(new_file, settings.scratch)
                sha256 = await asyncio.to_thread(copy, file.file, path, file.size or 0)
        yield Received(fields, path, clean(file.filename or ""), file.size or 0, sha256)
    finally:
        if path:
            await asyncio.to_thread(path.unlink, missing_ok=True)


def parts(form: FormData) -> tuple[UploadFile, dict[str, str]]:
    """The file, and the other fields by name. An empty file chooser of a browser sends a part without name
    and bytes."""
    fields: dict[str, str] = {}
    found: UploadFile | None = None
    for name, value in form.multi_items():
        if isinstance(value, UploadFile) and name == "file":
            found = value
        elif isinstance(value, UploadFile) or name == "file":
            raise InvalidField("file must be one part with a filename", field="body.file")
        elif name in fields:
            raise InvalidField(f"{name} was sent twice", field=f"body.{name}")
        else:
            fields[name] = value
    if found is None or not (found.filename or found.size):
        raise InvalidField("file is required, as a part with a filename", field="body.file")
    return found, fields


@contextmanager
def room() -> Iterator[None]:
    """Turn errors of the temporary folders into `NoRoom` and `Unavailable`."""
    try:
        yield
    except OSError as error:
        kind = NoRoom if error.errno in {errno.ENOSPC, errno.EDQUOT} else Unavailable
        raise kind("The upload cannot be written to the service's disk.") from error


def new_file(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=OURS, dir=folder)
    os.close(descriptor)
    return Path(name)


def copy(file: BinaryIO, path: Path, size: int) -> str:
    """Copy the file to `path`; returns its SHA-256."""
    disk.check(path.parent, disk.RESERVE, size)
    digest = hashlib.sha256()
    with path.open("wb") as target:
        while block := file.read(BLOCK):
            target.write(block)
            digest.update(block)
    return digest.hexdigest()
