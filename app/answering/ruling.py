"""The decision of /vantage on a message as it is stored with the answer (`Answer.ruling`): one flat JSON
object.

The keys `response_class`, `rules`, `policy_version`, `policy_sha256`, `params`, `mix`, `sd`, `class_check`,
`vantage_id` and `inspect_only` are columns of public.vantage_answer_trace; a replay alone reads the others.
No word of the message is stored, and keys that a newer version added are ignored. Raises `ValueError` for
any other object. Source: docs/contract.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from app.vantage.terms import Check, Decision, Descriptors, Evidence, Limits, Mix, Params, Routing


@dataclass(frozen=True, slots=True)
class SplitRecord:
    """Most passages of each kind; 0: not searched."""

    base: int = 0
    """The requested top_k."""
    personal: int = 0
    corpus: int = 0


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision with its inputs and, once the answer has ended, its check."""

    sd: Descriptors
    """Without its terms once stored."""
    params: Params
    decision: Decision
    limits: Limits = field(default_factory=Limits)
    routing: Routing = field(default_factory=Routing)
    mix: Mix = field(default_factory=Mix)
    split: SplitRecord = field(default_factory=SplitRecord)
    threshold: float = 0.0
    """Similarity that a passage had to exceed: the mix's, else RETRIEVE_THRESHOLD."""
    thread: int = 0
    """Number of turns in the prompt's THREAD block; the features saw the user's among them."""
    vantage_id: str | None = None
    inspect_only: bool = False
    policy_sha256: str = ""
    evidence: Evidence | None = None
    """Inputs of the decision beside the text: an outside service's scores, rival sources."""
    check: Check | None = None
    """None: the answer did not end, or has no check."""


@cache
def codec() -> TypeAdapter[Ruling]:
    """Built at first use: never without /vantage."""
    return TypeAdapter(Ruling)


def written(ruling: Ruling) -> dict[str, object]:
    left_out = {"sd": {"terms"}, "decision": {"names"}}
    kept: dict[str, Any] = codec().dump_python(ruling, mode="json", exclude=left_out, warnings=False)
    decision: dict[str, object] = kept.pop("decision")
    evidence = kept.pop("evidence") or {"scores": None, "rivals": []}
    aside = {"evidence": evidence["scores"], "rivals": evidence["rivals"], "class_check": kept.pop("check")}
    return decision | kept | aside


def read(kept: Mapping[str, object]) -> Ruling:
    rivals, scores = kept.get("rivals") or [], kept.get("evidence")
    evidence = None if scores is None else {"scores": scores, "rivals": rivals}
    ruling = codec().validate_python(
        {**kept, "decision": kept, "evidence": evidence, "check": kept["class_check"]}
    )
    names = tuple(rival.name for rival in ruling.evidence.rivals) if ruling.evidence else ()
    return replace(ruling, decision=replace(ruling.decision, names=names))
