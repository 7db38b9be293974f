"""multipart/form-data with one file (RFC 7578), received into a temporary file and hashed meanwhile.

Blocks are written and hashed in a thread, so that memory stays small and the event loop free; Starlette's
form parser does neither, and would put the file on another disk. The filename is only a name, never a path,
in UTF-8; `filename*` (RFC 5987) counts if there is no plain one. The file is in the data folder's `tmp`,
which every start empties. Sizes are bytes. Raises `WrongType`, `BadInput` for a broken form, `TooLarge`,
`InvalidField` for missing or extra parts, `NoRoom`, and `Unavailable` if the disk fails.
"""

import asyncio
import errno
import hashlib
import os
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from app import disk
from app.api.middleware import MIB
from app.errors import BadInput, InvalidField, NoRoom, TooLarge, Unavailable, WrongType
from app.settings import OURS, Settings
from app.text.labels import clean

BLOCK = 256 << 10
"""Bytes that each upload collects in memory before a thread writes them."""
FIELD_BYTES = 1_000
"""Limit of a field that is not the file."""
PARTS = 16
EXTENDED = re.compile(rb"filename\*\s*=\s*\"?([\w-]+)'[^']*'([^\";\s]+)")


@dataclass(frozen=True, slots=True)
class Received:
    fields: dict[str, str]
    path: Path
    """The temporary file; deleted when the block ends."""
    filename: str
    size: int
    sha256: str


@asynccontextmanager
async def received(request: Request, limit: int) -> AsyncIterator[Received]:
    """Receive a form whose file has at most `limit` bytes; the file is deleted when the block ends."""
    form = UploadForm(boundary(request.headers.get("content-type", "")), limit)
    settings: Settings = request.app.state.settings
    sink = await asyncio.to_thread(Sink, settings.scratch)
    try:
        await receive(request, form, sink)
        await asyncio.to_thread(sink.finish)
        name = form.named()
        yield Received(form.fields, sink.path, name, form.size, sink.hash.hexdigest())
    finally:
        await asyncio.to_thread(sink.discard)


def boundary(content_type: str) -> bytes:
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data":
        raise WrongType("Send multipart/form-data with a part called file.")
    found = options.get(b"boundary", b"")
    if not 1 <= len(found) <= 70:  # RFC 2046 §5.1.1
        raise BadInput("The form's boundary is missing or too long.")
    return found


async def receive(request: Request, form: "UploadForm", sink: "Sink") -> None:
    async for piece in request.stream():
        form.feed(piece)
        if len(form.pending) >= BLOCK:
            await asyncio.to_thread(sink.write, form.take())
    form.finish()
    await asyncio.to_thread(sink.write, form.take())


@contextmanager
def room() -> Iterator[None]:
    """Turn errors of the temporary folder into `NoRoom` and `Unavailable`."""
    try:
        yield
    except OSError as error:
        kind = NoRoom if error.errno in {errno.ENOSPC, errno.EDQUOT} else Unavailable
        raise kind("The upload cannot be written to the service's disk.") from error


class Sink:
    """A temporary file and the hash of its bytes. Blocking: for threads."""

    def __init__(self, folder: Path) -> None:
        with room():
            folder.mkdir(mode=0o700, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=OURS, dir=folder)
        self.file: BinaryIO = os.fdopen(descriptor, "wb")
        self.path = Path(name)
        self.hash = hashlib.sha256()

    def write(self, block: bytearray) -> None:
        disk.check(self.path.parent, disk.RESERVE, len(block))
        with room():
            self.file.write(block)
        self.hash.update(block)

    def finish(self) -> None:
        """Closing may be when the last bytes meet a full disk."""
        with room():
            self.file.close()

    def discard(self) -> None:
        with suppress(OSError):
            self.file.close()
        self.path.unlink(missing_ok=True)


class UploadForm:
    """Parses parts as they arrive: keeps small fields, and the file's bytes until they are taken."""

    def __init__(self, separator: bytes, limit: int) -> None:
        self.fields: dict[str, str] = {}
        self.pending = bytearray()
        self.size = 0
        """Bytes of the file so far."""
        self._limit = limit
        self._filename: str | None = None
        self._parts, self._whole = 0, False
        self._header, self._value = b"", b""
        self._disposition = b""
        self._field = ""
        self._in_file = False
        self._text = bytearray()
        self._parser = MultipartParser(
            separator,
            {
                "on_part_begin": self._on_part_begin,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_part_data,
                "on_part_end": self._on_part_end,
                "on_end": self._on_end,
            },
        )

    def feed(self, piece: bytes) -> None:
        try:
            self._parser.write(piece)
        except FormParserError as error:
            raise BadInput("The form cannot be read.") from error

    def take(self) -> bytearray:
        block, self.pending = self.pending, bytearray()
        return block

    def finish(self) -> None:
        if not self._whole:
            raise BadInput("The form breaks off before its end.")

    def named(self) -> str:
        """The file's name. A browser's empty file chooser sends a part without name and bytes."""
        if self._filename is None or (not self._filename and not self.size):
            raise InvalidField("file is required, as a part with a filename", field="body.file")
        return clean(self._filename)

    def _on_part_begin(self) -> None:
        self._parts += 1
        if self._parts > PARTS:
            raise BadInput(f"The form has more than {PARTS} parts.")
        self._disposition, self._text, self._in_file = b"", bytearray(), False

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def _on_headers_finished(self) -> None:
        self._field, filename = disposed(self._disposition)
        if self._field != "file":
            return
        if filename is None or self._filename is not None:
            raise InvalidField("file must be one part with a filename", field="body.file")
        self._filename, self._in_file = filename, True

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self.pending += data[start:end]
            self.size += end - start
            if self.size > self._limit:
                raise TooLarge(f"A file has at most {self._limit // MIB} MiB.")
            return
        self._text += data[start:end]
        if len(self._text) > FIELD_BYTES:
            raise InvalidField(
                f"{self._field[:FIELD_BYTES]} must have at most {FIELD_BYTES} bytes",
                field=f"body.{self._field}"[:FIELD_BYTES],
            )

    def _on_part_end(self) -> None:
        if self._in_file:
            return
        if self._field in self.fields:
            raise InvalidField(f"{self._field} was sent twice", field=f"body.{self._field}")
        self.fields[self._field] = decoded(self._text)

    def _on_end(self) -> None:
        self._whole = True


def disposed(disposition: bytes) -> tuple[str, str | None]:
    """(name, filename if any) of a Content-Disposition."""
    _, options = parse_options_header(disposition)
    if b"name" not in options:
        raise BadInput("A part of the form has no name.")
    plain, extended = options.get(b"filename"), EXTENDED.search(disposition)
    if plain is None and extended is not None:
        return decoded(options[b"name"]), unpercented(*extended.group(2, 1))
    return decoded(options[b"name"]), None if plain is None else plain.decode("utf-8", "replace")


def unpercented(value: bytes, charset: bytes) -> str:
    """Decode RFC 5987: UTF-8 or ISO-8859-1, percent-encoded."""
    latin = charset.lower() == b"iso-8859-1"
    return unquote(value.decode("latin-1"), "latin-1" if latin else "utf-8", "replace")


def decoded(text: bytes | bytearray) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("A field of the form is not UTF-8.") from error
