"""What /vantage/query and /vantage/policy answer, as OpenAPI shows it: schemas and examples, the story of
`recalled.py` told within the policy. Tests hold both against the real replies.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.api import recalled
from app.api.inquiry import ClassName
from app.api.mix import MixReply
from app.api.recalled import FeedbackReply, GravityReply, TemporalReply, UsedMemory
from app.api.replies import KeptRag, WholeReply


class DecisionReply(BaseModel):
    """Which class, and why."""

    class_: ClassName = Field(alias="class")
    rules: list[str] = Field(description="Those that fired, in the order of the policy (`/vantage/policy`).")
    policy_version: str


class ParamsReply(BaseModel):
    """Budgets and manner."""

    token_target: int = Field(
        description="Tokens at which the answer ends; its first sentence always leaves."
    )
    hedge_budget: int = Field(
        description="Hedging phrases in each 100 tokens; where the asker set it: in all."
    )
    question_budget: int
    directness: float = Field(description="In [0, 1].")
    warmth: float = Field(description="In [0, 1].")


class CheckReply(BaseModel):
    """The answer held against its class."""

    held: bool = Field(description="Whether what was sent keeps the class's contract.")
    broken: list[str] = Field(description="Clauses that the model's text broke (`/vantage/policy`).")
    tokens: int
    hedges: int
    questions: int
    replaced: bool = Field(description="The policy's own text was sent instead of the model's.")


class WhySplit(BaseModel):
    """Passages of each kind at most."""

    base: int = Field(description="top_k.")
    personal: int
    corpus: int


class WhyReply(BaseModel):
    """What was looked at."""

    query_tags: list[str]
    feedback: FeedbackReply
    format_consistency: float | None
    gravity: GravityReply
    temporal: TemporalReply | None = Field(description="Null: not known.")
    vantage_id: str | None
    mix: MixReply
    sd: dict[str, Any] | None = Field(None, description="The descriptors. Only with VANTAGE_DEBUG.")
    rivals: list[dict[str, Any]] | None = Field(
        None,
        description="Sources that answer differently: name, id, label, score. Only with VANTAGE_DEBUG.",
    )
    split: WhySplit | None = Field(None, description="Only with VANTAGE_DEBUG.")
    timings: dict[str, int] | None = Field(None, description="Milliseconds. Only with VANTAGE_DEBUG.")
    prompt_sha256: str | None = Field(None, description="Only with VANTAGE_DEBUG.")


class VantageReply(WholeReply):
    """An answer within the policy, whole (`stream: false`)."""

    answer: str | None = Field(description="Null: `inspect_only`.")  # type: ignore[assignment] # wider
    response_class: ClassName
    decision: DecisionReply
    params: ParamsReply
    class_check: CheckReply | None = Field(description="Null: `inspect_only`.")
    memory_used: list[UsedMemory] = Field(description="In the order in which the model saw them.")
    bypass: str | None = Field(description="`greeting`, `small_talk`: nothing was looked up.")
    meta: WhyReply
    rag: KeptRag
    system_prompt: str | None = Field(
        None, description="Only with `inspect_only`, RAG_DEBUG_MODE or VANTAGE_DEBUG."
    )


class RuleReply(BaseModel):
    """One rule."""

    id: str
    when: str
    class_: ClassName = Field(alias="class")
    says: str
    final: bool = Field(description="Nothing lifts its REFUSE.")


class PolicyReply(BaseModel):
    """The policy, readable; beside these fields thresholds, tables and contracts of the classes."""

    model_config = ConfigDict(extra="allow")

    version: str
    sha256: str = Field(description="Of the document: in the trace of every answer.")
    classes: list[ClassName] = Field(description="From the freest to the strictest.")
    scope: str = Field(description="What the policy is for, and what it is not.")
    languages: dict[str, str] = Field(description="How far each language was measured.")
    rules: list[RuleReply] = Field(description="All that fire are told; the strictest class is the answer's.")


DECISION: Mapping[str, Any] = {"class": "COMPLY", "rules": ["default"], "policy_version": "1.0c2f6e1d9a7b"}
PARAMS: Mapping[str, Any] = {
    "token_target": 800,
    "hedge_budget": 3,
    "question_budget": 2,
    "directness": 0.5,
    "warmth": 0.4,
}
CHECK: Mapping[str, Any] = {
    "held": True,
    "broken": [],
    "tokens": 17,
    "hedges": 0,
    "questions": 0,
    "replaced": False,
}
USED: Mapping[str, Any] = {
    **recalled.USED,
    "boosts": {**recalled.USED["boosts"], "recency": 1.0},
}
META: Mapping[str, Any] = {
    **{key: value for key, value in recalled.META.items() if key != "meta_explanation"},
    "response_class": "COMPLY",
    "decision": DECISION,
    "params": PARAMS,
    "memory_used": [USED],
    "meta": {
        **recalled.EXPLANATION,
        "vantage_id": "sleep-diary",
        "mix": {
            "memory_cards": 1.0,
            "corpus": 1.0,
            "similarity_threshold": None,
            "recency_bias": 0.0,
            "conversation": 0,
            "lens_fm": False,
        },
    },
}
ENDED: Mapping[str, Any] = {**recalled.ENDED, "remembered": None, "class_check": CHECK}
REPLY: Mapping[str, Any] = {
    **{key: value for key, value in META.items() if key != "session_id"},
    **recalled.MARKS,
    **ENDED,
    "answer": recalled.ANSWER,
}
SAID: Mapping[str, Mapping[str, Any]] = {**recalled.SAID, "meta": META, "done": ENDED}
"""The data of each event."""
RESPONSE = recalled.either(REPLY, SAID)
POLICY: Mapping[str, Any] = {
    "version": "1.0c2f6e1d9a7b",
    "sha256": "0c2f6e1d9a7b" + "0" * 52,
    "classes": ["COMPLY", "REDIRECT", "CLARIFY", "NEGOTIATE", "REFUSE"],
    "scope": "A policy for a personal assistant, not a moderation service.",
    "languages": {"en": "measured", "de": "a core of words, not measured"},
    "rules": [
        {
            "id": "risk.refuse",
            "when": "risk.* ≥ 0.7",
            "class": "REFUSE",
            "says": "Harm is asked for.",
            "final": True,
        }
    ],
}
