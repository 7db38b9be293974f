"""An answer looked back at: what was seen, packed and said. Raises `Missing`, `Unavailable`."""

from app.domain.answer import Answer
from app.domain.errors import Missing
from app.domain.passage import Scope
from app.domain.ports import Answers
from app.services.recorder import Recorder


class AnswerService:
    """Answers, as those who asked see them."""

    def __init__(self, answers: Answers, recorder: Recorder) -> None:
        self._answers = answers
        self._recorder = recorder

    async def get(self, scope: Scope, answer_id: str) -> Answer:
        """The answer with its trace, also while it waits to be written; another's is not there."""
        found = self._recorder.find(scope, answer_id) or await self._answers.get(scope, answer_id)
        if found is None:
            raise Missing("there is no such answer")
        return found
