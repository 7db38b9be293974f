"""Frames: what one side sends is what the other receives, and nothing else."""

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from app.clients.frame import receive, send

MESSAGES = st.dictionaries(
    st.text(max_size=8).filter(lambda key: key != "shape"),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=8,
    ),
    max_size=6,
)
MATRICES = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9))


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends."""
    one, other = socket.socketpair()
    with one, other:
        yield one, other


@given(MESSAGES, st.none() | MATRICES)
def test_what_is_sent_is_received(message: dict[str, object], matrix: np.ndarray | None) -> None:
    """Any JSON object, lone surrogates too, and the matrix to the last bit, NaNs and empty ones too."""
    one, other = socket.socketpair()
    with one, other:
        send(one, message, matrix)
        told, found = receive(other)
    assert told == message
    if matrix is None:
        assert found is None
    else:
        assert found is not None
        assert (found.shape, found.tobytes()) == (matrix.shape, matrix.tobytes())


def test_several_frames_keep_their_order(pair: tuple[socket.socket, socket.socket]) -> None:
    """And their bounds, though the socket has none."""
    for number in range(5):
        send(pair[0], {"n": number}, np.full((number, 2), number, np.float32))
    received = [receive(pair[1]) for _ in range(5)]
    assert [message["n"] for message, _ in received] == list(range(5))
    assert [None if matrix is None else matrix.shape for _, matrix in received] == [
        (number, 2) for number in range(5)
    ]


def test_other_numbers_arrive_as_float32(pair: tuple[socket.socket, socket.socket]) -> None:
    """Also columns of a larger matrix, which lie apart in memory."""
    columns: Any = np.arange(12, dtype=np.float64).reshape(3, 4)[:, ::2]
    send(pair[0], {}, columns)
    found = receive(pair[1])[1]
    assert found is not None
    assert (found.dtype.name, found.tolist()) == ("float32", columns.tolist())


@pytest.mark.parametrize("sent", [pytest.param(0, id="between frames"), pytest.param(9, id="within one")])
def test_the_end_of_the_other_side_is_told(pair: tuple[socket.socket, socket.socket], sent: int) -> None:
    """A frame that broke off is no frame."""
    send(pair[0], {"n": 1})
    whole = pair[1].recv(1 << 16)
    pair[0].sendall(whole[:sent])
    pair[0].close()
    with pytest.raises(EOFError):
        receive(pair[1])
