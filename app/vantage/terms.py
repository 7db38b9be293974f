"""Values of the policy: descriptors of a message, class and parameters of an answer, settings of the caller.

Descriptors are in [0, 1]; budgets count o200k tokens, hedging phrases and questions. Source:
docs/contract.md. Nothing here raises.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isnan

FM = "fm"
"""The lens of `lens_fm: true`."""

LENSES: Mapping[str, str] = {
    # What FM stands for is in the user's own texts, so the lens sends there.
    FM: "Look at the question through FM, in the sense in which the texts shown here use that word. Put"
    " first what bears on it and leave out what does not. Where no text shown here speaks of FM, say so;"
    " never guess what it stands for.",
    "evidence": "Say only what the texts shown here say, each statement with its citation. What they leave"
    " open, name as open; add nothing from elsewhere.",
    "plain": "Take each word in its first, everyday meaning. Short sentences, no metaphors, no terms of a"
    " trade without their meaning.",
}
"""Instructions for one answer, by name."""


class ResponseClass(StrEnum):
    """The class of an answer, from the freest to the strictest."""

    COMPLY = "COMPLY"
    REDIRECT = "REDIRECT"
    """Says first who helps better."""
    CLARIFY = "CLARIFY"
    """Questions only."""
    NEGOTIATE = "NEGOTIATE"
    """Answered in part or on terms; what is left out is named."""
    REFUSE = "REFUSE"


@dataclass(frozen=True, slots=True)
class Finding:
    """What raised or lowered a descriptor. Contains no word of the message."""

    descriptor: str
    """risk.violence, stakes.medical, pressure, …"""
    evidence: str
    """The id of the rule or table entry."""
    weight: float


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The situation descriptors of a message (`sd`)."""

    clarity: float = 1.0
    """1: it says what is wanted; 0: nobody could tell what."""
    specificity: float = 0.0
    """How far names, numbers and conditions narrow the answer down."""
    risk: Mapping[str, float] = field(default_factory=dict)
    """How surely harm is asked for, by category; all of `risk.RISKS` are present."""
    stakes: Mapping[str, float] = field(default_factory=dict)
    """How much depends on a right answer: medical, legal, money."""
    pressure: float = 0.0
    """Attempts to override the rules, or to coerce."""
    affect: float = 0.0
    """Strength of the emotion."""
    breadth: float = 0.0
    """From the number of distinct asks: 0 for one."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Probabilities of the two regressions (`score.py`), `attack` and `risk`, to three digits."""
    terms: tuple[str, ...] = ()
    """The message's normalised words in order, for topics of `Limits` and emergencies. Never shown."""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Rival:
    """One of several sources that answer a question differently, with equal strength (`rivals.py`)."""

    name: str
    """By which the asker can tell it from the others: a title, a collection, a subject."""
    source: str
    id: str
    label: str
    score: float
    """Its relevance, after boosts."""


SELFHARM = frozenset(
    kind + part
    for kind in ("self-harm", "self_harm", "selfharm")
    for part in ("", "/intent", "/instructions", "_intent", "_instructions")
) | {"suicide"}
"""Names of self-harm among the categories of moderation services."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a decision rests on beside the text. Recorded with the answer, so that a replay decides on the
    same."""

    scores: Mapping[str, float] = field(default_factory=dict)
    """An outside service's (VANTAGE_RISK_URL), in [0, 1] by its own categories. NaN is no evidence:
    `models/moderation` refuses it, and in a record it counts as if the service had not said it."""
    rivals: tuple[Rival, ...] = ()
    """What the search found; () where it was not looked at yet."""

    @property
    def selfharm(self) -> float | None:
        """The highest score of a category of self-harm; None: there is none."""
        return _highest(score for name, score in self.scores.items() if name in SELFHARM)

    @property
    def harm(self) -> float | None:
        """The highest of all others; None: there is none."""
        return _highest(score for name, score in self.scores.items() if name not in SELFHARM)


def _highest(scores: Iterable[float]) -> float | None:
    return max([score for score in scores if not isnan(score)], default=None)


@dataclass(frozen=True, slots=True)
class Limits:
    """The caller's limits: topics to refuse or to negotiate, and budgets; None: the policy's own."""

    refuse: tuple[str, ...] = ()
    negotiate: tuple[str, ...] = ()
    token_target: int | None = None
    hedge_budget: int | None = None
    question_budget: int | None = None


@dataclass(frozen=True, slots=True)
class Routing:
    """The caller's wishes for the class. They never lift a REFUSE of the risk rules."""

    force: ResponseClass | None = None
    forbid: tuple[ResponseClass, ...] = ()
    redirect: Mapping[ResponseClass, ResponseClass] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Params:
    """Budgets and tone of an answer."""

    token_target: int
    """o200k tokens at most."""
    hedge_budget: int
    """Hedging phrases at most: for each 100 tokens, or in all if the caller set it."""
    question_budget: int
    """Questions to the user at most."""
    directness: float
    """In [0, 1]."""
    warmth: float
    """In [0, 1]."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The class, and the ids of the rules that fired, in the order of the policy."""

    response_class: ResponseClass
    rules: tuple[str, ...]
    policy_version: str
    final: bool = False
    """A REFUSE of the risk rules, which no routing, limit or overlay lifts."""
    names: tuple[str, ...] = ()
    """Of rival sources, if they are why it asks back: the question names them."""


@dataclass(frozen=True, slots=True)
class Check:
    """The check of an answer against its class (`class_check`)."""

    held: bool
    broken: tuple[str, ...] = ()
    """Ids of the requirements that it broke (`checks.REQUIREMENTS`)."""
    tokens: int = 0
    hedges: int = 0
    questions: int = 0
    replaced: bool = False
    """The model's text broke its class, and the policy's own was sent instead."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The mix of an answer's sources, with its defaults."""

    memory_cards: float = 1.0
    corpus: float = 1.0
    """k of each source is top_k times its weight, rounded up; 0 stays 0."""
    similarity_threshold: float | None = None
    """None: RETRIEVE_THRESHOLD."""
    recency_bias: float = 0.0
    conversation: int = 0
    """Turns of the thread that the prompt shows."""
    lens_fm: bool | str = False
    """A lens by name; True: the default one."""
