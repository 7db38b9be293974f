"""Which embedding space this process works in, and the space's floor.

A space is a model and its dimensions; vectors of two are never compared. EMBED_MODEL unset means: the space
recorded in the stores; else text-embedding-3-large shortened to 1536 if a key is set; else the bundled model
(CONTRACT, Settings). The floor is a raw cosine, see `domain/space.py`. Raises `StartError`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import numpy as np
import structlog

from app.config import Settings
from app.domain.errors import RetrievalError, StartError
from app.domain.passage import Embedding
from app.domain.ports import Embedder
from app.domain.space import Space, space_name
from app.models import embedder as bundled
from app.models.embeddings import open_embeddings
from app.models.encoder import DIM, MODEL
from app.models.openai import Server, server
from app.models.unrelated import QUESTIONS, TEXTS

log = structlog.get_logger(__name__)

LARGE = "text-embedding-3-large"
DIMS = {LARGE: 1536, MODEL: DIM}
"""1536: an HNSW index of pgvector takes 2,000 at most, and the seeds' tables are vector(1536)."""
ALIASES = {"bundled": MODEL}
AT_ONCE = 8
MEASURE_SECONDS = 120.0
PATIENCE_SHARE = 0.45
"""Of RAG_TIMEOUT_SECONDS: a query is given half of it at least (`services/retrieval.py`)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The space to work in. `dim` None: whatever the model gives. `at` None: the bundled model."""

    model: str
    dim: int | None
    at: Server | None = None


def choose(settings: Settings, recorded: Space | None, *, stored: bool = True) -> Choice:
    """The space that the settings and the stores' recorded one amount to. `stored`: there are vectors of
    the recorded one, so another stops the start."""
    model = model_of(settings, recorded)
    same = recorded if recorded and recorded.model == model else None
    dim = dim_of(settings, model, same)
    if recorded and stored and (same is None or dim != same.dim):
        raise StartError(
            f"the stores hold vectors of {recorded.name}, but {space_name(model, dim or 0)} is configured: "
            "run `ibid reembed`, or set EMBED_MODEL and EMBED_DIM back"
        )
    return Choice(model, dim, reachable(settings, model, dim))


def model_of(settings: Settings, recorded: Space | None) -> str:
    """The model that is set, else the stores', else the default."""
    model = settings.embed.model or (recorded.model if recorded else default_model(settings))
    return ALIASES.get(model, model)


def dim_of(settings: Settings, model: str, recorded: Space | None) -> int | None:
    """The dimensions that are set, else the stores', else those we ask for; None: the model decides."""
    return settings.embed.dim or (recorded.dim if recorded else DIMS.get(model))


def default_model(settings: Settings) -> str:
    """The model where neither a setting nor a store names one."""
    if settings.embed.api_key or settings.openai.api_key:
        return LARGE
    if settings.embed.base_url:
        raise StartError("EMBED_BASE_URL is set, but EMBED_MODEL is not: name the server's embedding model")
    return MODEL


def reachable(settings: Settings, model: str, dim: int | None) -> Server | None:
    """Where a model is asked; None: it is bundled."""
    if model == MODEL:
        if dim != DIM:
            raise StartError(f"EMBED_DIM={dim}: {model} has {DIM} dimensions")
        return None
    at = server(settings.embed, settings.openai)
    if at is None:
        raise StartError(
            f"{model} needs OPENAI_API_KEY or EMBED_BASE_URL; to use the bundled model instead, "
            "set EMBED_MODEL=bundled and run `ibid reembed`"
        )
    return at


@asynccontextmanager
async def open_embedder(
    settings: Settings, recorded: Space | None, *, stored: bool = True, apart: bool = False
) -> AsyncIterator[tuple[Embedder, Space]]:
    """The embedder, and its space: the recorded one as it is, a new one with its floor measured. `apart`: a
    bundled model in a process of its own."""
    choice = choose(settings, recorded, stored=stored)
    async with opened(choice, PATIENCE_SHARE * settings.rag.timeout_seconds, apart=apart) as embedder:
        known = recorded and recorded.name == space_name(choice.model, choice.dim or 0)
        yield embedder, recorded if recorded and known else await first_used(embedder, choice)


def opened(choice: Choice, patience: float, *, apart: bool) -> AbstractAsyncContextManager[Embedder]:
    """The embedder of a choice; `patience` seconds without an answer to a query are a failure."""
    if choice.at is None:
        return bundled.open_bundled(apart=apart)
    return open_embeddings(choice.at, choice.model, choice.dim, patience)


async def first_used(embedder: Embedder, choice: Choice) -> Space:
    """A space's record, made when it is first used: its dimensions and its floor."""
    if choice.at is None:
        return Space(space_name(MODEL, DIM), MODEL, DIM, bundled.FLOOR)
    try:
        floor, dim = await measure(embedder)
    except (RetrievalError, TimeoutError) as error:
        raise StartError(
            f"the embedding model {choice.model} does not answer as it should "
            f"({error if isinstance(error, RetrievalError) else 'timeout'}): "
            "check EMBED_BASE_URL, EMBED_MODEL, EMBED_DIM and the key"
        ) from error
    log.info("embedding space", space=space_name(choice.model, dim), floor=round(floor, 3))
    return Space(space_name(choice.model, dim), choice.model, dim, floor)


async def measure_floor(embedder: Embedder) -> float:
    """Median raw cosine over the unrelated pairs. Raises `RetrievalError`."""
    floor, _ = await measure(embedder)
    return floor


async def measure(embedder: Embedder) -> tuple[float, int]:
    """(floor, dimensions)."""
    asked: list[Embedding] = []
    for start in range(0, len(QUESTIONS), AT_ONCE):
        async with asyncio.timeout(MEASURE_SECONDS):  # a slow server may take its time for all of them
            asked += await asyncio.gather(*map(embedder.query, QUESTIONS[start : start + AT_ONCE]))
    async with asyncio.timeout(MEASURE_SECONDS):
        questions, texts = matrix(asked), matrix(await embedder.passages(TEXTS))
    return float(np.median(questions @ texts.T)), texts.shape[1]


def matrix(vectors: list[Embedding]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Embeddings as rows."""
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
