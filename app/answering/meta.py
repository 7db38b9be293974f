"""The parts of a reply that explain it: citations, `rag`, `memory_used` and `meta_explanation`.

The models of `api/schemas/` read them by attribute. Times are milliseconds. Nothing here raises. Source:
docs/contract.md.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any
from urllib.parse import quote

import orjson

from app.answer import Citation, ShownCitation, address_of
from app.db.memories import Moment, Tally
from app.retrieval.tags import FORMATS, Gravity, of_family
from app.types import CODE, CONVERSATIONS, CORPUS, DREAMS, MEMORIES, Entry, Passage, Trace


@dataclass(frozen=True, slots=True)
class Used:
    """A personal memory that the answer used, with its tags (`memory_tags`) and votes."""

    tags: tuple[str, ...] = ()
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The facts of one answer; `feedback.net` is a property of `Tally`."""

    query_tags: tuple[str, ...]
    feedback: Tally
    """Summed over the used memories."""
    format_consistency: float | None
    """Of the used memories that have a form, the share in [0, 1] with the requested one, else the profile's
    usual one; None: no form is requested or usual, or no memory has one."""
    gravity: Gravity
    temporal: Moment | None
    """None: unknown."""


def build_meta_explanation(
    tags: Sequence[str],
    used: Sequence[Used],
    weights: Mapping[str, float],
    gravity: Gravity,
    temporal: Moment | None,
) -> Explanation:
    """`tags`: of the question; `weights`: of the gravity profile, {} without one."""
    votes = [memory.tally for memory in used]
    return Explanation(
        query_tags=tuple(tags),
        feedback=Tally(sum(vote.positive for vote in votes), sum(vote.negative for vote in votes)),
        format_consistency=consistency(tags, used, weights),
        gravity=gravity,
        temporal=temporal,
    )


def consistency(tags: Sequence[str], used: Sequence[Used], weights: Mapping[str, float]) -> float | None:
    expected = set(of_family(tags, "format")) or usual(weights)
    forms = [held for memory in used if (held := of_family(memory.tags, "format"))]
    if not expected or not forms:
        return None
    return sum(bool(expected.intersection(held)) for held in forms) / len(forms)


def usual(weights: Mapping[str, float]) -> set[str]:
    forms = {tag: weights[tag] for tag in FORMATS if weights.get(tag, 0.0) > 0}
    most = max(forms.values(), default=0.0)
    return {tag for tag, weight in forms.items() if weight == most}


def retrieved(trace: Trace, citations: Sequence[Citation]) -> dict[str, object]:
    """The facts of every answer about its context; `citations` are the packed passages."""
    return {
        "rag": figures(trace, len(citations)),
        "citations": citations,
        "notes": trace.notes(),
        "degraded": trace.degraded,
    }


def figures(trace: Trace, passages: int) -> dict[str, object]:
    """`rag`: how retrieval went; `passages` were packed."""
    return {
        "pending": trace.pending or None,
        "used": trace.used,
        "reason": trace.reason,
        "cached": trace.cached,
        "passages": passages,
        "tokens": trace.tokens,
        "budget": trace.budget,
        "took_ms": trace.took_ms,
    }


def own_id(passage: Passage) -> str:
    return str(passage.fields.get("id") or passage.id) if passage.source == CORPUS else passage.id


def metadata_of(passage: Passage) -> dict[str, object]:
    held = passage.fields.get("metadata") if passage.source == CORPUS else None
    return dict(orjson.loads(held)) if isinstance(held, str) else {}


ROWS = frozenset({CONVERSATIONS, CODE, DREAMS})
"""Sources whose rows have URLs under their project."""


def cite(passage: Passage) -> Citation:
    page, page_end = passage.fields.get("page"), passage.fields.get("page_end")
    return Citation(
        passage.label,
        passage.source,
        own_id(passage),
        title_of(passage),
        page if isinstance(page, int) else None,
        page_end if isinstance(page_end, int) else None,
        url_of(passage),
        metadata_of(passage),
        str(passage.fields.get("page_label") or "") or None,
    )


def title_of(passage: Passage) -> str:
    """A memory is called after the day on which it was said."""
    if passage.title or passage.source != MEMORIES:
        return passage.title
    said = passage.said_on
    return f"Memory of {said.day} {said:%B} {said.year}" if said else "Memory"


TEXT, SCORES = "text", "scores"
"""What a request may `include` in citations."""
CITED = attrgetter(*(each.name for each in fields(Citation)))


def links(
    citations: Sequence[Citation], public_url: str | None, session_id: str | None, answer_id: str
) -> tuple[ShownCitation, ...]:
    """An answer's citations with their addresses: in a session their places in the web page, which shows the
    n-th source of an answer."""
    page = f"{public_url}/#/c/{quote(session_id, safe='')}/{answer_id}" if public_url and session_id else ""
    return tuple(
        linked(citation, public_url, f"{page}/{n}" if page else None)
        for n, citation in enumerate(citations, start=1)
    )


def linked(citation: Citation, public_url: str | None, url: str | None = None) -> ShownCitation:
    """`url`: the address for browsers, if it is not the passage's own."""
    shown = ShownCitation(*CITED(citation))
    if public_url is None:
        return shown
    return replace(shown, web_url=url or address_of(shown, public_url))


def shown(citation: ShownCitation, passage: Passage, include: Collection[str]) -> ShownCitation:
    """With what the request includes."""
    facts: dict[str, Any] = {"text": passage.text} if TEXT in include else {}
    if SCORES in include:
        facts |= {"similarity": passage.similarity, "score": passage.score}
    return replace(citation, **facts) if facts else citation


def url_of(passage: Passage) -> str | None:
    """URL of the passage; None: it has none."""
    url, project = passage.fields.get("url"), passage.fields.get("project")
    named = isinstance(project, str) and "/" not in project and project not in {"", ".", ".."}
    if passage.source in ROWS and named:
        return f"/projects/{quote(str(project), safe='')}/{passage.source}/{passage.id}"
    return url if isinstance(url, str) else None


def recalled(passage: Passage, entry: Entry) -> dict[str, object]:
    """An item of `memory_used`: its score is its relevance times the boosts."""
    facts = {name: passage.fields.get(name) for name in ("collection", "kind", "origin")}
    return {
        "id": own_id(passage),
        "source": passage.source,
        **facts,
        "title": title_of(passage),
        "metadata": metadata_of(passage),
        "text": passage.text,
        "label": passage.label,
        "similarity": passage.similarity,
        "relevance": entry.relevance,
        "score": entry.score,
        "boosts": dict(entry.boosts),
    }
