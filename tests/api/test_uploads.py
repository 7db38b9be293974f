"""Forms as they come over the wire: whole, in pieces, odd, and broken."""

import errno
import hashlib
import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message

from app.api import uploads
from app.api.uploads import Received, UploadForm, boundary, disposed, received
from app.errors import BadInput, IbidError, InvalidField, NoRoom, TooLarge, Unavailable, WrongType
from app.settings import Ibid, Settings

KIND = "multipart/form-data; boundary=XX"
MIB = 1 << 20


def part(disposition: str, content: bytes = b"", *headers: str) -> bytes:
    """One part of a form."""
    lines = [f"Content-Disposition: form-data; {disposition}", *headers, "", ""]
    return b"--XX\r\n" + "\r\n".join(lines).encode() + content + b"\r\n"


def file(content: bytes = b"%PDF-", name: str = "a.pdf") -> bytes:
    return part(f'name="file"; filename="{name}"', content, "Content-Type: application/pdf")


def whole(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--XX--\r\n"


STATE = SimpleNamespace()
"""The app's."""


@pytest.fixture(autouse=True)
def settings(tmp_path: Path) -> None:
    """A data folder of the test's own."""
    STATE.settings = Settings(_env_file=None, ibid=Ibid(data_dir=tmp_path))


def requested(pieces: Sequence[bytes], kind: str = KIND) -> Request:
    """A request whose body comes in these pieces."""
    left = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    left.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Message:
        return left.pop(0)

    headers = [(b"content-type", kind.encode("latin-1"))]
    app = SimpleNamespace(state=STATE)
    return Request({"type": "http", "method": "POST", "headers": headers, "app": app}, receive)


async def got(*pieces: bytes, limit: int = MIB) -> tuple[Received, bytes]:
    """The form and the file's bytes."""
    async with received(requested(pieces), limit) as form:
        return form, form.path.read_bytes()


async def refused(*pieces: bytes, kind: str = KIND, limit: int = MIB) -> IbidError:
    """The problem of a form that is not taken."""
    with pytest.raises(IbidError) as caught:
        async with received(requested(pieces, kind), limit):
            raise AssertionError("it was taken")
    return caught.value


async def test_fields_and_file_are_told_apart() -> None:
    form, content = await got(
        whole(part('name="wait"', b"5"), file(b"%PDF-1"), part('name="scope"', b"global"))
    )

    assert form.fields == {"wait": "5", "scope": "global"}
    assert (form.filename, form.size, content) == ("a.pdf", 6, b"%PDF-1")
    assert form.sha256 == hashlib.sha256(content).hexdigest()


@given(content=st.binary(max_size=300), cuts=st.lists(st.integers(0, 500), max_size=6))
async def test_a_form_is_the_same_however_it_is_cut(content: bytes, cuts: list[int]) -> None:
    """Any bytes but the boundary itself; boundaries and headers may be split anywhere."""
    content = content.replace(b"--XX", b"")
    body = whole(file(content), part('name="session_id"', b"s"))
    places = sorted({min(cut, len(body)) for cut in cuts})
    pieces = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]

    form, kept = await got(*pieces)

    assert (kept, form.fields) == (content, {"session_id": "s"})


async def test_a_large_file_is_written_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory holds one block, not the file."""
    blocks: list[int] = []
    write = uploads.Sink.write

    def noted(self: uploads.Sink, block: bytearray) -> None:
        blocks.append(len(block))
        write(self, block)

    monkeypatch.setattr(uploads.Sink, "write", noted)
    content = bytes(range(256)) * 4 * 4096
    body = whole(file(content))

    _, kept = await got(*[body[n : n + 65_536] for n in range(0, len(body), 65_536)], limit=8 * MIB)

    assert kept == content
    assert len(blocks) > 10
    assert max(blocks) <= uploads.BLOCK + 65_536


BROKEN = {
    "cut": (whole(file())[:-10],),
    "empty": (b"",),
    "no-end": (file(),),
    "garbage": (b"hello",),
    "header": (b"--XX\r\nContent Disposition\r\n\r\n",),
    "nameless": (whole(part('filename="a.pdf"', b"x")),),
    "dispositionless": (b"--XX\r\nContent-Type: text/plain\r\n\r\nx\r\n--XX--\r\n",),
    "not-utf8": (whole(part('name="session_id"', b"caf\xe9"), file()),),
    "many": (whole(*[part(f'name="f{n}"') for n in range(17)]),),
    "headers": (b"--XX\r\n" + b"X-H: v\r\n" * 50,),
    "long-header": (b"--XX\r\nX-H: " + b"v" * 10_000,),
}


@pytest.mark.parametrize("pieces", BROKEN.values(), ids=BROKEN.keys())
async def test_a_broken_form_is_a_400(pieces: tuple[bytes, ...]) -> None:
    assert type(await refused(*pieces)) is BadInput


WRONG = {
    "no-file": (whole(part('name="session_id"', b"s")), "body.file"),
    "no-filename": (whole(part('name="file"', b"%PDF-")), "body.file"),
    "empty-chooser": (whole(file(b"", "")), "body.file"),
    "two-files": (whole(file(), file()), "body.file"),
    "twice": (whole(file(), part('name="wait"', b"1"), part('name="wait"', b"2")), "body.wait"),
    "long": (whole(part('name="note"', b"x" * 2_000), file()), "body.note"),
    "nothing": (b"--XX--\r\n", "body.file"),
}


@pytest.mark.parametrize(("body", "field"), WRONG.values(), ids=WRONG.keys())
async def test_a_form_of_wrong_parts_names_the_part(body: bytes, field: str) -> None:
    """It can be read, but is not what is wanted."""
    error = await refused(body)

    assert isinstance(error, InvalidField)
    assert error.field == field


async def test_a_file_over_its_limit_is_refused_at_once() -> None:
    """The rest is not read."""
    error = await refused(file(b"x" * 70)[:-2], b"never read", limit=64)

    assert isinstance(error, TooLarge)


@pytest.mark.parametrize("kind", ["", "application/json", "multipart/mixed; boundary=XX", "text/plain"])
async def test_another_content_type_is_a_415(kind: str) -> None:
    assert isinstance(await refused(b"", kind=kind), WrongType)


@pytest.mark.parametrize("kind", ["multipart/form-data", f"multipart/form-data; boundary={'b' * 71}"])
async def test_a_form_without_a_usable_boundary_is_a_400(kind: str) -> None:
    """RFC 2046 §5.1.1: 1 to 70 characters."""
    assert type(await refused(b"", kind=kind)) is BadInput


def test_a_quoted_boundary_is_read() -> None:
    """As some clients send it."""
    assert boundary('multipart/form-data; boundary="a b"') == b"a b"


DISPOSITIONS: dict[str, tuple[bytes, tuple[str, str | None]]] = {
    "plain": (b'form-data; name="file"; filename="a.pdf"', ("file", "a.pdf")),
    "utf8": ('form-data; name="file"; filename="é😀.pdf"'.encode(), ("file", "é😀.pdf")),
    "latin": (b'form-data; name="file"; filename="\xe9.pdf"', ("file", "�.pdf")),
    "quote": (b'form-data; name="file"; filename="a\\"b.pdf"', ("file", 'a"b.pdf')),
    "rfc5987": (b"form-data; name=\"file\"; filename*=UTF-8''%C3%A9.pdf", ("file", "é.pdf")),
    "rfc5987-latin": (b"form-data; name=\"file\"; filename*=iso-8859-1'en'%E9.pdf", ("file", "é.pdf")),
    "both": (b'form-data; name="file"; filename="a.pdf"; filename*=UTF-8\'\'b.pdf', ("file", "a.pdf")),
    "field": (b'form-data; name="wait"', ("wait", None)),
    "unquoted": (b"form-data; name=file; filename=a.pdf", ("file", "a.pdf")),
    "semicolon": (b'form-data; name="file"; filename="a;b.pdf"', ("file", "a;b.pdf")),
}


@pytest.mark.parametrize(("header", "found"), DISPOSITIONS.values(), ids=DISPOSITIONS.keys())
def test_names_are_read_as_clients_write_them(header: bytes, found: tuple[str, str | None]) -> None:
    """RFC 7578 §4.2: UTF-8; the extended form only where there is no plain one."""
    assert disposed(header) == found


@given(st.binary(max_size=200))
def test_no_disposition_breaks_the_reader(header: bytes) -> None:
    """It is the client's to write."""
    try:
        name, _ = disposed(header)
    except BadInput:
        return
    assert isinstance(name, str)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(body: bytes) -> None:
    """It is taken, or refused with a problem."""
    form = UploadForm(b"XX", MIB)
    with suppress(BadInput):
        form.feed(b"--XX\r\n" + body)
        form.finish()


async def test_the_file_lies_in_the_data_folder(tmp_path: Path) -> None:
    """For its owner alone, where the next start sweeps away what a kill left."""
    async with received(requested([whole(file())]), MIB) as form:
        assert form.path.parent == tmp_path / "tmp"
        assert form.path.name.startswith("ibid-")
        modes = [path.stat().st_mode & 0o777 for path in (form.path.parent, form.path)]
    assert modes == [0o700, 0o600]
    assert list((tmp_path / "tmp").iterdir()) == []


async def test_a_data_folder_that_is_gone_is_not_the_clients_fault(tmp_path: Path) -> None:
    """503: it may try again, when somebody has looked."""
    STATE.settings = Settings(_env_file=None, ibid=Ibid(data_dir=tmp_path / "gone"))

    assert isinstance(await refused(whole(file())), Unavailable)


async def test_a_full_disk_is_not_the_clients_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """507, and nothing is kept."""

    class Full(io.BytesIO):
        def write(self, block: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    make, paths = uploads.Sink.__init__, list[Path]()

    def full(self: uploads.Sink, folder: Path) -> None:
        make(self, folder)
        paths.append(self.path)
        self.file.close()
        self.file = Full()

    monkeypatch.setattr(uploads.Sink, "__init__", full)

    assert isinstance(await refused(whole(file())), NoRoom)
    assert not paths[0].exists()
