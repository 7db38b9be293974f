"""Embedding spaces: which one this process uses, and the similarity floor of each.

A space is a model and its dimensions; vectors of two spaces are never compared. With EMBED_MODEL unset it is
the space recorded in the stores, else text-embedding-3-large shortened to 1536 if a key is set, else the
bundled model. The floor is the median raw cosine over all pairs of QUESTIONS and TEXTS, which are unrelated;
changing them affects only floors measured later. Raises `StartError`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import structlog

from app.errors import RetrievalError, StartError
from app.models.base import Embedder
from app.models.bundled import FLOOR, Bundled, open_bundled
from app.models.client import Server, server
from app.models.embeddings import open_embeddings
from app.models.encoder import DIM, MODEL
from app.settings import Settings
from app.types import Embedding, Space, space_name

QUESTIONS = (
    "How long do I boil an egg?",
    "What time does the library close on Saturdays?",
    "my back hurts after running",
    "Which visa do I need for a three-month stay as a student?",
    "difference between term and whole life insurance",
    "How do I reset the password of my router?",
    (
        "What were the company's total revenues in the third quarter, and how do they compare with the year "
        "before?"
    ),
    "Is it safe to take ibuprofen with blood thinners?",
    "When is the deadline for the tax return?",
    "Can you recommend a quiet beach in Portugal?",
    "Why does my sourdough not rise?",
    "How many employees does the firm have in Asia?",
    "What is the capital of Mongolia?",
    "Write a short apology to a customer whose parcel was late",
    "What does the warranty of the washing machine cover?",
    "how to train a puppy not to bite",
    "Which vitamins are in spinach?",
    "Does the hotel have parking?",
    "What should I wear to a winter wedding?",
    "How much does it cost to replace a windscreen?",
    "What is the best way to learn Spanish?",
    "list the side effects of the medicine",
    "How is the board of directors elected?",
    "Where can I renew my driving licence?",
    "Summarize the risks that the report names for next year",
    "How do I cancel my subscription?",
    "What are good exercises for the shoulders?",
    "What is the interest rate on the loan?",
    "How many goals did she score this season?",
    "I can't sleep, what can I do?",
    "What did the minister announce about school meals?",
    "How much protein do I need each day?",
    (
        "Who is entitled to the bonus, when is it paid, and does somebody who leaves in the middle of the "
        "year get a share of it?"
    ),
    "phone overheats while charging",
)

TEXTS = (
    (
        "Glaciers move because ice under pressure flows. In the middle of the stream a stake may travel a "
        "hundred metres in a year, at the edge hardly ten, so that a straight row of stakes soon becomes an "
        "arc. Where the bed steepens the ice breaks into crevasses, and where it flattens they close again. "
        "Surveys of the last century show that most glaciers of the range have lost between a third and a "
        "half of their area, the lower ones more than the high ones."
    ),
    (
        "Bees tell one another where flowers are by dancing. The angle of the dance gives the direction from "
        "the sun, its length the distance."
    ),
    (
        "A prime number has exactly two divisors, one and itself. There are infinitely many of them, as "
        "Euclid showed: if a list of primes were complete, the product of them all, plus one, would have a "
        "prime divisor that is not in the list."
    ),
    (
        "The museum bought the portrait in 1931 as a work of the master. Cleaning and infrared photographs "
        "have since shown that a pupil painted all but the hands, on a panel that had been used before. The "
        "underlying sketch, of a horse and rider, agrees with a drawing in a private collection and helps to "
        "date the workshop's move to the coast."
    ),
    (
        "The lighthouse was manned until 1984. Its keepers rowed ashore every second Friday for mail, "
        "paraffin and flour, weather permitting."
    ),
    (
        "Granite forms when magma cools slowly far below the ground. The slower it cools, the larger its "
        "crystals of quartz, feldspar and mica. Uplift and erosion bring it to the surface over millions of "
        "years, where it weathers along joints into rounded blocks."
    ),
    "The beam carries the weight of the upper floor and must not be cut.",
    (
        "In 1755 an earthquake destroyed most of Lisbon. The wave that followed reached the coasts of Ireland"
        " and the Caribbean within hours. Philosophers across the continent argued about it for decades, and "
        "the rebuilt lower town, with its wooden cages hidden in the walls, is among the first quarters "
        "anywhere that were designed to withstand shaking."
    ),
    (
        "The enzyme works best at body temperature and loses its shape above sixty degrees, after which it "
        "cannot be restored. We measured its activity at seven concentrations of the substrate, with and "
        "without the inhibitor, and fitted the usual curve. The inhibitor raised the apparent affinity "
        "constant threefold and left the maximum rate unchanged, which suggests that it competes for the "
        "active site. Mutants that lack the second loop were not affected."
    ),
    (
        "Saturn's rings are made of pieces of ice, from grains of dust to blocks as large as a house, in a "
        "sheet that is mostly only ten metres thick. Gaps in them are kept clear by small moons."
    ),
    (
        "The parser reads the file line by line, so memory stays flat even for very large inputs. Lines that "
        "cannot be decoded are counted and skipped. With the option strict set, the first of them stops the "
        "run and its number is printed; without it, a summary follows at the end."
    ),
    (
        "A sonnet has fourteen lines. In the Italian form eight lines put a question or a scene, and six "
        "answer it or turn it round."
    ),
    (
        "Barn owls hunt by ear. Their faces are shaped like a dish, which leads the faintest rustle of a vole"
        " to ears set at different heights, so that the bird hears not only from which side but also from how"
        " far below a sound has come. In complete darkness, in experiments, trained owls struck within a "
        "degree or two of their prey."
    ),
    (
        "The treaty set the border along the river and gave merchants of both sides the right to trade "
        "without tolls for ten years. Castles within a day's ride of the bank were to be pulled down before "
        "the next feast of Saint John, and hostages given until it was done."
    ),
    (
        "Copper is drawn into wire through a series of dies, each a little narrower than the last. Between "
        "passes the metal is annealed so that it does not crack. Fine wire for windings is then coated with "
        "enamel, baked, and tested for pinholes by running it through a bath under voltage."
    ),
    (
        "The orchestra rehearses on Mondays in the old tram depot, whose iron roof gives the brass a long, "
        "bright echo."
    ),
    (
        "Sea turtles find their way back to the beach where they hatched by sensing the earth's magnetic "
        "field, which differs slightly from one stretch of coast to the next. Because the field drifts over "
        "the years, so do the nesting places: counts along the peninsula rose where the lines of the field "
        "had moved together and fell where they had moved apart."
    ),
    (
        "The index is rebuilt every night at two. While it is being built, searches are answered from the old"
        " one."
    ),
    (
        "The tides of the estuary run at four knots on springs, and boats wait for slack water behind the "
        "island. The chart of 1862 shows a channel along the eastern shore that has since silted up; the "
        "present one was dredged when the harbour was enlarged and is marked by eleven buoys."
    ),
    (
        "Reindeer dig through snow with their hooves to reach lichen. When rain freezes on the snow, the "
        "crust keeps them from it and many starve."
    ),
    (
        "Movable type was cast from an alloy of lead, tin and antimony, which melts easily, fills the mould "
        "sharply and does not shrink as it sets. A compositor picked the letters from two cases, capitals "
        "from the upper and small letters from the lower one, and set about a thousand an hour. After "
        "printing, the type was cleaned and put back, letter by letter. The vocabulary of the trade has "
        "outlived it by a long time."
    ),
    (
        "The weaver passes the shuttle from hand to hand, beats the weft tight with the reed, and changes the"
        " shed with her feet."
    ),
    (
        "The paintings lie a kilometre from the entrance of the cave, beyond a passage that has to be "
        "crawled. Horses and bison follow the bulges of the rock. Soot from the torches gives ages between "
        "seventeen and nineteen thousand years, in three groups, so that the walls must have been visited "
        "again and again over many generations."
    ),
    (
        "A pendulum's period depends on its length and hardly on its swing, which is why it kept better time "
        "than any balance before it. Heat lengthens the rod and slows the clock by some seconds a week; rods "
        "of two metals, arranged so that one raises the bob as the other lowers it, keep the length and the "
        "time the same."
    ),
    (
        "The vineyard lies on a steep slope of slate that stores the warmth of the day and gives it back to "
        "the vines at night."
    ),
    (
        "Salt lowers the freezing point of water. That is why it melts ice on roads, though below minus ten "
        "degrees it hardly helps."
    ),
)

log = structlog.get_logger(__name__)

LARGE = "text-embedding-3-large"
DIMS = {LARGE: 1536, MODEL: DIM}
"""1536: an HNSW index of pgvector takes 2,000 at most, and older tools' tables are vector(1536)."""
ALIASES = {"bundled": MODEL}
AT_ONCE = 8
MEASURE_SECONDS = 120.0
PATIENCE_SHARE = 0.45
"""Share of RAG_TIMEOUT_SECONDS: a query has at least half of it (`retrieval/search.py`)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The space to use. `dim` None: the model's own. `at` None: the bundled model."""

    model: str
    dim: int | None
    at: Server | None = None


def choose(settings: Settings, recorded: Space | None, *, stored: bool = True) -> Choice:
    """The space that settings and the recorded space require. `stored`: the recorded space has vectors, so a
    different one raises `StartError`."""
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
    model = settings.embed.model or (recorded.model if recorded else default_model(settings))
    return ALIASES.get(model, model)


def dim_of(settings: Settings, model: str, recorded: Space | None) -> int | None:
    return settings.embed.dim or (recorded.dim if recorded else DIMS.get(model))


def default_model(settings: Settings) -> str:
    if settings.embed.api_key or settings.openai.api_key:
        return LARGE
    if settings.embed.base_url:
        raise StartError("EMBED_BASE_URL is set, but EMBED_MODEL is not: name the server's embedding model")
    return MODEL


def reachable(settings: Settings, model: str, dim: int | None) -> Server | None:
    """The server of a model; None: it is bundled."""
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
    settings: Settings,
    recorded: Space | None,
    *,
    stored: bool = True,
    apart: bool = False,
    bundled: Bundled | None = None,
) -> AsyncIterator[tuple[Embedder, Space]]:
    """The embedder and its space: the recorded one unchanged, a new one with its floor measured. The bundled
    model is `bundled`, if it is open already; else it is opened, `apart` in a child process."""
    choice = choose(settings, recorded, stored=stored)
    patience = PATIENCE_SHARE * settings.rag.timeout_seconds
    async with opened(choice, patience, apart=apart, bundled=bundled) as embedder:
        known = recorded and recorded.name == space_name(choice.model, choice.dim or 0)
        yield embedder, recorded if recorded and known else await first_used(embedder, choice)


def opened(
    choice: Choice, patience: float, *, apart: bool, bundled: Bundled | None
) -> AbstractAsyncContextManager[Embedder]:
    """`patience`: seconds without an answer to a query that count as a failure."""
    if choice.at is None:
        return nullcontext(bundled) if bundled else open_bundled(apart=apart)
    return open_embeddings(choice.at, choice.model, choice.dim, patience)


async def first_used(embedder: Embedder, choice: Choice) -> Space:
    """A new space's record: its dimensions and its floor."""
    if choice.at is None:
        return Space(space_name(MODEL, DIM), MODEL, DIM, FLOOR)
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


async def measure(embedder: Embedder) -> tuple[float, int]:
    """(median raw cosine over the unrelated pairs, dimensions). Raises `RetrievalError`, `TimeoutError`."""
    asked: list[Embedding] = []
    for start in range(0, len(QUESTIONS), AT_ONCE):
        async with asyncio.timeout(MEASURE_SECONDS):  # a slow server may take its time for all of them
            asked += await asyncio.gather(*map(embedder.query, QUESTIONS[start : start + AT_ONCE]))
    async with asyncio.timeout(MEASURE_SECONDS):
        questions, texts = matrix(asked), matrix(await embedder.passages(TEXTS))
    return float(np.median(questions @ texts.T)), texts.shape[1]


def matrix(vectors: list[Embedding]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
