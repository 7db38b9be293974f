"""The bundled embedder."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import TypeAlias

import numpy as np
import pytest

from app.models.bundled import Bundled, grasping, open_bundled
from app.models.encoder import DIM, MODEL, Encoder, Faults, Lanes, load
from app.types import Embedding

Loaded: TypeAlias = tuple[Encoder, Faults]

PROSE = "The council voted on Tuesday to close the northern bridge for repairs until the end of March. "


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    """The real model, loaded once."""
    return load()


@pytest.fixture
async def embedder(loaded: Loaded) -> AsyncIterator[Bundled]:
    """The real model with threads of the test's own."""
    lanes = Lanes(*loaded)
    yield Bundled(lanes)
    await lanes.close()


async def test_opens_and_closes() -> None:
    """The context loads the model and leaves no thread behind."""
    async with open_bundled() as opened:
        assert isinstance(opened.model, Lanes)
        threads = [thread for lane in opened.model.lanes.values() for thread in lane.threads]
        assert await opened.query("bridge")
    assert not any(thread.is_alive() for thread in threads)


def cosine(one: Embedding, other: Embedding) -> float:
    """Of two unit vectors."""
    return float(np.frombuffer(one, "<f4") @ np.frombuffer(other, "<f4"))


async def test_vectors_are_float32_of_unit_length(embedder: Bundled) -> None:
    """An embedding is 4 bytes a dimension, and its length is 1."""
    [vector] = await embedder.passages([PROSE])
    assert len(vector) == 4 * DIM
    assert np.linalg.norm(np.frombuffer(vector, "<f4")) == pytest.approx(1, abs=1e-6)
    assert embedder.space == "bge-small-en-v1.5-int8@384"


async def test_a_question_is_nearest_to_what_answers_it(embedder: Bundled) -> None:
    """Meaning is there: the passage that answers is nearer than one that does not."""
    asked = await embedder.query("Which road is shut?")
    near, far = await embedder.passages([PROSE, "Whisk the eggs with the sugar until they are pale."])
    assert cosine(asked, near) > cosine(asked, far) + 0.1


async def test_a_question_is_embedded_as_it_is(embedder: Bundled) -> None:
    """Without the model card's prefix, like a passage."""
    asked = await embedder.query("bridge")
    assert [asked] == await embedder.sentences(["bridge"])


async def test_the_same_text_has_the_same_vector_in_any_company(embedder: Bundled) -> None:
    """Neither the other texts of a call nor other callers change a vector: replays are identical."""
    [alone] = await embedder.passages([PROSE])
    company = await asyncio.gather(*(embedder.passages([PROSE, "short", PROSE * n]) for n in (2, 5)))
    assert {vectors[0] for vectors in company} == {alone}


@pytest.mark.parametrize(
    "text",
    ["", " ", "\0", "\ud800", "日本語のテキスト", "x" * 1_000_000, "a " * 500_000, PROSE * 200],
    ids=["empty", "blank", "nul", "surrogate", "japanese", "a megabyte of x", "a megabyte of a", "long"],
)
async def test_any_text_has_a_vector_soon(embedder: Bundled, text: str) -> None:
    """Odd or endless text is cut to what the model reads, never refused."""
    vectors = await embedder.sentences([text])
    assert {len(vector) for vector in vectors} == {4 * DIM}


async def test_a_query_does_not_wait_for_an_ingest(embedder: Bundled) -> None:
    """While a document is embedded, a query takes its own lane."""
    ingest = asyncio.create_task(embedder.passages([PROSE * 4] * 60))
    await asyncio.sleep(0.05)
    await embedder.query("Which road is shut?")
    assert not ingest.done()
    ingest.cancel()


@pytest.mark.parametrize("long", ["which road? " * 60, "哪条路?" * 50], ids=["letters", "bytes"])
async def test_a_short_query_does_not_wait_for_long_ones(long: str) -> None:
    """They have threads of their own: nobody's page holds up everybody's sentence."""
    held = threading.Event()

    def encode(text: str) -> Embedding:
        if text.startswith(long):
            held.wait(10)
        return bytes(4)

    lanes = Lanes(encode)
    embedder = Bundled(lanes)
    pages = [asyncio.create_task(embedder.query(f"{long}{n}")) for n in range(8)]
    await asyncio.sleep(0.05)
    async with asyncio.timeout(5):
        assert await embedder.query("Which road is shut?") == bytes(4)
    assert not any(page.done() for page in pages)
    held.set()
    assert await asyncio.gather(*pages) == [bytes(4)] * 8
    await lanes.close()


def test_the_bundled_model_knows_what_it_can_read() -> None:
    """English words, and of other scripts hardly more than their letters."""
    grasp = grasping(f"{MODEL}@{DIM}")
    assert grasp("Which road is shut?") == 1
    assert grasp("Какая дорога закрыта?") < 0.2


def test_the_beginning_tells_how_a_question_is_read() -> None:
    """A long one costs no more on the loop than a short one."""
    assert grasping(f"{MODEL}@{DIM}")(PROSE * 3 + "Какая дорога закрыта? " * 1_000) == 1


def test_of_a_server_s_model_nothing_is_known() -> None:
    """Its pieces are its own, and it may have learned any language."""
    assert grasping("text-embedding-3-large@1536")("Какая дорога закрыта?") == 1
