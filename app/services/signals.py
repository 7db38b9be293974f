"""The seeds' two local services as endpoints ask them: votes on memories, and when a person was last heard.

For /memory_feedback and /temporal, which cannot do without: faults of reading are `Unavailable` here. Raises
`Missing` for a memory that is not the user's, `Rejected` where the store will not do it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from app.domain.errors import Rejected, RetrievalError, Unavailable
from app.domain.memory import Moment, Tally, Temporal, Votes
from app.domain.passage import Scope

RETRY_SECONDS = 2


class SignalService:
    """Votes and activity. Scopes have a user_id."""

    def __init__(self, votes: Votes, temporal: Temporal) -> None:
        self._votes = votes
        self._temporal = temporal

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        """A vote. False: it was so already."""
        return await self._votes.cast(scope, memory_id, signal, answer_id=answer_id)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> dict[str, Tally]:
        """The user's votes on each of `ids`, none too."""
        with needed():
            found = await self._votes.tallies(scope, ids)
        return {key: found.get(key, Tally()) for key in ids}

    async def last(self, scope: Scope) -> Moment:
        """When the user last said something."""
        with needed():
            return await self._temporal.last(scope)


@contextmanager
def needed() -> Iterator[None]:
    """Around what there is no answer without."""
    try:
        yield
    except RetrievalError as error:
        if error.rejected:
            raise Rejected("a store does not take this") from error
        raise Unavailable("a store does not answer", retry_after=RETRY_SECONDS) from error
