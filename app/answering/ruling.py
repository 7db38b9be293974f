"""The decision of /vantage on a message as it is stored with the answer (`Answer.ruling`): one flat JSON
object.

The keys `response_class`, `rules`, `policy_version`, `policy_sha256`, `params`, `mix`, `sd`, `class_check`,
`vantage_id` and `inspect_only` are columns of public.vantage_answer_trace; a replay alone reads the others.
No word of the message is stored, and keys that a newer version added are ignored. Raises KeyError or
ValueError for any other object. Source: docs/contract.md.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, cast

from app.vantage.terms import (
    Check,
    Decision,
    Descriptors,
    Evidence,
    Finding,
    Limits,
    Mix,
    Params,
    ResponseClass,
    Rival,
    Routing,
)


@dataclass(frozen=True, slots=True)
class SplitRecord:
    """Passages of each kind at most; 0: that kind was not looked for."""

    base: int = 0
    """top_k as it was asked for."""
    personal: int = 0
    corpus: int = 0


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was decided, on what, and (once the answer has ended) whether it held."""

    sd: Descriptors
    """Without its terms, once it was kept."""
    params: Params
    decision: Decision
    limits: Limits = field(default_factory=Limits)
    routing: Routing = field(default_factory=Routing)
    mix: Mix = field(default_factory=Mix)
    split: SplitRecord = field(default_factory=SplitRecord)
    threshold: float = 0.0
    """Similarity that a passage had to exceed: the mix's, else RETRIEVE_THRESHOLD."""
    thread: int = 0
    """Turns that the prompt shows (its THREAD block names them); the features saw those of the user."""
    vantage_id: str | None = None
    inspect_only: bool = False
    policy_sha256: str = ""
    evidence: Evidence | None = None
    """What it was decided on beside the text: an outside service's scores, rival sources."""
    check: Check | None = None
    """None: the answer did not end, or there is none."""


def written(ruling: Ruling) -> dict[str, object]:
    """As it is kept."""
    decision = ruling.decision
    return {
        "response_class": str(decision.response_class),
        "rules": list(decision.rules),
        "policy_version": decision.policy_version,
        "policy_sha256": ruling.policy_sha256,
        "final": decision.final,
        "params": asdict(ruling.params),
        "sd": described(ruling.sd),
        "limits": limited(ruling.limits),
        "routing": routed(ruling.routing),
        "mix": asdict(ruling.mix),
        "split": asdict(ruling.split),
        "threshold": ruling.threshold,
        "thread": ruling.thread,
        "vantage_id": ruling.vantage_id,
        "inspect_only": ruling.inspect_only,
        "evidence": dict(ruling.evidence.scores) if ruling.evidence else None,
        "rivals": [asdict(rival) for rival in ruling.evidence.rivals] if ruling.evidence else [],
        "class_check": checked(ruling.check) if ruling.check else None,
    }


def read(kept: Mapping[str, object]) -> Ruling:
    given = cast("Mapping[str, Any]", kept)
    rivals = tuple(Rival(**known(Rival, rival)) for rival in given.get("rivals", ()))
    decision = Decision(
        ResponseClass(given["response_class"]),
        tuple(given["rules"]),
        given["policy_version"],
        final=given["final"],
        names=tuple(rival.name for rival in rivals),
    )
    return Ruling(
        sd=undescribed(given["sd"]),
        params=Params(**known(Params, given["params"])),
        decision=decision,
        limits=Limits(**{name: settled(value) for name, value in known(Limits, given["limits"]).items()}),
        routing=unrouted(given["routing"]),
        mix=Mix(**known(Mix, given["mix"])),
        split=SplitRecord(**known(SplitRecord, given["split"])),
        threshold=given["threshold"],
        thread=given["thread"],
        vantage_id=given["vantage_id"],
        inspect_only=given["inspect_only"],
        policy_sha256=given["policy_sha256"],
        evidence=Evidence(given["evidence"], rivals) if given.get("evidence") is not None else None,
        check=unchecked(given["class_check"]),
    )


def known(kind: Any, kept: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a class of dataclasses
    """Of what was kept, the fields that this version's dataclass has: another version may run beside it."""
    return {item.name: kept[item.name] for item in fields(kind) if item.name in kept}


def described(sd: Descriptors) -> dict[str, object]:
    """The descriptors with what they rest on; their terms are the message's words, and left out."""
    return {
        "clarity": sd.clarity,
        "specificity": sd.specificity,
        "risk": dict(sd.risk),
        "stakes": dict(sd.stakes),
        "pressure": sd.pressure,
        "affect": sd.affect,
        "breadth": sd.breadth,
        "scores": dict(sd.scores),
        "findings": [asdict(finding) for finding in sd.findings],
    }


def undescribed(kept: Mapping[str, Any]) -> Descriptors:
    findings = tuple(Finding(**known(Finding, finding)) for finding in kept["findings"])
    return Descriptors(**known(Descriptors, kept) | {"findings": findings})


def limited(limits: Limits) -> dict[str, object]:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(limits).items()
    }


def routed(routing: Routing) -> dict[str, object]:
    """The asker's routing, its classes by name."""
    return {
        "force": str(routing.force) if routing.force else None,
        "forbid": [str(name) for name in routing.forbid],
        "redirect": {str(one): str(other) for one, other in routing.redirect.items()},
    }


def unrouted(kept: Mapping[str, Any]) -> Routing:
    return Routing(
        ResponseClass(kept["force"]) if kept["force"] else None,
        tuple(map(ResponseClass, kept["forbid"])),
        {ResponseClass(one): ResponseClass(other) for one, other in kept["redirect"].items()},
    )


def checked(check: Check) -> dict[str, object]:
    return asdict(check) | {"broken": list(check.broken)}


def unchecked(kept: Mapping[str, Any] | None) -> Check | None:
    return Check(**known(Check, kept) | {"broken": tuple(kept["broken"])}) if kept else None


def settled(value: object) -> Any:  # noqa: ANN401 - JSON
    """A list of JSON as the tuple it was."""
    return tuple(value) if isinstance(value, list) else value
