"""The mix: how an answer's sources are weighed (`terms.Mix`): k of each, a bias to recent texts, a lens.

Recency is one more boost, with the bound that all have (`domain/boost.BOUND`): it is applied after the
re-rank and before the cut to k, and never lets in what the threshold kept out. Factors; times are UTC.
Raises `InvalidField` for a lens that is not there. Source: CONTRACT §3 (mix), seed 003 (3.3).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from app.domain.boost import BOUND, Boosted, Wants, boosted
from app.domain.errors import InvalidField
from app.domain.memory import Tally
from app.domain.passage import Candidate
from app.domain.recall import TOLD, Drawn, key, rerank_personal, unified_retrieve
from app.domain.trace import Verdict
from app.domain.weights import decay
from app.vantage.terms import Mix

RECENCY = "recency"
"""The boost's name in a ledger."""
FM = "fm"
"""The lens of `lens_fm: true`."""
LENSES: Mapping[str, str] = {
    # The seeds name FM and never say what it stands for; their own texts do, so the lens sends there.
    FM: "Look at the question through FM, in the sense in which the texts shown here use that word. Put"
    " first what bears on it and leave out what does not. Where no text shown here speaks of FM, say so;"
    " never guess what it stands for.",
    "evidence": "Say only what the texts shown here say, each statement with its citation. What they leave"
    " open, name as open; add nothing from elsewhere.",
    "plain": "Take each word in its first, everyday meaning. Short sentences, no metaphors, no terms of a"
    " trade without their meaning.",
}
"""What an answer is held to for once, by name."""


@dataclass(frozen=True, slots=True)
class Split:
    """Passages of each kind at most; 0: that kind is not looked for."""

    personal: int
    corpus: int


@dataclass(frozen=True, slots=True)
class Weighing:
    """A mix as one answer is weighed by it."""

    split: Split
    threshold: float
    """Similarity that a passage must exceed, unless words vouch for it."""
    bias: float
    """To recent texts, in [0, 1]."""
    at: datetime
    """When the question came: what recency is reckoned from, now and when the ledger is read again."""


def weighed(mix: Mix, top_k: int, *, threshold: float, at: datetime, personal: bool = True) -> Weighing:
    """`threshold`: RETRIEVE_THRESHOLD, where the mix has none; `personal`: VANTAGE_PERSONAL_MEMORY."""
    shares = split(mix, top_k)
    own = mix.similarity_threshold
    return Weighing(
        shares if personal else replace(shares, personal=0),
        threshold if own is None else own,
        mix.recency_bias,
        at,
    )


def split(mix: Mix, top_k: int) -> Split:
    """k of memories and of reference texts: top_k times the weight, rounded up; 0 stays 0."""
    return Split(share(mix.memory_cards, top_k), share(mix.corpus, top_k))


def share(weight: float, top_k: int) -> int:
    """As the weight is written: 50 times 0.14 is 7, where floats say 7.000000000000001."""
    return math.ceil(Fraction(repr(min(1.0, max(0.0, weight)))) * top_k)


def recency(at: datetime | None, now: datetime, bias: float) -> float:
    """A factor in [1, 1 + BOUND × bias]: all of it for a text of now, half as much after 30 days, as messages
    count for a profile. Without a date 1; a date to come counts as now; a bias of 0 gives exactly 1."""
    if at is None or not bias:
        return 1.0
    return 1 + BOUND * min(1.0, max(0.0, bias)) * decay(at, now)


def told(
    drawn: Drawn, found: Sequence[Candidate], tallies: Mapping[str, Tally], wants: Wants, by: Weighing
) -> tuple[Drawn, Drawn]:
    """What is told under a mix: memories of those `drawn`, reference texts of all that was `found`. As for
    /rag/query, but the cut to k comes after recency: what is recent would else be gone before it is seen."""
    memories = rerank_personal(drawn, tallies, wants, keep=len(drawn.chosen))
    memories = rerank(memories, by, keep=min(TOLD, by.split.personal))
    wide = len(found) if by.bias else by.split.corpus
    corpus = unified_retrieve(found, wants.tags, top_k=wide, threshold=by.threshold, told=memories.chosen)
    return memories, rerank(corpus, by, keep=by.split.corpus)


def rerank(drawn: Drawn, by: Weighing, *, keep: int) -> Drawn:
    """The chosen by their score × recency, at most `keep`; equal ones in their order."""
    fresh = {key(item.passage): recency(item.passage.created_at, by.at, by.bias) for item in drawn.chosen}
    scores = dict(drawn.boosts)
    for item in drawn.chosen:
        name = key(item.passage)
        before = scores.get(name, Boosted(item.passage.score, {}))
        scores[name] = boosted(item.passage.score, {**before.boosts, RECENCY: fresh[name]})
    ranked = sorted(drawn.chosen, key=lambda item: -scores[key(item.passage)].score)
    over = tuple((item, Verdict.OVER_LIMIT) for item in ranked[keep:])
    return replace(drawn, chosen=tuple(ranked[:keep]), left=(*over, *drawn.left), boosts=scores)


def lens_name(lens: bool | str) -> str:
    """The lens that is meant, "" for none. Raises `InvalidField`, naming those there are."""
    if isinstance(lens, bool):
        return FM if lens else ""
    name = lens.casefold()
    if name not in LENSES:
        raise InvalidField(f"the lenses are {', '.join(LENSES)}", field="body.mix.lens_fm")
    return name


def lens_block(lens: bool | str) -> str:
    """The lens as a block of the prompt; "" without one. Raises `InvalidField`."""
    name = lens_name(lens)
    return f"[Lens]\nFor this answer, {name}: {LENSES[name]}" if name else ""
