"""Boosts: what else speaks for a passage than its relevance. Each is a factor in [0.9, 1.1].

A score is the relevance times the factors, in their order: whoever has the ledger computes it again. The
threshold never sees them (CONTRACT §0). Source: CONTRACT §2.3–2.4, seed 003 (3.1, 4.2). Nothing raises.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.gravity import misalignment
from app.domain.memory import Tally
from app.domain.tags import VOCABULARY, of_family

BOUND = 0.1
"""The most that one factor adds or takes."""
FORMAT = 0.05
"""A form is a weak sign: half of what votes can do."""
CORPUS_FAMILIES = ("format", "tone", "intent")
"""Whose tags count for a reference text (seed 003, 4.2)."""
KNOWN = frozenset(VOCABULARY)


@dataclass(frozen=True, slots=True)
class Wants:
    """What a question, and the cards of who asks it, want of a memory."""

    tags: tuple[str, ...] = ()
    """Of the question (`infer_query_tags`)."""
    desire: Mapping[str, float] = field(default_factory=dict)
    """`vb_desire_bias_map` of the card."""
    gravity: Mapping[str, float] = field(default_factory=dict)
    """`gravity_weights` of the card."""


@dataclass(frozen=True, slots=True)
class Boosted:
    """A score, and the factors that made it."""

    score: float
    boosts: Mapping[str, float]


def score_personal_hit(relevance: float, tags: Sequence[str], tally: Tally, wants: Wants) -> Boosted:
    """A memory's score; `tags` are `memory_tags`, `tally` the asker's own votes on it."""
    factors = {
        "feedback": feedback(tally),
        "format": form(tags, wants.tags),
        "vb_desire": desire(tags, wants.desire),
        "gravity": pull(tags, wants.gravity),
    }
    return boosted(relevance, factors)


def corpus_tags(wanted: Sequence[str]) -> tuple[str, ...]:
    """Those of a question's tags that count for reference texts."""
    return tuple(tag for name in CORPUS_FAMILIES for tag in of_family(wanted, name))


def score_corpus_hit(relevance: float, tags: Sequence[str], asked: Sequence[str]) -> Boosted:
    """A reference text's score: at most + 10 %, by the share of the question's `corpus_tags` that it has."""
    share = sum(tag in tags for tag in asked) / len(asked) if asked else 0.0
    return boosted(relevance, {"tags": 1 + BOUND * share})


def boosted(relevance: float, factors: Mapping[str, float]) -> Boosted:
    """`relevance` times all factors."""
    return Boosted(relevance * math.prod(factors.values()), factors)


def feedback(tally: Tally) -> float:
    """Votes saturate, and as many bad as good are none: net 0 is exactly 1, ± 1 is ± 5 %, ± 9 is ± 9 %."""
    return 1 + BOUND * (tally.net / (1 + abs(tally.net)))


def form(tags: Sequence[str], wanted: Sequence[str]) -> float:
    """+ 5 % for a memory of the form that is asked for, - 5 % for one of another form."""
    asked, has = set(of_family(wanted, "format")), set(of_family(tags, "format"))
    if not asked or not has:
        return 1.0
    return 1 + FORMAT if asked & has else 1 - FORMAT


def desire(tags: Sequence[str], bias: Mapping[str, float]) -> float:
    """By the mean bias of the memory's `vb:` tags."""
    wanted = [max(-1.0, min(1.0, bias.get(tag, 0.0))) for tag in of_family(tags, "vb")]
    return 1 + BOUND * (sum(wanted) / len(wanted)) if wanted else 1.0


def pull(tags: Sequence[str], weights: Mapping[str, float]) -> float:
    """A memory at home in the profile gains, one that lies elsewhere loses; tags that nobody knows are left
    out, they say nothing about either."""
    known = [tag for tag in tags if tag in weights or tag in KNOWN]
    if not known or not any(weight > 0 for weight in weights.values()):
        return 1.0
    return 1 + BOUND * (1 - 2 * misalignment(known, weights))
