"""The policy as a document (`GET /vantage/policy`): rules in order, thresholds, contracts, tables, hash."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache

from app.vantage import checks, decision, features, overlay, rivals, score
from app.vantage.decision import DETOURS, ORDER, RULES
from app.vantage.distress import EMERGENCIES
from app.vantage.features import PRESSURE, STAKES
from app.vantage.risk import RISKS
from app.vantage.sentences import HEDGES
from app.vantage.terms import LENSES, ResponseClass
from app.vantage.version import digests, sha256, version

LANGUAGES: Mapping[str, str] = {
    "en": "measured",
    **dict.fromkeys(
        ("de", "es", "fr"), "a core of words, not measured: most attacks and requests for harm pass"
    ),
    "*": "not read: everything passes",
}
"""How well messages in each language are judged."""
SCOPE = (
    "A policy for a personal assistant, not a moderation service: of unsafe English prompts that nobody had"
    " seen, about one in four is answered."
)


@cache
def policy() -> Mapping[str, object]:
    """Ready for JSON. Callers share one mapping and must not write to it."""
    return {
        "version": version(),
        "sha256": sha256(),
        "classes": list(ResponseClass),
        "scope": SCOPE,
        "languages": LANGUAGES,
        "order": ORDER,
        "rules": [
            {"id": rule.id, "when": rule.text(), "class": rule.gives, "says": rule.says, "final": rule.final}
            for rule in RULES
        ],
        "thresholds": {
            name: value
            for name, value in sorted({**vars(decision), **vars(features)}.items())
            if isinstance(value, float)
        },
        "pressure": PRESSURE,
        "rivals": {
            name: value for name, value in sorted(vars(rivals).items()) if isinstance(value, float | int)
        },
        "detours": DETOURS,
        "params": {
            "bounds": {name: {"least": low, "most": high} for name, (low, high) in overlay.BOUNDS.items()},
            "table": {name: asdict(line) for name, line in overlay.TABLE.items()},
        },
        "contracts": {
            kind: {name: checks.REQUIREMENTS[name].says for name in names}
            for kind, names in checks.CONTRACTS.items()
        },
        "descriptors": {"risk": RISKS, "stakes": STAKES},
        "emergencies": EMERGENCIES,
        "hedges": {name: len(row) for name, row in HEDGES.items() if name != "none"},
        "lenses": list(LENSES),
        "scores": list(score.BUCKETS),
        "tables": digests(),
    }
