"""A stored file as a response."""

from collections.abc import AsyncIterator

import pytest
from starlette.types import Message

from app.api.files import FileStream


class Pieces:
    """A download that knows whether it was ended."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces
        self.asked = 0
        self.ended = False

    async def read(self) -> AsyncIterator[bytes]:
        """The pieces."""
        try:
            for piece in self.pieces:
                self.asked += 1
                yield piece
        finally:
            self.ended = True


async def sent(stream: FileStream) -> list[Message]:
    """What it sends."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await stream.tell(send)
    return messages


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_every_piece_is_sent_once(count: int) -> None:
    """The first, fetched ahead, included; an empty file is empty."""
    pieces = Pieces(*[b"%d" % n for n in range(count)])
    stream = await FileStream.begun(pieces.read(), "inline", size=None)

    messages = await sent(stream)

    assert b"".join(message["body"] for message in messages) == b"".join(pieces.pieces)
    assert pieces.ended


async def test_only_the_first_piece_is_fetched_before_the_head() -> None:
    """Enough to know that the store answers."""
    pieces = Pieces(b"a", b"b")

    await FileStream.begun(pieces.read(), "inline", size=None)

    assert pieces.asked == 1


@pytest.mark.parametrize(("size", "told"), [(None, None), (7, "7")])
async def test_a_known_size_is_told(size: int | None, told: str | None) -> None:
    """Else the body is chunked."""
    stream = await FileStream.begun(Pieces(b"a").read(), "inline", size=size)

    assert stream.headers.get("content-length") == told


async def test_a_file_is_for_its_asker_alone() -> None:
    """No cache between us keeps it, no other site embeds it, no browser guesses what it is."""
    headers = (await FileStream.begun(Pieces().read(), 'inline; filename="a"', size=0)).headers

    assert headers["cache-control"].startswith("private")
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-type"] == "application/pdf"
