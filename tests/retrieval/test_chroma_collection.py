"""The vendor's client as we use it: whatever it raises is `ChromaFault`, and it is opened once."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import httpx
import numpy as np
import pytest
from chromadb.errors import InternalError, InvalidDimensionException

from app.clients.chroma_child import Engine
from app.clients.chroma_client import ChromaFault, Client, Guard, VendorClient


@pytest.mark.parametrize(
    ("error", "down"),
    [
        pytest.param(InternalError("index"), True, id="the vendor's own failure"),
        pytest.param(InvalidDimensionException("3, not 4"), False, id="a refusal"),
        pytest.param(httpx.ReadTimeout("late"), True, id="HTTP"),
        pytest.param(ValueError("Could not connect to a Chroma server"), True, id="nobody there"),
        pytest.param(KeyError("nanosecond heartbeat"), True, id="another kind of server"),
        pytest.param(Exception("<h1>Bad Gateway</h1>"), True, id="a proxy's page"),
    ],
)
def test_whatever_the_vendor_raises_is_lost(error: Exception, *, down: bool) -> None:
    """With its kind and words, and whether it says that Chroma is down."""
    with pytest.raises(ChromaFault, match=type(error).__name__) as caught, Guard():
        raise error
    assert caught.value.down is down


@pytest.mark.parametrize("kind", [KeyboardInterrupt, AssertionError])
def test_what_is_not_the_vendors_passes(kind: type[BaseException]) -> None:
    """A bug of ours is not hidden."""
    with pytest.raises(kind), Guard():
        raise kind


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """The vendor's on a folder, closed when collected."""
    return Client(lambda: Engine(tmp_path))


def test_it_is_opened_when_first_used_and_once(tmp_path: Path) -> None:
    """Making the object costs nothing; failing to open is tried again."""
    tries: list[int] = []

    def connect() -> VendorClient:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionRefusedError("not yet")
        return Engine(tmp_path)

    client = Client(connect)
    assert tries == []
    with pytest.raises(ChromaFault, match="not yet"):
        client.beat()
    client.beat()
    client.names()
    client.close()
    assert len(tries) == 2


def test_a_collection_dropped_behind_our_back_is_made_anew_and_counted(client: Client) -> None:
    """As when a server lost its data: whoever has it may give it back."""
    client.use("ibid-c", lambda store: store.count())
    client.open().delete_collection("ibid-c")
    assert client.use("ibid-c", lambda store: store.count()) == 0
    assert client.renewals == 1
    client.close()


def test_what_we_drop_ourselves_is_no_loss(client: Client) -> None:
    """Forgotten twice, used again: nothing to be given back."""
    client.use("ibid-c", lambda store: store.count())
    for _ in range(2):
        client.forget("ibid-c")
    client.use("ibid-c", lambda store: store.count())
    assert (client.renewals, client.names()) == (0, ["ibid-c"])
    client.close()


def test_work_that_fails_is_lost(client: Client) -> None:
    """A matrix of another size, say."""
    client.use("ibid-d", lambda store: store.upsert(ids=["x"], embeddings=np.ones((1, 4), np.float32)))
    with pytest.raises(ChromaFault) as caught:
        client.use("ibid-d", lambda store: store.upsert(ids=["y"], embeddings=np.ones((1, 3), np.float32)))
    assert caught.value.down is False
    client.close()


def test_closing_what_was_never_opened_is_no_error() -> None:
    """Nor does it open it."""
    opened: list[int] = []
    Client(cast(Callable[[], VendorClient], lambda: opened.append(1))).close()
    assert opened == []
