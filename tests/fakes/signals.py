"""Hand-written votes, activity and feedback: they remember what they were asked, and answer as told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.db.memories import Moment, Tally
from app.errors import IbidError
from app.services.feedback import DecidedBy, Effect, Remark, Sentiment
from app.types import Scope

SPOKEN = datetime(2026, 11, 19, 9, 30, 40, 500_000, tzinfo=UTC)


@dataclass
class FakeFeedback:
    """Has the effect it was given."""

    effect: Effect = field(
        default_factory=lambda: Effect(
            "answer-1", Sentiment.POSITIVE, DecidedBy.MARKER, None, ("m1", "m2"), 2, persona_refreshed=True
        )
    )
    error: IbidError | None = None
    remarks: list[Remark] = field(default_factory=list)

    async def take(self, remark: Remark) -> Effect:
        """Remembered."""
        self.remarks.append(remark)
        if self.error:
            raise self.error
        return self.effect


@dataclass
class FakeSignals:
    """One memory with votes, one moment."""

    error: IbidError | None = None
    moment: Moment = field(default_factory=lambda: Moment("days", SPOKEN, 172_800.0004))
    votes: list[tuple[Scope, str, int, str | None]] = field(default_factory=list)
    asked: list[tuple[Scope, list[str]]] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        """Remembered; the same again is none."""
        if self.error:
            raise self.error
        again = (scope, memory_id, signal, answer_id) in self.votes
        self.votes.append((scope, memory_id, signal, answer_id))
        return not again

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> dict[str, Tally]:
        """Of `m1` three and one."""
        self.asked.append((scope, list(ids)))
        if self.error:
            raise self.error
        return {key: Tally(3, 1) if key == "m1" else Tally() for key in ids}

    async def last(self, scope: Scope) -> Moment:
        """The one there is."""
        self.scopes.append(scope)
        if self.error:
            raise self.error
        return self.moment
