"""What POST /vantage/query is sent: every field bounded, unknown ones refused.

Budgets are tokens, hedges and questions, within the policy's own bounds (`vantage/overlay.py`).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from app.api.bodies import SAYS, Body, Message, Name, Note, OverlayBody
from app.api.mix import MixBody
from app.vantage.overlay import BOUNDS
from app.vantage.terms import Limits, ResponseClass, Routing
from app.vantage.topics import worded

CLASSES, TOPICS = len(ResponseClass), 50
TARGET, HEDGES, QUESTIONS = (BOUNDS[name] for name in ("token_target", "hedge_budget", "question_budget"))
ClassName = Literal["COMPLY", "REDIRECT", "CLARIFY", "NEGOTIATE", "REFUSE"]


def _worded(topic: str) -> str:
    """As it is. Raises ValueError (422) for one that no message could name."""
    if not worded(topic):
        raise ValueError("a topic needs a word")
    return topic


Topic = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=SAYS), AfterValidator(_worded)]


class LimitsBody(Body):
    """What the asker sets: topics, and budgets; left out, the policy's."""

    refuse: list[Topic] = Field(default=[], max_length=TOPICS, description="Topics that are refused.")
    negotiate: list[Topic] = Field(default=[], max_length=TOPICS, description="Topics that get terms.")
    token_target: int | None = Field(
        None, ge=TARGET[0], le=TARGET[1], description="Tokens at which the answer ends."
    )
    hedge_budget: int | None = Field(
        None, ge=HEDGES[0], le=HEDGES[1], description="Hedging phrases it may hold, in all."
    )
    question_budget: int | None = Field(
        None, ge=QUESTIONS[0], le=QUESTIONS[1], description="Questions it may ask."
    )

    def limits(self) -> Limits:
        """As the policy takes them."""
        topics = {"refuse": tuple(self.refuse), "negotiate": tuple(self.negotiate)}
        return Limits(**self.model_dump() | topics)


class RoutingBody(Body):
    """What the asker wants of the class. A REFUSE of the risk rules stays one."""

    force: ClassName | None = Field(None, description="This class, whatever was decided.")
    forbid: list[ClassName] = Field(default=[], max_length=CLASSES, description="Never these.")
    redirect: dict[ClassName, ClassName] = Field(
        default={}, max_length=CLASSES, description="Instead of the one the other; before `force`."
    )

    def routing(self) -> Routing:
        """As the policy takes it."""
        return Routing(
            ResponseClass(self.force) if self.force else None,
            tuple(map(ResponseClass, self.forbid)),
            {ResponseClass(one): ResponseClass(other) for one, other in self.redirect.items()},
        )


class VantageBody(Body):
    """A message that is answered within the policy."""

    user_id: Name | None = Field(
        None,
        description="Who asks. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(
        description="The message; not white space alone.", examples=["What helped me sleep last winter?"]
    )
    thread_id: Name | None = Field(
        None, description="Which conversation this is. Default: the user's default thread."
    )
    top_k: int = Field(8, ge=1, le=50, description="Most passages of each kind, before the mix.")
    overlay: Note | OverlayBody | None = Field(
        None, description="How the answer is to sound. It never changes what may be answered."
    )
    limits: LimitsBody | None = Field(None, description="Topics and budgets.")
    routing: RoutingBody | None = Field(None, description="What is wanted of the class.")
    mix: MixBody | None = Field(None, description="How the sources are weighed.")
    vantage_id: Name | None = Field(
        None, description="A namespace: memories of it or of none are searched, its cards and facts shown."
    )
    model: Name | None = Field(None, description="A chat model other than VANTAGE_MODEL.")
    inspect_only: bool = Field(
        default=False, description="Everything but the answer: no model is asked, no turn is kept."
    )
    stream: bool = Field(default=False, description="True: events, as /api/chat sends them.")


QUERY: Mapping[str, Any] = {
    "ask": {"summary": "Ask", "value": {"user_id": "ada", "message": "What helped me sleep last winter?"}},
    "everything": {
        "summary": "Every field",
        "value": {
            "user_id": "ada",
            "message": "What helped me sleep last winter?",
            "thread_id": "evenings",
            "top_k": 8,
            "overlay": {"role": "a patient coach", "tone": "warm and plain"},
            "limits": {
                "refuse": ["medication doses"],
                "negotiate": ["diets"],
                "token_target": 400,
                "hedge_budget": 2,
                "question_budget": 1,
            },
            "routing": {"force": None, "forbid": ["REDIRECT"], "redirect": {"CLARIFY": "COMPLY"}},
            "mix": {
                "memory_cards": 0.5,
                "corpus": 1.0,
                "similarity_threshold": 0.35,
                "recency_bias": 0.5,
                "conversation": 6,
                "lens_fm": "plain",
            },
            "vantage_id": "sleep-diary",
            "model": None,
            "inspect_only": False,
            "stream": False,
        },
    },
    "inspect": {
        "summary": "Everything but the answer",
        "value": {"user_id": "ada", "message": "What helped me sleep last winter?", "inspect_only": True},
    },
    "forced": {
        "summary": "A class that is wanted",
        "value": {"user_id": "ada", "message": "Plan my evening", "routing": {"force": "CLARIFY"}},
    },
}
