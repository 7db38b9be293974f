"""/vantage: answers within a policy, its document, cards and facts, and the mix of sources.

Budgets are tokens, hedges and questions, within the policy's own bounds (`app/vantage/overlay.py`).
"""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StringConstraints

from app.answering.mix import RemixedEntry
from app.answering.pipeline import HISTORY_TURNS
from app.answering.recall import RECENCY
from app.api.schemas import (
    NOT_BLANK,
    Body,
    Message,
    Name,
    Out,
    Page,
    Time,
    Weight,
    absent,
    by_form,
)
from app.api.schemas.chat import (
    INCLUDE,
    VERDICT,
    AnswerEnd,
    AnswerHead,
    CitationMarks,
    DebugInfo,
    Include,
    Verdict,
)
from app.api.schemas.rag import (
    MemoryExplanation,
    Overlay,
    UsedMemory,
)
from app.db.cards import CardDraft, CardShape
from app.problems import pattern
from app.services.vantage import Mixed
from app.vantage.overlay import BOUNDS
from app.vantage.terms import LENSES, Limits, Mix, ResponseClass, Routing
from app.vantage.topics import has_word

CLASSES, TOPICS = len(ResponseClass), 50
TARGET, HEDGES, QUESTIONS = (BOUNDS[name] for name in ("token_target", "hedge_budget", "question_budget"))
ClassName = Literal["COMPLY", "REDIRECT", "CLARIFY", "NEGOTIATE", "REFUSE"]


def _worded(topic: str) -> str:
    if not has_word(topic):
        raise ValueError("must have a word")
    return topic


Topic = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=NOT_BLANK), AfterValidator(_worded)
]


class LimitOptions(Body):
    """Topics and budgets that the caller sets; what is left out, the policy decides."""

    refuse: list[Topic] = Field(default=[], max_length=TOPICS, description="Topics that are refused.")
    negotiate: list[Topic] = Field(
        default=[], max_length=TOPICS, description="Topics that are answered under conditions."
    )
    token_target: int | None = Field(
        None, ge=TARGET[0], le=TARGET[1], description="Tokens at which the answer ends."
    )
    hedge_budget: int | None = Field(
        None, ge=HEDGES[0], le=HEDGES[1], description="Hedging phrases in the whole answer, at most."
    )
    question_budget: int | None = Field(
        None, ge=QUESTIONS[0], le=QUESTIONS[1], description="Questions that the answer may ask."
    )

    def limits(self) -> Limits:
        topics = {"refuse": tuple(self.refuse), "negotiate": tuple(self.negotiate)}
        return Limits(**self.model_dump() | topics)


class RoutingOptions(Body):
    """Constraints on the response class. They cannot lift a REFUSE of the risk rules."""

    force: ClassName | None = Field(None, description="This class, whatever was decided.")
    forbid: list[ClassName] = Field(default=[], max_length=CLASSES, description="Never these.")
    redirect: dict[ClassName, ClassName] = Field(
        default={}, max_length=CLASSES, description="Replace one class by another, before `force`."
    )

    def routing(self) -> Routing:
        return Routing(
            ResponseClass(self.force) if self.force else None,
            tuple(map(ResponseClass, self.forbid)),
            {ResponseClass(one): ResponseClass(other) for one, other in self.redirect.items()},
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


Lens: TypeAlias = Annotated[str, Field(max_length=100)]


class MixOptions(Body):
    """How the sources of an answer are weighed."""

    model_config = ConfigDict(from_attributes=True)

    memory_cards: Weight = Field(1.0, description="Memories: top_k times this, rounded up; 0: none.")
    corpus: Weight = Field(1.0, description="Reference texts: top_k times this, rounded up; 0: none.")
    similarity_threshold: float | None = Field(
        None, ge=-1, le=1, allow_inf_nan=False, description="Default: RETRIEVE_THRESHOLD."
    )
    recency_bias: Weight = Field(
        0.0,
        description="At 1 a text written now scores 10 % more, one written 30 days ago 5 %.",
    )
    conversation: int = Field(
        0, ge=0, le=HISTORY_TURNS, description="Turns of the thread that the model sees."
    )
    lens_fm: Annotated[bool | Lens, by_form(_is_text, Lens, StrictBool)] = Field(
        default=False, description=f"`true`: the lens `fm`; or a lens by name: {', '.join(LENSES)}."
    )

    def mix(self) -> Mix:
        return Mix(**self.model_dump())


class VantageRequest(Body):
    """A message that is answered within the policy."""

    user_id: Name | None = Field(
        None,
        description="Who asks. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(description="The message; not only white space.")
    thread_id: Name | None = Field(None, description="The conversation. Default: the user's default thread.")
    top_k: int = Field(8, ge=1, le=50, description="Passages of each kind, at most, before the mix.")
    overlay: Overlay | None = Field(
        None, description="How the answer should sound. It never changes what may be answered."
    )
    limits: LimitOptions | None = Field(None, description="Topics and budgets.")
    routing: RoutingOptions | None = Field(None, description="What is wanted of the response class.")
    mix: MixOptions | None = Field(None, description="How the sources are weighed.")
    vantage_id: Name | None = Field(
        None,
        description="A namespace: memories of it or of none are searched, and its cards and facts are shown"
        " to the model.",
    )
    model: Name | None = Field(None, description="A chat model other than VANTAGE_MODEL.")
    include: Include = Field(default=[], description=INCLUDE)
    inspect_only: bool = Field(
        default=False, description="Everything but the answer: no model is asked, no turn is kept."
    )
    stream: bool = Field(default=False, description="True: events, as /api/chat sends them.")


class DecisionOut(Out):
    """The response class, and why."""

    class_: ClassName = Field(alias="class", description="The response class.")
    rules: list[str] = Field(description="Rules that applied, in the order of the policy (/vantage/policy).")
    policy_version: str = Field(description="The policy's version.")


class AnswerParams(Out):
    """Budgets and style of the answer, set by the policy."""

    token_target: int = Field(
        description="Tokens at which the answer ends; its first sentence is always sent."
    )
    hedge_budget: int = Field(
        description="Hedging phrases in each 100 tokens; if the caller set it, in the whole answer."
    )
    question_budget: int = Field(description="Questions that the answer may ask.")
    directness: float = Field(description="In [0, 1].")
    warmth: float = Field(description="In [0, 1].")


class ClassCheck(Out):
    """Whether the answer keeps to its response class."""

    held: bool = Field(description="Whether what was sent keeps the contract of the class.")
    broken: list[str] = Field(description="Clauses that the model's text broke (/vantage/policy).")
    tokens: int = Field(description="Tokens of the answer.")
    hedges: int = Field(description="Hedging phrases in it.")
    questions: int = Field(description="Questions in it.")
    replaced: bool = Field(description="The policy's own text was sent instead of the model's.")


class WantedPassages(Out):
    """Passages of each kind, at most."""

    base: int = Field(description="top_k.")
    personal: int = Field(description="Memories.")
    corpus: int = Field(description="Reference texts.")


class VantageExplanation(MemoryExplanation):
    """What the answer rests on."""

    vantage_id: str | None = Field(description="The namespace; null: none.")
    mix: MixOptions = Field(description="How the sources were weighed.")


class VantageDebugExplanation(VantageExplanation):
    """What the answer rests on, with its evidence. Only with VANTAGE_DEBUG."""

    sd: dict[str, Any] = Field(description="The situation descriptors.")
    evidence: dict[str, Any] | None = Field(description="Scores of outside models; null: none was asked.")
    rivals: list[dict[str, Any]] = Field(
        description="Sources that answer differently: name, id, label, score."
    )
    split: WantedPassages = Field(description="Passages of each kind.")
    timings: dict[str, int] = Field(description="Milliseconds by stage.")
    prompt_sha256: str = Field(description="SHA-256 of the prompt.")


class VantageMeta(AnswerHead):
    """Data of the event `meta` of /vantage/query."""

    response_class: ClassName = Field(description="The response class.")
    decision: DecisionOut = Field(description="The response class, and why.")
    params: AnswerParams = Field(description="Budgets and style of the answer, set by the policy.")
    memory_used: list[UsedMemory] = Field(description="What the model saw, in that order.")
    bypass: Literal["greeting", "small_talk"] | None = Field(
        description="`greeting`, `small_talk`: nothing was looked up."
    )
    system_prompt: str | None = Field(
        None, exclude_if=absent, description="Only with `inspect_only` or RAG_DEBUG_MODE or VANTAGE_DEBUG."
    )
    meta: VantageDebugExplanation | VantageExplanation = Field(description="What the answer rests on.")
    debug: DebugInfo | None = Field(None, exclude_if=absent, description="Only with RAG_DEBUG_MODE.")


class VantageEnd(AnswerEnd):
    """Data of the event `done` of /vantage/query."""

    class_check: ClassCheck | None = Field(description="Whether it keeps to its class; null: `inspect_only`.")


class VantageReply(VantageEnd, CitationMarks, VantageMeta):
    """An answer within the policy as one object (`stream: false`)."""

    session_id: str | None = Field(None, exclude_if=absent, description="The session, if there is one.")
    answer: str | None = Field(description="The answer; null: `inspect_only`.")


class PolicyRule(Out):
    """A rule of the policy."""

    id: str = Field(description="Its name, as in `decision.rules`.")
    when: str = Field(description="When it applies.")
    class_: ClassName = Field(alias="class", description="The response class that it asks for.")
    says: str = Field(description="What it means.")
    final: bool = Field(description="No option of the request lifts its REFUSE.")


class PolicyDocument(Out):
    """The policy; besides these fields it has thresholds, tables and the contracts of the classes."""

    model_config = ConfigDict(extra="allow")

    version: str = Field(description="The policy's version.")
    sha256: str = Field(description="SHA-256 of the document; the trace of every answer has it.")
    classes: list[ClassName] = Field(description="From the most permissive to the strictest.")
    scope: str = Field(description="What the policy is for, and what it is not.")
    languages: dict[str, str] = Field(description="How well each language was measured.")
    rules: list[PolicyRule] = Field(
        description="All that apply are listed in a decision; the strictest class is the answer's."
    )


class MixRequest(Body):
    """An answer, and another mix for it."""

    answer_id: Name = Field(description="The answer.")
    mix: MixOptions = Field(MixOptions(), description="How to weigh its sources.")


class MixSplit(Out):
    """Passages of each kind, at most."""

    personal: int = Field(description="Memories.")
    corpus: int = Field(description="Reference texts.")


class EarlierVerdict(Out):
    """What became of a candidate when the answer was given."""

    verdict: Verdict = Field(description=VERDICT)
    place: int | None = Field(description="Its place then; null: the model did not see it.")
    score: float = Field(description="Its score then.")


class MixedCandidate(Out):
    """A candidate under the new mix."""

    source: str = Field(description="The source it was found in.")
    id: str = Field(description="Its id within its source.")
    label: str = Field(description="Its label.")
    similarity: float | None = Field(description="Cosine in [-1, 1]; null: found by words alone.")
    relevance: float | None = Field(description="Score before boosts.")
    boosts: dict[str, float] = Field(description="The earlier ones; `recency` is the new one.")
    recency: float = Field(description="The new boost by age.")
    score: float = Field(description="Relevance times all boosts.")
    verdict: Verdict = Field(description=VERDICT)
    place: int | None = Field(description="Among those the model would see, from 1; null: it would not.")
    was: EarlierVerdict = Field(description="What it was when the answer was given.")
    moved: bool = Field(description="Whether its place has changed.")

    @classmethod
    def of(cls, standing: RemixedEntry) -> Self:
        entry = standing.entry
        return cls(
            source=entry.source,
            id=entry.id,
            label=entry.label,
            similarity=entry.similarity,
            relevance=entry.relevance,
            boosts={**entry.boosts, RECENCY: standing.recency},
            recency=standing.recency,
            score=standing.score,
            verdict=standing.verdict,
            place=standing.place,
            was=EarlierVerdict(verdict=entry.verdict, place=standing.was, score=entry.score),
            moved=standing.place != standing.was,
        )


class MixReply(Out):
    """The candidates of an answer, weighed again."""

    answer_id: str = Field(description="The answer.")
    mix: MixOptions = Field(description="The mix, with its defaults.")
    top_k: int = Field(description="The answer's; for /rag/query, which does not keep it, the default.")
    split: MixSplit = Field(description="Passages of each kind, at most.")
    threshold: float = Field(description="The least similarity.")
    unsearched: list[str] = Field(
        description="Sources that this mix would search and the answer did not: they have no candidates."
    )
    candidates: list[MixedCandidate] = Field(description="Those packed, in their order; then the others.")

    @classmethod
    def of(cls, mixed: Mixed) -> Self:
        return cls(
            answer_id=mixed.answer_id,
            mix=mixed.mix,
            top_k=mixed.top_k,
            split=mixed.now.split,
            threshold=mixed.now.threshold,
            unsearched=mixed.unsearched,
            candidates=[MixedCandidate.of(each) for each in mixed.standings],
        )


KEY = pattern(
    r"^[^\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]+$",
    "must be one line without invisible characters",
)
"""Excludes marks of lines or directions, and invisible blanks. Joiners are spelling."""
Key: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=KEY, strip_whitespace=True)
]


class NewCard(Body):
    """A card or a fact that answers of a namespace are given."""

    vantage_id: Name = Field(description="The namespace.", examples=["clinic"])
    user_id: Name | None = Field(
        None,
        description="Whose. A user key implies it; a tenant key that leaves it out: every user's of the"
        " namespace.",
    )
    text: Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=NOT_BLANK)] = Field(
        description="The words.", examples=["Closed on Wednesdays."]
    )
    key: Key | None = Field(
        None,
        description="What it is about: a later one of the same key, in any case of letters, replaces it.",
        examples=["opening hours"],
    )
    weight: Weight = Field(1.0, description="The heavier ones come first, as far as there is room.")

    def draft(self, shape: CardShape) -> CardDraft:
        return CardDraft(shape, **self.model_dump())


CARD = {
    "id": "4d0c6a2e-77c1-5b0a-8f3e-0d9a7f1b2c3d",
    "shape": "fact",
    "vantage_id": "clinic",
    "user_id": None,
    "text": "Closed on Wednesdays.",
    "key": "opening hours",
    "weight": 0.8,
    "created_at": "2026-11-21T09:30:00Z",
    "updated_at": "2026-11-21T09:30:00Z",
}


class CardOut(Out):
    """A card or a fact."""

    id: str = Field(description="Its id.")
    shape: Literal["card", "fact"] = Field(description="Which of the two it is.")
    vantage_id: str = Field(description="The namespace.")
    user_id: str | None = Field(description="Whose it is; null: every user's.")
    text: str = Field(description="The words.")
    key: str | None = Field(description="What it is about.")
    weight: float = Field(description="The heavier ones come first.")
    created_at: Time = Field(description="When it was first written.")
    updated_at: Time = Field(description="When it was last written.")


class CardPage(Page[CardOut]):
    """A page of cards or facts, newest first."""
