"""The load generator's HTTP: whatever way bytes arrive in, the body is the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.wire import Body, post

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"


@given(pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=8), cut=st.integers(1, 17))
def test_a_chunked_body_is_whole_however_it_is_cut(pieces: list[bytes], cut: int) -> None:
    """Chunks are put together again from reads of any size, and the end is seen at the end alone."""
    framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    body = Body(CHUNKED)
    for at in range(0, len(framed), cut):
        body.feed(framed[at : at + cut])
    assert not body.done
    body.feed(b"0\r\n\r\n")
    assert body.done
    assert b"".join(body.pieces) == b"".join(pieces)


@pytest.mark.parametrize(("length", "done"), [(0, True), (3, False)], ids=["empty", "three bytes"])
def test_a_body_with_a_length_ends_after_it(length: int, done: bool) -> None:
    """Not before, not after."""
    body = Body(b"HTTP/1.1 200 OK\r\nContent-Length: %d" % length)
    assert body.done is done
    body.feed(b"ab")
    assert body.done is done
    body.feed(b"c")
    assert body.done


def test_a_request_names_its_length() -> None:
    """The head tells as many bytes as the body has."""
    head, _, body = post("/x", {"message": "ä"}).partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head
