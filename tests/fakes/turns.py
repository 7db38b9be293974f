"""Turns of a thread, written as the service writes them: with their answer, in one statement."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from app.answer import Turn
from app.db.answers import AnswerStore
from app.db.pool import Pool
from app.types import Scope
from tests.db.test_answers import ANSWER


async def tell(pool: Pool, scope: Scope, turns: Sequence[Turn], *, answer_id: str = "a") -> None:
    """Keep them; the same answer again adds none."""
    answer = replace(ANSWER, id=answer_id, created_at=datetime.now(UTC))
    await AnswerStore(pool).keep(scope, answer, turns)
