"""Embedding spaces and their floors; tokens, and whose vocabulary is o200k."""

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from app.errors import StartError
from app.models.bundled import FLOOR
from app.models.client import VENDOR, Server
from app.models.encoder import DIM, MODEL
from app.models.spaces import LARGE, QUESTIONS, TEXTS, Choice, choose, measure, open_embedder
from app.models.tokens import O200k
from app.settings import Embed, OpenAI, Settings
from app.types import Space
from tests.fakes.model import Fault, bag, model_server

BUNDLED = Space(f"{MODEL}@{DIM}", MODEL, DIM, 0.38)
STORED = Space(f"{LARGE}@1536", LARGE, 1536, 0.05)
OTHER = Space("nomic@768", "nomic", 768, 0.3)

KEYED = OpenAI(api_key=SecretStr("k"))
AT_VENDOR = Server(VENDOR, "k")


def configured(
    openai: OpenAI | None = None, *, model: str | None = None, dim: int | None = None, url: str | None = None
) -> Settings:
    """Settings of the embedding model."""
    return Settings(openai=openai or OpenAI(), embed=Embed(model=model, dim=dim, base_url=url))


@pytest.mark.parametrize(
    ("settings", "recorded", "expected"),
    [
        (configured(), None, Choice(MODEL, DIM)),
        (configured(KEYED), None, Choice(LARGE, 1536, AT_VENDOR)),
        (configured(KEYED, dim=256), None, Choice(LARGE, 256, AT_VENDOR)),
        (configured(), BUNDLED, Choice(MODEL, DIM)),
        (configured(KEYED), BUNDLED, Choice(MODEL, DIM)),
        (configured(KEYED), STORED, Choice(LARGE, 1536, AT_VENDOR)),
        (configured(KEYED), OTHER, Choice("nomic", 768, AT_VENDOR)),
        (configured(KEYED, model="nomic"), OTHER, Choice("nomic", 768, AT_VENDOR)),
        (configured(KEYED, model="nomic"), None, Choice("nomic", None, AT_VENDOR)),
        (configured(KEYED, model="bundled"), None, Choice(MODEL, DIM)),
        (configured(model=MODEL), BUNDLED, Choice(MODEL, DIM)),
    ],
    ids=[
        "nothing set",
        "a key",
        "a key and a dimension",
        "recorded: bundled",
        "recorded before a key came",
        "recorded: the vendor's",
        "recorded: another model",
        "the recorded one named",
        "a new model",
        "bundled by its short name",
        "bundled by name",
    ],
)
def test_the_space_to_work_in(settings: Settings, recorded: Space | None, expected: Choice) -> None:
    """EMBED_MODEL; else what the stores record; else the vendor's with a key; else the bundled model."""
    assert choose(settings, recorded) == expected


@pytest.mark.parametrize(
    ("settings", "recorded"),
    [
        (configured(KEYED, model=LARGE), BUNDLED),
        (configured(model="bundled"), STORED),
        (configured(KEYED, dim=256), STORED),
        (configured(KEYED, model=LARGE, dim=256), STORED),
    ],
    ids=["another model", "bundled", "another dimension", "both named"],
)
def test_another_space_than_the_stored_one_stops_the_start(settings: Settings, recorded: Space) -> None:
    """Vectors of two spaces are never mixed; the message names the space and the command that moves."""
    with pytest.raises(StartError, match="ibid reembed") as told:
        choose(settings, recorded)
    assert recorded.name in told.value.detail


def test_a_recorded_space_without_vectors_gives_way() -> None:
    """While nothing is stored, another model can be configured freely."""
    assert choose(configured(KEYED, model="nomic"), BUNDLED, stored=False) == Choice("nomic", None, AT_VENDOR)


@pytest.mark.parametrize(
    ("settings", "recorded", "says"),
    [
        (configured(), STORED, "OPENAI_API_KEY"),
        (configured(model="nomic"), None, "OPENAI_API_KEY"),
        (configured(url="http://own/v1"), None, "EMBED_MODEL"),
        (configured(model="bundled", dim=512), None, "EMBED_DIM"),
    ],
    ids=[
        "no server for the stored space",
        "no server",
        "a server without a model",
        "an impossible dimension",
    ],
)
def test_what_cannot_work_stops_the_start(settings: Settings, recorded: Space | None, says: str) -> None:
    """A setting that is missing or impossible is named."""
    with pytest.raises(StartError, match=says):
        choose(settings, recorded)


async def test_a_new_space_is_measured() -> None:
    """A space first used gets its dimensions from the model and its floor from the unrelated pairs."""
    async with model_server(dim=48) as fake:
        settings = configured(model="nomic", url=fake.url)
        async with open_embedder(settings, None) as (embedder, space):
            assert embedder.space == space.name == "nomic@48"
    cosines = [float(np.dot(bag(q, 48), bag(t, 48))) for q in QUESTIONS for t in TEXTS]
    assert (space.model, space.dim) == ("nomic", 48)
    assert space.floor == pytest.approx(statistics.median(cosines), abs=1e-6)


async def test_a_recorded_space_is_not_measured_again() -> None:
    """The floor is kept with the space: starting asks the server nothing."""
    async with model_server() as fake:
        settings = configured(url=fake.url)
        async with open_embedder(settings, OTHER) as (embedder, space):
            assert (embedder.space, space) == ("nomic@768", OTHER)
    assert fake.requests == []


@pytest.mark.parametrize("fault", [Fault(status=404), Fault(dim=5)], ids=["unknown model", "wrong dimension"])
async def test_a_model_that_cannot_be_measured_stops_the_start(fault: Fault) -> None:
    """A first start with a wrong URL, name, key or dimension says what to check."""
    async with model_server(fault=fault) as fake:
        with pytest.raises(StartError, match="EMBED_BASE_URL"):
            async with open_embedder(configured(model="nomic", dim=64, url=fake.url), None):
                pass


async def test_the_bundled_floor() -> None:
    """Unrelated texts of the bundled space lie near .38, so that 0.2 means the same as elsewhere. What is
    written down is what is measured; processors differ in the fourth digit."""
    async with open_embedder(configured(), None) as (embedder, space):
        assert space == Space(BUNDLED.name, MODEL, DIM, FLOOR)
        floor, dim = await measure(embedder)
        assert floor == pytest.approx(FLOOR, abs=0.002)
        assert dim == space.dim


@settings(deadline=None)  # the first example loads the vocabulary
@given(st.text(st.characters(), max_size=300), st.text(st.characters(), max_size=300))
def test_any_text_has_a_count(one: str, other: str) -> None:
    """Texts joined never count more than their bytes, and the empty text counts nothing."""
    tokens = O200k()
    joined = tokens.count(one + other)
    assert tokens.count("") == 0
    assert joined <= 3 * len((one + other).encode("utf-8", "surrogatepass"))
    assert (joined == 0) == (one + other == "")
