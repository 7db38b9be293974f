"""The mix of /vantage: as requests give it, and POST /vantage/mix, which weighs an answer's candidates anew.

Raises `InvalidField` for a lens that is not there, and what the service raises.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Body as Given
from pydantic import BaseModel, Field
from starlette.responses import Response

from app import errors
from app.answering.mix import RECENCY, Standing
from app.api.bodies import Body, Name
from app.api.deps import Asker, Opened, scope_of
from app.api.examples import ANSWER_ID
from app.api.feedback import MEMORY_ID
from app.api.refusals import ASKING, SENDING
from app.api.replies import shown
from app.api.wire import Json, JsonRoute
from app.db.sessions import MOST
from app.problems import responses
from app.services.vantage import Mixed
from app.vantage.terms import LENSES, Mix

router = APIRouter(prefix="/vantage", tags=["vantage"], route_class=JsonRoute)

Weight = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
MIX: Mapping[str, Any] = {
    "memory_cards": 0.25,
    "corpus": 1.0,
    "similarity_threshold": None,
    "recency_bias": 0.5,
    "conversation": 0,
    "lens_fm": False,
}
EXAMPLES = {
    "recent": {
        "summary": "Fewer memories, the recent ones first",
        "value": {"answer_id": ANSWER_ID, "mix": {"memory_cards": 0.25, "recency_bias": 0.5}},
    }
}
CANDIDATE: Mapping[str, Any] = {
    "source": "memories",
    "id": MEMORY_ID,
    "label": "memory#k3v9q2ax",
    "similarity": 0.52,
    "relevance": 0.8,
    "boosts": {"feedback": 1.05, "format": 1.0, "vb_desire": 1.0, "gravity": 1.0, "recency": 1.04},
    "recency": 1.04,
    "score": 0.8736,
    "verdict": "packed",
    "place": 1,
    "was": {"verdict": "packed", "place": 2, "score": 0.84},
    "moved": True,
}
MIXED: Mapping[str, Any] = {
    "answer_id": ANSWER_ID,
    "mix": MIX,
    "top_k": 8,
    "split": {"personal": 2, "corpus": 8},
    "threshold": 0.3,
    "unsearched": [],
    "candidates": [CANDIDATE],
}


class MixBody(Body):
    """How an answer's sources are weighed."""

    memory_cards: Weight = Field(1.0, description="k of memories is top_k times this, rounded up; 0: none.")
    corpus: Weight = Field(1.0, description="k of reference texts, likewise.")
    similarity_threshold: float | None = Field(
        None, ge=-1, le=1, allow_inf_nan=False, description="Default: RETRIEVE_THRESHOLD."
    )
    recency_bias: Weight = Field(
        0.0, description="At 1 a text of now scores 10 % more, one of 30 days ago 5 %. Times are the texts'."
    )
    conversation: int = Field(0, ge=0, le=MOST, description="Turns of the thread that are shown.")
    lens_fm: bool | Annotated[str, Field(max_length=100)] = Field(
        default=False, description=f"`true`: the lens `fm`; or a lens by name: {', '.join(LENSES)}."
    )

    def mix(self) -> Mix:
        """As the domain has it."""
        return Mix(**self.model_dump())


class RemixBody(Body):
    """An answer, and a mix for it."""

    answer_id: Name = Field(examples=[ANSWER_ID])
    mix: MixBody = MixBody()


class MixReply(BaseModel):
    """A mix, with its defaults."""

    memory_cards: float
    corpus: float
    similarity_threshold: float | None
    recency_bias: float
    conversation: int
    lens_fm: bool | str


class SplitReply(BaseModel):
    """Passages of each kind at most."""

    personal: int
    corpus: int


Fate = Literal["packed", "below_threshold", "duplicate", "over_limit", "over_budget", "skipped"]


class WasReply(BaseModel):
    """What became of a candidate when the answer was given."""

    verdict: Fate
    place: int | None
    score: float


class StandingReply(BaseModel):
    """A candidate under the mix."""

    source: str
    id: str
    label: str
    similarity: float | None
    relevance: float | None
    boosts: dict[str, float] = Field(description="Of then; `recency` of now.")
    recency: float
    score: float = Field(description="Relevance times all boosts.")
    verdict: Fate
    place: int | None = Field(description="Among those the model would see, from 1; null: it would not.")
    was: WasReply
    moved: bool = Field(description="Whether its place is another.")


class MixedReply(BaseModel):
    """The candidates of an answer, weighed anew."""

    answer_id: str
    mix: MixReply
    top_k: int = Field(description="The answer's; of /rag/query, which does not keep it, the default.")
    split: SplitReply
    threshold: float
    unsearched: list[str] = Field(
        description="Sources that this mix would search and the answer did not: they have no candidates."
    )
    candidates: list[StandingReply] = Field(description="Those packed, in their order; then the others.")


@router.post(
    "/mix",
    operation_id="mixAnswer",
    summary="Weigh an answer's candidates anew",
    response_class=Json,
    responses={
        200: shown(MixedReply, "What the model would have seen", MIXED),
        **responses(*ASKING, *SENDING, errors.Missing, errors.Rejected),
    },
)
async def mix(
    who: Asker, opened: Opened, body: Annotated[RemixBody, Given(openapi_examples=EXAMPLES)]
) -> Response:
    """Nothing is embedded, searched or generated. Texts are not cut by tokens again: what had no room then
    has none now."""
    return Json(shape(await opened.mixing.mix(scope_of(who), body.answer_id, body.mix.mix())))


def shape(mixed: Mixed) -> dict[str, Any]:
    """As JSON."""
    return {
        "answer_id": mixed.answer_id,
        "mix": asdict(mixed.mix),
        "top_k": mixed.top_k,
        "split": asdict(mixed.now.split),
        "threshold": mixed.now.threshold,
        "unsearched": mixed.unsearched,
        "candidates": [candidate(each) for each in mixed.standings],
    }


def candidate(standing: Standing) -> dict[str, Any]:
    """One of them as JSON."""
    entry = standing.entry
    told = {name: getattr(entry, name) for name in ("source", "id", "label", "similarity", "relevance")}
    was = {"verdict": str(entry.verdict), "place": standing.was, "score": entry.score}
    return told | {
        "boosts": {**entry.boosts, RECENCY: standing.recency},
        "recency": standing.recency,
        "score": standing.score,
        "verdict": str(standing.verdict),
        "place": standing.place,
        "was": was,
        "moved": standing.place != standing.was,
    }
