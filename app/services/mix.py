"""POST /vantage/mix: an answer's candidates under another mix; nothing is read but the answer itself.

Raises `Missing` for an answer that is not the asker's, `InvalidField` for one that has no mix, `Unavailable`.
Source: docs/contract.md.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from app.answer import Answer
from app.answering import ruling
from app.answering.mix import RemixedEntry, lens_name, remix
from app.answering.recall import TOP_K, Split, Weighing, resolve_mix
from app.errors import InvalidField
from app.services.answers import AnswerService
from app.types import CORPUS, MEMORIES, Reason, Scope
from app.vantage.terms import Mix

UNSOUGHT = (Reason.GREETING, Reason.SMALL_TALK, Reason.UNASKED)
"""Nothing was looked for: a greeting, a refusal."""
RAG = "/rag/query"
"""Its answers have memories and reference texts too. How many were wanted is not kept: the default."""
MOMENT = 100
"""Candidates that are weighed on the loop: a millisecond."""


@dataclass(frozen=True, slots=True)
class Mixed:
    answer_id: str
    top_k: int
    mix: Mix
    was: Weighing
    now: Weighing
    standings: Sequence[RemixedEntry]

    @property
    def unsearched(self) -> list[str]:
        """Sources that this mix would look into and the answer did not: nothing is known of them."""
        was, now = self.was.split, self.now.split
        found = {MEMORIES: now.personal and not was.personal, CORPUS: now.corpus and not was.corpus}
        return [source for source, missing in found.items() if missing]


class MixService:
    def __init__(self, answers: AnswerService, *, threshold: float, personal: bool) -> None:
        """`threshold`: RETRIEVE_THRESHOLD; `personal`: VANTAGE_PERSONAL_MEMORY."""
        self._answers = answers
        self._threshold = threshold
        self._personal = personal

    async def mix(self, scope: Scope, answer_id: str, mix: Mix) -> Mixed:
        lens_name(mix.lens_fm)
        answer = await self._answers.get(scope, answer_id)
        top_k, was = self._given(answer)
        now = resolve_mix(
            mix, top_k, threshold=self._threshold, at=answer.created_at, personal=self._personal
        )
        entries = answer.trace.entries
        if len(entries) > MOMENT:
            standings = await asyncio.to_thread(remix, entries, was=was, now=now)
        else:
            standings = remix(entries, was=was, now=now)
        return Mixed(answer_id, top_k, mix, was, now, standings)

    def _given(self, answer: Answer) -> tuple[int, Weighing]:
        if answer.ruling is not None:
            kept = ruling.read(answer.ruling)
            sought = answer.trace.reason not in UNSOUGHT
            shares = Split(kept.split.personal, kept.split.corpus) if sought else Split(0, 0)
            by = Weighing(shares, kept.threshold, kept.mix.recency_bias, answer.created_at)
            return kept.split.base, by
        if answer.endpoint != RAG:
            raise InvalidField(f"an answer of {answer.endpoint} has no mix", field="body.answer_id")
        return TOP_K, resolve_mix(Mix(), TOP_K, threshold=self._threshold, at=answer.created_at)
