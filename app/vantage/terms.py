"""The words of the policy: what a message is like (descriptors), what an answer may be (class, params), and
what the asker set (limits, routing, mix).

Descriptors are in [0, 1]; budgets are tokens, hedges and questions. Source: seed 003 (3.3), CONTRACT §3.
Nothing here raises.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ResponseClass(StrEnum):
    """What an answer may be, from the freest to the strictest."""

    COMPLY = "COMPLY"
    REDIRECT = "REDIRECT"
    """Answered with where the asker is better helped."""
    CLARIFY = "CLARIFY"
    """Questions only."""
    NEGOTIATE = "NEGOTIATE"
    """A part is answered, or on terms; what is left out is named."""
    REFUSE = "REFUSE"


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a descriptor is what it is. Holds no word of the message."""

    descriptor: str
    """risk.violence, stakes.medical, pressure, …"""
    evidence: str
    """The id of the table's entry or the rule that saw it."""
    weight: float


@dataclass(frozen=True, slots=True)
class Descriptors:
    """What a message is like: the situation descriptors (`sd`)."""

    clarity: float = 1.0
    """1: it says what is wanted; 0: nobody could tell."""
    specificity: float = 0.0
    """How much of it narrows the answer down: names, numbers, conditions."""
    risk: Mapping[str, float] = field(default_factory=dict)
    """By category (`features.RISKS`), all of them present: how surely harm is asked for."""
    stakes: Mapping[str, float] = field(default_factory=dict)
    """medical, legal, money: how much hangs on a right answer."""
    pressure: float = 0.0
    """Attempts to override the rules, or to press."""
    affect: float = 0.0
    """How moved the asker is."""
    breadth: float = 0.0
    """From the number of distinct asks: 0 for one."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """attack, risk: what the two regressions say (`score.py`), to four digits."""
    terms: tuple[str, ...] = ()
    """The message's normalised words in order: the topics of `Limits` are looked up in them. Never shown."""
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a decision rests on beside the text. Recorded with the answer, so that a replay decides on the
    same."""

    scores: Mapping[str, float] = field(default_factory=dict)
    """An outside service's (VANTAGE_RISK_URL), in [0, 1] by its own categories."""
    rivals: tuple[Rival, ...] = ()
    """What the search found; () where it was not looked at yet."""

    @property
    def selfharm(self) -> float:
        """The highest score of a category of self-harm."""
        return max([score for name, score in self.scores.items() if name.startswith("self")], default=0.0)

    @property
    def harm(self) -> float:
        """The highest of all others."""
        return max([score for name, score in self.scores.items() if not name.startswith("self")], default=0.0)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the asker set: topics to refuse or to negotiate, budgets; None: the policy's."""

    refuse: tuple[str, ...] = ()
    negotiate: tuple[str, ...] = ()
    token_target: int | None = None
    hedge_budget: int | None = None
    question_budget: int | None = None


@dataclass(frozen=True, slots=True)
class Routing:
    """What the asker wants of the class. Never lifts a REFUSE that the risk rules gave."""

    force: ResponseClass | None = None
    forbid: tuple[ResponseClass, ...] = ()
    redirect: Mapping[ResponseClass, ResponseClass] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Params:
    """Budgets and manner of an answer."""

    token_target: int
    """o200k tokens at which it ends."""
    hedge_budget: int
    """Hedging phrases it may hold in each 100 tokens; one that the asker set: in all."""
    question_budget: int
    """Questions it may ask."""
    directness: float
    """In [0, 1]."""
    warmth: float
    """In [0, 1]."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One class, and the rules that fired in the order of the policy."""

    response_class: ResponseClass
    rules: tuple[str, ...]
    policy_version: str
    final: bool = False
    """Given by the risk rules: no routing, limit or overlay lifts it."""
    names: tuple[str, ...] = ()
    """Of the rival sources, where they are why it asks back: the question names them."""


@dataclass(frozen=True, slots=True)
class Check:
    """An answer held against its class (`class_check`)."""

    held: bool
    broken: tuple[str, ...] = ()
    """Ids of the contract's clauses that it broke."""
    tokens: int = 0
    hedges: int = 0
    questions: int = 0
    replaced: bool = False
    """The model's text broke the contract, and the policy's own was sent instead."""


@dataclass(frozen=True, slots=True)
class Mix:
    """How an answer's sources are weighed. Defaults as CONTRACT §3 has them."""

    memory_cards: float = 1.0
    corpus: float = 1.0
    """k of each source is top_k times this, rounded up; 0 stays 0."""
    similarity_threshold: float | None = None
    """None: RETRIEVE_THRESHOLD."""
    recency_bias: float = 0.0
    conversation: int = 0
    """Turns of the thread that are shown."""
    lens_fm: bool | str = False
    """True: the default lens; or a lens's name."""
