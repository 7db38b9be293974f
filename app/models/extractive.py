"""The extractive answerer: no model, only the sentences that answer, quoted, each with its citation.

Keeps `ports.ChatModel`. It never says anything of its own about the documents, so every statement is in
the place it names. Ranking runs in a thread; meaning joins in if an embedder answers within `SECONDS`.
Raises nothing: without passages, or without a sentence that answers, it says so.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol, runtime_checkable

import numpy as np

from app.domain.answer import Finish
from app.domain.errors import RetrievalError
from app.domain.followup import resolve
from app.domain.greeting import is_pure_reentry_greeting
from app.domain.passage import Embedding
from app.domain.ports import Delta, Embedder, ModelStream
from app.domain.prompt import DOCUMENTS, GREETING, MEMORIES, Prompt
from app.domain.sections import PROJECT, plain
from app.domain.space import similarity
from app.domain.trace import Reason
from app.models.evidence import (
    LEAST,
    LEAST_BY_WORDS,
    Sentence,
    by_words,
    quoted,
    sentences,
    with_meaning,
)

NAME = "extractive"
SECONDS = 0.15
"""The embedder has this long; what is embedded by then counts."""
FLOOR = 0.38
"""Raw cosine of unrelated texts in the bundled space (docs/decisions/0004-bundled-embedder.md)."""
SHORTLIST, AT_ONCE = 16, 4
"""Sentences whose meaning is looked at, best by words first, and how many at a time."""
PIECE = re.compile(r"\s*\S+\s*(?:\S+\s*){0,3}")
"""A delta: four words."""

NO_MODEL = "No chat model is connected, so I can only quote what is stored."
WELCOME = "Hello! Ask me about what is stored here: I quote the sentences that answer, each with its source."
OBLIGED = "Happy to help. What else would you like to know?"
"""Said to small talk that is no greeting: thanks, or a reaction."""
WITHOUT: Mapping[str, str] = {
    Reason.EMPTY: "There is nothing stored to answer from yet. Add a PDF in the browser or with POST "
    f"/api/documents. {NO_MODEL}",
    Reason.PROCESSING: "What was added is still being read. Ask again in a moment.",
    Reason.SKIPPED: f"That is too short to be looked up: ask in a whole sentence. {NO_MODEL}",
    Reason.TIMEOUT: "What is stored could not be searched in time. Please ask again.",
    Reason.UNAVAILABLE: "What is stored cannot be searched just now. Please ask again in a moment.",
    Reason.GREETING: WELCOME,
    Reason.SMALL_TALK: OBLIGED,
}
"""What is said without passages, by `rag.reason`."""
UNMATCHED = f"Nothing that is stored fits this question. {NO_MODEL}"
FORGOTTEN = f"Nothing that you keep fits this. {NO_MODEL}"
UNTOLD = f"Nothing that this project keeps fits this. {NO_MODEL}"
UNFILLED = f"This project keeps nothing to answer from yet. {NO_MODEL}"
OTHERWISE = {DOCUMENTS: UNMATCHED, MEMORIES: FORGOTTEN, GREETING: WELCOME, PROJECT: UNTOLD}
"""The same, for every other reason."""
CLOSEST = "The documents do not answer this directly. What comes closest: "
CLOSEST_KEPT = "Nothing that is kept answers this directly. What comes closest: "
NEAREST = {MEMORIES: CLOSEST_KEPT, PROJECT: CLOSEST_KEPT}
NO_SENTENCE = "The documents that match hold no sentence that can be quoted."

LABEL_LIKE = re.compile(r"[\[【]([^\[\]【】#]*#[^\[\]【】]*)[\]】]")


@runtime_checkable
class Sentences(Embedder, Protocol):
    """An embedder that is quick enough to be asked on the way: the bundled one."""

    async def sentences(self, texts: Sequence[str]) -> list[Embedding]:
        """The vectors of texts that an answer waits for."""


class Spoken:
    """An answer that is all there. Keeps `ports.ModelStream`."""

    model = NAME

    def __init__(self, text: str) -> None:
        self.text = text

    async def __aiter__(self) -> AsyncIterator[Delta]:
        """A few words at a time."""
        for piece in PIECE.findall(self.text):
            yield Delta(piece)
        yield Delta(finish=Finish.STOP)


class Extractive:
    """See the module."""

    name = NAME

    def __init__(self, embedder: Embedder | None = None, floor: float = FLOOR) -> None:
        self.embedder = embedder if isinstance(embedder, Sentences) else None
        """None: ranked by words alone, as with an embedder behind a network."""
        self.floor = floor

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        """Entered when the answer is found."""
        yield Spoken(await self.answer(prompt) if prompt.passages else bare(prompt))

    async def answer(self, prompt: Prompt) -> str:
        """The whole text."""
        question = resolve(prompt.message, prompt.turns)
        passages = [plain(one) for one in prompt.passages] if prompt.form == PROJECT else prompt.passages
        ranked = await asyncio.to_thread(lambda: by_words(question, sentences(passages)))
        alike = await self.similarities(question, ranked[:SHORTLIST])
        closest = NEAREST.get(prompt.form, CLOSEST)
        if not alike:
            return told(ranked, LEAST_BY_WORDS, closest)
        return told(with_meaning(ranked, alike), LEAST, closest)

    async def similarities(self, question: str, ranked: Sequence[Sentence]) -> list[float]:
        """Of the first sentences to the question, as many as there is time for."""
        vectors: list[Embedding] = []
        if self.embedder is None:
            return []
        texts = [question, *(sentence.text for sentence in ranked)]
        with suppress(TimeoutError, RetrievalError):
            async with asyncio.timeout(SECONDS):
                for start in range(0, len(texts), AT_ONCE):
                    vectors += await self.embedder.sentences(texts[start : start + AT_ONCE])
        matrix = np.array([np.frombuffer(vector, "<f4") for vector in vectors])
        return [similarity(float(matrix[0] @ other), self.floor) for other in matrix[1:]]


def bare(prompt: Prompt) -> str:
    """What is said where there is nothing to quote: it answers a greeting, or says why there is nothing."""
    if is_pure_reentry_greeting(prompt.message):
        return WELCOME
    if prompt.reason is Reason.EMPTY and prompt.form is not DOCUMENTS:  # no PDF would change that
        return UNFILLED if prompt.form is PROJECT else OTHERWISE[prompt.form]
    return WITHOUT.get(prompt.reason, OTHERWISE[prompt.form])


def told(ranked: Sequence[Sentence], least: float, closest: str = CLOSEST) -> str:
    """The answer's text: `“sentence” [report.pdf#3]`, one a paragraph."""
    chosen = quoted(ranked)
    if not chosen:
        return NO_SENTENCE
    if chosen[0].score < least:
        return closest + quotation(chosen[0])
    return "\n\n".join(quotation(sentence) for sentence in chosen)


def quotation(sentence: Sentence) -> str:
    """A sentence between marks and its citation. What would read as markup of the answer is defused:
    backticks, and brackets that look like a citation."""
    plain = LABEL_LIKE.sub(r"(\1)", sentence.text).replace("`", "'")
    return f"“{plain}” [{sentence.label}]"
